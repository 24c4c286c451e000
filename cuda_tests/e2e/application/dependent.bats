# Programmatic dependent launch: kernels of one stream that run beside each other.
load ../common

dependent=$build/awkward/dependent

# Blocks of 100 µs: long beside the time between two launch calls, even where the machine is busy.
pairs() { # stream|graph DEVICE
	echo 'awkward 176000 0' >costs
	export SIMCUDA_COSTS=$PWD/costs SIMCUDA_DEVICE=$2
	unchanged_under_run "$dependent" "$1" 20
	equal "$(counted kernels)" 40 "kernels executed"
	equal "$(report '$.ledger.matched')" 40 matched
	ledger_adds_up
	beside=$(sql "SELECT count(*) FROM (SELECT grid_x, measured_end_ns,
			lead(measured_start_ns) OVER (ORDER BY sequence) AS next_start_ns FROM launch)
		WHERE grid_x = 32 AND next_start_ns < measured_end_ns")
}

stream_overlaps() {
	sql "SELECT count FROM ledger WHERE item = 'stream_overlaps'"
}

@test "in a stream: those that ran beside each other are known as overlapped" {
	local beside
	pairs stream H200
	within "$beside" 1 20 "pairs that overlapped"
	equal "$(stream_overlaps)" $((2 * beside)) "kernels that ran beside one of their own stream"
	equal "$(sql "SELECT count(*) FROM launch WHERE overlapped = 0")" $((40 - 2 * beside)) "solo launches"
}

@test "in a captured graph, too" {
	local beside
	pairs graph H200
	equal "$beside" 20 "pairs that overlapped"
	equal "$(stream_overlaps)" 40 "kernels that ran beside one of their own stream"
	equal "$(sql "SELECT count(*) FROM launch WHERE overlapped = 0")" 0 "solo launches"
}

@test "before compute capability 9.0 they run one after the other" {
	local beside
	pairs stream A100
	equal "$beside" 0 "pairs that overlapped"
	equal "$(stream_overlaps)" 0 "kernels that ran beside one of their own stream"
	equal "$(sql "SELECT count(*) FROM launch WHERE overlapped = 0")" 40 "solo launches"
}
