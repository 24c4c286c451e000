/*
 * Which launches a command looks at, and in which order it lists kernels: --kernel, --exclude, --stream, --process,
 * --rank, --gpu, --device, --step, --range, --since, --until, --min; --sort, --top. The same in every command that
 * reads launches.
 */
#ifndef KC_FILTER_OPTIONS_H
#define KC_FILTER_OPTIONS_H

#include "store/query/filter.h"
#include "store/query/query.h"

#include <argp.h>
#include <stddef.h>

enum {
	KC_KEY_KERNEL = 0x500,
	KC_KEY_EXCLUDE,
	KC_KEY_STREAM,
	KC_KEY_PROCESS,
	KC_KEY_DEVICE,
	KC_KEY_GPU,
	KC_KEY_RANK,
	KC_KEY_STEP,
	KC_KEY_RANGE,
	KC_KEY_SINCE,
	KC_KEY_UNTIL,
	KC_KEY_MIN,
	KC_KEY_SORT,
	KC_KEY_TOP,
};

/* Rows of a table of struct argp_option. KC_SORT_OPTIONS: its orders, such as "time|count". */
/* clang-format off */
#define KC_FILTER_OPTIONS                                                                                              \
	{"kernel", KC_KEY_KERNEL, "REGEX", 0,                                                                          \
	 "only launches of kernels whose readable or mangled name matches this extended regular expression", 0},       \
	{"exclude", KC_KEY_EXCLUDE, "REGEX", 0, "no launches of kernels whose readable or mangled name matches", 0},      \
	{"stream", KC_KEY_STREAM, "N[,N...]", 0,                                                                       \
	 "only launches on streams of these numbers in the report; \"default\": on default streams", 0},                     \
	{"process", KC_KEY_PROCESS, "PID|NAME[,...]", 0,                                                               \
	 "only launches of processes with these numbers or names in the report", 0},                      \
	{"rank", KC_KEY_RANK, "N[,N...]", 0, "only launches of these ranks of a job", 0},                              \
	{"gpu", KC_KEY_GPU, "N|NAME[,...]", 0, "only launches on GPUs of these numbers or names in the report", 0},    \
	{"step", KC_KEY_STEP, "N|K..N[,...]", 0,                                                                       \
	 "only launches made in steps of these numbers in report --by step; inner:N: in inner repeats", 0},            \
	{"range", KC_KEY_RANGE, "REGEX", 0,                                                                            \
	 "only launches made in a range whose name matches this extended regular expression", 0},                      \
	{"since", KC_KEY_SINCE, "TIME", 0,                                                                             \
	 "only launches made at this time after the start of their run or later, such as 1.5s", 0},                        \
	{"until", KC_KEY_UNTIL, "TIME", 0, "only launches made before this time after the start of their run", 0},                                  \
	{"min", KC_KEY_MIN, "TIME", 0, "only launches that were measured to take at least this, such as 20us", 0}
#define KC_DEVICE_FILTER_OPTION                                                                                        \
	{"device", KC_KEY_DEVICE, "N|NAME[,...]", 0, "only launches on GPUs of these numbers or names in the report", 0}
#define KC_SORT_OPTIONS(orders)                                                                                        \
	{"sort", KC_KEY_SORT, orders, 0, "order of the table of kernels, the largest first", 0},                                \
	{"top", KC_KEY_TOP, "N", 0, "list the first N rows of the table only", 0}
/* clang-format on */

enum kc_sort {
	KC_SORT_NONE, /* not given: the command's own order */
	KC_SORT_TIME, /* measured */
	KC_SORT_ERROR,
	KC_SORT_COUNT, /* of launches */
	KC_SORT_LOST,  /* time, to changes */
};

struct kc_sorting {
	enum kc_sort by;
	size_t top; /* 0: not given */
};

/* 0; ARGP_ERR_UNKNOWN: none of these options. A wrong value ends the process with KC_EXIT_USAGE. */
error_t kc_filter_option(struct kc_filter_choice *choice, int key, char *arg, struct argp_state *state);
/* 1: "0,1" or "GPU 0", which is a filter where --device also takes a kind of GPU. */
int kc_filter_is_device(const char *arg);
/* orders: those that the command has, as in its table. */
error_t kc_sort_option(struct kc_sorting *sorting, const char *orders, int key, char *arg, struct argp_state *state);
/* Once all options are read: checks that they can hold together. A document lists everything in its own order. */
void kc_filter_options_check(const struct kc_filter_choice *choice, struct argp_state *state);
void kc_sort_options_check(const struct kc_sorting *sorting, int json, struct argp_state *state);

/* Makes the filter of the choice for these runs of a database; NULL: nothing was chosen. Returns an exit status; other
 * than KC_EXIT_OK after a message, also where no launch matches. */
int kc_filter_open(const struct kc_filter_choice *choice, struct kc_store *store, const char *path,
		   const struct kc_selection *selection, struct kc_filter **out);
/* Says that no launch of a database matches; what: "launch". filter: that has looked at all of them; NULL: none was
 * made. */
void kc_filter_say_none(const struct kc_filter_choice *choice, const struct kc_filter *filter, const char *path,
			const char *what);

#endif
