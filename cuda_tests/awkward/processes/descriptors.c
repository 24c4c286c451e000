/*
 * descriptors HOW FOLDER N: closes every descriptor but the first three while other threads launch, and opens files of
 * its own in the folder, which get the numbers. Nobody else may write to those files, map them or close them: says what
 * is wrong and ends with status 1.
 *
 * again   for N seconds, again and again, with one thread that launches
 * start   the same from before cuInit, and all of N times
 * once    once, at a moment that N decides, with four threads that launch
 */
#include "cuda_tests/awkward/awkward.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FILES 40
#define BYTES 65536
#define LAUNCHERS 4
#define LAST 200 /* descriptors; kerncast's have smaller numbers, where they are in the same table */

static struct awkward cuda;
static volatile bool stop;
static char names[FILES][512], text[BYTES];
static int wrong;

static void make_files(const char *folder)
{
	memset(text, 'A', sizeof(text));
	for (int i = 0; i < FILES; i++) {
		int fd;

		snprintf(names[i], sizeof(names[i]), "%s/file-%02d", folder, i);
		fd = open(names[i], O_RDWR | O_CREAT | O_TRUNC, 0644);
		if (fd < 0 || write(fd, text, BYTES) != BYTES)
			exit(4);
		close(fd);
	}
}

static void close_all(void)
{
	syscall(SYS_close_range, 3u, (unsigned)LAST, 0u);
}

static void check(int file, int fd)
{
	static char found[BYTES];
	struct stat st;

	if (fstat(fd, &st)) {
		printf("somebody has closed the descriptor of %s\n", names[file]);
		wrong = 1;
	} else if (st.st_size != BYTES || pread(fd, found, BYTES, 0) != BYTES || memcmp(found, text, BYTES) != 0) {
		printf("somebody has written to %s\n", names[file]);
		wrong = 1;
	}
}

static void open_and_check(bool checks)
{
	int opened[FILES];

	for (int i = 0; i < FILES; i++)
		opened[i] = open(names[i], O_RDWR);
	for (int i = 0; checks && i < FILES; i++)
		check(i, opened[i]);
}

static void *launch(void *unused)
{
	(void)unused;
	CHECK(cuCtxSetCurrent(cuda.context));
	for (unsigned i = 1; !stop; i++) {
		CHECK(awkward_launch(&cuda, NULL, 32 + i % 3));
		if (i % 64 == 0)
			CHECK(cuStreamSynchronize(NULL));
	}
	return NULL;
}

static unsigned chance(unsigned of)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % of;
}

static void close_and_open(void)
{
	close_all();
	open_and_check(chance(64) == 0);
	if (chance(8) == 0)
		usleep(chance(300));
	close_all();
	if (chance(16) == 0)
		usleep(chance(3000));
}

static void *close_for_ever(void *unused)
{
	while (!stop)
		close_and_open();
	return unused;
}

static void again(long seconds)
{
	time_t until = time(NULL) + seconds;
	pthread_t launcher;

	awkward_start(&cuda);
	pthread_create(&launcher, NULL, launch, NULL);
	while (time(NULL) < until && !wrong)
		close_and_open();
	stop = true;
	pthread_join(launcher, NULL);
}

static void from_start(long milliseconds)
{
	pthread_t closer, launcher;

	pthread_create(&closer, NULL, close_for_ever, NULL);
	usleep(1000);
	awkward_start(&cuda);
	pthread_create(&launcher, NULL, launch, NULL);
	usleep((useconds_t)milliseconds * 1000);
	stop = true;
	pthread_join(launcher, NULL);
	pthread_join(closer, NULL);
}

static void once(long seed)
{
	pthread_t launchers[LAUNCHERS];
	int opened[FILES];

	awkward_start(&cuda);
	for (int i = 0; i < LAUNCHERS; i++)
		pthread_create(&launchers[i], NULL, launch, NULL);
	for (long i = 0; i <= seed % 1000; i++)
		chance(1);
	usleep(chance(100000));
	close_all();
	for (int i = 0; i < FILES; i++)
		opened[i] = open(names[i], O_RDWR);
	usleep(30000);
	for (int i = 0; i < FILES; i++)
		check(i, opened[i]);
	stop = true;
	for (int i = 0; i < LAUNCHERS; i++)
		pthread_join(launchers[i], NULL);
}

int main(int argc, char **argv)
{
	const char *how = argc == 4 ? argv[1] : "";
	long n = argc == 4 ? atol(argv[3]) : 0;

	if (argc != 4)
		return 2;
	make_files(argv[2]);
	if (!strcmp(how, "again"))
		again(n);
	else if (!strcmp(how, "start"))
		from_start(n);
	else
		once(n);
	close_all();
	open_and_check(true);
	return wrong;
}
