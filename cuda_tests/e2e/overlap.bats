# Which launches ran beside another is decided live, before all measurements are
# in. Here it is decided again from the finished table, and must be the same; of a
# launch that waited too long to be decided nothing may be claimed.
# Runs in real time.
load common

# Classes every measured launch by the measured intervals of its device, and counts
# those that were classed otherwise. Leaves the number of undecided ones in $unknown.
classed_otherwise() {
	local counts
	counts=$(sql "CREATE TEMP TABLE l AS SELECT row_number() OVER (ORDER BY measured_start_ns) AS n, sequence,
		measured_start_ns AS s, measured_end_ns AS e, overlap FROM launch WHERE measured_start_ns > 0;
	CREATE UNIQUE INDEX temp.by_n ON l(n);
	CREATE INDEX temp.by_s ON l(s);
	CREATE TEMP TABLE longest AS SELECT max(e - s) AS ns FROM l;
	CREATE TEMP TABLE met AS SELECT a.sequence AS sequence,
		max(b.sequence < a.sequence) AS behind FROM l a JOIN longest
		JOIN l b ON b.s > a.s - longest.ns AND b.s < a.e AND b.e > a.s AND b.sequence <> a.sequence
		GROUP BY a.sequence;
	SELECT coalesce(sum(overlap <> CASE WHEN behind IS NULL THEN 'none' WHEN behind THEN 'behind'
		ELSE 'overtaken' END), 0), sum(overlap IS NULL) FROM l LEFT JOIN met USING (sequence)")
	unknown=${counts#*|}
	equal "${counts%|*}" 0 "launches classed otherwise ($unknown undecided)"
}

# At most a tenth may have waited too long.
mostly_decided() { # LAUNCHES
	within "$unknown" 0 $(($1 / 10)) "undecided launches"
}

@test "overlapped, behind and overtaken are what the measured intervals say, 1 thread" {
	"$kerncast" run -q "$build/demo-static-sim" --rounds 100
	within "$(sql "SELECT count(*) FROM launch WHERE overlap <> 'none'")" 10 1000000 "overlapped launches"
	classed_otherwise
	mostly_decided 800
}

@test "overlapped, behind and overtaken are what the measured intervals say, 8 threads" {
	"$kerncast" run -q "$build/demo-static-sim" --threads 8 --rounds 50
	within "$(sql "SELECT count(*) FROM launch WHERE overlap <> 'none'")" 100 1000000 "overlapped launches"
	classed_otherwise
	mostly_decided 3200
}

@test "what a kernel met is not decided while a thread stands still in its launch" {
	echo '*awkward* 4.2e8 0' >costs # cycles of the only block: 300 ms at 1.41 GHz
	SIMCUDA_COSTS=$PWD/costs "$kerncast" run -q "$build/awkward/stalled_launch"
	equal "$(sql "SELECT count(*) FROM launch WHERE measured_start_ns > 0")" 6 "measured launches"
	classed_otherwise
	equal "$unknown" 0 "undecided launches"
}
