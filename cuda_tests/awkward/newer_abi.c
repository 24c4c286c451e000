/*
 * One name of the driver, several ABIs: asks cuGetProcAddress for
 * cuLaunchHostFunc in each version, and after each answer calls all that it has
 * got so far, the older ones as they were declared. usage: newer_abi VERSION...
 */
#include <cuda.h>

#include <stdio.h>
#include <stdlib.h>

enum { ABIS_MAX = 8, SECOND_ABI = 13010, SPIN_WAIT = 1 }; /* cuda.h of CUDA 13.5 */

typedef CUresult first_abi(CUstream, CUhostFn, void *);
typedef CUresult second_abi(CUstream, CUhostFn, void *, unsigned);

static void *resolve(const char *name, int version)
{
	CUdriverProcAddressQueryResult status;
	void *address = NULL;

	return cuGetProcAddress_v2(name, &address, version, CU_GET_PROC_ADDRESS_DEFAULT, &status) ? NULL : address;
}

/* A driver without a device has no contexts either. */
static void make_context(void)
{
	CUresult (*retain)(CUcontext *, CUdevice) =
	    (CUresult(*)(CUcontext *, CUdevice))resolve("cuDevicePrimaryCtxRetain", 12000);
	CUresult (*use)(CUcontext) = (CUresult(*)(CUcontext))resolve("cuCtxSetCurrent", 12000);
	CUcontext context;

	if (retain && use && !retain(&context, 0))
		use(context);
}

static void CUDA_CB count_call(void *calls)
{
	__atomic_add_fetch((int *)calls, 1, __ATOMIC_RELAXED);
}

int main(int argc, char **argv)
{
	void *abi[ABIS_MAX];
	int version[ABIS_MAX], count = argc - 1 < ABIS_MAX ? argc - 1 : ABIS_MAX, calls = 0;
	CUresult result, (*wait)(void);

	setbuf(stdout, NULL); /* the driver may print, too */
	if (cuInit(0) == CUDA_SUCCESS)
		make_context();
	for (int i = 0; i < count; i++) {
		version[i] = atoi(argv[i + 1]);
		abi[i] = resolve("cuLaunchHostFunc", version[i]);
		for (int j = 0; j <= i; j++) {
			result = version[j] < SECOND_ABI ? ((first_abi *)abi[j])(NULL, count_call, &calls)
							 : ((second_abi *)abi[j])(NULL, count_call, &calls, SPIN_WAIT);
			printf("asked for %d, called %d: %d\n", version[i], version[j], result);
		}
	}
	wait = (CUresult(*)(void))resolve("cuCtxSynchronize", 12000);
	if (wait)
		wait();
	printf("%d calls\n", calls);
	return 0;
}
