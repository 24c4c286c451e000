#include "common_options.h"
#include "tools/system/merging.h"

#include <errno.h>
#include <stdlib.h>

void kc_only_argument(const char **kept, const char *what, const char *arg, struct argp_state *state)
{
	if (*kept)
		argp_error(state, "expected one %s, got two (%s, %s)", what, *kept, arg);
	*kept = arg;
}

error_t kc_databases_add(struct kc_databases *databases, char *database)
{
	char **grown = realloc(databases->at, (databases->count + 1) * sizeof(*grown));

	if (!grown)
		return ENOMEM;
	databases->at = grown;
	databases->at[databases->count++] = database;
	return 0;
}

const char *kc_databases_one(struct kc_databases *databases)
{
	const char *one = databases->count ? databases->at[0] : NULL;

	if (databases->count > 1)
		one = kc_merging_temporary(databases->at, databases->count);
	free(databases->at);
	*databases = (struct kc_databases){0};
	return one;
}

const char *kc_common_database(struct kc_common_options *options)
{
	return options->databases.count ? kc_databases_one(&options->databases) : options->database;
}

error_t kc_common_option(struct kc_common_options *options, int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case KC_KEY_JSON:
		options->json = 1;
		return 0;
	case ARGP_KEY_ARG:
		if (options->may_be_several && kc_databases_add(&options->databases, arg))
			return ENOMEM;
		if (options->may_be_several && options->database)
			return 0;
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
