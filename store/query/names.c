#include "names.h"
#include "query.h"
#include "rows.h"
#include "store/database/internal.h"

#include <stdio.h>

/* Where the process used several. */
#define GPU_PREFIX                                                                                                     \
	"CASE WHEN (SELECT count(DISTINCT device) FROM stream WHERE process = s.process) > 1 THEN 'GPU ' ||"           \
	" (SELECT min(" KC__GPU_NUMBER ") FROM process_device x WHERE x.process = s.process AND x.device = s.device)"  \
	" || ', '"                                                                                                     \
	" ELSE '' END || "
/* Of a trace: contexts number their streams independently. */
#define CONTEXT_SUFFIX                                                                                                 \
	" || CASE WHEN p.source NOT NULL AND EXISTS (SELECT 1 FROM stream o WHERE o.process = s.process"               \
	" AND o.device IS s.device AND o.handle = s.handle AND o.context <> s.context)"                                \
	" THEN ' of context ' || s.context ELSE '' END"
#define STREAM_NAME                                                                                                    \
	GPU_PREFIX "CASE WHEN s.kind = 'legacy' THEN 'default' WHEN s.thread NOT NULL THEN 'default of thread '"       \
		   " || s.thread ELSE 'stream ' || " KC__STREAM_NUMBER CONTEXT_SUFFIX " END"
#define OF_STREAM " FROM stream s JOIN process p ON p.id = s.process WHERE s.id = ?1"

const char *kc__stream_name_sql(enum kc_stream_naming naming)
{
	return naming == KC_STREAM_OF_RUN ? "SELECT " KC__PROCESS_NAME " || ', ' || " STREAM_NAME OF_STREAM
					  : "SELECT " STREAM_NAME OF_STREAM;
}

int kc_process_name(struct kc_store *s, int64_t process, int64_t *pid, char name[KC_PROCESS_NAME_BYTES])
{
	sqlite3_stmt *row = NULL;
	int rc = sqlite3_prepare_v2(s->db, "SELECT p.pid, " KC__PROCESS_NAME " FROM process p WHERE p.id = ?1", -1,
				    &row, NULL);

	*pid = 0;
	name[0] = '\0';
	if (rc == SQLITE_OK) {
		sqlite3_bind_int64(row, 1, process);
		rc = sqlite3_step(row);
	}
	if (rc == SQLITE_ROW) {
		*pid = sqlite3_column_int64(row, 0);
		if (sqlite3_column_text(row, 1))
			snprintf(name, KC_PROCESS_NAME_BYTES, "%s", (const char *)sqlite3_column_text(row, 1));
	}
	sqlite3_finalize(row);
	return kc__errno(s->db, rc);
}

static const char gpu_name[] =
    "WITH used AS (SELECT x.device AS id, min(" KC__GPU_NUMBER ") AS ordinal, min(p.host) AS host FROM process p"
    " JOIN process_device x ON x.process = p.id WHERE p.run BETWEEN ?1 AND ?2 GROUP BY x.device)"
    " SELECT 'GPU ' || u.ordinal || CASE WHEN (SELECT count(*) FROM used WHERE ordinal = u.ordinal) = 1 THEN ''"
    " WHEN d.place <> '' THEN ' of ' || d.place"
    " WHEN u.host NOT NULL AND NOT EXISTS (SELECT 1 FROM used o WHERE o.ordinal = u.ordinal AND o.id <> u.id"
    " AND o.host IS u.host) THEN ' of ' || u.host WHEN d.uuid GLOB '*[^0]*' THEN ' (GPU-' || substr(d.uuid, 1, 8) || "
    "')'"
    " ELSE '' END FROM used u JOIN device d ON d.id = u.id WHERE u.id = ?3";

int kc_gpu_name(struct kc_store *s, const struct kc_selection *selection, int64_t device, char name[KC_GPU_NAME_BYTES])
{
	sqlite3_stmt *row = NULL;
	int rc = sqlite3_prepare_v2(s->db, gpu_name, -1, &row, NULL);

	name[0] = '\0';
	if (rc == SQLITE_OK) {
		sqlite3_bind_int64(row, 1, selection->first_run);
		sqlite3_bind_int64(row, 2, selection->last_run);
		sqlite3_bind_int64(row, 3, device);
		rc = sqlite3_step(row);
	}
	if (rc == SQLITE_ROW && sqlite3_column_text(row, 0))
		snprintf(name, KC_GPU_NAME_BYTES, "%s", (const char *)sqlite3_column_text(row, 0));
	sqlite3_finalize(row);
	return kc__errno(s->db, rc);
}
