#include "explain.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const type_names[] = {
    [KC_PTX_PRED] = "pred", [KC_PTX_B8] = "b8",         [KC_PTX_B16] = "b16",   [KC_PTX_B32] = "b32",
    [KC_PTX_B64] = "b64",   [KC_PTX_B128] = "b128",     [KC_PTX_U8] = "u8",     [KC_PTX_U16] = "u16",
    [KC_PTX_U32] = "u32",   [KC_PTX_U64] = "u64",       [KC_PTX_S8] = "s8",     [KC_PTX_S16] = "s16",
    [KC_PTX_S32] = "s32",   [KC_PTX_S64] = "s64",       [KC_PTX_F16] = "f16",   [KC_PTX_F16X2] = "f16x2",
    [KC_PTX_BF16] = "bf16", [KC_PTX_BF16X2] = "bf16x2", [KC_PTX_TF32] = "tf32", [KC_PTX_F32] = "f32",
    [KC_PTX_F64] = "f64",
};

const char *kc_explain_type(const struct kc_ptx_param *param)
{
	if (param->is_array)
		return "struct";
	if (param->type >= sizeof(type_names) / sizeof(*type_names) || !type_names[param->type])
		return "other";
	return type_names[param->type];
}

static int refuse(char *why, size_t why_size, const char *text, const char *reason)
{
	snprintf(why, why_size, "\"%s\" %s", text, reason);
	return -EINVAL;
}

static int is_hexadecimal(const char *text)
{
	text += *text == '-';
	return text[0] == '0' && tolower((unsigned char)text[1]) == 'x';
}

/* Reads an integer of `bytes` bytes, from the lowest signed to the highest unsigned value. */
static int read_integer(const char *text, uint32_t bytes, uint64_t *value)
{
	int negative = *text == '-', base = is_hexadecimal(text) ? 16 : 10;
	uint32_t bits = bytes >= sizeof(*value) ? 64 : bytes * 8;
	uint64_t most = negative ? (uint64_t)1 << (bits - 1) : UINT64_MAX >> (64 - bits);
	char *end;

	text += negative;
	if (!isxdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	*value = strtoull(text, &end, base);
	if (errno || *end || end == text)
		return errno == ERANGE ? -ERANGE : -EINVAL;
	if (*value > most)
		return -ERANGE;
	if (negative)
		*value = (0 - *value) & (UINT64_MAX >> (64 - bits));
	return 0;
}

/* "1.5", "1.5f", "-3", "1e-6" */
static int read_decimal(const char *text, uint32_t bytes, uint64_t *value)
{
	char *end;
	double number = strtod(text, &end);
	float narrow = (float)number;

	if (end == text || (*end && (strcmp(end, "f") != 0 || bytes != sizeof(narrow))))
		return -EINVAL;
	*value = 0;
	if (bytes == sizeof(narrow))
		memcpy(value, &narrow, sizeof(narrow));
	else
		memcpy(value, &number, sizeof(number));
	return 0;
}

static int digit(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

static int read_bytes(const char *text, uint32_t length, struct kc_cost_argument *out)
{
	uint8_t *bytes;

	if (strlen(text) != (size_t)length * 2 || text[strspn(text, "0123456789abcdefABCDEF")])
		return -EINVAL;
	bytes = malloc(length ? length : 1);
	if (!bytes)
		return -ENOMEM;
	for (uint32_t i = 0; i < length; i++)
		bytes[i] = (uint8_t)(digit(text[2 * (size_t)i]) << 4 | digit(text[2 * (size_t)i + 1]));
	memcpy(&out->value, bytes, length < sizeof(out->value) ? length : sizeof(out->value));
	out->bytes = bytes;
	out->length = length;
	return 0;
}

void kc_explain_argument_free(struct kc_cost_argument *argument)
{
	free((void *)argument->bytes);
	argument->bytes = NULL;
}

static int read_struct(const char *text, const struct kc_ptx_param *param, struct kc_cost_argument *out, char *why,
		       size_t why_size)
{
	char reason[96];
	int rc = read_bytes(text, param->bytes, out);

	if (rc != -EINVAL)
		return rc;
	snprintf(reason, sizeof(reason), "is not %u hexadecimal digits, the bytes of a struct", 2 * param->bytes);
	return refuse(why, why_size, text, reason);
}

static int reads_as_float(const struct kc_ptx_param *param, const char *text)
{
	if (is_hexadecimal(text))
		return 0;
	if (param->type == KC_PTX_F32 || param->type == KC_PTX_F64)
		return 1;
	return (param->type == KC_PTX_B32 || param->type == KC_PTX_B64) && strpbrk(text, ".eEf");
}

int kc_explain_argument(const char *text, const struct kc_ptx_param *param, struct kc_cost_argument *out, char *why,
			size_t why_size)
{
	int rc;

	*out = (struct kc_cost_argument){.known = 1};
	if (strcmp(text, "_") == 0) {
		out->known = 0;
		return 0;
	}
	if (param->is_array)
		return read_struct(text, param, out, why, why_size);
	if (reads_as_float(param, text))
		return read_decimal(text, param->bytes, &out->value) < 0 ? refuse(why, why_size, text, "is no number")
									 : 0;
	rc = read_integer(text, param->bytes, &out->value);
	if (rc == 0)
		return 0;
	return refuse(why, why_size, text, rc == -ERANGE ? "is too large" : "is no integer");
}
