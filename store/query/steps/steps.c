#include "steps.h"

#include "store/database/internal.h"
#include "store/query/query.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static int add_step(sqlite3_stmt *row, void *arg)
{
	struct kc_step *step = kc__list_add(arg, sizeof(*step));

	if (!step)
		return -ENOMEM;
	*step = (struct kc_step){
	    .process = sqlite3_column_int64(row, 0),
	    .number = sqlite3_column_int64(row, 1),
	    .start_ns = sqlite3_column_int64(row, 2),
	    .end_ns = sqlite3_column_int64(row, 3),
	};
	return 0;
}

int kc_steps_load(struct kc_store *s, const struct kc_selection *selection, struct kc_steps *out)
{
	static const char of_runs[] = "SELECT t.process, t.number, t.start_ns, t.end_ns FROM process p JOIN step t"
				      " ON t.process = p.id WHERE p.run BETWEEN ?1 AND ?2 ORDER BY 1, 3, 2";
	static const char all[] = "SELECT process, number, start_ns, end_ns FROM step ORDER BY 1, 3, 2";

	*out = (struct kc_steps){{0}};
	return kc__select(s, selection, selection ? of_runs : all, add_step, &out->all);
}

int kc_steps_are_told(struct kc_store *s, int64_t process)
{
	sqlite3_stmt *row;
	int rc = sqlite3_prepare_v2(s->db,
				    "SELECT 1 FROM process p JOIN process q ON q.run = p.run JOIN step t"
				    " ON t.process = q.id WHERE p.id = ?1 LIMIT 1",
				    -1, &row, NULL);

	if (rc == SQLITE_OK) {
		sqlite3_bind_int64(row, 1, process);
		rc = sqlite3_step(row);
		sqlite3_finalize(row);
	}
	return rc == SQLITE_ROW ? 1 : kc__errno(s->db, rc);
}

void kc_steps_free(struct kc_steps *steps)
{
	free(steps->all.at);
	*steps = (struct kc_steps){{0}};
}

static int begins_after(const struct kc_step *step, int64_t process, int64_t ns)
{
	return step->process > process || (step->process == process && step->start_ns > ns);
}

size_t kc_steps_before(const struct kc_steps *steps, int64_t process, int64_t start_ns)
{
	return KC_FIRST(i, steps->all.count, begins_after(kc_step_at(steps, i), process, start_ns));
}

double kc_step_time(const struct kc_step *step)
{
	return step->is_open || step->end_ns < step->start_ns ? NAN : (double)kc_minus_ns(step->end_ns, step->start_ns);
}

const struct kc_step *kc_steps_find(const struct kc_steps *steps, int64_t process, int64_t launched_ns)
{
	size_t first = kc_steps_before(steps, process, launched_ns);
	const struct kc_step *step;

	if (!first)
		return NULL;
	step = kc_step_at(steps, first - 1);
	return step->process == process && launched_ns < step->end_ns ? step : NULL;
}
