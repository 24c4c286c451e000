# What the simulated driver does that no program of the matrix asks of it.
load common

# 64 KiB of data and as much code are 2,048 lines, each of which takes longer than a call that does nothing.
@test "SIMCUDA_EVICT: a launch goes through data and code, as long as it takes" {
	local warm emptied
	export LD_LIBRARY_PATH=$build/simcuda SIMCUDA_MODE=null SIMCUDA_LOG=
	read -r warm _ < <("$build/launch_path" 1)
	read -r emptied _ < <(SIMCUDA_EVICT=64 "$build/launch_path" 1)
	echo "$warm ns, emptied $emptied ns"
	((emptied > 500 && emptied > 3 * warm))
}

@test "SIMCUDA_CONTEXT_MS: the first work on the device waits for a context" {
	local start=$EPOCHREALTIME end
	LD_LIBRARY_PATH=$build/simcuda SIMCUDA_CONTEXT_MS=700 "$build/demo-static-sim" --rounds 1
	end=$EPOCHREALTIME
	((${end//[!0-9]/} - ${start//[!0-9]/} >= 700000))
}
