#include "launch_times.h"

#include "tools/output/format.h"
#include "kernel_spec.h"
#include "tools/output/table.h"

#include <stdio.h>

int kc_launch_times(const struct kc_device *device, const struct kc_counted_launch *launch, double lambda,
		    struct kc_launch_times *times, char *why, size_t why_size)
{
	const uint32_t *block = launch->shape.block;
	char reason[192];
	int rc = kc_shape_work(&launch->resources, &launch->shape, device, &times->work, reason, sizeof(reason));

	if (rc < 0) {
		snprintf(why, why_size, "it cannot run on %s: %s", device->name, reason);
		return rc;
	}
	rc = kc_model_times(device, times->work.blocks, block[0] * block[1] * block[2], &launch->counts, lambda,
			    &times->models);
	if (rc < 0)
		snprintf(why, why_size, "%s has no clock_khz; the models cannot do without", device->name);
	return rc;
}

static void add_row(struct kc_table *table, const char *model, const char *meaning, double low_ns, double high_ns)
{
	char low[KC_FORMAT_BYTES], high[KC_FORMAT_BYTES];

	kc_format_ns(low_ns, low);
	kc_format_ns(high_ns, high);
	kc_table_row(table, (const char *const[]){model, low, low_ns == high_ns ? "" : high, meaning});
}

int kc_models_print(const struct kc_model_times *times, unsigned indent)
{
	static const struct kc_column columns[] = {
	    {"model", KC_LEFT, 0}, {"from", KC_RIGHT, 0}, {"to", KC_RIGHT, 0}, {"", KC_LEFT, 1}, {0}};
	struct kc_table table;
	char class[64];
	int rc;

	snprintf(class, sizeof(class), "class %s", kc_boathull_class_name(times->boathull_class));
	kc_table_init(&table, columns);
	add_row(&table, "BSP", "Equation 3", times->bsp_ns, times->bsp_ns);
	add_row(&table, "cycles", "memory latency hidden, and not", times->cycle_max_ns, times->cycle_sum_ns);
	if (times->boathull_class == KC_BOATHULL_NONE)
		kc_table_row(&table, (const char *const[]){"boat hull", "-", "", "fits none of the classes"});
	else
		add_row(&table, "boat hull", class, times->boathull_low_ns, times->boathull_high_ns);
	add_row(&table, "roofline", "at best, and with no cache", times->roofline_low_ns, times->roofline_high_ns);
	rc = kc_table_print(&table, stdout, indent, kc_page_width());
	kc_table_free(&table);
	return rc;
}

void kc_models_print_lambda(double lambda, unsigned indent)
{
	if (lambda == KC_LAMBDA_NOT_LEARNED)
		printf("%*s\xce\xbb is 1, not yet learned: BSP's time is to be divided by what it turns out to be\n",
		       (int)indent, "");
}

void kc_models_print_assumed(const struct kc_counts *counts, unsigned indent)
{
	if (counts->assumed)
		printf("%*scounts that are not known rest on assumptions, and so do the times\n", (int)indent, "");
}
