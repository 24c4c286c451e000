# kerncast diff: what changed between runs.
# Runs in real time.
load ../common

demo() { # SEED [DB]
	SIMCUDA_SEED=$1 "$kerncast" run -q -o "${2:-kerncast.db}" -- "$build/demo-static-sim" >/dev/null
}

changed() { # ARGUMENT...: diff --json, and of each change its name's first word, percent, and what
	"$kerncast" diff --json "$@" >diff.json || return 1
	sqlite3 -separator ' ' :memory: "SELECT substr(value ->> 'name', 1, instr(value ->> 'name', '(') - 1),
		value ->> 'change', value ->> 'what' FROM json_each(CAST(readfile('diff.json') AS TEXT), '\$.changes')"
}

of_diff() { # EXPRESSION of the document j
	sqlite3 :memory: "WITH d AS (SELECT CAST(readfile('diff.json') AS TEXT) AS j) SELECT $1 FROM d"
}

slower_matmul() { # its time depends on the size in steps: 350 cycles more per step
	sed 's/\*(350+3\*threads)/*(1050+3*threads)/' "$SIMCUDA_COSTS" >slower.costs
	grep -q 1050 slower.costs
	SIMCUDA_COSTS=$PWD/slower.costs demo "$@"
}

@test "nothing changed: no kernel of five pairs of runs, and status 0 with --fail" {
	local seed
	for seed in 1 2 3 4 5; do
		demo "$seed" old.db
		demo $((seed + 100)) new.db
		equal "$(changed old.db new.db)" "" "changes, seed $seed"
		within "$(of_diff "j ->> 'compared_kernels'")" 6 6 "kernels compared"
		"$kerncast" diff old.db new.db --fail >/dev/null
		rm -f old.db* new.db*
	done
}

@test "a kernel that costs more is the first and only change, with its figure" {
	demo 1
	demo 2
	slower_matmul 3
	changed >changes
	equal "$(cut -d' ' -f1,3 changes)" "matmul slower"
	# Nearly all of its launches are overlapped, in all three runs; some 27 % more. Means would be moved by the few that
	# a busy machine let begin beside others.
	local percent
	percent=$(sql "WITH took AS (SELECT run = 3 AS new, measured_end_ns - measured_start_ns AS ns
			FROM launch l JOIN kernel k ON k.id = l.kernel WHERE k.name LIKE 'matmul%' AND overlapped),
		ranked AS (SELECT new, ns, row_number() OVER (PARTITION BY new ORDER BY ns) * 2 - count(*) OVER (PARTITION BY new) AS at
			FROM took),
		median AS (SELECT new, avg(ns) AS ns FROM ranked WHERE at BETWEEN 0 AND 2 GROUP BY new)
		SELECT 100 * sum(ns) FILTER (WHERE new) / sum(ns) FILTER (WHERE NOT new) - 100 FROM median")
	within "$(cut -d' ' -f2 changes)" "$(awk "BEGIN { print $percent - 1 }")" "$(awk "BEGIN { print $percent + 1 }")" percent
	"$kerncast" diff >diff.out
	contains "$(<diff.out)" "SIMULATED"
	contains "$(<diff.out)" "1 kernel slower"
	contains "$(<diff.out)" "The 2 OLD runs differ by 0."
	within "$(of_diff "j ->> 'between_runs'")" 0.001 1 "percent between runs"
	keep failed "$kerncast" diff --fail
	equal "$(<failed.status)" 3 "exit status"
	# The other way round it is faster, which --fail does not mind.
	"$kerncast" diff --old 3 --new 2 --fail >faster.out
	contains "$(<faster.out)" "1 kernel faster"
	contains "$(<faster.out)" "One run against one"
}

# k takes 20 us alone, 40 times. Beside "long" it takes 20, too, and where that takes 80 us in place of 40, 25.
@test "a kernel that is slower only beside a slower one is said to be" {
	python3 - <<-'END'
		for side, long, beside in (("old", 40000, 20000), ("new", 80000, 25000)):
		    with open(f"{side}.csv", "w") as out:
		        print("kind,start_ns,duration_ns,stream,grid_x,grid_y,grid_z,block_x,block_y,block_z,name", file=out)
		        for i in range(40):
		            for start, ns, stream, name in ((0, 20000, 1, "k"), (50000, long, 2, "long"), (51000, beside, 1, "k")):
		                print(f"kernel,{i * 200000 + start},{ns + i % 7 * 20},{stream},8,1,1,128,1,1,{name}", file=out)
	END
	"$kerncast" import old.csv -o old.db >/dev/null
	"$kerncast" import new.csv -o new.db >/dev/null
	"$kerncast" diff --json old.db new.db >diff.json
	equal "$(of_diff "(SELECT group_concat((value ->> 'name') || ' ' || (value ->> 'why')) FROM json_each(j, '$.contributors'))")" \
		"long slower,k slower_overlapped" "contributors"
	within "$(of_diff "(SELECT value ->> 'alone_change' FROM json_each(j, '$.changes') WHERE value ->> 'name' = 'k')")" -0.1 0.1 "percent alone"
	within "$(of_diff "(SELECT value ->> 'overlapped_change' FROM json_each(j, '$.changes') WHERE value ->> 'name' = 'k')")" \
		24.5 25.1 "percent beside long"
	contains "$("$kerncast" diff old.db new.db)" "only when overlapped: alone +0.0 %"
}

@test "the parts of the sum are the difference between the runs" {
	demo 1
	slower_matmul 2
	changed --per run >/dev/null
	equal "$(of_diff "abs((j ->> '\$.sums.difference_ns') - (SELECT sum(value) FROM json_each(j, '\$.sums')
		WHERE key NOT IN ('old_ns', 'new_ns', 'difference_ns', 'change'))) < 2")" 1 "the parts are the difference"
	equal "$(of_diff "CAST(j -> 'sums' ->> 'difference_ns' AS INTEGER)")" \
		"$(sql 'SELECT sum(iif(run = 2, 1, -1) * (measured_end_ns - measured_start_ns)) FROM launch')" "difference"
}

@test "a baseline: written once, compared with, small, and refused when it is something else" {
	demo 1
	keep write "$kerncast" diff --baseline base.json
	equal "$(<write.status)" 0 "exit status"
	contains "$(<write.err)" "wrote the baseline base.json"
	within "$(stat -c %s base.json)" 500 17000 bytes
	demo 2
	equal "$(changed --baseline base.json)" "" changes
	slower_matmul 3
	contains "$(changed --baseline base.json)" matmul
	keep failed "$kerncast" diff --baseline base.json --fail
	equal "$(<failed.status)" 3 "exit status"
	echo '{"schema": "kerncast.report/1"}' >other.json
	keep other "$kerncast" diff --baseline other.json
	equal "$(<other.status)" 1 "exit status"
	contains "$(<other.err)" "other.json is not a baseline"
	# Neither a database nor anything else is overwritten.
	keep database "$kerncast" diff --baseline kerncast.db
	equal "$(<database.status)" 1 "exit status"
	equal "$(sql 'SELECT count(*) FROM run')" 3 runs
	keep nowhere "$kerncast" diff --baseline nowhere/base.json
	equal "$(<nowhere.status)" 1 "exit status"
	contains "$(<nowhere.err)" "cannot write nowhere/base.json"
}

@test "Markdown: a table that names of kernels do not break" {
	local name='a|b`c<script>'
	for factor in 1 2; do
		{
			echo process,kind,start_ns,duration_ns,grid_x,grid_y,grid_z,block_x,block_y,block_z,name
			for i in {1..40}; do
				echo "p,kernel,$((i * 100000)),$((factor * (10000 + i % 3))),8,1,1,64,1,1,$name"
			done
		} >"$factor.csv"
		"$kerncast" import "$factor.csv" -o "$factor.db" >/dev/null
	done
	"$kerncast" diff --md 1.db 2.db >diff.md
	equal "$(grep -c '^| `a\\|b'"'"'c<script>` | ' diff.md)" 1 "row of the kernel"
	contains "$(<diff.md)" "+100 %"
}

@test "Markdown: what rows of several kernels say is not code" {
	local factor
	for factor in 1 2; do
		{
			echo process,kind,start_ns,duration_ns,grid_x,grid_y,grid_z,block_x,block_y,block_z,name
			for i in {1..40}; do
				echo "p,kernel,$((i * 100000)),$((factor * (30000 + i % 3))),8,1,1,64,1,1,first"
				echo "p,kernel,$((i * 100000 + 70000)),$((factor * (10000 + i % 3))),8,1,1,64,1,1,second"
				echo "p,kernel,$((i * 100000 + 95000)),$((2000 + factor)),8,1,1,64,1,1,third"
			done
		} >"$factor.csv"
		"$kerncast" import "$factor.csv" -o "$factor.db" >/dev/null
	done
	"$kerncast" diff --md --top 1 1.db 2.db >diff.md
	contains "$(<diff.md)" '| `first` |'
	contains "$(grep '| 1 more |' diff.md)" ' | --top N shows them |'
	contains "$(grep '| 1 other |' diff.md)" ' | below the limits, or by chance |'
	"$kerncast" diff --top 1 1.db 2.db >diff.out
	contains "$(grep ' 1 more ' diff.out)" '  --top N shows them'
	contains "$(grep ' 1 other ' diff.out)" '  below the limits, or by chance'
}

@test "what cannot be compared is said, with status 1 or 2" {
	keep none "$kerncast" diff nothing.db
	equal "$(<none.status)" 1 "exit status"
	demo 1
	keep single "$kerncast" diff
	equal "$(<single.status)" 1 "exit status"
	contains "$(<single.err)" "has no run before run 1"
	KERNCAST_MEASURE=off demo 2
	keep unmeasured "$kerncast" diff
	equal "$(<unmeasured.status)" 1 "exit status"
	contains "$(<unmeasured.err)" "run 2 has no measured launch"
	demo 3
	"$kerncast" diff >measured.out # without run 2
	contains "$(<measured.out)" "OLD  kerncast.db: run 1, "
	for itself in "--old 3" "--old 1,1" "kerncast.db kerncast.db"; do
		# shellcheck disable=SC2086
		keep itself "$kerncast" diff $itself
		equal "$(<itself.status)" 2 "exit status of $itself"
	done
	keep absent "$kerncast" diff --baseline absent.json --fail
	equal "$(<absent.status)" 1 "exit status"
	contains "$(<absent.err)" "there is no baseline absent.json"
	[[ ! -e absent.json ]]
	keep nine "$kerncast" diff --old 9 --new 1
	equal "$(<nine.status)" 1 "exit status"
	contains "$(<nine.err)" "no run 9"
	local wrong itself
	for wrong in "--over x" "--floor 5" "--old all --new 1" "--new x" "--json --md" "a b c" "--baseline x --old 1" "--baseline -" "--old 1,,3"; do
		# shellcheck disable=SC2086
		keep wrong "$kerncast" diff $wrong
		equal "$(<wrong.status)" 2 "exit status of $wrong"
	done
}

@test "another device is said" {
	demo 1
	SIMCUDA_DEVICE=H200 demo 2
	"$kerncast" diff >diff.out
	contains "$(<diff.out)" "DIFFERENT DEVICES: OLD ran on Simulated NVIDIA A100-SXM4-40GB, NEW on Simulated NVIDIA H200"
}

# --- processes

made=$root/cuda_tests/traces/made

# On the second of four ranks all 100 launches of gemm take 45 us in place of 30: 1,500 us. The first two of a process
# come after other launches than the rest, and are not compared.
@test "slower on one of four ranks: which one, and status 3 with --fail" {
	"$kerncast" import "$made"/slower_since_old_rank_?.json.gz -o old.db >/dev/null
	"$kerncast" import "$made"/slower_since_new_rank_?.json.gz -o new.db >/dev/null
	keep failed "$kerncast" diff --fail --json old.db new.db
	equal "$(<failed.status)" 3 "exit status"
	cp failed.out diff.json
	equal "$(of_diff "(SELECT group_concat((value ->> 'name') || ' ' || (value ->> 'what')) FROM json_each(j, '\$.changes'))")" \
		"gemm on rank 1 slower" "changes"
	within "$(of_diff "j ->> '\$.changes[0].lost_ns'")" 1455000 1515000 "ns lost"
	within "$(of_diff "j -> 'sums' ->> 'difference_ns'")" 1485000 1515000 "ns of difference"
	equal "$(of_diff "j ->> 'compared_on_processes'")" 4 "comparisons on single processes"
	"$kerncast" diff old.db new.db >diff.out
	contains "$(<diff.out)" "1 kernel slower"
	contains "$(<diff.out)" "gemm on rank 1"
	contains "$(<diff.out)" "Kernels that several processes launched were compared on each of them, too: 4 comparisons."
	contains "$("$kerncast" diff --md old.db new.db)" '| `gemm on rank 1` |'
	# The run before in the same database is another way to ask, and the page shows it as well.
	"$kerncast" import "$made"/slower_since_old_rank_?.json.gz -o both.db >/dev/null
	"$kerncast" import "$made"/slower_since_new_rank_?.json.gz -o both.db >/dev/null
	"$kerncast" report --html page.html --old 1 both.db >/dev/null
	contains "$(<page.html)" "gemm on rank 1"
	# What became faster again is no failure.
	"$kerncast" diff --fail new.db old.db >faster.out
	contains "$(<faster.out)" "1 kernel faster"
	# Beside a baseline the kernel is compared as a whole.
	"$kerncast" diff --baseline base.json old.db 2>/dev/null
	equal "$(changed --baseline base.json new.db)" "" "changes beside a baseline"
}

@test "a rank that was slower before is no change" {
	"$kerncast" import "$made"/slower_since_new_rank_?.json.gz -o old.db >/dev/null
	# The same in another order, a microsecond per launch longer or shorter in turn.
	local rank
	for rank in 3 1 0 2; do
		zcat "$made/slower_since_new_rank_$rank.json.gz" >"$rank.json"
		python3 - "$rank.json" <<-'END'
			import json, sys
			trace = json.load(open(sys.argv[1]))
			for i, event in enumerate(e for e in trace["traceEvents"] if e.get("cat") == "kernel"):
			    event["dur"] += (-1) ** (i // 3)
			json.dump(trace, open(sys.argv[1], "w"))
		END
	done
	"$kerncast" import {3,1,0,2}.json -o new.db >/dev/null
	"$kerncast" diff --fail --json old.db new.db >diff.json
	equal "$(of_diff "(j -> 'changes') || (j ->> 'compared_kernels') || (j ->> 'compared_on_processes')")" "[]14" "changes, kernels, kernels on single processes"
}

@test "processes are told apart by names that are theirs alone" {
	local rank
	for rank in 0 1 2 3; do
		zcat "$made/slower_since_old_rank_$rank.json.gz" >"old$rank.json"
		zcat "$made/slower_since_new_rank_$rank.json.gz" >"new$rank.json"
	done
	"$kerncast" import old{0,1,2,3}.json -o old.db >/dev/null
	# Two of NEW say that they are rank 1, so that neither is compared by itself.
	sed -i 's/"rank": 2/"rank": 1/' new2.json
	"$kerncast" import new{0,1,2,3}.json -o twice.db >/dev/null
	equal "$(sqlite3 twice.db "SELECT count(*) FROM process WHERE command_line = 'rank 1'")" 2 "processes of one name"
	"$kerncast" diff --json old.db twice.db >diff.json
	equal "$(of_diff "(SELECT group_concat(value ->> 'name') FROM json_each(j, '\$.changes') WHERE value ->> 'name' LIKE '%rank 1')")" "" "changes on rank 1"
	# Without ranks they are known by their files.
	for rank in 0 1 2 3; do
		mkdir -p one two
		sed 's/"distributedInfo"/"other"/' "old$rank.json" >"one/part$rank.json"
		sed 's/"distributedInfo"/"other"/' "new$rank.json" >"two/part$rank.json"
	done
	"$kerncast" import one/part?.json -o one.db >/dev/null
	"$kerncast" import two/part?.json -o two.db >/dev/null
	"$kerncast" diff --json one.db two.db >diff.json
	equal "$(of_diff "j ->> '\$.changes[0].name'")" "gemm on part1.json" "change"
}

# Their names have 1,201 bytes. On b the kernel takes 45 us in place of 30.
@test "processes are told apart by long names that differ at their ends" {
	local long side ns
	long=$(printf 'é%.0s' {1..600})
	for side in old new; do
		mkdir "$side"
		{
			echo process,kind,start_ns,duration_ns,grid_x,grid_y,grid_z,block_x,block_y,block_z,name
			for i in {1..60}; do
				ns=$((30000 + i % 5))
				echo "${long}a,kernel,$((i * 100000)),$ns,8,1,1,64,1,1,gemm"
				[[ $side == old ]] || ns=$((45000 + i % 5))
				echo "${long}b,kernel,$((i * 100000)),$ns,8,1,1,64,1,1,gemm"
			done
		} >"$side/part.csv"
		"$kerncast" import "$side/part.csv" -o "$side.db" >/dev/null
	done
	"$kerncast" diff --json old.db new.db >diff.json
	equal "$(of_diff "(SELECT group_concat(value ->> 'name') FROM json_each(j, '\$.changes'))")" \
		"gemm on ${long}b" "changes"
	equal "$(of_diff "j ->> 'compared_on_processes'")" 2 "comparisons on single processes"
}

# Three kernels, 60 times on each of three GPUs; on GPU 1 they take 1.2 times as long in NEW: 60 x (4 + 10 + 18) us.
@test "GPUs of one process, and processes of one name with a GPU each, are compared each with itself" {
	python3 - <<-'END'
		import os
		for side, factor in (("old", 1), ("new", 1.2)):
		    rows = {gpu: [] for gpu in range(3)}
		    for gpu in rows:
		        now = 0
		        for i in range(180):
		            ns = int((20000, 50000, 90000)[i % 3] * (factor if gpu == 1 else 1)) + i % 7 * 20
		            rows[gpu].append(f"kernel,{now},{ns},{gpu},7,8,1,1,128,1,1,{'abc'[i % 3]}")
		            now += ns + 1000
		    rows["all"] = sorted((row for part in rows.values() for row in part), key=lambda row: int(row.split(",")[1]))
		    for gpu, part in rows.items():
		        os.makedirs(f"{side}/{gpu}")
		        with open(f"{side}/{gpu}/trace.csv", "w") as out:
		            print("kind,start_ns,duration_ns,device,stream,grid_x,grid_y,grid_z,block_x,block_y,block_z,name", *part, sep="\n", file=out)
	END
	local side form
	for side in old new; do
		"$kerncast" import "$side/all/trace.csv" -o "one.$side.db" >/dev/null
		"$kerncast" import "$side"/{0,1,2}/trace.csv -o "several.$side.db" >/dev/null
	done
	equal "$(sqlite3 several.new.db "SELECT count(*) || ' ' || count(DISTINCT command_line) FROM process")" "3 1" "processes, names"
	for form in one several; do
		keep failed "$kerncast" diff --fail --json "$form.old.db" "$form.new.db"
		equal "$(<failed.status)" 3 "exit status, $form"
		cp failed.out diff.json
		equal "$(of_diff "j -> 'contributors' -> 0 ->> 'name'")" "3 kernels on GPU 1" "first, $form"
		within "$(of_diff "j -> 'contributors' -> 0 ->> 'difference_ns'")" 1919000 1921000 "ns, $form"
		equal "$(of_diff "json_array_length(j, '$.contributors')")" 1 "contributors, $form"
	done
}

four_processes() { # SEED ROUNDS...: of the second one, kernel 1 costs as $costs says
	local seed=$1
	shift
	# shellcheck disable=SC2016
	SIMCUDA_SEED=$seed SIMCUDA_COSTS=$root/cuda_tests/slow/slow.costs "$kerncast" run -q -- sh -c '
		"$1" "$3"
		SIMCUDA_COSTS=$2 "$1" "$4"
		"$1" "$5"
		"$1" "$6"' - "$build/slow/slow-sim" "$costs" "$@" >/dev/null
}

@test "live processes are told apart by their command lines, and not where these are the same" {
	local same=$root/cuda_tests/slow/slow.costs costs
	sed 's/^\*kernel\*.*/*kernel_of_roundILi1E* 600+a0*f1*1.3 0\n&/' "$same" >slower.costs
	costs=$same four_processes 1 60 61 62 63
	costs=$same four_processes 2 60 61 62 63
	costs=$PWD/slower.costs four_processes 3 60 61 62 63
	"$kerncast" diff --json --old 1 --new 2 >diff.json
	equal "$(of_diff "j -> 'changes'")" "[]" "changes of none"
	within "$(of_diff "j ->> 'compared_on_processes'")" 16 20 "comparisons on single processes"
	"$kerncast" diff --json --old 1 --new 3 >diff.json
	equal "$(of_diff "(SELECT group_concat(value ->> 'name') FROM json_each(j, '\$.changes'))")" \
		"void kernel_of_round<1>(int, float, float*) on $build/slow/slow-sim 61" "change"
	within "$(of_diff "j ->> '\$.changes[0].change'")" 28 32 "percent"
	costs=$same four_processes 4 60 60 60 60
	costs=$PWD/slower.costs four_processes 5 60 60 60 60
	"$kerncast" diff --json --old 4 --new 5 >diff.json
	equal "$(of_diff "j ->> 'compared_on_processes'")" 0 "comparisons on single processes"
	equal "$(of_diff "(SELECT count(*) FROM json_each(j, '\$.changes') WHERE value ->> 'name' LIKE '% on %')")" 0 "changes on a process"
}

# --- what makes the difference

@test "the largest contributor is the first line, with its reason, in each of 49 made pairs; none where nothing changed" {
	"$root/scripts/diff-on-pairs" --build "$build" --pairs 56 >pairs
	equal "$(awk '{ print $2, $4, $5 }' pairs | sort | uniq -c | tr -s ' ')" " 8 7 7 right" "kinds, and right ones of each"
}

# By their CSV: triton__0d1d2d3d had 185 launches and 395 us in bf16, 360 and 3,319 us in int8. All together 2,320 us more.
@test "a kernel launched more often and at other sizes is named first, in text, JSON, Markdown and page" {
	local side
	full_data
	for side in bf16 int8; do
		"$kerncast" import "$data/traces_2/pytorch/ao_vit_${side}_a100.csv.gz" -o "$side.db" >/dev/null
		"$kerncast" import "$data/traces_2/pytorch/ao_vit_${side}_a100.csv.gz" -o both.db >/dev/null
	done
	"$kerncast" diff bf16.db int8.db >diff.out
	equal "$(sed -n '/^Measured time/{n; n; p}' diff.out | tr -s ' ')" \
		" +2.92 ms other sizes 185 → 360 395 µs 3.32 ms triton__0d1d2d3d" "first line"
	contains "$("$kerncast" diff --md bf16.db int8.db)" '|--:|---|---|--:|--:|---|
| +2.92 ms | other sizes | 185 → 360 | 395 µs | 3.32 ms | `triton__0d1d2d3d` |'
	"$kerncast" diff --json bf16.db int8.db >diff.json
	equal "$(of_diff "j -> 'contributors' -> 0 ->> 'difference_ns'")" 2924000 "ns of the first"
	equal "$(of_diff "(SELECT sum(value ->> 'difference_ns') FROM json_each(j, '$.contributors'))
		+ (j -> 'other_contributors' ->> 'difference_ns')")" 2320000.0 "ns of all"
	"$kerncast" report --html page.html --old 1 both.db >/dev/null
	contains "$(<page.html)" '"contributors":[{"difference_ns":2924000,"why":"other_sizes","old_launches":185'
}

# A new kernel, triton_poi_fused_add_3, moves the numbers of the two others by one. The second of these takes 13 us more,
# 40 times: 520 us.
@test "kernels of torch.compile that have another number are the same ones" {
	python3 - <<-'END'
		for side, kernels in (("old", ((3, 8, 10000), (5, 64, 40000))), ("new", ((3, 512, 9000), (4, 8, 10000), (6, 64, 53000)))):
		    with open(f"{side}.csv", "w") as out:
		        print("kind,start_ns,duration_ns,grid_x,grid_y,grid_z,block_x,block_y,block_z,name", file=out)
		        for i in range(120):
		            number, grid, ns = kernels[i % len(kernels)]
		            if i < 40 * len(kernels):
		                print(f"kernel,{i * 100000},{ns + i % 7 * 10},{grid},1,1,128,1,1,triton_poi_fused_add_{number}", file=out)
	END
	"$kerncast" import old.csv -o old.db >/dev/null
	"$kerncast" import new.csv -o new.db >/dev/null
	"$kerncast" diff --json old.db new.db >diff.json
	equal "$(of_diff "(SELECT group_concat((value ->> 'name') || ' ' || (value ->> 'why'), '; ') FROM json_each(j, '$.contributors'))")" \
		"triton_poi_fused_add_6 (was _5) slower; triton_poi_fused_add_3 new" "contributors"
	within "$(of_diff "j -> 'contributors' -> 0 ->> 'difference_ns'")" 519000 521000 "ns more"
	equal "$(of_diff "(SELECT group_concat(value ->> 'name') FROM json_each(j, '$.others'))")" "triton_poi_fused_add_4 (was _3)" "unchanged"
}

# --- recorded traces: even against odd blocks of launches, and a change planted into one kernel

# Leaves NAME.0.db and NAME.1.db, each with every second block of the launches of each process.
halves() { # TRACE NAME
	local half
	"$kerncast" import "$1" -o "$2.db" >/dev/null
	for half in 0 1; do
		cp "$2.db" "$2.$half.db"
		sqlite3 "$2.$half.db" "PRAGMA synchronous = off; DELETE FROM launch_row WHERE id IN (SELECT id FROM (SELECT id,
			(row_number() OVER (PARTITION BY id >> 40 ORDER BY id) - 1)
			/ max(4, (count(*) OVER (PARTITION BY id >> 40)) / 40) AS block FROM launch_row) WHERE block % 2 <> $half)"
	done
}

@test "recorded traces of GPUs: nothing changed, at most 1 kernel in 200 is reported" {
	local file compared=0 reported=0
	full_data
	while read -r file; do
		halves "$file" t
		if "$kerncast" diff --json t.0.db t.1.db >diff.json 2>diff.err; then
			((compared += $(of_diff "j ->> 'compared_kernels'"), 1))
			((reported += $(of_diff "json_array_length(j -> 'changes')"), 1))
		else
			# Traces of processes of two launches have no second block.
			contains "$(<diff.err)" "has no measured launch"
		fi
		rm -f t.db* t.0.db* t.1.db*
	done < <(find "$data/traces" "$data/traces_2" -name '*.csv.gz' | sort)
	echo "# | $reported of $compared kernels reported" >&3
	within "$compared" 600 5000 "kernels compared"
	within "$reported" 0 $((compared / 200)) "kernels reported"
}
