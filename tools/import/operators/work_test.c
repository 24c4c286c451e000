/*
 * Operations and bytes by hand, of operators whose inputs are written as Kineto writes them. Those of a convolution are
 * places of the output * numbers of the filter * batch * 2; 3 x 3 filters of 3 channels for 4 have 108 numbers.
 */
#include "work.h"

#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define UNKNOWN NAN

/* Lists of lists of numbers, or of texts, as the callbacks of the parser tell them. */
static void put(struct kc_operator_inputs *in, const char *key, const char *list)
{
	unsigned level = 0;

	kc_operator_inputs_key(in, key, strlen(key));
	while (*list) {
		size_t length = strcspn(list, ",[]'");

		if (*list == '[') {
			kc_operator_inputs_open(in, ++level);
		} else if (*list == ']') {
			level--;
		} else if (*list == '\'') {
			length = strcspn(list + 1, "'");
			kc_operator_inputs_value(in, level, list + 1, length);
			list += length + 1;
		} else if (*list != ',' && *list != ' ') {
			kc_operator_inputs_value(in, level, list, length);
			list += length - 1;
		}
		list++;
	}
}

struct given {
	const char *dimensions, *types, *strides, *values;
};

static struct kc_operator_work work_of(const char *name, const struct given *given)
{
	static struct kc_operator_inputs in; /* the work points into it */
	struct kc_operator_work work;

	kc_operator_inputs_begin(&in);
	put(&in, "External id", "7");
	if (given->types)
		put(&in, "Input type", given->types);
	put(&in, "Input Dims", given->dimensions);
	if (given->strides)
		put(&in, "Input Strides", given->strides);
	if (given->values)
		put(&in, "Concrete Inputs", given->values);
	assert_int_equal(kc_operator_work(name, &in, &work), 1);
	return work;
}

static void is(double value, double expected)
{
	if (isnan(expected))
		assert_true(isnan(value));
	else
		assert_true(value == expected);
}

static void products(void **state)
{
	static const struct {
		const char *name;
		struct given given;
		double flop, bytes;
	} of[] = {
	    {"aten::mm", {"[[2, 3], [3, 5]]", "['float', 'float']", "[[3, 1], [1, 3]]", NULL}, 60, 4 * (6 + 15 + 10)},
	    {"aten::mm", {"[[2, 3], [3, 5]]", "['float', 'float']", NULL, NULL}, 60, UNKNOWN},
	    {"aten::mm", {"[[2, 3], [3, 5]]", "['float', 'c10::Half']", "[[3, 1], [5, 1]]", NULL}, 60, UNKNOWN},
	    {"aten::bmm",
	     {"[[4, 2, 3], [4, 3, 5]]", "['c10::Half', 'c10::Half']", "[[6, 3, 1], [15, 5, 1]]", "['', '']"},
	     240,
	     2 * (24 + 60 + 40)},
	    /* One matrix for all four of the batch; and rows that lie upon one another. */
	    {"aten::bmm",
	     {"[[4, 2, 3], [4, 3, 5]]", "['c10::Half', 'c10::Half']", "[[6, 3, 1], [0, 5, 1]]", NULL},
	     240,
	     2 * (24 + 15 + 40)},
	    {"aten::mm", {"[[2, 3], [3, 5]]", "['float', 'float']", "[[1, 1], [5, 1]]", NULL}, 60, UNKNOWN},
	    {"aten::addmm",
	     {"[[5], [2, 3], [3, 5], [], []]", "['float', 'float', 'float', 'Scalar', 'Scalar']",
	      "[[1], [3, 1], [5, 1], [], []]", "['', '', '', '1', '1']"},
	     60,
	     4 * (5 + 6 + 15 + 10)},
	    {"aten::addmm",
	     {"[[2, 5], [2, 3], [3, 5], [], []]", "['float', 'float', 'float', 'Scalar', 'Scalar']",
	      "[[5, 1], [3, 1], [5, 1], [], []]", "['', '', '', '0', '1']"},
	     60,
	     4 * (6 + 15 + 10)},
	    {"aten::addmm",
	     {"[[5], [2, 3], [3, 5], [], []]", "['float', 'float', 'float', '', '']", "[[1], [3, 1], [5, 1], [], []]",
	      NULL},
	     60,
	     UNKNOWN},
	    {"aten::baddbmm", {"[[4, 2, 5], [4, 2, 3], [4, 3, 5]]", NULL, NULL, NULL}, 240, UNKNOWN},
	    {"aten::_scaled_mm",
	     {"[[16, 32], [32, 8]]", "['c10::Float8_e4m3fn', 'c10::Float8_e4m3fn']", NULL, NULL},
	     8192,
	     UNKNOWN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		struct kc_operator_work work = work_of(of[i].name, &of[i].given);

		print_message("%s %s\n", of[i].name, of[i].given.dimensions);
		is(work.flop, of[i].flop);
		is(work.bytes, of[i].bytes);
		assert_int_equal(work.of, KC_CLASS_PRODUCT);
		assert_int_equal(work.parts, 1);
	}
}

#define VALUES(stride, padding, dilation, transposed, groups)                                                          \
	"['', '', '', '" stride "', '" padding "', '" dilation "', '" transposed "', '[0, 0]', '" groups "']"

static void convolutions(void **state)
{
	static const struct {
		const char *dimensions, *values;
		double flop;
	} of[] = {
	    /* 8 x 10 places */
	    {"[[2, 3, 8, 10], [4, 3, 3, 3], [4]]", VALUES("[1, 1]", "[1, 1]", "[1, 1]", "False", "1"),
	     80 * 108 * 2 * 2},
	    /* floor((8 - 3) / 2) + 1 = 3, floor((10 - 3) / 2) + 1 = 4 */
	    {"[[2, 3, 8, 10], [4, 3, 3, 3], []]", VALUES("[2, 2]", "[0, 0]", "[1, 1]", "False", "1"), 12 * 108 * 2 * 2},
	    /* filters reach over 5: 4 and 6 */
	    {"[[2, 3, 8, 10], [4, 3, 3, 3], []]", VALUES("[1, 1]", "[0, 0]", "[2, 2]", "False", "1"), 24 * 108 * 2 * 2},
	    {"[[2, 3, 8, 10], [4, 3, 3, 3], []]", VALUES("[2]", "[0]", "[1]", "False", "1"), 12 * 108 * 2 * 2},
	    /* two groups: filters have 2 of the 4 channels */
	    {"[[2, 4, 8, 8], [4, 2, 3, 3], []]", VALUES("[1, 1]", "[1, 1]", "[1, 1]", "False", "2"), 64 * 72 * 2 * 2},
	    /* each place of the input */
	    {"[[2, 3, 8, 10], [3, 4, 3, 3], []]", VALUES("[2, 2]", "[1, 1]", "[1, 1]", "True", "1"), 80 * 108 * 2 * 2},
	    /* one dimension; three */
	    {"[[1, 2, 7], [3, 2, 3], []]", VALUES("[2]", "[0]", "[1]", "False", "1"), 3 * 18 * 2},
	    {"[[1, 1, 4, 4, 4], [2, 1, 2, 2, 2], []]", VALUES("[1, 1, 1]", "[0, 0, 0]", "[1, 1, 1]", "False", "1"),
	     27 * 16 * 2},
	    {"[[2, 3, 8, 10], [4, 3, 3, 3], []]", NULL, UNKNOWN},
	    {"[[2, 3, 8, 10], [4, 3, 3, 3], []]", VALUES("", "[1, 1]", "[1, 1]", "False", "1"), UNKNOWN},
	    {"[[2, 3, 8, 10], [4, 3, 3, 3], []]", VALUES("[1, 1, 1]", "[1, 1]", "[1, 1]", "False", "1"), UNKNOWN},
	    {"[[2, 3, 8, 10], [4, 3, 3, 3], []]", VALUES("[0, 0]", "[1, 1]", "[1, 1]", "False", "1"), UNKNOWN},
	    {"[[2, 3, 8, 10], [4, 3, 3, 3], []]", VALUES("[-1, 1]", "[1, 1]", "[1, 1]", "False", "1"), UNKNOWN},
	    {"[[2, 3, 1, 1], [4, 3, 3, 3], []]", VALUES("[1, 1]", "[0, 0]", "[1, 1]", "False", "1"), UNKNOWN},
	    {"[[2, 3, 8, 10], [4, 3], []]", VALUES("[1, 1]", "[1, 1]", "[1, 1]", "False", "1"), UNKNOWN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		const struct given given = {of[i].dimensions, NULL, NULL, of[i].values};

		print_message("%s %s\n", of[i].dimensions, of[i].values ? of[i].values : "");
		is(work_of("aten::convolution", &given).flop, of[i].flop);
		is(work_of("aten::_convolution", &given).flop, of[i].flop);
		assert_int_equal(work_of("aten::_convolution", &given).of, KC_CLASS_CONVOLUTION);
	}
}

#define BACKWARD(transposed, mask)                                                                                     \
	"['', '', '', '', '[2, 2]', '[0, 0]', '[1, 1]', '" transposed "', '[0, 0]', '1', '" mask "']"

/* Of the second convolution above: 12 places of the output. */
static void gradients_of_convolutions(void **state)
{
	static const struct {
		const char *dimensions, *values;
		double flop;
		uint32_t parts;
	} of[] = {
	    {"[[2, 4, 3, 4], [2, 3, 8, 10], [4, 3, 3, 3]]", BACKWARD("False", "[True, True, False]"), 2 * 5184, 2},
	    {"[[2, 4, 3, 4], [2, 3, 8, 10], [4, 3, 3, 3]]", BACKWARD("False", "[False, True, True]"), 5184, 1},
	    {"[[2, 4, 3, 4], [2, 3, 8, 10], [4, 3, 3, 3]]", BACKWARD("False", "[True, False, False]"), 5184, 1},
	    {"[[2, 4, 3, 4], [2, 3, 8, 10], [4, 3, 3, 3]]", BACKWARD("False", "[False, False, True]"), UNKNOWN, 0},
	    {"[[2, 4, 3, 4], [2, 3, 8, 10], [4, 3, 3, 3]]", BACKWARD("", "[True, True, False]"), UNKNOWN, 2},
	    /* 8 x 10 places of its input */
	    {"[[2, 4, 17, 21], [2, 3, 8, 10], [3, 4, 3, 3]]", BACKWARD("True", "[True, True, False]"),
	     2 * 80 * 108 * 2 * 2, 2},
	    {"[[2, 4, 3, 4], [2, 3, 8, 10], [4, 3, 3, 3]]", NULL, UNKNOWN, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		const struct given given = {of[i].dimensions, NULL, NULL, of[i].values};
		struct kc_operator_work work = work_of("aten::convolution_backward", &given);

		print_message("%s %s\n", of[i].dimensions, of[i].values ? of[i].values : "");
		is(work.flop, of[i].flop);
		assert_int_equal(work.parts, of[i].parts);
	}
	is(work_of("aten::cudnn_convolution_backward", &(struct given){"[[2, 3], [3, 5]]", NULL, NULL, NULL}).flop,
	   UNKNOWN);
}

/* Batch 2, 3 heads, 5 queries and 7 keys of 8, values of 4: 210 scores, of 8 products each, and 4 for each value. */
static void attention(void **state)
{
	static const char forward[] = "[[2, 3, 5, 8], [2, 3, 7, 8], [2, 3, 7, 4], [], [], [], []]",
			  backward[] = "[[2, 3, 5, 4], [2, 3, 5, 8], [2, 3, 7, 8], [2, 3, 7, 4]]";
	static const struct {
		const char *name, *values;
		int is_nominal;
	} of[] = {
	    {"aten::_scaled_dot_product_flash_attention", "['', '', '', '0.', 'False', 'False', '']", 0},
	    {"aten::_scaled_dot_product_flash_attention", "['', '', '', '0.', 'True', 'False', '']", 1},
	    {"aten::_scaled_dot_product_efficient_attention", "['', '', '', '', 'True', '0.', 'False']", 0},
	    {"aten::_scaled_dot_product_cudnn_attention", "['', '', '', '', 'True', '0.', 'True']", 1},
	    {"aten::_scaled_dot_product_flash_attention", NULL, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		const struct given given = {forward, NULL, NULL, of[i].values};
		struct kc_operator_work work = work_of(of[i].name, &given);

		is(work.flop, 2 * 210 * (8 + 4));
		assert_int_equal(work.is_nominal, of[i].is_nominal);
		assert_int_equal(work.of, KC_CLASS_ATTENTION);
	}
	/* The scores again, and of each product both gradients. */
	is(work_of("aten::_scaled_dot_product_flash_attention_backward", &(struct given){backward, NULL, NULL, NULL})
	       .flop,
	   2 * 210 * (3 * 8 + 2 * 4));
}

static void what_makes_no_sense_is_not_known(void **state)
{
	static const struct {
		const char *name, *dimensions;
	} of[] = {
	    {"aten::mm", "[[2, 3], [4, 5]]"},
	    {"aten::mm", "[[2, 3]]"},
	    {"aten::mm", "[]"},
	    {"aten::mm", "[[2, 3, 1], [3, 5]]"},
	    {"aten::mm", "[[2, -3], [-3, 5]]"},
	    {"aten::mm", "[[2, x], [3, 5]]"},
	    {"aten::mm", "[[2, 9223372036854775807], [9223372036854775807, 5]]"},
	    {"aten::mm", "[[2, 99999999999999999999999999], [3, 5]]"},
	    {"aten::mm", "[[[2, 3], [2, 3]], [3, 5]]"},
	    {"aten::mm", "[2, 3]"},
	    {"aten::mm", "[[2, 0], [0, 5]]"},
	    {"aten::mm", "[[1, 1, 1, 1, 1, 1, 1, 1, 2, 3], [3, 5]]"},
	    {"aten::bmm", "[[4, 2, 3], [5, 3, 5]]"},
	    {"aten::addmm", "[[2, 3], [3, 5]]"},
	    {"aten::_scaled_dot_product_flash_attention", "[[2, 6, 5, 8], [2, 3, 7, 8], [2, 3, 7, 8]]"},
	    {"aten::_scaled_dot_product_flash_attention", "[[2, 3, 5, 8], [2, 3, 7, 8], [2, 3, 6, 8]]"},
	    {"aten::_scaled_dot_product_flash_attention_backward", "[[2, 3, 5, 8], [2, 3, 5, 8], [2, 3, 7, 8]]"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		print_message("%s %s\n", of[i].name, of[i].dimensions);
		is(work_of(of[i].name, &(struct given){of[i].dimensions, NULL, NULL, NULL}).flop, UNKNOWN);
	}
}

/* As large as can be said: a number, and a finite one. */
static void the_largest_dimensions_do_not_overflow(void **state)
{
	const struct given given = {"[[281474976710656, 281474976710656, 281474976710656], "
				    "[281474976710656, 281474976710656, 281474976710656]]",
				    NULL, NULL, NULL};

	(void)state;
	is(work_of("aten::bmm", &given).flop, 2 * pow(2, 48 * 4));
}

static void more_inputs_than_are_kept_are_left_out(void **state)
{
	char list[1024] = "[[2, 3], [3, 5]";
	struct given given = {list, NULL, NULL, NULL};

	(void)state;
	for (int i = 0; i < 60; i++)
		strcat(list, ", [7, 7]");
	strcat(list, "]");
	is(work_of("aten::mm", &given).flop, 60);
}

/* Two types that begin alike are not one, nor is a number known of which digits are missing. */
static void texts_that_have_no_room_are_not_known(void **state)
{
	const struct given types = {"[[2, 3], [3, 5]]",
				    "['c10::complex<c10::BFloat16>', 'c10::complex<c10::BFloat32>']", NULL, NULL},
			   number = {"[[2, 3], [3, 1000000000000000000000000000000000000000000]]", NULL, NULL, NULL};

	(void)state;
	assert_string_equal(work_of("aten::mm", &types).type, "");
	is(work_of("aten::mm", &types).flop, 60);
	is(work_of("aten::mm", &number).flop, UNKNOWN);
}

/* The name of an argument says what follows; a list that comes twice is read as it is the second time. */
static void other_arguments_and_repeated_ones(void **state)
{
	struct kc_operator_inputs in = {0};
	struct kc_operator_work work;
	char text[32];

	(void)state;
	put(&in, "Input Dims", "[[7, 8], [8, 9], [1]]");
	put(&in, "Input dims", "[[2, 3], [3, 5]]");
	put(&in, "Output Dims", "[[2, 5]]");
	put(&in, "grid", "[1, 2, 3]");
	assert_int_equal(in.count, 2);
	assert_int_equal(kc_operator_work("aten::mm", &in, &work), 1);
	is(work.flop, 60);
	kc_operator_inputs_text(&in, text, sizeof(text));
	assert_string_equal(text, "[2, 3] [3, 5]");
	kc_operator_inputs_text(&in, text, 8); /* cut */
	assert_string_equal(text, "[2, 3] ");
	assert_int_equal(kc_operator_work("aten::add", &in, &work), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(products),
	    cmocka_unit_test(convolutions),
	    cmocka_unit_test(gradients_of_convolutions),
	    cmocka_unit_test(attention),
	    cmocka_unit_test(what_makes_no_sense_is_not_known),
	    cmocka_unit_test(the_largest_dimensions_do_not_overflow),
	    cmocka_unit_test(more_inputs_than_are_kept_are_left_out),
	    cmocka_unit_test(texts_that_have_no_room_are_not_known),
	    cmocka_unit_test(other_arguments_and_repeated_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
