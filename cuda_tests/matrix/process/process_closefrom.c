/*
 * During its run the program closes descriptors that it does not know, opens files
 * of its own, which get the same numbers, writes to them, and continues. Nothing
 * else may write to them: run-matrix compares them with those of a plain run.
 *
 * On the simulated device it calls closefrom(3). A real driver does not survive
 * the loss of its devices and sockets: there only ordinary files are closed.
 */
#include "cuda_tests/matrix/runtime.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES 24
#define FIRST 3
#define LAST 1023
#define BYTES 65536
#define LAUNCHES 500
#define ROUNDS 2
#define BEFORE_MS 500 /* long enough for a thread in the background to have opened what it writes to */
#define ROUND_MS 250  /* long enough for it to write something */

static void close_unknown(void)
{
	struct cudaDeviceProp properties;
	struct stat about;

	CHECK(cudaGetDeviceProperties(&properties, 0));
	if (!program_computes(properties.name)) {
		closefrom(FIRST);
		return;
	}
	for (int fd = FIRST; fd <= LAST; fd++)
		if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode))
			close(fd);
}

static void fill(char *text, int file)
{
	for (int i = 0; i < BYTES; i++)
		text[i] = (char)('a' + (i + file) % 26);
}

static void make_files(void)
{
	static char text[BYTES];
	char name[32];

	for (int i = 0; i < FILES; i++) {
		int fd;

		snprintf(name, sizeof(name), "file-%02d.txt", i);
		fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
		fill(text, i);
		if (fd < 0 || write(fd, text, BYTES) != BYTES)
			program_fail("cannot write %s", name);
	}
}

int main(void)
{
	long kernels = runtime_add(LAUNCHES);

	poll(NULL, 0, BEFORE_MS);
	close_unknown();
	make_files();
	for (int i = 0; i < ROUNDS; i++) {
		kernels += runtime_add(LAUNCHES);
		poll(NULL, 0, ROUND_MS);
	}
	program_print(kernels);
	return 0;
}
