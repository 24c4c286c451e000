/* For tests of what a program begins with: a database of what programs kept. */
#ifndef KC_PAST_KEPT_TESTING_H
#define KC_PAST_KEPT_TESTING_H

#include "past_testing.h"
#include "snapshot_row.h"
#include "store/database/testing/test_rows.h"

static const struct kc_beginning nothing;

struct fixture {
	char *directory;
	char path[300];
};

static inline int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->directory = make_scratch();
	snprintf(f->path, sizeof(f->path), "%s/past.db", f->directory);
	*state = f;
	return 0;
}

static inline int tear_down(void **state)
{
	struct fixture *f = *state;

	remove_scratch(f->directory);
	free(f);
	return 0;
}

/* Of a process that has ended, unless it is this one. */
static inline int64_t keep_of(const struct fixture *f, const struct kc_journal_header *header, const struct program *p,
			      int64_t others_since)
{
	const struct kc_snapshot_carried carried = {.others_since = others_since, .cells = p->engine.cells};
	struct kc_snapshot_maker *maker = kc_snapshot_begin();
	struct kc_store *s;
	int64_t process;

	program_add(p, maker);
	assert_int_equal(kc_store_open(f->path, KC_STORE_WRITE, &s, NULL, 0), 0);
	assert_int_equal(kc_store_process(s, header, &process), 0);
	assert_int_equal(kc_snapshot_store(s, &carried, maker), 0);
	kc_store_close(s);
	return process;
}

static inline int64_t keep(const struct fixture *f, const struct program *p, uint32_t pid)
{
	struct kc_journal_header header = make_header(pid, "a");

	return keep_of(f, &header, p, INT64_MAX);
}

/* A program of 60 launches, kept by process 1. */
static inline void run(const struct fixture *f)
{
	struct program *p = program_new(&nothing, OWN, 0xABC, NULL);

	program_run(p, 60);
	keep(f, p, 1);
	program_free(p);
}

static inline int load_within(const struct fixture *f, struct kc_store_bound bound, struct kc_past **past,
			      char why[200])
{
	const struct kc_past_options options = {.executable = "/usr/bin/app", .bound = bound};

	return kc_past_load(f->path, &options, past, why, 200);
}

static inline struct kc_past *load(const struct fixture *f)
{
	struct kc_past *past;
	char why[200] = "";

	assert_int_equal(load_within(f, (struct kc_store_bound){0}, &past, why), 0);
	return past;
}

static inline struct kc_solo solo_of(struct program *p, uint32_t variant, enum kc_novelty *novelty)
{
	struct kc_prediction_request request;

	kc_engine_ask(&p->engine, &p->variants[variant], NULL, &request);
	*novelty = request.novelty;
	return request.solo;
}

#endif
