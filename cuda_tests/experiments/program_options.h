/*
 * Command lines of the programs in this folder.
 *
 *   option   a name, what kind of value follows it, and where that goes
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#ifdef __cplusplus
extern "C" {
#endif

#define LIST_MAX 32

struct list {
	long values[LIST_MAX];
	int count;
};

enum option_kind {
	OPTION_FLAG,  /* int: 1 */
	OPTION_COUNT, /* int, 1 or more */
	OPTION_LIST,  /* struct list: of such numbers, with commas between */
	OPTION_TEXT,  /* const char * */
};

struct option_of {
	const char *name; /* with its dashes; NULL: the last */
	enum option_kind kind;
	void *value;
	const char *means;
};

/* Wrong use is said, with what is right; then exit with status 2. --help: status 0. */
void options_parse(const char *program, const struct option_of *options, int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif
