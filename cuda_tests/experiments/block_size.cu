/* The programs of the basis over block sizes (Kanchiraju et al.), each with 32 to 1,024 threads a block. */
#include "program.h"

int main(int argc, char **argv)
{
	static const struct algorithm *const algorithms[] = {
	    &matmul_tiled_coalesced, &transpose, &bfs, &lud, &hotspot, &nw, &pathfinder, &srad,
	};
	const int count = sizeof(algorithms) / sizeof(algorithms[0]);
	struct common common = {.program = "block_size",
				.blocks = {{32, 64, 96, 128, 192, 256, 320, 384, 512, 640, 768, 1024}, 12}};

	common_parse(&common, algorithms, count, NULL, argc, argv);
	return measure_each(&common, algorithms, count);
}
