/*
 * What an operator was given, as Kineto records it with record_shapes: an argument
 * of the event for the dimensions of each input, for its type, its strides and,
 * where it is no tensor, its value.
 *
 *   kc_operator_inputs   the inputs of one event, and where in them the parser is
 *
 * Files may say anything: an input whose dimensions are no list of numbers from 0
 * to KC_DIMENSION_MOST, or a list of tensors, is odd, and nothing counts with it.
 */
#ifndef KC_OPERATOR_INPUTS_H
#define KC_OPERATOR_INPUTS_H

#include <stddef.h>
#include <stdint.h>

#define KC_INPUTS_MOST 24u    /* what follows is not kept: no operator of work.c has so many */
#define KC_DIMENSIONS_MOST 8u /* a tensor with more is odd */
#define KC_DIMENSION_MOST (INT64_C(1) << 48)

enum kc_input_list { KC_INPUT_NONE, KC_INPUT_DIMENSIONS, KC_INPUT_STRIDES, KC_INPUT_TYPES, KC_INPUT_VALUES };

struct kc_operator_input {
	int64_t dimensions[KC_DIMENSIONS_MOST], strides[KC_DIMENSIONS_MOST];
	uint8_t dimension_count, stride_count;
	uint8_t is_odd;      /* its dimensions are not known */
	uint8_t has_strides; /* and they are no odd ones */
	char type[24];       /* "float", "c10::Half", "Scalar"; "": not known */
	char value[64];      /* "[2, 2]", "False"; "": of a tensor, or not known */
};

/* Starts as zeros. */
struct kc_operator_inputs {
	uint32_t count; /* whose dimensions were recorded, those past KC_INPUTS_MOST left out */
	enum kc_input_list list;
	uint32_t next; /* of the list that is being read */
	int is_used;   /* something was written */
	struct kc_operator_input at[KC_INPUTS_MOST];
};

/* Before the arguments of an event. */
void kc_operator_inputs_begin(struct kc_operator_inputs *inputs);
/* The name of an argument, of which what follows is the value. */
void kc_operator_inputs_key(struct kc_operator_inputs *inputs, const char *at, size_t bytes);
/* A list, or a map, begins in that value; level 1: it is the value itself. */
void kc_operator_inputs_open(struct kc_operator_inputs *inputs, unsigned level);
/* A number, text or other scalar ("") inside so many lists. */
void kc_operator_inputs_value(struct kc_operator_inputs *inputs, unsigned level, const char *at, size_t bytes);

#endif
