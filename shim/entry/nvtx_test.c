/* The entry point of NVTX, called as NVTX calls it; and what it says of NVTX, beside NVIDIA's headers. */
#include "shim/tables/tables_testing.h"
#include "shim/tables/ranges.h"
#include "inject.h"
#include "nvtx_abi.h"
#include "real.h"

#if __has_include(<nvtx3/nvToolsExt.h>)
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

_Static_assert(KC__NVTX_ETID_CALLBACKS == (int)NVTX_ETID_CALLBACKS, "");
_Static_assert(KC__NVTX_CORE == (int)NVTX_CB_MODULE_CORE && KC__NVTX_CORE2 == (int)NVTX_CB_MODULE_CORE2, "");
#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)NVTX_CBID_##theirs, "")
SAME(KC__NVTX_RANGE_START_EX, CORE_RangeStartEx);
SAME(KC__NVTX_RANGE_START_A, CORE_RangeStartA);
SAME(KC__NVTX_RANGE_START_W, CORE_RangeStartW);
SAME(KC__NVTX_RANGE_END, CORE_RangeEnd);
SAME(KC__NVTX_RANGE_PUSH_EX, CORE_RangePushEx);
SAME(KC__NVTX_RANGE_PUSH_A, CORE_RangePushA);
SAME(KC__NVTX_RANGE_PUSH_W, CORE_RangePushW);
SAME(KC__NVTX_RANGE_POP, CORE_RangePop);
SAME(KC__NVTX_DOMAIN_RANGE_START_EX, CORE2_DomainRangeStartEx);
SAME(KC__NVTX_DOMAIN_RANGE_END, CORE2_DomainRangeEnd);
SAME(KC__NVTX_DOMAIN_RANGE_PUSH_EX, CORE2_DomainRangePushEx);
SAME(KC__NVTX_DOMAIN_RANGE_POP, CORE2_DomainRangePop);
SAME(KC__NVTX_DOMAIN_REGISTER_STRING_A, CORE2_DomainRegisterStringA);
SAME(KC__NVTX_DOMAIN_REGISTER_STRING_W, CORE2_DomainRegisterStringW);
SAME(KC__NVTX_DOMAIN_CREATE_A, CORE2_DomainCreateA);
SAME(KC__NVTX_DOMAIN_CREATE_W, CORE2_DomainCreateW);
_Static_assert(sizeof(struct kc__nvtx_callbacks) == sizeof(NvtxExportTableCallbacks), "");
_Static_assert(offsetof(struct kc__nvtx_callbacks, table_of) ==
		   offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable),
	       "");
_Static_assert(sizeof(struct kc__nvtx_attributes) == sizeof(nvtxEventAttributes_t), "");
#define PLACED(ours, theirs)                                                                                           \
	_Static_assert(offsetof(struct kc__nvtx_attributes, ours) == offsetof(nvtxEventAttributes_t, theirs), "")
PLACED(size, size);
PLACED(message_type, messageType);
PLACED(message, message);
_Static_assert(KC__NVTX_TEXT == (int)NVTX_MESSAGE_TYPE_ASCII && KC__NVTX_WIDE_TEXT == (int)NVTX_MESSAGE_TYPE_UNICODE &&
		   KC__NVTX_REGISTERED == (int)NVTX_MESSAGE_TYPE_REGISTERED,
	       "");
#endif

int InitializeInjectionNvtx2(kc__nvtx_export_tables tables);

void *kc__driver_symbol(const char *symbol)
{
	(void)symbol;
	return NULL;
}

static bool preloaded = true;

bool kc__is_preloaded(void)
{
	return preloaded;
}

bool kc__injected(void)
{
	return false;
}

/* A library's tables. */
static kc__nvtx_function functions[2][16], *places[2][16];
static unsigned sizes[2];
static size_t struct_size = sizeof(struct kc__nvtx_callbacks);

static int table_of(int module, kc__nvtx_function ***table, unsigned *size)
{
	int i = module == KC__NVTX_CORE2;

	if (module != KC__NVTX_CORE && module != KC__NVTX_CORE2)
		return 0;
	*table = places[i];
	*size = sizes[i];
	return sizes[i] != 0;
}

static const void *tables(uint32_t id)
{
	static struct kc__nvtx_callbacks callbacks;

	callbacks = (struct kc__nvtx_callbacks){struct_size, table_of};
	return id == KC__NVTX_ETID_CALLBACKS ? &callbacks : NULL;
}

static const void *no_tables(uint32_t id)
{
	(void)id;
	return NULL;
}

static int begin_nvtx(void **state)
{
	static uint32_t thread;

	if (begin(state))
		return -1;
	preloaded = true;
	struct_size = sizeof(struct kc__nvtx_callbacks);
	memset(functions, 0, sizeof(functions));
	for (int i = 0; i < 2; i++) {
		sizes[i] = 16;
		for (int j = 1; j < 16; j++)
			places[i][j] = &functions[i][j];
	}
	kc__shim.ours = 1;
	kc__shim.options.disable = 0;
	kc__thread.id = ++thread;
	kc__ranges_forget();
	return 0;
}

#undef TEST
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_nvtx, end)

static void functions_are_put_where_nvtx_calls_them(void **state)
{
	static const int core[] = {4, 5, 6, 7, 8, 9, 10, 11}, core2[] = {2, 3, 4, 5, 10, 11, 12, 13};

	(void)state;
	assert_int_equal(InitializeInjectionNvtx2(tables), 1);
	for (int i = 0; i < 8; i++) {
		assert_non_null(functions[0][core[i]]);
		assert_non_null(functions[1][core2[i]]);
	}
	assert_null(functions[0][1]); /* marks */
	assert_null(functions[1][14]);
}

static void a_table_that_ends_before_is_filled_as_far_as_it_goes(void **state)
{
	(void)state;
	sizes[0] = 10; /* no RangePushW, no RangePop */
	sizes[1] = 0;
	places[0][5] = NULL;
	assert_int_equal(InitializeInjectionNvtx2(tables), 1);
	assert_non_null(functions[0][9]);
	assert_null(functions[0][10]);
	assert_null(functions[0][5]);
	assert_null(functions[1][4]);
}

static void it_is_refused_where_nothing_is_recorded(void **state)
{
	(void)state;
	preloaded = false;
	assert_int_equal(InitializeInjectionNvtx2(tables), 0);
	preloaded = true;
	kc__shim.options.disable = 1;
	assert_int_equal(InitializeInjectionNvtx2(tables), 0);
	kc__shim.options.disable = 0;
	assert_int_equal(InitializeInjectionNvtx2(no_tables), 0);
	assert_int_equal(InitializeInjectionNvtx2(NULL), 0);
	struct_size = 8;
	assert_int_equal(InitializeInjectionNvtx2(tables), 0);
	assert_null(functions[0][9]);
}

#define CALL(module, place, type) ((type)(void *)functions[module][place])

static void attributes_of_any_kind_are_understood(void **state)
{
	struct kc__nvtx_attributes a = {.size = sizeof(a), .message_type = KC__NVTX_TEXT};
	int (*push)(const struct kc__nvtx_attributes *), (*pop)(void);
	const void *(*register_text)(const void *, const char *);
	uint16_t as_text, as_wide, as_registered;

	(void)state;
	InitializeInjectionNvtx2(tables);
	push = CALL(0, KC__NVTX_RANGE_PUSH_EX, int (*)(const struct kc__nvtx_attributes *));
	pop = CALL(0, KC__NVTX_RANGE_POP, int (*)(void));
	register_text = CALL(1, KC__NVTX_DOMAIN_REGISTER_STRING_A, const void *(*)(const void *, const char *));
	a.message.text = "gr\303\266\303\237e \360\237\230\200 \342\202\254";
	assert_int_equal(push(&a), 0);
	as_text = kc__scope_of(&kc__thread);
	assert_int_equal(pop(), 0);
	a.message.registered = register_text(NULL, a.message.text);
	a.message_type = KC__NVTX_REGISTERED;
	push(&a);
	as_registered = kc__scope_of(&kc__thread);
	pop();
	a.message.wide_text = L"gr\u00f6\u00dfe \U0001f600 \u20ac";
	a.message_type = KC__NVTX_WIDE_TEXT;
	push(&a);
	as_wide = kc__scope_of(&kc__thread);
	pop();
	assert_int_not_equal(as_text, 0);
	assert_int_equal(as_wide, as_text);
	assert_int_equal(as_registered, as_text);
	/* Without a message, of an unknown kind, too short, or NULL: a range without a name. */
	a.message_type = 0;
	assert_int_equal(push(&a), 0);
	a.message_type = 99;
	assert_int_equal(push(&a), 1);
	a.size = 8;
	assert_int_equal(push(&a), 2);
	assert_int_equal(push(NULL), 3);
	for (int i = 3; i >= 0; i--)
		assert_int_equal(pop(), i);
	assert_int_equal(pop(), -1);
}

typedef int (*push_text)(const char *);
typedef int (*push_wide_text)(const wchar_t *);
typedef int (*push_attributes)(const struct kc__nvtx_attributes *);
typedef uint64_t (*start_text)(const char *);
typedef uint64_t (*start_wide_text)(const wchar_t *);
typedef uint64_t (*start_attributes)(const struct kc__nvtx_attributes *);
typedef int (*push_in_domain)(const void *, const struct kc__nvtx_attributes *);
typedef int (*pop_in_domain)(const void *);
typedef uint64_t (*start_in_domain)(const void *, const struct kc__nvtx_attributes *);
typedef void (*end_in_domain)(const void *, uint64_t);
typedef const void *(*register_in_domain)(const void *, const char *);
typedef const void *(*register_wide_in_domain)(const void *, const wchar_t *);
typedef const void *(*create_domain)(const char *);
typedef const void *(*create_wide_domain)(const wchar_t *);

static const struct kc__nvtx_attributes named_x = {
    .size = sizeof(named_x), .message_type = KC__NVTX_TEXT, .message.text = "x"};

/* The scope of the range x that was opened just now, as the only one of its domain. */
static uint16_t popped(int level, const void *domain)
{
	uint16_t scope = kc__scope_of(&kc__thread);

	assert_int_equal(level, 0);
	assert_int_equal(CALL(1, KC__NVTX_DOMAIN_RANGE_POP, pop_in_domain)(domain), 0);
	assert_int_equal(kc__scope_of(&kc__thread), 0);
	return scope;
}

static uint16_t ended(uint64_t id)
{
	uint16_t scope = kc__scope_of(&kc__thread);

	CALL(0, KC__NVTX_RANGE_END, void (*)(uint64_t))(id);
	assert_int_equal(kc__scope_of(&kc__thread), 0);
	return scope;
}

/* nvToolsExt.h: what takes no domain is of the default domain, as is NULL for a domain. */
static void what_takes_no_domain_is_of_the_programs(void **state)
{
	uint16_t x;

	(void)state;
	InitializeInjectionNvtx2(tables);
	x = popped(CALL(1, KC__NVTX_DOMAIN_RANGE_PUSH_EX, push_in_domain)(NULL, &named_x), NULL);
	assert_int_not_equal(x, 0);
	assert_int_equal(popped(CALL(0, KC__NVTX_RANGE_PUSH_A, push_text)("x"), NULL), x);
	assert_int_equal(popped(CALL(0, KC__NVTX_RANGE_PUSH_W, push_wide_text)(L"x"), NULL), x);
	assert_int_equal(popped(CALL(0, KC__NVTX_RANGE_PUSH_EX, push_attributes)(&named_x), NULL), x);
	assert_int_equal(ended(CALL(0, KC__NVTX_RANGE_START_A, start_text)("x")), x);
	assert_int_equal(ended(CALL(0, KC__NVTX_RANGE_START_W, start_wide_text)(L"x")), x);
	assert_int_equal(ended(CALL(0, KC__NVTX_RANGE_START_EX, start_attributes)(&named_x)), x);
	assert_int_equal(ended(CALL(1, KC__NVTX_DOMAIN_RANGE_START_EX, start_in_domain)(NULL, &named_x)), x);
}

static void what_takes_a_domain_is_of_that_one(void **state)
{
	struct kc__nvtx_attributes registered = {.size = sizeof(registered), .message_type = KC__NVTX_REGISTERED};
	push_in_domain push;
	pop_in_domain pop;
	const void *domain;
	uint16_t x;

	(void)state;
	InitializeInjectionNvtx2(tables);
	push = CALL(1, KC__NVTX_DOMAIN_RANGE_PUSH_EX, push_in_domain);
	pop = CALL(1, KC__NVTX_DOMAIN_RANGE_POP, pop_in_domain);
	domain = CALL(1, KC__NVTX_DOMAIN_CREATE_A, create_domain)("library");
	assert_non_null(domain);
	assert_ptr_equal(CALL(1, KC__NVTX_DOMAIN_CREATE_W, create_wide_domain)(L"library"), domain);
	x = popped(push(domain, &named_x), domain);
	assert_int_not_equal(x, popped(push(NULL, &named_x), NULL)); /* library:x */
	registered.message.registered = CALL(1, KC__NVTX_DOMAIN_REGISTER_STRING_A, register_in_domain)(domain, "x");
	assert_int_equal(popped(push(domain, &registered), domain), x);
	registered.message.registered =
	    CALL(1, KC__NVTX_DOMAIN_REGISTER_STRING_W, register_wide_in_domain)(domain, L"x");
	assert_int_equal(popped(push(domain, &registered), domain), x);
	CALL(1, KC__NVTX_DOMAIN_RANGE_END, end_in_domain)
	(domain, CALL(1, KC__NVTX_DOMAIN_RANGE_START_EX, start_in_domain)(domain, &named_x));
	assert_int_equal(ended(CALL(1, KC__NVTX_DOMAIN_RANGE_START_EX, start_in_domain)(domain, &named_x)), x);
	/* Each counts its own. */
	assert_int_equal(push(NULL, &named_x), 0);
	assert_int_equal(push(domain, &named_x), 0);
	assert_int_equal(push(NULL, &named_x), 1);
	assert_int_equal(pop(domain), 0);
	assert_int_equal(pop(domain), -1);
	assert_int_equal(pop(NULL), 1);
	assert_int_equal(pop(NULL), 0);
}

/* Handles of another tool, or of nothing. */
static void handles_that_are_none_of_ours_do_no_harm(void **state)
{
	struct kc__nvtx_attributes a = {.size = sizeof(a), .message_type = KC__NVTX_REGISTERED};
	int (*push)(const void *, const struct kc__nvtx_attributes *), (*pop)(const void *);
	const void *const odd[] = {&a, (void *)UINTPTR_MAX, (void *)0xfffff, (void *)255, NULL};

	(void)state;
	InitializeInjectionNvtx2(tables);
	push = CALL(1, KC__NVTX_DOMAIN_RANGE_PUSH_EX, int (*)(const void *, const struct kc__nvtx_attributes *));
	pop = CALL(1, KC__NVTX_DOMAIN_RANGE_POP, int (*)(const void *));
	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		a.message.registered = odd[i];
		push(odd[i], &a);
		pop(odd[i]);
	}
	assert_int_equal(kc__scope_of(&kc__thread), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(functions_are_put_where_nvtx_calls_them),  TEST(a_table_that_ends_before_is_filled_as_far_as_it_goes),
	    TEST(it_is_refused_where_nothing_is_recorded),  TEST(attributes_of_any_kind_are_understood),
	    TEST(handles_that_are_none_of_ours_do_no_harm), TEST(what_takes_no_domain_is_of_the_programs),
	    TEST(what_takes_a_domain_is_of_that_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
