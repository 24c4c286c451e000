/*
 * From preloading to the end of the process. A program that never initialises
 * CUDA gets nothing but the hooks: no file, no thread.
 */
#include "shim/calls/graph_plan.h"
#include "shim/code/formulas.h"
#include "shim/code/loaded_code.h"
#include "shim/code/made_code.h"
#include "shim/code/ptx_cache.h"
#include "shim/code/foresee.h"
#include "shim/code/reader.h"
#include "shim/worker/ending.h"
#include "shim/worker/gpu_state.h"
#include "shim/worker/selection.h"
#include "shim/entry/real.h"
#include "shim/entry/lookup.h"
#include "shim/entry/inject.h"
#include "shim/tables/memory.h"
#include "shim/tables/ranges.h"
#include "shim/tables/recall.h"
#include "shim/tables/tables.h"
#include "shim/calls/calls.h"
#include "shim/worker/cupti/measuring.h"
#include "shim/worker/learn.h"
#include "shim/worker/threads.h"
#include "shim/worker/worker.h"

#include "store/common/remote.h"
#include "store/common/version.h"
#include "store/database/store.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct kc__state kc__shim = {.tables_lock = PTHREAD_MUTEX_INITIALIZER, .learning = PTHREAD_MUTEX_INITIALIZER};
__thread struct kc__thread kc__thread __attribute__((tls_model("initial-exec")));

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18 /* Linux 4.14 */
#endif

/* Of cuInit's time, for what earlier runs and calibrations taught: so much processor time, and so long where others
 * have the processor, or the disk is slow. */
#define RECALL_PROCESSOR_NS 200000000ll
#define RECALL_NS 1000000000ll

static struct {
	enum kc__stage first; /* when recording begins */
	bool started;         /* there has been a thread of ours, in this process or in its parent */
	bool exiting;         /* left_ns of KERNCAST_FLUSH_MS are left for the rest of it */
	int64_t left_ns;
	_Atomic int64_t allowed; /* launches still recorded while the exit waits */
	bool file_gone;          /* the journal's file is deleted; start_lock */
	char complaint[256];     /* about an option that was not understood */
} life;

__attribute__((hot)) int64_t kc__now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

uint32_t kc__thread_id(struct kc__thread *t)
{
	if (!t->id)
		t->id = (uint32_t)syscall(SYS_gettid);
	return t->id;
}

bool kc__records_us(void)
{
	return kc__begun() && (pid_t)kc__shim.header->pid == getpid();
}

/* Launches of other threads that are recorded while the exit waits; the rest are
 * counted. There are more of them because the exit waits, and recording them all
 * would make it wait longer. A pool of threads may have some left to make that a
 * destructor waits for. */
#define EXIT_LAUNCHES 4096

bool kc__exit_allows(void)
{
	return atomic_fetch_sub_explicit(&life.allowed, 1, memory_order_relaxed) > 0;
}

void kc__close_journal(bool done, uint64_t stored_count)
{
	const _Atomic uint64_t *count = &kc__shim.header->counters[KC_COUNT_AFTER_END];
	bool remove;

	pthread_mutex_lock(&kc__shim.start_lock);
	remove = done && atomic_load(count) == stored_count;
	kc_journal_close(kc__shim.journal, remove);
	life.file_gone = remove;
	pthread_mutex_unlock(&kc__shim.start_lock);
}

static void restore_journal(void *unused)
{
	(void)unused;
	if (kc_journal_restore(kc__shim.journal) == 0)
		kc__shim.header = kc_journal_header(kc__shim.journal);
}

/* The journal that is made again takes over what was counted before. */
void kc__count_after_end(uint64_t kernels)
{
	int saved_errno = errno;

	pthread_mutex_lock(&kc__shim.start_lock);
	atomic_fetch_add(&kc__shim.header->counters[KC_COUNT_AFTER_END], kernels);
	if (life.file_gone)
		kc__files_do(restore_journal, NULL);
	life.file_gone = false;
	pthread_mutex_unlock(&kc__shim.start_lock);
	errno = saved_errno;
}

/* The two phases together wait for KERNCAST_FLUSH_MS at most. What the application's own
 * exit handlers and destructors take between the phases does not count. */
static void begin_exit(void)
{
	if (!life.exiting) {
		life.exiting = true;
		life.left_ns = kc__shim.options.flush_ms * 1000000ll;
	}
}

static void finish(enum kc__request request)
{
	enum kc_message_code late;

	begin_exit();
	late = kc__worker_finish(request, &life.left_ns);
	kc__say_waiting();
	if (late)
		kc__say(late, NULL);
}

/* The first phase, while libcuda and CUPTI still work: the last measurements. */
static void at_exit(void)
{
	int saved_errno = errno, stage;

	if (kc__records_us()) {
		atomic_store(&kc__shim.exit_ns, kc__now_ns()); /* from here on recording is not paused or resumed */
		atomic_store(&life.allowed, EXIT_LAUNCHES);
		stage = atomic_load(&kc__shim.stage);
		if (stage != KC__PAUSED)
			atomic_store(&kc__shim.stage, KC__EXITING);
		begin_exit();
		kc__gpu_state_end(&life.left_ns);
		finish(KC__COLLECT);
		atomic_store(&kc__shim.stage, stage);
	}
	errno = saved_errno;
}

/* The second phase, after the application's own destructors, which may still launch: everything is stored. */
__attribute__((destructor)) static void at_unload(void)
{
	if (atomic_load(&kc__shim.ours) && atomic_load(&kc__shim.stage) == KC__OFF)
		kc__say_bypassed();
	if (!kc__records_us())
		return;
	atomic_store(&kc__shim.stage, KC__DISABLED);
	atomic_store(&kc__shim.header->ended_ns, kc__now_ns());
	atomic_store(&kc__shim.header->ended, 1);
	finish(KC__END);
}

/*
 * CUDA does not survive a fork, so the parent's recording is of no use to the
 * child: it begins its own if it initialises CUDA itself. What it may have inherited
 * half changed (locks, the database handle) is never touched again.
 */
static void forget_parent(void)
{
	pthread_mutex_init(&kc__shim.tables_lock, NULL);
	pthread_mutex_init(&kc__shim.learning, NULL);
	for (int i = 0; i < kc__shim.device_count; i++)
		kc__shim.devices[i].lock = (struct kc__lock){0};
	kc__code_forget();
	kc__reader_forget();
	kc__formulas_forget();
	kc__made_forget();
	kc__caches_forget();
	kc__cupti_forget();
	kc__worker_forget();
	kc__gpu_state_forget();
	kc__ending_forget();
	kc__files_forget();
	kc__say_forget();
	kc__selection_forget();
	kc__runtime_forget();
	if (kc__shim.journal)
		kc_journal_forget(kc__shim.journal);
	kc__shim.journal = NULL;
	kc__shim.header = NULL;
	atomic_store(&kc__shim.captures, 0);
	kc__thread = (struct kc__thread){.ranges = kc__thread.ranges};
	kc__ranges_forget();
	life.started = life.exiting = false;
	life.file_gone = false;
	atomic_store(&kc__shim.exit_ns, 0);
	atomic_store(&kc__shim.ours, 1);
}

static void in_child(void)
{
	memset(kc__shim.page, 0, sizeof(kc__shim.page)); /* where the kernel has not done it */
	forget_parent();
	if (kc_store_forked_inside())
		atomic_store(&kc__shim.stage, KC__DISABLED);
}

/* A child made by _Fork() or clone(), in which no handler has run, is not recorded: our thread in the parent may have
 * held a lock of the C library that nobody in the child will release. */
static void leave_child_alone(void)
{
	kc__shim.journal = NULL;
	kc__shim.header = NULL;
	atomic_store(&kc__shim.stage, KC__DISABLED);
}

/* The page is zero in every child, also where no handler of fork() runs. */
static void keep_from_children(void)
{
	if (KC__WHOLE_PAGES_BYTES % sysconf(_SC_PAGESIZE) == 0)
		madvise(kc__shim.page, sizeof(kc__shim.page), MADV_WIPEONFORK);
	pthread_atfork(kc__gpu_state_fork_begins, kc__gpu_state_fork_ends, in_child);
	atomic_store(&kc__shim.ours, 1);
}

/* --ranks names others. It is asked when CUDA is first used: what a launcher starts may start others, or tell itself
 * its rank, after the library was loaded. */
static bool is_another_rank(void)
{
	struct kc_job job;

	if (!kc__shim.options.ranks[0])
		return false;
	kc_job_read_rank(&job);
	return job.known & KC_JOB_RANK && !kc_ranks_have(kc__shim.options.ranks, job.rank);
}

__attribute__((constructor)) static void at_load(void)
{
	if (!kc__real_dlsym)
		kc__dlsym_find_real();
	kc__process_end_find();
	kc_options_read(&kc__shim.options, life.complaint, sizeof(life.complaint));
	if (kc__shim.options.disable) {
		atomic_store(&kc__shim.stage, KC__DISABLED);
		return;
	}
	kc__libc_find();
	kc__say_remember();
	keep_from_children();
	kc__tell_audit();
}

/* Whether another copy of the library, in a namespace of its own, records this process. */
static bool mapped_here(const char *path)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	const char *name = strrchr(path, '/');
	bool found = false;
	char line[2048];

	while (!found && maps && fgets(line, sizeof(line), maps))
		found = strstr(line, name ? name : path) != NULL;
	if (maps)
		fclose(maps);
	return found;
}

/* A program that has replaced itself by exec has left a journal under this pid and start. Without a /proc of its own, a
 * process of another container may have the same. */
static int create_journal(const char *path, const struct kc_journal_header *header)
{
	int error = kc_journal_create(path, header, kc__shim.options.journal_max_bytes, &kc__shim.journal);
	char other[1300];

	if (error != -EEXIST)
		return error;
	if (mapped_here(path))
		return -EALREADY;
	snprintf(other, sizeof(other), "%.*s.%lld.kcj", (int)(strlen(path) - strlen(".kcj")), path,
		 (long long)header->monotonic_ns);
	return kc_journal_create(other, header, kc__shim.options.journal_max_bytes, &kc__shim.journal);
}

struct making {
	struct kc_journal_header *header;
	int error;
};

static void make_journal_file(void *arg)
{
	struct making *making = arg;
	struct kc_journal_header *header = making->header;
	char path[1200];

	kc__identify(header, &kc__shim.options);
	making->error = kc_journal_path(kc__shim.options.db, header->pid, header->pid_start, path, sizeof(path));
	if (!making->error)
		making->error = create_journal(path, header);
	if (!making->error)
		kc_journal_files_by(kc__shim.journal, kc__files_do);
}

static int make_journal(void)
{
	struct making making = {.header = calloc(1, sizeof(*making.header))};
	int error;

	if (!making.header)
		return -ENOMEM;
	if (!getcwd(making.header->directory, sizeof(making.header->directory)))
		making.header->directory[0] = 0;
	error = kc__files_do(make_journal_file, &making);
	free(making.header);
	if (error || making.error)
		return error ? error : making.error;
	kc__shim.header = kc_journal_header(kc__shim.journal);
	atomic_store(&kc__shim.header->counters[KC_COUNT_ROUTED_BY_NAME], atomic_load(&kc__shim.routed_by_name));
	atomic_store(&kc__shim.header->counters[KC_COUNT_LEFT_UNHOOKED], atomic_load(&kc__shim.left_unhooked));
	return 0;
}

static void discard_journal(void *unused)
{
	(void)unused;
	kc_journal_discard(kc__shim.journal);
}

static void start_measuring(void)
{
	enum kc_unmeasured why =
	    kc__shim.options.measure == KC_MEASURE_NOTHING ? KC_MEASURE_OFF : kc__cupti_attach(&kc__shim.options);

	kc__shim.whole_graphs = why != KC_MEASURE_OFF && kc__shim.options.graphs == KC_GRAPHS_WHOLE;
	atomic_store(&kc__shim.unmeasured, why);
	atomic_store(&kc__shim.transfers_unmeasured,
		     why == KC_MEASURED && kc__shim.options.measure == KC_MEASURE_KERNELS ? KC_MEASURE_OFF : why);
}

/* Clears what a parent may have left in a child that begins its own recording. */
static void reset(void)
{
	kc__shim.variant_count = kc__shim.kernel_count = kc__shim.argument_count = 0;
	kc__shim.wanted = NULL;
	kc__shim.reading = (struct kc__reading_cost){0};
	kc__shim.careful_ns = kc__shim.streams_looked_at_ns = 0;
	atomic_store(&kc__shim.graph_launches, 0);
	atomic_store(&kc__shim.green_contexts, false);
	atomic_store(&kc__shim.formulas, 0);
	kc__plan_forget();
	kc__plans_forget();
	atomic_store(&kc__shim.stream_count, 0);
	atomic_store(&kc__shim.last_context, NULL);
	memset(kc__shim.devices, 0, sizeof(kc__shim.devices));
}

static void at_exit_of_base(void *unused)
{
	(void)unused;
	at_exit();
}

/* It is the C library of the base namespace that ends the process. If we are in
 * another namespace, ours is another copy of it. */
static void register_exit(void)
{
	void *libc = kc__apart() ? dlmopen(LM_ID_BASE, "libc.so.6", RTLD_LAZY | RTLD_NOLOAD) : NULL;
	int (*cxa_atexit)(void (*)(void *), void *, void *) =
	    libc ? (int (*)(void (*)(void *), void *, void *))kc__real_dlsym(libc, "__cxa_atexit") : NULL;

	if (!cxa_atexit || cxa_atexit(at_exit_of_base, NULL, NULL))
		atexit(at_exit);
}

static const char database[] = "database";

static void choose_file(void)
{
	struct kc_options *o = &kc__shim.options;
	char database[sizeof(o->db)];

	kc_host_database(o->db, database, sizeof(database));
	strcpy(o->db, database);
}

static int look_at_database(char *why, size_t why_size)
{
	const struct kc_options *o = &kc__shim.options;
	int error = kc_store_place(o->db, why, why_size);

	return error || !o->unnamed ? error : kc_store_own(o->db, why, why_size);
}

/* It has no effect without MPS's daemon. */
static void say_share_of_gpu(void)
{
	const char *percent = getenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
	char detail[64];

	if (!percent || !(atof(percent) > 0) || atof(percent) >= 100)
		return;
	snprintf(detail, sizeof(detail), "%.8s %%, and %u SMs of the first GPU", percent,
		 (unsigned)kc__shim.devices[0].info.sm_count);
	kc__say(KC_MESSAGE_MPS_SHARE, detail);
}

/* *what: what failed. kc__shim.start_lock held. */
static int start(const char **what)
{
	int error;

	reset();
	*what = database;
	choose_file();
	if ((error = look_at_database(NULL, 0)))
		return error;
	*what = "journal";
	if ((error = make_journal()))
		return error;
	*what = "tables in memory";
	if ((error = kc__tables_init()))
		goto fail;
	kc__made_begin();
	*what = "devices";
	kc__shim.start_reads =
	    (struct kc_store_bound){.until_ns = kc__now_ns() + RECALL_NS, .processor_ns = RECALL_PROCESSOR_NS};
	kc__learn_begin();
	if ((error = kc__devices_init()))
		goto fail;
	*what = "reader thread";
	kc__foresee_files();
	if ((error = kc__reader_start())) /* first, so that it reads while the rest begins */
		goto fail;
	kc__recall_begin();
	*what = "worker thread";
	if ((error = kc__worker_start()))
		goto fail;
	/* Nothing fails from here on: CUPTI is not taken from the application in vain. */
	start_measuring();
	kc__ranges_begin();
	life.first = kc__selection_begin();
	kc__worker_begin();
	if (life.complaint[0])
		kc__say(KC_MESSAGE_OPTION, life.complaint);
	kc__say_journal_memory();
	say_share_of_gpu();
	if (kc_is_remote(kc__shim.options.db))
		kc__say(KC_MESSAGE_REMOTE, kc__shim.options.db);
	if (atomic_load(&kc__shim.header->counters[KC_COUNT_ROUTED_BY_NAME]))
		kc__say(KC_MESSAGE_ROUTED_BY_NAME, NULL);
	register_exit();
	kc__process_end_begin();
	kc__reader_await_program();
	return 0;

fail:
	kc__reader_stop();
	kc__files_do(discard_journal, NULL);
	kc__shim.journal = NULL;
	kc__shim.header = NULL;
	return error;
}

static void say_failed(const char *what, int error)
{
	bool journal = !strcmp(what, "journal");
	char *detail;

	if (error == -ENODEV && what != database) {
		kc__say(KC_MESSAGE_NO_GPU, NULL);
		return;
	}
	detail = kc__room_take();
	if (detail && what == database)
		look_at_database(detail, KC__ROOM_BYTES);
	else if (detail)
		strcpy(stpcpy(stpcpy(detail, journal ? kc__shim.options.db : what), ": "), strerror(-error));
	kc__say(journal ? KC_MESSAGE_JOURNAL_FAILED : KC_MESSAGE_START_FAILED, detail);
	kc__room_give(detail);
}

static void say_outcome(const char *what, int error)
{
	if (error == -EALREADY && kc__injected())
		kc__say(KC_MESSAGE_SECOND_DRIVER, NULL);
	else if (error && error != -EALREADY)
		say_failed(what, error);
}

static void start_and_say(void *error)
{
	const char *what;

	kc__thread.depth = 1; /* the driver calls that we make are not recorded */
	*(int *)error = start(&what);
	say_outcome(what, *(int *)error);
	kc__say_waiting();
}

/* On a thread of ours, as the application's may have little stack. Not from a callback of CUPTI's, which may hold locks
 * of its own; nor where a library's constructor holds the loader's lock, which the start needs. */
static int start_apart(void)
{
	int error = 0, no_thread = kc__injected() ? -EDEADLK : kc__on_loading_thread(start_and_say, &error);

	if (no_thread == -EDEADLK) {
		start_and_say(&error);
	} else if (no_thread) {
		say_outcome("worker thread", no_thread);
		return no_thread;
	}
	return error;
}

/* `kerncast run` of another version would not understand what is recorded here. */
static bool is_run_by_another_version(void)
{
	const char *caller = kc__shim.options.caller;
	char own[KC_VERSION_TEXT_BYTES];

	if (!caller[0] || !strcmp(caller, kc_version_text(own)))
		return false;
	kc__say(KC_MESSAGE_VERSION, caller);
	return true;
}

/* kc__shim.start_lock held. */
static void try_start(void)
{
	int error = kc__devices_look();

	if (error == -EAGAIN)
		return; /* a launch before cuInit, which fails; a later one may not */
	kc__shim.tried = 1;
	life.started = true;
	if (is_run_by_another_version())
		error = -EPROTO;
	else if (is_another_rank())
		error = -ECANCELED;
	else if (error)
		say_outcome("devices", error);
	else if (!kc__memory_is_left())
		say_outcome("256 MiB of memory", error = -ENOMEM);
	else if ((error = kc__files_begin()))
		say_outcome("a thread with descriptors of its own", error);
	else if ((error = start_apart()))
		kc__files_end();
	atomic_store_explicit(&kc__shim.stage, error ? KC__DISABLED : life.first, memory_order_release);
	if (error)
		kc__made_drop();
	else
		kc__ending_begin();
}

void kc__start(bool wait)
{
	struct kc__thread *t = &kc__thread;
	int saved_errno = errno;

	if (t->depth || atomic_load_explicit(&kc__shim.stage, memory_order_acquire) != KC__OFF)
		return;
	if (!atomic_load(&kc__shim.ours) && life.started) {
		leave_child_alone();
		return;
	}
	/* A library's constructor may call cuInit with the loader's lock held, which
	 * a start under way may need. So only a launch waits for it. */
	if (!wait && pthread_mutex_trylock(&kc__shim.start_lock))
		return;
	if (wait)
		pthread_mutex_lock(&kc__shim.start_lock);
	if (!atomic_load(&kc__shim.ours))
		forget_parent();
	t->depth = 1; /* the driver calls that we make are not recorded */
	if (!kc__shim.tried)
		try_start();
	pthread_mutex_unlock(&kc__shim.start_lock);
	t->depth = 0;
	errno = saved_errno;
}
