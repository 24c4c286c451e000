#include "side.h"
#include "tools/command.h"
#include "tools/input/filter_options.h"
#include "tools/output/format.h"
#include "tools/system/database.h"

#include "store/query/query.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define COMMAND 60u /* columns of a command line */

int kc_side_open(struct kc_side *side, const char *database)
{
	kc_database_path(database, side->path, sizeof(side->path));
	side->store = kc_database_read(side->path);
	return side->store ? KC_EXIT_OK : KC_EXIT_FAILED;
}

void kc_side_borrow(struct kc_side *side, struct kc_store *store, const char *path)
{
	snprintf(side->path, sizeof(side->path), "%s", path);
	side->store = store;
	side->is_borrowed = 1;
}

int kc_side_select(struct kc_side *side, const char *which)
{
	struct kc_selection selection;
	int status;

	if (which && (!*which || !strcmp(which, "all"))) {
		kc_error("expected the number of one run, not \"%s\"", which);
		return KC_EXIT_USAGE;
	}
	status = kc_database_select(side->store, side->path, which, &selection);
	if (status == KC_EXIT_OK)
		side->ids[side->count++] = selection.last_run;
	return status;
}

int kc_side_select_listed(struct kc_side *side, const char *option, const char *list)
{
	char *copy = strdup(list), *rest = copy, *one;
	int status = copy ? KC_EXIT_OK : KC_EXIT_FAILED;

	while (status == KC_EXIT_OK && (one = strsep(&rest, ","))) {
		if (side->count == KC_DIFF_OLD_MOST) {
			kc_error("%s takes %u runs at most", option, KC_DIFF_OLD_MOST);
			status = KC_EXIT_USAGE;
		} else {
			status = kc_side_select(side, one);
		}
	}
	free(copy);
	return status;
}

static int is_same_file(const char *a, const char *b)
{
	struct stat of_a, of_b;

	return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

/* A run that is compared with itself has not changed. */
int kc_side_check(const struct kc_side *old, const struct kc_side *new)
{
	int same = is_same_file(old->path, new->path);

	for (size_t i = 0; i < old->count; i++) {
		for (size_t k = 0; k < i; k++)
			if (old->ids[i] == old->ids[k]) {
				kc_error("run %lld is given twice", (long long)old->ids[i]);
				return KC_EXIT_USAGE;
			}
		if (same && old->ids[i] == new->ids[0]) {
			kc_error("run %lld would be compared with itself; choose another run", (long long)new->ids[0]);
			return KC_EXIT_USAGE;
		}
	}
	return KC_EXIT_OK;
}

static uint64_t measured_of(const struct kc_measured_run *run, int matching)
{
	const struct kc_measured_launch *launches = run->launches.at;
	const struct kc_measured_moment *moments = run->moments.at;
	uint64_t n = 0;

	for (size_t i = 0; i < run->launches.count; i++)
		n += launches[i].ns > 0 && (!matching || !moments || moments[i].matches);
	return n;
}

static int read_run(struct kc_side *side, int moments, struct kc_measured_names *names)
{
	struct kc_measured_run *run = side->runs + side->read;
	struct kc_database_working reading;
	int rc;

	kc_database_working_begin(&reading, side->path, "read", 1);
	rc = kc_measured_run_read(side->store, side->ids[side->read], moments, names, side->filter,
				  side->steps.known ? &side->steps : NULL, run);
	kc_database_working_end(&reading);
	if (rc < 0) {
		kc_database_unreadable(side->path, rc);
		return KC_EXIT_FAILED;
	}
	side->read++;
	if (side->filter || measured_of(run, 0))
		return KC_EXIT_OK;
	kc_error("%s: run %lld has no measured launch, so it cannot be compared", kc_database_shown(side->path),
		 (long long)run->id);
	return KC_EXIT_FAILED;
}

static int check_filtered(const struct kc_side *side, const struct kc_filter_choice *choice)
{
	uint64_t measured = 0;

	for (size_t i = 0; i < side->read; i++)
		measured += measured_of(side->runs + i, 1);
	if (!side->filter || measured)
		return KC_EXIT_OK;
	kc_filter_say_none(choice, side->filter, side->path, "measured launch");
	return KC_EXIT_FAILED;
}

/* Of nested repeats the outer ones, unless inner ones are asked for. */
static enum kc_step_level level_of(const struct kc_filter_choice *choice)
{
	for (uint32_t i = 0; choice && i < choice->steps.count; i++)
		if (choice->steps.each[i].level == KC_STEP_INNER)
			return KC_STEP_INNER;
	return KC_STEP_OUTER;
}

int kc_side_read(struct kc_side *side, const struct kc_filter_choice *choice, int moments,
		 struct kc_measured_names *names)
{
	int rc = side->store && choice ? kc_filter_new(choice, side->store, &side->filter) : 0, status = KC_EXIT_OK;

	if (rc == 0 && side->store && side->with_steps)
		rc = kc_known_steps_new(side->store, &side->steps.known);
	if (rc < 0) {
		kc_database_unreadable(side->path, rc);
		return KC_EXIT_FAILED;
	}
	side->steps.level = level_of(choice);
	while (status == KC_EXIT_OK && side->read < side->count)
		status = read_run(side, moments, names);
	return status == KC_EXIT_OK ? check_filtered(side, choice) : status;
}

void kc_side_close(struct kc_side *side)
{
	for (size_t i = 0; i < side->read; i++)
		kc_measured_run_free(side->runs + i);
	kc_filter_free(side->filter);
	kc_known_steps_free(side->steps.known);
	if (side->store && !side->is_borrowed)
		kc_store_close(side->store);
}

void kc_side_print_run(const char *before, const char *path, const struct kc_measured_run *run)
{
	time_t seconds = run->started_unix_ns / 1000000000;
	char when[32] = "", command[4 * COMMAND + 4];
	struct tm tm;

	if (run->started_unix_ns > 0)
		strftime(when, sizeof(when), ", %Y-%m-%d %H:%M:%S", localtime_r(&seconds, &tm));
	printf("%s%s: run %lld%s, %s\n", before, path, (long long)run->id, when,
	       kc_shorten_middle(run->command_line, COMMAND, command, sizeof(command)));
}
