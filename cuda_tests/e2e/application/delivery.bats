# Measurements of a program that always has a kernel in flight, however CUPTI places its records.
load ../common

setup_file() {
	echo '*awkward* 2.8e5*blocks 0' >"$BATS_FILE_TMPDIR/costs" # cycles of a block: the only one takes 200 us at 1.41 GHz
}

ahead() { # ARGUMENT...: 2,000 launches, 256 of them in flight
	rm -f kerncast.db*
	keep shimmed env SIMCUDA_COSTS="$BATS_FILE_TMPDIR/costs" "$kerncast" run -q "$build/awkward/ahead" "$@"
	equal "$(<shimmed.status)|$(<shimmed.err)" "0|" "exit status and what is said"
	equal "$(sql 'SELECT count(*) FROM launch')" 2000 "launches"
}

@test "a program that always has a kernel in flight learns while it runs" {
	for SIMCUDA_CUPTI_PLACE in launch end; do
		export SIMCUDA_CUPTI_PLACE
		ahead
		equal "$(sql 'SELECT count(measured_end_ns) FROM launch')" 2000 "measured, place taken at $SIMCUDA_CUPTI_PLACE"
		equal "$(sql "SELECT count(*) FROM launch WHERE sequence > (SELECT avg(sequence) FROM launch)
			AND novelty <> 'repeated'")" 0 "predicted without a measurement in the second half"
	done
}

@test "kernels in flight at the exit: not delivered, neither invalid nor without a launch" {
	for how in SIMCUDA_CUPTI_PLACE=launch SIMCUDA_CUPTI_PLACE=end SIMCUDA_FAULT=cupti-incomplete-kind; do
		export "${how?}"
		ahead leave
		equal "$(sql "SELECT count(*), sum(unmeasured = 'not_delivered') FROM launch WHERE measured_end_ns IS NULL")" \
			"256|256" "in flight and not delivered, $how"
		equal "$(report '$.ledger.unmatched')" 0 "records without a launch, $how"
		ledger_adds_up
		unset "${how%=*}"
	done
}
