# The demo program, unmodified, under the shim.
# Runs in real time.
load common

# Everything the product claims about one run of the demo: DEMO ARG...
everything_holds() {
	local demo=$1 launches
	shift
	unchanged_under_run "$build/$demo" "$@"
	equal "$(<plain.status)" 0 "exit status"
	launches=$(counted launches)
	within "$launches" 1000 1000000 "launches the stand-in counted"

	equal "$(sql 'SELECT count(*) FROM launch')" "$launches" "rows in launch"
	equal "$(sql 'SELECT count(DISTINCT process || "/" || sequence) FROM launch')" "$launches" "distinct rows"
	equal "$(sql 'SELECT count(*) FROM launch WHERE measured_start_ns > 0 AND measured_end_ns > measured_start_ns')" \
		"$launches" "measured rows"
	equal "$(sql 'SELECT count(DISTINCT process || "/" || correlation) FROM launch')" "$launches" \
		"measurements, each used once"
	equal "$(sql 'SELECT count(*) FROM launch
		WHERE NOT (predicted_at_ns <= launched_ns AND launched_ns <= measured_start_ns)')" 0 \
		"rows predicted late, or measured before they were launched"
	equal "$(sql 'SELECT count(*) FROM launch WHERE simulated')" "$launches" "rows said to be simulated"

	for part in launches predicted measured matched; do
		equal "$(report "\$.ledger.$part")" "$launches" "$part in the ledger"
	done
	ledger_adds_up
	equal "$(sql 'SELECT count(*) FROM message WHERE severity > 0')" 0 "warnings"
	equal "$(ls *.kcj 2>/dev/null)" "" "journals left behind"
}

@test "demo, shared cudart, 1 thread: every launch predicted, measured, matched once" {
	everything_holds demo-shared --threads 1
}

@test "demo, shared cudart, 8 threads: every launch predicted, measured, matched once" {
	everything_holds demo-shared --threads 8
}

@test "demo, static cudart, 1 thread: every launch predicted, measured, matched once" {
	everything_holds demo-static-sim --threads 1
}

@test "demo, static cudart, 8 threads: every launch predicted, measured, matched once" {
	everything_holds demo-static-sim --threads 8
}

@test "demo: at least 4 kernels, 3 streams and 1,000 launches" {
	"$kerncast" run -q "$build/demo-static-sim"
	within "$(sql 'SELECT count(DISTINCT kernel) FROM launch')" 4 100 kernels
	within "$(sql 'SELECT count(DISTINCT stream) FROM launch')" 3 100 streams
	within "$(sql 'SELECT count(*) FROM launch')" 1000 100000 launches
}

@test "LD_PRELOAD alone records the same" {
	keep plain "$build/demo-shared"
	rm "$SIMCUDA_LOG"
	keep shimmed preloaded KERNCAST_QUIET=1 "$build/demo-shared"
	same plain shimmed
	equal "$(sql 'SELECT count(*) FROM launch')" "$(counted launches)" "rows in launch"
	equal "$(sql 'SELECT count(*) FROM run')" 1 runs
}

@test "two runs into one database: one run each, no row lost or doubled" {
	"$kerncast" run -q "$build/demo-shared" --rounds 20
	"$kerncast" run -q "$build/demo-static-sim" --rounds 20
	equal "$(sql 'SELECT count(*) FROM run')" 2 runs
	equal "$(sql 'SELECT count(*) FROM launch')" "$(counted launches)" "rows in launch"
	equal "$(sql 'SELECT count(DISTINCT mangled) FROM kernel')" 6 "kernels by name"
}

@test "kernels of different cost have different predictions, in the order of their cost" {
	"$kerncast" run -q "$build/demo-static-sim"
	sql "SELECT k.name, avg(l.solo_ns), avg(l.measured_end_ns - l.measured_start_ns) FROM launch l
		JOIN kernel k ON k.id = l.kernel WHERE l.novelty = 'repeated' AND l.overlap = 'none' GROUP BY k.name"
	# Pairs of kernels measured at least 1.5 times apart: as far apart and in the same order when predicted.
	equal "$(sql "WITH k AS (SELECT kernel, avg(solo_ns) AS solo, avg(measured_end_ns - measured_start_ns) AS took
			FROM launch WHERE novelty = 'repeated' GROUP BY kernel)
		SELECT count(*) FROM k a JOIN k b ON a.took > 1.5 * b.took WHERE a.solo <= b.solo")" 0 "pairs in the wrong order"
	within "$(sql "WITH k AS (SELECT kernel, avg(solo_ns) AS solo FROM launch WHERE novelty = 'repeated' GROUP BY kernel)
		SELECT count(DISTINCT round(solo / 100)) FROM k")" 3 100 "different predictions"
}

@test "repeated launches in the second half of the demo: mean error 10 % at most (simulated)" {
	local mape
	"$kerncast" run -q "$build/demo-static-sim"
	mape=$(sql "SELECT 100.0 * avg(abs((end_ns - start_ns) - (measured_end_ns - measured_start_ns))
			/ CAST(measured_end_ns - measured_start_ns AS REAL))
		FROM launch WHERE novelty = 'repeated'
		AND launched_ns >= (SELECT (min(launched_ns) + max(launched_ns)) / 2 FROM launch)")
	within "$mape" 0 10 "mean absolute error in percent"
}

@test "the report says SIMULATED first" {
	"$kerncast" run -q "$build/demo-static-sim" --rounds 20
	run "$kerncast" report
	equal "$status" 0 "exit status"
	contains "${lines[0]}${lines[1]}" SIMULATED
	equal "$(report '$.simulated')" 1 "simulated in JSON"
}

@test "the commands that scripts/demo prints do the same when they are typed" {
	unset LD_LIBRARY_PATH SIMCUDA_COSTS
	mkdir "b u"
	ln -s "$build"/{kerncast,libkerncast.so,demo-static-sim,simcuda} "b u"
	ln -s /bin/false "b u/gpu-probe"
	"$root/scripts/demo" "$PWD/b u" --rounds 20 >demo.out 2>demo.err
	sed -n 's/^\$ //p' demo.out >typed
	equal "$(wc -l <typed)" 4 "commands"
	rm -f "b u"/demo.db*
	env -C "$root" bash -e "$PWD/typed" >typed.out 2>typed.err
	for launches in '^kerncast: 160 launches' '^kerncast: .* in kernels: stencil'; do
		equal "$(grep -c "$launches" typed.err)" "$(grep -c "$launches" demo.err)" "lines of the summary with $launches"
	done
	contains "$(<typed.out)" "Kernels by time: "
	within "$(sed -n 's/^  vector_add.* \([0-9.]*\) %.*/\1/p' typed.out | head -n 1)" 4 10 "percent of the time of vector_add, by demo.costs"
}

@test "kerncast run prints a summary of ten lines at most, and none with -q" {
	keep loud "$kerncast" run "$build/demo-static-sim" --rounds 20
	within "$(wc -l <loud.err)" 1 10 "lines of summary"
	rm kerncast.db
	keep quiet "$kerncast" run -q "$build/demo-static-sim" --rounds 20
	equal "$(<quiet.err)" "" "what -q prints"
}

@test "with measuring off, all is predicted and nothing measured, which the report says" {
	keep plain "$build/demo-static-sim" --rounds 20
	rm "$SIMCUDA_LOG"
	keep shimmed "$kerncast" run -q --measure=off "$build/demo-static-sim" --rounds 20
	same plain shimmed
	equal "$(report '$.ledger.predicted')" "$(counted launches)" predicted
	equal "$(report '$.ledger.measured')" 0 measured
	equal "$(report '$.accuracy.mape')" "" "accuracy without a measurement"
	ledger_adds_up
	run "$kerncast" report
	contains "$output" "measured"
}

@test "copies and memsets of nothing are no transfers" {
	unchanged_under_run "$build/awkward/transfers" 40 empty
	equal "$(counted copies)+$(counted memsets)" 20+20 "the driver's count"
	equal "$(report '$.ledger.transfers')" 40 transfers
	equal "$(report '$.ledger.transfers_measured')" 40 measured
}
