#include "launch_times.h"

#include "tools/output/format.h"
#include "kernel_spec.h"
#include "tools/output/table.h"

#include <math.h>
#include <stdio.h>

static void time_resources(const struct kc_device *device, const struct kc_counts *counts,
			   struct kc_launch_times *times)
{
	double width;

	kc_resource_times(device, &times->work, counts, &times->resources);
	width = exp((double)kc_resource_half_width(counts, &times->resources));
	times->bound_ns = kc_resource_bound_ns(device, &times->work, counts, &times->bound_by);
	times->low_ns =
	    kc_resource_low_ns(times->resources.total_ns, width, kc_resource_least_ns(device, &times->work, counts));
	times->high_ns = times->resources.total_ns * width;
}

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
	if (rc < 0) {
		snprintf(why, why_size, "%s has no clock_khz, which the models need", device->name);
		return rc;
	}
	time_resources(device, &launch->counts, times);
	return 0;
}

static void add_row(struct kc_table *table, const char *model, const char *meaning, double low_ns, double high_ns)
{
	char low[KC_FORMAT_BYTES], high[KC_FORMAT_BYTES];

	kc_format_ns(low_ns, low);
	kc_format_ns(high_ns, high);
	kc_table_row(table, (const char *const[]){model, low, low_ns == high_ns ? "" : high, meaning});
}

#define TOLD_SHARE 0.25 /* of the longest resource, from which one is worth a word */
#define TOLD 3u

/* The longest resource of those that are not longer than one of them, which is left out; KC_RESOURCE_COUNT: none. */
static uint32_t next_longest(const struct kc_resource_times *times, uint32_t after)
{
	uint32_t found = KC_RESOURCE_COUNT;
	double than = times->ns[after];

	for (uint32_t r = 0; r < KC_RESOURCE_COUNT; r++) {
		int comes = times->ns[r] < than || (times->ns[r] == than && r > after);

		if (comes && (found == KC_RESOURCE_COUNT || times->ns[r] > times->ns[found]))
			found = r;
	}
	return found;
}

/* "device memory 44.1 us, L2 cache 12.3 us, an empty kernel 750 ns" */
static void print_limits(const struct kc_resource_times *times, unsigned indent)
{
	char ns[KC_FORMAT_BYTES];
	uint32_t r = times->limit;

	printf("%*slimited by: ", (int)indent, "");
	for (uint32_t i = 0; i < TOLD && r < KC_RESOURCE_COUNT && times->ns[r] > TOLD_SHARE * times->ns[times->limit];
	     i++) {
		kc_format_ns(times->ns[r], ns);
		printf("%s %s, ", kc_resource_name(r), ns);
		r = next_longest(times, r);
	}
	kc_format_ns(times->floor_ns, ns);
	printf("an empty kernel %s\n", ns);
}

/* "lower bound: 31.9 us, by the peak of device memory" */
static void print_bound(const struct kc_launch_times *times, unsigned indent)
{
	char ns[KC_FORMAT_BYTES];

	if (!(times->bound_ns > 0))
		return;
	kc_format_ns(times->bound_ns, ns);
	if (times->bound_by == KC_RESOURCE_COUNT)
		printf("%*slower bound: %s, little more than two thirds of an empty kernel\n", (int)indent, "", ns);
	else
		printf("%*slower bound: %s, by the peak of %s\n", (int)indent, "", ns,
		       kc_resource_name(times->bound_by));
}

static void print_estimate(const struct kc_launch_times *times, double lambda, unsigned indent)
{
	char bsp[KC_FORMAT_BYTES], time[KC_FORMAT_BYTES], from[KC_FORMAT_BYTES], to[KC_FORMAT_BYTES];

	kc_format_ns(times->models.bsp_ns, bsp);
	kc_format_ns(times->resources.total_ns, time);
	kc_format_ns(times->low_ns, from);
	kc_format_ns(times->high_ns, to);
	if (lambda == KC_LAMBDA_NOT_LEARNED)
		printf("%*sestimate: %s; nine in ten such kernels take %s to %s\n", (int)indent, "", time, from, to);
	else
		printf("%*sestimate: %s, by BSP with \xce\xbb = %g; without \xce\xbb %s\n", (int)indent, "", bsp,
		       lambda, time);
	print_limits(&times->resources, indent);
	print_bound(times, indent);
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
