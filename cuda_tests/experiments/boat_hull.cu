/* The classes of the boat hull model (Nugteren, Corporaal), a primitive each, and its case study. */
#include "program.h"

int main(int argc, char **argv)
{
	static const struct algorithm *const algorithms[] = {
	    &binarize,    &mirror,      &project_x, &project_y,       &scale_down, &dct,        &enlarge,
	    &convolve_2d, &convolve_1d, &image_sum, &image_histogram, &difference, &case_study,
	};
	const int count = sizeof(algorithms) / sizeof(algorithms[0]);
	struct common common = {.program = "boat_hull"};

	common_parse(&common, algorithms, count, NULL, argc, argv);
	return measure_each(&common, algorithms, count);
}
