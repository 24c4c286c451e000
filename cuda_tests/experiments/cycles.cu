/* The programs of the cycle model (Kothapalli et al.): matrix multiplication, list ranking, histogram. */
#include "program.h"

int main(int argc, char **argv)
{
	static const struct algorithm *const algorithms[] = {
	    &matmul_tiled_coalesced,
	    &list_ranking,
	    &histogram,
	};
	const int count = sizeof(algorithms) / sizeof(algorithms[0]);
	struct common common = {.program = "cycles"};

	common_parse(&common, algorithms, count, NULL, argc, argv);
	return measure_each(&common, algorithms, count);
}
