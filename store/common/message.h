/* Every message to the user: a code, a severity and a sentence. Each is printed on
 * stderr at most once per process and kept in the table `message`. */
#ifndef KC_MESSAGE_H
#define KC_MESSAGE_H

#include <stdint.h>

#define KC_MESSAGES(X)                                                                                                 \
	X(NO_CUPTI, 1,                                                                                                 \
	  "CUPTI was not found: launches are predicted, not measured (set KERNCAST_CUPTI to libcupti.so)")             \
	X(CUPTI_FAILED, 1, "CUPTI did not start: launches are predicted, not measured")                                \
	X(PROFILER_BUSY, 1, "another profiler holds CUPTI: launches are predicted, not measured")                      \
	X(PROFILER_TOOK_OVER, 1,                                                                                       \
	  "the application started its own profiler, or ended CUPTI: nothing is measured meanwhile")                   \
	X(RECORDS_DROPPED, 1, "CUPTI dropped records: some launches have no measured time")                            \
	X(RECORDS_INVALID, 1, "CUPTI delivered records without valid times: they are not used")                        \
	X(DATABASE, 2, "the database cannot be written: launches wait in the journal until it can")                    \
	X(JOURNAL_MEMORY, 1,                                                                                           \
	  "the journal cannot be extended on disk: launches are kept in memory and would be lost in a crash")          \
	X(JOURNAL_FULL, 2, "the journal is full: further launches and transfers are counted as dropped")               \
	X(LOST, 2, "what could be stored neither in the database nor in the journal's file is lost with the process")  \
	X(JOURNAL_FAILED, 2, "no journal could be made: nothing is recorded")                                          \
	X(START_FAILED, 2, "recording could not begin: nothing is recorded")                                           \
	X(DATABASE_MOVED, 1,                                                                                           \
	  "the database, its -wal or its -shm was moved or deleted while the program ran: recording goes on at its "   \
	  "path")                                                                                                      \
	X(ROUTED_BY_NAME, 0, "the driver answered with addresses it does not export: hooks were chosen by name")       \
	X(FLUSH_TIMEOUT, 1, "CUPTI did not deliver its last records in time")                                          \
	X(EXIT_TIMEOUT, 1,                                                                                             \
	  "not everything was in the database when the program ended (KERNCAST_FLUSH_MS): the rest is in the "         \
	  "journal, "                                                                                                  \
	  "and the next kerncast command imports it")                                                                  \
	X(TORN, 1, "a journal entry was cut off")                                                                      \
	X(TABLE_FULL, 1, "a limit of kerncast is reached")                                                             \
	X(OPTION, 1, "an option was not understood and keeps its default")                                             \
	X(NO_GPU, 1, "the driver found no GPU: nothing is recorded")                                                   \
	X(INJECTION, 2, "CUDA_INJECTION64_PATH shows no launches without CUPTI: nothing is seen that way")             \
	X(APART, 1,                                                                                                    \
	  "the driver was loaded by dlmopen, where CUPTI does not reach: launches are predicted, not measured")        \
	X(SECOND_DRIVER, 1, "a second driver was loaded by dlmopen: what is launched through it is not seen")          \
	X(PAST_UNUSED, 0, "nothing that earlier runs taught is used: this run begins like a first one")                \
	X(BUFFERS_FULL, 1,                                                                                             \
	  "all memory for CUPTI's records was in use (11 MiB at most): records were dropped, so some launches have "   \
	  "no "                                                                                                        \
	  "measured time")                                                                                             \
	X(SIGNAL_TAKEN, 1,                                                                                             \
	  "the program handles the signal of --signal itself, or ignores it: recording does not start and stop by it " \
	  "(--while does so by a file)")                                                                               \
	X(VERSION, 2,                                                                                                  \
	  "the command kerncast and this library are of different versions: nothing is recorded (install both "        \
	  "together)")                                                                                                 \
	X(PRIOR, 0, "this run began with what kerncast learn wrote")                                                   \
	X(PRIOR_REFUSED, 1, "the file of --prior is not used")                                                         \
	X(BYPASSED, 1,                                                                                                 \
	  "the driver is loaded, and no call of it was seen: if the program used the GPU, it went past LD_PRELOAD "    \
	  "(RTLD_DEEPBIND, dlmopen), and kerncast run --audit sees it")                                                \
	X(REMOTE, 1,                                                                                                   \
	  "the database is on a network or FUSE file system: this host has a file of its own there, and the journal "  \
	  "in a local folder")                                                                                         \
	X(DEVICE_BUFFERS, 1,                                                                                           \
	  "CUPTI has brought no times for long: its buffers in the GPU's memory seem to have run out, as was seen of " \
	  "13.0 with CUDA graphs, and launches since then are predicted, not measured")                                \
	X(GREEN_CONTEXT, 1,                                                                                            \
	  "the program has streams in green contexts, which have some of the GPU's SMs: their kernels are predicted "  \
	  "as if they had all of them")                                                                                \
	X(MPS_SHARE, 0,                                                                                                \
	  "with MPS, CUDA_MPS_ACTIVE_THREAD_PERCENTAGE gives this process a part of the GPU's SMs: predictions count " \
	  "as many as the driver tells")

enum kc_message_code {
	KC_MESSAGE_NONE = 0,
#define KC_MESSAGE_ENUM(name, severity, text) KC_MESSAGE_##name,
	KC_MESSAGES(KC_MESSAGE_ENUM)
#undef KC_MESSAGE_ENUM
	    KC_MESSAGE_COUNT,
};

const char *kc_message_name(uint32_t code); /* "NO_CUPTI" */
const char *kc_message_text(uint32_t code);
uint32_t kc_message_severity(uint32_t code);

#endif
