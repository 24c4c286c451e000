#include "internal.h"
#include "predictor/concurrency/overlap.h"
#include "predictor/concurrency/timeline.h"
#include "predictor/solo/forecast.h"

#include <sqlite3.h>
#include <stdio.h>

#define ACCURACY_COLUMNS                                                                                               \
	"sum(launches) AS launches, sum(measured) AS measured, sum(matched) AS n,"                                     \
	" sum(error_sum) / nullif(sum(matched), 0) AS mape,"                                                           \
	" sum(error_ns) / nullif(sum(matched_ns), 0) AS mape_time_weighted,"                                           \
	" 1.0 * sum(within_20) / nullif(sum(matched), 0) AS within_20,"                                                \
	" sum(matched_ns) / nullif(sum(matched), 0) AS mean_measured_ns,"                                              \
	" sum(predicted_ns) / nullif(sum(matched), 0) AS mean_predicted_ns"

static const char views[] =
    "DROP VIEW IF EXISTS accuracy; DROP VIEW IF EXISTS accuracy_by_kernel; DROP VIEW IF EXISTS accuracy_by_model;"
    "DROP VIEW IF EXISTS concurrency; DROP VIEW IF EXISTS model_score;"
    "CREATE VIEW accuracy AS"
    " SELECT run, 'all' AS class, " ACCURACY_COLUMNS " FROM rollup GROUP BY run"
    " UNION ALL SELECT run, CASE novelty WHEN 0 THEN 'first_seen' WHEN 1 THEN 'new_size' ELSE 'repeated' END,"
    " " ACCURACY_COLUMNS " FROM rollup WHERE model > 0 GROUP BY run, novelty"
    " UNION ALL SELECT run, CASE overlap WHEN 0 THEN 'unknown' WHEN 1 THEN 'solo' WHEN 2 THEN 'behind'"
    " ELSE 'overtaken' END, " ACCURACY_COLUMNS " FROM rollup GROUP BY run, overlap"
    " UNION ALL SELECT run, 'overlapped', " ACCURACY_COLUMNS " FROM rollup WHERE overlap > 1 GROUP BY run;"
    "CREATE VIEW accuracy_by_kernel AS"
    " SELECT run, nullif(kernel, 0) AS kernel, coalesce(k.name, 'unknown') AS name, " ACCURACY_COLUMNS
    " FROM rollup r LEFT JOIN kernel k ON k.id = r.kernel GROUP BY run, kernel;";

/* Appends "CASE value WHEN 0 THEN 'name' … END AS column," */
static void names_of(sqlite3_str *sql, const char *value, const char *column, uint32_t first, uint32_t count,
		     const char *(*name)(uint32_t))
{
	sqlite3_str_appendf(sql, " CASE %s", value);
	for (uint32_t i = first; i < count; i++)
		sqlite3_str_appendf(sql, " WHEN %u THEN %Q", i, name(i));
	sqlite3_str_appendf(sql, " END AS %s,", column);
}

/* 0 is of what was not predicted. */
static const char *case_name(uint32_t i)
{
	return kc_case_name(i - 1);
}

static const char *novelty_name(uint32_t i)
{
	return kc_novelty_name(i - 1);
}

static void flag_names(sqlite3_str *sql, const char *column, unsigned shift, unsigned mask, uint32_t first,
		       uint32_t count, const char *(*name)(uint32_t))
{
	char value[48];

	snprintf(value, sizeof(value), "(r.flags >> %u) & %u", shift, mask);
	names_of(sql, value, column, first, count, name);
}

#define FLAG(name) KC_FLAG_##name##_SHIFT, KC_FLAG_##name##_MASK

static void launch_view(sqlite3_str *sql)
{
	sqlite3_str_appendall(sql, "DROP VIEW IF EXISTS launch; CREATE VIEW launch AS SELECT");
	sqlite3_str_appendf(sql, " r.id >> %d AS process, r.id & %lld AS sequence, p.run AS run,", KC_SEQUENCE_BITS,
			    (long long)KC_SEQUENCE_MASK);
	sqlite3_str_appendall(sql, " nullif(s.device, 0) AS device, r.stream AS stream, nullif(s.kernel, 0) AS kernel,"
				   " s.grid_x, s.grid_y, s.grid_z, s.block_x, s.block_y, s.block_z,"
				   " s.dynamic_shared_bytes, nullif(s.blocks_per_sm, 0) AS blocks_per_sm,");
	flag_names(sql, "api", FLAG(API), 0, KC_API_COUNT, kc_api_name);
	sqlite3_str_appendall(sql, " r.result AS result, r.thread AS thread, r.correlation AS correlation,"
				   " p.started_ns + r.launched AS launched_ns,"
				   " p.started_ns + r.launched - r.lead AS predicted_at_ns,");
	flag_names(sql, "model", FLAG(MODEL), 1, KC_MODELS, kc_model_name);
	sqlite3_str_appendf(sql,
			    " r.model_state AS model_state, r.solo AS solo_ns, r.solo - r.below AS solo_low_ns,"
			    " r.solo + r.above AS solo_high_ns,"
			    " 1 + r.slowdown / %d.0 AS slowdown, 1 + r.slowdown_waves / %d.0 AS slowdown_waves,",
			    KC_SLOWDOWN_SCALE, KC_SLOWDOWN_SCALE);
	flag_names(sql, "concurrency_case", FLAG(CASE), 1, KC_CASE_C + 2, case_name);
	sqlite3_str_appendall(sql,
			      " p.started_ns + r.launched + r.wait AS start_ns,"
			      " p.started_ns + r.launched + r.wait + r.span AS end_ns,"
			      " p.started_ns + r.launched + r.measured_wait AS measured_start_ns,"
			      " p.started_ns + r.launched + r.measured_wait + r.measured_span AS measured_end_ns,");
	sqlite3_str_appendf(sql, " CASE (r.flags >> %d) & %d WHEN 0 THEN NULL WHEN 1 THEN 0 ELSE 1 END AS overlapped,",
			    FLAG(OVERLAP));
	flag_names(sql, "overlap", FLAG(OVERLAP), KC_OVERLAP_NONE, KC_OVERLAP_OVERTAKEN + 1, kc_overlap_name);
	flag_names(sql, "novelty", FLAG(NOVELTY), 1, KC_REPEATED + 2, novelty_name);
	flag_names(sql, "unpredictable", FLAG(UNPREDICTABLE), 1, KC_UNPREDICTABLE_COUNT, kc_unpredictable_name);
	flag_names(sql, "unmeasured", FLAG(UNMEASURED), 1, KC_UNMEASURED_COUNT, kc_unmeasured_name);
	sqlite3_str_appendf(
	    sql,
	    " r.graph_launch AS graph_launch, r.graph_node AS graph_node, r.call_site AS call_site, "
	    "p.simulated AS simulated,"
	    " (SELECT a.text FROM arguments a WHERE a.process = r.id >> %d AND a.local = r.arguments) AS arguments,"
	    " r.known AS known_events, r.known + r.measured_after AS measured_event,"
	    " r.known + r.measured_after + r.decided_after AS decided_event"
	    " FROM launch_row r LEFT JOIN process p ON p.id = r.id >> %d"
	    " LEFT JOIN shape s ON s.id = r.shape;",
	    KC_SEQUENCE_BITS, KC_SEQUENCE_BITS);
}

static void concurrency_view(sqlite3_str *sql)
{
	sqlite3_str_appendall(sql, "CREATE VIEW concurrency AS SELECT run,");
	names_of(sql, "concurrency_case + 1", "predicted_case", 1, KC_CASE_C + 2, case_name);
	names_of(sql, "overlap", "overlap", 0, KC_OVERLAP_OVERTAKEN + 1, kc_overlap_name);
	sqlite3_str_appendall(sql, " sum(matched) AS n,"
				   " sum(slow_predicted_sum) / nullif(sum(slow_n), 0) AS mean_predicted_slowdown,"
				   " sum(slow_measured_sum) / nullif(sum(slow_n), 0) AS mean_measured_slowdown,"
				   " sum(slow_error_sum) / nullif(sum(slow_n), 0) AS slowdown_mape,"
				   " sum(slow_n) AS slowdown_n, sum(slow_without) AS slowdown_without"
				   " FROM rollup WHERE matched > 0 GROUP BY run, concurrency_case, overlap;");
}

/* Accuracy of each model: per run in accuracy_by_model, per run and kernel in model_score. */
static void model_views(sqlite3_str *sql)
{
	sqlite3_str_appendall(sql, "CREATE VIEW accuracy_by_model AS SELECT run,");
	names_of(sql, "model", "model", 1, KC_MODELS, kc_model_name);
	sqlite3_str_appendall(sql, " " ACCURACY_COLUMNS " FROM rollup WHERE model > 0 GROUP BY run, model;"
				   "CREATE VIEW model_score AS SELECT run,");
	names_of(sql, "model", "model", 1, KC_MODELS, kc_model_name);
	sqlite3_str_appendall(sql,
			      " nullif(kernel, 0) AS kernel, sum(matched) AS n,"
			      " sum(error_sum) / sum(matched) AS mape, sum(log_sum) / sum(matched) AS mean_log_ratio"
			      " FROM rollup WHERE model > 0 AND matched > 0 GROUP BY run, model, kernel;");
}

static void lambda_view(sqlite3_str *sql)
{
	sqlite3_str_appendf(sql,
			    "DROP VIEW IF EXISTS lambda; CREATE VIEW lambda AS"
			    " SELECT r.id >> %d AS process, r.id & %lld AS state,",
			    KC_SEQUENCE_BITS, (long long)KC_SEQUENCE_MASK);
	names_of(sql, "r.level", "level", 1, KC_MODELS, kc_model_name);
	sqlite3_str_appendf(
	    sql,
	    " nullif(s.device, 0) AS device, nullif(s.kernel, 0) AS kernel, nullif(s.grid_x, 0) AS grid_x,"
	    " nullif(s.grid_y, 0) AS grid_y, nullif(s.grid_z, 0) AS grid_z,"
	    " nullif(s.block_x, 0) AS block_x, nullif(s.block_y, 0) AS block_y,"
	    " nullif(s.block_z, 0) AS block_z,"
	    " CASE WHEN s.grid_x > 0 THEN s.dynamic_shared_bytes END AS dynamic_shared_bytes,"
	    " r.value / %d.0 AS value, r.deviation / %d.0 AS uncertainty, r.count AS count,"
	    " p.started_ns + r.time AS time_ns FROM lambda_row r"
	    " LEFT JOIN process p ON p.id = r.id >> %d LEFT JOIN shape s ON s.id = r.shape;",
	    KC_LAMBDA_SCALE, KC_DEVIATION_SCALE, KC_SEQUENCE_BITS);
}

char *kc__views_text(void)
{
	sqlite3_str *sql = sqlite3_str_new(NULL);

	sqlite3_str_appendall(sql, views);
	launch_view(sql);
	concurrency_view(sql);
	model_views(sql);
	lambda_view(sql);
	return sqlite3_str_finish(sql);
}

int kc__views_apply(sqlite3 *db)
{
	char *text = kc__views_text();
	int rc;

	if (!text)
		return SQLITE_NOMEM;
	rc = sqlite3_exec(db, text, NULL, NULL, NULL);
	sqlite3_free(text);
	return rc;
}
