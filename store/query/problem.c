#include "problem.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_MOST 1024 /* the most threads of a CUDA block along one dimension */

/* --- arguments */

/* Reads "131072" or "p0 = 131072", up to a comma or the end. */
static int read_number(const char *part, size_t length, double *number)
{
	const char *equals = memchr(part, '=', length);
	char text[32], *end;

	if (equals && memmem(part, length, " mod ", strlen(" mod ")))
		return 0;
	if (equals) {
		length -= (size_t)(equals + 1 - part);
		part = equals + 1;
	}
	if (!length || length >= sizeof(text))
		return 0;
	memcpy(text, part, length);
	text[length] = '\0';
	*number = strtod(text, &end);
	while (*end == ' ')
		end++;
	return end != text && !*end && isfinite(*number);
}

static double largest(const struct kc_problem_row *row)
{
	double most = 0;

	for (uint32_t i = 0; i < row->count; i++)
		most = fmax(most, row->numbers[i]);
	return most;
}

void kc_problem_read(struct kc_problem_row *row, const char *arguments)
{
	row->count = 0;
	memset(row->numbers, 0, sizeof(row->numbers));
	while (arguments && *arguments && row->count < KC_PROBLEM_NUMBERS) {
		size_t length = strcspn(arguments, ",");

		row->count += read_number(arguments, length, &row->numbers[row->count]);
		arguments += length + (arguments[length] == ',');
	}
	if (!(largest(row) > 0)) {
		row->count = 0;
		memset(row->numbers, 0, sizeof(row->numbers));
	}
}

static int compare_numbers(const struct kc_problem_row *a, const struct kc_problem_row *b)
{
	if (a->count != b->count)
		return a->count < b->count ? -1 : 1;
	for (uint32_t i = 0; i < a->count; i++)
		if (a->numbers[i] < b->numbers[i] || a->numbers[i] > b->numbers[i])
			return a->numbers[i] < b->numbers[i] ? -1 : 1;
	return 0;
}

static int compare_shape(const struct kc_problem_row *a, const struct kc_problem_row *b)
{
	for (int i = 0; i < 3; i++)
		if (a->block[i] != b->block[i])
			return a->block[i] < b->block[i] ? -1 : 1;
	for (int i = 0; i < 3; i++)
		if (a->grid[i] != b->grid[i])
			return a->grid[i] < b->grid[i] ? -1 : 1;
	return 0;
}

int kc_problem_order(const void *a, const void *b)
{
	int order = compare_shape(a, b);

	return order ? order : compare_numbers(a, b);
}

static int by_numbers(const void *a, const void *b)
{
	const struct kc_problem_row *x = *(struct kc_problem_row *const *)a, *y = *(struct kc_problem_row *const *)b;
	int order = memcmp(x->block, y->block, sizeof(x->block));

	return order ? order : compare_numbers(x, y);
}

/* If the same arguments and block were launched with several grids, the arguments do not tell the size. */
static int arguments_tell(struct kc_problem_row **told, size_t count)
{
	int tell = 1;

	qsort(told, count, sizeof(*told), by_numbers);
	for (size_t i = 1; i < count; i++)
		tell = tell && by_numbers(&told[i - 1], &told[i]);
	return tell;
}

static double product(const struct kc_problem_row *row)
{
	double all = 1;

	for (uint32_t i = 0; i < row->count; i++)
		all *= row->numbers[i] > 0 ? row->numbers[i] : 1;
	return all;
}

static int by_largest(const void *a, const void *b)
{
	const struct kc_problem_row *x = *(struct kc_problem_row *const *)a, *y = *(struct kc_problem_row *const *)b;
	double m = largest(x), n = largest(y);

	return m < n ? -1 : m > n ? 1 : compare_numbers(x, y);
}

static void size_by_arguments(struct kc_problem_row **told, size_t count)
{
	int told_apart = 1;

	qsort(told, count, sizeof(*told), by_largest);
	for (size_t i = 1; i < count; i++)
		if (!(largest(told[i - 1]) < largest(told[i])) && compare_numbers(told[i - 1], told[i]))
			told_apart = 0;
	for (size_t i = 0; i < count; i++)
		told[i]->size = told_apart ? largest(told[i]) : product(told[i]);
}

/* Arguments are recorded only after the kernel's code was read. Earlier launches of a shape get the arguments of the
 * later ones, if those had only one set. Rows are sorted: one without numbers is before those of its shape with some.
 */
static void adopt(struct kc_problem_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int next = i + 1 < count && !compare_shape(&rows[i], &rows[i + 1]);
		int another = next && i + 2 < count && !compare_shape(&rows[i], &rows[i + 2]);

		if (!(rows[i].size > 0) && next && !another)
			rows[i].size = rows[i + 1].size;
	}
}

/* --- threads */

struct box { /* all extents n with low < n <= high in each dimension */
	int64_t low[3], high[3];
};

static struct box box_of(const struct kc_problem_row *row)
{
	struct box box;

	for (int i = 0; i < 3; i++) {
		int64_t block = row->block[i] < BLOCK_MOST ? row->block[i] : BLOCK_MOST;

		box.high[i] = row->grid[i] * block;
		box.low[i] = box.high[i] - block;
	}
	return box;
}

/* 0: nothing would be left, and the box is unchanged. */
static int meet(struct box *box, const struct box *other)
{
	struct box both = *box;

	for (int i = 0; i < 3; i++) {
		both.low[i] = other->low[i] > both.low[i] ? other->low[i] : both.low[i];
		both.high[i] = other->high[i] < both.high[i] ? other->high[i] : both.high[i];
		if (both.low[i] >= both.high[i])
			return 0;
	}
	*box = both;
	return 1;
}

static int low_descending(const void *a, const void *b)
{
	struct box x = box_of(*(struct kc_problem_row *const *)a), y = box_of(*(struct kc_problem_row *const *)b);

	for (int i = 0; i < 3; i++)
		if (x.low[i] != y.low[i])
			return x.low[i] > y.low[i] ? -1 : 1;
	return kc_problem_order(*(struct kc_problem_row *const *)a, *(struct kc_problem_row *const *)b);
}

static int contains(const struct box *box, const struct box *other)
{
	int all = 1;

	for (int i = 0; i < 3; i++)
		all = all && box->low[i] <= other->low[i] && other->high[i] <= box->high[i];
	return all;
}

static int covers(const struct box *box, int dimension, double number)
{
	return (double)box->low[dimension] < number && number <= (double)box->high[dimension];
}

/* Whether the box covers one of the numbers in each dimension, and the largest of them in at least one. */
static int covers_numbers(const struct box *box, const struct kc_problem_row *told)
{
	double most = largest(told);
	int has_largest = 0;

	for (int i = 0; i < 3; i++) {
		int covered = box->high[i] == 1;

		for (uint32_t n = 0; n < told->count; n++)
			covered = covered || covers(box, i, told->numbers[n]);
		if (!covered)
			return 0;
		has_largest = has_largest || covers(box, i, most);
	}
	return has_largest;
}

/* Into a problem known by its arguments (told: by size), where its threads leave no other. */
static void join_told(struct kc_problem_row *row, struct kc_problem_row **told, size_t count)
{
	struct box own = box_of(row);

	for (size_t i = count, from; i > 0 && !row->size; i = from) {
		struct box common = box_of(told[i - 1]), met;
		int agree = 1;

		for (from = i; from > 0 && !(told[from - 1]->size < told[i - 1]->size); from--) {
			struct box other = box_of(told[from - 1]);

			agree = agree && meet(&common, &other);
		}
		met = common;
		if (agree && meet(&met, &own) && (contains(&own, &common) || covers_numbers(&own, told[i - 1])))
			row->size = told[i - 1]->size;
	}
}

/* A single block covers every problem that is not larger than it. */
static int is_one_block(const struct box *box)
{
	return !box->low[0] && !box->low[1] && !box->low[2];
}

/* Takes the first row and all after it that share some n with those taken so far. Rows with finer blocks determine n
 * best and have the largest low of one problem. If even those are single blocks, each row is a problem of its own. */
static void size_by_threads(struct kc_problem_row **rows, size_t first, size_t count)
{
	struct box common = box_of(rows[first]), box = common;
	int64_t farthest = common.low[0] - BLOCK_MOST;
	int alone = is_one_block(&common);
	double size = 1;
	size_t end = first + 1;

	rows[first]->size = -1; /* until it is set below */
	for (; !alone && end < count && (box = box_of(rows[end])).low[0] > farthest; end++)
		if (!(rows[end]->size > 0) && meet(&common, &box))
			rows[end]->size = -1;
	for (int i = 0; i < 3; i++)
		size *= (double)common.high[i];
	for (size_t i = first; i < end; i++)
		rows[i]->size = rows[i]->size < 0 ? size : rows[i]->size;
}

KC_ORDER_OF_POINTERS(by_size, struct kc_problem_row, KC_UP(size))

int kc_problems_find(struct kc_problem_row *rows, size_t count)
{
	struct kc_problem_row **order = malloc((count + 1) * sizeof(*order));
	size_t told = 0, left = 0;

	if (!order)
		return -ENOMEM;
	qsort(rows, count, sizeof(*rows), kc_problem_order);
	for (size_t i = 0; i < count; i++) {
		rows[i].size = 0;
		if (rows[i].count)
			order[told++] = &rows[i];
	}
	if (!arguments_tell(order, told))
		told = 0;
	size_by_arguments(order, told);
	adopt(rows, count);
	qsort(order, told, sizeof(*order), by_size);
	for (size_t i = 0; i < count; i++)
		if (!(rows[i].size > 0))
			join_told(&rows[i], order, told);
	for (size_t i = 0; i < count; i++)
		if (!(rows[i].size > 0))
			order[left++] = &rows[i];
	qsort(order, left, sizeof(*order), low_descending);
	for (size_t i = 0; i < left; i++)
		if (!order[i]->size)
			size_by_threads(order, i, left);
	free(order);
	return 0;
}
