# kerncast calibrate on the simulated device, whose overheads are documented in cuda_tests/simcuda/README.md.
load common

calibrate_json() { # JSON path
	"$kerncast" calibrate --json c.db >calibrate.json || return 1
	sqlite3 :memory: "SELECT json_extract(CAST(readfile('calibrate.json') AS TEXT), '$1')"
}

@test "overheads of the simulated device, marked as simulated, kept with the device" {
	export SIMCUDA_NOISE=0
	printf '%s\n' '*copy* 1 128*threads' '*fma* 100000 0' '*empty* 1000 0' >costs
	SIMCUDA_COSTS=$PWD/costs calibrate_json '$.simulated' >simulated
	equal "$(<simulated)" 1
	# A launch overhead of 2 to 5 us, and the time of the call itself; a gap of about 1 us.
	within "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('calibrate.json') AS TEXT), '$.launch_overhead_ns')")" 2000 20000
	within "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('calibrate.json') AS TEXT), '$.launch_gap_ns')")" 500 2000
	# An A100: 1,555 GB/s at most.
	within "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('calibrate.json') AS TEXT), '$.copy_bytes_per_s')")" 1e11 1.6e12
	equal "$(sql 'SELECT count(*), count(DISTINCT device), min(simulated) FROM calibration' c.db)" '1|1|1'
	contains "$(sql 'SELECT d.name FROM calibration c JOIN device d ON d.id = c.device' c.db)" Simulated
	contains "$("$kerncast" calibrate c.db)" SIMULATED
	equal "$(sql 'SELECT count(*), count(DISTINCT device) FROM calibration' c.db)" '2|1'
	equal "$(sql 'SELECT count(*) FROM launch' c.db)" 0
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
