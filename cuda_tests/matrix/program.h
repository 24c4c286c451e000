/*
 * What all programs share, whatever part of CUDA they use: arguments, threads,
 * and the lines at the end, which are the same in every run on a device.
 *
 *   main() -> program_run() -> work() in each thread -> kernels it executed
 *
 * A device whose name begins with "Simulated " keeps time and does not compute, so
 * results are not checked there.
 */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PROGRAM_THREADS_MAX 64

/* Calls work once in each thread, with the number of launches from the command line; it returns how
 * many kernels the device executed for it. Prints the sum. Returns main()'s status. */
int program_run(int argc, char **argv, int launches, long (*work)(int launches));

/* For a program with a main() of its own: prints the line with the number of kernels. */
void program_print(long kernels);

/* Whether results can be checked; remembered for the last lines. */
bool program_computes(const char *device_name);

/* Says what failed, on stderr, and ends the process with status 1. */
__attribute__((noreturn, format(printf, 1, 2))) void program_fail(const char *format, ...);

#ifdef __cplusplus
}
#endif

#endif
