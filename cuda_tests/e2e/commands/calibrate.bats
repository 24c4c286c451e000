# kerncast calibrate on the simulated device, whose overheads are documented in cuda_tests/simcuda/README.md.
load ../common

calibrate_json() { # JSON path
	"$kerncast" calibrate --json c.db >calibrate.json || return 1
	sqlite3 :memory: "SELECT json_extract(CAST(readfile('calibrate.json') AS TEXT), '$1')"
}

@test "overheads of the simulated device, marked as simulated, kept with the device" {
	export SIMCUDA_NOISE=0
	printf '%s\n' '*copy* 1 128*threads' '*fma* 100000 0' '*empty* 1000 0' '*chase_global* 1024*500 0' >costs
	SIMCUDA_COSTS=$PWD/costs calibrate_json '$.simulated' >simulated
	equal "$(<simulated)" 1
	# A launch overhead of 2 to 5 us, and the time of the call itself; a gap of about 1 us.
	within "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('calibrate.json') AS TEXT), '$.launch_overhead_ns')")" 2000 20000
	within "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('calibrate.json') AS TEXT), '$.launch_gap_ns')")" 500 2000
	# An A100: 1,555 GB/s at most.
	within "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('calibrate.json') AS TEXT), '$.copy_bytes_per_s')")" 1e11 1.6e12
	# 1,024 loads in 1,024 * 500 cycles at 1,410 MHz; its PCIe link: 25 GB/s.
	within "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('calibrate.json') AS TEXT), '$.global_latency_ns')")" 354 356
	within "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('calibrate.json') AS TEXT), '$.bus_bytes_per_s')")" 2.4e10 2.5e10
	equal "$(sql 'SELECT count(*), count(DISTINCT device), min(simulated), count(scattered_bytes_per_s), count(shared_latency_ns),
		count(bus_back_bytes_per_s), count(cupti_launch_ns), count(cupti_kernel_ns) FROM calibration' c.db)" '1|1|1|1|1|1|1|1'
	contains "$(sql 'SELECT d.name FROM calibration c JOIN device d ON d.id = c.device' c.db)" Simulated
	contains "$("$kerncast" calibrate c.db)" SIMULATED
	equal "$(sql 'SELECT count(*), count(DISTINCT device) FROM calibration' c.db)" '2|1'
	equal "$(sql 'SELECT count(*) FROM launch' c.db)" 0
}

@test "every key of --json is documented" {
	local key keys
	"$kerncast" calibrate --json c.db >calibrate.json
	keys=$(sqlite3 :memory: "SELECT key FROM json_each(CAST(readfile('calibrate.json') AS TEXT))")
	contains "$keys" cupti_kernel_ns
	for key in $keys; do
		contains "$(cat "$root"/tools/README.md "$root"/tools/manual/predict.md)" "\`$key\`"
	done
}

# What nothing is before starts a launch overhead after its call, what is behind something a gap after its end.
overhead_and_gap() { # RUN
	sql "SELECT min(start_ns - launched_ns) FROM transfer JOIN process p ON p.id = process WHERE run = $1;
		SELECT gap FROM (SELECT start_ns - lag(end_ns) OVER (PARTITION BY process, stream ORDER BY sequence) AS gap
		FROM launch WHERE run = $1) WHERE gap > 0 GROUP BY gap ORDER BY count(*) DESC LIMIT 1"
}

@test "what was calibrated is predicted with, from the next run on" {
	local calibrated tell="SELECT CAST(launch_overhead_ns AS INTEGER), CAST(launch_gap_ns AS INTEGER) FROM calibration"
	"$kerncast" run -q -- "$build/demo-static-sim" >demo.out
	equal "$(overhead_and_gap 1)" $'8000\n1000' "before: the built-in figures"
	"$kerncast" calibrate kerncast.db >calibrate.out
	calibrated=$(sql "$tell" | tr '|' '\n')
	[[ $calibrated != $'8000\n1000' ]]
	"$kerncast" run -q -- "$build/demo-static-sim" >demo.out
	equal "$(overhead_and_gap 2)" "$calibrated" "afterwards: what was measured"
	# The device's row says what its run was predicted with.
	equal "$(sql 'SELECT d.launch_overhead_ns || char(10) || d.launch_gap_ns FROM device d JOIN process_device l
		ON l.device = d.id JOIN process p ON p.id = l.process WHERE p.run = 2')" "$calibrated"
	equal "$(sql 'SELECT d.empty_kernel_ns = CAST(c.empty_kernel_ns AS INTEGER), d.copy_bytes_per_s > 0, d.flops_per_s > 0
		FROM device d, calibration c ORDER BY d.id DESC LIMIT 1')" "1|1|1"
	# In another database nothing is known.
	KERNCAST_DB=$PWD/other.db "$kerncast" run -q -- "$build/demo-static-sim" >demo.out
	equal "$(sql 'SELECT launch_overhead_ns FROM device' other.db)" 8000
}

@test "replay, slowdown and predict take it as well" {
	local name="Simulated NVIDIA A100-SXM4-40GB" overhead
	"$kerncast" run -q -- "$build/demo-static-sim" >demo.out
	"$kerncast" calibrate >calibrate.out
	"$kerncast" run -q -- "$build/demo-static-sim" >demo.out
	overhead=$(sql 'SELECT CAST(launch_overhead_ns AS INTEGER) FROM calibration')
	"$kerncast" slowdown --db kerncast.db --device "$name" --json blocks=1,threads=32,time=1ms blocks=1,threads=32,time=1ms >s.json
	equal "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('s.json') AS TEXT), '\$.timeline[0].start_ns', '\$.simulated')")" "[$overhead,true]"
	contains "$("$kerncast" predict --db kerncast.db --device "$name" blocks=1,threads=32,fma=1)" SIMULATED
	# A recorded run is replayed with what was known then, an imported one with what is known of its device.
	printf '%s\n' "process,module,device,device_name,stream,kind,start_ns,duration_ns,launch_ns,grid_x,grid_y,grid_z,block_x,block_y,block_z,registers,static_shared_bytes,dynamic_shared_bytes,bytes,correlation,graph_node,priority,args,name" \
		"p,m,0,$name,7,kernel,50000,5000,1000,1,1,1,32,1,1,16,0,0,,,,,,g" >t.csv
	"$kerncast" import t.csv >import.out
	"$kerncast" replay --csv >r.csv
	equal "$(sqlite3 :memory: '.import --csv r.csv r' "SELECT process, min(start_ns - launched_ns) FROM r
		WHERE process IN (1, 3) GROUP BY process")" "1|8000"$'\n'"3|$overhead"
	# A stand-in tells nothing of the hardware, and an unknown database nothing at all.
	keep real "$kerncast" slowdown --db kerncast.db --device a100 blocks=1,threads=32 blocks=1,threads=32
	equal "$(<real.status)" 1
	contains "$(<real.err)" "knows nothing of NVIDIA A100"
	keep none "$kerncast" slowdown --db none.db --device a100 blocks=1,threads=32 blocks=1,threads=32
	equal "$(<none.status)" 1
	[[ ! -e none.db ]]
}

@test "without a driver, a device or measurements: status 1, and why" {
	keep none env LD_LIBRARY_PATH="$BATS_TEST_TMPDIR" "$kerncast" calibrate c.db
	equal "$(<none.status)" 1
	keep device "$kerncast" calibrate --device 7 c.db
	equal "$(<device.status)" 1
	contains "$(<device.err)" "no such device"
	SIMCUDA_FAULT=cupti-busy keep busy "$kerncast" calibrate c.db
	equal "$(<busy.status)" 1
	contains "$(<busy.err)" "nothing was measured"
	[[ ! -e c.db ]]
	keep wrong "$kerncast" calibrate --device x
	equal "$(<wrong.status)" 2
}
