#include "sass.h"

#define FIRST_SM 70u    /* with this encoding */
#define LAST_SM 121u    /* numbers may change their meaning in later ones */
#define IADD_64_SM 100u /* from here on what was HFMA2.MMA is an addition of 64-bit integers */
#define OPERATION_BITS 9u
#define OPERATIONS (1u << OPERATION_BITS)
#define PREDICATE_TRUE 7u
#define GUARD_NEVER 0xfu    /* not true */
#define SPLIT_OFFSET_SM 90u /* from here on the offset of a branch has two parts */
#define OFFSET_LOW_BITS 8u
#define OFFSET_HIGH_BITS 48u
#define OFFSET_UNIT_BYTES 4
#define ZERO_REGISTER 255u
#define HMMA_884_SM 75u /* up to here what is VIADD later multiplies matrices */
#define UTC_MMA_SM 100u
/* Width of a load: bits 73 to 75 hold 4 for 32 bits, 5 for 64, 6 for 128; of LDGSTS from sm_100 on bits 74 and 75 hold
 * 0, 1 and 2. LDG of 256 bits is an operation by itself. */
#define WIDTH_AT 73u
#define WIDTH_BITS 3u
#define WIDTH_128 6u
#define WIDTH_128_UNSIGNED 7u /* LDG.U.128 of sm_75 */
#define LDGSTS_WIDTH_SM 100u
#define LDGSTS_WIDTH_AT 74u
#define LDGSTS_WIDTH_BITS 2u
#define LDGSTS_WIDTH_128 2u

enum operation {
	IMAD = 0x024,
	HFMA2 = 0x031,
	HFMA2_MMA = 0x035,
	VIADD = 0x036,
	NOP = 0x118,
	CALL_ABSOLUTE = 0x143,
	CALL = 0x144,
	BRA = 0x147,
	BRX = 0x149,
	EXIT = 0x14d,
	RET = 0x150,
	BRXU = 0x158,
	LDG_256 = 0x17e,
	LD = 0x180,
	LDG = 0x181,
	LDS = 0x184,
	LDGSTS = 0x1ae,
	UTC_MMA = 0x1ea,
};

/* On the uniform datapath: from UMOV, USEL and UISETP to UPOPC. */
#define UNIFORM_FIRST 0x080u
#define UNIFORM_LAST 0x0bfu

/* By operation: its class, and a second one that it counts for. */
static const uint8_t classes[OPERATIONS][2] = {
    [0x002] = {KC_SASS_MOVE},                            /* MOV */
    [0x005] = {KC_SASS_OTHER},                           /* CS2R */
    [0x006] = {KC_SASS_SHUFFLE},                         /* VOTE */
    [0x007] = {KC_SASS_INT},                             /* SEL */
    [0x008] = {KC_SASS_INT},                             /* FSEL */
    [0x009] = {KC_SASS_INT},                             /* FMNMX */
    [0x00a] = {KC_SASS_INT},                             /* FSET */
    [0x00b] = {KC_SASS_INT},                             /* FSETP */
    [0x00c] = {KC_SASS_INT},                             /* ISETP */
    [0x010] = {KC_SASS_INT},                             /* IADD3 */
    [0x011] = {KC_SASS_INT},                             /* LEA */
    [0x012] = {KC_SASS_INT},                             /* LOP3 */
    [0x013] = {KC_SASS_INT},                             /* IABS */
    [0x014] = {KC_SASS_INT},                             /* VABSDIFF */
    [0x016] = {KC_SASS_INT},                             /* PRMT */
    [0x017] = {KC_SASS_INT},                             /* IMNMX */
    [0x019] = {KC_SASS_INT},                             /* SHF */
    [0x01a] = {KC_SASS_INT},                             /* SGXT */
    [0x01b] = {KC_SASS_INT},                             /* BMSK */
    [0x01c] = {KC_SASS_INT},                             /* PLOP3 */
    [0x020] = {KC_SASS_MUL},                             /* FMUL */
    [0x021] = {KC_SASS_ADD},                             /* FADD */
    [0x023] = {KC_SASS_FMA},                             /* FFMA */
    [IMAD] = {KC_SASS_INT},                              /* IMAD */
    [0x025] = {KC_SASS_INT},                             /* IMAD.WIDE */
    [0x026] = {KC_SASS_INT},                             /* IDP */
    [0x027] = {KC_SASS_INT},                             /* IMAD.HI */
    [0x028] = {KC_SASS_MUL, KC_SASS_DOUBLE},             /* DMUL */
    [0x029] = {KC_SASS_ADD, KC_SASS_DOUBLE},             /* DADD */
    [0x02a] = {KC_SASS_ADD, KC_SASS_DOUBLE},             /* DSETP */
    [0x02b] = {KC_SASS_FMA, KC_SASS_DOUBLE},             /* DFMA */
    [0x030] = {KC_SASS_ADD, KC_SASS_HALF},               /* HADD2 */
    [HFMA2] = {KC_SASS_FMA, KC_SASS_HALF},               /* HFMA2 */
    [0x032] = {KC_SASS_MUL, KC_SASS_HALF},               /* HMUL2 */
    [0x033] = {KC_SASS_ADD, KC_SASS_HALF},               /* HSET2 */
    [0x034] = {KC_SASS_ADD, KC_SASS_HALF},               /* HSETP2 */
    [HFMA2_MMA] = {KC_SASS_FMA, KC_SASS_HALF},           /* HFMA2.MMA */
    [VIADD] = {KC_SASS_INT},                             /* VIADD */
    [0x037] = {KC_SASS_TENSOR},                          /* IMMA */
    [0x038] = {KC_SASS_CONVERT},                         /* I2IP */
    [0x03b] = {KC_SASS_LD_SHARED},                       /* LDSM */
    [0x03c] = {KC_SASS_TENSOR},                          /* HMMA */
    [0x03d] = {KC_SASS_TENSOR},                          /* BMMA */
    [0x03e] = {KC_SASS_INT},                             /* F2FP */
    [0x03f] = {KC_SASS_TENSOR},                          /* DMMA */
    [0x040] = {KC_SASS_ADD, KC_SASS_HALF},               /* HMNMX2 */
    [0x045] = {KC_SASS_INT},                             /* I2FP */
    [0x046] = {KC_SASS_INT},                             /* VIADDMNMX */
    [0x048] = {KC_SASS_INT},                             /* VIMNMX */
    [0x07a] = {KC_SASS_TENSOR},                          /* QMMA */
    [0x07f] = {KC_SASS_TENSOR},                          /* OMMA */
    [0x100] = {KC_SASS_INT},                             /* FLO */
    [0x101] = {KC_SASS_INT},                             /* BREV */
    [0x104] = {KC_SASS_CONVERT},                         /* F2F */
    [0x105] = {KC_SASS_CONVERT},                         /* F2I */
    [0x106] = {KC_SASS_CONVERT},                         /* I2F */
    [0x107] = {KC_SASS_CONVERT},                         /* FRND */
    [0x108] = {KC_SASS_SPECIAL},                         /* MUFU */
    [0x109] = {KC_SASS_INT},                             /* POPC */
    [0x110] = {KC_SASS_CONVERT},                         /* F2F, 64 bits */
    [0x111] = {KC_SASS_CONVERT},                         /* F2I, 64 bits */
    [0x112] = {KC_SASS_CONVERT},                         /* I2F, 64 bits */
    [0x113] = {KC_SASS_CONVERT},                         /* FRND, 64 bits */
    [NOP] = {KC_SASS_OTHER},                             /* NOP */
    [0x119] = {KC_SASS_OTHER},                           /* S2R */
    [0x11a] = {KC_SASS_OTHER},                           /* DEPBAR */
    [0x11c] = {KC_SASS_OTHER},                           /* B2R */
    [0x11d] = {KC_SASS_BARRIERS},                        /* BAR */
    [0x141] = {KC_SASS_CONTROL},                         /* BSYNC */
    [0x142] = {KC_SASS_CONTROL},                         /* BREAK */
    [CALL_ABSOLUTE] = {KC_SASS_CONTROL},                 /* CALL.ABS */
    [CALL] = {KC_SASS_CONTROL},                          /* CALL.REL */
    [0x145] = {KC_SASS_CONTROL},                         /* BSSY */
    [BRA] = {KC_SASS_CONTROL},                           /* BRA */
    [0x148] = {KC_SASS_CONTROL},                         /* WARPSYNC */
    [BRX] = {KC_SASS_CONTROL},                           /* BRX */
    [EXIT] = {KC_SASS_CONTROL},                          /* EXIT */
    [RET] = {KC_SASS_CONTROL},                           /* RET */
    [0x155] = {KC_SASS_CONTROL},                         /* BMOV */
    [0x156] = {KC_SASS_CONTROL},                         /* BMOV */
    [BRXU] = {KC_SASS_CONTROL},                          /* BRXU */
    [0x15c] = {KC_SASS_CONTROL},                         /* BPT */
    [0x15d] = {KC_SASS_OTHER},                           /* NANOSLEEP */
    [LDG_256] = {KC_SASS_LD_GLOBAL},                     /* LDG.ENL2.256 */
    [LD] = {KC_SASS_LD_GENERIC},                         /* LD */
    [LDG] = {KC_SASS_LD_GLOBAL},                         /* LDG */
    [0x182] = {KC_SASS_LD_CONSTANT},                     /* LDC */
    [0x183] = {KC_SASS_LD_LOCAL},                        /* LDL */
    [LDS] = {KC_SASS_LD_SHARED},                         /* LDS */
    [0x185] = {KC_SASS_ST_GENERIC},                      /* ST */
    [0x186] = {KC_SASS_ST_GLOBAL},                       /* STG */
    [0x187] = {KC_SASS_ST_LOCAL},                        /* STL */
    [0x188] = {KC_SASS_ST_SHARED},                       /* STS */
    [0x189] = {KC_SASS_SHUFFLE},                         /* SHFL */
    [0x18a] = {KC_SASS_ATOMICS},                         /* ATOM */
    [0x18b] = {KC_SASS_ATOMICS},                         /* ATOM.CAS */
    [0x18c] = {KC_SASS_ATOMICS, KC_SASS_ATOMICS_SHARED}, /* ATOMS */
    [0x18d] = {KC_SASS_ATOMICS, KC_SASS_ATOMICS_SHARED}, /* ATOMS.CAS */
    [0x18e] = {KC_SASS_ATOMICS},                         /* RED */
    [0x18f] = {KC_SASS_OTHER},                           /* CCTL */
    [0x192] = {KC_SASS_OTHER},                           /* MEMBAR */
    [0x1a1] = {KC_SASS_SHUFFLE},                         /* MATCH */
    [0x1a3] = {KC_SASS_ATOMICS},                         /* ATOMG, floating point */
    [0x1a6] = {KC_SASS_ATOMICS},                         /* REDG, floating point */
    [0x1a8] = {KC_SASS_ATOMICS},                         /* ATOMG */
    [0x1a9] = {KC_SASS_ATOMICS},                         /* ATOMG.CAS */
    [0x1ab] = {KC_SASS_OTHER},                           /* ERRBAR */
    [0x1ac] = {KC_SASS_UNIFORM},                         /* LDCU */
    [LDGSTS] = {KC_SASS_LD_GLOBAL, KC_SASS_ST_SHARED},   /* LDGSTS */
    [0x1af] = {KC_SASS_OTHER},                           /* LDGDEPBAR */
    [0x1c2] = {KC_SASS_UNIFORM},                         /* R2UR */
    [0x1c3] = {KC_SASS_UNIFORM},                         /* S2UR */
    [0x1c4] = {KC_SASS_SHUFFLE},                         /* REDUX */
    [0x1c5] = {KC_SASS_OTHER},                           /* WARPGROUP */
    [UTC_MMA] = {KC_SASS_TENSOR},                        /* UTCHMMA, UTCIMMA, UTCQMMA, UTCOMMA */
    [0x1f0] = {KC_SASS_TENSOR},                          /* HGMMA */
    [0x1f1] = {KC_SASS_TENSOR},                          /* IGMMA */
    [0x1f2] = {KC_SASS_TENSOR},                          /* BGMMA */
    [0x1f3] = {KC_SASS_TENSOR},                          /* QGMMA */
};

const char *kc_sass_class_name(uint32_t class_number)
{
	static const char *const names[] = {
#define X(constant, name) name,
	    KC_SASS_CLASSES(X)
#undef X
	};

	return class_number < KC_SASS_CLASS_COUNT ? names[class_number] : "";
}

struct instruction {
	uint64_t low, high;
	uint32_t index;
};

static struct instruction instruction_at(const struct kc_bytes *code, uint32_t index)
{
	uint64_t at = (uint64_t)index * KC__SASS_BYTES;

	return (struct instruction){kc__bytes_u64(code, at), kc__bytes_u64(code, at + 8), index};
}

/* Bits `from` to from + count - 1 of the 128; they may span both halves. */
static uint64_t bits(const struct instruction *instruction, unsigned from, unsigned count)
{
	uint64_t value = from >= 64 ? instruction->high >> (from - 64) : instruction->low >> from;

	if (from < 64 && from + count > 64)
		value |= instruction->high << (64 - from);
	return value & ((1ull << count) - 1);
}

static uint32_t operation_of(const struct instruction *instruction)
{
	return (uint32_t)bits(instruction, 0, OPERATION_BITS);
}

static uint32_t guard_of(const struct instruction *instruction)
{
	return (uint32_t)bits(instruction, 12, 4);
}

static int is_guarded(const struct instruction *instruction)
{
	return guard_of(instruction) != PREDICATE_TRUE;
}

/* A branch has a condition besides its guard. */
static int is_conditional(const struct instruction *instruction)
{
	return is_guarded(instruction) || bits(instruction, 87, 4) != PREDICATE_TRUE;
}

/* Index of the instruction that a BRA goes to; it may be outside of the code. */
static int64_t target_of(const struct instruction *branch, uint32_t sm)
{
	uint64_t offset = bits(branch, 34, OFFSET_HIGH_BITS);
	unsigned width = OFFSET_HIGH_BITS;
	int64_t bytes;

	if (sm >= SPLIT_OFFSET_SM) {
		offset = offset << OFFSET_LOW_BITS | bits(branch, 16, OFFSET_LOW_BITS);
		width += OFFSET_LOW_BITS;
	}
	bytes = (int64_t)(offset << (64 - width)) / (1ll << (64 - width)) * OFFSET_UNIT_BYTES;
	return (int64_t)branch->index + 1 + bytes / (int64_t)KC__SASS_BYTES;
}

/* After the end of a kernel come a branch to itself and NOPs. */
static uint32_t without_padding(const struct kc_bytes *code, uint32_t count, uint32_t sm)
{
	struct instruction last;

	while (count) {
		last = instruction_at(code, count - 1);
		if (operation_of(&last) != NOP)
			break;
		count--;
	}
	if (count && operation_of(&last) == BRA && !is_conditional(&last) && target_of(&last, sm) == last.index)
		count--;
	return count;
}

/* 1: a multiply-add whose product is 0. ptxas uses these as moves, to balance the pipelines. */
static int only_moves(const struct instruction *instruction)
{
	uint32_t operation = operation_of(instruction);

	return (operation == IMAD || operation == HFMA2 || operation == HFMA2_MMA) &&
	       bits(instruction, 24, 8) == ZERO_REGISTER;
}

static int is_wide(const struct instruction *instruction, uint32_t sm)
{
	uint64_t width = bits(instruction, WIDTH_AT, WIDTH_BITS);

	switch (operation_of(instruction)) {
	case LDG_256:
		return sm >= LDGSTS_WIDTH_SM;
	case LDGSTS:
		if (sm >= LDGSTS_WIDTH_SM)
			return bits(instruction, LDGSTS_WIDTH_AT, LDGSTS_WIDTH_BITS) == LDGSTS_WIDTH_128;
		return width == WIDTH_128;
	case LDG:
	case LD:
	case LDS:
		return width == WIDTH_128 || width == WIDTH_128_UNSIGNED;
	default:
		return 0;
	}
}

static void count_one(struct kc_sass *sass, const struct instruction *instruction, uint32_t sm)
{
	uint32_t operation = operation_of(instruction);

	if (guard_of(instruction) == GUARD_NEVER) {
		sass->of[KC_SASS_OTHER]++;
		return;
	}
	if (operation == HFMA2_MMA && sm >= IADD_64_SM) {
		sass->of[KC_SASS_INT]++;
		return;
	}
	if (operation == VIADD && sm <= HMMA_884_SM) {
		sass->of[KC_SASS_TENSOR]++;
		return;
	}
	if (operation == UTC_MMA && sm < UTC_MMA_SM) {
		sass->of[KC_SASS_UNKNOWN]++;
		return;
	}
	if (only_moves(instruction)) {
		sass->of[KC_SASS_MOVE]++;
		return;
	}
	if (operation >= UNIFORM_FIRST && operation <= UNIFORM_LAST) {
		sass->of[KC_SASS_UNIFORM]++;
		return;
	}
	sass->of[classes[operation][0]]++;
	if (classes[operation][1])
		sass->of[classes[operation][1]]++;
	if (!is_wide(instruction, sm))
		return;
	if (operation == LDS)
		sass->wide_shared_loads++;
	else
		sass->wide_loads++;
}

static int calls_away(const struct instruction *instruction, uint32_t count, uint32_t sm)
{
	int64_t target;

	if (operation_of(instruction) != CALL)
		return operation_of(instruction) == CALL_ABSOLUTE;
	target = target_of(instruction, sm);
	return target < 0 || target >= count;
}

/* What the instruction allows to say about a thread. */
static uint32_t reach_after(struct kc_sass *sass, const struct instruction *instruction, uint32_t sm)
{
	switch (operation_of(instruction)) {
	case CALL_ABSOLUTE:
	case CALL:
	case RET:
		sass->has_call = 1;
		return KC_SASS_STATIC;
	case BRX:
	case BRXU: /* targets are not known */
		sass->has_loop = 1;
		return KC_SASS_STATIC;
	case BRA:
		if (target_of(instruction, sm) > (int64_t)instruction->index)
			return KC_SASS_AT_MOST;
		sass->has_loop = 1;
		return KC_SASS_STATIC;
	case EXIT:
		if (!is_conditional(instruction) && instruction->index + 1 == sass->instructions)
			return KC_SASS_EXACT;
		return KC_SASS_AT_MOST;
	default:
		return is_guarded(instruction) && guard_of(instruction) != GUARD_NEVER ? KC_SASS_AT_MOST
										       : KC_SASS_EXACT;
	}
}

int kc__sass_knows(uint32_t sm)
{
	return sm >= FIRST_SM && sm <= LAST_SM;
}

void kc__sass_add(struct kc_sass *sass, const uint8_t bytes[KC__SASS_BYTES], uint32_t index, uint32_t count,
		  uint32_t sm)
{
	struct kc_bytes code = {bytes, KC__SASS_BYTES, 0};
	struct instruction instruction = instruction_at(&code, 0);

	instruction.index = index;
	sass->known = 1;
	count_one(sass, &instruction, sm);
	sass->calls_away |= (uint8_t)calls_away(&instruction, count, sm);
}

void kc__sass_count(struct kc_sass *sass, const struct kc_bytes *code, uint32_t sm)
{
	uint32_t count;

	*sass = (struct kc_sass){0};
	if (!kc__sass_knows(sm) || !code->length || code->length % KC__SASS_BYTES ||
	    code->length / KC__SASS_BYTES > UINT32_MAX)
		return;
	count = (uint32_t)(code->length / KC__SASS_BYTES);
	sass->known = 1;
	sass->reach = KC_SASS_EXACT;
	sass->instructions = without_padding(code, count, sm);
	for (uint32_t i = 0; i < sass->instructions; i++) {
		struct instruction instruction = instruction_at(code, i);
		uint32_t reach = reach_after(sass, &instruction, sm);

		count_one(sass, &instruction, sm);
		sass->calls_away |= (uint8_t)calls_away(&instruction, count, sm);
		if (reach < sass->reach)
			sass->reach = (uint8_t)reach;
	}
	if (sass->of[KC_SASS_UNKNOWN])
		sass->reach = KC_SASS_STATIC;
}
