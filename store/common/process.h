/*
 * Who a process is, across reused pids, reboots and containers: its pid, the
 * time it started (field 22 of /proc/PID/stat, clock ticks since boot), the
 * boot, the PID namespace its pid belongs to, and the time namespace that the
 * start was read in. And what of it can be seen from here.
 */
#ifndef KC_PROCESS_H
#define KC_PROCESS_H

#include <stddef.h>
#include <stdint.h>

#define KC_BOOT_ID_BYTES 40u

struct kc_process_identity {
	uint32_t pid;
	uint64_t start;          /* 0: not known */
	uint64_t pid_namespace;  /* inode; 0: not known, or the kernel has no such namespaces */
	uint64_t time_namespace; /* the same */
};

enum kc_process_seen {
	KC_PROCESS_UNSEEN = 0, /* nothing can be told from here */
	KC_PROCESS_GONE,       /* it, and all of its threads, have ended */
	KC_PROCESS_THERE,      /* it lives; the program that it runs may be another one, after exec() */
};

/* Start time in clock ticks since boot; 0: there is no such process in /proc, or it has
 * ended and its parent has not called wait() yet. */
uint64_t kc_process_start(uint32_t pid);

/* Our own; 0: /proc cannot be read. */
uint64_t kc_process_own_start(void);

/* Our pid in /proc, which in a new PID namespace may still be the one from outside, with
 * other numbers; 0: /proc cannot be read. */
uint32_t kc_process_own_number(void);

/* Reads /proc/sys/kernel/random/boot_id as a string; an empty one where it cannot be
 * read. 0 or -errno. */
int kc_boot_id(char *out, size_t size);

/* 1: that file is the kernel's. 0: it cannot be read, or is one that a container's manager
 * (LXC, systemd-nspawn) has put there: then another id does not mean another boot. */
int kc_boot_id_is_kernels(void);

/* Inodes of our namespaces; 0: not known. */
uint64_t kc_pid_namespace(void);
uint64_t kc_time_namespace(void);

/* Of a process of this boot. KC_PROCESS_GONE and KC_PROCESS_THERE are certain. */
enum kc_process_seen kc_process_look(const struct kc_process_identity *who);

#endif
