# kerncast replay of a recorded run: the same predictions again, from what was known when each was made.
load common

recorded() { # COMMAND...: into kerncast.db, which may have earlier runs
	"$kerncast" run -q -o kerncast.db -- "$@" >/dev/null
}

threads() { # N of stream_calls, doing WHAT
	recorded "$build/awkward/stream_calls" "$2" "$1"
}

# Leaves in compared.db the table `both`: each predicted launch, live beside the replay. Times count from the start of
# the process.
compare() {
	rm -f compared.db
	"$kerncast" replay --csv kerncast.db >replayed.csv
	sqlite3 -batch -bail compared.db ".mode csv" ".import replayed.csv replayed" "
		CREATE INDEX rows ON replayed(process + 0, sequence + 0);
		ATTACH 'kerncast.db' AS k;
		CREATE TABLE both AS SELECT l.process, l.sequence, l.stream, l.known_events AS known,
			l.launched_ns - p.started_ns AS launched, l.end_ns - p.started_ns AS end, r.end_ns + 0 AS end_again,
			l.novelty = r.novelty AS as_new,
			l.model = r.model AND l.solo_ns = r.solo_ns + 0 AND l.solo_low_ns = r.solo_low_ns + 0
			AND l.solo_high_ns = r.solo_high_ns + 0 AND l.start_ns - p.started_ns = r.start_ns + 0
			AND l.end_ns - p.started_ns = r.end_ns + 0 AS same
		FROM k.launch l JOIN k.process p ON p.id = l.process
		LEFT JOIN replayed r ON r.process + 0 = l.process AND r.sequence + 0 = l.sequence
		WHERE l.unpredictable IS NULL"
}

# Every launch of each process is predicted by the replay as it was in the run: model, solo time, interval, start and
# end. No command in a function ends a test where the function's result is asked for, as in `again ||`.
again() { # [PROCESSES]
	local process rows same new
	compare || return 1
	sql 'SELECT process, count(*), total(same), total(as_new) FROM both GROUP BY process' compared.db >each
	equal "$(grep -c . each)" "${1-1}" "processes" || return 1
	while IFS='|' read -r process rows same new; do
		echo "process $process: ${same%.*} of $rows the same, ${new%.*} as new"
		within "$rows" 50 1000000 "launches" || return 1
		equal "${same%.*}" "$rows" "the same" || return 1
		equal "${new%.*}" "$rows" "as new as they were" || return 1
	done <each
}

@test "the demo, three times on one database: each run again, with what it knew of those before" {
	recorded "$build/demo-static-sim" --rounds 25
	recorded "$build/demo-static-sim" --rounds 25
	recorded "$build/demo-static-sim" --rounds 25
	again 3
}

@test "where what a run began with is gone, the replay says so" {
	local says="launches are of processes that began with what an earlier run had learned, which is not in the database any more"
	recorded "$build/demo-static-sim" --rounds 25
	recorded "$build/demo-static-sim" --rounds 25
	[[ $("$kerncast" replay --run all) != *"$says"* ]]
	sql "UPDATE learned SET checksum = checksum + 1, snapshot = randomblob(64) WHERE process = 1"
	contains "$("$kerncast" replay --run all)" "200 $says"
	"$kerncast" replay --run all --json >replay.json
	equal "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('replay.json') AS TEXT), '\$.past_missing_launches')")" 200
}

@test "the demo on eight threads, twice" {
	recorded "$build/demo-static-sim" --threads 8 --rounds 25
	recorded "$build/demo-static-sim" --threads 8 --rounds 25
	again 2
}

@test "kernels whose work is read from arguments that change" {
	export SIMCUDA_COSTS=$root/cuda_tests/sizes/sizes.costs
	recorded "$build/sizes/sizes-sim" 1024 20
	recorded "$build/sizes/sizes-sim" 1024 20 grid
	compare
	equal "$(sql 'SELECT count(*), total(same), total(as_new) FROM both' compared.db)" "40|40.0|40.0"
}

@test "graphs, of the runtime and of the driver" {
	recorded "$build/matrix/sim/runtime_graph" --threads 1
	recorded "$build/matrix/driver/linked_driver_graph" --threads 1
	again 2
}

@test "a large graph, launched again and again" {
	recorded "$build/awkward/large_graph" captured 2000 8
	again
}

@test "a graph with copies, which no replay tells its timeline of" {
	recorded "$build/awkward/graph_copies" mixed 60
	again
}

@test "graphs measured as one" {
	recorded env KERNCAST_GRAPHS=whole "$build/matrix/sim/runtime_graph" --threads 1
	recorded env KERNCAST_GRAPHS=whole "$build/awkward/large_graph" captured 2000 8
	again 2
	recorded env KERNCAST_GRAPHS=whole "$build/matrix/sim/runtime_graph" --threads 8
	again 3
}

@test "graphs on eight threads" {
	recorded "$build/matrix/sim/runtime_graph" --threads 8
	again
}

# Kernels whose code is read when the program says so.
held_back() { # LINE...
	printf '%s\n' "$@" | "$kerncast" run -q -o kerncast.db -- "$build/awkward/held_back"
}

@test "a graph whose kernels' code is read after it is made, and before it is launched" {
	local wait
	for wait in 0 1ms; do
		export KERNCAST_WAIT_FOR_CODE=$wait
		rm -f kerncast.db*
		held_back hold "graph plain 5 16, plain 5 16, plain 5 64" read "sleep 300" "graphs 1" sync "sleep 300" \
			"graphs 20" sync
		equal "$(sql 'SELECT min(known_events) FROM launch')" 0 "events known when the graph was made"
		again
		rm -f kerncast.db*
		held_back hold "graph loops 5 16, loops 9 64, plain 5 16" "launch loops 5 16" "launch plain 5 300" sync \
			"sleep 100" read "sleep 300" "graphs 1" sync "sleep 300" "graphs 20" "launch plain 5 300" sync
		again
	done
}

@test "launches whose arguments are too long to be kept until the code is read" {
	local kernel
	export KERNCAST_WAIT_FOR_CODE=0
	for kernel in large large_loops; do
		rm -f kerncast.db*
		held_back hold "launch $kernel 5 16" "launch $kernel 5 16" sync "sleep 300" "launch $kernel 7 16" \
			"graph $kernel 5 64, $kernel 7 16" read sync "sleep 300" "launch $kernel 5 16" "launch $kernel 7 16" \
			"graphs 1" sync "sleep 300" "launch $kernel 5 16" "launch $kernel 7 16" "graphs 25" sync
		again || { echo "$kernel"; return 1; }
	done
}

@test "calls that change when the work of a stream can begin" {
	local what
	for what in priorities lanes copies frees hosts events defaults failures waits all; do
		rm -f kerncast.db*
		threads 1 "$what"
		again || { echo "doing $what"; return 1; }
	done
	# The last did all: each of these calls has been recorded.
	equal "$(sql "SELECT group_concat(kind) FROM (SELECT DISTINCT kind FROM stream_call ORDER BY kind)")" \
		"1,2,3,4,5,6,7"
}

# stream_calls waits 289 times here, often again for what it has just waited for.
@test "a wait for a stream or device that is known to be idle is not recorded" {
	threads 1 waits
	within "$(sql "SELECT count(*) FROM stream_call WHERE kind IN (1, 2)")" 50 200 "waits recorded"
	again
}

@test "the same on eight threads" {
	local what
	for what in lanes copies events defaults failures waits; do
		rm -f kerncast.db*
		threads 8 "$what"
		again || { echo "doing $what"; return 1; }
	done
}

@test "two devices, alike and different, on two threads and on eight" {
	local devices count what
	for devices in A100,A100 A100,H200; do
		for count in 2 8; do
			for what in copies all; do
				rm -f kerncast.db*
				SIMCUDA_DEVICE=$devices threads "$count" "$what"
				equal "$(sql 'SELECT count(DISTINCT device) FROM launch')" 2 devices
				again || { echo "doing $what on $devices with $count threads"; return 1; }
			done
		done
	done
}

@test "processes that fork and children that launch" {
	recorded "$build/matrix/sim/process_fork_first"
	again 3
}

@test "a run that was killed, recovered" {
	LD_PRELOAD=$library KERNCAST_QUIET=1 KERNCAST_DB=$PWD/kerncast.db \
		"$build/demo-static-sim" --rounds 100000 >/dev/null 2>&1 3>&- &
	local pid=$! looks
	for ((looks = 0; looks < 1000 && $(counted launches) < 2000; looks++)); do
		sleep 0.02
	done
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null || true
	"$kerncast" recover >/dev/null 2>&1
	within "$(sql 'SELECT count(*) FROM launch')" 2000 1000000 "launches recovered"
	again
}

@test "records that CUPTI lost, and records without times" {
	SIMCUDA_FAULT=cupti-drop=10 recorded "$build/demo-static-sim" --rounds 25
	SIMCUDA_FAULT=cupti-zero-time=10 recorded "$build/demo-static-sim" --rounds 25
	again 2
}

@test "what one process measured and never decided is nothing to the next one" {
	recorded "$build/demo-static-sim" --rounds 20
	sql "UPDATE launch_row SET decided_after = 0" # as where the process was killed before
	"$kerncast" import "$root/cuda_tests/traces/raw/nvprof_k40_matmul.csv" -o kerncast.db
	keep alone "$kerncast" replay --csv --run 2 kerncast.db
	keep both "$kerncast" replay --csv kerncast.db
	equal "$(<both.status)" 0 "exit status"
	equal "$(wc -l <alone.out)" 33 "lines: a header and 32 launches"
	cmp <(grep -v '^1,' both.out) alone.out
}
