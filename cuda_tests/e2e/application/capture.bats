# Calls while a stream is being captured: what kerncast has to ask the driver
# then is not seen by the program, and not asked where nothing is recorded.
load ../common

capture=$build/awkward/capture

@test "errno is what the program's own calls leave in it, captured or not" {
	export SIMCUDA_FAULT=query-errno
	keep plain "$capture" errno
	equal "$(<plain.status)" 0 "status without kerncast"
	keep shimmed "$kerncast" run -q -- "$capture" errno
	same plain shimmed
	equal "$(report '$.ledger.captured')" 1 "captured launches"
}

@test "KERNCAST_DISABLE=1: the driver gets the program's calls and no other" {
	local calls
	keep plain "$capture" errno
	calls=$(counted calls)
	within "$calls" 40 1000 "calls without kerncast"
	rm "$SIMCUDA_LOG"
	keep shimmed env KERNCAST_DISABLE=1 LD_PRELOAD="$library" "$capture" errno
	same plain shimmed
	equal "$(counted calls)" "$calls" "calls"
}

@test "a recording that begins in mid-capture: captured launches are not treated as executed" {
	keep plain "$capture" late "$build/awkward/profiler_plugin.so"
	equal "$(counted kernels)" 7 "kernels executed"
	keep shimmed preloaded "$capture" late "$build/awkward/profiler_plugin.so"
	same plain shimmed
	equal "$(report '$.ledger.launches')" 7 launches
	equal "$(report '$.ledger.captured')" 3 captured
	equal "$(report '$.ledger.matched')" 7 matched
	ledger_adds_up
}
