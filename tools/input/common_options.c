#include "common_options.h"

void kc_only_argument(const char **kept, const char *what, const char *arg, struct argp_state *state)
{
	if (*kept)
		argp_error(state, "expected one %s, got two (%s, %s)", what, *kept, arg);
	*kept = arg;
}

error_t kc_common_option(struct kc_common_options *options, int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case KC_KEY_JSON:
		options->json = 1;
		return 0;
	case ARGP_KEY_ARG:
		kc_only_argument(&options->database, "database", arg, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void kc_json_or_csv(int json, int csv, struct argp_state *state)
{
	if (json && csv)
		argp_error(state, "--json and --csv exclude each other");
}
