# How the GPUs were while a program ran, as NVML tells (the stand-in's, from a file): recorded when it changes, by a
# thread that nothing waits for; and `slow` names it where a run drifted.
# Runs in real time.
load common

# Runs the demo for as long as it is let, with a question each 10 ms.
begin() {
	echo "1410 250000 0 1" >nvml
	SIMCUDA_NVML=$PWD/nvml "$kerncast" run -q --gpu-state 10ms "$build/demo-static-sim" --rounds 1000000 >/dev/null 2>&1 &
	command=$!
}

wait_for() { # ROWS of gpu_state
	local i
	for ((i = 0; i < 600; i++)); do
		[[ $(sqlite3 -readonly -cmd '.timeout 10000' kerncast.db 'SELECT count(*) FROM gpu_state' 2>/dev/null) -ge $1 ]] && return
		sleep 0.1
	done
	echo "not $1 rows within a minute"
	return 1
}

end() { # the demo ends by the signal
	kill -TERM "$command"
	wait "$command" || [[ $? -eq 143 ]]
	"$kerncast" report >/dev/null # what is in the journal
}

states() {
	sql "SELECT sm_mhz || ' ' || memory_mhz || ' ' || power_mw || ' ' || slowed || ' ' || others FROM gpu_state ORDER BY id"
}

@test "a state is recorded when it changes, of the device and the process, in the order of time" {
	begin
	wait_for 1
	echo '1400 240000 0 1' >nvml # by less than 1/64, and power, which always changes
	sleep 0.2
	echo '1128 300000 44 3' >nvml
	wait_for 2
	end
	equal "$(states)" $'1410 1215 250000 0 0\n1128 1215 300000 68 2'
	equal "$(sql "SELECT count(*) FROM gpu_state g JOIN process p ON p.id = g.id >> 40 JOIN device d ON d.id = g.device")" 2
	equal "$(sql "SELECT count(*) FROM gpu_state a JOIN gpu_state b ON a.id < b.id AND a.time_ns >= b.time_ns")" 0
	"$kerncast" merge kerncast.db -o merged.db >/dev/null
	equal "$(sql "SELECT group_concat(sm_mhz) FROM gpu_state g JOIN process p ON p.id = g.id >> 40 JOIN device d ON d.id = g.device" merged.db)" 1410,1128
}

@test "slow says how the GPU was where a run drifted" {
	begin
	wait_for 1
	echo '1128 300000 4 2' >nvml
	wait_for 2
	sleep 0.5
	end
	# The stand-in's kernels do not follow the clock that it tells: from then on they take a quarter longer.
	sql "UPDATE launch_row SET measured_span = measured_span * 5 / 4
		WHERE launched > (SELECT max(time_ns) FROM gpu_state)"
	"$kerncast" slow --json >slow.json
	within "$(jq '.causes[] | select(.cause == "drift").gpu.clock_lower' slow.json)" 19.9 20.1 "percent by which the clock is lower"
	equal "$(jq '.causes[] | select(.cause == "drift").gpu | .power_lost_ns == .clock_lost_ns and .clock_lost_ns > 0.8 * .lost_ns' slow.json)" true
	contains "$("$kerncast" slow)" "  drift: the GPU's clock was 20.0 % lower (power cap) for "
	contains "$("$kerncast" slow)" ", other processes used it for "
	"$kerncast" report --html page.html
	contains "$(<page.html)" "20.0 % lower (power cap)"
}

@test "off, without the library or with one that does not answer, the program runs as it does" {
	local wanted dir
	wanted=$("$build/demo-static-sim" --rounds 3)
	equal "$(SIMCUDA_NVML=$PWD/nvml "$kerncast" run -q --gpu-state off "$build/demo-static-sim" --rounds 3)" "$wanted"
	equal "$(states)" ""
	mkdir without
	for file in "$simcuda"/lib*.so*; do ln -s "$file" without/; done
	rm without/libnvidia-ml.so.1
	equal "$(LD_LIBRARY_PATH=$PWD/without "$kerncast" run -q --gpu-state 10ms "$build/demo-static-sim" --rounds 3)" "$wanted"
	# An answer that takes ten minutes delays the end by a tenth of a second.
	equal "$(SIMCUDA_NVML_MS=600000 timeout 120 "$kerncast" run -q --gpu-state 10ms "$build/demo-static-sim" --rounds 300)" \
		"$("$build/demo-static-sim" --rounds 300)"
	equal "$(states)" ""
}

# An application that closes all of its descriptors, and opens files, would have one of these mapped in the library's place.
@test "the library is loaded by a thread that has none of the application's descriptors" {
	SIMCUDA_NVML_LOADED=$PWD/loaded "$kerncast" run -q --gpu-state 10ms "$build/demo-static-sim" --rounds 300 9>marker >/dev/null
	equal "$(<loaded)" closed "descriptor 9"
}

@test "how often: from 10 ms to a day, or off" {
	local wrong
	for wrong in 0 9ms 25h on x; do
		run "$kerncast" run -q --gpu-state "$wrong" -- true
		equal "$status" 2
		contains "$output" "gpu-state"
	done
	"$kerncast" run -q --gpu-state 1m -- true
}
