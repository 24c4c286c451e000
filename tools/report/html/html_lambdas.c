#include "html_internal.h"
#include "tools/output/json.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <stdlib.h>

#define READ 20000u     /* values that are read */
#define SHOWN_KERNELS 6 /* of those that took most time */
#define POINTS 240u     /* of a line */
#define NS_PER_US 1000
#define LEAST 2u /* values that make a line */

/* The values of one belief, in their order: a range of the list. */
struct line {
	size_t first, count;
};

KC_ORDER(compare_values, struct kc_sample_lambda, KC_UP(kernel) ?: KC_UP(level) ?: KC_UP(shape) ?:
	 KC_UP(process) ?: KC_UP(time_ns) ?: KC_UP(count))

static int is_same_line(const struct kc_sample_lambda *x, const struct kc_sample_lambda *y)
{
	return x->kernel == y->kernel && x->level == y->level && x->shape == y->shape && x->process == y->process;
}

/* The longest line of a kernel, of all values sorted; kernel 0: of the device. */
static struct line longest_of(const struct kc__list *values, int64_t kernel)
{
	const struct kc_sample_lambda *all = values->at;
	struct line longest = {0};
	size_t begin = 0;

	for (size_t i = 1; i <= values->count; i++) {
		if (i < values->count && is_same_line(all + i, all + begin))
			continue;
		if (all[begin].kernel == kernel && i - begin > longest.count)
			longest = (struct line){begin, i - begin};
		begin = i;
	}
	return longest;
}

/* count: LEAST or more. */
static json_t *line_json(const struct kc__html *page, const struct kc_sample_lambda *values, size_t count)
{
	size_t shown = count < POINTS ? count : POINTS;
	json_t *points = json_array();

	for (size_t i = 0; i < shown; i++) { /* the first and the last one among them */
		const struct kc_sample_lambda *value = values + i * (count - 1) / (shown - 1);

		json_array_append_new(points, json_pack("[I,I,o]", (json_int_t)(value->time_ns / NS_PER_US),
							(json_int_t)value->count, kc_json_real(value->value)));
	}
	return json_pack("{s:I,s:s,s:I,s:o}", "kernel", (json_int_t)kc__html_place(page, values->kernel), "level",
			 kc_model_name(values->level), "values", (json_int_t)count, "points", points);
}

int kc__html_lambdas_json(const struct kc__html *page, json_t **out)
{
	const struct kc_groups *kernels = &page->data->kernels;
	struct kc__list values = {0};
	json_t *lines = json_array();
	int rc = kc_sample_lambdas(page->store, page->selection, READ, &values);

	if (rc == 0 && values.count)
		qsort(values.at, values.count, sizeof(struct kc_sample_lambda), compare_values);
	for (size_t i = 0; rc == 0 && i <= SHOWN_KERNELS && i <= kernels->count; i++) {
		int64_t kernel = i == SHOWN_KERNELS || i == kernels->count ? 0 : kernels->at[i].id;
		struct line line = longest_of(&values, kernel);

		if (line.count >= LEAST)
			json_array_append_new(
			    lines,
			    line_json(page, (const struct kc_sample_lambda *)values.at + line.first, line.count));
	}
	*out = json_pack("{s:I,s:I,s:o}", "read", (json_int_t)values.count, "most", (json_int_t)READ, "lines", lines);
	free(values.at);
	return rc ? rc : *out ? 0 : -ENOMEM;
}
