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
