#include "more_trees.h"
#include "tools/system/piped.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define ANSWER_BYTES ((size_t)256 << 10) /* a number of 12 letters for each limit, node and leaf is 100 KiB */

extern const char kc__train_trees[]; /* train_trees.py */

/* Questions, as train_trees.py says. NULL: no memory. */
static char *text_of(const struct kc_knowledge_lesson *lessons, uint32_t count, size_t *bytes)
{
	char *text = NULL;
	FILE *to = open_memstream(&text, bytes);
	int failed;

	if (!to)
		return NULL;
	fprintf(to, "%u\n", KC_PRIOR_WORDS);
	for (uint32_t i = 0; i < count; i++) {
		fprintf(to, "%" PRIu32 "\t%.9g\t%.9g", lessons[i].program, (double)lessons[i].measured,
			(double)lessons[i].expected);
		for (uint32_t trait = 0; trait < KC_TRAITS; trait++)
			fprintf(to, "\t%.9g", (double)lessons[i].traits[trait]);
		fprintf(to, "\t%" PRIx64 "\n", lessons[i].words);
	}
	failed = ferror(to);
	if (fclose(to) || failed) {
		free(text);
		return NULL;
	}
	return text;
}

/* Numbers, one after the other; `wrong` where there is no such number. */
struct answer {
	const char *at;
	int wrong;
};

static long long next_whole(struct answer *answer, int base, long long least, long long most)
{
	char *end;
	long long value = strtoll(answer->at, &end, base);

	answer->wrong |= end == answer->at || value < least || value > most;
	answer->at = end;
	return answer->wrong ? least : value;
}

static float next_real(struct answer *answer)
{
	char *end;
	float value = strtof(answer->at, &end);

	answer->wrong |= end == answer->at;
	answer->at = end;
	return value;
}

static void read_limits(struct answer *answer, struct kc_knowledge_more *more)
{
	uint32_t count = 0;

	for (uint32_t trait = 0; trait < KC_TRAITS; trait++) {
		uint32_t end = count + (uint32_t)next_whole(answer, 10, 0, more->limit_count - count);

		more->row.limits_at[trait] = (uint16_t)count;
		while (count < end)
			more->limits[count++] = next_real(answer);
	}
	more->row.limits_at[KC_TRAITS] = (uint16_t)count;
}

static void read_tree(struct answer *answer, uint32_t *nodes, int16_t *leaves)
{
	for (uint32_t i = 0; i < KC_PRIOR_NODES; i++)
		nodes[i] = (uint32_t)next_whole(answer, 16, 0, UINT32_MAX);
	for (uint32_t i = 0; i < KC_PRIOR_LEAVES; i++)
		leaves[i] = (int16_t)next_whole(answer, 10, INT16_MIN, INT16_MAX);
}

/* 1: they can be asked. */
static int read_trees(const char *text, struct kc_knowledge_more *more)
{
	struct answer answer = {.at = text};
	struct kc_prior_trees trees;

	more->off_without = next_real(&answer);
	more->off_with = next_real(&answer);
	more->tree_count = (uint32_t)next_whole(&answer, 10, 1, KC_KNOWLEDGE_TREES_MAX);
	more->limit_count = (uint32_t)next_whole(&answer, 10, 0, KC_KNOWLEDGE_LIMITS_MAX);
	more->row.base = next_real(&answer);
	more->row.leaf = next_real(&answer);
	read_limits(&answer, more);
	for (uint32_t i = 0; i < more->tree_count && !answer.wrong; i++)
		read_tree(&answer, more->nodes + i * KC_PRIOR_NODES, more->leaves + i * KC_PRIOR_LEAVES);
	trees = (struct kc_prior_trees){
	    .limits = more->limits, .nodes = more->nodes, .leaves = more->leaves, .count = more->tree_count};
	return !answer.wrong && kc_knowledge_trees_sound(&more->row, &trees, more->limit_count);
}

static void say_end(const struct kc_piped *piped, const char *python, char *why, size_t why_size)
{
	if (WIFSIGNALED(piped->status))
		snprintf(why, why_size, "%s was killed by signal %d", python, WTERMSIG(piped->status));
	else
		snprintf(why, why_size, "%s failed, with status %d", python, WEXITSTATUS(piped->status));
}

static int understand(const struct kc_piped *piped, const char *python, struct kc_knowledge_more *more, char *why,
		      size_t why_size)
{
	const char *text = piped->out;

	if (piped->status)
		say_end(piped, python, why, why_size);
	else if (!strncmp(text, "no ", 3))
		snprintf(why, why_size, "%s: %.*s", python, (int)strcspn(text + 3, "\n"), text + 3);
	else if (strncmp(text, "trees ", 6) || !read_trees(text + 6, more))
		snprintf(why, why_size, "what %s answers are no trees", python);
	else
		return 0;
	return -ENODATA;
}

static int ask(struct kc_piped *piped, const char *python, struct kc_knowledge_more *more, char *why, size_t why_size)
{
	int rc = kc_piped_run(piped);

	if (rc == 0)
		return understand(piped, python, more, why, why_size);
	if (rc == -ETIME)
		snprintf(why, why_size, "%s took longer than %d s", python, piped->limit_ms / 1000);
	else if (rc == -EFBIG)
		snprintf(why, why_size, "what %s answers are no trees", python);
	else if (rc == -ENOENT)
		snprintf(why, why_size, "there is no %s; --python names a Python with LightGBM", python);
	else
		snprintf(why, why_size, "cannot run %s: %s", python, strerror(-rc));
	return -ENODATA;
}

int kc_more_trees_train(const struct kc_knowledge_lesson *lessons, uint32_t count, const char *python, int limit_ms,
			struct kc_knowledge_more *more, char *why, size_t why_size)
{
	char *const argv[] = {(char *)python, (char *)"-c", (char *)kc__train_trees, NULL};
	struct kc_piped piped = {.argv = argv, .out_room = ANSWER_BYTES, .limit_ms = limit_ms};
	char *text;
	int rc = -ENODATA;

	memset(more, 0, sizeof(*more));
	if (count < KC_MORE_TREES_LEAST) {
		snprintf(why, why_size, "%u launch shapes are too few to learn from, %u are enough", count,
			 KC_MORE_TREES_LEAST);
		return -ENODATA;
	}
	piped.in = text = text_of(lessons, count, &piped.in_bytes);
	piped.out = malloc(piped.out_room + 1);
	if (text && piped.out)
		rc = ask(&piped, python, more, why, why_size);
	else
		snprintf(why, why_size, "no memory");
	free(text);
	free(piped.out);
	more->row.continues = kc_prior_identity();
	more->row.simulated = lessons[0].simulated;
	more->row.shapes = count;
	return rc;
}
