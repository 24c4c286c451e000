#include "filter_options.h"
#include "kernel_spec.h"
#include "tools/command.h"
#include "tools/output/filter_shown.h"
#include "tools/system/database.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOP_MOST 1000000

static void set_regex(struct kc_filter_regex *regex, const char *option, const char *arg, struct argp_state *state)
{
	char why[256];

	if (kc_filter_regex(regex, arg, why, sizeof(why)) < 0)
		argp_error(state, "%s takes an extended regular expression, not \"%s\": %s", option, arg, why);
}

/* Reads the number at *text, up to a comma or the end, and goes past the comma. 0 or -EINVAL. */
static int next_number(const char **text, int64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoll(*text, &end, 10);
	if (!isdigit((unsigned char)**text) || errno || (*end && *end != ','))
		return -EINVAL;
	*text = *end ? end + 1 : end;
	return *end && !end[1] ? -EINVAL : 0;
}

static void add_number(struct kc_filter_numbers *numbers, int64_t number, const char *option, struct argp_state *state)
{
	if (numbers->count == KC_FILTER_NUMBERS)
		argp_error(state, "%s takes %u numbers at most", option, KC_FILTER_NUMBERS);
	numbers->at[numbers->count++] = number;
}

/* "default" at *text, up to a comma or the end: goes past the comma and returns 1. */
static int take_default(const char **text)
{
	static const char word[] = "default";
	size_t n = strlen(word);

	if (strncmp(*text, word, n) != 0 || ((*text)[n] && ((*text)[n] != ',' || !(*text)[n + 1])))
		return 0;
	*text += n + ((*text)[n] == ',');
	return 1;
}

static void set_streams(struct kc_filter_choice *choice, const char *arg, struct argp_state *state)
{
	const char *at = arg;
	int64_t number;

	do {
		if (take_default(&at))
			choice->default_streams = 1;
		else if (next_number(&at, &number) == 0)
			add_number(&choice->streams, number, "--stream", state);
		else
			argp_error(state,
				   "--stream takes numbers of streams and \"default\", separated by commas, not \"%s\"",
				   arg);
	} while (*at);
}

static void add_name(struct kc_filter_names *names, const char *at, size_t length, const char *option,
		     struct argp_state *state)
{
	if (names->count == KC_FILTER_NUMBERS)
		argp_error(state, "%s takes %u names at most", option, KC_FILTER_NUMBERS);
	names->each[names->count].at = at;
	names->each[names->count++].length = length;
}

struct named { /* an option that takes numbers and names */
	const char *option, *what;
	struct kc_filter_numbers *numbers;
	struct kc_filter_names *names;
};

/* Digits alone are a number. A file may be called so as well, and is then not found by its name. */
static void set_named(const struct named *named, const char *arg, struct argp_state *state)
{
	const char *at = arg;
	int64_t number;
	int has_names = 0;

	do {
		size_t length = strcspn(at, ",");
		int is_number = strspn(at, "-+0123456789") == length;

		if (is_number ? next_number(&at, &number) < 0 : at[length] && !at[length + 1])
			argp_error(state, "%s takes %s, separated by commas, not \"%s\"", named->option, named->what,
				   arg);
		if (is_number) {
			add_number(named->numbers, number, named->option, state);
		} else {
			add_name(named->names, at, length, named->option, state);
			at += length + (at[length] == ',');
			has_names = 1;
		}
	} while (*at);
	if (has_names && strchr(arg, ',')) /* it may be in a name */
		add_name(named->names, arg, strlen(arg), named->option, state);
}

static void set_processes(struct kc_filter_choice *choice, const char *arg, struct argp_state *state)
{
	const struct named named = {"--process", "process ids and names", &choice->processes, &choice->process_names};

	set_named(&named, arg, state);
}

static void set_ranks(struct kc_filter_choice *choice, const char *arg, struct argp_state *state)
{
	const char *at = arg;
	int64_t number;

	do {
		if (next_number(&at, &number) < 0)
			argp_error(state, "--rank takes numbers of ranks, separated by commas, not \"%s\"", arg);
		add_number(&choice->ranks, number, "--rank", state);
	} while (*at);
}

/* Whether "inner:" is at *text: goes past it. */
static int take_inner(const char **text)
{
	static const char word[] = "inner:";
	size_t n = strlen(word);
	int is_inner = strncmp(*text, word, n) == 0;

	*text += is_inner ? n : 0;
	return is_inner;
}

/* "3", "3..7" at *text, up to a comma or the end: goes past the comma. 0 or -EINVAL. */
static int next_span(const char **text, int64_t *first, int64_t *last)
{
	char number[32];
	size_t length = strspn(*text, "0123456789");
	const char *at = number;

	if (strncmp(*text + length, "..", 2) != 0) {
		int rc = next_number(text, first);

		*last = *first;
		return rc;
	}
	snprintf(number, sizeof(number), "%.*s", length < sizeof(number) ? (int)length : 0, *text);
	*text += length + 2;
	return next_number(&at, first) || next_number(text, last) || *last < *first ? -EINVAL : 0;
}

static void set_steps(struct kc_filter_spans *steps, const char *arg, struct argp_state *state)
{
	const char *at = arg;

	do {
		if (steps->count == KC_FILTER_NUMBERS)
			argp_error(state, "--step takes %u numbers and ranges at most", KC_FILTER_NUMBERS);
		steps->each[steps->count].level = take_inner(&at) ? KC_STEP_INNER : KC_STEP_OUTER;
		if (next_span(&at, &steps->each[steps->count].first, &steps->each[steps->count].last))
			argp_error(state,
				   "--step takes numbers of steps, as 3, 3..7 or inner:3, separated by commas, not "
				   "\"%s\"",
				   arg);
		steps->count++;
	} while (*at);
}

static void set_devices(struct kc_filter_choice *choice, const char *option, const char *arg, struct argp_state *state)
{
	const struct named named = {option, "numbers and names of GPUs", &choice->devices, &choice->device_names};

	set_named(&named, arg, state);
}

int kc_filter_is_device(const char *arg)
{
	return !strncmp(arg, "GPU", 3) || (*arg && !arg[strspn(arg, "0123456789,")]);
}

static void set_time(int64_t *ns, const char *option, const char *arg, struct argp_state *state)
{
	if (kc_time_ns(arg, ns) < 0)
		argp_error(state, "%s takes a time with its unit (ns, us, ms, s), not \"%s\"", option, arg);
}

error_t kc_filter_option(struct kc_filter_choice *choice, int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case KC_KEY_KERNEL:
		set_regex(&choice->kernel, "--kernel", arg, state);
		return 0;
	case KC_KEY_EXCLUDE:
		set_regex(&choice->exclude, "--exclude", arg, state);
		return 0;
	case KC_KEY_STREAM:
		set_streams(choice, arg, state);
		return 0;
	case KC_KEY_PROCESS:
		set_processes(choice, arg, state);
		return 0;
	case KC_KEY_DEVICE:
		set_devices(choice, "--device", arg, state);
		return 0;
	case KC_KEY_GPU:
		set_devices(choice, "--gpu", arg, state);
		return 0;
	case KC_KEY_RANK:
		set_ranks(choice, arg, state);
		return 0;
	case KC_KEY_STEP:
		set_steps(&choice->steps, arg, state);
		return 0;
	case KC_KEY_RANGE:
		set_regex(&choice->range, "--range", arg, state);
		return 0;
	case KC_KEY_SINCE:
		choice->since_ns = 0;
		if (strcmp(arg, "0") != 0)
			set_time(&choice->since_ns, "--since", arg, state);
		return 0;
	case KC_KEY_UNTIL:
		set_time(&choice->until_ns, "--until", arg, state);
		return 0;
	case KC_KEY_MIN:
		set_time(&choice->min_ns, "--min", arg, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void kc_filter_options_check(const struct kc_filter_choice *choice, struct argp_state *state)
{
	if (choice->until_ns && choice->since_ns >= choice->until_ns)
		argp_error(state, "--until must be after --since");
}

/* --- order */

/* Whether a word is one of those between bars. */
static int is_among(const char *word, const char *words)
{
	size_t n = strlen(word);

	for (; n; words++) {
		if (strncmp(words, word, n) == 0 && (!words[n] || words[n] == '|'))
			return 1;
		words = strchr(words, '|');
		if (!words)
			break;
	}
	return 0;
}

static enum kc_sort sort_of(const char *arg, const char *orders, struct argp_state *state)
{
	static const char *const names[] = {
	    [KC_SORT_TIME] = "time", [KC_SORT_ERROR] = "error", [KC_SORT_COUNT] = "count", [KC_SORT_LOST] = "lost"};
	enum kc_sort by = KC_SORT_LOST;

	while (by > KC_SORT_NONE && strcmp(arg, names[by]) != 0)
		by--;
	if (by == KC_SORT_LOST && !is_among(arg, orders))
		argp_error(state, "--sort lost is for changes between runs (kerncast diff); here it takes %s", orders);
	if (by == KC_SORT_NONE || !is_among(arg, orders))
		argp_error(state, "--sort takes %s, not \"%s\"", orders, arg);
	return by;
}

error_t kc_sort_option(struct kc_sorting *sorting, const char *orders, int key, char *arg, struct argp_state *state)
{
	const char *at = arg;
	int64_t top;

	switch (key) {
	case KC_KEY_SORT:
		sorting->by = sort_of(arg, orders, state);
		return 0;
	case KC_KEY_TOP:
		if (next_number(&at, &top) < 0 || *at || top < 1 || top > TOP_MOST)
			argp_error(state, "--top takes a number from 1 to %d, not \"%s\"", TOP_MOST, arg);
		sorting->top = (size_t)top;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void kc_sort_options_check(const struct kc_sorting *sorting, int json, struct argp_state *state)
{
	if (json && (sorting->by || sorting->top))
		argp_error(state, "--sort and --top do not apply to --json, which lists everything in its own order");
}

/* --- with a database */

void kc_filter_say_none(const struct kc_filter_choice *choice, const struct kc_filter *filter, const char *path,
			const char *what)
{
	char text[KC_FILTER_TEXT_BYTES];
	int has_no_steps = filter && kc_filter_steps_are(filter) == KC_STEPS_ARE_NONE;

	kc_error("%s: no %s matches the filter: %s%s", kc_database_shown(path), what,
		 kc_filter_text(choice, text, sizeof(text)), has_no_steps ? "; " KC_NO_STEPS : "");
}

int kc_filter_open(const struct kc_filter_choice *choice, struct kc_store *store, const char *path,
		   const struct kc_selection *selection, struct kc_filter **out)
{
	int rc = kc_filter_new(choice, store, out), any = 1;

	if (rc == 0 && *out)
		any = kc_filter_any(*out, selection);
	if (rc == 0 && any > 0)
		return KC_EXIT_OK;
	if (rc < 0 || any < 0)
		kc_database_unreadable(path, rc < 0 ? rc : any);
	else
		kc_filter_say_none(choice, *out, path, "launch");
	kc_filter_free(*out);
	*out = NULL;
	return KC_EXIT_FAILED;
}
