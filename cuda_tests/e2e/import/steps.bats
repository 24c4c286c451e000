# Steps, ranges and operators of traces of the PyTorch profiler, as kerncast import keeps them: which of them a launch was
# in, and report --by step, range and operator, and --step. ../steps.py works out the same from the trace itself.
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

compare() { # TRACE
	python3 "$root/cuda_tests/e2e/steps.py" check "$1" agree.db agree.step.csv agree.range.csv agree.operator.csv
}

agree() { # TRACE: what is stored and reported is what Python works out
	rm -f agree.db*
	"$kerncast" import "$1" -o agree.db >/dev/null
	for by in step range operator; do
		"$kerncast" report --by $by --csv agree.db >agree.$by.csv
	done
	compare "$1"
}

@test "a launch is in the step of its call, whichever thread made it and whenever it ran" {
	make_trace
	equal "$("$kerncast" report --by step --csv t.db | tr -d '\r')" "name,number,process,at_ns,launches,measured,copies,time_ns,measured_ns,busy_ns,communication_exposed_ns,matched,matched_ns,predicted_ns,\
predicted_off_percent,simulated
step 7,7,1,-200000,4,4,0,100000,75000,75000,0,0,,,,0
step 8,8,1,-100000,2,2,1,130000,120000,140000,80000,0,,,,0
outside of steps,,1,,1,1,0,,1000,1000,0,0,,,,0"
	"$kerncast" report --by step --sort count --top 1 t.db >page
	grep -qE '^  step 7 +4 +100 µs +75.0 µs +75.0 µs +0 ns$' page || { cat page; return 1; }
	[[ $(<page) != *"step 8"* ]]
}

@test "predicted against measured, of each step: what SQL adds up of its launches" {
	"$kerncast" run -q "$build/demo-static-sim" --rounds 40 >/dev/null
	sql "WITH l AS (SELECT id >> 40 AS process, launched, row_number() OVER (ORDER BY launched) AS n, count(*) OVER () AS all_of FROM launch_row)
		INSERT INTO step (process, number, start_ns, end_ns) SELECT process, 3, min(launched), max(launched) FROM l WHERE n <= all_of / 2
		UNION ALL SELECT process, 4, max(launched), max(launched) + 1000000000000 FROM l WHERE n <= all_of / 2"
	"$kerncast" report --by step --csv >by.csv
	sql "SELECT t.number, count(*), sum(measured_end_ns - measured_start_ns) AS took, sum(l.end_ns - l.start_ns) AS predicted,
			printf('%.6f', sum(l.end_ns - l.start_ns) * 100.0 / sum(measured_end_ns - measured_start_ns) - 100)
		FROM step t JOIN process p ON p.id = t.process JOIN launch l ON l.process = t.process AND l.launched_ns - p.started_ns >= t.start_ns
			AND l.launched_ns - p.started_ns < t.end_ns WHERE l.end_ns NOT NULL AND l.measured_end_ns NOT NULL AND l.unpredictable IS NULL
		GROUP BY 1 ORDER BY 1" >wanted
	equal "$(wc -l <wanted)" 2
	equal "$(tail -n +2 by.csv | head -n 2 | awk -F, '{ printf "%s|%s|%s|%s|%.6f\n", $2, $12, $13, $14, $15 }')" "$(<wanted)"
	within "$(head -n 1 wanted | cut -d'|' -f2)" 20 100000 "launches that were predicted and measured"
	"$kerncast" report --by step >page
	grep -qE '^  step +launches +time +kernels +busy +exposed +predicted +off$' page || { cat page; return 1; }
	"$kerncast" report --json >t.json
	"$root/scripts/check-schemas" t.json
	equal "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('t.json') AS TEXT), '\$.steps[0].predicted_ns')")" "$(head -n 1 wanted | cut -d'|' -f4)"
}

@test "the innermost range or operator of the call's thread is kept, with all that held it" {
	make_trace
	equal "$(sql "SELECT group_concat(x, ', ') FROM (SELECT l.correlation || ' ' || s.kind || ' ' || s.name || coalesce(' in ' || p.name, '') AS x
		FROM launched_in i JOIN launch l ON l.process = i.id >> 40 AND l.sequence = i.id & ((1 << 40) - 1)
		JOIN scope s ON s.process = l.process AND s.local = i.scope LEFT JOIN scope p ON p.process = s.process AND p.local = s.parent
		ORDER BY l.correlation)" t.db)" "125 operator aten::add in forward, 140 range forward"
}

# Kernels take 500 µs. "layer" is in itself, and once more with "head" in between; thread 2 has one of its own; 183 µs are
# launched in an operator, and in no range.
make_nested() { # into nested.json, and from there into n.db
	rm -f n.db*
	python3 - >nested.json <<-'END'
		import json
		events = []
		def span(category, name, thread, start, end):
		    events.append({"ph": "X", "cat": category, "name": name, "pid": 100, "tid": thread, "ts": start, "dur": end - start})
		def launch(thread, call, duration):
		    events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100, "tid": thread, "ts": call,
		                   "dur": 1, "args": {"correlation": call}})
		    events.append({"ph": "X", "cat": "kernel", "name": "f", "pid": 0, "tid": 7, "ts": 1000 * call, "dur": duration,
		                   "args": {"device": 0, "stream": 7, "correlation": call, "grid": [8, 1, 1], "block": [64, 1, 1]}})
		span("user_annotation", "train", 1, 100, 300)
		span("user_annotation", "layer", 1, 110, 200)
		span("cpu_op", "aten::mm", 1, 115, 150)
		launch(1, 120, 10)
		span("user_annotation", "layer", 1, 150, 195)
		launch(1, 160, 20)
		span("cpu_op", "aten::mm", 1, 165, 185)
		span("cpu_op", "aten::add", 1, 170, 180)
		launch(1, 172, 40)
		span("user_annotation", "head", 1, 186, 190)
		launch(1, 187, 5)
		span("user_annotation", "layer", 1, 188, 189)
		launch(1, 188, 2)
		launch(1, 250, 80)
		span("user_annotation", "layer", 2, 100, 300)
		launch(2, 210, 160)
		span("cpu_op", "aten::mm", 1, 395, 410)
		launch(1, 400, 183)
		json.dump({"traceEvents": events}, open(1, "w"))
	END
	"$kerncast" import nested.json -o n.db >/dev/null
}

@test "ranges and operators: total and self time by hand, recursion counted once" {
	make_nested
	local head=name,launches,self_launches,measured,total_ns,self_ns,time_share_percent,simulated
	equal "$("$kerncast" report --by range --csv n.db | tr -d '\r')" "$head
layer,6,5,6,237000,232000,47.4,0
train,6,1,6,157000,80000,31.4,0
head,2,1,2,7000,5000,1.4,0
outside of ranges,1,1,1,183000,183000,36.6,0"
	equal "$("$kerncast" report --by operator --csv n.db | tr -d '\r')" "$head
aten::mm,3,2,3,233000,193000,46.6,0
aten::add,1,1,1,40000,40000,8,0
outside of operators,5,5,5,267000,267000,53.4,0"
	"$kerncast" report --by range --top 2 n.db >page
	grep -qE '^  layer +6 +237 µs +232 µs +47.4 %$' page || { cat page; return 1; }
	[[ $(<page) != *head* ]]
	# layer and train have 6 launches each, of which those of 10 µs at most are 10, 5 and 2 in layer, in train, too.
	equal "$("$kerncast" report --by range --csv --sort count --min 20us n.db | cut -d, -f1-6)" "name,launches,self_launches,measured,total_ns,self_ns
layer,3,3,3,220000,220000
train,3,1,3,140000,80000
outside of ranges,1,1,1,183000,183000"
}

@test "ranges sort by launches, and as JSON are those of CSV" {
	make_nested
	sql "UPDATE launch_row SET measured_span = 1 WHERE measured_span = 160000" n.db # launches of layer outweigh its time no more
	equal "$("$kerncast" report --by range --csv n.db | cut -d, -f1,2)" $'name,launches\ntrain,6\nlayer,6\nhead,2\noutside of ranges,1'
	equal "$("$kerncast" report --by operator --csv --sort count n.db | cut -d, -f1,2)" \
		$'name,launches\naten::mm,3\naten::add,1\noutside of operators,5'
	make_nested
	"$kerncast" report --json n.db >n.json
	"$root/scripts/check-schemas" n.json
	for by in range operator; do
		equal "$(sqlite3 :memory: "SELECT value ->> 'name' || ',' || (value ->> 'launches') || ',' || (value ->> 'self_launches') || ',' ||
			(value ->> 'measured') || ',' || (value ->> 'total_ns') || ',' || (value ->> 'self_ns') || ',' || round(value ->> 'time_share', 3)
			FROM json_each(CAST(readfile('n.json') AS TEXT), '\$.${by}s')" | sed 's/\.0$//')" \
			"$("$kerncast" report --by $by --csv n.db | tail -n +2 | cut -d, -f1-7)"
	done
}

@test "ranges that hold themselves, in a damaged database, are counted once" {
	make_nested
	sql "UPDATE scope SET parent = local" n.db
	equal "$("$kerncast" report --by range --csv n.db | cut -d, -f1-3,5,6)" "name,launches,self_launches,total_ns,self_ns
layer,3,3,182000,182000
train,1,1,80000,80000
head,1,1,5000,5000
outside of ranges,3,3,233000,233000"
	sql "UPDATE scope SET parent = NULL, kind = 'neither'" n.db
	keep none "$kerncast" report --by range n.db
	equal "$(<none.status)" 1
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
	sed -i.kept 's/^forward,/&1/; s/^aten::mm,/&1/' agree.range.csv agree.operator.csv
	keep check compare chance.json
	equal "$(<check.status)" 1
	contains "$(<check.out)" "range forward, launches: 1"
	contains "$(<check.out)" "operator aten::mm, launches: 1"
	mv agree.range.csv.kept agree.range.csv
	mv agree.operator.csv.kept agree.operator.csv
	sql "UPDATE launched_in SET scope = (SELECT min(scope) FROM launched_in)" agree.db
	sed -i 's/,\([1-9]\)/,2\1/5' agree.step.csv
	keep check compare chance.json
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

@test "slow --by step: of each told step what SQL adds up of its launches" {
	"$kerncast" import "$example" -o t.db >/dev/null
	"$kerncast" slow --by step --top 1000000 --json t.db >t.json
	"$root/scripts/check-schemas" t.json
	sqlite3 t.db "CREATE TEMP TABLE lost AS SELECT value ->> 'process' << 40 | value ->> 'sequence' AS id, value ->> 'lost_ns' AS ns
			FROM json_each(CAST(readfile('t.json') AS TEXT), '\$.launches');
		SELECT coalesce(t.number, ''), t.end_ns - t.start_ns, count(*), sum(r.measured_span), count(l.id), round(sum(l.ns))
			FROM launch_row r LEFT JOIN lost l USING (id) LEFT JOIN step t ON t.process = r.id >> 40
			AND r.launched >= t.start_ns AND r.launched < t.end_ns WHERE r.measured_span NOT NULL GROUP BY t.number ORDER BY 1" >wanted
	sqlite3 :memory: "SELECT coalesce(value ->> 'number', ''), value ->> 'time_ns', value ->> 'measured_launches', value ->> 'measured_ns',
		value ->> 'launches', round(value ->> 'lost_ns') FROM json_each(CAST(readfile('t.json') AS TEXT), '\$.steps') ORDER BY 1" >got
	equal "$(wc -l <wanted)" 3
	equal "$(<got)" "$(<wanted)"
	within "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('t.json') AS TEXT), '\$.lost.launches')")" 10 2700
}

@test "--range chooses the same launches in report, slow, diff, export, replay, pairs and whatif, and those that SQL finds" {
	"$kerncast" import "$example" -o t.db >/dev/null
	local wanted count
	count=$(sql "WITH RECURSIVE held(process, local) AS (
			SELECT process, local FROM scope WHERE kind = 'range' AND name LIKE '%forward%'
			UNION SELECT s.process, s.local FROM scope s JOIN held h ON s.process = h.process AND s.parent = h.local)
		SELECT count(*) FROM launch_row r JOIN launched_in i USING (id) JOIN held h ON h.process = i.id >> 40 AND h.local = i.scope" t.db)
	within "$count" 500 1000 "launches in forward"
	wanted="$count of 2,700 launches"
	contains "$("$kerncast" report --range forward t.db)" "Filter: range matches \"forward\": $wanted"
	contains "$("$kerncast" slow --range forward t.db)" "$wanted"
	contains "$("$kerncast" replay --range forward t.db)" "$wanted"
	equal "$("$kerncast" export --csv --range forward t.db | tail -n +2 | wc -l)" "$count"
	equal "$("$kerncast" report --by range --csv --range '^## forward ##$' t.db | grep '^## forward ##' | cut -d, -f2)" "$count"
	equal "$("$kerncast" report --by step --csv --range forward t.db | awk -F, 'NR > 1 { n += $5 } END { print n }')" "$count"
	cp t.db u.db
	contains "$("$kerncast" diff --range forward t.db u.db)" "OLD $wanted, NEW $wanted"
	"$kerncast" export --chrome --range forward t.db -o t.json
	equal "$(sqlite3 :memory: "SELECT count(*) FROM json_each(CAST(readfile('t.json') AS TEXT), '\$.traceEvents')
		WHERE value ->> 'cat' = 'kernel,measured'")" "$count"
	for command in report slow replay pairs "diff u.db" "whatif --device h100"; do
		"$kerncast" $command --json --range forward t.db >t.json
		"$root/scripts/check-schemas" t.json
		equal "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('t.json') AS TEXT), '\$.filter.range')")" forward "range of $command"
	done
	keep none "$kerncast" report --range nowhere t.db
	equal "$(<none.status)" 1
	contains "$(<none.err)" "no launch matches the filter: range matches \"nowhere\""
	keep wrong "$kerncast" report --range '(' t.db
	equal "$(<wrong.status)" 2
	contains "$(<wrong.err)" "--range takes an extended regular expression"
}

@test "JSON: steps are those of CSV, and what was chosen" {
	make_trace
	"$kerncast" report --json --step 7..7,12 t.db >t.json
	"$root/scripts/check-schemas" t.json
	equal "$(sqlite3 :memory: "SELECT json_extract(j, '\$.filter.steps') || json_extract(j, '\$.steps[0].launches') ||
		json_array_length(j, '\$.steps') FROM (SELECT CAST(readfile('t.json') AS TEXT) AS j)")" \
		'[{"first":7,"last":7,"inner":false},{"first":12,"last":12,"inner":false}]41'
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
	equal "$(<none.out)" "" "standard output"
	contains "$(<none.err)" "t.db: no steps are known; an imported trace has them where torch.profiler was told of each"
	for by in range operator; do
		keep none "$kerncast" report --by $by t.db
		equal "$(<none.status)" 1
		equal "$(<none.out)" "" "standard output of --by $by"
		contains "$(<none.err)" "t.db: no ${by}s are known; an imported trace of torch.profiler has them, with the calls that launched kernels in them"
	done
	keep none "$kerncast" report --step 1 t.db
	equal "$(<none.status)" 1
	contains "$(<none.err)" "no launch matches the filter: step 1"
	"$kerncast" report --json t.db >t.json
	equal "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('t.json') AS TEXT), '\$.steps', '\$.ranges', '\$.operators')")" "[[],[],[]]"
	for wrong in "" x 1.. ..2 3..2 1..x 1,,2 '1,' 1...2 -1 99999999999999999999 "$(seq -s, 65)"; do
		keep wrong "$kerncast" report --step "$wrong" t.db
		equal "$(<wrong.status)" 2 "status of --step \"$wrong\""
		contains "$(<wrong.err)" "--step takes"
	done
}

@test "more than 2,000,000 launches are read with --exact only" {
	make_nested
	sql "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000000) INSERT INTO launch_row
		(id, stream, shape, launched, measured_span, measured_wait) SELECT (1 << 40) + 100 + i, stream, shape, i, 1000, 5
		FROM n, (SELECT stream, shape FROM launch_row LIMIT 1)" n.db
	for by in range operator; do
		keep many "$kerncast" report --by $by n.db
		equal "$(<many.status)" 1
		contains "$(<many.err)" "--by $by needs all launches: add --exact"
	done
	equal "$("$kerncast" report --by range --exact --csv n.db | cut -d, -f1-2 | tail -n 2)" $'head,2\noutside of ranges,2000001'
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
	sql "UPDATE scope SET name = char(27) || ']0;title' WHERE name = 'range 0'" h.db
	(ulimit -v 300000 && "$kerncast" report --by range h.db >page)
	grep -q ']0;title *1 *1.00 µs' page
	[[ $(<page) != *$'\e'* ]]
}
