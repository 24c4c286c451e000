/*
 * Reading rows: a function is called for each, and collects them in lists.
 */
#ifndef KC_ROWS_H
#define KC_ROWS_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

struct kc_counts;
struct kc_device_row;
struct kc_selection;
struct kc_store;

struct kc__list { /* of elements of one size */
	void *at;
	size_t count, capacity;
};

/* Adds an element, all zeros, and returns it; NULL: no memory. */
void *kc__list_add(struct kc__list *list, size_t size);

/* Calls fn for each row until it returns something other than 0, which is returned
 * then; else 0 or -errno. ?1 and ?2 are the runs of the selection, if it is not NULL. */
int kc__select(struct kc_store *s, const struct kc_selection *selection, const char *sql,
	       int (*fn)(sqlite3_stmt *row, void *arg), void *arg);
/* A copy of the text in column i, "" for SQL's NULL; NULL: no memory. */
char *kc__column_text(sqlite3_stmt *row, int i);
/* The number in column i; 0 where it is none that fits. */
uint32_t kc__column_u32(sqlite3_stmt *row, int i);
/* Of the table `work`. 0; -EINVAL: the column does not hold counts. */
int kc__column_counts(sqlite3_stmt *row, int i, struct kc_counts *counts);

/* query.c: the devices of these runs; selection NULL: all devices. *devices is to be freed. 0 or -errno. */
int kc__query_devices_of(struct kc_store *s, const struct kc_selection *selection, struct kc_device_row **devices,
			 size_t *count);

#endif
