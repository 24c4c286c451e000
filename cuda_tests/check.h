/* For programs that end with status 3 where a call of CUDA fails. */
#ifndef CUDA_TESTS_CHECK_H
#define CUDA_TESTS_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                                                    \
	do {                                                                                                           \
		int result_ = (int)(call);                                                                             \
		if (result_) {                                                                                         \
			printf("%s: %d\n", #call, result_);                                                            \
			exit(3);                                                                                       \
		}                                                                                                      \
	} while (0)

#endif
