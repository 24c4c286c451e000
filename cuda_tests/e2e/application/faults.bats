# What can go wrong around the program: its output and status stay what they
# are without the shim, the ledger adds up, and the cause is in `message`.
# Runs in real time.
load ../common

demo=("$build/demo-static-sim" --rounds 60)

# The app's side of every case; rows of failed calls are rows too.
app_unchanged() { # COMMAND...
	unchanged_under_run "$@"
	equal "$(sql 'SELECT count(*) FROM launch')" "$(($(counted launches) + $(counted launches_failed)))" \
		"rows in launch"
	ledger_adds_up
}

said() { # CODE...: one of them is in message
	local codes
	codes=$(printf "'%s'," "$@")
	[[ $(sql "SELECT count(*) FROM message WHERE code IN (${codes%,})") -ge 1 ]] ||
		{ echo "no $* in message:"; sql 'SELECT * FROM message'; return 1; }
}

@test "CUPTI busy with another profiler: predicted, not measured, said" {
	export SIMCUDA_FAULT=cupti-busy
	app_unchanged "${demo[@]}"
	said PROFILER_BUSY
	equal "$(report '$.ledger.predicted')" "$(counted launches)" predicted
	equal "$(report '$.ledger.measured')" 0 measured
	equal "$(sql "SELECT count(*) FROM launch WHERE unmeasured IS NULL OR measured_start_ns IS NOT NULL")" 0 \
		"rows without a reason"
	run "$kerncast" report
	contains "$output" "another profiler"
}

@test "CUPTI drops records: counted" {
	export SIMCUDA_FAULT=cupti-drop
	app_unchanged "${demo[@]}"
	said RECORDS_DROPPED
	within "$(report '$.ledger.records_dropped')" 1 100000 "dropped records"
	within "$(report '$.ledger.matched')" 1 "$(counted launches)" matched
	within "$(report '$.ledger.unmeasured')" 1 100000 unmeasured
}

@test "CUPTI records without times: rejected and counted" {
	export SIMCUDA_FAULT=cupti-zero-time
	app_unchanged "${demo[@]}"
	said RECORDS_INVALID
	within "$(report '$.ledger.invalid')" 1 100000 "invalid records"
	equal "$(sql 'SELECT count(*) FROM launch WHERE measured_start_ns IS NOT NULL AND
		(measured_start_ns < launched_ns OR measured_end_ns < measured_start_ns)')" 0 "impossible times in launch"
}

# What the simulated device ran in seconds, it cannot have run 27 hours ago or hence.
@test "CUPTI records of another clock: rejected, counted, and never learned from" {
	local wrong
	export SIMCUDA_FAULT=cupti-other-clock=3
	app_unchanged "${demo[@]}"
	said RECORDS_INVALID
	wrong=$(sql "SELECT count(*) FROM launch WHERE unmeasured = 'record_invalid'")
	within "$wrong" "$(($(counted kernels) / 4))" "$(($(counted kernels) / 2))" "launches with such a record"
	equal "$(report '$.ledger.invalid')" "$wrong" "invalid records"
	equal "$(report '$.ledger.matched')" "$(($(counted kernels) - wrong))" matched
	within "$(sql 'SELECT max(abs(measured_start_ns - launched_ns)) FROM launch')" 1 1e11 "from a launch to its start"
	within "$(sql 'SELECT max(measured_end_ns - measured_start_ns) FROM launch')" 1 1e11 "longest kernel"
	within "$(sql 'SELECT max(abs(start_ns - launched_ns)) FROM launch')" 0 1e11 "predicted start"
	within "$(sql 'SELECT max(abs(measured_start_ns - launched_ns)) FROM transfer')" 1 1e11 "from a copy's call to its start"
}

# CUPTI may take 16 of the GPU's buffers, here of 100 records each, and none is used again. As a graph it is 5,000 kernels.
@test "CUPTI's buffers on the GPU run out: bounded, said, and what has no times is counted" {
	export SIMCUDA_FAULT=cupti-device-buffers=100 KERNCAST_MEASURE=kernels
	keep shimmed "$kerncast" run -q -- "$build/awkward/large_graph" captured 1000 5
	equal "$(<shimmed.status)" 0 "exit status"
	said DEVICE_BUFFERS
	equal "$(report '$.ledger.matched')" 1600 matched
	equal "$(report '$.ledger.invalid')" 3400 "invalid records"
	equal "$(sql "SELECT count(*) FROM launch WHERE unmeasured = 'record_invalid'")" 3400 "launches with such a record"
	contains "$("$kerncast" report)" "predicted, not measured: 16 of 3.2 MB for each context"
	ledger_adds_up
}

@test "CUPTI's disable does not return: the exit waits its time and no longer, and nothing is lost" {
	local began=$SECONDS
	keep plain "${demo[@]}"
	rm "$SIMCUDA_LOG"
	keep shimmed env SIMCUDA_FAULT=cupti-hang-disable KERNCAST_FLUSH_MS=500 "$kerncast" run -q -- "${demo[@]}"
	same plain shimmed
	within "$((SECONDS - began))" 0 20 "seconds"
	"$kerncast" recover
	equal "$(sql 'SELECT count(*) FROM launch')" "$(counted launches)" "rows in launch"
	said FLUSH_TIMEOUT
	ledger_adds_up
}

@test "CUPTI's flush crashes: the program ends by it, and what it launched until then is recovered" {
	keep shimmed env SIMCUDA_FAULT=cupti-crash-flush=3 "$kerncast" run -q -- "$build/demo-static-sim" --rounds 2000
	equal "$(<shimmed.status)" 139 "exit status, that of SIGSEGV"
	"$kerncast" recover
	within "$(sql 'SELECT count(*) FROM launch')" "$(($(counted launches) - 1))" "$(($(counted launches) + 1))" \
		"rows in launch"
	ledger_adds_up
}

@test "CUPTI's buffer callback under a fault: the app does not notice" {
	export SIMCUDA_FAULT=cupti-null-buffer
	app_unchanged "${demo[@]}"
}

# A graph's launches put more records in flight than kerncast has memory for. Refused a buffer, CUPTI before 12.9 (27)
# ends the process, and the stand-in does as well.
@test "memory for CUPTI's records runs out: the app runs on with every version of CUPTI" {
	local version
	echo '* 25000 0' >costs # 18 us on the simulated A100
	export SIMCUDA_COSTS=$PWD/costs
	for version in 19 26 27; do
		rm -f kerncast.db* "$SIMCUDA_LOG"
		keep shimmed env SIMCUDA_CUPTI_VERSION=$version "$kerncast" run -q -- \
			"$build/awkward/large_graph" captured 10000 8 ahead
		equal "$(<shimmed.status)" 0 "exit status, version $version"
		equal "$(report '$.ledger.launches')" 80000 "launches, version $version"
		within "$(report '$.ledger.records_dropped')" 1 80000 "records dropped, version $version"
		within "$(report '$.ledger.matched')" 20000 79999 "matched, version $version"
		said BUFFERS_FULL
		ledger_adds_up
	done
}

@test "no CUPTI: predicted, not measured, said" {
	mkdir lib
	ln -s "$simcuda"/libcuda.so* "$simcuda"/libcudart.so* lib/
	LD_LIBRARY_PATH=$PWD/lib
	export KERNCAST_CUPTI=$PWD/lib/libcupti.so.13
	app_unchanged "${demo[@]}"
	said NO_CUPTI CUPTI_FAILED
	equal "$(report '$.ledger.predicted')" "$(counted launches)" predicted
	equal "$(report '$.ledger.measured')" 0 measured
	run "$kerncast" report
	contains "$output" "CUPTI"
}

@test "the app runs out of device memory: its error stays its own" {
	export SIMCUDA_FAULT=oom=3
	keep plain "${demo[@]}"
	keep shimmed "$kerncast" run -q -- "${demo[@]}"
	same plain shimmed
	equal "$(<plain.status)" 1 "exit status of the demo"
}

@test "a launch fails: recorded as failed, predicts nothing further" {
	export SIMCUDA_FAULT=launch-fail=100
	app_unchanged "${demo[@]}"
	equal "$(<plain.status)" 1 "exit status of the demo"
	equal "$(counted launches_failed)" 1 "failed launches"
	equal "$(report '$.ledger.failed')" 1 "failed in the ledger"
	equal "$(sql 'SELECT count(*) FROM launch WHERE result <> 0')" 1 "failed rows"
	equal "$(sql 'SELECT count(*) FROM launch WHERE result <> 0 AND measured_start_ns IS NOT NULL')" 0 \
		"failed rows with a measured time"
}

@test "a driver that answers with addresses it does not export: hooked by name, counted" {
	export SIMCUDA_FAULT=hidden-addresses
	app_unchanged "${demo[@]}"
	said ROUTED_BY_NAME
	equal "$(report '$.ledger.matched')" "$(counted launches)" matched
	within "$(report '$.ledger.routed_by_name')" 1 100000 "routed by name"
}

@test "no GPU: the app's own error, and no database full of nothing" {
	export SIMCUDA_FAULT=no-device
	keep plain "${demo[@]}"
	keep shimmed "$kerncast" run -q -- "${demo[@]}"
	same plain shimmed
	equal "$(<plain.status)" 1 "exit status of the demo"
	[[ ! -e kerncast.db ]] || equal "$(sql 'SELECT count(*) FROM launch')" 0 "rows in launch"
}

@test "a database in a folder that is not there: said, the app runs on" {
	keep plain "${demo[@]}"
	keep shimmed preloaded KERNCAST_DB=missing/folder/kerncast.db "${demo[@]}"
	diff plain.out shimmed.out
	equal "$(<shimmed.status)" "$(<plain.status)" "exit status"
	contains "$(<shimmed.err)" missing/folder
	within "$(wc -l <shimmed.err)" 1 12 "lines about it"
}

@test "a database where a foreign file is: said, the file is left alone, nothing is lost" {
	echo "my diary" >kerncast.db
	keep plain "${demo[@]}"
	rm "$SIMCUDA_LOG"
	keep shimmed "$kerncast" run -- "${demo[@]}"
	diff plain.out shimmed.out
	equal "$(<shimmed.status)" 0 "exit status"
	contains "$(<shimmed.err)" kerncast.db
	equal "$(<kerncast.db)" "my diary" "the foreign file"
	rm kerncast.db
	"$kerncast" recover
	equal "$(sql 'SELECT count(*) FROM launch')" "$(counted launches)" "rows in launch"
}

@test "a database of somebody else, for an ordinary user: said, the app runs on" {
	needs_root
	command -v setpriv >/dev/null || skip "no setpriv"
	mkdir closed
	chmod 755 . closed
	keep plain "${demo[@]}"
	keep shimmed setpriv --reuid 65534 --regid 65534 --clear-groups env SIMCUDA_LOG= \
		LD_PRELOAD="$library" KERNCAST_DB="$PWD/closed/kerncast.db" "${demo[@]}"
	[[ $(<shimmed.status) != 126 ]] || skip "the build folder is closed to ordinary users"
	diff plain.out shimmed.out
	equal "$(<shimmed.status)" 0 "exit status"
	contains "$(<shimmed.err)" closed/kerncast.db
}

@test "KERNCAST_JOURNAL_MAX reached: launches past it are dropped and counted, the app never waits" {
	export SIMCUDA_MODE=null KERNCAST_MEASURE=off
	unchanged_under_run env KERNCAST_JOURNAL_MAX=1M "$build/demo-static-sim" --threads 8 --rounds 500
	equal "$(($(report '$.ledger.launches') + $(report '$.ledger.dropped')))" "$(counted launches)" \
		"launches and dropped together"
	equal "$(sql "SELECT count(*) FROM message WHERE code = 'JOURNAL_FULL'")" 1 "the cause in message"
	ledger_adds_up
}

@test "KERNCAST_JOURNAL_MAX reached by transfers: those past it are counted, and the report says so" {
	export SIMCUDA_MODE=null KERNCAST_MEASURE=off
	unchanged_under_run env KERNCAST_JOURNAL_MAX=1M "$build/awkward/transfers" 60000
	equal "$(($(counted copies) + $(counted memsets)))" 60000 "what the device was given"
	equal "$(($(report '$.ledger.transfers') + $(report '$.ledger.transfers_dropped')))" 60000 \
		"transfers and dropped transfers together"
	within "$(report '$.ledger.transfers_dropped')" 1 60000 "dropped transfers"
	contains "$("$kerncast" report)" "more were dropped: the journal had reached its limit"
	equal "$(sql "SELECT count(*) FROM message WHERE code = 'JOURNAL_FULL'")" 1 "the cause in message"
	ledger_adds_up
}

# stream_calls makes and destroys streams, 8 threads each 4 + 160 + 20 * 2 and 160 + 20 * 2 of them.
@test "KERNCAST_JOURNAL_MAX reached: calls on streams are counted by kind, report and replay say so" {
	unchanged_under_run env KERNCAST_JOURNAL_MAX=1M "$build/awkward/stream_calls" lanes 8
	local kind count=(0 0 0 0 0 1600 1632)
	for kind in 5 6; do
		equal "$(sql "SELECT (SELECT count(*) FROM stream_call WHERE kind = $kind) + (SELECT count FROM ledger
			WHERE item = CASE $kind WHEN 5 THEN 'destroy_dropped' ELSE 'create_dropped' END)")" \
			"${count[kind]}" "recorded and dropped calls of kind $kind together"
	done
	within "$(report '$.ledger.stream_calls_dropped_kinds.create')" 1 1632 "dropped creations"
	equal "$(report '$.ledger.stream_calls_dropped')" "$(sql "SELECT sum(count) FROM ledger WHERE item IN
		('stream_idle_dropped', 'device_idle_dropped', 'create_dropped', 'destroy_dropped')")"
	contains "$("$kerncast" report)" "dropped calls"
	contains "$("$kerncast" replay)" "may not be the predictions that the run made"
	"$kerncast" replay --json >replay.json
	equal "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('replay.json') AS TEXT), '\$.incomplete_launches')")" \
		"$(sql 'SELECT count(*) FROM launch')"
	ledger_adds_up
	rm kerncast.db
	"$kerncast" run -q -- "$build/awkward/stream_calls" lanes 8
	equal "$(report '$.ledger.stream_calls_dropped')" 0
	[[ $("$kerncast" replay) != *"may not be"* ]]
}

# A file system of 4 MiB, filled but for KIB.
small_disk() { # KIB
	needs_root
	mkdir disk
	mount -t tmpfs -o size=4m none disk 2>/dev/null || skip "cannot mount a tmpfs"
	head -c $((4096 * 1024 - $1 * 1024)) /dev/zero >disk/filler
}

teardown() {
	! mountpoint -q "$BATS_TEST_TMPDIR/disk" 2>/dev/null || umount -l "$BATS_TEST_TMPDIR/disk"
}

full_disk() { # COMMAND...
	keep plain "$@"
	rm "$SIMCUDA_LOG"
	keep shimmed "$kerncast" run -o disk/kerncast.db -- "$@"
	diff plain.out shimmed.out
	equal "$(<shimmed.status)" "$(<plain.status)" "exit status"
}

# Once there is room again, what was kept comes in; what was not is counted.
room_again() {
	local rows dropped
	rm disk/filler
	mount -o remount,size=64m disk
	"$kerncast" recover disk/kerncast.db
	rows=$(sql 'SELECT count(*) FROM launch' disk/kerncast.db)
	dropped=$(report '$.ledger.dropped' disk/kerncast.db)
	equal "$((rows + dropped))" "$(counted launches)" "rows ($rows) and dropped ($dropped) together"
	ledger_adds_up disk/kerncast.db
}

fills_up() { # KIB
	small_disk "$1"
	full_disk "$build/demo-static-sim" --threads 8 --rounds 400
	room_again
	equal "$(sql "SELECT count(*) > 0 FROM message WHERE code IN ('DATABASE', 'JOURNAL_MEMORY', 'JOURNAL_FULL')" \
		disk/kerncast.db)" 1 "the cause in message"
}

@test "a disk of 4 MiB that fills while the app runs: output unchanged, the ledger adds up, the cause in message" {
	fills_up 4096
}

@test "the same with 1 MiB left: not even the database fits" {
	fills_up 1024
}

@test "a disk with no room for a launch: neither run nor report says that there were none" {
	local -i kib # so many that the tables of a database just fit
	for ((kib = 300; kib <= 400; kib += 4)); do
		small_disk "$kib"
		full_disk "${demo[@]}"
		! "$kerncast" report disk/kerncast.db >report.out 2>/dev/null || break
		umount disk
		rmdir disk
	done
	contains "$(<shimmed.err)" "the recording is still in 1 journal beside the database"
	for wrong in "recorded in" ": 0 launches"; do
		[[ $(<shimmed.err) != *"$wrong"* ]] || { cat shimmed.err; return 1; }
	done
	"$kerncast" report disk/kerncast.db >report.out
	contains "$(<report.out)" "NO LAUNCHES HERE YET"
	[[ $(<report.out) != *"no kernel was launched"* ]]
	room_again
	[[ $("$kerncast" report disk/kerncast.db) != *"HERE YET"* ]]
}

@test "a disk that is full from the start: output unchanged, said" {
	small_disk 0
	full_disk "${demo[@]}"
	contains "$(<shimmed.err)" disk
}
