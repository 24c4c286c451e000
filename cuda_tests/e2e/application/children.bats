# Children of a recorded process, also those that no handler of fork() runs in: they add nothing to its record.
# Runs in real time.
load ../common

children=$build/awkward/children

# The limit is shorter than the wait at exit, which is no child's.
watched=(timeout 60 env LD_PRELOAD="$library" KERNCAST_FLUSH_MS=600000)

# Output and status are those without kerncast. The parent kills itself: 200 launches, by the journal that it leaves.
unchanged() { # HOW [launch]
	keep plain "$children" "$@"
	rm -f "$SIMCUDA_LOG"
	keep shimmed "${watched[@]}" "$children" "$@"
	diff plain.out shimmed.out
	diff plain.status shimmed.status
	equal "$(<plain.status)" 137 "exit status of the parent"
	contains "$(<plain.out)" "child ended with 7"
	"$kerncast" recover
	ledger_adds_up
}

parent_alone() {
	diff plain.err shimmed.err
	equal "$(sql "SELECT ended FROM process")" killed "how the parent ended"
	equal "$(sql "SELECT count(*) FROM launch")" 200 "rows in launch"
	equal "$(sql "SELECT count(*) FROM message")" 0 "rows in message"
}

@test "fork(), the child ends: nothing of the parent's record changes" {
	unchanged fork
	parent_alone
}

@test "_Fork(), the child ends: it does not wait and does not end the parent's record" {
	unchanged _Fork
	parent_alone
}

@test "clone(), the child ends: it does not wait and does not end the parent's record" {
	unchanged clone
	parent_alone
}

# The simulated driver goes on working in such a child. It is left alone: a lock that a thread of the parent held is
# never released in it. Not measured, as the stand-in of CUPTI has such a lock, which a flush in the parent holds.
@test "_Fork(), the child launches: it is left alone" {
	KERNCAST_MEASURE=off unchanged _Fork launch
	parent_alone
}

@test "clone(), the child launches: it is left alone" {
	KERNCAST_MEASURE=off unchanged clone launch
	parent_alone
}

@test "clone() before CUDA is used: the child is recorded" {
	keep plain "$children" clone-first
	rm -f "$SIMCUDA_LOG"
	keep shimmed "${watched[@]}" "$children" clone-first
	same plain shimmed
	equal "$(sql "SELECT ended, count(*) FROM launch JOIN process ON process.id = launch.process")" "exit|100" \
		"the child and its launches"
}

@test "no GPU: said by the parent and by a child that fork() made" {
	export SIMCUDA_FAULT=no-device
	keep plain "$children" fork init
	keep shimmed "${watched[@]}" "$children" fork init
	diff plain.out shimmed.out
	diff plain.status shimmed.status
	equal "$(grep -c 'found no GPU' shimmed.err)" 2 "lines"
}

# An answer takes 2 ms, and about half of the time one is under way.
@test "fork() while NVML is asked how the GPUs are: the children can use it" {
	export SIMCUDA_NVML_MS=2
	equal "$("$kerncast" run -q --gpu-state 10ms "$children" nvml)" "50 children were answered"
	within "$(sql "SELECT count(*) FROM gpu_state")" 1 100 "states"
}
