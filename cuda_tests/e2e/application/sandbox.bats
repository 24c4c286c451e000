# Sandboxes, such as gVisor, whose kernels lack some system calls. Here a filter answers them so.
load ../common

inside() { # KIND COMMAND...
	"$build/awkward/sandbox" "$@"
}

@test "the filter refuses what it says" {
	command -v flock >/dev/null || skip "no flock"
	inside gvisor flock lock true
	run inside poor flock lock true
	contains "$output" "not implemented"
}

@test "a sandbox without some system calls: output unchanged, every launch is a row with a time" {
	local kind demo=("$build/demo-static-sim" --rounds 60)
	for kind in gvisor poor; do
		rm -f kerncast.db* "$SIMCUDA_LOG"
		keep plain inside $kind "${demo[@]}"
		rm "$SIMCUDA_LOG"
		keep shimmed inside $kind "$kerncast" run -q -- "${demo[@]}"
		same plain shimmed
		equal "$(sql 'SELECT count(*) FROM launch WHERE measured_end_ns IS NOT NULL')" "$(counted launches)" \
			"launches with a time, $kind"
		contains "$(inside $kind "$kerncast" report)" "$(sql 'SELECT count(*) FROM launch') launches"
		ledger_adds_up
	done
}

@test "a sandbox without some system calls: what a killed program launched is recovered in it" {
	local kind status
	for kind in gvisor poor; do
		rm -f kerncast.db* "$SIMCUDA_LOG"
		status=0
		inside $kind "$kerncast" run -q -- "$build/awkward/pauses" 60 40 killed <<<go >killed.out || status=$?
		equal "$status" 137 "exit status, that of SIGKILL"
		inside $kind "$kerncast" recover
		equal "$(sql 'SELECT count(*) FROM launch')" 100 "rows, $kind"
		ledger_adds_up
	done
}
