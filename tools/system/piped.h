/* Another program that is given a text and gives one back, within a time. Nothing that it has started outlives it. For
 * commands that have no other children. */
#ifndef KC_PIPED_H
#define KC_PIPED_H

#include <stddef.h>

struct kc_piped {
	char *const *argv; /* found in PATH as execvp() finds it; its standard error is not seen */
	const char *in;
	size_t in_bytes;
	char *out; /* room for out_room bytes and a zero behind them */
	size_t out_room, out_bytes;
	int limit_ms;
	int status; /* as waitpid() gives it */
};

/* Waits for the program, which need not read all it is given. SIGPIPE is ignored (kc_output_guard()). 0; -ETIME: it was
 * killed, as it took longer; -EFBIG: likewise, as it said more; or -errno: it could not be run. */
int kc_piped_run(struct kc_piped *piped);

#endif
