/* Whole commands for fuzz targets, as main.c runs them. */
#ifndef KC_COMMAND_FUZZING_H
#define KC_COMMAND_FUZZING_H

#include "command.h"
#include "cuda_tests/fuzz/fuzzing.h"

#define KC_FUZZ_ARGUMENTS_MAX 8u

/* arguments: the command's name first, then NULL-terminated. Output is /dev/null's: scripts/fuzz. */
static inline void kc_fuzz_command(const struct kc_command *command, const char *const *arguments)
{
	char *argv[KC_FUZZ_ARGUMENTS_MAX + 1] = {NULL};
	int argc = 0;

	for (; arguments[argc]; argc++) {
		KC_FUZZ_MUST(argc < (int)KC_FUZZ_ARGUMENTS_MAX);
		argv[argc] = (char *)arguments[argc];
	}
	command->run(argc, argv, command);
}

#endif
