#include "ptx_parser.h"

/* PTX ISA, "Fundamental Types", "Packed Data Types" */
static const struct kc__ptx_modifier types[] = {
    {"pred", KC_PTX_PRED},
    {"b8", KC_PTX_B8},
    {"b16", KC_PTX_B16},
    {"b32", KC_PTX_B32},
    {"b64", KC_PTX_B64},
    {"b128", KC_PTX_B128},
    {"u8", KC_PTX_U8},
    {"u16", KC_PTX_U16},
    {"u32", KC_PTX_U32},
    {"u64", KC_PTX_U64},
    {"s8", KC_PTX_S8},
    {"s16", KC_PTX_S16},
    {"s32", KC_PTX_S32},
    {"s64", KC_PTX_S64},
    {"f16", KC_PTX_F16},
    {"f16x2", KC_PTX_F16X2},
    {"bf16", KC_PTX_BF16},
    {"bf16x2", KC_PTX_BF16X2},
    {"tf32", KC_PTX_TF32},
    {"f32", KC_PTX_F32},
    {"f32x2", KC_PTX_F32X2},
    {"f64", KC_PTX_F64},
    {"e4m3", KC_PTX_OTHER_TYPE},
    {"e5m2", KC_PTX_OTHER_TYPE},
    {"e4m3x2", KC_PTX_OTHER_TYPE},
    {"e5m2x2", KC_PTX_OTHER_TYPE},
    {"texref", KC_PTX_OTHER_TYPE},
    {"samplerref", KC_PTX_OTHER_TYPE},
    {"surfref", KC_PTX_OTHER_TYPE},
};

static const struct kc__ptx_modifier spaces[] = {
    {"global", KC_PTX_GLOBAL}, {"shared", KC_PTX_SHARED}, {"local", KC_PTX_LOCAL},
    {"const", KC_PTX_CONST},   {"param", KC_PTX_PARAM},
};

static const uint8_t type_bytes[] = {
    [KC_PTX_PRED] = 1,   [KC_PTX_B8] = 1,    [KC_PTX_U8] = 1,         [KC_PTX_S8] = 1,   [KC_PTX_B16] = 2,
    [KC_PTX_U16] = 2,    [KC_PTX_S16] = 2,   [KC_PTX_F16] = 2,        [KC_PTX_BF16] = 2, [KC_PTX_B32] = 4,
    [KC_PTX_U32] = 4,    [KC_PTX_S32] = 4,   [KC_PTX_F32] = 4,        [KC_PTX_TF32] = 4, [KC_PTX_F16X2] = 4,
    [KC_PTX_BF16X2] = 4, [KC_PTX_B64] = 8,   [KC_PTX_U64] = 8,        [KC_PTX_S64] = 8,  [KC_PTX_F64] = 8,
    [KC_PTX_F32X2] = 8,  [KC_PTX_B128] = 16, [KC_PTX_OTHER_TYPE] = 0,
};

uint32_t kc_ptx_type_bytes(uint32_t type)
{
	return type < sizeof(type_bytes) ? type_bytes[type] : 0;
}

int kc_ptx_type_is_float(uint32_t type)
{
	return type >= KC_PTX_F16 && type <= KC_PTX_F64;
}

int kc_ptx_type_is_signed(uint32_t type)
{
	return type >= KC_PTX_S8 && type <= KC_PTX_S64;
}

enum kc_ptx_type kc__ptx_type_named(const char *text, size_t length)
{
	return (enum kc_ptx_type)KC__PTX_LOOK_UP(types, text, length);
}

enum kc_ptx_space kc__ptx_space_named(const char *text, size_t length)
{
	return (enum kc_ptx_space)KC__PTX_LOOK_UP(spaces, text, length);
}
