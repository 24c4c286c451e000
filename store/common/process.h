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

/* Start time in clock ticks since boot; 0: no such process, or it has ended and
 * only awaits its parent's wait(). */
uint64_t kc_process_start(uint32_t pid);

/* /proc/sys/kernel/random/boot_id, NUL-terminated, empty where there is none.
 * 0 or -errno. */
int kc_boot_id(char *out, size_t size);

/* Inode of our PID namespace; 0: not known. */
uint64_t kc_pid_namespace(void);

/* 1: it lives, or nobody can tell (a sibling container's process). 0: it is
 * gone. pid_namespace 0: taken to be ours; boot_id NULL or empty: this boot. */
int kc_process_alive(uint32_t pid, uint64_t pid_start, const char *boot_id, uint64_t pid_namespace);

#endif
