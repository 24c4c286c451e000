/*
 * The measured durations of single runs, of one database or several, for what
 * compares them: kernels and launch shapes have the same numbers in all of them.
 *
 *   kc_measured_names   the kernels and launch shapes met so far
 *   kc_measured_run     a run's launches, in the order of their calls, and on request
 *                       when and where each of them ran
 *
 * Processes are the same one in several runs if they have the same name, which no
 * other process that launched kernels has in its run: the rank, label or file of
 * an imported one, the command line of a live one. One that used several GPUs
 * counts as a process on each of them ("rank 1, GPU 0", or "GPU 0" where it is the
 * only one); one without a name of its own is known by a GPU that it had to itself.
 *
 * A kernel is known by its mangled name, so that it is the same one after its
 * program was built anew. A trace may tell the readable name alone: that is the
 * kernel of a mangled name, or of another demangler's text, with the same form
 * (kernel_form.h).
 */
#ifndef KC_MEASURED_H
#define KC_MEASURED_H

#include "store/common/ids/intern.h"
#include "store/database/store.h"
#include "store/query/filter.h"
#include "store/query/rows.h"

#include <stdint.h>

struct kc_measured_kernel {
	char *mangled, *name; /* mangled: or all that is known, the readable one */
};

/* The first kernels of a form, as numbers from 1; 0: none. */
struct kc_measured_form {
	uint32_t symbol;  /* whose mangled name is known */
	uint32_t text;    /* whose readable name is */
	uint32_t generic; /* whose readable name is, but for the parameters: kc_kernel_form.is_generic */
};

struct kc_measured_shape {
	uint32_t kernel; /* of kc_measured_names.kernels */
	uint32_t grid[3], block[3];
	uint32_t dynamic_shared_bytes;
	uint32_t model; /* of the GPU: number of its name, from 1; 0: not known, or models are not told apart */
};

/* Starts as zeros. */
struct kc_measured_names {
	struct kc__list kernels;       /* struct kc_measured_kernel */
	struct kc__list shapes;        /* struct kc_measured_shape */
	struct kc_intern kernel_ids;   /* of mangled names: a number less 1 is the place in kernel_places */
	struct kc_intern shape_ids;    /* a number less 1 is the place in the list */
	struct kc__list kernel_places; /* uint32_t: places in kernels */
	struct kc_intern form_ids;     /* of kernel_form.h, whole and without parameters */
	struct kc__list forms;         /* struct kc_measured_form, by their numbers less 1 */
	struct kc_intern argument_ids; /* of texts */
	struct kc_intern model_ids;    /* of names of GPUs */
	struct kc_intern process_ids;
	struct kc__list processes; /* char *: their names, by their numbers less 1 */
};

struct kc_measured_launch {
	int64_t ns;         /* measured duration; 0: not measured, or it does not match the filter */
	uint32_t shape;     /* of kc_measured_names.shapes */
	uint32_t arguments; /* number of their text; 0: not known */
	uint32_t stream;    /* within the run, from 1, all processes together; 0: not known */
	uint16_t process;   /* of kc_measured_names.processes, from 1; 0: it has no name of its own */
	uint8_t overlap;    /* enum kc_overlap */
	uint8_t in_step;    /* 1: it was made in a step that matches the filter, if steps were asked for */
};

/* Which steps are asked for. */
struct kc_measured_steps {
	struct kc_known_steps *known;
	enum kc_step_level level; /* inner ones only where they are nested */
};

/* What a launch shape's kernel was compiled to; a shape may have several. */
struct kc_measured_code {
	uint32_t shape;
	int64_t hash; /* of the code; 0: not known */
	uint32_t registers, static_shared_bytes;
};

struct kc_measured_moment {
	int64_t id;          /* of the row: process and sequence number (store/database/schema.h) */
	int64_t launched_ns; /* of the call, since the start of the process */
	int64_t start_ns;    /* measured, on the clock of the process, which is that of the whole run unless imported */
	uint32_t device;     /* within the run and of one clock, from 1; 0: not known */
	int matches;         /* the filter */
};

struct kc_measured_run {
	int64_t id;
	int64_t started_unix_ns;
	char *command_line;
	char *devices; /* names, separated by commas */
	int simulated;
	struct kc__list launches; /* struct kc_measured_launch, process by process; failed calls are left out */
	struct kc__list moments;  /* struct kc_measured_moment, one for each launch, if asked for */
	struct kc__list codes;    /* struct kc_measured_code */
	uint32_t streams;
	uint32_t gpus;  /* of the process that used most */
	uint64_t steps; /* of all processes, that match the filter, if steps were asked for */
	enum kc_steps_are steps_are;
	double without_steps_ns; /* measured, of processes that have none, if steps were asked for */
	uint64_t unknown;        /* launches of a shape that the database lacks: left out */
};

const struct kc_measured_kernel *kc_measured_kernel(const struct kc_measured_names *names, uint32_t kernel);
const struct kc_measured_shape *kc_measured_shape(const struct kc_measured_names *names, uint32_t shape);
/* The number of a kernel, or of a launch shape, which gets one if it has none. 0 or -ENOMEM. */
int kc_measured_kernel_number(struct kc_measured_names *names, const char *mangled, const char *name, uint32_t *out);
int kc_measured_shape_number(struct kc_measured_names *names, const struct kc_measured_shape *shape, uint32_t *out);
/* A new kernel, for the launches of another one on a process; 0: on all that are not told apart. 0 or -ENOMEM. */
int kc_measured_kernel_on(struct kc_measured_names *names, uint32_t kernel, uint32_t process, uint32_t *out);
/* A new kernel, which before had another number in its name. 0 or -ENOMEM. */
int kc_measured_kernel_was(struct kc_measured_names *names, uint32_t kernel, unsigned long number, uint32_t *out);
/* Once all runs are read: kernels that read the same, but for their mangled names, have these behind them. 0 or
 * -ENOMEM. */
int kc_measured_names_tell_apart(struct kc_measured_names *names);
void kc_measured_names_free(struct kc_measured_names *names);

/* Reads run `id`, with moments if that is not 0. filter: NULL where every launch matches; it counts those that are
 * read. With moments these tell what matches, and launch shapes are told apart by the model of the GPU that they ran
 * on; without them what does not match counts as not measured. steps: NULL where they are not asked for. 0; -ENOENT:
 * there is no such run; another -errno. *run is to be freed unless < 0 was returned. */
int kc_measured_run_read(struct kc_store *s, int64_t id, int moments, struct kc_measured_names *names,
			 struct kc_filter *filter, const struct kc_measured_steps *steps, struct kc_measured_run *run);
void kc_measured_run_free(struct kc_measured_run *run);

/*
 * The latest runs before run `last` that had its command line and measured launches,
 * at most `most` of them, in the order of their numbers. Returns how many or -errno.
 */
int kc_measured_earlier(struct kc_store *s, int64_t last, int64_t *ids, int most);
/* The last run before run `last`, whatever it ran. 1, 0 where there is none, or -errno. */
int kc_measured_before(struct kc_store *s, int64_t last, int64_t *id);

/* How many launches a run has, measured or not. 0 or -errno. */
int kc_measured_launches(struct kc_store *s, int64_t run, uint64_t *launches);

struct kc_measured_origin {
	int64_t process, sequence; /* as in the view `launch` */
	int64_t pid, stream;       /* stream: its number in the process; 0: not known */
	int64_t device;            /* its row; 0: not known */
};

/* Whose launch the row `id` of kc_measured_moment is. 0 or -errno. */
int kc_measured_origin(struct kc_store *s, int64_t id, struct kc_measured_origin *out);

#endif
