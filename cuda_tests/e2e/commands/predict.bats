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

# Of the vector addition above: 12 bytes per thread at the peak; at three quarters of it, and 750 ns; 716 µs by BSP.
@test "an estimate comes first: a range of the models, or BSP's time where λ is known" {
	local add=blocks=4000,threads=256,add=1,ld_global=2,st_global=1
	"$kerncast" predict -d k40 $add >range
	equal "$(sed -n 4p range)" "  estimate: 42.6 µs to 57.6 µs, from the roofline's bound to the slowest model plus an empty kernel's 750 ns"
	contains "$(<range)" "BSP is left out"
	[[ $(<range) != *716* ]]
	"$kerncast" predict -d k40 --lambda 16 $add >learned
	equal "$(sed -n 4p learned)" "  estimate: 44.8 µs, by BSP with λ = 16; the models without λ say 42.6 µs to 57.6 µs"
	[[ $(<learned) != *"left out"* ]]
	# The boat hull takes these counts for a neighbourhood, and says 4.26 µs: less than the memory allows.
	"$kerncast" predict -d h200 blocks=1024,threads=256,fma=512,ld_global=64,st_global=1,ld_shared=1024 >bounded
	equal "$(sed -n 4p bounded | cut -d ' ' -f 4,5)" "$(awk '$1 == "roofline" { print $2, $3 }' bounded)"
	# And no kernel takes less than an empty one.
	"$kerncast" predict -d k40 blocks=1,threads=32,fma=1 >tiny
	contains "$(<tiny)" "estimate: 750 ns to 750 ns"
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
