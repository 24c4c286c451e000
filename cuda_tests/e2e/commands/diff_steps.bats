# diff of runs that have steps, told or found: what a step took, in place of a run. Wanted values are sums in SQL, or by hand.
load ../common

# Into FILE.db: 30 launches of "setup", then STEPS of five layers: NORMS of "norm", a "product" of so many ns, an "add"; and an
# "embed" before, a "loss", a "clip" and an "adam" after them. A copy from the host begins each step. With a factor, each
# call of a step is made so many times.
train() { # FILE STEPS NORMS PRODUCT_NS [FACTOR]
	python3 - "${@:2}" >"$1.csv" <<-'END'
		import sys
		steps, norms, product, times = (*map(int, sys.argv[1:]), 1)[:4]
		print("kind,start_ns,duration_ns,launch_ns,grid_x,block_x,stream,bytes,name")
		now = 1000
		def call(kind, name, took=5000, count=""):
		    global now
		    for _ in range(times if kind == "kernel" else 1):
		        now += 20000
		        print(f"{kind},{now + 3000},{took},{now},{'' if count else 8},{'' if count else 64},7,{count},{name}")
		for _ in range(30 // times):
		    call("kernel", "setup", 7000)
		for _ in range(steps):
		    now += 400000
		    call("memcpy", "Memcpy HtoD", 2000, 4096)
		    call("kernel", "embed")
		    for _ in range(5):
		        for _ in range(norms):
		            call("kernel", "norm")
		        call("kernel", "product", product)
		        call("kernel", "add")
		    for name in ("loss", "clip", "adam"):
		        call("kernel", name)
	END
	"$kerncast" import "$1.csv" -o "${DB:-$1.db}" >/dev/null
}

of_diff() { # EXPRESSION of the document j
	sqlite3 :memory: "WITH d AS (SELECT CAST(readfile('diff.json') AS TEXT) AS j) SELECT $1 FROM d"
}

rows() { # the expression of what a step took
	echo "(SELECT group_concat((value ->> 'of') || ' ' || (value ->> 'old_ns') || ' ' || (value ->> 'new_ns'), '; ') FROM json_each(j, '\$.steps.rows'))"
}

# What the kernels of a database took in all but "setup", divided by its steps.
per_step() { # DB STEPS
	sqlite3 "$1" "SELECT sum(measured_end_ns - measured_start_ns) / $2 FROM launch WHERE kernel NOT IN (SELECT id FROM kernel WHERE name = 'setup')"
}

@test "runs of 12 and 30 steps are compared per step: in text, Markdown and JSON, and what was launched more often first" {
	train old 12 1 10000
	train new 30 2 13000
	"$kerncast" diff old.db new.db >diff.txt
	# 9 + 5 kernels of 5 us and 5 products of 10 us; then 5 norms more, and 3 us more of each product.
	equal "$(per_step old.db 12) $(per_step new.db 30)" "120000 160000"
	equal "$(sed -n '/^Measured time/{p; n; n; p; n; p}' diff.txt | tr -s ' ')" "Measured time of all kernels per step: OLD 120 µs, NEW 160 µs, 40.0 µs (33.3 %) more
 +25.0 µs more launches 5 → 10 25.0 µs 50.0 µs norm
 +15.0 µs slower 5 50.0 µs 65.0 µs product"
	# 20 calls of 20 us and 400 us; 5 more. The copy takes 2 us. What the last step took is not known.
	equal "$(sed -n '/^Steps/,/In no step/p' diff.txt | tr -s ' ')" "Steps: OLD 12, NEW 30 (not told, but found by what repeats). Per step, on average:
 difference change OLD NEW of a step
 +100 µs +12.5 % 800 µs 900 µs its time on the host
 +40.0 µs +33.3 % 120 µs 160 µs kernels, added up
 +40.0 µs +32.8 % 122 µs 162 µs GPU busy
 +60.0 µs +8.8 % 678 µs 738 µs GPU idle
 In no step, and not compared (--per run): OLD 30 (210 µs), NEW 30 (210 µs)"
	grep -qE '^  product +5 +10.0 µs +13.0 µs +\+30.0 % +\+15.0 µs ' diff.txt
	"$kerncast" diff --md old.db new.db >diff.md
	contains "$(<diff.md)" "**Kernels per step: OLD 120 µs, NEW 160 µs (+33.3 %)**"
	"$kerncast" diff --json old.db new.db >diff.json
	"$root/scripts/check-schemas" diff.json
	equal "$(of_diff "json_extract(j, '\$.per', '\$.steps.old', '\$.sums.difference_ns', '\$.contributors[0].launches_ns', '\$.changes[0].lost_ns')")" \
		'["step",{"steps":12,"steps_are":"found","outside_launches":30,"outside_ns":210000.0},40000.0,25000,15000]'
	"$root/cuda_tests/e2e/outputs_agree.py" diff.json diff.txt diff.md
	DB=both.db train old 12 1 10000
	DB=both.db train new 30 2 13000
	"$kerncast" report --html page.html --old 1 both.db >/dev/null
	sed -n 's/.*id="data">\(.*\)<\/script>$/\1/p' page.html >page.json
	equal "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('page.json') AS TEXT), '\$.diff.per', '\$.diff.steps', '\$.diff.contributors[0]')")" \
		"$(of_diff "json_extract(j, '\$.per', '\$.steps', '\$.contributors[0]')")"
}

@test "--per run compares whole runs, and --per step says what is missing" {
	train old 12 1 10000
	train new 30 2 13000
	"$kerncast" diff --per run --json old.db new.db >diff.json
	"$root/scripts/check-schemas" diff.json
	equal "$(of_diff "json_extract(j, '\$.per', '\$.steps', '\$.sums.old_ns', '\$.sums.new_ns')")" '["run",null,1650000.0,5010000.0]'
	contains "$("$kerncast" diff --per run old.db new.db)" "Measured time of all kernels: OLD 1.65 ms, NEW 5.01 ms"
	printf 'kind,start_ns,duration_ns,name\n' >few.csv
	for i in {1..20}; do echo "kernel,${i}0000,5000,k"; done >>few.csv
	"$kerncast" import few.csv -o few.db >/dev/null
	keep none "$kerncast" diff --per step old.db few.db
	equal "$(<none.status)" 1
	contains "$(<none.err)" "few.db: no steps are told, and none were found by what repeats; without --per step, whole runs are compared"
	[[ $("$kerncast" diff old.db few.db) != *"per step"* ]]
	for wrong in "--per launch" "--baseline b.json --per step"; do
		keep wrong "$kerncast" diff $wrong old.db
		equal "$(<wrong.status)" 2 "$wrong"
		contains "$(<wrong.err)" "--per"
	done
}

@test "--step and --kernel: sums are of the steps and kernels that are chosen" {
	train old 12 1 10000
	train new 30 2 13000
	"$kerncast" diff --json --step 2..7 --kernel product old.db new.db >diff.json
	equal "$(of_diff "json_extract(j, '\$.per', '\$.steps.old.steps', '\$.steps.new.steps', '\$.sums.old_ns', '\$.sums.new_ns')")" \
		'["step",6,6,50000.0,65000.0]'
	# Of the same launches: five products that follow one another. Steps have a time, and the GPU may be busy with other kernels.
	local wanted="its time on the host 800000 900000; kernels, added up 50000 65000; GPU busy 50000 65000"
	equal "$(of_diff "$(rows)")" "$wanted"
	"$kerncast" diff --kernel product old.db new.db >diff.txt
	equal "$(sed -n '/ of a step$/,/In no step/p' diff.txt | tr -s ' ' | grep -oE '^ [+]([^ ]* ){3}.*')" " +100 µs +12.5 % 800 µs 900 µs its time on the host
 +15.0 µs +30.0 % 50.0 µs 65.0 µs kernels, added up
 +15.0 µs +30.0 % 50.0 µs 65.0 µs GPU busy"
	# Steps that are chosen hold all of their launches.
	"$kerncast" diff --json --step 2..7 old.db new.db >diff.json
	equal "$(of_diff "$(rows)")" \
		"its time on the host 800000 900000; kernels, added up 120000 160000; GPU busy 122000 162000; GPU idle 678000 738000"
}

# Twice as often per step: the same steps, or two of them taken for one?
@test "found steps that may be other repeats, few launches in steps, and processes without: whole runs, as is said" {
	train old 12 1 10000
	train new 30 1 10000 2
	contains "$("$kerncast" diff old.db new.db)" "most kernels are launched more or less often in one of NEW than in one of OLD: whole runs are compared"
	equal "$("$kerncast" diff --md old.db new.db | grep -B 1 'whole runs are compared')" "
Steps were found, but most kernels are launched more or less often in one of NEW than in one of OLD: whole runs are compared (--per step: steps)"
	"$kerncast" diff --json old.db new.db >diff.json
	equal "$(of_diff "j ->> 'per'")" run
	"$kerncast" diff --json --per step old.db new.db >diff.json
	equal "$(of_diff "j ->> '\$.sums.new_ns'")" 240000.0
	printf 'kind,start_ns,duration_ns,name\n' >alone.csv
	for i in {1..20}; do echo "kernel,${i}00000,50000,k"; done >>alone.csv
	"$kerncast" import alone.csv old.csv -o two.db >/dev/null
	contains "$("$kerncast" diff old.db two.db)" "Not all processes have steps, or most time is in none: whole runs are compared"
	equal "$("$kerncast" diff --md old.db two.db | grep -B 1 'whole runs are compared')" "
Not all processes have steps, or most time is in none: whole runs are compared (--per step: steps)"
}

# Steps of 1,000 us with COUNT launches of "f" of 100 us in each, one of them before the first.
told() { # FILE STEPS COUNT
	python3 - "${@:2}" >"$1.json" <<-'END'
		import json, sys
		steps, count = map(int, sys.argv[1:])
		events, correlation = [], 0
		def launch(ts, name, took):
		    global correlation
		    correlation += 1
		    events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100, "tid": 1, "ts": ts, "dur": 1, "args": {"correlation": correlation}})
		    events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": ts + 10, "dur": took,
		                   "args": {"device": 0, "stream": 7, "correlation": correlation}})
		launch(500, "f", 100)
		for step in range(steps):
		    begin = 1000 + 1000 * step
		    events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 100, "tid": 1, "ts": begin, "dur": 1000})
		    for k in range(count):
		        launch(begin + 10 + 150 * k, "f", 100)
		    launch(begin + 900, "g", 20)
		print(json.dumps({"traceEvents": events}))
	END
	"$kerncast" import "$1.json" -o "$1.db" >/dev/null
}

@test "told steps: what SQL adds up of the launches in them" {
	told old 10 3
	told new 25 4
	"$kerncast" diff --json old.db new.db >diff.json
	"$root/scripts/check-schemas" diff.json
	local side sums=()
	for side in old new; do
		sums+=("$(sqlite3 $side.db "SELECT (1.0 * sum(r.measured_span) / (SELECT count(*) FROM step)) || ' ' || avg(t.end_ns - t.start_ns) FROM launch_row r
			JOIN step t ON t.process = r.id >> 40 AND r.launched >= t.start_ns AND r.launched < t.end_ns")")
	done
	equal "${sums[*]}" "320000.0 1000000.0 420000.0 1000000.0"
	equal "$(of_diff "(j ->> '\$.sums.old_ns') || ' ' || (j ->> '\$.sums.new_ns')")" "320000.0 420000.0"
	# A step is 1 ms, of which the GPU is busy for as long as its kernels take.
	equal "$(of_diff "$(rows)")" \
		"its time on the host 1000000 1000000; kernels, added up 320000 420000; GPU busy 320000 420000; GPU idle 680000 580000"
	equal "$(of_diff "json_extract(j, '\$.steps.new', '\$.contributors[0].old_launches', '\$.contributors[0].new_launches')")" \
		'[{"steps":25,"steps_are":"told","outside_launches":1,"outside_ns":100000.0},3,4]'
}

@test "a kernel of each second step: what it takes and what a step takes are means over the same steps" {
	told old 10 1
	python3 - >half.json <<-'END'
		import json
		trace = json.load(open("old.json"))
		for event in trace["traceEvents"]:
		    second = event["ts"] // 1000 % 2 # the first step is from 1 ms to 2 ms
		    if event["cat"] == "user_annotation" and second:
		        event["dur"] = 950
		    elif event["name"] == "g" and second:
		        event["name"] = "h"
		print(json.dumps(trace))
	END
	"$kerncast" import half.json -o half.db >/dev/null
	cp half.db same.db
	"$kerncast" diff --json --per step --kernel '^h$' half.db same.db >diff.json
	equal "$(of_diff "$(rows)")" "its time on the host 975000 975000; kernels, added up 10000 10000; GPU busy 10000 10000"
}

@test "the largest contributor is first in each of 32 made pairs of runs of different length" {
	"$root/scripts/diff-on-pairs" --build "$build" --lengths --pairs 32 >pairs
	equal "$(awk '{ print $2, $4, $5 }' pairs | sort | uniq -c | tr -s ' ')" " 8 4 4 right" "kinds, and right ones of each"
}
