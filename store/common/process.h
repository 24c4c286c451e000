/*
 * Who a process is, across reused pids, reboots and containers: its pid, the
 * time it started (field 22 of /proc/PID/stat, clock ticks since boot), the
 * boot, and the PID namespace its pid belongs to.
 */
#ifndef KC_PROCESS_H
#define KC_PROCESS_H

#include <stddef.h>
#include <stdint.h>

#define KC_BOOT_ID_BYTES 40u

/* Start time in clock ticks since boot; 0: there is no such process, or it has ended
 * and its parent has not called wait() yet. */
uint64_t kc_process_start(uint32_t pid);

/* Reads /proc/sys/kernel/random/boot_id as a string; an empty one where it cannot be
 * read. 0 or -errno. */
int kc_boot_id(char *out, size_t size);

/* Inode of our PID namespace; 0: not known. */
uint64_t kc_pid_namespace(void);

/* 1: the process lives, or nobody can tell (it is in a sibling container). 0: it has
 * ended. pid_namespace 0 means ours; boot_id NULL or empty means this boot. */
int kc_process_alive(uint32_t pid, uint64_t pid_start, const char *boot_id, uint64_t pid_namespace);

#endif
