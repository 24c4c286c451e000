# What the GPU check's facts say of the stand-ins, whose rules are known.
# Runs in real time.
load common

setup() {
	export LD_LIBRARY_PATH=$simcuda
	export SIMCUDA_COSTS=$root/cuda_tests/gpu/facts/facts.costs
	facts=$build/facts
	cd "$BATS_TEST_TMPDIR" || return 1
}

value() { # KEY of the last run
	awk -F '\t' -v key="$1" '$1 == key && $2 == "value" { print $3 }' facts.out
}

says() { # FACT, its verdict
	awk -F '\t' -v fact="$1" '$1 == fact { print $2 }' facts.out
}

run_facts() {
	keep facts "$facts" "$@"
	cat facts.out facts.err
}

@test "facts need no CUDA runtime, and no driver to start with" {
	equal "$(readelf -d "$facts" | grep -c 'NEEDED.*\(cudart\|libcuda\|cupti\)')" 0 "libraries of CUDA that it is linked to"
	LD_LIBRARY_PATH='' run_facts addresses
	within "$(<facts.status)" 0 1 "exit status"
}

@test "facts in both configurations of callbacks: whose id a record has" {
	for domains in driver both; do
		run_facts records --domains $domains
		equal "$(<facts.status)" 0 "exit status"
		equal "$(value driver_launch_id)" driver "a launch, $domains"
		run_facts graphs --domains $domains
		equal "$(<facts.status)" 0 "exit status"
		equal "$(value graph_launch_id)" driver "a graph launch, $domains"
		run_facts runtime --domains $domains --cudart "$simcuda/libcudart.so.13"
		equal "$(<facts.status)" 0 "exit status"
		contains "$(value runtime_launch_id)" driver
	done
	run_facts runtime
	contains "$(value runtime_launch_id)" "not asked"
}

@test "facts tell where a record takes its place" {
	run_facts delivery --kernels 20 --short-us 1000 --long-ms 700
	equal "$(<facts.status)" 0 "exit status"
	equal "$(value while_running)" 0 "delivered beside the long kernel, places taken at the launch"
	SIMCUDA_CUPTI_PLACE=end run_facts delivery --kernels 20 --short-us 1000 --long-ms 700
	equal "$(<facts.status)" 0 "exit status"
	equal "$(value while_running)" 20 "delivered beside the long kernel, places taken at the end"
	# 16,384 bytes hold 75 records of 216 bytes: two buffers are full, the third has the long kernel's record
	run_facts delivery --buffer 16384 --kernels 200 --short-us 100 --long-ms 700
	equal "$(<facts.status)" 0 "exit status"
	equal "$(value while_running)" 150 "delivered in full buffers"
}

@test "facts: a CUPTI newer than the driver is a fault in another major version, told in the same one" {
	run_facts records
	equal "$(says "CUPTI not newer than the driver")" holds "13.0 on 13.0"
	SIMCUDA_DRIVER_VERSION=12090 run_facts records
	equal "$(says "CUPTI not newer than the driver")" fails "13.0 on 12.9"
	equal "$(<facts.status)" 1 "exit status"
	echo 'int cuptiGetVersion(unsigned *version) { *version = 130101; return 0; }' |
		gcc -shared -fPIC -x c - -x none -o newer_cupti.so -Wl,--no-as-needed "$simcuda/libcupti.so.13"
	run_facts records --cupti "$PWD/newer_cupti.so"
	equal "$(says "CUPTI not newer than the driver")" info "13.1 on 13.0"
	equal "$(<facts.status)" 0 "exit status"
}

states() { # of CUPTI in the last run, in order: time and name
	sed -n 's/^state \([12] [^	]*\)	value	.*/\1/p' facts.out | paste -sd,
}

seen() { # FACT, what was seen of it
	awk -F '\t' -v fact="$1" '$1 == fact { print $3 }' facts.out
}

@test "facts: CUPTI switched on and off again, and what records are worth afterwards" {
	local on="kinds on" rest="kinds off,callbacks off,graph callback off,unsubscribed,finalized,attached again"
	local all="bare,bare, measured again,subscribed,callbacks on,$on,$rest" names
	names=$(sed 's/\(^\|,\)\([^ ]\)/\1N \2/g' <<<"$all") # the second part of a name begins with a space
	for how in "" --in-callback; do
		run_facts idle --launches 400 $how
		equal "$(<facts.status)" 0 "exit status"
		equal "$(states)" "${names//N /1 },${names//N /2 }" states
		# one thread and four make 400 launches each
		contains "$(seen "records, kinds on, time 1")" "800; 800 launches"
		contains "$(seen "records, attached again, time 2")" "800; 800 launches"
		for time in 1 2; do
			contains "$(seen "right or wrong, attached again, time $time")" "1000 launches, 0 without an id, 0 without a rec"
		done
		equal "$(value attached_again)" 1 "records of CUPTI attached again"
	done
	run_facts idle --launches 400 --early
	equal "$(<facts.status)" 0 "exit status"
	contains "$(states)," "1 kinds on,1 kinds off,"
	equal "$(grep -c '^state 1' facts.out)" 7 "states of the first time"
	contains "$(seen "records, kinds on, time 0")" "800; 800 launches"
}

@test "facts: a graph is launched in each state of CUPTI, and no longer once CUPTI is finalized" {
	for fault in "" cupti-finalize-graphs; do
		SIMCUDA_FAULT=$fault run_facts idle-graphs --launches 400 --in-callback
		equal "$(<facts.status)" 0 "exit status"
		equal "$(sed -n 's/^graphs \([^	]*\)	value	.*/\1/p' facts.out | paste -sd,)" \
			"bare,bare, measured again,subscribed,callbacks on,kinds on,kinds off,callbacks off,graph callback off,unsubscribed"
		contains "$(seen "records of graphs, kinds on")" "10000; 50 launches of a graph of 200 kernels, which has been ins"
		for state in "kinds on" "attached again"; do
			contains "$(seen "graphs, $state")" "2000 of 2000 records have their launch's id, "
		done
		equal "$(value graphs_again)" 1 "records of CUPTI attached again"
	done
	run_facts idle-graphs --launches 400 --early
	equal "$(<facts.status)" 0 "exit status"
	equal "$(grep -c '^graphs [^	]*	value' facts.out)" 5 "states"
	contains "$(seen "records of graphs, kinds on")" "10000; 50 launches"
}

@test "facts: whether a graph survives cuptiFinalize" {
	local failed="cuStreamSynchronize: CUDA_ERROR_LAUNCH_FAILED" expected
	for with_cupti in "" --launched --instantiated "--instantiated --launched"; do
		for how in "" --in-callback; do
			run_facts survival $with_cupti $how
			equal "$(<facts.status) $(value graph_survives)" "0 yes" "$with_cupti $how"
			SIMCUDA_FAULT=cupti-finalize-graphs run_facts survival $with_cupti $how
			equal "$(says "kernels are launched after cuptiFinalize")" holds "$with_cupti $how"
			[[ $with_cupti ]] && expected=$failed || expected=yes
			equal "$(<facts.status) $(value graph_survives)" "0 $expected" "$with_cupti $how, the fault"
		done
	done
}

@test "facts: threads whose correlation ids repeat are counted, where kinds or callbacks are switched" {
	for from in "" "--cudart $simcuda/libcudart.so.13"; do
		run_facts stuck --switch kinds $from
		equal "$(<facts.status) $(value stuck_threads) $(value stuck_launches)" "0 0 0" "kinds $from"
		contains "$(seen "switched off beside launches")" "50 times; "
		run_facts stuck --switch driver $from # a call that callbacks are switched off in lends its id to later ones
		equal "$(<facts.status)" 0 "exit status"
		within "$(value stuck_threads)" 1 4 "threads, callbacks $from"
		within "$(value stuck_launches)" 1 1000000 "launches, callbacks $from"
		SIMCUDA_CUPTI_IDS=driver run_facts stuck --switch driver $from # without that rule
		equal "$(value stuck_threads) $(value stuck_launches)" "0 0" "callbacks $from"
	done
	run_facts stuck --switch runtime --cudart "$simcuda/libcudart.so.13"
	equal "$(<facts.status)" 0 "exit status"
	contains "$(seen "switched off beside launches")" "1 times; "
	within "$(value stuck_threads)" 0 4 "threads"
	run_facts stuck --switch kinds --cudart nowhere.so
	contains "$(value stuck_threads)" "not asked"
}

@test "facts: CUPTI attached and finalized beside launches, many launches, records of the hardware" {
	for how in "" --in-callback; do
		run_facts reattach $how
		equal "$(<facts.status)" 0 "exit status"
		within "$(value rounds | tail -n 1)" 1 20 rounds
		equal "$(value reattached)" 1 "records"
	done
	run_facts many --launches 5000
	contains "$(seen "many launches: records")" "5000 launches, 0 without an id, 0 without a record"
	equal "$(value many)" 1 "records of many launches"
	run_facts hw-trace
	equal "$(value hw_trace)" "this CUPTI does not have it"
}

@test "facts: records that CUPTI has dropped, timed wrongly or given another's id are found" {
	SIMCUDA_FAULT=cupti-drop=100 run_facts many --launches 5000
	contains "$(seen "many launches: records")" "5000 launches, 0 without an id, 50 without a record, 0 with another's"
	equal "$(value many)" 0 "records dropped"
	SIMCUDA_FAULT=cupti-zero-time=100 run_facts many --launches 5000
	contains "$(seen "many launches: records")" "; 50 records without times, 0 start before"
	equal "$(value many)" 0 "records without times"
	SIMCUDA_FAULT=cupti-other-clock=100 run_facts many --launches 5000 # by turns 10^14 ns ahead and behind
	contains "$(seen "many launches: records")" "25 start before the call, 25 end after they were delivered"
	equal "$(value many)" 0 "records of another clock"
	SIMCUDA_FAULT=cupti-graph-ids run_facts idle --launches 400
	equal "$(value attached_again)" 1 "records of launches"
	SIMCUDA_FAULT=cupti-graph-ids run_facts idle-graphs --launches 400
	equal "$(value graphs_again)" 0 "records of graphs"
}

@test "facts: records of graphs, recording in two windows, a reset, events, decoding, first launches" {
	run_facts graph-records --nodes 100 --launches 200
	equal "$(<facts.status) $(value graph_kernels) $(value graph_records) $(value without_times)" "0 20000 20000 0" "records"
	# 8 buffers of 1,000 records are full after 8,000 of them
	SIMCUDA_FAULT=cupti-device-buffers=1000 run_facts graph-records --nodes 100 --launches 200 --device-buffers 8
	equal "$(value graph_records) $(value without_times)" "20000 12000" "records, device buffers full"
	run_facts windows --file switch
	equal "$(<facts.status)" 0 "exit status"
	within "$(value kernels_with_file)" 40 100000 "kernels"
	[[ ! -e switch ]]
	run_facts reset
	equal "$(<facts.status) $(value kernels)" "0 400" "kernels around a reset"
	run_facts clock
	within "$(value clock_ns)" 1 100000 "ns"
	run_facts events # 20,000 steps, each a ns on the simulated device, 1 µs between kernel and event
	within "$(value kernel_us)" 19 23 "µs"
	run_facts decode --nodes 100 --launches 100 --short-us 10
	within "$(value step_us)" 1000 1000000 "µs, 100 kernels of 10 µs"
	printf '%s\n' "$build/gpu/explain/simple.ptx _Z10vector_addPKfS0_Pfi 4 1 1 256 1 1 0 b0 b1 b2 i1000" \
		"$build/gpu/explain/simple.ptx _Z17saxpy_grid_strideifPKfPf 4 1 1 256 1 1 0 i1000 f2 b0 b1" >list
	run_facts first --file list
	equal "$(<facts.status) $(value launches)" "0 10" "launches, five of each"
	echo "nowhere.ptx k 1 1 1 1 1 1 0" >list
	run_facts first --file list
	equal "$(<facts.status)" 1 "exit status without the PTX"
}

@test "facts: capture beside flushes, large graphs, dependent launches, wrong use" {
	run_facts capture
	equal "$(value end_capture)" CUDA_SUCCESS "cuStreamEndCapture"
	within "$(value flushes)" 1 100000 "flushes while capturing"
	run_facts graph-cost --nodes 500 --cupti none
	within "$(value instantiate_ms)" 0 60000 "instantiation, ms"
	within "$(value launch_ms)" 0 60000 "launch, ms"
	run_facts dependent
	contains "$(value dependent_overlaps)" "not asked: compute capability 8.0"
	SIMCUDA_DEVICE=H200 run_facts dependent
	equal "$(<facts.status)" 0 "exit status"
	within "$(value dependent_overlaps)" 0 780 "overlaps of 40 kernels"
	for wrong in "" "delivery --kernels 0" "delivery --buffer 64" "records --domains none" "records --nodes 1x" \
		"idle --launches 99" "stuck --switch all" "events --device-buffers 0"; do
		run_facts $wrong
		equal "$(<facts.status)" 2 "exit status of facts $wrong"
	done
}
