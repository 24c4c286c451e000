# A size never seen before, from the kernel's code (cuda_tests/sizes): one kernel
# at 12 growing sizes, once each. The simulated device does the measuring.
load common

setup_sizes() {
	export SIMCUDA_COSTS=$root/cuda_tests/sizes/sizes.costs
}

# Of launches from the second on, in percent of the measured time
errors() { # max | avg
	sql "SELECT round(100 * $1(abs(1.0 * solo_ns / took - 1)), 2) FROM
		(SELECT solo_ns, measured_end_ns - measured_start_ns AS took, row_number() OVER (ORDER BY sequence) AS n
		FROM launch) WHERE n > 1"
}

@test "from the second launch on, sizes never seen are predicted from the code" {
	setup_sizes
	"$kerncast" run -q "$build/sizes/sizes-sim"
	equal "$(sql 'SELECT count(*), count(measured_end_ns), min(simulated) FROM launch')" "12|12|1" \
		"launches, measured, simulated"
	equal "$(sql "SELECT count(*) FROM launch WHERE model = 'bsp-sizes' AND novelty = 'new_size'")" 11 "by the code"
	equal "$(sql 'SELECT code FROM kernel')" read "the kernel's code"
	# The argument that tells the size; addresses matter as far as they lie in a sector
	equal "$(sql 'SELECT arguments FROM launch ORDER BY sequence LIMIT 1 OFFSET 1')" \
		"p0 = 1677721, p1 = 20, p2 mod 32 = 0, p3 mod 32 = 0" "arguments of the second launch"
	echo "# simulated A100: errors from the second launch on: $(errors avg) % on average, $(errors max) % at most" >&3
	within "$(errors max)" 0 5 "largest error, %"
}

@test "without PTX history alone is left, and misses" {
	setup_sizes
	"$kerncast" run -q "$build/sizes/sizes-sass-sim"
	equal "$(sql 'SELECT count(*), count(measured_end_ns) FROM launch')" "12|12" "launches, measured"
	equal "$(sql 'SELECT code FROM kernel')" "no PTX" "the kernel's code"
	echo "# simulated A100: errors from the second launch on: $(errors avg) % on average" >&3
	within "$(errors avg)" 20 100 "mean error, %"
}
