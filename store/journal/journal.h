/*
 * The journal: what a process has recorded and the database does not hold yet.
 * It is a memory-mapped file, so a SIGKILL loses nothing that has been written
 * into it.
 *
 *   file    = header page | segment | segment | ...
 *   segment = KC_SEGMENT_SLOTS slots of KC_SLOT_BYTES
 *   slot    = one launch or transfer, or one part of a dictionary entry
 *
 * Any number of threads append (kc_journal_claim, kc_journal_commit). One
 * worker thread prepares segments ahead of them, and retires segments whose
 * slots are all in the database so that they can be used again. A slot's index
 * is its place in the order of claims; it never repeats within a process and is
 * the launch's sequence number. After a crash slots are found by the index that
 * each one carries, whatever the order of segments in the file.
 *
 * What is in a slot: slot.h, and for the dictionary entry.h.
 */
#ifndef KC_JOURNAL_H
#define KC_JOURNAL_H

#include "entry.h"
#include "slot.h"

#include "store/common/job/job.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define KC_JOURNAL_MAGIC "KCJRNL1"
#define KC_JOURNAL_VERSION 15u
#define KC_SEGMENT_SLOTS 4096u
#define KC_SEGMENT_BYTES (KC_SLOT_BYTES * KC_SEGMENT_SLOTS)
#define KC_HEADER_BYTES 65536u         /* a multiple of every page size */
#define KC_JOURNAL_SEGMENTS_MAX 16384u /* each is a mapping; Linux allows a process 65,530 */
#define KC_MEMORY_SEGMENTS_MAX 32u     /* outside the file where the disk is full: 28 MiB */

/* Counts that are kept in the header page, so that they survive the process. */
enum kc_counter {
	KC_COUNT_CALLS,         /* launch calls seen */
	KC_COUNT_CAPTURED,      /* recorded into a graph, not executed */
	KC_COUNT_DROPPED,       /* launches that the journal had no room for, or that are in no file at the end */
	KC_COUNT_CUPTI_RECORDS, /* kernel records CUPTI delivered */
	KC_COUNT_CUPTI_MATCHED,
	KC_COUNT_CUPTI_UNMATCHED, /* no launch of ours has that correlation id */
	KC_COUNT_CUPTI_INVALID,
	KC_COUNT_CUPTI_DROPPED, /* as CUPTI reports, and what waited too long to be read */
	KC_COUNT_TRANSFER_RECORDS,
	KC_COUNT_TRANSFER_UNMATCHED,
	KC_COUNT_ROUTED_BY_NAME, /* resolver answers of unknown address */
	KC_COUNT_GRAPH_LAUNCHES,
	KC_COUNT_GRAPHS_UNKNOWN,    /* graph launches with kernels that cannot be counted beforehand */
	KC_COUNT_LEFT_UNHOOKED,     /* resolver answers that may be of an ABI without a hook */
	KC_COUNT_GRAPH_UNMATCHED,   /* records of graphs measured as one that no launch of ours has the id of */
	KC_COUNT_TRANSFERS_DROPPED, /* transfers that the journal had no room for */
	KC_COUNT_AFTER_END,         /* launches while the process ended; they have no row */
	KC_COUNT_LOADS_UNSEEN,      /* launched functions whose code was in no load that we saw */
	KC_COUNT_CUPTI_LOST,        /* matched records of launches that are in no file at the end */
	KC_COUNT_STREAM_OVERLAPS,   /* kernels that ran beside another one of their own stream */
	/* Launches that were not asked for have no row. Here they are by the reason: */
	KC_COUNT_NOT_ASKED_KERNEL,    /* --kernel does not name their kernel */
	KC_COUNT_NOT_ASKED_EVERY,     /* --every chose other launches of their kernel */
	KC_COUNT_NOT_ASKED_BEFORE,    /* they came before --after was over */
	KC_COUNT_NOT_ASKED_AFTER,     /* they came after --for was over */
	KC_COUNT_NOT_ASKED_STOPPED,   /* they came while --while or --signal had recording off */
	KC_COUNT_TRANSFERS_NOT_ASKED, /* transfers without a row, for any of these reasons */
	KC_COUNT_CHOSEN, /* 1: --kernel or --every chose launches; the others were predicted and learned from, too */
	KC_COUNT_RANGES_OTHERS,  /* ranges opened for whose names there was no room */
	KC_COUNT_EVENTS_DROPPED, /* entries (struct kc_event_entry) that the journal had no room for */
#define KC_COUNT_DROPPED_CALLS(kind) (KC_COUNT_EVENTS_DROPPED + (kind)) /* likewise, by enum kc_stream_call_kind */
	KC_COUNTERS = KC_COUNT_DROPPED_CALLS(KC_STREAM_CALL_COUNT),
};
const char *kc_counter_name(uint32_t counter);

/* A segment that is not in the file, so that it is lost with the process. */
struct kc_memory_segment {
	_Atomic uint64_t number;              /* of the segment, + 1; 0: there is none */
	_Atomic uint32_t launches, transfers; /* claimed, without those that were not asked for */
};

struct kc_journal_header {
	char magic[8];
	uint32_t version;
	uint32_t header_bytes, slot_bytes, segment_slots;
	uint32_t pid, ppid;
	uint64_t pid_start;          /* field 22 of /proc/PID/stat: tells a reused pid apart; 0: not known */
	int64_t realtime_ns;         /* CLOCK_REALTIME at the moment when ... */
	int64_t monotonic_ns;        /* ... CLOCK_MONOTONIC was this */
	_Atomic int64_t process_row; /* rowid in `process`; 0: it has none yet */
	_Atomic uint32_t simulated;
	_Atomic uint32_t ended; /* 1: the process has ended by itself */
	_Atomic int64_t ended_ns;
	_Atomic uint64_t counters[KC_COUNTERS];
	char boot_id[40];
	char run_token[64]; /* names the run; all its processes have the same */
	char measure[16];
	char executable[1024];
	char directory[1024];
	char database[1024];
	char command_line[4096]; /* arguments separated by NUL, cut if longer */
	uint32_t command_line_bytes;
	char source[1024];      /* the trace file it was imported from; empty: recorded live */
	char run_command[4096]; /* that `kerncast run` was given, as a shell reads it; empty: not known */
	struct kc_job job;
	/* Filled by kc_journal_create(): */
	uint64_t pid_namespace, time_namespace; /* inodes; 0: not known */
	uint64_t inode;                         /* of the file: tells a copy */
	uint32_t boot_is_kernels;               /* kc_boot_id_is_kernels() */
	_Atomic uint32_t holder;                /* KC_HOLDER_ENDED, or who records: enum kc_life */
	struct kc_memory_segment memory[KC_MEMORY_SEGMENTS_MAX];
};
_Static_assert(sizeof(struct kc_journal_header) <= KC_HEADER_BYTES, "header size");

struct kc_journal;

/*
 * Creates path (mode 0600; it must not exist), maps the header and prepares the
 * first segments. template: initial values of the header. max_bytes: bound on the
 * file. Returns 0 or negative errno. Where the disk has no room, or its files
 * cannot be mapped, the journal is in memory (kc_journal_in_memory()).
 */
int kc_journal_create(const char *path, const struct kc_journal_header *template, uint64_t max_bytes,
		      struct kc_journal **out);
/* From now on the file's descriptor is used where files_do does its work, on a thread whose descriptors nobody else
 * closes. kc_journal_restore() and kc_journal_discard() are called there. */
void kc_journal_files_by(struct kc_journal *j, int (*files_do)(void (*work)(void *arg), void *arg));

struct kc_journal_header *kc_journal_header(struct kc_journal *j);

/* 1: at least one segment is not in the file, or the file is no longer where it was made; a crash would lose it. */
int kc_journal_in_memory(const struct kc_journal *j);
/* Why the file could not grow: negative errno; -ENOENT, -ENOTDIR, -ESTALE: it is no longer where it was made; 0: it
 * could. */
int kc_journal_in_memory_why(const struct kc_journal *j);
/* Worker. Looks whether the file is where it was made. */
void kc_journal_look(struct kc_journal *j);
/* 1: the file was deleted, not only moved, so what it holds is lost when the process ends. */
int kc_journal_deleted(const struct kc_journal *j);

/*
 * Launch path. The next slot: its index and kind are set, its state is EMPTY,
 * the rest is undefined. NULL past the bound: the caller counts the launch as
 * dropped. Allocates nothing and takes no lock; makes no system call while the
 * worker keeps ahead.
 */
struct kc_slot *kc_journal_claim(struct kc_journal *j, uint32_t kind);
/* Launch path. The next slot, and after it room for `count` others, which stay empty. NULL: there is no room for all of
 * them. Takes a lock for a moment, whatever the count: segments that lie in the room as a whole are not made yet. */
struct kc_slot *kc_journal_claim_with_room(struct kc_journal *j, uint32_t kind, uint64_t count);
/* Worker, once, before it fills the `count` slots behind that slot: makes them. kc_journal_at() answers NULL for one
 * that cannot be made. */
void kc_journal_make_room(struct kc_journal *j, const struct kc_slot *slot, uint64_t count);
static inline void kc_journal_commit(struct kc_slot *slot, uint32_t state)
{
	atomic_store_explicit(&slot->state, state, memory_order_release);
}

/* A slot in room is a transfer's: room counts as launches where it is lost. */
void kc_journal_for_transfer(struct kc_journal *j, const struct kc_slot *slot);

/* The launch or transfer is left out by a choice of the user's, so it is not missed where its slot is lost. */
void kc_journal_not_asked(struct kc_journal *j, const struct kc_slot *slot);

/* Not for the launch path: adds a dictionary entry. 0; -ENOSPC past the bound;
 * -EMSGSIZE past 204,800 bytes. */
int kc_journal_put(struct kc_journal *j, uint32_t kind, const void *payload, size_t bytes);
/* The same; *first: index of its first part. Returns how many parts it has, or as above. */
int kc_journal_put_at(struct kc_journal *j, uint32_t kind, const void *payload, size_t bytes, uint64_t *first);

/* On the launch path: an entry of one slot, as fast as a launch's. 0; -ENOSPC: no slot was free, or it is too long. */
int kc_journal_note(struct kc_journal *j, uint32_t kind, const void *payload, size_t bytes);

/* Worker. Prepares segments ahead of the claims; returns how many slots lie
 * between kc_journal_first() and kc_journal_claimed(); 0: all are stored. */
uint64_t kc_journal_prepare(struct kc_journal *j);

/* Worker. All slots before kc_journal_first() are stored. kc_journal_at() gives the
 * slot at an index between it and kc_journal_claimed(); NULL: its segment is stored
 * and retired as well, or room that is not made yet. */
uint64_t kc_journal_first(const struct kc_journal *j);
uint64_t kc_journal_claimed(const struct kc_journal *j);
struct kc_slot *kc_journal_at(const struct kc_journal *j, uint64_t index);
/* Worker. It has read or written a slot whose address it has kept: that has brought the page back into memory. */
void kc_journal_touched(struct kc_journal *j, const struct kc_slot *slot);
/* 1: the slot at an index is in the file, where recovery finds it. 0: it is in memory only, or does not exist. */
int kc_journal_on_disk(const struct kc_journal *j, uint64_t index);

/* Worker. What is in memory alone is among the counters now. */
void kc_journal_memory_counted(struct kc_journal *j);

/* Worker. Frees the segments whose slots are all STORED: the leading ones at once,
 * those behind a slot that is not stored yet a few per call. */
void kc_journal_retire(struct kc_journal *j);

/* In the child, after a fork: unmaps the parent's journal without changing its
 * file, which is not open in the child. Nothing may use j afterwards. */
void kc_journal_forget(struct kc_journal *j);

/* Worker. Ends recording: from now on kc_journal_claim() returns NULL,
 * kc_journal_put() returns -ENOSPC and kc_journal_claimed() does not change.
 * Threads may still be writing to slots that they have claimed. */
void kc_journal_seal(struct kc_journal *j);

/* Worker. At the end of the process: seals the journal and closes the file. Its memory stays mapped for
 * those threads. remove: deletes the file, unless a slot is not STORED. */
void kc_journal_close(struct kc_journal *j, int remove);

/* For a header that changes after the file was deleted: makes a new file with the
 * header alone, which kc_journal_header() returns from now on. 0 or negative errno. */
int kc_journal_restore(struct kc_journal *j);

/* For recording that did not begin: deletes the file, whatever it holds. */
void kc_journal_discard(struct kc_journal *j);

/*
 * Whether the process that made a journal still records into it. The holder in the header is a robust futex: the id of
 * the process's permanent thread of ours while it lives; when it ends, by SIGKILL, exec() or else, the kernel puts
 * KC_HOLDER_ENDED there. 0: no such thread yet, or the kernel refuses robust futexes. It needs no descriptor and no
 * /proc, and children do not inherit it. Beside it there is the process as /proc shows it (kc_process_look()), and the
 * boot: the same if the ids are equal, another if both ids are the kernel's. Where they do not tell, the process must
 * be taken to live.
 *
 *   boot             holder  process  life
 *   another          any     any      ended; where other machines use the file system, too: not known
 *   same, not known  any     gone     ended; where others do, and the boot is not known: as if unseen
 *                    ended   there    ending: it has called exec(), or other threads of it are just ending
 *                    ended   unseen   ending
 *                    else    there    runs
 *   same             held    unseen   runs
 *   not known        held    unseen   not known: after a power cut, held for ever
 *   same, not known  0       unseen   not known
 *
 * In a copy of the file (another inode) nobody changes the holder: held counts as 0 there.
 */
enum kc_life {
	KC_LIFE_NOT_KNOWN = 0,
	KC_LIFE_RUNS,
	KC_LIFE_ENDING, /* nothing is recorded any more, except for a moment by threads that are being killed */
	KC_LIFE_ENDED,
};
#define KC_HOLDER_ENDED 0x40000000u /* FUTEX_OWNER_DIED */

/* For the thread that lives as long as the process records, once, before anything is recorded: it becomes the holder.
 * From then on its robust mutexes, if it had any, would not be released at its end. 0 or -errno: there is no holder. */
int kc_journal_hold(struct kc_journal *j);

/* A journal file of another process, read only. */
struct kc_journal_file;
/* 0; -EINVAL: not a journal, or one of another version; -EPERM: it belongs to another user; or another -errno. */
int kc_journal_open(const char *path, struct kc_journal_file **out);
const struct kc_journal_header *kc_journal_file_header(const struct kc_journal_file *f);
/* Whether the process lives, judged by the header as it was when the file was opened. */
enum kc_life kc_journal_file_life(const struct kc_journal_file *f);
/* Calls fn for every slot at CALLED or later, in the order of their indexes, until
 * it returns something other than 0. The parts of an entry come one by one. */
int kc_journal_file_each(struct kc_journal_file *f, int (*fn)(const struct kc_slot *slot, void *arg), void *arg);
/* Keeps other recoverers away until the file is closed. -EWOULDBLOCK: another one has locked it. */
int kc_journal_file_lock(struct kc_journal_file *f);
/* 1: the file at path is this file. */
int kc_journal_file_is(const struct kc_journal_file *f, const char *path);
void kc_journal_file_close(struct kc_journal_file *f);

/* Puts the parts of entries together. Begin with an assembler of zeros and give it
 * slots in the order of their indexes. Returns 1 when *payload holds a whole entry
 * (valid until the next call), 0 when more parts are needed (expected is not 0
 * then), -EBADMSG for a part without those before it, or -ENOMEM. */
struct kc_assembler {
	uint8_t *buffer;
	size_t used, capacity;
	uint16_t expected;
	uint64_t next_index;
};
int kc_assemble(struct kc_assembler *a, const struct kc_slot *slot, const void **payload, size_t *bytes);
void kc_assembler_free(struct kc_assembler *a);

/* The path of a process's journal: "<database>.<pid>-<pid_start>.kcj", or a local one (store/common/remote.h). */
int kc_journal_path(const char *database, uint32_t pid, uint64_t pid_start, char *out, size_t size);

#endif
