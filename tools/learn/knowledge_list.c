#include "knowledge_list.h"

#include "store/query/readable.h"
#include "tools/command.h"
#include "tools/output/colour.h"
#include "tools/output/format.h"
#include "tools/output/json.h"
#include "tools/output/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* What the file says of a kernel. */
struct tally {
	uint32_t shapes;
	double launches, ns; /* of all launch shapes: measurements, and their sum */
};

static struct tally *tally_up(const struct kc_knowledge *k)
{
	struct tally *tallies = calloc((size_t)k->head->kernel_count + 1, sizeof(*tallies));

	for (uint32_t i = 0; tallies && i < k->head->entry_count; i++) {
		const struct kc_knowledge_entry *entry = &k->entries[i];
		double ns = entry->launch_ns + entry->unit_ns * exp(-entry->lambda.log_value);

		if (!entry->whole)
			continue;
		tallies[entry->kernel].shapes++;
		tallies[entry->kernel].launches += entry->lambda.count;
		tallies[entry->kernel].ns += entry->lambda.count * ns;
	}
	return tallies;
}

static double mean_ns(const struct tally *tally)
{
	return tally->launches > 0 ? tally->ns / tally->launches : NAN;
}

static uint32_t shapes_in(const struct kc_knowledge *k, const struct tally *tallies)
{
	uint32_t shapes = 0;

	for (uint32_t i = 0; i < k->head->kernel_count; i++)
		shapes += tallies[i].shapes;
	return shapes;
}

static int is_simulated(const struct kc_knowledge *k)
{
	for (uint32_t i = 0; i < k->head->device_count; i++)
		if (k->devices[i].simulated)
			return 1;
	return 0;
}

static void print_kernels(const struct kc_knowledge *k, const struct tally *tallies, struct kc_table *table)
{
	char name[KC_READABLE_BYTES], shapes[KC_FORMAT_BYTES], sizes[KC_FORMAT_BYTES], launches[KC_FORMAT_BYTES];
	char mean[KC_FORMAT_BYTES];

	for (uint32_t i = 0; i < k->head->kernel_count; i++) {
		const struct kc_knowledge_kernel *kernel = &k->kernels[i];
		const char *cells[] = {name,
				       k->devices[kernel->device].name,
				       kc_format_count(tallies[i].shapes, shapes),
				       kc_format_count(kernel->point_count, sizes),
				       kc_format_count(kernel->measured, launches),
				       kc_format_ns(mean_ns(&tallies[i]), mean)};

		if (kernel->text)
			kc_readable_name(k->text + kernel->text, name, sizeof(name));
		else
			snprintf(name, sizeof(name), "%016" PRIx64, kernel->name);
		kc_table_row(table, cells);
	}
}

int kc_knowledge_list(const struct kc_knowledge *k, const char *path)
{
	static const struct kc_column columns[] = {
	    {"kernel", KC_LEFT, 1},    {"GPU", KC_LEFT, 0},   {"shapes", KC_RIGHT, 0}, {"sizes", KC_RIGHT, 0},
	    {"launches", KC_RIGHT, 0}, {"mean", KC_RIGHT, 0}, {NULL, KC_LEFT, 0}};
	struct tally *tallies = tally_up(k);
	char kernels[KC_FORMAT_BYTES], shapes[KC_FORMAT_BYTES], bytes[KC_FORMAT_BYTES];
	struct kc_table table;

	if (!tallies) {
		kc_error("no memory");
		return KC_EXIT_FAILED;
	}
	if (is_simulated(k))
		kc_say_simulated(KC_SIMULATED_ALL);
	printf("%s: %s kernel%s, %s launch shapes, %s%s; checksum %016" PRIx64 "\n\n", path,
	       kc_format_count(k->head->kernel_count, kernels), k->head->kernel_count == 1 ? "" : "s",
	       kc_format_count(shapes_in(k, tallies), shapes), kc_format_bytes(k->head->bytes, bytes),
	       k->head->anonymous ? ", without names" : "", k->head->checksum);
	kc_table_init(&table, columns);
	print_kernels(k, tallies, &table);
	free(tallies);
	if (kc_table_finish(&table, 0))
		return KC_EXIT_FAILED;
	return kc_output_finish();
}

static json_t *device_json(const struct kc_knowledge_device *device)
{
	json_t *out = json_object();
	char capability[24];

	snprintf(capability, sizeof(capability), "%u.%u", device->cc_major, device->cc_minor);
	json_object_set_new(out, "name", kc_json_text(device->name));
	json_object_set_new(out, "compute_capability", kc_json_text(capability));
	json_object_set_new(out, "simulated", json_boolean(device->simulated));
	return out;
}

static json_t *kernel_json(const struct kc_knowledge *k, const struct kc_knowledge_kernel *kernel,
			   const struct tally *tally)
{
	json_t *out = json_object();
	char hash[17];

	snprintf(hash, sizeof(hash), "%016" PRIx64, kernel->name);
	json_object_set_new(out, "name", kc_json_text(kernel->text ? k->text + kernel->text : NULL));
	json_object_set_new(out, "name_hash", kc_json_text(hash));
	json_object_set_new(out, "device", json_integer(kernel->device));
	json_object_set_new(out, "launch_shapes", json_integer(tally->shapes));
	json_object_set_new(out, "sizes", json_integer(kernel->point_count));
	json_object_set_new(out, "measured", json_integer(kernel->measured));
	json_object_set_new(out, "mean_ns", kc_json_real(mean_ns(tally)));
	return out;
}

int kc_knowledge_list_json(const struct kc_knowledge *k, const char *path)
{
	json_t *out = kc_json_document("learn", 1), *devices = json_array(), *kernels = json_array();
	struct tally *tallies = tally_up(k);
	char checksum[17];

	snprintf(checksum, sizeof(checksum), "%016" PRIx64, k->head->checksum);
	json_object_set_new(out, "simulated", json_boolean(is_simulated(k)));
	json_object_set_new(out, "file", kc_json_text(path));
	json_object_set_new(out, "bytes", json_integer((json_int_t)k->head->bytes));
	json_object_set_new(out, "checksum", kc_json_text(checksum));
	json_object_set_new(out, "anonymous", json_boolean(k->head->anonymous));
	for (uint32_t i = 0; i < k->head->device_count; i++)
		json_array_append_new(devices, device_json(&k->devices[i]));
	for (uint32_t i = 0; tallies && i < k->head->kernel_count; i++)
		json_array_append_new(kernels, kernel_json(k, &k->kernels[i], &tallies[i]));
	json_object_set_new(out, "devices", devices);
	json_object_set_new(out, "kernels", kernels);
	free(tallies);
	return kc_json_print(out);
}
