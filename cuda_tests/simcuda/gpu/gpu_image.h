/* Readers of code: each fills in a sim_code, see sim.h. */
#ifndef SIM_IMAGE_H
#define SIM_IMAGE_H

#include "cuda_tests/simcuda/sim.h"

/* Chooses the entry for the device and reads it. CUDA_ERROR_NO_BINARY_FOR_GPU: there is none. */
CUresult sim_image_load(struct sim_code *code, const void *image, const struct sim_preset *preset);
const void *sim_image_data(const void *image); /* where the fatbin wrapper points to */
size_t sim_image_bytes(const void *image);     /* of that */

int sim_cubin_read(struct sim_code *code, const uint8_t *elf, size_t bytes); /* 1: read */
uint32_t sim_cubin_sm(const uint8_t *elf);                                   /* 80 for sm_80 */
size_t sim_cubin_bytes(const uint8_t *elf);

int sim_ptx_read(struct sim_code *code, const char *text, size_t bytes); /* 1: read */

/* Null: out of memory. Names live until the process ends. Pointers to kernels and
 * globals are valid until the next one is added. */
struct sim_kernel *sim_code_add_kernel(struct sim_code *code, const char *name, size_t length);
struct sim_global *sim_code_add_global(struct sim_code *code, const char *name, size_t length, uint64_t bytes);
struct sim_kernel *sim_code_kernel(const struct sim_code *code, const char *name);
int sim_kernel_set_param(struct sim_kernel *kernel, uint32_t ordinal, uint32_t offset, uint32_t size); /* 1: set */
void sim_code_free(struct sim_code *code);

#endif
