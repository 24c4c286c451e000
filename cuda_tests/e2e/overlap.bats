# Which launches ran beside another is decided live, before all measurements are
# in. Here it is decided again from the finished table, and must be the same.
load common

# Every pair of measured kernels on one device whose intervals intersect.
agrees() {
	sql "CREATE TEMP TABLE l AS SELECT row_number() OVER (ORDER BY measured_start_ns) AS n, sequence,
		measured_start_ns AS s, measured_end_ns AS e, overlap FROM launch WHERE measured_start_ns > 0;
	CREATE UNIQUE INDEX temp.by_n ON l(n);
	CREATE INDEX temp.by_s ON l(s);
	CREATE TEMP TABLE longest AS SELECT max(e - s) AS ns FROM l;
	CREATE TEMP TABLE met AS SELECT a.sequence AS sequence,
		max(b.sequence < a.sequence) AS behind FROM l a JOIN longest
		JOIN l b ON b.s > a.s - longest.ns AND b.s < a.e AND b.e > a.s AND b.sequence <> a.sequence
		GROUP BY a.sequence;
	SELECT count(*) FROM l LEFT JOIN met USING (sequence)
		WHERE overlap IS NOT CASE WHEN behind IS NULL THEN 'none' WHEN behind THEN 'behind' ELSE 'overtaken' END"
}

@test "overlapped, behind and overtaken are what the measured intervals say, 1 thread" {
	"$kerncast" run -q "$build/demo-static-sim" --rounds 100
	within "$(sql "SELECT count(*) FROM launch WHERE overlap <> 'none'")" 10 1000000 "overlapped launches"
	equal "$(agrees)" 0 "launches classed otherwise"
}

@test "overlapped, behind and overtaken are what the measured intervals say, 8 threads" {
	"$kerncast" run -q "$build/demo-static-sim" --threads 8 --rounds 50
	within "$(sql "SELECT count(*) FROM launch WHERE overlap <> 'none'")" 100 1000000 "overlapped launches"
	equal "$(agrees)" 0 "launches classed otherwise"
}
