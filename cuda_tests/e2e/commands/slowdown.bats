# kerncast slowdown: pairs of Quintanilla Cruz' thesis, as a user would type them.
load ../common

ask() { # JSON path, then arguments
	local path=$1
	shift
	"$kerncast" slowdown --json "$@" >slowdown.json || return 1
	sqlite3 :memory: "SELECT json_extract(CAST(readfile('slowdown.json') AS TEXT), '$path')"
}

@test "Table 6.3: printed estimates of the thesis, to two decimals" {
	local first second printed
	while read -r first second printed; do
		equal "$(printf %.2f "$(ask '$.slowdown' --device k40 "$first" "$second")")" "$printed" "$first $second"
	done <<-END
		blocks=110,threads=256,smem=1024 blocks=450,threads=256 11.25
		blocks=100,threads=256,smem=4096 blocks=60,threads=256 3.00
		blocks=42,threads=512,smem=256 blocks=120,threads=128 2.00
		blocks=24,threads=512,smem=7168 blocks=478,threads=128,smem=4096 1.33
		blocks=28,threads=1024,smem=7168 blocks=186,threads=128,smem=1792 12.00
	END
	equal "$(ask '$.case' --device k40 blocks=150,threads=256,smem=1024 blocks=393,threads=512,smem=8704)" B
	equal "$(ask '$.case' --device k40 blocks=120,threads=256 blocks=10,threads=256)" C
}

@test "with times the timeline answers: one kernel alone has slowdown 1" {
	equal "$(ask '$.timeline' --device k40 blocks=1,threads=32 blocks=1,threads=32)" "[]"
	equal "$(ask '$.timeline[0].slowdown' --device h200 blocks=10,threads=32,time=1ms blocks=10,threads=32,time=1ms)" 1.0
	ask '$.timeline[0].end_ns' --device h200 blocks=10,threads=32,time=1ms blocks=10,threads=32,time=1ms >end
	equal "$(ask '$.timeline[0].start_ns' --device h200 blocks=10,threads=32,time=1ms blocks=9,threads=32,time=1ms)" \
		$(($(<end) - 1000000))
}

# Of the microbenchmarks in predictor/concurrency/together_trace_test.c; instructions per thread by their source.
copy=blocks=80,threads=1024,time=326.442ms,ld_global=262144,st_global=262144,int=524288,control=262144
fp32=blocks=80,threads=128,time=125.251ms,mul=80e6,int=40e6,control=20e6,ld_global=2,st_global=1
fp64=blocks=80,threads=128,time=236.975ms,mul=80e6,double=80e6,int=40e6,control=20e6,ld_global=2,st_global=1

together() { # column, then arguments
	ask "\$.pairs[0].together.$1" --device v100-pcie "${@:2}"
}

@test "what two kernels need tells what they gain together" {
	local gain
	gain=$(together gain $copy,footprint=53687091 $fp32)
	((${gain%.*} >= 23 && ${gain%.*} <= 32)) || fail "27.5 % measured, $gain % told"
	equal "$(together answer $copy,footprint=53687091 $fp32)" together
	contains "$(together note $copy,footprint=53687091 $fp32)" "1 needs device memory"
	gain=$(together gain $fp64 $fp64)
	((${gain%.*} <= 7)) || fail "2.7 % measured, $gain % told"
	equal "$(together answer $fp64 $fp64)" "in turn"
	contains "$(together note $fp64 $fp64)" "both need FP64 units"
	keep table "$kerncast" slowdown --device v100-pcie $fp64 $fp64
	contains "$(<table.out)" "both need FP64 units"
}

@test "no number where it is not known what both need, nor where caches may not hold it" {
	local l1=blocks=80,threads=64,time=125.117ms,int=5760000,control=2880000,ld_global=2880000,st_global=2880000
	equal "$(together gain ${fp32%%,mul*} $fp32)" ""
	equal "$(together why ${fp32%%,mul*} $fp32)" unknown
	equal "$(together gain $copy $copy)" ""
	equal "$(together gain_high $l1,footprint=96K $l1,footprint=96K)" ""
	equal "$(together why $l1,footprint=96K $l1,footprint=96K)" l1
	equal "$(together answer $l1,footprint=96K $l1,footprint=96K)" "in turn"
	contains "$(together note $l1,footprint=96K $l1,footprint=96K)" "slower than in turn"
	equal "$(ask '$.pairs[0].together' --device k40 blocks=1,threads=32 blocks=1,threads=32,time=1ms)" ""
}

@test "without a time, the one that the counters tell is taken" {
	local counted=blocks=100,threads=256,fma=10000
	"$kerncast" predict --json --device h200 $counted >predict.json
	equal "$(ask '$.pairs[0].together.first_ns' --device h200 $counted $counted)" \
		"$(sqlite3 :memory: "SELECT CAST(round(json_extract(CAST(readfile('predict.json') AS TEXT),
			'\$.kernels[0].models.resources.total_ns')) AS INTEGER)")"
}

@test "a device from a file; what cannot run is refused by name" {
	printf 'like=k40\nsm_count=30 # two of them\n' >twice
	equal "$(ask '$.waves' --device twice blocks=110,threads=256 blocks=450,threads=256)" 2
	keep refused "$kerncast" slowdown --device k40 blocks=1,threads=32 blocks=1,threads=2000
	equal "$(<refused.status)" 1
	contains "$(<refused.err)" "kernel 2 (blocks=1,threads=2000)"
	contains "$(<refused.err)" "2000 threads"
}

@test "clusters: whole ones alone are placed, impossible ones refused" {
	local big=blocks=528,threads=1024
	equal "$(ask '$.waves' --device h100 $big $big)" 2
	equal "$(ask '$.waves' --device h100 $big $big,cluster=16)" 3
	for refused in "h100 $big,cluster=32" "h100 $big,cluster=5" "a100 $big,cluster=2"; do
		keep refused "$kerncast" slowdown --device ${refused% *} $big "${refused#* }"
		equal "$(<refused.status)" 1
		contains "$(<refused.err)" cluster
	done
}

@test "wrong use: status 2" {
	local wrong
	for wrong in "blocks=1,threads=1 blocks=1,threads=1" "--device k40 blocks=1,threads=1" \
		"--device nosuch blocks=1,threads=1 blocks=1,threads=1" "--device k40 blocks=1 blocks=1,threads=1" \
		"--device k40 --placement heaped blocks=1,threads=1 blocks=1,threads=1"; do
		keep wrong "$kerncast" slowdown $wrong
		equal "$(<wrong.status)" 2 "$wrong"
		equal "$(<wrong.out)" "" "standard output of: $wrong"
	done
}
