# A process or a stream that has a part of the GPU's SMs: what predictions count is said.
load ../common

said() { # CODE: how often it is in message
	sql "SELECT count(*) FROM message WHERE code = '$1'"
}

@test "streams in green contexts: predicted as with all SMs, and said" {
	"$kerncast" run -q -- "$build/awkward/large_graph" added 3 2 >/dev/null
	equal "$(said GREEN_CONTEXT)" 0 "without one"
	rm -f kerncast.db*
	SIMCUDA_GREEN=1 "$kerncast" run -q -- "$build/awkward/large_graph" added 3 2 >/dev/null
	equal "$(said GREEN_CONTEXT)" 1 "with one"
	contains "$("$kerncast" report)" "as if they had all of them"
}

# The simulated A100 has 108 SMs.
@test "a share of MPS: the SMs that the driver tells are counted, and said" {
	local percent wanted
	while read -r percent wanted; do
		rm -f kerncast.db*
		CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=$percent "$kerncast" run -q -- "$build/awkward/large_graph" added 3 2 >/dev/null
		equal "$(said MPS_SHARE)" "$wanted" "with $percent"
	done <<-END
		100 0
		x 0
		25 1
	END
	contains "$("$kerncast" report)" "as many as the driver tells: 25 %, and 108 SMs of the first GPU"
}
