# --measure=adaptive: what is known well is measured in windows. Time passes in these programs only while all of their
# threads wait (cuda_tests/playback/simulated_time.c), so that the machine's speed does not matter.
load ../common

steady() { # ADAPTIVE|all DB ARGUMENTS...
	echo '*awkward* 1410*a1 0' >steady.costs
	SIMCUDA_COSTS=$PWD/steady.costs "$kerncast" run -q --wait-for-code=1s --measure="$1" -o "$2" "$build/awkward/steady" "${@:3}"
}

# All launches of the program are there, none is awaited in vain, and no record is left over.
adds_up() { # DB LAUNCHES
	equal "$(report '$.ledger.launches' "$1")|$(report '$.ledger.predicted' "$1")" "$2|$2" "launches, predicted"
	equal "$(sql "SELECT count(*) FROM launch WHERE (measured_end_ns IS NULL) != ifnull(unmeasured = 'known_well', 0)" "$1")" 0 \
		"launches neither measured nor known well"
	equal "$(report '$.ledger.unmatched' "$1")|$(report '$.ledger.dropped' "$1")" "0|0" "records unmatched, dropped"
}

as_replayed() { # DB
	"$kerncast" replay --csv "$1" >replayed.csv
	sqlite3 -batch -bail :memory: ".mode csv" ".import replayed.csv replayed" "CREATE INDEX launches ON replayed (process + 0, sequence + 0)" "ATTACH '$1' AS k" ".mode list" "
		SELECT count(*) = sum(l.solo_ns = r.solo_ns + 0 AND l.end_ns - p.started_ns = r.end_ns + 0)
		FROM k.launch l JOIN k.process p ON p.id = l.process
		LEFT JOIN replayed r ON r.process + 0 = l.process AND r.sequence + 0 = l.sequence"
}

# 50 of 600 ms in the steady state.
@test "of launches that go on in the same way few are measured, and predictions stay as good" {
	steady all all.db 2000 2000 200
	steady adaptive adaptive.db 2000 8000 200
	adds_up adaptive.db 8000
	within "$(sql 'SELECT 100.0 * avg(measured_end_ns IS NOT NULL) FROM launch WHERE sequence > 2000' adaptive.db)" 4 15 "% measured"
	local every windows
	every=$(report '$.repeated.mape' all.db)
	windows=$(report '$.repeated.mape' adaptive.db)
	within "$windows" 0 "$(awk -v e="$every" 'BEGIN { print e + 0.3 }')" "mean error in %, in windows, beside $every"
	equal "$(as_replayed adaptive.db)" 1 "predicted again as in the run"
}

played() { # SECONDS [PLAYBACK'S ARGUMENT...]
	"$kerncast" run -q --fresh --wait-for-code=1s --measure=adaptive "$build/playback/playback_at_once" launches truth "$1" 0.01 "${@:2}"
}

# 300 launches every 1.5 s, made within 0.3 ms: the worker sees them once all of them have been made.
bursts() { # SECONDS [PLAYBACK'S ARGUMENT...]
	{
		printf '%s\n' 1 1 300 1500000000 in_bursts
		for ((i = 0; i < 300; i++)); do
			echo $((i * 1000)) $((1000000 + i * 4000000)) 4000000 0 0 64 1 1 128 1 1 0
		done
	} >launches
	played "$@"
}

@test "of launches that come in bursts a share is measured, in all parts of them" {
	bursts 45
	adds_up kerncast.db 9000
	within "$(sql 'SELECT 100.0 * avg(measured_end_ns IS NOT NULL) FROM launch WHERE sequence > 3000')" 4 15 "% measured"
	within "$(sql 'SELECT count(DISTINCT sequence % 300 / 60) FROM launch WHERE sequence > 3000 AND measured_end_ns IS NOT NULL')" \
		5 5 "fifths of the burst that were measured"
	equal "$(as_replayed kerncast.db)" 1 "predicted again as in the run"
}

# 1,100 launches every 5 s, most of which are made before the first has ended. Of each of four kernels they have five. How
# wrong the first ones were predicted does not count, so that these are known well by the end of the second burst.
@test "a launch that was predicted before its like had been measured does not tell that it is not known well" {
	{
		printf '%s\n' 5 1 1100 5000000000 often rare_{1..4}
		for ((i = 0, at = 1000000; i < 1100; i++, at += ns)); do
			kernel=$((i % 220 < 4 ? i % 220 + 1 : 0)) ns=$((i % 220 < 4 ? 20000000 : 3500000))
			echo $((i * 1000)) $at $ns 0 $kernel 64 1 1 128 1 1 0
		done
	} >launches
	played 24
	adds_up kerncast.db 5500
	within "$(sql 'SELECT 100.0 * avg(measured_end_ns IS NOT NULL) FROM (SELECT * FROM launch ORDER BY sequence LIMIT -1 OFFSET 3300)')" \
		4 15 "% measured"
}

@test "a kernel that becomes a tenth slower is found within two seconds" {
	steady adaptive kerncast.db 2000 7000 200 2000 220
	adds_up kerncast.db 7000
	local changed
	changed=$(sql 'SELECT launched_ns FROM launch ORDER BY launched_ns LIMIT 1 OFFSET 2000')
	within "$(sql "SELECT avg(solo_ns) FROM launch WHERE launched_ns > $changed + 2000000000")" 215000 225000 "ns predicted later"
	equal "$(as_replayed kerncast.db)" 1 "predicted again as in the run"
}

@test "what is new ends a rest" {
	steady adaptive kerncast.db 2000 5000 200 3000 400 100
	adds_up kerncast.db 5000
	local changed
	changed=$(sql 'SELECT min(launched_ns) FROM launch WHERE grid_x = 100')
	within "$(sql "SELECT min(launched_ns) - $changed FROM launch WHERE grid_x = 100 AND measured_end_ns IS NOT NULL")" \
		0 200000000 "ns until launches of the new size are measured"
}

# One second at most is slept before the thread is made known to the kernel, and one after it has ended.
@test "the clock of these programs stands while a thread that was just made works" {
	within "$("$build/awkward/steady" worker)" 1 2 "seconds that pass"
}

@test "pauses, and a CUPTI that is not there, go with it" {
	KERNCAST_AFTER=500ms KERNCAST_FOR=1s steady adaptive paused.db 2000 5000 200
	within "$(report '$.ledger.launches' paused.db)" 500 3500 "launches of a second"
	equal "$(report '$.ledger.unmatched' paused.db)|$(report '$.ledger.not_asked' paused.db)" \
		"0|$((5000 - $(report '$.ledger.launches' paused.db)))" "unmatched, not asked for"
	KERNCAST_CUPTI=/nowhere/libcupti.so SIMCUDA_COSTS=$PWD/steady.costs \
		"$kerncast" run -q --measure=adaptive -o without.db "$build/awkward/steady" 2000 200 200
	equal "$(sql 'SELECT DISTINCT unmeasured FROM launch' without.db)" no_cupti "reason"
}

@test "the report does not call unmeasured time idle" {
	steady adaptive kerncast.db 2000 6000 200
	within "$(report '$.ledger.unmeasured')" 100 5900 "unmeasured"
	equal "$(report '$.activity')" "" "activity"
	contains "$("$kerncast" report kerncast.db)" "GPU time is not shown: with --measure=adaptive"
}

# 400 s are more than a trace is played for.
@test "a recorded training that is not judged holds no limit" {
	KC_SHARED_DATA=$reduced run "$root/scripts/adaptive-on-traces" --build "$build" --seconds 400 --limits param_dlrm_v100_w0
	equal "$status|${#lines[@]}" "1|3" "status and lines of
$output"
	contains "${lines[1]}" "  not judged: not steady within 120 s"
	equal "${lines[2]}" "of 0 traces; not judged: 1"
	KC_SHARED_DATA=$reduced run "$root/scripts/adaptive-on-traces" --build "$build" no_such_trace
	equal "$status|${lines[1]}" "1|of 0 traces; not judged: 0"
	# Beside one whose limits all hold.
	cat >judged.py <<-'END'
		import importlib.machinery, importlib.util, sys
		script, *sys.argv = sys.argv[1:]
		loader = importlib.machinery.SourceFileLoader("adaptive", script)
		adaptive = importlib.util.module_from_spec(importlib.util.spec_from_loader("adaptive", loader))
		loader.exec_module(adaptive)
		held = adaptive.Figures(100, 10, 100, 1.0, 1.1, 20.0, 0.5, 0.5)
		adaptive.judge = lambda options, path, folder: (1e6, 10, held if "resnet" in path.name else "too long")
		adaptive.main()
	END
	export KC_SHARED_DATA=$reduced
	run python3 judged.py "$root/scripts/adaptive-on-traces" test --limits kineto_resnet50_v100_a
	equal "$status" 0 "status of
$output"
	run python3 judged.py "$root/scripts/adaptive-on-traces" test --limits kineto_resnet50_v100_a param_dlrm_v100_w0
	equal "$status" 1 "status of
$output"
	contains "$output" "  not judged: too long"
	contains "$output" "all four in 1; not judged: 1"
}

@test "what was played adaptively is predicted again as in the run" {
	KC_SHARED_DATA=$reduced "$root/scripts/adaptive-on-traces" --write launches param_dlrm_v100_w0
	"$kerncast" run -q --measure=adaptive "$build/playback/playback_at_once" launches truth 2 0.01
	within "$(sql 'SELECT count(*) FROM launch WHERE unmeasured IS NOT NULL')" 1000 40000 "launches not measured"
	equal "$(as_replayed kerncast.db)" 1 "predicted again as in the run"
}
