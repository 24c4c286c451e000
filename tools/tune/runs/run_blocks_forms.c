#include "run_blocks.h"

#include "tools/command.h"
#include "tools/output/colour.h"
#include "tools/output/fields.h"
#include "tools/output/format.h"
#include "tools/output/json.h"
#include "tools/system/database.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHAPE_BYTES 40u

struct kernel_row {
	const char *label, *name, *block, *faster, *note, *why;
	uint64_t launches, alone;
	double time_ns, time_share, solo_ns;
	char label_text[2], block_text[SHAPE_BYTES];
};

/* A block that a kernel could have. */
struct block_row {
	const char *label, *kernel, *faster, *block, *grid, *limit, *limit_name;
	double ns, low_ns, high_ns, gain, gain_low, gain_high, occupancy;
	char block_text[SHAPE_BYTES], grid_text[SHAPE_BYTES];
};

#define FIELD(key, head, unit, member, ...) KC_FIELD_OF(struct kernel_row, key, head, unit, member, __VA_ARGS__)

static const struct kc_field kernel_list[] = {
    FIELD("label", "as", TEXT, label, 0),
    FIELD("name", "kernel", NAME, name, 0),
    FIELD("time_ns", "time", NS, time_ns, 0),
    FIELD("time_share", "share", PERCENT, time_share, 0),
    FIELD("launches", "launches", COUNT64, launches, 0),
    FIELD("solo_ns", "alone", NS, solo_ns, 0),
    FIELD("alone", NULL, COUNT64, alone, 0),
    FIELD("block", "block", TEXT, block, 0),
    FIELD("faster", "faster", TEXT, faster, 0),
    FIELD("why", NULL, TEXT, why, 0),
    FIELD(NULL, NULL, NOTE, note, 0, ""),
};
static const struct kc_fields kernel_fields = KC_FIELDS(kernel_list, struct kernel_row);

#undef FIELD
#define FIELD(key, head, unit, member, ...) KC_FIELD_OF(struct block_row, key, head, unit, member, __VA_ARGS__)

static const struct kc_field block_list[] = {
    FIELD(NULL, "of", TEXT, label, 0, ""),
    FIELD("kernel", NULL, NAME, kernel, 0),
    FIELD("faster", NULL, TEXT, faster, 0),
    FIELD("block", "block", TEXT, block, 0),
    FIELD("grid", "grid", TEXT, grid, 0),
    FIELD("expected_ns", "expected", NS, ns, 0),
    FIELD("low_ns", "from", NS, low_ns, 0),
    FIELD("high_ns", "to", NS, high_ns, 0),
    FIELD("gain", "gain", PERCENT, gain, 0),
    FIELD("gain_low", "from", SIGNED_PERCENT, gain_low, 0),
    FIELD("gain_high", "to", SIGNED_PERCENT, gain_high, 0),
    FIELD("limit", NULL, TEXT, limit, 0),
    FIELD(NULL, "limited by", TEXT, limit_name, 0),
    FIELD("occupancy", "occupancy", PERCENT, occupancy, 0),
};
static const struct kc_fields block_fields = KC_FIELDS(block_list, struct block_row);

/* "16 x 16", "256": in as many dimensions as it or the other has. */
static const char *shape(const uint32_t of[3], const uint32_t other[3], char out[static SHAPE_BYTES])
{
	unsigned dimensions = of[2] > 1 || other[2] > 1 ? 3 : of[1] > 1 || other[1] > 1 ? 2 : 1;

	*out = '\0';
	for (unsigned d = 0; d < dimensions; d++)
		kc_add_text(out, SHAPE_BYTES, "%s%u", d ? " x " : "", of[d]);
	return out;
}

/* Of a kernel of which no block is named, in a few words; "": one is. */
static const char *why_none(const struct kc_run_kernel *kernel)
{
	if (*kernel->why)
		return kernel->why;
	if (kernel->answer == KC_RUN_KEEP)
		return "no block with which it does the same work is faster, by their whole ranges";
	return kernel->named_count ? "" : "no block is expected to be 2 % faster, but the ranges hold some that are";
}

static void fill_kernel(const struct kc_run_blocks *run, unsigned i, struct kernel_row *row)
{
	const struct kc_run_kernel *kernel = &run->kernels[i];

	*row = (struct kernel_row){
	    .name = kc_measured_kernel(&run->names, kernel->of.kernel)->name,
	    .launches = kernel->of.launches,
	    .alone = kernel->of.alone,
	    .time_ns = kernel->of.time_ns,
	    .time_share = kernel->of.share,
	    .solo_ns = kernel->of.solo_ns,
	    .faster = kc_run_answer_words(kernel->answer),
	    .label_text = {(char)('A' + i)},
	};
	row->label = row->label_text;
	row->block = shape(kernel->code.shape.block, kernel->code.shape.grid, row->block_text);
	row->why = *kernel->why ? kernel->why : NULL;
	row->note = why_none(kernel);
}

static void fill_block(const struct kc_run_kernel *kernel, const struct kernel_row *of, unsigned i,
		       struct block_row *row)
{
	const struct kc_variant *variant = &kernel->variants.at[kernel->named[i]];
	uint32_t limit = variant->times.resources.limit;

	*row = (struct block_row){
	    .label = of->label,
	    .kernel = of->name,
	    .faster = of->faster,
	    .ns = variant->ns,
	    .low_ns = variant->low_ns,
	    .high_ns = variant->high_ns,
	    .gain = 1 - variant->ns / of->solo_ns,
	    .gain_low = 1 - variant->high_ns / of->solo_ns,
	    .gain_high = 1 - variant->low_ns / of->solo_ns,
	    .limit = kc_resource_key(limit),
	    .limit_name = kc_resource_name(limit),
	    .occupancy = variant->occupancy,
	};
	row->block = shape(variant->block, variant->grid, row->block_text);
	row->grid = shape(variant->grid, variant->block, row->grid_text);
}

struct rows {
	struct kernel_row kernels[KC_RUN_KERNELS_MAX];
	struct block_row blocks[KC_RUN_KERNELS_MAX * KC_RUN_BLOCKS_NAMED];
	size_t count; /* blocks */
};

/* To be freed; NULL after a message. */
static struct rows *fill(const struct kc_run_blocks *run)
{
	struct rows *rows = calloc(1, sizeof(*rows));

	if (!rows) {
		kc_error("%s", strerror(ENOMEM));
		return NULL;
	}
	for (unsigned i = 0; i < run->count; i++) {
		const struct kc_run_kernel *kernel = &run->kernels[i];

		fill_kernel(run, i, &rows->kernels[i]);
		for (unsigned k = 0; k < kernel->named_count; k++)
			fill_block(kernel, &rows->kernels[i], k, &rows->blocks[rows->count++]);
	}
	return rows;
}

static void print_rest(const struct kc_run_blocks *run, const struct rows *rows)
{
	char share[KC_FORMAT_BYTES], count[KC_FORMAT_BYTES];

	putchar('\n');
	if (rows->count)
		puts("Nine in ten lie in these ranges. A grid covers as many threads as that of the run, or up to a "
		     "block more,\nwhich have nothing to do; the kernel's shared memory stays as it is. Time the first "
		     "before you keep it.");
	if (run->other_kernels)
		printf("%s more %s (%s of the time): --top N takes more of them.\n",
		       kc_format_count(run->other_kernels, count), run->other_kernels == 1 ? "kernel" : "kernels",
		       kc_format_percent(100 * run->other_share, share));
}

int kc_run_blocks_text(const struct kc_run_blocks *run)
{
	struct rows *rows = fill(run);
	int failed;

	if (!rows)
		return KC_EXIT_FAILED;
	if (run->side.runs[0].simulated)
		kc_say_simulated(KC_SIMULATED_ALL);
	kc_side_print_run("", kc_database_shown(run->side.path), &run->side.runs[0]);
	kc_heading("Kernels by time: is another block size faster than that of the run?");
	failed = kc_fields_table(&kernel_fields, 0, rows->kernels, run->count, 2);
	if (!failed && rows->count) {
		kc_heading("Blocks to time, beside what was measured alone");
		failed = kc_fields_table(&block_fields, 0, rows->blocks, rows->count, 2);
	}
	if (!failed)
		print_rest(run, rows);
	free(rows);
	return failed ? KC_EXIT_FAILED : kc_output_finish();
}

static json_t *kernels_json(const struct kc_run_blocks *run, const struct rows *rows)
{
	json_t *out = json_array();
	size_t first = 0;

	for (unsigned i = 0; i < run->count; i++) {
		json_t *kernel = kc_fields_json(&kernel_fields, &rows->kernels[i]);

		json_object_set_new(
		    kernel, "blocks",
		    kc_fields_json_list(&block_fields, rows->blocks + first, run->kernels[i].named_count));
		json_array_append_new(out, kernel);
		first += run->kernels[i].named_count;
	}
	return out;
}

int kc_run_blocks_json(const struct kc_run_blocks *run)
{
	json_t *out = kc_json_document("tune-run", 1), *others = json_object();
	struct rows *rows = fill(run);

	if (!rows) {
		json_decref(out);
		json_decref(others);
		return KC_EXIT_FAILED;
	}
	json_object_set_new(out, "simulated", json_boolean(run->side.runs[0].simulated));
	json_object_set_new(out, "path", kc_json_text(kc_database_shown(run->side.path)));
	json_object_set_new(out, "run", json_integer(run->side.runs[0].id));
	json_object_set_new(out, "kernels", kernels_json(run, rows));
	json_object_set_new(others, "kernels", json_integer((json_int_t)run->other_kernels));
	json_object_set_new(others, "time_share", kc_json_percent(run->other_share));
	json_object_set_new(out, "others", others);
	free(rows);
	return kc_json_print(out);
}

int kc_run_blocks_csv(const struct kc_run_blocks *run)
{
	struct rows *rows = fill(run);

	if (!rows)
		return KC_EXIT_FAILED;
	kc_fields_csv(&block_fields, rows->blocks, rows->count, run->side.runs[0].simulated, stdout);
	free(rows);
	return kc_output_finish();
}
