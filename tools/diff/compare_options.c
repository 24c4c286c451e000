#include "compare_options.h"
#include "tools/input/kernel_spec.h"

#include <stdlib.h>
#include <string.h>

static void parse_over(const char *arg, struct argp_state *state, double *out)
{
	char *end;
	double percent = strtod(arg, &end);

	if (end == arg || (*end && strcmp(end, "%") != 0) || !(percent >= 0 && percent <= 1000))
		argp_error(state, "--over takes a number of percent from 0 to 1000, such as 5, not \"%s\"", arg);
	*out = percent / 100;
}

static void parse_floor(const char *arg, struct argp_state *state, double *out)
{
	int64_t ns = 0;

	if (strcmp(arg, "0") != 0 && kc_time_ns(arg, &ns) < 0)
		argp_error(state, "--floor takes 0 or a time with its unit (ns, us, ms, s), not \"%s\"", arg);
	*out = (double)ns;
}

static error_t limit_option(struct kc_diff_limits *limits, int key, const char *arg, struct argp_state *state)
{
	switch (key) {
	case KC_KEY_OVER:
		parse_over(arg, state, &limits->over);
		return 0;
	case KC_KEY_FLOOR:
		parse_floor(arg, state, &limits->floor_ns);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

error_t kc_compare_option(struct kc_compare_options *options, const char *orders, int key, char *arg,
			  struct argp_state *state)
{
	error_t rc = limit_option(&options->limits, key, arg, state);

	return rc == ARGP_ERR_UNKNOWN ? kc_run_option(&options->of, orders, key, arg, state) : rc;
}
