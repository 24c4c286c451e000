/*
 * The kernels that the programs launch: stubs in host code, kernels in CUDA code.
 * Each adds d to n integers, once; grids may be larger than n.
 */
#ifndef KERNELS_H
#define KERNELS_H

#ifdef __CUDACC__
#define KERNEL extern "C" __global__
#else
#define KERNEL extern
#endif

KERNEL void add(int *x, int n, int d);
KERNEL void add_shared(int *x, int n, int d);   /* 4 bytes of dynamic shared memory per thread */
KERNEL void add_together(int *x, int n, int d); /* a cooperative launch: waits for the whole grid */

#endif
