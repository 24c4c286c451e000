/* Running a program in place of the command: signals are passed on to it, the
 * command stops when it stops, and ends with its exit status. */
#ifndef KC_CHILD_H
#define KC_CHILD_H

struct kc_child_end {
	int status;  /* exit status as a shell reports it: 0…255, 128 + N, 126, 127 */
	int signal;  /* signal that killed the program, or 0 */
	int started; /* 0: it could not be executed */
};

/* Runs argv with the given value of LD_PRELOAD (NULL: as it is) and waits for
 * it. Returns 0 or -errno (no process could be made). */
int kc_child_run(char *const *argv, const char *preload, struct kc_child_end *end);

/* For kerncast's own programs: drops the user's options, and sets the database to record into. */
void kc_child_settle(const char *database);

#endif
