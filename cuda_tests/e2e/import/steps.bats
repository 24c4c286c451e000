# Steps, ranges and operators of traces of the PyTorch profiler, as kerncast import keeps them: which of them a launch was
# in, and report --by step and --step. ../steps.py works out the same from the trace itself.
load ../common

example=$root/cuda_tests/traces/examples/hta_nccl_a100.json.gz

# Times in microseconds. Thread 1 has steps 7 and 8; thread 2 launches in step 7, too; a copy, and a kernel that NCCL's
# runs beside, in step 8; and one launch is in no step.
make_trace() { # into trace.json, and from there into t.db
	rm -f t.db*
	python3 - >trace.json <<-'END'
		import json
		events = []
		def event(category, name, thread, start, end, **args):
		    events.append({"ph": "X", "cat": category, "name": name, "pid": 100 if category[:3] != "ker" and category[:3] != "gpu" else 0,
		                   "tid": thread, "ts": start, "dur": end - start, "args": args})
		def launch(thread, call, start, end, name="f", category="kernel", device=0, **args):
		    event("cuda_runtime", "cudaLaunchKernel", thread, call, call + 1, correlation=call)
		    event(category, name, 7, start, end, device=device, stream=7 + (name != "f"), correlation=call,
		          grid=[8, 1, 1], block=[64, 1, 1], **args)
		event("user_annotation", "ProfilerStep#7", 1, 100, 200)
		event("user_annotation", "ProfilerStep#8", 1, 200, 330)
		event("user_annotation", "forward", 1, 110, 150)
		event("cpu_op", "aten::add", 1, 120, 130)
		launch(1, 125, 300, 310)
		launch(1, 140, 320, 340)
		launch(2, 150, 350, 390, device=1)
		launch(1, 199, 400, 405)
		launch(1, 200, 500, 600, "ncclKernel_AllReduce")
		launch(1, 201, 560, 580)
		launch(1, 202, 590, 640, "Memcpy HtoD", "gpu_memcpy", bytes=4096)
		launch(1, 330, 700, 701)
		json.dump({"traceEvents": events}, open(1, "w"))
	END
	keep import "$kerncast" import trace.json -o t.db
	equal "$(<import.status)" 0 "status ($(<import.err))"
}

agree() { # TRACE: what is stored and reported is what Python works out
	rm -f agree.db*
	"$kerncast" import "$1" -o agree.db >/dev/null
	"$kerncast" report --by step --csv agree.db >agree.csv
	python3 "$root/cuda_tests/e2e/steps.py" check "$1" agree.db agree.csv
}

@test "a launch is in the step of its call, whichever thread made it and whenever it ran" {
	make_trace
	equal "$("$kerncast" report --by step --csv t.db | tr -d '\r')" "name,number,process,at_ns,launches,measured,copies,time_ns,measured_ns,busy_ns,communication_exposed_ns,simulated
step 7,7,1,-200000,4,4,0,100000,75000,75000,0,0
step 8,8,1,-100000,2,2,1,130000,120000,140000,80000,0
outside of steps,,1,,1,1,0,,1000,1000,0,0"
	"$kerncast" report --by step --sort count --top 1 t.db >page
	grep -qE '^  step 7 +4 +100 µs +75.0 µs +75.0 µs +0 ns$' page || { cat page; return 1; }
	[[ $(<page) != *"step 8"* ]]
}

@test "the innermost range or operator of the call's thread is kept, with all that held it" {
	make_trace
	equal "$(sql "SELECT group_concat(x, ', ') FROM (SELECT l.correlation || ' ' || s.kind || ' ' || s.name || coalesce(' in ' || p.name, '') AS x
		FROM launched_in i JOIN launch l ON l.process = i.id >> 40 AND l.sequence = i.id & ((1 << 40) - 1)
		JOIN scope s ON s.process = l.process AND s.local = i.scope LEFT JOIN scope p ON p.process = s.process AND p.local = s.parent
		ORDER BY l.correlation)" t.db)" "125 operator aten::add in forward, 140 range forward"
}

@test "steps and scopes of a recording of two ranks on A100s are what Python works out from the trace" {
	agree "$example"
}

@test "the same of traces of chance: threads, ranges that overlap or do not end, graphs, calls that are not there" {
	for seed in 1 2 3 4 5 6 7 8; do
		python3 "$root/cuda_tests/e2e/steps.py" make $seed >chance.json
		agree chance.json || { echo "seed $seed"; return 1; }
	done
}

@test "a step that is said wrong is found by the comparison" {
	python3 "$root/cuda_tests/e2e/steps.py" make 1 >chance.json
	agree chance.json
	sql "UPDATE launched_in SET scope = (SELECT min(scope) FROM launched_in)" agree.db
	sed -i 's/,\([1-9]\)/,2\1/5' agree.csv
	keep check python3 "$root/cuda_tests/e2e/steps.py" check chance.json agree.db agree.csv
	equal "$(<check.status)" 1
	contains "$(<check.out)" "step "
	contains "$(<check.out)" " > "
}

@test "--step chooses the same launches in report, slow, diff, export and replay" {
	"$kerncast" import "$example" -o t.db >/dev/null
	local wanted="900 of 2,700 launches"
	contains "$("$kerncast" report --step 5 t.db)" "Filter: step 5: $wanted"
	contains "$("$kerncast" slow --step 5 t.db)" "$wanted"
	contains "$("$kerncast" replay --step 5 t.db)" "$wanted"
	equal "$("$kerncast" export --csv --step 5 t.db | tail -n +2 | wc -l)" 900
	cp t.db u.db
	contains "$("$kerncast" diff --step 5 t.db u.db)" "OLD $wanted, NEW $wanted"
	contains "$("$kerncast" report --step 4,6..9 t.db)" "Filter: step 4 or 6 to 9: 1,800 of 2,700 launches"
	equal "$("$kerncast" report --by step --csv --step 5..6 t.db | cut -d, -f2)" $'number\n5\n6'
	# Of a trace, with the copies that were launched in it.
	"$kerncast" export --chrome --step 5 t.db -o t.json
	equal "$(sqlite3 :memory: "SELECT count(*) FROM json_each(CAST(readfile('t.json') AS TEXT), '\$.traceEvents')
		WHERE value ->> 'cat' IN ('transfer,measured', 'kernel,measured')")" 1258
}

@test "JSON: steps are those of CSV, and what was chosen" {
	make_trace
	"$kerncast" report --json --step 7..7,12 t.db >t.json
	"$root/scripts/check-schemas" t.json
	equal "$(sqlite3 :memory: "SELECT json_extract(j, '\$.filter.steps') || json_extract(j, '\$.steps[0].launches') ||
		json_array_length(j, '\$.steps') FROM (SELECT CAST(readfile('t.json') AS TEXT) AS j)")" \
		'[{"first":7,"last":7},{"first":12,"last":12}]41'
	"$kerncast" report --json t.db >t.json
	"$root/scripts/check-schemas" t.json
	equal "$(sqlite3 :memory: "SELECT group_concat(value ->> 'number' || '/' || (value ->> 'busy_ns')) || '/' || count(*)
		FROM json_each(CAST(readfile('t.json') AS TEXT), '\$.steps')")" "7/75000,8/140000/3"
}

@test "no steps: said with what to do, status 1; wrong numbers: status 2" {
	printf 'kind,start_ns,duration_ns,name\nkernel,100,50,f\n' >t.csv
	"$kerncast" import t.csv -o t.db >/dev/null
	keep none "$kerncast" report --by step t.db
	equal "$(<none.status)" 1
	contains "$(<none.err)" "t.db: no steps are known; an imported trace has them where torch.profiler was told of each"
	keep none "$kerncast" report --step 1 t.db
	equal "$(<none.status)" 1
	contains "$(<none.err)" "no launch matches the filter: step 1"
	"$kerncast" report --json t.db >t.json
	equal "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('t.json') AS TEXT), '\$.steps')")" "[]"
	for wrong in "" x 1.. ..2 3..2 1..x 1,,2 '1,' 1...2 -1 99999999999999999999 "$(seq -s, 65)"; do
		keep wrong "$kerncast" report --step "$wrong" t.db
		equal "$(<wrong.status)" 2 "status of --step \"$wrong\""
		contains "$(<wrong.err)" "--step takes"
	done
}

@test "hostile ranges: any names, any nesting and 200,000 names in bounded memory" {
	python3 - >hostile.json <<-'END'
		import json
		events = []
		def event(category, name, start, end, **args):
		    events.append({"ph": "X", "cat": category, "name": name, "pid": 100, "tid": 1, "ts": start, "dur": end - start, "args": args})
		for i in range(200000):
		    event("user_annotation", f"range {i}", 10 * i, 10 * i + 9)
		    if i % 4 == 0:
		        event("cuda_runtime", "cudaLaunchKernel", 10 * i + 5, 10 * i + 6, correlation=i + 1)
		        event("kernel", "f", 10 * i + 7, 10 * i + 8, correlation=i + 1, device=0, stream=7)
		for i in range(3000):
		    event("user_annotation", "deep", 3e6 + i, 4e6 - i)
		event("cuda_runtime", "cudaLaunchKernel", 3.5e6, 3.6e6, correlation=900001)
		event("kernel", "f", 3.5e6, 3.6e6, correlation=900001, device=0, stream=7)
		for name in ("ProfilerStep#", "ProfilerStep#99999999999999999999", "ProfilerStep#-1", "ProfilerStep#1x", "ProfilerStep#9223372036854775807"):
		    event("user_annotation", name, 5e6, 6e6)
		event("user_annotation", "\x1b]0;title\x07\u202e", 5e6, 6e6)
		event("cuda_runtime", "cudaLaunchKernel", 5.5e6, 5.6e6, correlation=900002)
		event("kernel", "f", 5.5e6, 5.6e6, correlation=900002, device=0, stream=7)
		json.dump({"traceEvents": events}, open(1, "w"))
	END
	(ulimit -v 300000 && "$kerncast" import hostile.json -o h.db >/dev/null)
	equal "$(sql "SELECT count(*) FROM launched_in" h.db)" 50002
	within "$(sql "SELECT count(*) FROM scope" h.db)" 16384 65536
	equal "$(sql "SELECT count(*) FROM scope WHERE name = '(others)'" h.db)" 64 "those in each other"
	"$kerncast" report --by step h.db >page
	contains "$(<page)" "step 9223372036854775807"
	[[ $(<page) != *$'\e'* ]]
}
