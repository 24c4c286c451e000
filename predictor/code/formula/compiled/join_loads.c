#include "predictor/code/formula/counting.h"
#include "predictor/device/units.h"

/*
 * Loads of words that lie next to each other in shared memory, which ptxas makes
 * one load of 16 or 8 bytes: in one block, with no store to shared memory and no
 * barrier between them, from addresses whose alignment their arithmetic tells.
 * Three words of an aligned 16 bytes are enough, of 8 bytes it needs both (ptxas
 * 13.0 for sm_75, sm_86 and sm_90: four words at 128 * y or 16 * x become one
 * load, at 8 * x two; at 4 * x, n * y, or with a store between them they stay four).
 */
#define WORD_BYTES 4
#define JOINED_BYTES 16
#define LOADS_MAX 256u /* looked at together */

struct load {
	struct kc_event *event;
	uint32_t base;
	int64_t offset; /* from the base */
};

struct loads {
	const struct kc_formula *f;
	struct load at[LOADS_MAX];
	uint32_t count;
};

/* Those of the bytes from `first` on: the lowest one becomes a load of them all, the others count nothing. */
static void join(const struct loads *loads, uint32_t base, int64_t first, uint32_t bytes, uint32_t words)
{
	struct load *found[JOINED_BYTES / WORD_BYTES] = {0};
	uint32_t count = 0;

	for (uint32_t i = 0; i < loads->count; i++) {
		struct load *load = (struct load *)&loads->at[i];
		int64_t word = (load->offset - first) / WORD_BYTES;

		if (load->base != base || load->offset < first || load->offset >= first + bytes ||
		    load->event->bytes != WORD_BYTES || load->event->kind != KC_EVENT_SHARED || found[word])
			continue;
		found[word] = load;
		count++;
	}
	if (count < words)
		return;
	for (uint32_t word = 0, joined = 0; word < bytes / WORD_BYTES; word++) {
		if (!found[word])
			continue;
		if (!joined++) {
			found[word]->event->bytes = (uint8_t)bytes;
			continue;
		}
		found[word]->event->kind = KC_EVENT_COUNT;
		found[word]->event->address = KC_NO_VALUE;
		found[word]->event->amount = 0;
		found[word]->event->issues = 0;
	}
}

static int64_t floor_to(int64_t offset, int64_t bytes)
{
	return offset & ~(bytes - 1);
}

static void join_all(struct loads *loads)
{
	for (uint32_t bytes = JOINED_BYTES; bytes > WORD_BYTES; bytes /= 2)
		for (uint32_t i = 0; i < loads->count; i++) {
			const struct load *load = &loads->at[i];
			uint32_t words = bytes == JOINED_BYTES ? 3 : 2;

			if (load->event->kind != KC_EVENT_SHARED || load->event->bytes != WORD_BYTES ||
			    (uint64_t)1 << kc__aligned_log2(loads->f, load->base) < bytes)
				continue;
			join(loads, load->base, floor_to(load->offset, bytes), bytes, words);
		}
	loads->count = 0;
}

/* Before or after which no access to shared memory may be moved. */
static int keeps_order(const struct kc_ptx_instruction *i)
{
	switch (i->opcode) {
	case KC_PTX_ST:
		return i->space == KC_PTX_SHARED || i->space == KC_PTX_GENERIC;
	case KC_PTX_OTHER:
	case KC_PTX_ATOM:
	case KC_PTX_RED:
	case KC_PTX_BAR:
	case KC_PTX_BARRIER:
	case KC_PTX_MEMBAR:
	case KC_PTX_FENCE:
	case KC_PTX_CALL:
	case KC_PTX_CP:
	case KC_PTX_STMATRIX:
	case KC_PTX_WMMA:
	case KC_PTX_WGMMA:
		return 1;
	default:
		return 0;
	}
}

static void take(struct loads *loads, struct kc_event *event)
{
	struct load load = {.event = event};

	if (event->kind != KC_EVENT_SHARED || event->counter != KC_COUNT_OF_LD_SHARED || event->bytes != WORD_BYTES ||
	    event->lanes != KC_WARP_LANES || event->guard != KC_NO_VALUE || event->size != KC_NO_VALUE)
		return;
	load.base = kc__address_base(loads->f, event->address, &load.offset);
	if (load.base == KC_NO_VALUE)
		return;
	if (loads->count == LOADS_MAX)
		join_all(loads);
	loads->at[loads->count++] = load;
}

void kc__join_loads(struct kc_formula *f)
{
	struct loads loads = {.f = f};

	for (uint32_t b = 0; b < f->cfg.block_count; b++) {
		const struct kc_block *block = &f->cfg.blocks[b];
		const struct kc_block_plan *plan = &f->block_plans[b];
		uint32_t e = plan->event, end = plan->event + plan->event_count;

		for (uint32_t p = block->first; p < block->end; p++) {
			const struct kc_ptx_instruction *i = f->cfg.points[p].instruction;

			if (keeps_order(i))
				join_all(&loads);
			for (; e < end && f->events[e].offset == i->offset; e++)
				take(&loads, &f->events[e]);
		}
		join_all(&loads);
	}
}
