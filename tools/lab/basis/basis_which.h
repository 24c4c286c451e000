/*
 * Finds the kernel, device and problem that a question of `kerncast-lab basis predict`
 * refers to; where there is none, a message lists those there are.
 */
#ifndef KC_TOOLS_BASIS_WHICH_H
#define KC_TOOLS_BASIS_WHICH_H

#include "basis.h"
#include "basis_question.h"
#include "tools/output/format.h"

/* Index of the only kernel in whose name or module the text occurs; -1 after a message. */
int64_t kc_basis_find_kernel(const struct kc_sweeps *sweeps, const char *text);

/* Row of the only device in whose name the text occurs; 0: none; -1 after a message. */
int64_t kc_basis_find_device(const struct kc_basis_known *known, const char *text, struct kc_device *device);

/* The device named, or the only one where the kernel was measured (text: NULL). An exit status, after a message where
 * it is not KC_EXIT_OK. */
int kc_basis_choose_device(const struct kc_basis_known *known, uint32_t kernel, const char *text, int64_t *id,
			   struct kc_device *device);

/* Of the sizes measured with the most block sizes, the largest. */
double kc_basis_usual_size(const struct kc_sweeps *sweeps, uint32_t kernel, int64_t device);
/* Launches of all sizes behind the kernel's times on the device. */
uint64_t kc_basis_launches(const struct kc_sweeps *sweeps, uint32_t kernel, int64_t device);

/* 0 after a message: a block has fewer or more dimensions than any that the kernel was launched with. */
int kc_basis_has_dimensions(const struct kc_sweeps *sweeps, uint32_t kernel, const struct kc_basis_blocks *asked);

void kc_basis_no_such_size(const struct kc_sweeps *sweeps, uint32_t kernel, int64_t device, const char *device_name,
			   double size);
void kc_basis_no_such_block(const char *kernel, const char *device_name, const struct kc_basis_curve *measured,
			    const struct kc_basis_blocks *asked);

/* "16,16"; "1,048,576". */
char *kc_basis_block_text(const uint32_t block[3], char out[static KC_FORMAT_BYTES]);
char *kc_basis_size_text(double size, char out[static KC_FORMAT_BYTES]);

#endif
