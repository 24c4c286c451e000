#include "replay_forms.h"

#include "predictor/concurrency/overlap.h"
#include "predictor/papers/leftover.h"
#include "predictor/solo/forecast.h"
#include "tools/output/csv.h"

#include <errno.h>
#include <stdio.h>

void kc_replay_csv_head(struct kc_csv *csv)
{
	static const char *const columns[] = {
	    "process",
	    "sequence",
	    "stream",
	    "kernel",
	    "shape",
	    "launched_ns",
	    "novelty",
	    "model",
	    "solo_ns",
	    "solo_low_ns",
	    "solo_high_ns",
	    "start_ns",
	    "end_ns",
	    "slowdown",
	    "slowdown_waves",
	    "case",
	    "unpredictable",
	    "reference_ns",
	    "excluded",
	    "overlap",
	    "measured_start_ns",
	    "measured_end_ns",
	};

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		kc_csv_text(csv, columns[i]);
	kc_csv_end_row(csv);
}

static void csv_integers(struct kc_csv *csv, const int64_t *values, size_t count, int known)
{
	for (size_t i = 0; i < count; i++) {
		if (known)
			kc_csv_integer(csv, values[i]);
		else
			kc_csv_text(csv, NULL);
	}
}

int kc_replay_csv_launch(const struct kc_replay_launch *l, void *arg)
{
	struct kc_csv *csv = arg;
	int known = l->unpredictable == KC_PREDICTED;
	const int64_t head[] = {l->process, (int64_t)l->sequence, l->stream, l->kernel, l->shape, l->launched_ns};
	const int64_t times[] = {l->solo_ns, l->solo_low_ns, l->solo_high_ns, l->start_ns, l->end_ns};
	const int64_t measured[] = {l->measured_start_ns, l->measured_end_ns};

	csv_integers(csv, head, 6, 1);
	kc_csv_text(csv, known ? kc_novelty_name(l->novelty) : NULL);
	kc_csv_text(csv, known ? kc_model_name(l->model) : NULL);
	csv_integers(csv, times, 5, known);
	if (known) {
		kc_csv_real(csv, l->slowdown);
		kc_csv_real(csv, l->slowdown_waves);
		kc_csv_text(csv, kc_case_name(l->concurrency_case));
		kc_csv_text(csv, NULL);
	} else {
		for (int i = 0; i < 3; i++)
			kc_csv_text(csv, NULL);
		kc_csv_text(csv, kc_unpredictable_name(l->unpredictable));
	}
	if (l->reference_ns > 0)
		kc_csv_real(csv, l->reference_ns);
	else
		kc_csv_text(csv, NULL);
	kc_csv_integer(csv, l->excluded);
	kc_csv_text(csv, l->overlap ? kc_overlap_name(l->overlap) : NULL);
	csv_integers(csv, measured, 2, l->measured_end_ns != 0);
	kc_csv_end_row(csv);
	return ferror(csv->to) ? -EIO : 0;
}
