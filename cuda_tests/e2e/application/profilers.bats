# The application's own profiler: it gets the CUPTI that it is linked to or has
# found, and the answers that this one gives without kerncast.
load ../common

profilers=$build/awkward/profilers
plugin=$build/awkward/profiler_plugin.so
old_plugin=$build/awkward/old_profiler_plugin.so
states=(KERNCAST_FRESH=1 KERNCAST_DISABLE=1 KERNCAST_MEASURE=off KERNCAST_CUPTI=/nowhere/libcupti.so)

# The same output with kerncast preloaded, in each of its states.
same_answers() { # ARGS of profilers
	local state
	keep plain "$profilers" "$@"
	equal "$(<plain.status)" 0 "status without kerncast"
	for state in "${states[@]}"; do
		echo "$state:"
		keep shimmed env "$state" KERNCAST_QUIET=1 LD_PRELOAD="$library" "$profilers" "$@"
		same plain shimmed
	done
}

@test "a plugin's own CUPTI, before the first cuInit" {
	same_answers before "$plugin"
	equal "$(head -n 1 plain.out)" "subscribe 0, found globally 0, register 0" "without kerncast"
}

@test "a plugin's own CUPTI, after a launch" {
	same_answers after "$plugin"
}

# By default CUPTI's times are of CLOCK_REALTIME, and it clears buffers: cupti_activity.h.
@test "a plugin that takes over finds CUPTI's clock and buffers as by default" {
	same_answers profile "$build/awkward/clock_plugin.so" plugin_begin
	equal "$(<plain.out)" "begin 0, kernels 3, in its time 3" "without kerncast"
}

@test "a plugin that takes over keeps the clock and the kinds of records that it chooses first" {
	local begin
	for begin in plugin_begin_with_clock plugin_begin_with_kinds; do
		same_answers profile "$build/awkward/clock_plugin.so" $begin
		equal "$(<plain.out)" "begin 0, kernels 3, in its time 3" "without kerncast, $begin"
	done
}

@test "a plugin that profiles before the first cuInit keeps CUPTI, which is said" {
	local begin
	for begin in plugin_begin plugin_begin_with_clock plugin_begin_with_kinds; do
		same_answers profile-early "$build/awkward/clock_plugin.so" $begin
		equal "$(<plain.out)" "begin 0, kernels 3, in its time 3" "without kerncast, $begin"
		rm -f kerncast.db*
		keep shimmed preloaded "$profilers" profile-early "$build/awkward/clock_plugin.so" $begin
		diff plain.out shimmed.out
		contains "$(<shimmed.err)" "another profiler holds CUPTI"
		equal "$(sql "SELECT count(*) FROM launch WHERE unmeasured = 'profiler_busy'")" 6 "launches left to it"
	done
}

@test "a plugin's own CUPTI, in a forked child" {
	same_answers child "$plugin"
}

@test "two plugins, each with a CUPTI of its own" {
	export LD_LIBRARY_PATH=$simcuda:$build/awkward/old_cupti
	same_answers before "$plugin" "$old_plugin" "$plugin"
	same_answers after "$old_plugin" "$plugin" "$old_plugin"
	contains "$(<plain.out)" "subscribe 14, found globally 14, register 9" # what old_cupti.c answers
}

@test "functions found with dlsym: each is that of the library it was found in" {
	export LD_LIBRARY_PATH=$simcuda:$build/awkward/old_cupti
	same_answers found libcupti.so.13 libcupti.so.12
	same_answers found libcupti.so.12 libcupti.so.13
}

@test "a global look-up finds no function that is hooked and not there" {
	same_answers global
}

# The stand-in ends the process where CUPTI is called while a callback that has called cuptiFinalize() still runs.
@test "when the application's profiler has ended, kerncast measures again: finalised as by PyTorch, unsubscribed, again" {
	local list how wanted
	for list in nothing finalize unsubscribe "finalize unsubscribe unsubscribe nothing finalize"; do
		rm -f kerncast.db*
		# shellcheck disable=SC2086 # words
		unchanged_under_run "$build/awkward/profiles" $list
		wanted=100
		for how in $list; do
			[[ $how == nothing ]] || wanted+=" 0"
			wanted+=" 100"
		done
		equal "$(sql 'SELECT group_concat(measured, " ") FROM (SELECT count(measured_end_ns) AS measured FROM launch
			GROUP BY grid_x ORDER BY grid_x)')" "$wanted" "measured of each hundred, $list"
		equal "$(sql "SELECT count(*) FROM launch WHERE measured_end_ns IS NULL AND unmeasured <> 'profiler_busy'")" 0
		equal "$(sql "SELECT count(*) FROM message WHERE code = 'PROFILER_TOOK_OVER'")" 1 "said"
		ledger_adds_up
	done
	equal "$(grep -c "kernels 100" plain.out)" 4 "profiles that had their kernels"
}

@test "the injection door: CUPTI is handed over, measuring or not" {
	export LD_LIBRARY_PATH=$simcuda:$build/awkward/old_cupti
	local measure
	keep plain "$profilers" past "$old_plugin" "$plugin"
	equal "$(head -n 1 plain.out)" "subscribe 0, found globally 0, register 0" "without kerncast"
	for measure in off all; do
		rm -f kerncast.db*
		keep shimmed env CUDA_INJECTION64_PATH="$library" KERNCAST_MEASURE=$measure \
			KERNCAST_CUPTI="$simcuda/libcupti.so.13" LD_PRELOAD="$library" "$profilers" past "$old_plugin" "$plugin"
		diff plain.out shimmed.out
		contains "$(<shimmed.err)" "its own profiler"
		equal "$(sql 'SELECT count(*) FROM launch')" 6 "launches recorded"
	done
	equal "$(sql "SELECT count(*) FROM launch WHERE unmeasured = 'profiler_busy'")" 3 "launched beside the profiler"
}
