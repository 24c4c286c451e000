# kerncast predict: a kernel's time by each model, as a user would type it.
load ../common

ask() { # JSON path, then arguments
	local path=$1
	shift
	"$kerncast" predict --json "$@" >predict.json || return 1
	sqlite3 :memory: "SELECT json_extract(CAST(readfile('predict.json') AS TEXT), '$path')"
}

# 1,024,000 threads on 2,880 cores of 745 MHz with 288.384 GB/s.
@test "vector add on a K40: every model by hand arithmetic" {
	local add=blocks=4000,threads=256,add=1,ld_global=2,st_global=1
	within "$(ask '$.kernels[0].models.bsp_ns' -d k40 $add)" 716360 716380 "threads · 1501 / (cores · clock)"
	within "$(ask '$.kernels[0].models.bsp_ns' -d k40 -l 2 $add)" 358180 358190 "the same over λ"
	within "$(ask '$.kernels[0].models.roofline_low_ns' -d k40 $add)" 42609 42611 "12 bytes per thread"
	within "$(ask '$.kernels[0].models.boathull.low_ns' -d k40 $add)" 56812 56815 "at three quarters of the peak"
	equal "$(ask '$.kernels[0].models.boathull.class' -d k40 $add)" "element ^ element -> element"
	within "$(ask '$.kernels[0].models.cycle_max_ns' -d k40 $add)" 42662 42665 "267 blocks on each of 15 SMs"
	equal "$(ask '$.kernels[0].counts.sectors_per_request' -d k40 $add)" 4.0
	equal "$(ask '$.kernels[1].models.boathull' -d k40 $add blocks=1,threads=32,fma=1)" ""
}

@test "as text, every kernel by its name" {
	run "$kerncast" predict -d k40 blocks=1,threads=32,fma=1 blocks=4000,threads=256,add=1,ld_global=2,st_global=1
	equal "$status" 0
	contains "$output" "Tesla K40"
	contains "$output" "blocks=1,threads=32,fma=1"
	contains "$output" "fits none of its classes"
	contains "$output" "56.8 µs"
}

# Of the vector addition above, cycles at 745 MHz over the 4,000 / 267 SMs that would be busy all the time, by the rates of
# 3.5: memory 12.288 MB at 0.92 of the peak, 46.3 µs; 32,000 warps started in 13 cycles each, 37.3 µs; L2 at 32 bytes, 34.4;
# 34 waves of 4 instructions of 4 cycles and a load of 466, 22.0; 3 accesses over 32 lanes, 8.6, while L1 takes as long;
# issue slots 4 over 192, 1.9; an addition over 192, 0.5. The root of the sum of squares and 750 ns. Memory and L2 have
# 0.6305 of the squares, units 0.0007: e to the power of 0.6305 · 0.4 + 0.0007 · 0.6 + 0.3688 · 1.2, 2.00 times less and
# more. No launch is faster than two thirds of 750 ns and 3 accesses of 1,024,000 threads over 32 lanes on 15 SMs, 8.59 µs.
@test "an estimate comes first, and what limits it; BSP's time where λ is known" {
	local add=blocks=4000,threads=256,add=1,ld_global=2,st_global=1
	"$kerncast" predict -d k40 $add >range
	equal "$(sed -n 4p range)" "  estimate: 73.4 µs; nine in ten such kernels take 36.6 µs to 147 µs"
	equal "$(sed -n 5p range)" "  limited by: device memory 46.3 µs, starting blocks 37.3 µs, L2 cache 34.4 µs, an empty kernel 750 ns"
	equal "$(sed -n 6p range)" "  lower bound: 9.09 µs, by the peak of load and store units"
	within "$(ask '$.kernels[0].models.resources.bound_ns' -d k40 $add)" 9089 9091 "500 + 102,400 · 3 · 10 / 32 / 15 / 0.745"
	equal "$(ask '$.kernels[0].models.resources.bound_by' -d k40 $add)" load_store
	within "$(ask '$.kernels[0].models.resources.ns.latency' -d k40 $add)" 21997 21998 "34 · (16 + 466) cycles"
	equal "$(ask '$.kernels[0].models.resources.limit' -d k40 $add)" dram
	contains "$(<range)" "BSP is left out"
	[[ $(<range) != *716* ]]
	"$kerncast" predict -d k40 --lambda 16 $add >learned
	equal "$(sed -n 4p learned)" "  estimate: 44.8 µs, by BSP with λ = 16; without λ 73.4 µs"
	[[ $(<learned) != *"left out"* ]]
	# Of no more than an instruction, 4 cycles, and the start of a warp, 13: no kernel takes less than an empty one; e to
	# the power of 1.2 times 768 ns at most; two thirds of it and an instruction at least.
	"$kerncast" predict -d k40 blocks=1,threads=32,fma=1 >tiny
	contains "$(<tiny)" "estimate: 768 ns; nine in ten such kernels take 750 ns to 2.54 µs"
	contains "$(<tiny)" "lower bound: 501 ns, little more than two thirds of an empty kernel"
}

# An instruction of a warp begins per cycle: 10^6 at 1.98 GHz are 505 µs, were none to wait for another.
@test "a block of one warp has the throughput of one warp" {
	within "$(ask '$.kernels[0].models.resources.ns.issue' -d h200 blocks=1,threads=32,fma=1000000)" 505050 505051
	within "$(ask '$.kernels[0].models.resources.total_ns' -d h200 blocks=1,threads=32,fma=1000000)" 505050 5050500
}

@test "what cannot run has status 1, wrong use status 2" {
	local wrong
	keep refused "$kerncast" predict --device k40 blocks=1,threads=2000,fma=1
	equal "$(<refused.status)" 1
	contains "$(<refused.err)" "2000 threads"
	for wrong in "blocks=1,threads=1" "--device k40" "--device nosuch blocks=1,threads=1" \
		"--device k40 blocks=1,threads=1,fma=x" "--device k40 --lambda 0 blocks=1,threads=1"; do
		keep wrong "$kerncast" predict $wrong
		equal "$(<wrong.status)" 2 "$wrong"
		equal "$(<wrong.out)" "" "standard output of: $wrong"
	done
}
