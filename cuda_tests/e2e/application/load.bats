# More launches than can be followed: each is accounted for, and which ones have no measured time depends on no kernel.
load ../common

# With a library that writes down how long kerncast makes the exit wait.
watched() { # FLUSH_MS COMMAND...
	rm -f waits
	EXIT_WAITS=$PWD/waits KERNCAST_FLUSH_MS=$1 LD_PRELOAD=$build/awkward/exit_waits.so:$library "${@:2}"
}

# All waits together end by the time that the first may take, however long the machine then lets the thread sleep.
waits_within() { # FLUSH_MS
	awk -v left=$(($1 * 1000000)) '
		$2 - $1 > left { print "a wait may take " $2 - $1 " ns, with " left " ns left"; failed = 1 }
		{ left -= ($3 < $2 ? $3 : $2) - $1; if (left < 0) left = 0 }
		END { exit failed || !NR }' waits || { echo "waits of an exit within $1 ms:"; cat waits; return 1; }
}

flood() { # THREADS: for a second, with two seconds for the exit. Leaves launches.
	launches=$(watched 2000 env KERNCAST_DB=kerncast.db "$build/awkward/flood" "$1" 1 2>flood.err)
	echo "$launches launches"
	cat flood.err
}

accounted_for() {
	"$kerncast" recover kerncast.db
	equal "$(sql 'SELECT count(*) FROM launch')" "$launches" "rows"
	equal "$(sql "SELECT sum(count) FROM ledger WHERE item IN ('dropped', 'after_end')")" 0 "launches without a row"
	ledger_adds_up
	ls -A ./*.kcj 2>/dev/null && return 1
	# Seven sizes, launched in turn.
	within "$(sql 'SELECT max(share) - min(share)
		FROM (SELECT avg(measured_end_ns IS NOT NULL) AS share FROM launch GROUP BY grid_x)')" 0 0.05 \
		"difference between the measured shares of launches of seven sizes"
}

@test "one thread as fast as it can, and eight: every launch has a row, and no kernel is measured less than others" {
	local threads launches
	for threads in 1 8; do
		rm -f kerncast.db*
		flood $threads
		waits_within 2000
		accounted_for
	done
}

@test "threads that launch on while the program ends: the exit waits for KERNCAST_FLUSH_MS in all" {
	local how flush_ms
	export KERNCAST_QUIET=1
	for how in exit return; do
		for flush_ms in 1 40 2000; do
			rm -f kerncast.db*
			keep shimmed watched "$flush_ms" "$build/awkward/exit" "$how" 8
			equal "$(<shimmed.status)" 5 "exit status"
			waits_within "$flush_ms"
		done
	done
}

@test "an answer of NVML that is under way when the program ends is waited for within the same time" {
	export KERNCAST_QUIET=1 KERNCAST_GPU_STATE=10ms SIMCUDA_NVML_MS=900
	watched 40 "$build/awkward/flood" 1 1 >/dev/null
	waits_within 40
	# Half of it at most: the rest is for the measurements.
	within "$(awk 'NR == 1 { print $2 - $1 }' waits)" 1 20000000 "ns that the first may take"
}

@test "no thread of ours is of the real-time class of the thread that calls cuInit; of a lower class it is" {
	local policy
	for policy in fifo rr idle; do
		keep plain "$build/awkward/real_time" "$policy"
		[[ $(<plain.status) != 77 ]] || skip "may not have the policy $policy"
		equal "$(<plain.out)" "" "threads of ours without kerncast"
		keep shimmed preloaded "$build/awkward/real_time" "$policy"
		equal "$(<shimmed.status)" 0 "exit status"
		within "$(wc -l <shimmed.out)" 1 16 "threads of ours"
		# SCHED_OTHER is 0, SCHED_IDLE 5.
		equal "$(sort -u shimmed.out)" "$([[ $policy == idle ]] && echo 5 || echo 0)" "policies under $policy"
	done
}
