/* Running a program in our place: signals reach it, a stop of it is a stop of
 * ours, its end is what we end with. */
#ifndef KC_CHILD_H
#define KC_CHILD_H

struct kc_child_end {
	int status;  /* exit status as a shell gives it: 0…255, 128 + N, 126, 127 */
	int signal;  /* that killed it, or 0 */
	int started; /* 0: it could not be executed */
};

/* Runs argv with the given value of LD_PRELOAD (NULL: as it is) and waits for
 * it. Returns 0 or -errno (no process could be made). */
int kc_child_run(char *const *argv, const char *preload, struct kc_child_end *end);

/* For programs of our own: what the user has set for other programs does not hold for them, and what they record goes
 * to this database. */
void kc_child_settle(const char *database);

#endif
