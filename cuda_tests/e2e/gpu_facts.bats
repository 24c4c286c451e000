# What the GPU check's facts say of the stand-ins, whose rules are known.
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
	for wrong in "" "delivery --kernels 0" "delivery --buffer 64" "records --domains none" "records --nodes 1x"; do
		run_facts $wrong
		equal "$(<facts.status)" 2 "exit status of facts $wrong"
	done
}
