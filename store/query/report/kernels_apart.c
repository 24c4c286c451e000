#include "report_internal.h"

#include "store/query/told_apart.h"

#include <errno.h>
#include <stdlib.h>

/* As many as KC_TRAITS. A name that cannot be read is the mangled one. */
static const char traits[] =
    "SELECT module, nullif(mangled, name), registers || ' registers', static_shared_bytes || ' B shared',"
    " printf('code %08x', (code_hash >> 32) & 0xffffffff), 'kernel ' || id FROM kernel WHERE id = ?1";

static int read_traits(sqlite3_stmt *row, int64_t id, char **out)
{
	int rc = 0;

	sqlite3_bind_int64(row, 1, id);
	if (sqlite3_step(row) == SQLITE_ROW)
		for (unsigned i = 0; i < KC_TRAITS; i++) {
			out[i] = kc__column_text(row, (int)i);
			rc = out[i] ? rc : -ENOMEM;
		}
	sqlite3_reset(row);
	return rc;
}

int kc__kernels_tell_apart(struct kc_store *s, struct kc_groups *kernels)
{
	struct kc_namesake *all = calloc(kernels->count + 1, sizeof(*all));
	sqlite3_stmt *row = NULL;
	int rc = all ? kc__errno(s->db, sqlite3_prepare_v2(s->db, traits, -1, &row, NULL)) : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < kernels->count; i++) {
		all[i].name = &kernels->at[i].name;
		rc = read_traits(row, kernels->at[i].id, all[i].traits);
	}
	if (rc == 0)
		rc = kc_tell_apart(all, kernels->count);
	for (size_t i = 0; all && i < kernels->count; i++)
		for (unsigned trait = 0; trait < KC_TRAITS; trait++)
			free(all[i].traits[trait]);
	sqlite3_finalize(row);
	free(all);
	return rc;
}
