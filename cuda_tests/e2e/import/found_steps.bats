# report --by step, slow --by step and --step of recordings that tell no steps.
load ../common

# STEPS of 3 layers and an optimizer, LAUNCHES each; with "copy", a copy from the host begins each; with "parts", each has
# 4 parts that begin so. Times in nanoseconds.
make_recording() { # STEPS LAYERS copy|parts|none
	python3 - "$@" >t.csv <<-'END'
		import sys
		steps, layers, mark = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
		print("kind,start_ns,duration_ns,launch_ns,grid_x,block_x,stream,bytes,name")
		now = 1000
		def call(kind, name, count=""):
		    global now
		    now += 10000
		    print(f"{kind},{now + 3000},5000,{now},{'' if count else 8},{'' if count else 64},7,{count},{name}")
		for _ in range(steps):
		    for _ in range(4 if mark == "parts" else 1):
		        if mark != "none":
		            now += 400000
		            call("memcpy", "Memcpy HtoD", 4096)
		        call("kernel", "embed")
		        for _ in range(layers):
		            for name in ("norm", "attention", "add", "product"):
		                call("kernel", name)
		        call("kernel", "loss")
		    call("kernel", "clip")
		    call("kernel", "adam")
	END
	rm -f t.db*
	"$kerncast" import t.csv -o t.db >/dev/null
}

@test "steps that nothing tells are found, up to the launch" {
	make_recording 6 5 copy
	"$kerncast" report --by step t.db >page
	contains "$(<page)" "not told, but found by what repeats: 6 of 24 launches, 6 of them exactly; each begins after the longest wait of the host"
	equal "$("$kerncast" report --by step --csv t.db | tr -d '\r' | cut -d, -f1,2,5,6)" "name,number,launches,measured
step 1,1,24,24
step 2,2,24,24
step 3,3,24,24
step 4,4,24,24
step 5,5,24,24
step 6,6,24,24"
	"$kerncast" report --json --by step t.db >t.json
	"$root/scripts/check-schemas" t.json
	equal "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('t.json') AS TEXT), '\$.steps', '\$.step_searches[0].verdict',
		'\$.step_searches[0].outer')")" '[[],"steps",{"count":6,"launches":24,"regular":6,"start":"wait"}]'
	# The next step begins with its copy: 25 calls, 10 us apart, after a wait of 400 us.
	equal "$(sqlite3 :memory: "SELECT value ->> 'copies' || '/' || (value ->> 'time_ns')
		FROM json_each(CAST(readfile('t.json') AS TEXT), '\$.found_steps') LIMIT 1")" 1/650000
	"$kerncast" report --json t.db >t.json
	"$root/scripts/check-schemas" t.json
	equal "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('t.json') AS TEXT), '\$.found_steps', '\$.step_searches')")" "[null,null]"
}

@test "layers of a single step are not called steps" {
	make_recording 1 24 copy
	keep none "$kerncast" report --by step t.db
	equal "$(<none.status)" 1
	contains "$(<none.err)" "None were found by what repeats; 4 launches repeat 24 times, but those may be layers"
}

@test "nested repeats are both shown, and neither is called the step" {
	make_recording 5 5 parts
	"$kerncast" report --by step t.db >page
	contains "$(<page)" "not told; of nested repeats, either may be the step. Outer: 5 of 90 launches, 5 of them exactly"
	contains "$(<page)" "inner: 20 of 22 launches"
	equal "$("$kerncast" report --by step --csv t.db | tr -d '\r' | grep -c '^outer repeat')" 5
	equal "$("$kerncast" report --by step --csv t.db | tr -d '\r' | grep -c '^inner repeat')" 20
	! "$kerncast" report --by step --csv t.db | grep '^step'
}

@test "a filter counts launches, and not which steps there are" {
	make_recording 6 5 copy
	equal "$("$kerncast" report --by step --csv --kernel norm t.db | tr -d '\r' | cut -d, -f1,5 | tail -n 1)" "step 6,5"
}

# The launches that a command's --csv has, without their first line.
launches() { # ARGUMENTS of export
	"$kerncast" export --csv "$@" | tail -n +2
}

@test "--step chooses found steps by the numbers of report --by step, in every command" {
	make_recording 6 5 copy # 24 launches each
	launches t.db >all.csv
	equal "$(launches --step 3 t.db)" "$(sed -n 49,72p all.csv)"
	equal "$(launches --step 1,5..6 t.db)" "$(sed -n '1,24p;97,144p' all.csv)"
	local wanted="Filter: step 2: 24 of 144 launches (steps not told, but found by what repeats)"
	cp t.db u.db
	for command in report slow replay pairs "whatif --device h100"; do
		contains "$("$kerncast" $command --step 2 t.db)" "$wanted"
		"$kerncast" $command --json --step 2 t.db >t.json
		"$root/scripts/check-schemas" t.json
		equal "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('t.json') AS TEXT), '\$.filter.steps', '\$.filter.steps_are')")" \
			'[[{"first":2,"last":2,"inner":false}],"found"]' "$command"
	done
	contains "$("$kerncast" diff --step 2 t.db u.db)" "OLD 24 of 144 launches (steps not told, but found by what repeats), NEW 24"
	"$kerncast" diff --json --step 2 t.db u.db >t.json
	"$root/scripts/check-schemas" t.json
	equal "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('t.json') AS TEXT), '\$.filter.old_steps_are', '\$.filter.new_launches')")" '["found",24]'
	equal "$("$kerncast" report --by step --csv --step 2..3 t.db | cut -d, -f2,5)" $'number,launches\n2,24\n3,24'
	# With the copy that begins it.
	"$kerncast" export --chrome --step 4 t.db -o t.json
	equal "$(sqlite3 :memory: "SELECT count(*) FROM json_each(CAST(readfile('t.json') AS TEXT), '\$.traceEvents')
		WHERE value ->> 'cat' IN ('transfer,measured', 'kernel,measured')")" 25
	keep none "$kerncast" slow --step 7 t.db
	equal "$(<none.status)" 1
	contains "$(<none.err)" "t.db: no measured launch matches the filter: step 7"
}

@test "--step of nested repeats: the outer ones, as is said, and inner:N the inner ones" {
	make_recording 5 5 parts # 4 times 22 launches, and 2
	launches t.db >all.csv
	equal "$(launches --step 2 t.db)" "$(sed -n 91,180p all.csv)"
	equal "$(launches --step inner:2..3 t.db)" "$(sed -n 23,66p all.csv)"
	equal "$(launches --step inner:1,5 t.db)" "$(sed -n '1,22p;361,450p' all.csv)"
	contains "$("$kerncast" report --step 2,inner:1 t.db)" "Filter: step 2 or inner repeat 1: 112 of 450 launches (steps not told; of nested \
repeats, step N is outer repeat N, and inner:N the inner one)"
	"$kerncast" report --json --step inner:2..3 t.db >t.json
	"$root/scripts/check-schemas" t.json
	equal "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('t.json') AS TEXT), '\$.filter.steps', '\$.filter.steps_are')")" \
		'[[{"first":2,"last":3,"inner":true}],"nested"]'
	for wrong in inner: inner inner:x inner:3..2 inner:1.. outer:1; do
		keep wrong "$kerncast" report --step "$wrong" t.db
		equal "$(<wrong.status)" 2 "status of --step \"$wrong\""
		contains "$(<wrong.err)" "--step takes"
	done
	make_recording 6 5 copy
	keep none "$kerncast" report --step inner:1 t.db
	equal "$(<none.status)" 1
	contains "$(<none.err)" "no launch matches the filter: inner repeat 1"
}

@test "--step where no steps are found says so" {
	make_recording 1 24 copy
	cp t.db u.db
	for command in report slow replay "export --csv" "diff u.db"; do
		keep none "$kerncast" $command --step 1 t.db
		equal "$(<none.status)" 1
		contains "$(<none.err)" "matches the filter: step 1; no steps are told, and none were found by what repeats" "$command"
	done
}

@test "steps of a run that tells them, and of one that does not, by --by step and --step" {
	make_recording 6 5 copy
	cat >told.json <<-'END'
		{"traceEvents": [
		{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#7", "pid": 100, "tid": 1, "ts": 100, "dur": 100},
		{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100, "tid": 1, "ts": 120, "dur": 1, "args": {"correlation": 1}},
		{"ph": "X", "cat": "kernel", "name": "f", "pid": 0, "tid": 7, "ts": 130, "dur": 5, "args": {"device": 0, "stream": 7, "correlation": 1}}]}
	END
	"$kerncast" import told.json -o t.db >/dev/null
	equal "$("$kerncast" report --run all --by step --csv t.db | tail -n +2 | sed 's/.*",//' | cut -d, -f1,2,4)" "1,1,24
2,1,24
3,1,24
4,1,24
5,1,24
6,1,24
7,2,1"
	contains "$("$kerncast" report --run all --step 2,7 t.db)" "Filter: step 2 or 7: 25 of 145 launches (steps not told, but found"
	contains "$("$kerncast" report --step 7 t.db)" "Filter: step 7: 1 of 1 launches; GPU time"
	"$kerncast" report --run all --json --by step t.db >t.json
	"$root/scripts/check-schemas" t.json
	equal "$(sqlite3 :memory: "SELECT json_array_length(j, '\$.found_steps') || '/' || json_array_length(j, '\$.steps') || '/' ||
		json_extract(j, '\$.steps[0].number') || '/' || json_extract(j, '\$.step_searches[0].process') || '/' || json_array_length(j, '\$.step_searches')
		FROM (SELECT CAST(readfile('t.json') AS TEXT) AS j)")" 6/1/7/1/1
}

# Into FILE.csv: 12 steps of 24 launches of 5 us, 40 us apart, after 400 us more and a copy. In step 4 the 5 launches of
# "attention" take 9 us, in step 9 one of "add" takes 30 us, and in step 7 the host waits 100 us longer four times.
make_slow_steps() { # FILE
	python3 - >"$1" <<-'END'
		print("kind,start_ns,duration_ns,launch_ns,grid_x,block_x,stream,bytes,name")
		now = 1000
		def call(kind, name, took=5000, count=""):
		    global now
		    now += 40000
		    print(f"{kind},{now + 3000},{took},{now},{'' if count else 8},{'' if count else 64},7,{count},{name}")
		for step in range(1, 13):
		    now += 400000
		    call("memcpy", "Memcpy HtoD", count=4096)
		    call("kernel", "embed")
		    for layer in range(5):
		        for name in ("norm", "attention", "add", "product"):
		            slow = {("attention", 4, layer): 9000, ("add", 9, 2): 30000}
		            call("kernel", name, slow.get((name, step, layer), 5000))
		            now += 100000 if step == 7 and layer == 1 else 0
		    for name in ("loss", "clip", "adam"):
		        call("kernel", name)
	END
}

@test "slow --by step: what the launches of each step lost, by cause, and how much longer it was" {
	make_slow_steps s.csv
	"$kerncast" import s.csv -o s.db >/dev/null
	"$kerncast" slow --by step s.db >page
	grep -qE '^  25.0 µs +\+0 ns +1.40 ms +145 µs +1 +not explained +step 9$' page || { cat page; return 1; }
	grep -qE '^  20.0 µs +\+0 ns +1.40 ms +140 µs +5 +not explained +step 4$' page || { cat page; return 1; }
	contains "$(<page)" "and 2 more (a larger --top shows them)"
	contains "$(<page)" "not told, but found by what repeats"
	"$kerncast" slow --by step --json s.db >s.json
	"$root/scripts/check-schemas" s.json
	# 25 calls, 40 us apart, and 400 us; no call follows the last step, so that its end is not known.
	equal "$(sqlite3 :memory: "SELECT value ->> 'number', value ->> 'time_ns', value ->> 'longer_ns', value ->> 'measured_launches',
		value ->> 'measured_ns', value ->> 'launches', value ->> 'lost_ns', value ->> 'causes', value ->> 'is_found'
		FROM json_each(CAST(readfile('s.json') AS TEXT), '\$.steps') WHERE value ->> 'number' IN (4, 7, 9, 10, 12)")" '9|1400000|0|24|145000|1|25000|{"unexplained":25000.0}|1
4|1400000|0|24|140000|5|20000|{"unexplained":20000.0}|1
7|1800000|400000|24|120000|0|0|{}|1
10|1400000|0|24|120000|0|0|{}|1
12|||24|120000|0|0|{}|1'
	contains "$("$kerncast" slow --by step --sort time --top 1 s.db)" "+400 µs  1.80 ms   120 µs         0         step 7"
	contains "$("$kerncast" slow --by step --sort count --top 1 s.db)" "step 4"
	[[ $("$kerncast" slow --by step --sort count --top 1 s.db) != *"step 9"* ]]
	grep -qE '^ +0 ns +- +- +120 µs +0 +step 12$' <("$kerncast" slow --by step --top 20 s.db)
	equal "$("$kerncast" slow --by step --step 4,9..10 s.db | grep -cE ' step (4|9|10)$')" 3
	[[ $("$kerncast" slow --by step --step 4,9..10 s.db) != *"step 7"* ]]
	"$kerncast" slow --json s.db >s.json
	"$root/scripts/check-schemas" s.json
	equal "$(sqlite3 :memory: "SELECT json_type(CAST(readfile('s.json') AS TEXT), '\$.steps')")" null
}

@test "slow --by step of two processes names them, and where no steps are found says so" {
	make_slow_steps a.csv
	sed 's/,30000,/,5000,/' a.csv >b.csv
	"$kerncast" import a.csv b.csv -o s.db >/dev/null
	"$kerncast" slow --by step --top 30 s.db >page
	grep -qE '^  25.0 µs .* a.csv( \(pid [0-9]+\))?, step 9$' page || { cat page; return 1; }
	grep -qE '^  20.0 µs .* a.csv( \(pid [0-9]+\))?, step 4$' page || { cat page; return 1; }
	grep -qE '^  20.0 µs .* b.csv( \(pid [0-9]+\))?, step 4$' page || { cat page; return 1; }
	equal "$(grep -c ', step ' page)" 24
	make_recording 1 24 copy
	keep none "$kerncast" slow --by step t.db
	equal "$(<none.status)" 1
	equal "$(<none.out)" ""
	contains "$(<none.err)" "t.db: no steps are told, and none were found by what repeats"
	make_recording 5 5 parts
	"$kerncast" slow --by step --top 30 t.db >page
	equal "$(grep -c ' outer repeat ' page)/$(grep -c ' inner repeat ' page)" 5/20
	contains "$(<page)" "not told; of nested repeats, either may be the step"
}
