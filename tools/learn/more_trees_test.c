/* Training with programs that stand for a Python: they answer, fail, lie, hang, or say too much. */
#include "more_trees.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { LESSONS = 4000, SHORT_MS = 300, LONG_MS = 30000 };

/* Two traits have a limit each; two trees of one question. */
#define ANSWER                                                                                                         \
	"trees 0.75 0.5 2 2 0.5 0.001\n1 0\n1 3\n0\n0\n0\n0\n0\n0\n0\n0\n0\n0\n0\n0\n0\n0\n0\n0\n"                     \
	"8081 0 0 0 0 0 0 0 0 0 0 0 0 0 0  100 -200 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"                                     \
	"1008081 0 0 0 0 0 0 0 0 0 0 0 0 0 0  10 20 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"

struct fixture {
	char folder[40], python[60];
	struct kc_knowledge_more more;
	struct kc_knowledge_lesson *lessons;
};

static int set_up(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	signal(SIGPIPE, SIG_IGN);
	strcpy(x->folder, "/tmp/kerncast-XXXXXX");
	assert_non_null(mkdtemp(x->folder));
	snprintf(x->python, sizeof(x->python), "%s/python", x->folder);
	x->lessons = calloc(LESSONS, sizeof(*x->lessons));
	assert_non_null(x->lessons);
	*state = x;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *x = *state;

	unlink(x->python);
	rmdir(x->folder);
	free(x->lessons);
	free(x);
	return 0;
}

/* A shell script instead; "" or why there are no trees. No process of it is left. */
static const char *train(struct fixture *x, const char *script, uint32_t count, int limit_ms)
{
	static char why[300];
	FILE *to = fopen(x->python, "w");
	int rc;

	assert_non_null(to);
	fputs("#!/bin/sh\n", to);
	fputs(script, to);
	assert_int_equal(fclose(to), 0);
	assert_int_equal(chmod(x->python, 0700), 0);
	why[0] = 0;
	rc = kc_more_trees_train(x->lessons, count, x->python, limit_ms, &x->more, why, sizeof(why));
	assert_int_equal(rc, why[0] ? -ENODATA : 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	return why;
}

static void trees_are_read(void **state)
{
	struct fixture *x = *state;

	x->lessons[0].simulated = 1;
	assert_string_equal(train(x, "cat >/dev/null; cat <<END\n" ANSWER "END\n", LESSONS, LONG_MS), "");
	assert_int_equal(x->more.tree_count, 2);
	assert_int_equal(x->more.limit_count, 2);
	assert_float_equal(x->more.off_without, 0.75, 0);
	assert_float_equal(x->more.off_with, 0.5, 0);
	assert_float_equal(x->more.row.base, 0.5, 0);
	assert_float_equal(x->more.row.leaf, 0.001, 1e-9);
	assert_int_equal(x->more.row.shapes, LESSONS);
	assert_int_equal(x->more.row.simulated, 1);
	assert_int_equal(x->more.row.limits_at[1], 1);
	assert_int_equal(x->more.row.limits_at[2], 2);
	assert_int_equal(x->more.row.limits_at[KC_TRAITS], 2);
	assert_float_equal(x->more.limits[1], 3, 0);
	assert_int_equal(x->more.nodes[0], 0x8081);
	assert_int_equal(x->more.nodes[KC_PRIOR_NODES], 0x1008081);
	assert_int_equal(x->more.leaves[1], -200);
	assert_int_equal(x->more.leaves[KC_PRIOR_LEAVES + 1], 20);
}

/* Numbers are decimal, but for nodes: 12 trees, and 12 limits of the first trait. */
static void many_trees_are_read(void **state)
{
	struct fixture *x = *state;

	assert_string_equal(train(x,
				  "cat >/dev/null; echo trees 0.75 0.5 12 12 0.5 0.001\n"
				  "echo 12 $(seq 12); yes 0 | head -n 17\n"
				  "for i in $(seq 12); do echo $(yes 8081 | head -n 15) $(seq 11 26); done",
				  LESSONS, LONG_MS),
			    "");
	assert_int_equal(x->more.tree_count, 12);
	assert_int_equal(x->more.limit_count, 12);
	assert_int_equal(x->more.row.limits_at[1], 12);
	assert_int_equal(x->more.row.limits_at[KC_TRAITS], 12);
	assert_float_equal(x->more.limits[11], 12, 0);
	assert_int_equal(x->more.nodes[12 * KC_PRIOR_NODES - 1], 0x8081);
	assert_int_equal(x->more.leaves[12 * KC_PRIOR_LEAVES - 1], 26);
}

/* Of 4,000 lessons, more than a pipe holds. */
static void every_lesson_is_told(void **state)
{
	struct fixture *x = *state;

	x->lessons[2] = (struct kc_knowledge_lesson){
	    .program = 7, .measured = 1.5f, .expected = 2.25f, .words = 0x2a, .traits = {-0.5f, 3}};
	assert_string_equal(train(x,
				  "[ \"$1\" = -c ] && [ \"$#\" = 2 ] || exit 1\n"
				  "awk -F '\\t' 'NR == 1 { words = $0 } NR == 4 { line = $1 \" \" $2 \" \" $3 \" \" $4 "
				  "\" \" $5 \" \" $NF }\n"
				  "END { print \"no \" words, NR, NF, line }'",
				  LESSONS, LONG_MS) +
				strlen(x->python) + strlen(": "),
			    "16 4001 22 7 1.5 2.25 -0.5 3 2a");
}

static void what_is_no_trees_is_said(void **state)
{
	struct fixture *x = *state;
	char expected[200];

	snprintf(expected, sizeof(expected), "what %s answers are no trees", x->python);
	assert_string_equal(train(x, "cat >/dev/null; echo hello", LESSONS, LONG_MS), expected);
	assert_string_equal(train(x, "exit 0", LESSONS, LONG_MS), expected); /* and reads nothing */
	assert_string_equal(train(x, "echo trees 1 1 64 4590 1 1", LESSONS, LONG_MS), expected);
	assert_string_equal(train(x, "echo trees 1 1 65 0 1 1", LESSONS, LONG_MS), expected);
	assert_string_equal(train(x, "echo trees 1 1 0 0 1 1; yes 0 | head -n 17", LESSONS, LONG_MS), expected);
	assert_string_equal(train(x, "echo trees 1 1 -1 0 1 1", LESSONS, LONG_MS), expected);
	assert_string_equal(train(x, "cat <<END | sed 's/8081 0/8000 0/'\n" ANSWER "END\n", LESSONS, LONG_MS),
			    expected); /* a node that leads back to itself */
	assert_string_equal(train(x, "cat <<END | sed 's/0.001/nan/'\n" ANSWER "END\n", LESSONS, LONG_MS), expected);
	assert_string_equal(train(x, "cat <<END | sed 's/ 100 / 99999 /'\n" ANSWER "END\n", LESSONS, LONG_MS),
			    expected);
	assert_string_equal(train(x, "exec yes", LESSONS, LONG_MS), expected);
}

static void a_python_that_fails_or_hangs_is_said(void **state)
{
	struct fixture *x = *state;
	char expected[200];

	snprintf(expected, sizeof(expected), "%s failed, with status 3", x->python);
	assert_string_equal(train(x, "echo trees 1 0 1 1; exit 3", LESSONS, LONG_MS), expected);
	snprintf(expected, sizeof(expected), "%s was killed by signal 11", x->python);
	assert_string_equal(train(x, "kill -11 $$", LESSONS, LONG_MS), expected);
	snprintf(expected, sizeof(expected), "%s took longer than 0 s", x->python);
	assert_string_equal(train(x, "exec sleep 60", LESSONS, SHORT_MS), expected);
	assert_string_equal(train(x, "exec sleep 60 >&-", LESSONS, SHORT_MS), expected); /* its output is closed */
}

/* Its children have the pipe, and a process group or session of their own; the shell says who they are. */
static void a_python_that_leaves_children_is_not_waited_for(void **state)
{
	struct fixture *x = *state;
	char script[800], pids[80], expected[200], *at = pids;
	time_t began = time(NULL);
	FILE *from;
	size_t n;

	snprintf(script, sizeof(script),
		 "sleep 300 & echo $! >%s/pids\nsetsid sh -c 'echo $$ >>%s/pids; exec sleep 300' &\n"
		 "while [ \"$(wc -l <%s/pids)\" -lt 2 ]; do sleep 0.01; done; cat >/dev/null; cat <<END\n" ANSWER
		 "END\n",
		 x->folder, x->folder, x->folder);
	assert_string_equal(train(x, script, LESSONS, LONG_MS), "");
	strcat(script, "exec sleep 300\n");
	snprintf(expected, sizeof(expected), "%s took longer than 2 s", x->python);
	assert_string_equal(train(x, script, LESSONS, 2000), expected);
	assert_true(time(NULL) - began < LONG_MS / 1000);
	snprintf(script, sizeof(script), "%s/pids", x->folder);
	from = fopen(script, "r");
	assert_non_null(from);
	n = fread(pids, 1, sizeof(pids) - 1, from);
	pids[n] = 0;
	fclose(from);
	unlink(script);
	for (int i = 0; i < 2; i++) {
		long pid = strtol(at, &at, 10);

		assert_true(pid > 1);
		assert_int_equal(kill((pid_t)pid, 0), -1);
		assert_int_equal(errno, ESRCH);
	}
}

static void without_a_python_or_lessons_there_are_none(void **state)
{
	struct fixture *x = *state;
	char why[300];

	assert_string_equal(train(x, "cat >/dev/null; cat <<END\n" ANSWER "END\n", KC_MORE_TREES_LEAST, LONG_MS), "");
	assert_string_equal(train(x, "touch \"$0.was-run\"", KC_MORE_TREES_LEAST - 1, LONG_MS),
			    "127 launch shapes are too few to learn from, 128 are enough");
	assert_int_equal(
	    kc_more_trees_train(x->lessons, LESSONS, "/nonexistent/python", LONG_MS, &x->more, why, sizeof(why)),
	    -ENODATA);
	assert_string_equal(why, "there is no /nonexistent/python; --python names a Python with LightGBM");
}

int main(void)
{
#define WITH_FOLDER(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    WITH_FOLDER(trees_are_read),
	    WITH_FOLDER(many_trees_are_read),
	    WITH_FOLDER(every_lesson_is_told),
	    WITH_FOLDER(what_is_no_trees_is_said),
	    WITH_FOLDER(a_python_that_fails_or_hangs_is_said),
	    WITH_FOLDER(a_python_that_leaves_children_is_not_waited_for),
	    WITH_FOLDER(without_a_python_or_lessons_there_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
