/*
 * leaves WHAT N HOW: launches N times, gives something up, launches N times more, and ends.
 *
 * WHAT   root=FOLDER, by chroot(); user=ID, by seteuid(); output, by closing the three standard streams, and then it
 *        lives on for half a minute
 * HOW    return, or at once by _exit()
 */
#include "cuda_tests/awkward/awkward.h"

#include <string.h>
#include <unistd.h>

static void launch(struct awkward *a, long n)
{
	for (long i = 0; i < n; i++) {
		CHECK(awkward_launch(a, NULL, 32 + (unsigned)i % 5));
		if (i % 64 == 0)
			CHECK(cuStreamSynchronize(NULL));
	}
	CHECK(cuCtxSynchronize());
}

static int give_up(const char *what)
{
	const char *value = strchr(what, '=');

	if (!strncmp(what, "root=", 5))
		return chroot(value + 1);
	if (!strncmp(what, "user=", 5))
		return seteuid((uid_t)atol(value + 1));
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	struct awkward a;

	if (argc != 4)
		return 2;
	awkward_start(&a);
	launch(&a, atol(argv[2]));
	if (give_up(argv[1])) {
		perror(argv[1]);
		return 77;
	}
	if (!strcmp(argv[1], "output"))
		sleep(30);
	launch(&a, atol(argv[2]));
	if (!strcmp(argv[3], "return"))
		return 0;
	_exit(0);
}
