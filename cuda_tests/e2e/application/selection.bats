# Recording what is asked for: from when to when, while a file exists, between signals, of some kernels, every Nth.
# Runs in real time.
load ../common

demo=(--rounds 250) # 2,000 launches

ledger() { # KEY [DB]
	report "\$.ledger.$1" "${2-}"
}

# Everything that was launched has a row or is said not to have been asked for, and no record is left over.
all_is_said() {
	ledger_adds_up
	equal "$(sql 'SELECT count(*) FROM launch')" "$(ledger launches)" "rows"
	equal "$(($(ledger launches) + $(ledger not_asked)))" "$(counted kernels)" "launches and those not asked for"
	equal "$(ledger unmatched)|$(ledger dropped)|$(ledger measured)" "0|0|$(ledger launches)" "unmatched, dropped, measured"
	equal "$(($(ledger transfers) + $(ledger transfers_not_asked)))" "$(($(counted copies) + $(counted memsets)))" "transfers"
	equal "$(ledger transfers_unmatched)" 0 "transfers unmatched"
}

reasons() { # kernel, every, before, after, stopped
	report '$.ledger.not_asked_reasons' | tr -d '{}"' | tr , ' '
}

# Each stored launch is predicted by the replay as it was in the run.
again() {
	"$kerncast" replay --csv kerncast.db >replayed.csv
	sqlite3 -batch -bail :memory: ".mode csv" ".import replayed.csv replayed" "ATTACH 'kerncast.db' AS k" ".mode list" "
		SELECT count(*) || '|' || sum(l.solo_ns = r.solo_ns + 0 AND l.start_ns - p.started_ns = r.start_ns + 0
			AND l.end_ns - p.started_ns = r.end_ns + 0)
		FROM k.launch l JOIN k.process p ON p.id = l.process
		LEFT JOIN replayed r ON r.process + 0 = l.process AND r.sequence + 0 = l.sequence" >same
	equal "$(cut -d'|' -f1 same)" "$(cut -d'|' -f2 same)" "launches predicted again as in the run"
}

# --- a program that does what it is told

steer() { # VARIABLE=VALUE...: starts it, preloaded
	mkfifo told answered
	env "$@" KERNCAST_QUIET=1 LD_PRELOAD="$library" timeout 200 "$build/awkward/steered" <told >answered 2>steered.err 3>&- &
	exec 8>told 9<answered
}

tell() { # LINE: leaves its answer in $answer
	echo "$1" >&8
	read -r -t 150 answer <&9
}

process() { # its pid: timeout's only child
	pgrep -P $!
}

finish() {
	exec 8>&- 9<&-
	wait
}

# Launches until SQL says something other than 0.
launch_until() { # SQL
	local looks
	for ((looks = 0; looks < 2000; looks++)); do
		tell 10
		[[ -s kerncast.db && $(sql "$1" 2>/dev/null) == [1-9]* ]] && return 0
	done
	echo "never: $1"
	return 1
}

rows='SELECT count(*) FROM launch'
stopped="SELECT count FROM ledger WHERE item = 'not_asked_stopped'"

# Once launches are recorded: launches until COMMAND has stopped that, and more are not asked for than before it began.
launch_until_stopped_by() { # COMMAND...
	local before
	launch_until "$stopped"
	launch_until "SELECT count(*) > $(sql "$rows") + 50 FROM launch"
	before=$(sql "$stopped")
	"$@"
	launch_until "$stopped AND count > $before + 10"
}

@test "--after N and --for N record exactly these launches, and the replay predicts them again" {
	unchanged_under_run "$build/demo-static-sim" "${demo[@]}" # without: what the options are compared with
	rm -f kerncast.db "$SIMCUDA_LOG"
	keep shimmed "$kerncast" run -q --after 700 --for 900 "$build/demo-static-sim" "${demo[@]}"
	same plain shimmed
	equal "$(reasons)" "kernel:0 every:0 before:700 after:400 stopped:0"
	all_is_said
	again
	contains "$("$kerncast" report)" "not asked for          1,100   700 before --after, 400 after --for; and "
}

@test "--after N counts the kernels of graphs, and a graph is recorded whole" {
	steer KERNCAST_AFTER=8 KERNCAST_FOR=10
	tell graph
	tell "graphs 6" # three launches of it before, three and a third after: four
	finish
	equal "$(reasons)" "kernel:0 every:0 before:9 after:0 stopped:0"
	all_is_said
	rm -f kerncast.db told answered "$SIMCUDA_LOG"
	steer KERNCAST_AFTER=8 KERNCAST_FOR=10
	tell graph
	tell "graphs 9"
	finish
	equal "$(reasons)" "kernel:0 every:0 before:9 after:6 stopped:0"
	equal "$(ledger launches)" 12
	all_is_said
	again
}

@test "a kernel whose code is read before its first launch is predicted is predicted again as it was" {
	steer
	tell graph
	tell slow
	tell "graphs 1"
	tell "graphs 20"
	finish
	sql 'SELECT min(known_events) FROM launch' # 1, unless the worker got no turn in 20 ms
	again
}

@test "--after TIME and --for TIME count from cuInit" {
	steer KERNCAST_AFTER=300ms KERNCAST_FOR=2s
	launch_until "$rows"
	tell streams
	launch_until "SELECT count FROM ledger WHERE item = 'not_asked_after'"
	finish
	all_is_said
	within "$(sql 'SELECT (min(launched_ns) - started_ns) / 1000000 FROM launch JOIN process')" 300 30000 "ms before the first"
	within "$(sql 'SELECT (max(launched_ns) - min(launched_ns)) / 1000000 FROM launch')" 0 30000 "ms between first and last"
	again
}

@test "--while FILE: what is launched without it is counted, and streams and graphs made meanwhile are known" {
	local old
	steer KERNCAST_WHILE=record
	tell graph
	tell 100
	touch record
	launch_until "$rows"
	tell "graphs 2"
	tell 100
	launch_until_stopped_by rm record
	old=$(sql 'SELECT max(id) FROM stream')
	tell streams
	tell graph
	touch record
	launch_until "$rows WHERE stream > $old"
	tell "graphs 2"
	finish
	within "$(sql 'SELECT count(*) FROM launch WHERE graph_launch IS NOT NULL')" 12 12 "kernels of graphs"
	all_is_said
	again
}

@test "CUPTI's ids of graphs are wrong from the second time on: counted, and nothing gets another's time" {
	local recorded
	export SIMCUDA_FAULT=cupti-graph-ids
	steer KERNCAST_WHILE=record
	tell graph
	tell 10
	touch record
	launch_until_stopped_by rm record
	recorded=$(sql 'SELECT max(sequence) FROM launch')
	touch record
	launch_until "$rows WHERE sequence > $recorded"
	tell "graphs 4"
	tell 100
	finish
	equal "$(sql "SELECT count(*) FROM launch WHERE graph_launch IS NOT NULL AND unmeasured = 'not_delivered'")" 12 \
		"kernels of graphs without a time"
	equal "$(sql 'SELECT count(*) FROM launch WHERE graph_launch IS NULL AND measured_end_ns IS NULL')" 0 \
		"others without one"
	ledger_adds_up
}

@test "while nothing is asked for CUPTI measures nothing, and it does so again when something is" {
	local looks before=none
	steer KERNCAST_WHILE=record
	tell 100
	for ((looks = 0; looks < 200; looks++)); do
		before=$(counted cupti_buffers)
		tell 2000
		[[ $(counted cupti_buffers) == "$before" ]] && break
	done
	equal "$(counted cupti_buffers)" "$before" "buffers that CUPTI asked for"
	touch record
	launch_until "$rows"
	finish
	equal "$(ledger measured)" "$(ledger launches)" "measured"
	all_is_said
}

@test "--signal: it starts and stops, and a forked child dies of it as it did before" {
	steer KERNCAST_SIGNAL=USR1
	tell 100
	tell child
	equal "$answer" "$(kill -l USR1)" "the signal that ends a child"
	kill -USR1 "$(process)"
	launch_until_stopped_by kill -USR1 "$(process)"
	finish
	equal "$(sql 'SELECT count(*) FROM message')" 0 "messages"
	all_is_said
	again
}

@test "--signal: a handler of the program's own, from before or from later on, has it alone" {
	local when
	for when in handle ignore; do
		rm -f kerncast.db told answered "$SIMCUDA_LOG"
		steer KERNCAST_SIGNAL=usr1
		tell $when
		tell 10
		kill -USR1 "$(process)"
		launch_until "SELECT count(*) FROM message WHERE code = 'SIGNAL_TAKEN'"
		tell signals
		finish
		equal "$answer" "$([[ $when == handle ]] && echo 1 || echo 0)" "signals handled by the program"
		equal "$(sql "$rows")" 0 "launches recorded"
		all_is_said
	done
	rm -f kerncast.db told answered "$SIMCUDA_LOG"
	steer KERNCAST_SIGNAL=USR1
	tell 10
	kill -USR1 "$(process)"
	launch_until "$rows"
	tell handle
	kill -USR1 "$(process)"
	launch_until "SELECT count(*) FROM message WHERE code = 'SIGNAL_TAKEN'"
	tell signals
	finish
	equal "$answer" 1 "signals handled by the program"
	all_is_said
}

@test "--kernel: the others are on the timeline, measured and learned from, but not stored" {
	keep shimmed "$kerncast" run -q --kernel '^_Z[0-9]+(transpose|saxpy)' "$build/demo-static-sim" "${demo[@]}"
	equal "$(<shimmed.status)" 0
	equal "$(reasons)" "kernel:1500 every:0 before:0 after:0 stopped:0"
	equal "$(sql 'SELECT group_concat(name) FROM (SELECT DISTINCT name FROM launch l JOIN kernel k ON k.id = l.kernel ORDER BY 1)')" \
		"saxpy(int, float, float const*, float*),transpose(int, float const*, float*)"
	all_is_said
	# What they ran beside is not here.
	within "$(sql "SELECT count(*) FROM launch WHERE overlapped")" 50 500 "overlapped"
	equal "$(sql 'SELECT (SELECT count(*) FROM transfer) + (SELECT count(*) FROM lambda) + (SELECT count(*) FROM stream_call)')" 0
	contains "$("$kerncast" replay)" "500 launches were chosen by --kernel or --every"
	"$kerncast" replay --json >replay.json
	equal "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('replay.json') AS TEXT), '\$.chosen_launches')")" 500
}

@test "--kernel and --every choose among the kernels of graphs, too" {
	steer KERNCAST_KERNEL=another
	tell graph
	tell "graphs 4" # of three kernels
	finish
	equal "$(reasons)" "kernel:12 every:0 before:0 after:0 stopped:0"
	equal "$(sql "$rows")" 0 "launches"
	rm -f kerncast.db told answered "$SIMCUDA_LOG"
	steer KERNCAST_EVERY=4
	tell graph
	tell "graphs 4"
	finish
	equal "$(reasons)" "kernel:0 every:9 before:0 after:0 stopped:0"
	equal "$(sql "$rows")" 3 "launches"
	all_is_said
}

@test "--every N: the first launch of each kernel and every Nth after it" {
	keep shimmed "$kerncast" run -q --every 25 "$build/demo-static-sim" "${demo[@]}"
	equal "$(sql 'SELECT group_concat(n) FROM (SELECT count(*) AS n FROM launch GROUP BY kernel ORDER BY 1)')" \
		"10,10,10,10,10,30"
	equal "$(reasons)" "kernel:0 every:1920 before:0 after:0 stopped:0"
	all_is_said
}

@test "--kernel together with --every, --after and --for, in a run that was killed" {
	steer KERNCAST_KERNEL=awk KERNCAST_EVERY=10 KERNCAST_AFTER=100 KERNCAST_FOR=500
	tell 100
	tell 500
	tell 100
	kill -KILL "$(process)"
	finish
	"$kerncast" recover >/dev/null 2>&1
	equal "$(reasons)" "kernel:0 every:450 before:100 after:100 stopped:0"
	equal "$(sql "$rows")" 50 "launches"
	ledger_adds_up
}

@test "the journal's room is used again after launches that are not asked for" {
	local i
	# It holds 36,157 slots of 232 bytes at a time. How many launches find none depends on the worker's turns.
	steer SIMCUDA_MODE=null KERNCAST_MEASURE=off KERNCAST_JOURNAL_MAX=8M KERNCAST_KERNEL=nothing
	for ((i = 0; i < 40; i++)); do
		tell 2000
		sleep 0.02
	done
	finish
	within "$(ledger not_asked)" 36158 80000 "launches that found room"
	equal "$(($(ledger not_asked) + $(ledger dropped)))" 80000 "those and the dropped ones"
}

@test "values that cannot be: refused by kerncast run, and named" {
	local option
	for option in "--kernel (" "--every 0" "--every 5s" "--after soon" "--for 0" "--for 1.5h" "--signal KILL"; do
		# shellcheck disable=SC2086 # two words
		keep wrong "$kerncast" run $option true
		equal "$(<wrong.status)" 2 "$option"
		contains "$(<wrong.err)" "${option%% *} takes "
	done
}
