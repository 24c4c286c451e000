#include "run_blocks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART_BITS 32 /* pointers that are not known lie 4 GiB from each other */

struct argument {
	uint8_t *bytes; /* of the parameter */
	int is_known;
};

/* "p2+8 mod 32 = 0": 1; 0: nothing is known of it. */
static int read_one(const char *text, unsigned long *param, unsigned long *offset, uint64_t *value)
{
	unsigned long modulus = 0;
	long long number;
	int at = 0;

	*offset = 0;
	if (sscanf(text, " p%lu%n", param, &at) != 1)
		return 0;
	text += at;
	at = 0;
	if (sscanf(text, "+%lu%n", offset, &at) == 1)
		text += at;
	at = 0;
	if (sscanf(text, " mod %lu%n", &modulus, &at) == 1)
		text += at;
	if (sscanf(text, " = %lld", &number) != 1)
		return 0;
	*value = (uint64_t)number;
	if (modulus)
		*value += (uint64_t)(*param + 1) << APART_BITS;
	return 1;
}

static void take(const char *text, const struct kc_ptx_param *params, uint32_t count, struct argument *arguments)
{
	unsigned long param, offset;
	uint64_t value;

	if (!read_one(text, &param, &offset, &value) || param >= count || offset >= params[param].bytes)
		return;
	memcpy(arguments[param].bytes + offset, &value,
	       params[param].bytes - offset < sizeof(value) ? params[param].bytes - offset : sizeof(value));
	arguments[param].is_known = 1;
}

/* Structs are the digits of their bytes; numbers begin with the highest. */
static void write_one(FILE *to, const struct kc_ptx_param *param, const struct argument *argument)
{
	if (!argument->is_known) {
		fputs("_", to);
		return;
	}
	fputs(param->is_array ? "" : "0x", to);
	for (uint32_t i = 0; i < param->bytes; i++)
		fprintf(to, "%02x", argument->bytes[param->is_array ? i : param->bytes - 1 - i]);
}

static char *write_all(const struct kc_ptx_param *params, uint32_t count, const struct argument *arguments)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	for (uint32_t i = 0; i < count; i++) {
		fputs(i ? "," : "", to);
		write_one(to, &params[i], &arguments[i]);
	}
	if (fclose(to) == 0)
		return text;
	free(text);
	return NULL;
}

char *kc_run_arguments(const char *recorded, const struct kc_ptx_param *params, uint32_t count)
{
	struct argument *arguments = calloc(count + 1u, sizeof(*arguments));
	char *text = NULL;
	int is_there = arguments != NULL;

	for (uint32_t i = 0; is_there && i < count; i++)
		is_there = (arguments[i].bytes = calloc(params[i].bytes + sizeof(uint64_t), 1)) != NULL;
	for (const char *at = recorded; is_there && at && *at; at += strspn(at, ", ")) {
		take(at, params, count, arguments);
		at += strcspn(at, ",");
	}
	if (is_there)
		text = write_all(params, count, arguments);
	for (uint32_t i = 0; arguments && i < count; i++)
		free(arguments[i].bytes);
	free(arguments);
	return text;
}
