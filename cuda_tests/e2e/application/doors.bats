# Launches that get past LD_PRELOAD, and the doors by which they are seen all the
# same: the loader's (LD_AUDIT) and the driver's (CUDA_INJECTION64_PATH). The
# programs are the matrix's, opened as libraries by cuda_tests/matrix/doors/open.c.
load ../common

audit=$build/libkerncast-audit.so
doors=$build/doors
injection=(env "CUDA_INJECTION64_PATH=$library" KERNCAST_QUIET=1)

# Runs `open ARGS` plainly, then through COMMAND: same output and status.
opened() { # COMMAND... -- ARGS...
	local through=()
	while [[ $1 != -- ]]; do
		through+=("$1")
		shift
	done
	shift
	rm -f "$SIMCUDA_LOG"
	keep plain "$doors/open" "$@"
	equal "$(<plain.status)" 0 "status without kerncast"
	executed=$(counted kernels)
	rm -f "$SIMCUDA_LOG" kerncast.db*
	keep shimmed "${through[@]}" "$doors/open" "$@"
	diff plain.out shimmed.out && diff plain.status shimmed.status
	equal "$(counted kernels)" "$executed" "kernels executed"
}

# Every kernel is a row, predicted before it was launched, and matched once.
all_matched() {
	equal "$(sql 'SELECT count(*) FROM launch')" "$executed" rows
	equal "$(sql 'SELECT count(*) FROM launch WHERE unpredictable IS NULL AND predicted_at_ns <= launched_ns')" \
		"$executed" "predicted"
	equal "$(sql 'SELECT count(*) FROM launch WHERE measured_start_ns IS NOT NULL')" "$executed" "matched"
	equal "$(sql 'SELECT count(*) FROM (SELECT DISTINCT correlation, graph_node FROM launch)')" "$executed" "matched once"
	equal "$(report '$.ledger.unmatched')" 0 "records without a launch"
	no_journal
}

no_journal() {
	equal "$(find . -name '*.kcj')" "" "journals left"
	ledger_adds_up
}

@test "RTLD_DEEPBIND, --audit: driver linked, found at run time, static and shared cudart, graphs" {
	local how name
	for name in linked_driver_launch linked_driver_ex resolved_driver_launch resolved_driver_graph \
		static_runtime_chevron static_runtime_graph shared_runtime_chevron shared_runtime_graph; do
		opened "$kerncast" run -q --audit -- deepbind "$doors/$name.so"
		all_matched
	done
	for how in deepbind_lazy lazy plain; do
		opened "$kerncast" run -q --audit -- "$how" "$doors/linked_driver_launch.so"
		all_matched
	done
}

@test "RTLD_DEEPBIND, --audit: eight threads, beside a library opened as usual" {
	opened "$kerncast" run -q --audit -- plain "$doors/linked_driver_launch.so" --threads 8 --launches 200 \
		-- deepbind "$doors/static_runtime_launch.so" --threads 8 --launches 200
	all_matched
}

@test "RTLD_DEEPBIND without --audit: records without a launch, and the report says why" {
	local report
	opened "$kerncast" run -q -- plain "$doors/linked_driver_launch.so" --launches 300 \
		-- deepbind "$doors/static_runtime_launch.so" --launches 200
	equal "$(sql 'SELECT count(*) FROM launch')" 300 rows
	equal "$(report '$.ledger.matched')" 300 matched
	equal "$(report '$.ledger.unmatched')" 200 "records without a launch"
	no_journal
	report=$("$kerncast" report)
	contains "$report" "200 CUPTI records have no recorded launch"
	contains "$report" "kerncast run --audit"
}

@test "nothing of the driver was seen: said at the end, also off a terminal, and not where something was" {
	local how name
	for how in deepbind apart; do
		for name in linked_driver_launch resolved_driver_launch static_runtime_launch; do
			opened "$kerncast" run -- "$how" "$doors/$name.so" --launches 10
			equal "$(grep -c "no call of it was seen.* kerncast run --audit" shimmed.err)" 1 "lines, $how $name"
			[[ ! -e kerncast.db ]]
			keep quiet "$kerncast" run -q -- "$doors/open" "$how" "$doors/$name.so" --launches 10
			equal "$(<quiet.err)" ""
		done
		opened "$kerncast" run --audit -- "$how" "$doors/linked_driver_launch.so" --launches 10
		[[ $(<shimmed.err) != *"no call of it"* ]]
	done
	opened "$kerncast" run -- plain "$doors/linked_driver_launch.so" --launches 10
	[[ $(<shimmed.err) != *"no call of it"* ]]
	contains "$("$kerncast" doctor python3)" "but for those opened with RTLD_DEEPBIND or by dlmopen, which kerncast run --audit sees"
}

# glibc 2.36 does not bear threads in more than one namespace, with or without us: one thread.
@test "dlmopen, --audit: every launch predicted, none measured, with the reason" {
	local name
	for name in linked_driver_launch linked_driver_graph resolved_driver_launch static_runtime_chevron \
		static_runtime_graph shared_runtime_chevron; do
		opened "$kerncast" run -q --audit -- apart "$doors/$name.so"
		equal "$(sql 'SELECT count(*) FROM launch')" "$executed" "rows of $name"
		equal "$(sql 'SELECT count(*) FROM launch WHERE unpredictable IS NULL')" "$executed" "predicted"
		equal "$(sql "SELECT count(*) FROM launch WHERE unmeasured = 'no_cupti'")" "$executed" "unmeasured for a reason"
		equal "$(sql "SELECT count(*) FROM message WHERE code = 'APART'")" 1 messages
		no_journal
	done
}

@test "dlmopen without --audit: the program runs, nothing is recorded" {
	opened "$kerncast" run -q -- apart "$doors/static_runtime_launch.so"
	[[ ! -e kerncast.db ]]
}

@test "dlmopen beside a driver of the program's own: that one is watched, the other is named" {
	opened "$kerncast" run -q --audit -- plain "$doors/linked_driver_launch.so" --launches 300 \
		-- apart "$doors/static_runtime_launch.so" --launches 200
	equal "$(sql 'SELECT count(*) FROM launch')" 300 rows
	equal "$(report '$.ledger.matched')" 300 matched
	equal "$(sql "SELECT count(*) FROM message WHERE code = 'SECOND_DRIVER'")" 1 messages
	no_journal
	opened "$kerncast" run -q --audit -- apart "$doors/linked_driver_launch.so" --launches 300 \
		-- plain "$doors/linked_driver_ex.so" --launches 200 -- lazy "$doors/static_runtime_launch.so" --launches 100
	equal "$(sql 'SELECT count(*) FROM launch')" 300 rows
	no_journal
}

@test "the injection door alone: launches, Ex, graphs, captures; every cudart; threads" {
	local name
	for name in linked_driver_launch linked_driver_ex linked_driver_graph resolved_driver_launch resolved_driver_graph \
		static_runtime_chevron static_runtime_launch static_runtime_graph shared_runtime_chevron shared_runtime_graph; do
		opened "${injection[@]}" -- plain "$doors/$name.so"
		all_matched
	done
	opened "${injection[@]}" -- plain "$doors/static_runtime_launch.so" --threads 8
	all_matched
}

@test "the injection door and RTLD_DEEPBIND" {
	opened "${injection[@]}" -- deepbind "$doors/linked_driver_graph.so" -- plain "$doors/static_runtime_graph.so"
	all_matched
	opened env "CUDA_INJECTION64_PATH=$library" "$kerncast" run -q -- deepbind "$doors/static_runtime_launch.so" \
		-- plain "$doors/linked_driver_launch.so"
	all_matched
}

@test "the injection door and dlmopen: the copy in there records" {
	opened "${injection[@]}" -- apart "$doors/static_runtime_launch.so"
	all_matched
	opened env "CUDA_INJECTION64_PATH=$library" "$kerncast" run -q --audit -- apart "$doors/static_runtime_launch.so"
	all_matched
}

@test "all doors at once: one row per launch" {
	local name
	for name in linked_driver_launch linked_driver_graph resolved_driver_launch static_runtime_chevron \
		shared_runtime_graph; do
		opened env "CUDA_INJECTION64_PATH=$library" "$kerncast" run -q --audit -- plain "$doors/$name.so" \
			-- deepbind "$doors/static_runtime_launch.so"
		all_matched
	done
}

@test "a copy of the library behind the injection door: the preloaded one records" {
	mkdir copy && cp "$library" copy/
	opened env "CUDA_INJECTION64_PATH=$PWD/copy/libkerncast.so" "$kerncast" run -q -- plain "$doors/linked_driver_launch.so"
	rm -r copy
	all_matched
}

@test "the injection door where CUPTI does not tell that cuInit has returned: the next call begins, and all is seen" {
	SIMCUDA_FAULT=cupti-whole-calls opened "${injection[@]}" -- plain "$doors/linked_driver_launch.so"
	all_matched
}

@test "the injection door where CUPTI is taken, switched off, or missing" {
	SIMCUDA_FAULT=cupti-busy opened "${injection[@]}" -- plain "$doors/linked_driver_launch.so"
	[[ ! -e kerncast.db ]]
	opened "${injection[@]}" KERNCAST_CUPTI=/nowhere/libcupti.so -- plain "$doors/linked_driver_launch.so"
	[[ ! -e kerncast.db ]]
	keep said env -u KERNCAST_QUIET "CUDA_INJECTION64_PATH=$library" KERNCAST_CUPTI=/nowhere/libcupti.so \
		"$doors/open" plain "$doors/linked_driver_launch.so"
	contains "$(<said.err)" "CUDA_INJECTION64_PATH shows no launches without CUPTI"
	opened "${injection[@]}" KERNCAST_MEASURE=off -- plain "$doors/linked_driver_launch.so"
	equal "$(sql 'SELECT count(*) FROM launch WHERE unpredictable IS NULL')" "$executed" predicted
	equal "$(sql "SELECT count(*) FROM launch WHERE unmeasured = 'measure_off'")" "$executed" "not measured"
	opened "${injection[@]}" KERNCAST_DISABLE=1 -- plain "$doors/linked_driver_launch.so"
	[[ ! -e kerncast.db ]]
}

@test "--audit: programs without CUDA run as they are, and leave no file" {
	local name
	mkdir empty && cd empty || return 1
	for name in true false; do
		keep ../plain "/bin/$name"
		keep ../shimmed "$kerncast" run --audit "/bin/$name"
		same ../plain ../shimmed
	done
	if command -v python3 >/dev/null; then
		keep ../plain python3 -c 'import ctypes, json, sys; print(sys.version); sys.exit(3)'
		keep ../shimmed "$kerncast" run --audit python3 -c 'import ctypes, json, sys; print(sys.version); sys.exit(3)'
		same ../plain ../shimmed
	fi
	equal "$(find . -type f)" "" "files left"
}

@test "--audit keeps LD_AUDIT, and needs no C library" {
	keep shown env LD_AUDIT=/nowhere/other.so "$kerncast" run --audit sh -c 'echo "$LD_AUDIT"'
	equal "$(<shown.out)" "$audit:/nowhere/other.so" LD_AUDIT
	equal "$(readelf -d "$audit" | grep -c NEEDED)" 0 "libraries it needs"
}

@test "doctor knows the doors" {
	local said
	said=$(CUDA_INJECTION64_PATH=$library "$kerncast" doctor)
	contains "$said" "ok       injection"
	contains "$said" "other profiler  none"
	said=$(CUDA_INJECTION64_PATH=/nowhere/libkerncast.so "$kerncast" doctor || true)
	contains "$said" "problem  injection"
	said=$(LD_AUDIT=$audit "$kerncast" doctor)
	contains "$said" "warning  LD_AUDIT"
	equal "$(find . -name '*.db' -o -name '*.kcj')" "" "files left"
	said=$("$kerncast" run -q --audit "$kerncast" doctor)
	contains "$said" "ok       LD_AUDIT"
}
