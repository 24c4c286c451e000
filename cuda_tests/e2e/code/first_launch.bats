# A kernel's first launch is predicted from its code: that was read ahead, or the launch waits for it.
# Runs in real time.
load ../common

first=$build/awkward/first

module() { # KERNELS COMMENTS: PTX of k0, k1, … of one addition each, and lines of comments
	local i
	printf '.version 8.0\n.target sm_75\n.address_size 64\n'
	yes "// $(printf '%.0s-' {1..90})" | head -n "$2"
	for ((i = 0; i < $1; i++)); do
		printf '.visible .entry k%d(.param .u64 p0, .param .u32 p1)\n{\n.reg .f32 %%f<4>;\n' "$i"
		printf 'add.f32 %%f1, %%f2, %%f3;\nret;\n}\n'
	done
}

runs() { # WAIT COMMAND...: into a database of its own
	rm -f kerncast.db*
	SIMCUDA_DEVICE=A100 timeout 100 "$kerncast" run -q --wait-for-code="$1" -- "${@:2}" >/dev/null
}

firsts() { # by which models the first launches of all kernels were predicted
	sql "SELECT group_concat(model || ' ' || n) FROM (SELECT model, count(*) AS n FROM launch WHERE sequence IN
		(SELECT min(sequence) FROM launch GROUP BY process, kernel) GROUP BY model)"
}

@test "every kernel of a program is predicted from its code from the first launch on" {
	local program
	for program in demo-static-sim demo-shared; do
		runs 5s "$build/$program" --rounds 2
		equal "$(firsts)" "bsp-code 6" "$program"
	done
	runs 5s "$build/demo-static-sim" --rounds 2 --threads 8
	equal "$(firsts)" "bsp-code 6" "eight threads"
	ledger_adds_up
}

by_device() { # the very first launch, before which nobody has asked for code
	equal "$(sql "SELECT model FROM launch ORDER BY sequence LIMIT 1")" bsp-device "model of the first launch"
}

# 3 MB of text are more than is read ahead.
@test "a launch waits for its kernel's code, and does not where that is turned off" {
	module 3 30000 >module.ptx
	local try
	for try in 1 2 3; do # on a busy machine the launch may come late, and the code be read by then
		runs 0 "$first" module.ptx 3 0
		[[ $(sql "SELECT model FROM launch ORDER BY sequence LIMIT 1") != bsp-device ]] || break
	done
	by_device
	runs 10s "$first" module.ptx 3 0
	equal "$(firsts)" "bsp-code 3" "waiting"
}

# While one of them is read, the others wait.
@test "launches of four modules at once: each waits for its code, which is read to its end" {
	local lines
	for lines in 30000 30001 30002 30003; do
		module 1 $lines >$lines.ptx
	done
	runs 5s "$first" 30000.ptx 1 0 beside 3000[123].ptx
	equal "$(sql 'SELECT count(*) FROM launch')" 4 launches
	equal "$(firsts)" "bsp-code 4" "waiting"
}

@test "a module is read while the program does something else" {
	module 200 100 >module.ptx
	runs 0 "$first" module.ptx 200 3000
	equal "$(firsts)" "bsp-code 200"
	equal "$(sql "SELECT count(*) FROM kernel WHERE code = 'read'")" 200
	equal "$(per_thread 1)|$(per_thread 10)" "1|1" "add, control"
}

@test "kernels that two devices have launched are read for both" {
	local devices
	module 3 30000 >module.ptx
	for devices in A100,A100 A100,H200; do
		rm -f kerncast.db*
		SIMCUDA_DEVICE=$devices timeout 100 "$kerncast" run -q --wait-for-code=0 -- "$first" module.ptx 3 2000 devices
		equal "$(sql "SELECT group_concat(n) FROM (SELECT count(*) AS n FROM engine_event WHERE kind = 'formula' GROUP BY device)")" \
			3,3 "formulas by device, $devices"
	done
}

# By the first launch the reader has nothing more to do, and sleeps.
@test "code that no launch waits for is read all the same, and before the program ends" {
	module 3 30000 >module.ptx
	local try
	for try in 1 2 3; do # on a busy machine the launch may come late, and the code be read by then
		runs 0 "$first" module.ptx 3 2000 again
		[[ $(sql "SELECT model FROM launch ORDER BY sequence LIMIT 1") != bsp-device ]] || break
	done
	by_device
	equal "$(sql "SELECT count(*) FROM engine_event WHERE kind = 'formula' AND number <= (SELECT max(known_events) FROM launch)")" \
		3 "kernels read before they were launched again"
	# Damaged: nothing is predicted of kernels whose rows are gone.
	sql "DELETE FROM kernel"
	equal "$("$kerncast" replay --json | jq .predicted)" 0 "predicted of a damaged database"
}

@test "kernels in graphs, captured and made call by call" {
	local how
	module 3 30000 >module.ptx
	for how in captured nodes; do
		runs 10s "$first" module.ptx 3 0 "$how"
		equal "$(firsts)" "bsp-code 3" "$how"
		equal "$(sql "SELECT count(*) FROM launch WHERE api = 'cuGraphLaunch'")" 3 "$how"
	done
}

@test "a file whose place a FIFO has taken keeps neither launches nor the exit" {
	module 3 30000 >module.ptx
	runs 1ms "$first" module.ptx 3 0 pipe
	equal "$(sql 'SELECT count(*) FROM launch')" 3
	ledger_adds_up
}

@test "what is given for the wait" {
	local wrong
	for wrong in 1 soon 11s -1ms; do
		run "$kerncast" run -q --wait-for-code="$wrong" -- true
		[[ $status -ne 0 ]] || { echo "$wrong is taken"; return 1; }
	done
	"$kerncast" run -q --wait-for-code=200us -- true
}
