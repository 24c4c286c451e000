#include "launch_times.h"

#include "tools/output/format.h"
#include "kernel_spec.h"
#include "tools/output/table.h"

#include <math.h>
#include <stdio.h>

int kc_launch_times(const struct kc_device *device, const struct kc_counted_launch *launch, double lambda,
		    struct kc_launch_times *times, char *why, size_t why_size)
{
	const uint32_t *block = launch->shape.block;
	char reason[192];
	int rc = kc_shape_work(&launch->resources, &launch->shape, device, &times->work, reason, sizeof(reason));

	if (rc < 0) {
		snprintf(why, why_size, "cannot run on %s: %s", device->name, reason);
		return rc;
	}
	rc = kc_model_times(device, times->work.blocks, block[0] * block[1] * block[2], &launch->counts, lambda,
			    &times->models);
	if (rc < 0)
		snprintf(why, why_size, "%s has no clock_khz, which the models need", device->name);
	return rc;
}

static void add_row(struct kc_table *table, const char *model, const char *meaning, double low_ns, double high_ns)
{
	char low[KC_FORMAT_BYTES], high[KC_FORMAT_BYTES];

	kc_format_ns(low_ns, low);
	kc_format_ns(high_ns, high);
	kc_table_row(table, (const char *const[]){model, low, low_ns == high_ns ? "" : high, meaning});
}

/* From the roofline's lower bound, which no launch can beat, to the slowest of the models that need no λ; and no kernel
 * takes less than an empty one. */
static void print_estimate(const struct kc_launch_times *times, double lambda, unsigned indent)
{
	const struct kc_model_times *models = &times->models;
	double low = fmax(times->work.launch_ns, models->roofline_low_ns),
	       high = fmax(models->roofline_high_ns, models->cycle_sum_ns);
	char bsp[KC_FORMAT_BYTES], from[KC_FORMAT_BYTES], to[KC_FORMAT_BYTES], empty[KC_FORMAT_BYTES];

	if (models->boathull_class != KC_BOATHULL_NONE)
		high = fmax(high, models->boathull_high_ns);
	kc_format_ns(models->bsp_ns, bsp);
	kc_format_ns(low, from);
	kc_format_ns(times->work.launch_ns + high, to);
	kc_format_ns(times->work.launch_ns, empty);
	if (lambda == KC_LAMBDA_NOT_LEARNED)
		printf(
		    "%*sestimate: %s to %s, from the roofline's bound to the slowest model plus an empty kernel's %s\n",
		    (int)indent, "", from, to, empty);
	else
		printf("%*sestimate: %s, by BSP with \xce\xbb = %g; the models without \xce\xbb say %s to %s\n",
		       (int)indent, "", bsp, lambda, from, to);
}

static int print_table(const struct kc_model_times *times, double lambda, unsigned indent)
{
	static const struct kc_column columns[] = {
	    {"model", KC_LEFT, 0}, {"from", KC_RIGHT, 0}, {"to", KC_RIGHT, 0}, {"", KC_LEFT, 1}, {0}};
	struct kc_table table;
	char class[64];
	int rc;

	snprintf(class, sizeof(class), "class %s", kc_boathull_class_name(times->boathull_class));
	kc_table_init(&table, columns);
	if (lambda != KC_LAMBDA_NOT_LEARNED)
		add_row(&table, "BSP", "Amaris et al. 2015, eq. 3", times->bsp_ns, times->bsp_ns);
	add_row(&table, "cycles", "from: memory latency fully hidden; to: not hidden", times->cycle_max_ns,
		times->cycle_sum_ns);
	if (times->boathull_class == KC_BOATHULL_NONE)
		kc_table_row(&table,
			     (const char *const[]){"boat hull", "-", "", "the kernel fits none of its classes"});
	else
		add_row(&table, "boat hull", class, times->boathull_low_ns, times->boathull_high_ns);
	add_row(&table, "roofline", "from: all reads hit a cache; to: none does", times->roofline_low_ns,
		times->roofline_high_ns);
	rc = kc_table_print(&table, stdout, indent, kc_page_width());
	kc_table_free(&table);
	return rc;
}

int kc_models_print(const struct kc_launch_times *times, const struct kc_counts *counts, double lambda, unsigned indent)
{
	int rc;

	print_estimate(times, lambda, indent);
	rc = print_table(&times->models, lambda, indent);
	if (lambda == KC_LAMBDA_NOT_LEARNED)
		printf("%*sBSP is left out: its \xce\xbb is learned from measurements of the kernel\n", (int)indent,
		       "");
	if (counts->assumed)
		printf("%*sunknown counts rest on assumptions, and so do the times\n", (int)indent, "");
	return rc;
}
