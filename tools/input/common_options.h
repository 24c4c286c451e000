/*
 * What most commands take on the command line: one database as their argument,
 * and --json. A command has a struct kc_common_options in its request, the row
 * KC_JSON_OPTION in its table where it prints data, and gives what it does not
 * know itself to kc_common_option().
 */
#ifndef KC_COMMON_OPTIONS_H
#define KC_COMMON_OPTIONS_H

#include <argp.h>
#include <stddef.h>

/* Starts as zeros. */
struct kc_databases {
	char **at;
	size_t count;
};

struct kc_common_options {
	const char *database;          /* the first; NULL: none was given */
	int may_be_several;            /* databases, which kc_common_database() makes one */
	struct kc_databases databases; /* all, if there may be several */
	int json;
};

enum { KC_KEY_JSON = 0x300 };

/* A row of a table of struct argp_option. */
/* clang-format off */
#define KC_JSON_OPTION {"json", KC_KEY_JSON, NULL, 0, "print one JSON document", 0}
/* clang-format on */

/* 0; ARGP_ERR_UNKNOWN: none of these. A second database ends the process with KC_EXIT_USAGE. */
error_t kc_common_option(struct kc_common_options *options, int key, char *arg, struct argp_state *state);
/* The database that was given, NULL: none. Several are merged into a temporary one: tools/system/merging.h. */
const char *kc_common_database(struct kc_common_options *options);
/* 0 or ENOMEM. */
error_t kc_databases_add(struct kc_databases *databases, char *database);
/* Likewise one of them, NULL: there is none. The list is empty then. */
const char *kc_databases_one(struct kc_databases *databases);
/* Keeps the only value of an argument that may be given once; `what` names it in the message. */
void kc_only_argument(const char **kept, const char *what, const char *arg, struct argp_state *state);
/* Ends the process with KC_EXIT_USAGE where both were given. */
void kc_json_or_csv(int json, int csv, struct argp_state *state);

#endif
