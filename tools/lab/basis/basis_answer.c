#include "basis_answer.h"
#include "basis.h"
#include "basis_which.h"
#include "tools/command.h"
#include "tools/input/device_spec.h"
#include "tools/output/colour.h"
#include "tools/output/format.h"
#include "tools/output/json.h"
#include "tools/output/table.h"

#include "predictor/solo/curve.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define DONORS_MAX 8u /* further ones are not read */

struct row { /* a block size asked for */
	struct kc_block_size size;
	double ns, vectors_ns, measured_ns; /* NAN: not known */
};

struct answer {
	const char *kernel, *module;
	struct kc_device device;
	double size;
	struct kc_basis_curve measured; /* on the device, timed or not */
	struct kc_basis_curve timed;
	struct row rows[KC_BASIS_COLUMNS];
	uint32_t row_count, donors;
	uint64_t left_out; /* launches of the kernel on the device */
};

static int same_block(const uint32_t a[3], const uint32_t b[3])
{
	return !memcmp(a, b, 3 * sizeof(*a));
}

static const struct kc_block_time *find(const struct kc_basis_curve *curve, const uint32_t block[3])
{
	for (uint32_t i = 0; i < curve->count; i++)
		if (same_block(curve->times[i].size.block, block))
			return &curve->times[i];
	return NULL;
}

static uint32_t threads_of(const uint32_t block[3])
{
	return block[0] * block[1] * block[2];
}

/* --- block sizes */

static uint32_t occupancy(const struct kc_device *device, const uint32_t block[3], uint32_t registers, uint32_t shared)
{
	struct kc_resources resources = {.registers = registers, .static_shared_bytes = shared};
	struct kc_shape shape = {.grid = {1, 1, 1}, .block = {block[0], block[1], block[2]}};
	struct kc_work work;

	return device->sm_count && kc_work_init(&work, device, &resources, &shape, 0) == 0 ? work.blocks_per_sm : 0;
}

/* Registers and shared memory of a block never seen are those of the nearest one that was. */
static struct kc_block_size size_of(const struct answer *a, const struct kc_basis_curve *seen, const uint32_t block[3])
{
	struct kc_block_size size = {.blocks_per_sm = 0};
	double nearest = INFINITY;
	uint32_t at = 0;

	memcpy(size.block, block, sizeof(size.block));
	for (uint32_t i = 0; i < seen->count; i++) {
		double apart = fabs(log((double)threads_of(seen->times[i].size.block) / threads_of(block)));

		if (apart >= nearest)
			continue;
		nearest = apart;
		at = i;
	}
	if (seen->count)
		size.blocks_per_sm = occupancy(&a->device, block, seen->registers[at], seen->shared_bytes[at]);
	return size;
}

static int listed(const struct kc_basis_blocks *blocks, const uint32_t block[3])
{
	for (uint32_t i = 0; i < blocks->count; i++)
		if (same_block(blocks->block[i], block))
			return 1;
	return 0;
}

static void ask(struct answer *a, const struct kc_basis_curve *seen, const uint32_t block[3])
{
	const struct kc_block_time *there = find(seen, block), *measured = find(&a->measured, block);

	for (uint32_t i = 0; i < a->row_count; i++)
		if (same_block(a->rows[i].size.block, block))
			return;
	if (a->row_count == KC_BASIS_COLUMNS)
		return;
	a->rows[a->row_count] =
	    (struct row){.size = measured ? measured->size : size_of(a, seen, block), .measured_ns = NAN};
	if (there && !measured)
		a->rows[a->row_count].size.blocks_per_sm = occupancy(
		    &a->device, block, seen->registers[there - seen->times], seen->shared_bytes[there - seen->times]);
	a->rows[a->row_count].measured_ns = measured ? measured->ns : NAN;
	a->row_count++;
}

static void keep_timed(struct answer *a, const struct kc_basis_blocks *only)
{
	for (uint32_t i = 0; i < a->measured.count; i++) {
		uint32_t to = a->timed.count;

		if (only->count && !listed(only, a->measured.times[i].size.block))
			continue;
		a->timed.times[to] = a->measured.times[i];
		a->timed.registers[to] = a->measured.registers[i];
		a->timed.shared_bytes[to] = a->measured.shared_bytes[i];
		a->timed.count++;
	}
}

/* --- predictions */

/* A column for each timed thread count, and for the target's. Returns the number of timed ones; 0: the target is among
 * them. */
static uint32_t columns_of(const struct answer *a, const struct row *row, uint32_t *threads, double *rates)
{
	uint32_t n = 0, target = threads_of(row->size.block);

	for (uint32_t i = 0; i < a->timed.count && n + 1 < KC_BASIS_COLUMNS; i++) {
		uint32_t t = threads_of(a->timed.times[i].size.block);

		if (t == target)
			return 0;
		if (n && threads[n - 1] == t)
			continue;
		threads[n] = t;
		rates[n++] = 1 / a->timed.times[i].ns;
	}
	threads[n] = target;
	return n;
}

/* From what other kernels have in common over these block sizes. NAN where no other was measured with all of them. */
static double by_vectors_of(const struct kc_basis_rows *all, uint32_t kernel, const struct answer *a,
			    const struct row *row)
{
	uint32_t threads[KC_BASIS_COLUMNS], timed[KC_BASIS_COLUMNS], n, k;
	double rates[KC_BASIS_COLUMNS], out[KC_BASIS_COLUMNS], error, ns = NAN;
	struct kc_basis_rows rows;
	struct kc_basis basis;

	n = columns_of(a, row, threads, rates);
	if (!n || kc_basis_rows_select(all, threads, n + 1, kernel, &rows))
		return NAN;
	for (uint32_t i = 0; i < n; i++)
		timed[i] = i;
	if (kc_basis_train(&basis, rows.rates, rows.count, rows.columns) == 0) {
		k = kc_basis_choose(rows.rates, rows.groups, rows.count, rows.columns, timed, n, &error);
		ns = kc_basis_fit(&basis, k, timed, rates, n, out) ? NAN : 1 / out[n];
	}
	kc_basis_rows_free(&rows);
	return ns;
}

static double by_stored_vectors(const struct kc_stored_basis *stored, const struct answer *a, const struct row *row)
{
	uint32_t threads[KC_BASIS_COLUMNS], timed[KC_BASIS_COLUMNS], n, kept = 0, target = UINT32_MAX, k;
	double given[KC_BASIS_COLUMNS], rates[KC_BASIS_COLUMNS], out[KC_BASIS_COLUMNS];

	n = stored ? columns_of(a, row, threads, given) : 0;
	for (uint32_t c = 0; n && c < stored->basis.columns; c++) {
		target = stored->threads[c] == threads[n] ? c : target;
		for (uint32_t i = 0; i < n; i++) {
			if (stored->threads[c] != threads[i])
				continue;
			rates[kept] = given[i];
			timed[kept++] = c;
		}
	}
	if (!kept || target == UINT32_MAX)
		return NAN;
	k = stored->k < kept / 2 ? stored->k : kept / 2 ? kept / 2 : 1;
	return kc_basis_fit(&stored->basis, k, timed, rates, kept, out) ? NAN : 1 / out[target];
}

/* The same problem on other devices of the architecture; where some have the same compute capability, on those alone.
 */
static uint32_t donors_of(const struct kc_basis_known *known, uint32_t kernel, int64_t device, const struct answer *a,
			  struct kc_basis_curve *curves)
{
	uint32_t n = 0;

	for (int kinship = 2; kinship > 0 && !n; kinship--)
		for (size_t i = 0; i < known->device_count && n < DONORS_MAX; i++) {
			if (known->devices[i].id == device ||
			    kc_curve_relatedness(&known->devices[i].device, &a->device) != kinship)
				continue;
			kc_basis_curve_at(known->sweeps, kernel, known->devices[i].id, a->size, &curves[n]);
			n += curves[n].count > 0;
		}
	return n;
}

static void predict(struct answer *a, const struct kc_basis_curve *donors, uint32_t count)
{
	struct kc_block_curve own = {a->timed.times, a->timed.count}, others[DONORS_MAX];

	for (uint32_t i = 0; i < count; i++)
		others[i] = (struct kc_block_curve){donors[i].times, donors[i].count};
	for (uint32_t i = 0; i < a->row_count; i++)
		a->rows[i].ns = kc_blocks_predict(&own, others, count, &a->rows[i].size);
}

/* Adds the block sizes known here or elsewhere and not timed, where none were asked for. */
static void ask_all(struct answer *a, const struct kc_basis_curve *donors)
{
	for (uint32_t i = 0; i < a->measured.count; i++)
		if (!find(&a->timed, a->measured.times[i].size.block))
			ask(a, &a->measured, a->measured.times[i].size.block);
	for (uint32_t s = 0; s < a->donors; s++)
		for (uint32_t i = 0; i < donors[s].count; i++)
			if (!find(&a->timed, donors[s].times[i].size.block))
				ask(a, &donors[s], donors[s].times[i].size.block);
}

/* The measured times of the problem, and which of them count as timed. An exit status, after a message. */
static int find_measured(const struct kc_basis_question *q, const struct kc_basis_known *known, uint32_t kernel,
			 int64_t device, struct answer *a)
{
	a->kernel = known->sweeps->kernels[kernel].name;
	a->module = known->sweeps->kernels[kernel].module;
	a->size = q->size > 0 ? q->size : kc_basis_usual_size(known->sweeps, kernel, device);
	kc_basis_curve_at(known->sweeps, kernel, device, a->size, &a->measured);
	a->left_out = kc_basis_launches(known->sweeps, kernel, device) - a->measured.launches;
	if (!a->measured.count) {
		kc_basis_no_such_size(known->sweeps, kernel, device, a->device.name, a->size);
		return KC_EXIT_FAILED;
	}
	keep_timed(a, &q->timed);
	if (!a->timed.count) {
		kc_basis_no_such_block(a->kernel, a->device.name, &a->measured, &q->timed);
		return KC_EXIT_FAILED;
	}
	return kc_basis_has_dimensions(known->sweeps, kernel, &q->asked) ? KC_EXIT_OK : KC_EXIT_FAILED;
}

/* Answers for a kernel in the database. An exit status. */
static int look_up(const struct kc_basis_question *q, const struct kc_basis_known *known, struct answer *a)
{
	static struct kc_basis_curve donors[DONORS_MAX];
	int64_t kernel = kc_basis_find_kernel(known->sweeps, q->kernel), device;
	struct kc_basis_rows rows;
	int status;

	if (kernel < 0)
		return KC_EXIT_FAILED;
	status = kc_basis_choose_device(known, (uint32_t)kernel, q->device, &device, &a->device);
	if (status == KC_EXIT_OK)
		status = find_measured(q, known, (uint32_t)kernel, device, a);
	if (status != KC_EXIT_OK)
		return status;
	a->donors = donors_of(known, (uint32_t)kernel, device, a, donors);
	for (uint32_t i = 0; i < q->asked.count; i++)
		ask(a, &a->measured, q->asked.block[i]);
	if (!q->asked.count)
		ask_all(a, donors);
	predict(a, donors, a->donors);
	if (kc_basis_rows_make(known->sweeps, &rows))
		return kc_failed(-ENOMEM);
	for (uint32_t i = 0; i < a->row_count; i++)
		a->rows[i].vectors_ns = by_vectors_of(&rows, (uint32_t)kernel, a, &a->rows[i]);
	kc_basis_rows_free(&rows);
	return KC_EXIT_OK;
}

/* Answers for given times. An exit status. */
static int work_out(const struct kc_basis_question *q, const struct kc_basis_known *known, struct answer *a)
{
	char why[512];
	int64_t device = kc_basis_find_device(known, q->device, &a->device);
	int rc = device ? 0 : kc_device_spec(q->device, &a->device, why, sizeof(why));

	if (device < 0)
		return KC_EXIT_FAILED;
	if (rc < 0) {
		kc_error("%s", why);
		return rc == -EINVAL || rc == -ENOENT ? KC_EXIT_USAGE : KC_EXIT_FAILED;
	}
	kc_device_complete(&a->device);
	for (uint32_t i = 0; i < q->times.count; i++) {
		struct kc_block_time *time = &a->measured.times[i];

		memcpy(time->size.block, q->times.block[i], sizeof(time->size.block));
		time->size.blocks_per_sm = occupancy(&a->device, q->times.block[i], q->registers, q->shared_bytes);
		time->ns = (double)q->times.ns[i];
		a->measured.registers[i] = q->registers;
		a->measured.shared_bytes[i] = q->shared_bytes;
		a->measured.count++;
	}
	keep_timed(a, &q->timed);
	for (uint32_t i = 0; i < q->asked.count; i++)
		ask(a, &a->measured, q->asked.block[i]);
	predict(a, NULL, 0);
	for (uint32_t i = 0; i < a->row_count; i++)
		a->rows[i].vectors_ns = by_stored_vectors(known->basis, a, &a->rows[i]);
	return KC_EXIT_OK;
}

/* --- printed */

static json_t *block_json(const struct kc_block_size *size)
{
	json_t *out = json_object();
	static const char *const names[] = {"block_x", "block_y", "block_z"};

	for (int i = 0; i < 3; i++)
		json_object_set_new(out, names[i], json_integer(size->block[i]));
	json_object_set_new(out, "blocks_per_sm",
			    size->blocks_per_sm ? json_integer(size->blocks_per_sm) : json_null());
	return out;
}

static int print_json(const struct answer *a, int simulated)
{
	json_t *out = kc_json_document("basis-predict", 1), *timed = json_array(), *predicted = json_array();

	json_object_set_new(out, "simulated", json_boolean(simulated));
	json_object_set_new(out, "kernel", a->kernel ? kc_json_text(a->kernel) : json_null());
	json_object_set_new(out, "module", a->module ? kc_json_text(a->module) : json_null());
	json_object_set_new(out, "device", kc_json_text(a->device.name));
	json_object_set_new(out, "size", kc_json_real(a->size > 0 ? a->size : NAN));
	json_object_set_new(out, "siblings", json_integer(a->donors));
	json_object_set_new(out, "launches_left_out", a->kernel ? json_integer((json_int_t)a->left_out) : json_null());
	for (uint32_t i = 0; i < a->timed.count; i++) {
		json_t *entry = block_json(&a->timed.times[i].size);

		json_object_set_new(entry, "ns", kc_json_real(a->timed.times[i].ns));
		json_array_append_new(timed, entry);
	}
	for (uint32_t i = 0; i < a->row_count; i++) {
		json_t *entry = block_json(&a->rows[i].size);

		json_object_set_new(entry, "predicted_ns", kc_json_real(a->rows[i].ns));
		json_object_set_new(entry, "vectors_ns", kc_json_real(a->rows[i].vectors_ns));
		json_object_set_new(entry, "measured_ns", kc_json_real(a->rows[i].measured_ns));
		json_array_append_new(predicted, entry);
	}
	json_object_set_new(out, "timed", timed);
	json_object_set_new(out, "predicted", predicted);
	return kc_json_print(out);
}

static void add_timed(struct kc_table *table, const struct kc_block_time *time)
{
	char block[KC_FORMAT_BYTES], resident[KC_FORMAT_BYTES], ns[KC_FORMAT_BYTES];

	kc_table_row(table, (const char *const[]){kc_basis_block_text(time->size.block, block),
						  kc_format_count(time->size.blocks_per_sm, resident), "timed", "",
						  kc_format_ns(time->ns, ns), ""});
}

static void add_row(struct kc_table *table, const struct row *row)
{
	char block[KC_FORMAT_BYTES], resident[KC_FORMAT_BYTES], ns[KC_FORMAT_BYTES], vectors[KC_FORMAT_BYTES],
	    measured[KC_FORMAT_BYTES], error[KC_FORMAT_BYTES];

	kc_table_row(table, (const char *const[]){
				kc_basis_block_text(row->size.block, block),
				kc_format_count(row->size.blocks_per_sm, resident), kc_format_ns(row->ns, ns),
				kc_format_ns(row->vectors_ns, vectors), kc_format_ns(row->measured_ns, measured),
				kc_format_percent(100 * fabs(row->ns / row->measured_ns - 1), error)});
}

static void put_problem(const struct answer *a)
{
	char size[KC_FORMAT_BYTES], left_out[KC_FORMAT_BYTES];

	printf("%s%s%s on %s, size %s; known on %u other device%s of the architecture\n", a->kernel,
	       *a->module ? " of " : "", a->module, a->device.name, kc_basis_size_text(a->size, size), a->donors,
	       a->donors == 1 ? "" : "s");
	printf("%u block size%s of this problem; %s launch%s of other sizes left out\n\n", a->measured.count,
	       a->measured.count == 1 ? "" : "s", kc_format_count(a->left_out, left_out), a->left_out == 1 ? "" : "es");
}

static int print_text(const struct answer *a, int simulated)
{
	static const struct kc_column columns[] = {{"block", KC_LEFT, 0},
						   {"on an SM", KC_RIGHT, 0},
						   {"predicted", KC_RIGHT, 0},
						   {"vectors", KC_RIGHT, 0},
						   {"measured", KC_RIGHT, 0},
						   {"error", KC_RIGHT, 0},
						   {0}};
	struct kc_table table;

	if (simulated)
		kc_say_simulated(KC_SIMULATED_SOME);
	if (a->kernel)
		put_problem(a);
	else
		printf("%u block sizes on %s\n\n", a->timed.count, a->device.name);
	kc_table_init(&table, columns);
	for (uint32_t i = 0; i < a->timed.count; i++)
		add_timed(&table, &a->timed.times[i]);
	for (uint32_t i = 0; i < a->row_count; i++)
		add_row(&table, &a->rows[i]);
	return kc_table_finish(&table, 0) ? KC_EXIT_FAILED : kc_output_finish();
}

int kc_basis_answer(const struct kc_basis_question *question, const struct kc_basis_known *known, int json)
{
	static struct answer answer;
	int status = question->kernel ? look_up(question, known, &answer) : work_out(question, known, &answer);

	if (status != KC_EXIT_OK)
		return status;
	if (!answer.row_count) {
		kc_error("every known block size has been timed; name others with --block, or fewer with --timed");
		return KC_EXIT_FAILED;
	}
	return json ? print_json(&answer, known->sweeps->simulated) : print_text(&answer, known->sweeps->simulated);
}
