# Intervals of long runs of equal launches while the device's clock moves: nine durations in ten are to lie inside,
# whether measurements are known at once or as late as CUPTI tells them (on an H200 after 10 ms, and nearly all after 20).
load ../common

# 30,000 launches of 60 us, some 2 s, with a scatter of 0.4 %. $1: how the duration moves, as awk's expression of s,
# the time in seconds
equal_launches() {
	awk 'function normal() { return sqrt(-2 * log(1 - rand())) * cos(6.2831853 * rand()) }
	BEGIN {
		srand(20261126)
		print "kind,name,device,device_name,context,stream,start_ns,duration_ns,grid_x,grid_y,grid_z,block_x,block_y,block_z,launch_ns"
		ns = 1e9
		for (i = 0; i < 30000; i++) {
			s = ns / 1e9
			walk = 0.99999 * walk + 0.0002 * normal()
			span = int(60000 * exp('"$1"' + 0.004 * normal()))
			printf "kernel,equal,0,NVIDIA H200,1,7,%.0f,%d,512,1,1,256,1,1,%.0f\n", ns, span, ns - 5000
			ns += span + 1500
		}
	}' >equal.csv
}

holds() { # MOVEMENT
	local delay
	equal_launches "$1"
	"$kerncast" import equal.csv -o equal.db
	for delay in 0 2ms 10ms 20ms; do
		"$kerncast" replay --json --delay "$delay" equal.db >replay.json
		within "$(jq .intervals.repeated.coverage replay.json)" 87 95 "percent inside, delay $delay"
	done
}

@test "a clock that stands still" { holds 0; }
@test "a clock that moves up and down by 3 % in 2 s" { holds '0.03 * sin(3.14159 * s)'; }
@test "a clock that moves in steps of 2 %" { holds '0.02 * int(2.999 + 2 * sin(2 * s))'; }
@test "a clock that wanders" { holds walk; }
@test "a GPU that becomes warm, and slower by 5 %" { holds '-0.05 * exp(-s / 2)'; }
@test "a clock that moves up and down by 4 % in 20 ms, as fast as measurements come" { holds '0.04 * sin(314.159 * s)'; }
