#include "run_options.h"

static error_t of_device(struct kc_run_options *options, char *arg, struct argp_state *state)
{
	if (kc_filter_is_device(arg))
		return kc_filter_option(&options->filter, KC_KEY_DEVICE, arg, state);
	options->device = arg;
	return 0;
}

error_t kc_run_option(struct kc_run_options *options, const char *orders, int key, char *arg, struct argp_state *state)
{
	error_t rc;

	switch (key) {
	case KC_KEY_RUN:
		options->run = arg;
		return 0;
	case KC_KEY_OF_DEVICE:
		return of_device(options, arg, state);
	case ARGP_KEY_END:
		kc_filter_options_check(&options->filter, state);
		return 0;
	default:
		break;
	}
	rc = kc_filter_option(&options->filter, key, arg, state);
	if (rc == ARGP_ERR_UNKNOWN)
		rc = kc_sort_option(&options->sorting, orders, key, arg, state);
	return rc == ARGP_ERR_UNKNOWN ? kc_common_option(&options->common, key, arg, state) : rc;
}
