#include "gpu_cost.h"

#include <ctype.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CODE_MAX 64 /* steps of one expression */
#define STACK_MAX 16
#define LINE_BYTES 1024

enum step_kind {
	PUSH_NUMBER,
	PUSH_SHAPE, /* grid, block: index 0 to 5 */
	PUSH_THREADS,
	PUSH_BLOCKS,
	PUSH_HASH,
	PUSH_INTEGER, /* argument */
	PUSH_FLOAT,
	ADD,
	SUBTRACT,
	MULTIPLY,
	DIVIDE,
	NEGATE,
	MINIMUM,
	MAXIMUM,
	POWER,
	SQUARE_ROOT,
	LOG2,
	CEILING,
	FLOOR,
};

struct step {
	enum step_kind kind;
	uint32_t index;
	double number;
};

struct expression {
	unsigned steps;
	struct step step[CODE_MAX];
};

struct cost {
	struct cost *next;
	char *pattern;
	uint32_t args; /* bit i: reads argument i */
	struct expression cycles, bytes;
};

struct cost_table {
	struct cost *first, **end;
};

/* Matches any kernel. Its name decides: 1 to 15 µs at 1.4 GHz for 256 threads, more with
 * larger blocks, at most 50 µs; 0 to 32 bytes per thread. */
static const char built_in[] = "* min(70000,(1400+19600*hash*hash)*(0.5+threads/512)) threads*ceil(32*hash)";

struct parser {
	const char *at;
	struct expression *out;
	uint32_t *args;
	int failed;
};

static void emit(struct parser *p, enum step_kind kind, uint32_t index, double number)
{
	struct step *step;

	if (p->out->steps == CODE_MAX) {
		p->failed = 1;
		return;
	}
	step = &p->out->step[p->out->steps++];
	step->kind = kind;
	step->index = index;
	step->number = number;
}

static void parse_sum(struct parser *p);

static int eat(struct parser *p, char c)
{
	if (*p->at != c)
		return 0;
	p->at++;
	return 1;
}

static const struct {
	const char *name;
	enum step_kind kind;
	uint32_t index;
} variables[] = {
    {"gridX", PUSH_SHAPE, 0},     {"gridY", PUSH_SHAPE, 1},   {"gridZ", PUSH_SHAPE, 2},
    {"blockX", PUSH_SHAPE, 3},    {"blockY", PUSH_SHAPE, 4},  {"blockZ", PUSH_SHAPE, 5},
    {"threads", PUSH_THREADS, 0}, {"blocks", PUSH_BLOCKS, 0}, {"hash", PUSH_HASH, 0},
};

static const struct {
	const char *name;
	enum step_kind kind;
	unsigned operands;
} functions[] = {
    {"min", MINIMUM, 2}, {"max", MAXIMUM, 2},  {"pow", POWER, 2},   {"sqrt", SQUARE_ROOT, 1},
    {"log2", LOG2, 1},   {"ceil", CEILING, 1}, {"floor", FLOOR, 1},
};

static void parse_call(struct parser *p, enum step_kind kind, unsigned operands)
{
	unsigned i;

	for (i = 0; i < operands && !p->failed; i++) {
		if (i && !eat(p, ','))
			p->failed = 1;
		parse_sum(p);
	}
	if (!eat(p, ')'))
		p->failed = 1;
	emit(p, kind, 0, 0);
}

static void parse_argument(struct parser *p, const char *name, size_t length)
{
	char *end;
	unsigned long i = strtoul(name + 1, &end, 10);

	if ((*name != 'a' && *name != 'f') || length < 2 || end != name + length || i >= COST_ARGS) {
		p->failed = 1;
		return;
	}
	*p->args |= 1u << i;
	emit(p, *name == 'a' ? PUSH_INTEGER : PUSH_FLOAT, i, 0);
}

static void parse_name(struct parser *p)
{
	const char *name = p->at;
	size_t length = 0, i;

	while (isalnum((unsigned char)name[length]))
		length++;
	p->at += length;
	for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (strlen(functions[i].name) == length && !strncmp(functions[i].name, name, length) && eat(p, '(')) {
			parse_call(p, functions[i].kind, functions[i].operands);
			return;
		}
	for (i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		if (strlen(variables[i].name) == length && !strncmp(variables[i].name, name, length)) {
			emit(p, variables[i].kind, variables[i].index, 0);
			return;
		}
	parse_argument(p, name, length);
}

static void parse_factor(struct parser *p)
{
	char *end;

	if (p->failed) {
		return;
	} else if (eat(p, '-')) {
		parse_factor(p);
		emit(p, NEGATE, 0, 0);
	} else if (eat(p, '(')) {
		parse_sum(p);
		if (!eat(p, ')'))
			p->failed = 1;
	} else if (isdigit((unsigned char)*p->at) || *p->at == '.') {
		emit(p, PUSH_NUMBER, 0, strtod(p->at, &end));
		p->at = end;
	} else if (isalpha((unsigned char)*p->at)) {
		parse_name(p);
	} else {
		p->failed = 1;
	}
}

static void parse_product(struct parser *p)
{
	char c;

	parse_factor(p);
	while (!p->failed && ((c = *p->at) == '*' || c == '/')) {
		p->at++;
		parse_factor(p);
		emit(p, c == '*' ? MULTIPLY : DIVIDE, 0, 0);
	}
}

static void parse_sum(struct parser *p)
{
	char c;

	parse_product(p);
	while (!p->failed && ((c = *p->at) == '+' || c == '-')) {
		p->at++;
		parse_product(p);
		emit(p, c == '+' ? ADD : SUBTRACT, 0, 0);
	}
}

/* Returns 1 if the stack is deep enough. */
static int stack_fits(const struct expression *expression)
{
	int depth = 0;
	unsigned i;

	for (i = 0; i < expression->steps; i++) {
		enum step_kind kind = expression->step[i].kind;

		depth += kind < ADD ? 1 : kind == NEGATE || kind >= SQUARE_ROOT ? 0 : -1;
		if (depth > STACK_MAX)
			return 0;
	}
	return 1;
}

static int compile(struct expression *out, const char *text, uint32_t *args)
{
	struct parser parser = {.at = text, .out = out, .args = args};

	parse_sum(&parser);
	return !parser.failed && *parser.at == '\0' && stack_fits(out);
}

static int add_line(struct cost_table *table, char *line)
{
	char *save = NULL, *pattern = strtok_r(line, " \t\r\n", &save), *cycles, *bytes;
	struct cost *cost;

	if (!pattern || *pattern == '#')
		return 1;
	cycles = strtok_r(NULL, " \t\r\n", &save);
	bytes = strtok_r(NULL, " \t\r\n", &save);
	if (!cycles || !bytes || strtok_r(NULL, " \t\r\n", &save))
		return 0;
	cost = calloc(1, sizeof(*cost));
	if (!cost)
		return 0;
	cost->pattern = strdup(pattern);
	if (!cost->pattern || !compile(&cost->cycles, cycles, &cost->args) ||
	    !compile(&cost->bytes, bytes, &cost->args)) {
		free(cost->pattern);
		free(cost);
		return 0;
	}
	*table->end = cost;
	table->end = &cost->next;
	return 1;
}

static int add_file(struct cost_table *table, const char *path)
{
	char line[LINE_BYTES];
	FILE *file = fopen(path, "re");
	unsigned n = 0;
	int ok = 1;

	if (!file) {
		fprintf(stderr, "simcuda: %s: %m\n", path);
		return 0;
	}
	while (ok && fgets(line, sizeof(line), file)) {
		n++;
		ok = add_line(table, line);
	}
	if (!ok)
		fprintf(stderr, "simcuda: %s:%u: expected: pattern cycles-expression bytes-expression\n", path, n);
	fclose(file);
	return ok;
}

struct cost_table *cost_table_load(const char *path)
{
	struct cost_table *table = calloc(1, sizeof(*table));
	char line[sizeof(built_in)];

	if (!table)
		return NULL;
	table->end = &table->first;
	memcpy(line, built_in, sizeof(line));
	if ((path && !add_file(table, path)) || !add_line(table, line))
		return NULL;
	return table;
}

const struct cost *cost_find(const struct cost_table *table, const char *kernel)
{
	const struct cost *cost;

	for (cost = table->first; cost->next; cost = cost->next)
		if (!fnmatch(cost->pattern, kernel, 0))
			return cost;
	return cost;
}

static double integer_argument(const struct cost_input *input, uint32_t i)
{
	int64_t value64;
	int32_t value32;
	int16_t value16;

	switch (input->arg[i] ? input->arg_bytes[i] : 0) {
	case 8:
		memcpy(&value64, input->arg[i], 8);
		return value64;
	case 4:
		memcpy(&value32, input->arg[i], 4);
		return value32;
	case 2:
		memcpy(&value16, input->arg[i], 2);
		return value16;
	case 1:
		return *(const int8_t *)input->arg[i];
	default:
		return 0;
	}
}

static double float_argument(const struct cost_input *input, uint32_t i)
{
	double value64;
	float value32;

	switch (input->arg[i] ? input->arg_bytes[i] : 0) {
	case 8:
		memcpy(&value64, input->arg[i], 8);
		return value64;
	case 4:
		memcpy(&value32, input->arg[i], 4);
		return value32;
	default:
		return 0;
	}
}

static double product(const uint32_t *three)
{
	return (double)three[0] * three[1] * three[2];
}

static double push(const struct step *step, const struct cost_input *input)
{
	switch (step->kind) {
	case PUSH_SHAPE:
		return step->index < 3 ? input->grid[step->index] : input->block[step->index - 3];
	case PUSH_THREADS:
		return product(input->block);
	case PUSH_BLOCKS:
		return product(input->grid);
	case PUSH_HASH:
		return input->hash;
	case PUSH_INTEGER:
		return integer_argument(input, step->index);
	case PUSH_FLOAT:
		return float_argument(input, step->index);
	default:
		return step->number;
	}
}

static double apply_two(enum step_kind kind, double a, double b)
{
	switch (kind) {
	case ADD:
		return a + b;
	case SUBTRACT:
		return a - b;
	case MULTIPLY:
		return a * b;
	case DIVIDE:
		return b == 0 ? 0 : a / b;
	case MINIMUM:
		return fmin(a, b);
	case MAXIMUM:
		return fmax(a, b);
	default:
		return pow(a, b);
	}
}

static double apply_one(enum step_kind kind, double a)
{
	switch (kind) {
	case NEGATE:
		return -a;
	case SQUARE_ROOT:
		return a > 0 ? sqrt(a) : 0;
	case LOG2:
		return a > 0 ? log2(a) : 0;
	case CEILING:
		return ceil(a);
	default:
		return floor(a);
	}
}

static double evaluate(const struct expression *expression, const struct cost_input *input)
{
	double stack[STACK_MAX] = {0};
	unsigned top = 0, i;

	for (i = 0; i < expression->steps; i++) {
		const struct step *step = &expression->step[i];

		if (step->kind < ADD) {
			stack[top++] = push(step, input);
		} else if (step->kind == NEGATE || step->kind >= SQUARE_ROOT) {
			stack[top - 1] = apply_one(step->kind, stack[top - 1]);
		} else {
			top--;
			stack[top - 1] = apply_two(step->kind, stack[top - 1], stack[top]);
		}
	}
	return isfinite(stack[0]) ? stack[0] : 0;
}

void cost_evaluate(const struct cost *cost, const struct cost_input *input, double *cycles, double *bytes)
{
	*cycles = fmax(1, evaluate(&cost->cycles, input));
	*bytes = fmax(0, evaluate(&cost->bytes, input));
}

int cost_reads_arg(const struct cost *cost, unsigned i)
{
	return cost->args >> i & 1;
}
