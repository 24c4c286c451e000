#include "baseline.h"
#include "tools/output/json.h"

#include "predictor/math/hash.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCHEMA "kerncast.baseline/1"
#define PARTS 8u            /* of the launches of a unit */
#define FIRST_PART 4u       /* in the array of a unit: after company, position, launches, mean */
#define PART_SCALE 1e4      /* of the numbers in parts */
#define NAME_BYTES 100u     /* of a kernel's name, in the file */
#define FILE_MOST (1 << 20) /* bytes that are read */
#define ITEMS_MOST 65536u
#define KERNELS_MOST 1024u
#define NS_MOST 2.6e15 /* a month */

/* --- writing */

struct entry {
	uint32_t kernel, shape, company, position; /* position: kc_diff_position() */
	size_t place;                              /* in the run */
	double ns;
};

KC_ORDER(by_shape, struct entry, KC_UP(kernel) ?: KC_UP(shape) ?: KC_UP(company) ?: KC_UP(position) ?: KC_UP(place))

/* Logarithms of the durations, those far outside of their scatter moved to its edge. NULL: no memory. */
static double *clipped_logs(const struct entry *entries, size_t n)
{
	double *logs = calloc(2 * n, sizeof(*logs)), *sorted, low, high;

	if (!logs)
		return NULL;
	sorted = logs + n;
	for (size_t i = 0; i < n; i++)
		logs[i] = sorted[i] = log(entries[i].ns);
	kc_diff_scatter(sorted, n, &low, &high);
	for (size_t i = 0; i < n; i++)
		logs[i] = fmin(fmax(logs[i], low), high);
	return logs;
}

/* Where part i of n launches begins. */
static size_t part_first(size_t n, size_t parts, size_t i)
{
	return (i * n + parts - 1) / parts;
}

/* Launches of one shape, company and position. */
static json_t *unit_json(const struct entry *entries, size_t n)
{
	size_t parts = n < PARTS ? n : PARTS;
	double *logs = clipped_logs(entries, n), sum = 0, mean;
	json_t *out = logs ? json_array() : NULL;

	for (size_t i = 0; i < n; i++)
		sum += entries[i].ns;
	mean = fmax(round(sum / (double)n), 1);
	json_array_append_new(out, json_integer(entries->company));
	json_array_append_new(out, json_integer(entries->position));
	json_array_append_new(out, json_integer((json_int_t)n));
	json_array_append_new(out, json_integer(llround(mean)));
	for (size_t i = 0; out && i < parts; i++) {
		size_t first = part_first(n, parts, i), end = part_first(n, parts, i + 1);
		double of_part = 0;

		for (size_t k = first; k < end; k++)
			of_part += logs[k];
		json_array_append_new(
		    out, json_integer(llround((exp(of_part / (double)(end - first)) / mean - 1) * PART_SCALE)));
	}
	free(logs);
	return out;
}

static json_t *shape_json(const struct kc_measured_names *names, const struct entry *entries, size_t n)
{
	const struct kc_measured_shape *shape = kc_measured_shape(names, entries->shape);
	json_t *out = json_object(), *numbers = json_array(), *units = json_array();

	for (int i = 0; i < 3; i++)
		json_array_append_new(numbers, json_integer(shape->grid[i]));
	for (int i = 0; i < 3; i++)
		json_array_append_new(numbers, json_integer(shape->block[i]));
	json_array_append_new(numbers, json_integer(shape->dynamic_shared_bytes));
	json_object_set_new(out, "shape", numbers);
	json_object_set(out, "units", units);
	for (size_t first = 0, end; units && first < n; first = end) {
		for (end = first + 1; end < n && entries[end].company == entries[first].company &&
				      entries[end].position == entries[first].position;)
			end++;
		if (json_array_append_new(units, unit_json(entries + first, end - first))) {
			json_decref(units);
			units = NULL;
		}
	}
	if (!units) {
		json_decref(out);
		return NULL;
	}
	json_decref(units);
	return out;
}

static uint64_t hash_of(const char *mangled)
{
	return kc_fnv(KC_FNV_OFFSET, mangled, strlen(mangled));
}

static json_t *id_json(const char *mangled)
{
	return json_sprintf("%016" PRIx64, hash_of(mangled));
}

/* As many characters as fit, none cut in two. */
static json_t *name_json(const char *name)
{
	char text[NAME_BYTES + 1];
	size_t n = strlen(name);

	if (n > NAME_BYTES)
		for (n = NAME_BYTES; n > 0 && ((unsigned char)name[n] & 0xc0) == 0x80;)
			n--;
	memcpy(text, name, n);
	text[n] = '\0';
	return kc_json_text(text);
}

static json_t *kernel_json(const struct kc_measured_names *names, const struct entry *entries, size_t n)
{
	const struct kc_measured_kernel *kernel = kc_measured_kernel(names, entries->kernel);
	json_t *out = json_object(), *shapes = json_array();

	json_object_set_new(out, "id", id_json(kernel->mangled));
	json_object_set_new(out, "name", name_json(kernel->name));
	for (size_t first = 0, end; first < n; first = end) {
		for (end = first + 1; end < n && entries[end].shape == entries[first].shape;)
			end++;
		if (json_array_append_new(shapes, shape_json(names, entries + first, end - first))) {
			json_decref(out);
			json_decref(shapes);
			return NULL;
		}
	}
	json_object_set_new(out, "shapes", shapes);
	return out;
}

struct kernel_range {
	size_t first, count;
	double ns;
};

KC_ORDER(by_time, struct kernel_range, KC_DOWN(ns) ?: KC_UP(first))

static size_t length_of(const json_t *value)
{
	return json_dumpb(value, NULL, 0, JSON_COMPACT);
}

/* A line for each kernel, so that a difference between two baselines is read as one of their kernels. */
static void write_lines(const json_t *kernels, FILE *to)
{
	for (size_t i = 0; i < json_array_size(kernels); i++) {
		kc_json_write(json_array_get(kernels, i), to, JSON_COMPACT);
		fputs(i + 1 < json_array_size(kernels) ? ",\n" : "\n", to);
	}
}

static int write_kernels(const struct kc_measured_names *names, const struct entry *entries,
			 const struct kernel_range *ranges, size_t count, FILE *to)
{
	json_t *kernels = json_array(), *ids = json_array(), *rest = json_object();
	size_t bytes = 0;
	double ns = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		json_t *kernel = kernel_json(names, entries + ranges[i].first, ranges[i].count);

		if (!kernel) {
			rc = -ENOMEM;
		} else if (bytes + length_of(kernel) <= KC_BASELINE_BYTES) {
			bytes += length_of(kernel) + 1;
			json_array_append_new(kernels, kernel);
		} else {
			json_decref(kernel);
			json_array_append_new(
			    ids, id_json(kc_measured_kernel(names, entries[ranges[i].first].kernel)->mangled));
			ns += ranges[i].ns;
		}
	}
	if (rc == 0) {
		json_object_set_new(rest, "ns", json_real(ns));
		json_object_set(rest, "ids", ids);
		fputs(" \"kernels\": [\n", to);
		write_lines(kernels, to);
		fputs(" ],\n \"others\": ", to);
		kc_json_write(rest, to, JSON_COMPACT);
		fputs("\n}\n", to);
	}
	json_decref(kernels);
	json_decref(ids);
	json_decref(rest);
	return rc;
}

/* Returns how many there are; SIZE_MAX: no memory. */
static size_t collect(const struct kc_measured_names *names, const struct kc_measured_run *run, struct entry *entries)
{
	const struct kc_measured_launch *launches = run->launches.at;
	uint64_t(*latest)[2] = calloc((size_t)run->streams + 1, sizeof(*latest));
	uint64_t *hashes = calloc(names->shapes.count + 1, sizeof(*hashes));
	size_t n = 0;

	for (uint32_t i = 0; latest && hashes && i < names->shapes.count; i++)
		hashes[i] = kc_diff_shape_hash(names, i);
	for (size_t i = 0; latest && hashes && i < run->launches.count; i++) {
		const struct kc_measured_launch *launch = launches + i;
		uint64_t *before = latest[launch->stream];

		if (launch->ns > 0)
			entries[n++] = (struct entry){kc_measured_shape(names, launch->shape)->kernel,
						      launch->shape,
						      kc_diff_company_of(launch->overlap),
						      kc_diff_position(before[0], before[1]),
						      i,
						      (double)launch->ns};
		before[1] = before[0];
		before[0] = hashes[launch->shape];
	}
	n = latest && hashes ? n : SIZE_MAX;
	free(latest);
	free(hashes);
	return n;
}

int kc_baseline_write(const struct kc_measured_names *names, const struct kc_measured_run *run, const char *source,
		      FILE *to)
{
	struct entry *entries = calloc(run->launches.count + 1, sizeof(*entries));
	struct kernel_range *ranges = calloc(names->kernels.count + 1, sizeof(*ranges));
	json_t *text = kc_json_text(source), *devices = kc_json_text(run->devices ? run->devices : "");
	size_t n = 0, count = 0;
	int rc = entries && ranges && text && devices ? 0 : -ENOMEM;

	if (rc == 0) {
		n = collect(names, run, entries);
		rc = n < SIZE_MAX ? 0 : -ENOMEM;
	}
	if (rc == 0) {
		qsort(entries, n, sizeof(*entries), by_shape);
		for (size_t i = 0; i < n; i++) {
			if (i == 0 || entries[i].kernel != entries[i - 1].kernel)
				ranges[count++].first = i;
			ranges[count - 1].count++;
			ranges[count - 1].ns += entries[i].ns;
		}
		qsort(ranges, count, sizeof(*ranges), by_time);
		fprintf(to, "{\"schema\": \"" SCHEMA "\",\n \"source\": ");
		kc_json_write(text, to, JSON_ENCODE_ANY);
		fputs(",\n \"devices\": ", to);
		kc_json_write(devices, to, JSON_ENCODE_ANY);
		fprintf(to, ",\n \"simulated\": %s,\n", run->simulated ? "true" : "false");
		rc = write_kernels(names, entries, ranges, count, to);
	}
	json_decref(text);
	json_decref(devices);
	free(entries);
	free(ranges);
	return rc;
}

/* --- reading */

/* grid, block, dynamic shared memory */
static int read_numbers(const json_t *value, struct kc_measured_shape *shape)
{
	uint32_t *const numbers[] = {&shape->grid[0],
				     &shape->grid[1],
				     &shape->grid[2],
				     &shape->block[0],
				     &shape->block[1],
				     &shape->block[2],
				     &shape->dynamic_shared_bytes};

	if (json_array_size(value) != sizeof(numbers) / sizeof(*numbers))
		return -EINVAL;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		const json_t *number = json_array_get(value, i);

		if (!json_is_integer(number) || json_integer_value(number) < 0 ||
		    json_integer_value(number) > UINT32_MAX)
			return -EINVAL;
		*numbers[i] = (uint32_t)json_integer_value(number);
	}
	return 0;
}

static int is_duration(double ns)
{
	return ns >= 1 && ns < NS_MOST;
}

static int64_t number_at(const json_t *array, size_t i)
{
	return json_integer_value(json_array_get(array, i));
}

static int read_unit(const json_t *unit, uint32_t shape, struct kc_baseline *out)
{
	int64_t company = number_at(unit, 0), position = number_at(unit, 1), launches = number_at(unit, 2);
	double mean = (double)number_at(unit, 3);
	size_t n = json_array_size(unit), parts = n > FIRST_PART ? n - FIRST_PART : 0;

	for (size_t i = 0; i < n; i++)
		if (!json_is_integer(json_array_get(unit, i)))
			return -EINVAL;
	if (company < 0 || company >= KC_COMPANIES || position < 0 || position > UINT16_MAX || launches < 1 ||
	    launches > UINT32_MAX || !is_duration(mean) || parts < 1 || parts > PARTS || parts > (uint64_t)launches ||
	    out->items.count + parts > ITEMS_MOST)
		return -EINVAL;
	for (size_t i = 0; i < parts; i++) {
		double ns = mean * (1 + (double)number_at(unit, FIRST_PART + i) / PART_SCALE);
		struct kc_diff_item *item = kc__list_add(&out->items, sizeof(*item));
		size_t next = part_first((size_t)launches, parts, i + 1);

		if (!item)
			return -ENOMEM;
		if (!is_duration(ns))
			return -EINVAL;
		*item = (struct kc_diff_item){.ns = mean,
					      .log = log(ns),
					      .at = ((float)i + 0.5f) / (float)parts,
					      .count = (uint32_t)(next - part_first((size_t)launches, parts, i)),
					      .shape = shape,
					      .before = {(uint32_t)position, 0},
					      .company = (uint8_t)company};
	}
	return 0;
}

static int read_shape(const json_t *value, struct kc_measured_names *names, uint32_t kernel, struct kc_baseline *out)
{
	struct kc_measured_shape shape = {.kernel = kernel};
	const json_t *units = json_object_get(value, "units");
	uint32_t number;
	int rc = json_array_size(units) > 0 ? read_numbers(json_object_get(value, "shape"), &shape) : -EINVAL;

	if (rc == 0)
		rc = kc_measured_shape_number(names, &shape, &number);
	for (size_t i = 0; rc == 0 && i < json_array_size(units); i++)
		rc = read_unit(json_array_get(units, i), number, out);
	return rc;
}

/* Kernels of the run that a baseline is read for, by their hashes. */
struct known {
	struct kc_measured_names *names;
	uint64_t *hashes;
	uint32_t count;
};

/* One that the run has not launched has the hash as its mangled name. */
static int kernel_by_hash(const struct known *known, const char *id, const char *name, uint32_t *out)
{
	uint64_t hash = strtoull(id, NULL, 16);

	for (uint32_t i = 0; i < known->count; i++)
		if (known->hashes[i] == hash) {
			*out = i;
			return 0;
		}
	return kc_measured_kernel_number(known->names, id, name, out);
}

static int read_kernel(const json_t *value, const struct known *known, struct kc_baseline *out)
{
	const char *id = json_string_value(json_object_get(value, "id"));
	const char *name = json_string_value(json_object_get(value, "name"));
	const json_t *shapes = json_object_get(value, "shapes");
	uint32_t kernel;
	int rc;

	if (!id || !name || json_array_size(shapes) == 0)
		return -EINVAL;
	rc = kernel_by_hash(known, id, name, &kernel);
	for (size_t i = 0; rc == 0 && i < json_array_size(shapes); i++)
		rc = read_shape(json_array_get(shapes, i), known->names, kernel, out);
	return rc;
}

static int read_kernels(const json_t *kernels, struct kc_measured_names *names, struct kc_baseline *out)
{
	struct known known = {names, calloc(names->kernels.count + 1, sizeof(uint64_t)),
			      (uint32_t)names->kernels.count};
	int rc = 0;

	if (!known.hashes)
		return -ENOMEM;
	if (json_array_size(kernels) == 0 || json_array_size(kernels) > KERNELS_MOST)
		rc = -EINVAL;
	for (uint32_t i = 0; i < known.count; i++)
		known.hashes[i] = hash_of(kc_measured_kernel(names, i)->mangled);
	for (size_t i = 0; rc == 0 && i < json_array_size(kernels); i++)
		rc = read_kernel(json_array_get(kernels, i), &known, out);
	free(known.hashes);
	return rc;
}

KC_ORDER(by_hash, uint64_t, KC_BY(*x, *y))

static int read_others(const json_t *value, struct kc_baseline *out)
{
	const json_t *ids = json_object_get(value, "ids");
	size_t n = json_array_size(ids);

	out->other_ns = json_number_value(json_object_get(value, "ns"));
	if (!json_is_array(ids) || !json_is_number(json_object_get(value, "ns")) || !(out->other_ns >= 0))
		return -EINVAL;
	out->others = calloc(n + 1, sizeof(*out->others));
	if (!out->others)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const char *id = json_string_value(json_array_get(ids, i));

		if (!id)
			return -EINVAL;
		out->others[out->other_count++] = strtoull(id, NULL, 16);
	}
	qsort(out->others, n, sizeof(*out->others), by_hash);
	return 0;
}

static int read_document(const json_t *document, struct kc_measured_names *names, struct kc_baseline *out)
{
	const char *schema = json_string_value(json_object_get(document, "schema"));
	const char *source = json_string_value(json_object_get(document, "source"));
	const char *devices = json_string_value(json_object_get(document, "devices"));
	int rc;

	if (!schema || strcmp(schema, SCHEMA) != 0 || !source || !devices)
		return -EINVAL;
	out->source = strdup(source);
	out->devices = strdup(devices);
	out->simulated = json_is_true(json_object_get(document, "simulated"));
	rc = out->source && out->devices ? read_kernels(json_object_get(document, "kernels"), names, out) : -ENOMEM;
	return rc ? rc : read_others(json_object_get(document, "others"), out);
}

int kc_baseline_read(const char *path, struct kc_measured_names *names, struct kc_baseline *out, char *why,
		     size_t why_size)
{
	struct stat is;
	json_error_t error;
	json_t *document;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc = 0;

	*out = (struct kc_baseline){.first_unknown = (uint32_t)names->kernels.count};
	if (fd < 0 || fstat(fd, &is) < 0)
		rc = -errno;
	else if (!S_ISREG(is.st_mode) || is.st_size > FILE_MOST)
		rc = -EINVAL;
	if (rc < 0) {
		snprintf(why, why_size, "it is not a file of at most %d KiB", FILE_MOST / 1024);
		if (fd >= 0)
			close(fd);
		return rc;
	}
	document = json_loadfd(fd, JSON_REJECT_DUPLICATES, &error);
	close(fd);
	if (!document) {
		snprintf(why, why_size, "line %d: %s", error.line, error.text);
		return -EINVAL;
	}
	rc = read_document(document, names, out);
	if (rc == -EINVAL)
		snprintf(why, why_size, "it does not hold what a baseline (" SCHEMA ") holds");
	json_decref(document);
	return rc;
}

void kc_baseline_free(struct kc_baseline *baseline)
{
	free(baseline->items.at);
	free(baseline->source);
	free(baseline->devices);
	free(baseline->others);
	*baseline = (struct kc_baseline){0};
}

int kc_baseline_choose(struct kc_baseline *baseline, const struct kc_measured_names *names,
		       const struct kc_filter_choice *choice)
{
	struct kc_diff_item *items = baseline->items.at;
	uint8_t *chosen = calloc(names->kernels.count + 1, 1);
	size_t kept = 0;

	if (!chosen)
		return -ENOMEM;
	for (uint32_t i = 0; i < names->kernels.count; i++) {
		const struct kc_measured_kernel *kernel = kc_measured_kernel(names, i);
		const char *mangled = i < baseline->first_unknown ? kernel->mangled : NULL;

		chosen[i] = (uint8_t)kc_filter_kernel(choice, kernel->name, mangled);
	}
	for (size_t i = 0; i < baseline->items.count; i++)
		if (chosen[kc_measured_shape(names, items[i].shape)->kernel])
			items[kept++] = items[i];
	baseline->items.count = kept;
	free(chosen);
	return 0;
}

int kc_baseline_leave_out(const struct kc_baseline *baseline, const struct kc_measured_names *names,
			  struct kc_measured_run *run)
{
	struct kc_measured_launch *launches = run->launches.at;
	uint8_t *left_out = calloc(names->kernels.count + 1, 1);

	if (!left_out)
		return -ENOMEM;
	for (uint32_t i = 0; baseline->other_count && i < names->kernels.count; i++) {
		uint64_t hash = hash_of(kc_measured_kernel(names, i)->mangled);

		left_out[i] = bsearch(&hash, baseline->others, baseline->other_count, sizeof(hash), by_hash) != NULL;
	}
	for (size_t i = 0; i < run->launches.count; i++)
		if (left_out[kc_measured_shape(names, launches[i].shape)->kernel])
			launches[i].ns = 0;
	free(left_out);
	return 0;
}
