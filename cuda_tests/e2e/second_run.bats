# What one run has learned is there in the next one from its first launch on.
# Runs in real time.
load common

# Mean error of launches FIRST to LAST (from 1) of run RUN, percent
error_of() { # RUN FIRST LAST
	sql "SELECT round(100 * avg(abs(1.0 * (end_ns - start_ns) / took - 1)), 2) FROM (SELECT start_ns, end_ns,
		measured_end_ns - measured_start_ns AS took, row_number() OVER (ORDER BY sequence) AS n
		FROM launch WHERE run = $1) WHERE n BETWEEN $2 AND $3"
}

most_of() { # RUN FIRST LAST: the same, without the twentieth with the largest errors
	sql "SELECT round(100 * avg(error), 2) FROM (SELECT error FROM
		(SELECT abs(1.0 * (end_ns - start_ns) / (measured_end_ns - measured_start_ns) - 1) AS error,
		row_number() OVER (ORDER BY sequence) AS n FROM launch WHERE run = $1)
		WHERE n BETWEEN $2 AND $3 ORDER BY error LIMIT ($3 - $2 + 1) * 19 / 20)"
}

median_of() { # RUN FIRST LAST: the same, median
	sql "SELECT round(100 * error, 2) FROM (SELECT abs(1.0 * (end_ns - start_ns) / took - 1) AS error FROM
		(SELECT start_ns, end_ns, measured_end_ns - measured_start_ns AS took, row_number() OVER (ORDER BY sequence) AS n
		FROM launch WHERE run = $1) WHERE n BETWEEN $2 AND $3) ORDER BY error LIMIT 1 OFFSET ($3 - $2) / 2"
}

first_seen() { # RUN
	sql "SELECT count(*) FROM launch WHERE run = $1 AND novelty = 'first_seen'"
}

mean() { # FILE, a number a line
	awk '{ sum += $1 } END { print sum / NR }' "$1"
}

middle() { # FILE, an odd number of numbers, one per line
	sort -g "$1" | awk '{ at[NR] = $1 } END { print at[(NR + 1) / 2] }'
}

@test "a second run begins as accurate as the first one ended" {
	"$kerncast" run -q "$build/demo-static-sim" >first.out
	SIMCUDA_SEED=2 "$kerncast" run -q "$build/demo-static-sim" >second.out
	cmp first.out second.out
	equal "$(sql 'SELECT count(*) FROM launch')" 4000 "launches of both runs"
	within "$(first_seen 1)" 6 500 "first seen in the first run"
	equal "$(first_seen 2)" 0 "first seen in the second run"
	within "$(median_of 2 1 200)" 0 "$(awk -v e="$(median_of 1 1001 2000)" 'BEGIN { print 1.5 * e + 0.1 }')" \
		"median error of the second run's first launches, %"
}

# Which kernels meet in a pipeline's first rounds is up to the host's threads, and differs from run to run where one of them
# is preempted: a few launches then meet what their kernels have never met. So the middle one of fifteen pairs of runs, each
# with noise of its own and a database of its own, without a twentieth of its launches. The mean with these is held to three
# times as much. Both fail where the second run begins with --fresh.
@test "most of a second run's first launches have the mean error that the first one ended with" {
	for pair in {1..15}; do
		rm -f kerncast.db
		SIMCUDA_SEED=$((2 * pair)) "$kerncast" run -q "$build/demo-static-sim" >first.out
		SIMCUDA_SEED=$((2 * pair + 1)) "$kerncast" run -q "$build/demo-static-sim" >second.out
		error_of 1 1001 2000 >>ends
		error_of 2 1 200 >>begins
		most_of 1 1001 2000 >>most_ends
		most_of 2 1 200 >>most_begins
	done
	echo "# simulated, mean error, the middle one of fifteen pairs of runs: last 1,000 launches of the first run" \
		"$(middle ends) %, first 200 of the second $(middle begins) %; pairs: $(paste -sd' ' begins);" \
		"without a twentieth $(middle most_ends) and $(middle most_begins) %" >&3
	within "$(middle most_begins)" 0 "$(awk -v e="$(middle most_ends)" 'BEGIN { print 1.3 * e + 0.3 }')" \
		"mean error of most of the second run's first launches in the middle pair, %"
	within "$(mean begins)" 0 "$(awk -v e="$(mean ends)" 'BEGIN { print 3 * (1.3 * e + 0.3) }')" \
		"mean error of the second run's first launches in all pairs, %"
}

@test "--fresh begins knowing nothing; so does another program" {
	"$kerncast" run -q "$build/demo-static-sim" >first.out
	"$kerncast" run -q --fresh "$build/demo-static-sim" >second.out
	within "$(first_seen 2)" 6 500 "first seen in a fresh run"
	cp "$build/demo-static-sim" renamed
	"$kerncast" run -q ./renamed >third.out
	within "$(first_seen 3)" 6 500 "first seen by another program"
}

@test "a rebuilt program begins with its predecessor's times, and they are new to it" {
	# The same kernels from another fatbin: PTX and machine code beside machine code alone
	cp "$build/sizes/sizes-sim" program
	export SIMCUDA_COSTS=$root/cuda_tests/sizes/sizes.costs
	"$kerncast" run -q ./program 1048576 1 >first.out
	cp "$build/sizes/sizes-sass-sim" program
	"$kerncast" run -q ./program 1048576 1 >second.out
	equal "$(sql 'SELECT count(DISTINCT code_hash) FROM kernel')" 2 "codes"
	equal "$(sql 'SELECT novelty, model FROM launch WHERE run = 2')" "first_seen|bsp-shape" "the new code's first launch"
	within "$(error_of 2 1 1)" 0 10 "its error, %"
}

# Its row says that it has not ended, and no command has found its journal: its pid tells.
@test "a run that was killed leaves what it had learned" {
	export KERNCAST_DB=$PWD/kerncast.db
	LD_PRELOAD=$library "$build/demo-static-sim" --rounds 1000000 >first.out &
	for _ in {1..200}; do
		[[ $(sql 'SELECT count(*) FROM learned' 2>/dev/null) != 1 ]] || break
		sleep 0.1
	done
	kill -KILL $!
	wait || true
	LD_PRELOAD=$library "$build/demo-static-sim" --rounds 25 >second.out
	equal "$(sql 'SELECT ended FROM process WHERE id = 1; SELECT source FROM past WHERE process = 2')" $'\n1' "what the second began with"
	equal "$(sql "SELECT count(*) FROM launch WHERE process = 2 AND novelty = 'first_seen'")" 0 "first seen in the second run"
}

@test "each rank of a second run knows its own GPU, whichever rank of the first one ended last" {
	local ranks="SIMCUDA_DEVICE=a100 $build/demo-static-sim --rounds 25 & SIMCUDA_DEVICE=v100 $build/demo-static-sim --rounds 25 & wait"
	"$kerncast" run -q bash -c "$ranks" >first.out
	"$kerncast" run -q bash -c "$ranks" >second.out
	equal "$(sql 'SELECT count(DISTINCT device), count(*) FROM launch WHERE run = 2')" "2|400" "devices and launches of the second run"
	equal "$(first_seen 2)" 0 "first seen in the second run"
}
