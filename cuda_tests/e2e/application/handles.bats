# The handles of kernels: a CUkernel where a CUfunction is expected, the reverse, and code that was loaded by calls
# which nobody sees. In each case launches = predicted = measured.
load ../common

accounted() { # LAUNCHES
	equal "$(<shimmed.status)|$(<shimmed.err)" "0|" "exit status and what is said"
	equal "$(counted kernels)" "$1" "kernels executed"
	equal "$(sql 'SELECT count(*), count(solo_ns), count(measured_end_ns) FROM launch')" "$1|$1|$1" \
		"launches, predicted, measured"
	equal "$(sql 'SELECT count(*) FROM launch WHERE unpredictable IS NOT NULL')" 0 "unpredictable"
	ledger_adds_up
}

@test "the stand-in takes a handle of the other kind where cuda.h says so, and nowhere else" {
	equal "$("$build/awkward/two_handles" refused)" refused "calls that were not refused"
}

@test "cudart by every kind of handle, its code loaded in sight and out of it" {
	local handles loads unseen
	for handles in kernel function; do
		for loads in public private; do
			export SIMCUDA_HANDLES=$handles SIMCUDA_LOADS=$loads
			unchanged_under_run "$build/demo-static-sim" --rounds 50
			accounted 400
			unseen=0 && [[ $loads == private ]] && unseen=6
			equal "$(report '$.ledger.loads_unseen')" "$unseen" "kernels of unseen code, $handles, $loads"
			equal "$(sql "SELECT count(*), sum(code = 'not seen') FROM kernel")" "6|$unseen" "kernels, unseen ones"
			rm kerncast.db*
		done
	done
}

@test "cudart's graphs by every kind of handle, its code loaded in sight and out of it" {
	local handles loads
	for handles in kernel function; do
		for loads in public private; do
			export SIMCUDA_HANDLES=$handles SIMCUDA_LOADS=$loads
			unchanged_under_run "$build/matrix/sim/runtime_graph"
			accounted "$(counted kernels)"
			rm kerncast.db*
		done
	done
}

@test "by injection: kinds of handles are known, too, and code that is loaded in sight is read" {
	local handles loads
	for handles in kernel function; do
		for loads in public private; do
			rm -f "$SIMCUDA_LOG" kerncast.db*
			keep shimmed env CUDA_INJECTION64_PATH="$library" KERNCAST_QUIET=1 SIMCUDA_HANDLES=$handles \
				SIMCUDA_LOADS=$loads "$build/demo-static-sim" --rounds 50
			accounted 400
			equal "$(sql "SELECT count(*) FROM kernel WHERE code = 'not seen'")" \
				"$([[ $loads == private ]] && echo 6 || echo 0)" "kernels of unseen code, $handles, $loads"
		done
	done
}

@test "a CUkernel and its CUfunction are one kernel, whichever is launched first, in graphs, too" {
	local first through
	for first in kernel function; do
		for through in "LD_PRELOAD=$library" "CUDA_INJECTION64_PATH=$library"; do
			rm -f "$SIMCUDA_LOG" kerncast.db*
			keep shimmed env "$through" KERNCAST_QUIET=1 "$build/awkward/two_handles" "$first"
			accounted 20
			equal "$(sql 'SELECT count(*), min(name) FROM kernel')" "1|awkward" "kernels, $first first, $through"
			equal "$(report '$.ledger.loads_unseen')" 0 "kernels of unseen code"
		done
	done
}
