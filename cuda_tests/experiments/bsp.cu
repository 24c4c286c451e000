/* The programs of the BSP paper (Amaris et al.): four ways to multiply matrices, and the maximum subarray. */
#include "program.h"

int main(int argc, char **argv)
{
	static const struct algorithm *const algorithms[] = {
	    &matmul_uncoalesced, &matmul_coalesced, &matmul_tiled_uncoalesced, &matmul_tiled_coalesced, &subarray,
	};
	const int count = sizeof(algorithms) / sizeof(algorithms[0]);
	struct common common = {.program = "bsp"};

	common_parse(&common, algorithms, count, NULL, argc, argv);
	return measure_each(&common, algorithms, count);
}
