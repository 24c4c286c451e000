#include "inputs.h"
#include "tools/input/decimal.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *key;
	enum kc_input_list list;
} lists[] = {
    {"Input Dims", KC_INPUT_DIMENSIONS}, {"Input dims", KC_INPUT_DIMENSIONS},  {"Input Strides", KC_INPUT_STRIDES},
    {"Input type", KC_INPUT_TYPES},      {"Concrete Inputs", KC_INPUT_VALUES},
};

void kc_operator_inputs_begin(struct kc_operator_inputs *in)
{
	if (in->is_used)
		memset(in, 0, sizeof(*in));
}

void kc_operator_inputs_key(struct kc_operator_inputs *in, const char *at, size_t bytes)
{
	in->list = KC_INPUT_NONE;
	in->next = 0;
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		if (strlen(lists[i].key) == bytes && !memcmp(lists[i].key, at, bytes))
			in->list = lists[i].list;
}

/* The input that is being read; NULL: none of those that are kept. */
static struct kc_operator_input *current(struct kc_operator_inputs *in)
{
	return in->next >= 1 && in->next <= KC_INPUTS_MOST ? &in->at[in->next - 1] : NULL;
}

/* A list that is there twice counts as it is there last. */
static struct kc_operator_input *go_on(struct kc_operator_inputs *in)
{
	struct kc_operator_input *one;

	in->is_used = 1;
	if (in->next <= KC_INPUTS_MOST)
		in->next++;
	one = current(in);
	if (!one)
		return NULL;
	if (in->list == KC_INPUT_DIMENSIONS) {
		in->count = in->next;
		one->dimension_count = one->is_odd = 0;
	} else if (in->list == KC_INPUT_STRIDES) {
		one->stride_count = 0;
		one->has_strides = 1;
	}
	return one;
}

static void set_odd(struct kc_operator_inputs *in, struct kc_operator_input *one)
{
	if (in->list == KC_INPUT_DIMENSIONS)
		one->is_odd = 1;
	else if (in->list == KC_INPUT_STRIDES)
		one->has_strides = 0;
}

void kc_operator_inputs_open(struct kc_operator_inputs *in, unsigned level)
{
	struct kc_operator_input *one;

	if (in->list == KC_INPUT_NONE)
		return;
	if (level == 2) {
		go_on(in);
		return;
	}
	one = current(in);
	if (level > 2 && one) /* a list of tensors */
		set_odd(in, one);
}

/* What has no room is not known: cut, it could be taken for another, and end within a character. */
static void take_text(char *out, size_t size, const char *at, size_t bytes)
{
	snprintf(out, size, "%.*s", bytes < size ? (int)bytes : 0, at);
}

static void take_number(struct kc_operator_inputs *in, struct kc_operator_input *one, const char *at, size_t bytes)
{
	int is_stride = in->list == KC_INPUT_STRIDES;
	uint8_t *count = is_stride ? &one->stride_count : &one->dimension_count;
	int64_t value;
	char text[32];

	take_text(text, sizeof(text), at, bytes);
	if (*count == KC_DIMENSIONS_MOST || kc_decimal_times(text, 1, &value) || value < 0 || value > KC_DIMENSION_MOST)
		set_odd(in, one);
	else
		(is_stride ? one->strides : one->dimensions)[(*count)++] = value;
}

void kc_operator_inputs_value(struct kc_operator_inputs *in, unsigned level, const char *at, size_t bytes)
{
	struct kc_operator_input *one;

	if (in->list == KC_INPUT_NONE || level < 1)
		return;
	one = level == 1 ? go_on(in) : current(in);
	if (!one)
		return;
	if (in->list == KC_INPUT_TYPES && level == 1)
		take_text(one->type, sizeof(one->type), at, bytes);
	else if (in->list == KC_INPUT_VALUES && level == 1)
		take_text(one->value, sizeof(one->value), at, bytes);
	else if (level == 2 && (in->list == KC_INPUT_DIMENSIONS || in->list == KC_INPUT_STRIDES))
		take_number(in, one, at, bytes);
	else
		set_odd(in, one);
}
