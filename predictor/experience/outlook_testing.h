/*
 * A V100 of which nothing is known, and a launch of 60 blocks on it. For tests.
 */
#ifndef KC_OUTLOOK_TESTING_H
#define KC_OUTLOOK_TESTING_H

#include "outlook.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct fixture {
	struct kc_device device;
	struct kc_work work;
	struct kc_lambda root, lambda;
	struct kc_contention board, contention;
	struct kc_device_experience of_device;
	struct kc_kernel_experience of_kernel;
	struct kc_history history;
	struct kc_timeline *tl;
};

static inline void begin(struct fixture *f)
{
	struct kc_resources resources = {.registers = 32};
	struct kc_shape shape = {.grid = {60, 1, 1}, .block = {256, 1, 1}};

	f->device = *kc_device_builtin("v100");
	kc_device_complete(&f->device);
	assert_int_equal(kc_work_init(&f->work, &f->device, &resources, &shape, 0), 0);
	kc_lambda_init(&f->root, NULL);
	kc_lambda_init(&f->lambda, &f->root);
	kc_contention_init(&f->board, NULL);
	kc_contention_init(&f->contention, &f->board);
	kc_device_experience_init(&f->of_device, NULL);
	kc_kernel_experience_init(&f->of_kernel, &f->of_device);
	kc_history_init(&f->history, 0);
	f->tl = calloc(1, kc_timeline_size());
	assert_non_null(f->tl);
	kc_timeline_init(f->tl, &f->device);
}

static inline void learn(struct fixture *f, const struct kc_placement *placed, int overlapped, uint32_t solos,
			 int64_t ns)
{
	struct kc_decided_launch lesson = {
	    .work = &f->work,
	    .lambda = &f->lambda,
	    .contention = &f->contention,
	    .meeting = placed->meeting,
	    .slowdown = (double)placed->slowdown,
	    .overlapped = overlapped,
	    .solos = solos,
	    .measured_ns = ns,
	};

	lesson.met.of[KC_LOAD_ISSUE] = overlapped ? 0.5f : 0;
	kc_outlook_learn(&lesson);
}

#endif
