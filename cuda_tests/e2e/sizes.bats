# A size never seen before, from the kernel's code (cuda_tests/sizes): one kernel
# at 12 growing sizes, once each. The simulated device does the measuring.
load common

setup_sizes() {
	export SIMCUDA_COSTS=$root/cuda_tests/sizes/sizes.costs
}

# Of launches from the second on that were predicted when the one before was known, as far as the worker of a busy
# machine was in time: in percent of the measured time
errors() { # max | avg | count
	sql "SELECT round($1(100 * abs(1.0 * solo_ns / took - 1)), 2) FROM
		(SELECT solo_ns, measured_end_ns - measured_start_ns AS took, known_events,
			lag(decided_event) OVER (ORDER BY sequence) AS before FROM launch) WHERE before <= known_events"
}

@test "from the second launch on, sizes never seen are predicted from the code" {
	setup_sizes
	export SIMCUDA_NOISE=0 # which would be part of the error: all is learned from one launch, at first
	"$kerncast" run -q "$build/sizes/sizes-sim"
	equal "$(sql 'SELECT count(*), count(measured_end_ns), min(simulated) FROM launch')" "12|12|1" \
		"launches, measured, simulated"
	equal "$(sql "SELECT count(*) FROM launch WHERE model = 'bsp-sizes' AND novelty = 'new_size'")" 11 "by the code"
	equal "$(sql 'SELECT code FROM kernel')" read "the kernel's code"
	equal "$("$kerncast" report | grep -c "code not read")" 0 "said to be not read"
	# The argument that tells the size; addresses matter as far as they lie in a sector
	equal "$(sql 'SELECT arguments FROM launch ORDER BY sequence LIMIT 1 OFFSET 1')" \
		"p0 = 1677721, p1 = 20, p2 mod 32 = 0, p3 mod 32 = 0" "arguments of the second launch"
	echo "# simulated A100 without noise: errors from the second launch on: $(errors avg) % on average, $(errors max) % at most" >&3
	within "$(errors count)" 6 11 "launches predicted when the one before was known"
	within "$(errors max)" 0 5 "largest error, %"
}

@test "from the second launch on, also of machine code that NVRTC compiled in the process" {
	local nvrtc device
	nvrtc=$("$root/scripts/find-cuda")/lib64/libnvrtc.so.13
	[[ -r $nvrtc ]] || skip "no $nvrtc"
	setup_sizes
	export SIMCUDA_NOISE=0
	export KERNCAST_CUPTI=$build/simcuda/libcupti.so.13 # a toolkit's own is found beside its NVRTC
	for device in "A100 80" "H200 90"; do
		rm -f kerncast.db
		SIMCUDA_DEVICE=${device% *} "$kerncast" run -q "$build/sizes/sizes_nvrtc" "$nvrtc" "${device#* }"
		equal "$(sql 'SELECT count(*), count(measured_end_ns), min(simulated) FROM launch')" "12|12|1" \
			"launches, measured, simulated"
		equal "$(sql "SELECT count(*) FROM launch WHERE model = 'bsp-sizes' AND novelty = 'new_size'")" 11 "by the code"
		equal "$(sql 'SELECT code FROM kernel')" read "the kernel's code"
		echo "# simulated ${device% *} without noise: errors from the second launch on: $(errors avg) % on average, $(errors max) % at most" >&3
		within "$(errors count)" 6 11 "launches predicted when the one before was known"
		within "$(errors max)" 0 5 "largest error, %"
	done
}

@test "without PTX history alone is left, and misses" {
	setup_sizes
	"$kerncast" run -q "$build/sizes/sizes-sass-sim"
	equal "$(sql 'SELECT count(*), count(measured_end_ns) FROM launch')" "12|12" "launches, measured"
	equal "$(sql 'SELECT code FROM kernel')" "no PTX" "the kernel's code"
	contains "$("$kerncast" report)" "code not read"
	echo "# simulated A100: errors from the second launch on: $(errors avg) % on average" >&3
	within "$(errors avg)" 20 100 "mean error, %"
}

@test "without PTX, at growing grids: other sizes are scaled" {
	setup_sizes
	"$kerncast" run -q "$build/sizes/sizes-sass-sim" 65536 10 grid
	equal "$(sql "SELECT count(*) FROM launch WHERE model = 'scaling' AND novelty = 'new_size'")" 9 "by other sizes"
	echo "# simulated A100: errors from the second launch on: $(errors avg) % on average" >&3
	within "$(errors avg)" 0 40 "mean error, %"
}

kernels_without_arguments() {
	sql 'SELECT count(*) FROM kernel WHERE id NOT IN (SELECT kernel FROM launch WHERE arguments IS NOT NULL)'
}

# Every way code comes to the driver, and arguments to a launch. The first launches have no
# arguments: the program has to go on after its code has been read, which takes its time on
# a busy machine.
@test "code is read and arguments are known whichever way they come" {
	local program launches

	unset SIMCUDA_COSTS
	for program in shared/runtime_graph driver/linked_driver_graph sim/process_reload \
		driver/linked_driver_images driver/resolved_driver_images; do
		for launches in 2000 20000 200000; do
			rm -f kerncast.db
			"$kerncast" run -q "$build/matrix/$program" --launches "$launches" >program.out
			if (($(kernels_without_arguments) == 0)); then break; fi
		done
		equal "$(sql 'SELECT DISTINCT code FROM kernel')" read "$program: code"
		equal "$(sql 'SELECT DISTINCT arguments FROM launch WHERE arguments IS NOT NULL')" \
			"p0 mod 32 = 0, p1 = 4096" "$program: arguments"
		equal "$(kernels_without_arguments)" 0 "$program: kernels without"
	done
}

@test "behind the injection door the code is read, too" {
	CUDA_INJECTION64_PATH=$library KERNCAST_DB=$PWD/kerncast.db KERNCAST_QUIET=1 \
		"$build/matrix/sim/process_reload" >program.out
	equal "$(sql 'SELECT DISTINCT code FROM kernel')" read "code"
}
