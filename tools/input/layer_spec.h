/*
 * Parts of the prediction by name, separated by commas: "contexts,mix".
 */
#ifndef KC_LAYER_SPEC_H
#define KC_LAYER_SPEC_H

#include <stdint.h>

#define KC_LAYER_NAMES "lambda, sizes, contexts, mix, contention, placement, margins, prior"

/* out: a bit for each enum kc_layer (outlook.h). 0 or -EINVAL. */
int kc_layer_spec(const char *text, uint32_t *out);
const char *kc_layer_name(uint32_t layer);

#endif
