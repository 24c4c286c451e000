# CUPTI's records carry the correlation id of the driver's call or that of the runtime call around it, or both calls
# have one. In each case launches = predicted = measured.
load ../common

# With CUPTI 13.0 records have the driver's id as long as nobody asks for the runtime's; of an older one it is not known.
cupti_with() { # IDS
	export SIMCUDA_CUPTI_IDS=$1
	[[ $1 == shared ]] || export SIMCUDA_CUPTI_VERSION=28 # of CUDA 12.9
}

accounted() { # WHAT
	local kernels
	kernels=$(counted kernels)
	equal "$(<shimmed.status)" 0 "exit status"
	equal "$(sql 'SELECT count(*), count(solo_ns), count(measured_end_ns) FROM launch')" "$kernels|$kernels|$kernels" \
		"launches, predicted, measured, $1"
	equal "$(report '$.ledger.matched')|$(report '$.ledger.unmatched')" "$kernels|0" "matched, unmatched, $1"
	ledger_adds_up
}

@test "the demo, cudart static and shared: every launch and every transfer is measured" {
	local ids program
	for ids in shared driver runtime; do
		for program in demo-static-sim demo-shared; do
			cupti_with $ids
			unchanged_under_run "$build/$program" --rounds 100
			accounted "$program, $ids"
			equal "$(sql 'SELECT count(*), count(measured_end_ns) FROM transfer')" "207|207" "transfers, $ids"
			equal "$(report '$.ledger.transfers_unmatched')" 0 "records of transfers that match none, $ids"
			rm kerncast.db*
		done
	done
}

@test "graphs, threads and copies of every kind" {
	local ids program
	for ids in shared driver runtime; do
		for program in runtime_graph runtime_ex runtime_cooperative; do
			cupti_with $ids
			unchanged_under_run "$build/matrix/sim/$program"
			accounted "$program, $ids"
			rm kerncast.db*
		done
		unchanged_under_run "$build/demo-static-sim" --threads 4 --rounds 100
		accounted "threads, $ids"
		rm kerncast.db*
	done
}

@test "a program of the driver API alone, which has one id for a call" {
	local ids
	for ids in driver runtime; do
		cupti_with $ids
		unchanged_under_run "$build/matrix/driver/linked_driver_launch"
		accounted "$ids"
		rm kerncast.db*
	done
}

@test "by injection, with and without the hooks" {
	local ids preload
	for ids in shared driver runtime; do
		for preload in "" "$library"; do
			rm -f "$SIMCUDA_LOG" kerncast.db*
			cupti_with $ids
			keep shimmed env CUDA_INJECTION64_PATH="$library" LD_PRELOAD="$preload" KERNCAST_QUIET=1 \
				"$build/demo-static-sim" --rounds 100
			accounted "$ids, preloaded: $preload"
		done
	done
}

# On an H100 the threads that were in a call of the runtime when its callbacks were switched off had one id from then on.
@test "no id is used twice" {
	local program
	for program in runtime_launch_ptds runtime_ex_ptds runtime_chevron; do
		unchanged_under_run "$build/matrix/sim/$program" --threads 8
		equal "$(sql 'SELECT count(DISTINCT correlation) FROM launch')" "$(counted kernels)" "ids, $program"
		accounted "$program"
		rm kerncast.db*
	done
}

# It is found out when records are first delivered: on a busy machine, that may be after half of the first try.
@test "where records of CUPTI 13 have the runtime's id after all, this is found out" {
	export SIMCUDA_CUPTI_IDS=runtime
	local rounds unmeasured
	for rounds in 2000 8000; do
		rm -f kerncast.db*
		"$kerncast" run -q "$build/demo-static-sim" --rounds $rounds >/dev/null
		ledger_adds_up
		unmeasured=$(sql "SELECT count(*) FROM launch WHERE measured_end_ns IS NULL
			AND sequence > (SELECT max(sequence) / 2 FROM launch)")
		((unmeasured == 0)) && break
	done
	equal "$unmeasured" 0 "launches of the second half that are not measured"
}
