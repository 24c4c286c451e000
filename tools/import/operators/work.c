#include "work.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPATIAL_MOST (KC_DIMENSIONS_MOST - 2)

/* Which inputs of the operator are what. */
struct rule {
	const char *name;
	int (*work)(const struct rule *rule, const struct kc_operator_inputs *in, struct kc_operator_work *out);
	enum kc_kernel_class of;
	uint8_t first;  /* factor, input of a convolution, query or gradient of the output */
	uint8_t causal; /* the value that says whether scores are masked */
};

static const struct kc_operator_input *input(const struct kc_operator_inputs *in, uint32_t i, unsigned dimensions)
{
	if (i >= in->count || in->at[i].is_odd || in->at[i].dimension_count != dimensions)
		return NULL;
	return &in->at[i];
}

static double product(const int64_t *dimensions, unsigned from, unsigned to)
{
	double all = 1;

	for (unsigned i = from; i < to; i++)
		all *= (double)dimensions[i];
	return all;
}

static const char *common_type(const struct kc_operator_input *a, const struct kc_operator_input *b)
{
	return strcmp(a->type, b->type) == 0 ? a->type : "";
}

/* --- bytes */

/* Of one number; 0: not known. */
static double bytes_of(const char *type)
{
	static const struct {
		const char *type;
		double bytes;
	} types[] = {{"float", 4}, {"double", 8}, {"c10::Half", 2}, {"c10::BFloat16", 2}};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (!strcmp(types[i].type, type))
			return types[i].bytes;
	return 0;
}

/* Numbers of a tensor that lie at different places: with a stride of 0 all of a dimension lie at one. NAN: not known,
 * as their places may meet otherwise. */
static double distinct(const struct kc_operator_input *of)
{
	double all = 1, reach = 1;

	if (!of->has_strides || of->stride_count != of->dimension_count)
		return NAN;
	for (unsigned i = 0; i < of->dimension_count; i++) {
		all *= of->strides[i] ? (double)of->dimensions[i] : 1;
		reach += (double)of->strides[i] * fmax((double)of->dimensions[i] - 1, 0);
	}
	return all <= reach ? all : NAN;
}

/* What is added to the product is read unless its factor is 0; of one that is not recorded it is not known. */
static double added(const struct kc_operator_inputs *in, const struct rule *rule)
{
	const char *factor = rule->first + 2u < KC_INPUTS_MOST ? in->at[rule->first + 2].value : "";

	if (!rule->first)
		return 0;
	if (!*factor || in->at[0].is_odd || in->count < 1)
		return NAN;
	return strtod(factor, NULL) == 0 ? 0 : distinct(&in->at[0]);
}

static double product_bytes(const struct rule *rule, const struct kc_operator_inputs *in, double result)
{
	const struct kc_operator_input *a = &in->at[rule->first], *b = a + 1;
	double each = bytes_of(common_type(a, b));

	if (!each || (rule->first && strcmp(in->at[0].type, a->type) != 0))
		return NAN;
	return each * (added(in, rule) + distinct(a) + distinct(b) + result);
}

/* --- matrix products */

static void set_product(const struct rule *rule, const struct kc_operator_inputs *in, double batch,
			const int64_t mkn[3], struct kc_operator_work *out)
{
	const struct kc_operator_input *a = &in->at[rule->first];

	out->flop = 2 * batch * product(mkn, 0, 3);
	out->bytes = product_bytes(rule, in, batch * (double)mkn[0] * (double)mkn[2]);
	out->type = common_type(a, a + 1);
}

/* [m, k] and [k, n] */
static int matrices(const struct rule *rule, const struct kc_operator_inputs *in, struct kc_operator_work *out)
{
	const struct kc_operator_input *a = input(in, rule->first, 2), *b = input(in, rule->first + 1u, 2);

	if (!a || !b || a->dimensions[1] != b->dimensions[0])
		return 0;
	set_product(rule, in, 1, (int64_t[]){a->dimensions[0], a->dimensions[1], b->dimensions[1]}, out);
	return 1;
}

/* [batch, m, k] and [batch, k, n] */
static int batches(const struct rule *rule, const struct kc_operator_inputs *in, struct kc_operator_work *out)
{
	const struct kc_operator_input *a = input(in, rule->first, 3), *b = input(in, rule->first + 1u, 3);

	if (!a || !b || a->dimensions[0] != b->dimensions[0] || a->dimensions[2] != b->dimensions[1])
		return 0;
	set_product(rule, in, (double)a->dimensions[0],
		    (int64_t[]){a->dimensions[1], a->dimensions[2], b->dimensions[2]}, out);
	return 1;
}

/* Factors that are scaled, in types whose sizes and results the dimensions do not tell. */
static int scaled_matrices(const struct rule *rule, const struct kc_operator_inputs *in, struct kc_operator_work *out)
{
	int known = matrices(rule, in, out);

	out->bytes = NAN;
	return known;
}

/* --- convolutions */

/* "[2, 2]"; a list of one number is of all dimensions. 0: it is not such a list. */
static int read_list(const char *text, unsigned count, double out[SPATIAL_MOST])
{
	unsigned n = 0;
	char *end;

	if (*text++ != '[')
		return 0;
	for (; n < count; n++) {
		out[n] = strtod(text, &end);
		if (end == text || !(out[n] >= 0) || !(out[n] <= (double)KC_DIMENSION_MOST))
			return 0;
		text = end + strspn(end, " ");
		if (*text == ']')
			break;
		if (*text++ != ',')
			return 0;
	}
	if (n == count || (n + 1 < count && n))
		return 0;
	for (unsigned i = 1; i < count && !n; i++)
		out[i] = out[0];
	return 1;
}

/* 1, 0; -1: not known. */
static int read_truth(const struct kc_operator_inputs *in, uint32_t i)
{
	const char *value = i < KC_INPUTS_MOST ? in->at[i].value : "";

	return !strcmp(value, "True") ? 1 : !strcmp(value, "False") ? 0 : -1;
}

/* Places of the output, of stride, padding and dilation from input 3 on. NAN: not known. */
static double output_places(const struct kc_operator_inputs *in, const int64_t *x, const int64_t *filter,
			    unsigned count)
{
	double stride[SPATIAL_MOST], padding[SPATIAL_MOST], dilation[SPATIAL_MOST], places = 1;

	if (!read_list(in->at[3].value, count, stride) || !read_list(in->at[4].value, count, padding) ||
	    !read_list(in->at[5].value, count, dilation))
		return NAN;
	for (unsigned i = 0; i < count; i++) {
		double room = (double)x[i] + 2 * padding[i] - dilation[i] * ((double)filter[i] - 1) - 1;

		if (!(stride[i] >= 1) || !(room >= 0))
			return NAN;
		places *= floor(room / stride[i]) + 1;
	}
	return places;
}

/* An input and a filter of as many dimensions, of which those past two are places. 0: they are none. */
static int read_filter(const struct kc_operator_inputs *in, uint32_t x, uint32_t filter)
{
	unsigned dimensions = filter < in->count ? in->at[filter].dimension_count : 0;

	return dimensions >= 3 && input(in, x, dimensions) && input(in, filter, dimensions);
}

/* (input, filter, bias, stride, padding, dilation, transposed, …). Each place of the output takes in all of the filter;
 * of a transposed one, each place of the input goes into all of it. The filter has the channels of one group. */
static int convolution(const struct rule *rule, const struct kc_operator_inputs *in, struct kc_operator_work *out)
{
	const struct kc_operator_input *x = &in->at[rule->first], *filter = x + 1;
	int transposed = read_truth(in, 6);
	unsigned n = filter->dimension_count;
	double places;

	if (!read_filter(in, rule->first, rule->first + 1u))
		return 0;
	out->type = common_type(x, filter);
	if (transposed < 0)
		return 1;
	places = transposed ? product(x->dimensions, 2, n)
			    : output_places(in, x->dimensions + 2, filter->dimensions + 2, n - 2);
	out->flop = 2 * (double)x->dimensions[0] * places * product(filter->dimensions, 0, n);
	return 1;
}

/* "[True, True, False]": which gradients are asked for, of the input, the filter and the bias. Products; 0: not known.
 */
static uint32_t gradients(const char *mask)
{
	char input[8], filter[8];

	if (sscanf(mask, "[%7[a-zA-Z], %7[a-zA-Z],", input, filter) != 2)
		return 0;
	return (uint32_t)!strcasecmp(input, "true") + !strcasecmp(filter, "true");
}

/* (gradient of the output, input, filter, bias sizes, stride, padding, dilation, transposed, output padding, groups,
 * output mask). Each gradient takes as many operations as the convolution. */
static int convolution_backward(const struct rule *rule, const struct kc_operator_inputs *in,
				struct kc_operator_work *out)
{
	const struct kc_operator_input *g = &in->at[rule->first], *x = g + 1, *filter = g + 2;
	int transposed = read_truth(in, 7);
	unsigned n = filter->dimension_count;

	if (!read_filter(in, rule->first, rule->first + 2u) || !read_filter(in, rule->first + 1u, rule->first + 2u))
		return 0;
	out->type = common_type(g, filter);
	out->parts = gradients(in->at[10].value);
	if (transposed < 0 || !out->parts)
		return 1;
	out->flop = 2.0 * out->parts * (double)x->dimensions[0] * product((transposed ? x : g)->dimensions, 2, n) *
		    product(filter->dimensions, 0, n);
	return 1;
}

/* Of an older PyTorch: which gradients it was to make is not recorded. */
static int convolution_unknown(const struct rule *rule, const struct kc_operator_inputs *in,
			       struct kc_operator_work *out)
{
	(void)rule;
	(void)in;
	out->parts = 0;
	return 1;
}

/* --- attention */

/* [batch, heads, length, width] of query, key and value. out: batch * heads, queries, keys, width of keys and values.
 */
static int read_attention(const struct kc_operator_inputs *in, uint32_t first, double out[5])
{
	const struct kc_operator_input *q = input(in, first, 4), *k = input(in, first + 1, 4),
				       *v = input(in, first + 2, 4);

	if (!q || !k || !v || memcmp(q->dimensions, k->dimensions, 2 * sizeof(int64_t)) ||
	    memcmp(q->dimensions, v->dimensions, 2 * sizeof(int64_t)) || q->dimensions[3] != k->dimensions[3] ||
	    k->dimensions[2] != v->dimensions[2])
		return 0;
	out[0] = (double)q->dimensions[0] * (double)q->dimensions[1];
	out[1] = (double)q->dimensions[2];
	out[2] = (double)k->dimensions[2];
	out[3] = (double)k->dimensions[3];
	out[4] = (double)v->dimensions[3];
	return 1;
}

static int set_attention(const struct rule *rule, const struct kc_operator_inputs *in, uint32_t query,
			 const double products[2], struct kc_operator_work *out)
{
	const struct kc_operator_input *q = &in->at[query];
	double of[5];

	if (!read_attention(in, query, of))
		return 0;
	out->flop = 2 * of[0] * of[1] * of[2] * (products[0] * of[3] + products[1] * of[4]);
	out->is_nominal = read_truth(in, rule->causal) != 0;
	out->type = strcmp(common_type(q, q + 1), common_type(q, q + 2)) == 0 ? q->type : "";
	return 1;
}

/* Scores from queries and keys, and the sum of values that they weigh. */
static int attention(const struct rule *rule, const struct kc_operator_inputs *in, struct kc_operator_work *out)
{
	return set_attention(rule, in, rule->first, (const double[]){1, 1}, out);
}

/* The scores again, the gradients of queries and keys; those of scores and values. */
static int attention_backward(const struct rule *rule, const struct kc_operator_inputs *in,
			      struct kc_operator_work *out)
{
	const struct kc_operator_input *gradient = input(in, rule->first, 4), *q = input(in, rule->first + 1u, 4);

	if (!gradient || !q || memcmp(gradient->dimensions, q->dimensions, 3 * sizeof(int64_t)) ||
	    !input(in, rule->first + 3u, 4) || gradient->dimensions[3] != in->at[rule->first + 3].dimensions[3])
		return 0;
	return set_attention(rule, in, rule->first + 1u, (const double[]){3, 2}, out);
}

/* --- operators */

#define PRODUCT KC_CLASS_PRODUCT
#define CONVOLUTION KC_CLASS_CONVOLUTION
#define ATTENTION KC_CLASS_ATTENTION

/* Those in which kernels are launched. What they call in turn (cudnn_convolution, _flash_attention_forward) tells less,
 * or in another order, and what calls them (linear, conv2d, matmul) is not needed. */
static const struct rule rules[] = {
    {"aten::mm", matrices, PRODUCT, 0, 0},
    {"aten::addmm", matrices, PRODUCT, 1, 0},
    {"aten::_addmm_activation", matrices, PRODUCT, 1, 0},
    {"aten::_scaled_mm", scaled_matrices, PRODUCT, 0, 0},
    {"aten::bmm", batches, PRODUCT, 0, 0},
    {"aten::baddbmm", batches, PRODUCT, 1, 0},
    {"aten::convolution", convolution, CONVOLUTION, 0, 0},
    {"aten::_convolution", convolution, CONVOLUTION, 0, 0},
    {"aten::convolution_backward", convolution_backward, CONVOLUTION, 0, 0},
    {"aten::cudnn_convolution_backward", convolution_unknown, CONVOLUTION, 0, 0},
    {"aten::cudnn_convolution_transpose_backward", convolution_unknown, CONVOLUTION, 0, 0},
    {"aten::_scaled_dot_product_flash_attention", attention, ATTENTION, 0, 4},
    {"aten::_scaled_dot_product_efficient_attention", attention, ATTENTION, 0, 6},
    {"aten::_scaled_dot_product_cudnn_attention", attention, ATTENTION, 0, 6},
    {"aten::_scaled_dot_product_flash_attention_backward", attention_backward, ATTENTION, 0, 11},
    {"aten::_scaled_dot_product_efficient_attention_backward", attention_backward, ATTENTION, 0, 11},
    {"aten::_scaled_dot_product_cudnn_attention_backward", attention_backward, ATTENTION, 0, 14},
};

static const struct rule *rule_of(const char *name)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
		if (!strcmp(rules[i].name, name))
			return &rules[i];
	return NULL;
}

int kc_operator_work(const char *name, const struct kc_operator_inputs *in, struct kc_operator_work *out)
{
	const struct rule *rule = rule_of(name);

	*out = (struct kc_operator_work){.parts = 1, .flop = NAN, .bytes = NAN, .type = ""};
	if (!rule)
		return 0;
	out->of = rule->of;
	if (!rule->work(rule, in, out) || !(out->flop > 0))
		out->flop = out->bytes = NAN;
	return 1;
}

void kc_operator_inputs_text(const struct kc_operator_inputs *in, char *out, size_t size)
{
	size_t length = 0;

	*out = '\0';
	for (uint32_t i = 0; i < in->count; i++) {
		const struct kc_operator_input *one = &in->at[i];

		for (unsigned n = 0; n < one->dimension_count && !one->is_odd && length < size; n++)
			length +=
			    (size_t)snprintf(out + length, size - length, "%s%lld%s",
					     n      ? ", "
					     : *out ? " ["
						    : "[",
					     (long long)one->dimensions[n], n + 1 == one->dimension_count ? "]" : "");
	}
}
