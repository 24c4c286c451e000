/*
 * Algorithms of different appetite for bandwidth and arithmetic, each beside a
 * particle filter: alone, then together in streams of their own, the one first
 * and then the other. Who is first launches all its kernels before the second
 * launches any; the device is idle before each pair.
 */
#include "program.h"

#include <memory>
#include <stdio.h>

/* Even ones are the algorithm, odd ones the particle filter; each has a stream, or shares it where there are too few.
 */
struct company {
	std::vector<std::unique_ptr<struct subject>> subjects;
	streams in;

	company(const struct algorithm *algorithm, const struct setting *setting, const struct setting *filter,
		int stream_count)
	    : in(stream_count)
	{
		for (int pair = 0; pair < (stream_count + 1) / 2; pair++) {
			subjects.emplace_back(algorithm->make(setting));
			subjects.emplace_back(particle_filter.make(filter));
		}
		CHECK(cudaDeviceSynchronize());
	}
	cudaStream_t stream_of(size_t i) const
	{
		return in.of[i % in.of.size()];
	}
};

static void run_alone(company *company)
{
	for (size_t i = 0; i < 2; i++) {
		company->subjects[i]->run(company->stream_of(i));
		CHECK(cudaDeviceSynchronize());
	}
}

static void run_together(company *company, stopwatch *watch, int filter_first)
{
	size_t last = filter_first ? 0 : 1;

	watch->start(company->stream_of(last));
	for (size_t i = 0; i < company->subjects.size(); i++) {
		size_t which = filter_first ? i ^ 1 : i;

		company->subjects[which]->run(company->stream_of(which));
	}
	watch->stop(company->stream_of(last));
	CHECK(cudaDeviceSynchronize());
}

static int run_pair(const struct common *common, const struct algorithm *algorithm, const struct setting *setting,
		    const struct setting *filter)
{
	company company(algorithm, setting, filter, common->streams);
	stopwatch watches[2];
	const char *wrong = NULL;

	for (int i = 0; i < common->repeat; i++)
		run_alone(&company);
	for (int filter_first = 0; filter_first < 2; filter_first++)
		for (int i = 0; i < common->repeat; i++)
			run_together(&company, &watches[filter_first], filter_first);
	for (size_t i = 0; i < company.subjects.size() && !wrong; i++)
		wrong = checked(common, company.subjects[i].get());
	printf("%s size %d block %d, %s size %d block %d: %s", algorithm->name, setting->size, setting->block,
	       particle_filter.name, filter->size, filter->block, verdict(common, wrong));
	if (common->time)
		printf(", second %.2f us; the other order, %.2f us", watches[0].median_us(), watches[1].median_us());
	printf("\n");
	fflush(stdout);
	return wrong != NULL;
}

int main(int argc, char **argv)
{
	static const struct algorithm *const algorithms[] = {&knn, &pathfinder, &hotspot, &hotspot_3d,
							     &bfs, &srad,       &lud};
	const int count = sizeof(algorithms) / sizeof(algorithms[0]);
	struct common common = {.program = "real_pairs"};
	struct setting filter = particle_filter.setting;
	const struct option_of more[] = {
	    {"--particles", OPTION_COUNT, &filter.size, "of the filter; --size and --block are the other's"},
	    {"--filter-block", OPTION_COUNT, &filter.block, "threads a block of the filter"},
	    {NULL, OPTION_FLAG, NULL, NULL},
	};
	int status = 0;

	common.streams = 2;
	common_parse(&common, algorithms, count, more, argc, argv);
	for (int i = 0; i < count; i++) {
		if (!asked_for(&common, algorithms[i]))
			continue;
		for (const struct setting &setting : settings_of(&common, algorithms[i]))
			status |= run_pair(&common, algorithms[i], &setting, &filter);
	}
	return status;
}
