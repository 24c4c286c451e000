#include "kernel_formula.h"
#include "shim/tables/tables.h"

#include "predictor/device/units.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool kc__same_parameters(const struct kc__kernel *kernel, const struct kc_ptx_function *function)
{
	return !kernel->parameters.known || kernel->parameters.count == function->param_count;
}

struct kc__formula *kc__formula_make(struct kc_cost *cost, const struct kc_ptx_function *function,
				     bool other_architecture)
{
	const struct kc_cost_need *needs;
	uint32_t count = kc_cost_needs(cost, &needs);
	struct kc__formula *formula = kc__arena(sizeof(*formula));
	struct kc__need *own = kc__arena(count * sizeof(*own) + 1);
	struct kc__parameter *parameters = kc__arena(function->param_count * sizeof(*parameters) + 1);

	if (!formula || !own || !parameters)
		return NULL;
	for (uint32_t i = 0; i < function->param_count; i++)
		parameters[i] = (struct kc__parameter){(uint16_t)function->params[i].offset_bytes,
						       (uint16_t)function->params[i].bytes};
	for (uint32_t i = 0; i < count; i++)
		own[i] = (struct kc__need){
		    .param = needs[i].param,
		    .in_param_bytes = needs[i].offset_bytes - function->params[needs[i].param].offset_bytes,
		    .offset_bytes = needs[i].offset_bytes,
		    .bytes = needs[i].bytes,
		    .mask = needs[i].mask,
		};
	*formula = (struct kc__formula){
	    .cost = cost,
	    .other_architecture = other_architecture,
	    .needs = own,
	    .need_count = count,
	    .parameters = {true, function->param_count, parameters},
	};
	return formula;
}

/* The buffer that `extra` names, NULL where it names none. Source: driver API, cuLaunchKernel. */
static const char *packed(void *const *extra, size_t *bytes)
{
	const char *buffer = NULL;

	*bytes = 0;
	for (; extra && extra[0] != CU_LAUNCH_PARAM_END; extra += 2) {
		if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			buffer = extra[1];
		else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1])
			*bytes = *(const size_t *)extra[1];
		else
			return NULL;
	}
	return buffer;
}

static const char *argument_at(const struct kc__given *given, uint32_t param, uint32_t offset_bytes, uint32_t bytes)
{
	const char *block;
	size_t size;

	if (given->params)
		return given->params[param];
	block = packed(given->extra, &size);
	return block && size >= (size_t)offset_bytes + bytes ? block + offset_bytes : NULL;
}

/* At most eight bytes, without a call for the usual numbers of them. */
static inline uint64_t load(const char *from, uint32_t bytes)
{
	uint64_t value = 0;
	uint32_t word;

	if (bytes == sizeof(word)) {
		memcpy(&word, from, sizeof(word));
		return word;
	}
	if (bytes == sizeof(value))
		memcpy(&value, from, sizeof(value));
	else if (bytes < sizeof(value))
		memcpy(&value, from, bytes);
	return value;
}

/* 1: known. All of its bits, also those that do not matter. */
static inline int read_whole(const struct kc__need *need, const struct kc__given *given, uint64_t *value)
{
	const char *from;

	*value = 0;
	if (given->params) {
		from = given->params[need->param];
		from = from ? from + need->in_param_bytes : NULL;
	} else {
		from = argument_at(given, need->param, need->offset_bytes, need->bytes);
	}
	if (!from || need->bytes > sizeof(*value))
		return 0;
	*value = load(from, need->bytes);
	return 1;
}

/* 1: known. */
static inline int read_need(const struct kc__need *need, const struct kc__given *given, uint64_t *value)
{
	int known = read_whole(need, given, value);

	*value &= need->mask;
	return known;
}

bool kc__formula_pointer(const struct kc__formula *formula, uint32_t index, const struct kc__given *given,
			 struct kc_cost_buffer *pointer)
{
	const struct kc__need *need = &formula->needs[index];

	*pointer = (struct kc_cost_buffer){.param = need->param, .offset_bytes = need->in_param_bytes};
	return need->bytes == sizeof(pointer->first) && read_whole(need, given, &pointer->first) && pointer->first;
}

__attribute__((hot)) uint64_t kc__arguments_key(const struct kc__formula *formula, const struct kc__given *given)
{
	uint64_t key = 1, value;

	for (uint32_t i = 0; i < formula->need_count; i++) {
		uint64_t known = (uint64_t)read_need(&formula->needs[i], given, &value);

		key = (key ^ value) * 0x9E3779B97F4A7C15u + known;
		key ^= key >> 29;
	}
	return key ? key : 1;
}

int kc__formula_counts(const struct kc__formula *formula, const struct kc_shape *dims, const struct kc__given *given,
		       uint32_t effort, void *scratch, struct kc_counts *counts)
{
	struct kc_cost_argument arguments[KC__ARGUMENTS_MAX] = {{0}};
	const struct kc__parameters *p = &formula->parameters;
	struct kc_cost_launch launch = {
	    .dynamic_shared_bytes = dims->dynamic_shared_bytes,
	    .arguments = arguments,
	    .buffers = given->buffers,
	    .buffer_count = given->buffer_count,
	    .argument_count = p->count < KC__ARGUMENTS_MAX ? p->count : KC__ARGUMENTS_MAX,
	};

	int rc;

	if (!formula->cost)
		return -ENODATA;
	memcpy(launch.grid, dims->grid, sizeof(launch.grid));
	memcpy(launch.block, dims->block, sizeof(launch.block));
	for (uint32_t i = 0; i < launch.argument_count; i++) {
		const char *from = argument_at(given, i, p->at[i].offset_bytes, p->at[i].bytes);

		if (!from)
			continue;
		arguments[i] = (struct kc_cost_argument){.known = 1, .bytes = from, .length = p->at[i].bytes};
		memcpy(&arguments[i].value, from,
		       p->at[i].bytes < sizeof(arguments[i].value) ? p->at[i].bytes : sizeof(arguments[i].value));
	}
	rc = kc_cost_evaluate_in(formula->cost, &launch, effort, scratch, counts);
	if (!rc && formula->other_architecture) {
		counts->other_architecture = 1;
		counts->exact = 0;
	}
	return rc;
}

void kc__arguments_tell(const struct kc__formula *formula, const struct kc__given *given, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < formula->need_count && used < size; i++) {
		const struct kc__need *need = &formula->needs[i];
		bool part = need->bytes != formula->parameters.at[need->param].bytes;
		uint64_t value;

		used += (size_t)snprintf(text + used, size - used, "%sp%u", used ? ", " : "", need->param);
		if (part && used < size)
			used += (size_t)snprintf(text + used, size - used, "+%u", need->in_param_bytes);
		if (used >= size)
			break;
		if (!read_need(need, given, &value))
			used += (size_t)snprintf(text + used, size - used, " = ?");
		else if (need->mask == KC_SECTOR_BYTES - 1) /* of an address, only where in a sector it lies */
			used += (size_t)snprintf(text + used, size - used, " mod %u = %u", KC_SECTOR_BYTES,
						 (unsigned)value);
		else
			used += (size_t)snprintf(text + used, size - used, " = %lld", (long long)value);
	}
}

size_t kc__arguments_pack(const struct kc__parameters *parameters, const struct kc__given *given, void *block,
			  size_t max_bytes)
{
	size_t length = 0;

	if (!parameters->known)
		return 0;
	for (uint32_t i = 0; i < parameters->count; i++) {
		const struct kc__parameter *p = &parameters->at[i];
		const char *from = argument_at(given, i, p->offset_bytes, p->bytes);
		size_t end = (size_t)p->offset_bytes + p->bytes;

		if (!from || end > max_bytes)
			return 0;
		memcpy((char *)block + p->offset_bytes, from, p->bytes);
		length = end > length ? end : length;
	}
	return length;
}

struct kc__given kc__given_packed(struct kc__packed *p, void *block, size_t bytes)
{
	void *const extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, block, CU_LAUNCH_PARAM_BUFFER_SIZE, &p->bytes,
			       CU_LAUNCH_PARAM_END};

	p->bytes = bytes;
	memcpy(p->extra, extra, sizeof(extra));
	return (struct kc__given){.extra = p->extra};
}
