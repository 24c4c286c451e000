# --kernel, --exclude, --stream, --process, --since, --until and --min: the same launches in every command that reads
# them, and those that sqlite3 finds by hand.
load ../common

# Two runs of the demo, in which every launch is measured.
record() {
	"$kerncast" run -q "$build/demo-static-sim" --rounds 40 >/dev/null
	SIMCUDA_SEED=2 "$kerncast" run -q "$build/demo-static-sim" --rounds 40 >/dev/null
	# However long each took to begin, both have launches in the first milliseconds.
	sql "UPDATE launch_row SET launched = launched - o.first FROM (SELECT id >> 40 AS process, min(launched) AS first
		FROM launch_row GROUP BY 1) o WHERE o.process = launch_row.id >> 40"
}

of_json() { # FILE EXPRESSION of the document j
	sqlite3 :memory: "WITH d AS (SELECT CAST(readfile('$1') AS TEXT) AS j) SELECT $2 FROM d"
}

slices() { # of kernels that were measured, in trace.json
	sqlite3 :memory: "SELECT count(*) FROM json_each(CAST(readfile('trace.json') AS TEXT), '\$.traceEvents')
		WHERE value ->> 'cat' = 'kernel,measured'"
}

# Launches with the columns that filters are about. Times count from the start of the run's first process.
launches="(SELECT l.run, l.process, l.sequence, p.pid, s.local, s.kind, s.thread, k.name, k.mangled,
	l.launched_ns - (SELECT min(o.started_ns) FROM process o WHERE o.run = l.run) AS at,
	l.measured_end_ns - l.measured_start_ns AS ns
	FROM launch l LEFT JOIN kernel k ON k.id = l.kernel LEFT JOIN stream s ON s.id = l.stream
	JOIN process p ON p.id = l.process)"

# Every command with these options tells as many launches as the condition finds in runs 1 and 2, and as much time.
agree() { # SQL_CONDITION OPTION...
	local where=$1 count ns
	shift
	count=$(sql "SELECT count(*) FROM $launches WHERE $where")
	ns=$(sql "SELECT total(ns) FROM $launches WHERE $where")
	within "$count" 1 99999 "launches where $where"
	"$kerncast" report --json --run all "$@" >report.json
	equal "$(of_json report.json "j ->> '$.filter.launches'")" "$count" "launches of report $*"
	equal "$(of_json report.json "(SELECT sum(value ->> 'launches') FROM json_each(j, '$.kernels'))")" "$count" "those of its kernels"
	equal "$(of_json report.json "j ->> '$.measured_ns'")" "$ns" "measured time of report $*"
	equal "$(of_json report.json "j ->> '$.ledger.launches' = j ->> '$.filter.of_launches' AND j ->> '$.ledger.adds_up'")" 1 \
		"the ledger is of all launches, and adds up"
	"$kerncast" replay --json "$@" >replay.json
	equal "$(of_json replay.json "j ->> '$.filter.launches'")" "$count" "launches of replay $*"
	equal "$(of_json replay.json "j ->> '$.launches' - j ->> '$.excluded'")" "$count" "those in its figures"
	"$kerncast" replay --csv "$@" | tr -d '\r' | tail -n +2 | cut -d, -f1,2 | sort >replayed
	"$kerncast" export --csv --run all "$@" | tr -d '\r' | tail -n +2 | cut -d, -f1,2 | sort >exported
	sql "SELECT process || ',' || sequence FROM $launches WHERE $where" | sort >wanted
	diff wanted exported
	diff wanted replayed
	"$kerncast" export --chrome --run all "$@" -o trace.json
	equal "$(slices)" "$count" "slices of export --chrome $*"
	"$kerncast" diff --per run --json --old 1 --new 2 "$@" >diff.json
	equal "$(of_json diff.json "(j ->> '$.filter.old_launches') + (j ->> '$.filter.new_launches')")" "$count" "launches of diff $*"
	equal "$(of_json diff.json "j ->> '$.sums.old_ns'")" "$(sql "SELECT total(ns) FROM $launches WHERE run = 1 AND ($where)")" "OLD's time"
	equal "$(of_json diff.json "j ->> '$.sums.new_ns'")" "$(sql "SELECT total(ns) FROM $launches WHERE run = 2 AND ($where)")" "NEW's time"
	count=$(sql "SELECT count(*) FROM $launches WHERE run = 2 AND ($where)")
	if ((count > 0)); then
		"$kerncast" slow --json --run 2 "$@" >slow.json
		equal "$(of_json slow.json "j ->> '$.filter.launches'")" "$count" "launches of slow $*"
		equal "$(of_json slow.json "j ->> '$.measured.ns'")" "$(of_json diff.json "j ->> '$.sums.new_ns'")" "their time"
	fi
}

@test "each filter: report, replay, export, diff and slow agree with one another and with SQL" {
	record
	equal "$(sql "SELECT count(*) FROM launch WHERE measured_end_ns IS NULL")" 0 "launches without a measurement"
	agree "name GLOB 'saxpy*' OR name GLOB 'matmul*'" --kernel '^(saxpy|matmul)'
	agree "mangled GLOB '_Z*5saxpy*'" --kernel '^_Z[0-9N]*5saxpy'
	agree "name NOT GLOB 'saxpy*'" --exclude '^saxpy\('
	agree "local IN (2, 3)" --stream 2,3
	agree "pid = (SELECT max(pid) FROM process) OR pid = (SELECT min(pid) FROM process)" \
		--process "$(sql "SELECT group_concat(pid) FROM process")"
	local half
	half=$(sql "SELECT min(last) / 2 FROM (SELECT max(at) AS last FROM $launches GROUP BY run)") # of the shorter run
	agree "at >= $half" --since "${half}ns"
	agree "at < $half" --until "${half}ns"
	agree "ns >= 10000" --min 10us
	agree "name GLOB 'matmul*' AND local = 3 AND at >= $half AND ns >= 10000" \
		--kernel matmul --exclude saxpy --stream default,3 --since "${half}ns" --until 1000s --min 10us
}

@test "streams are those that the report names, per-thread and legacy default streams included" {
	record
	sql "UPDATE stream SET kind = 'legacy' WHERE local = 1; UPDATE stream SET thread = 4711 WHERE local = 2"
	agree "kind = 'legacy' OR thread" --stream default
	agree "local = 2" --stream 2
	agree "kind = 'legacy' OR thread OR local = 4" --stream 4,default
	"$kerncast" report --run 1 --by stream --stream default >streams
	contains "$(<streams)" "  default "
	contains "$(<streams)" "default of thread 4711"
	keep none "$kerncast" report --stream 1
	equal "$(<none.status)" 1 "stream 1 is called default"
}

@test "processes of several runs; times count from the start of the run, not of the process" {
	record
	# The second process belongs to the first one's run, and started 1 s after it.
	sql "UPDATE process SET run = 1, started_ns = (SELECT started_ns FROM process WHERE id = 1) + 1000000000 WHERE id = 2"
	local pid
	pid=$(sql "SELECT pid FROM process WHERE id = 2")
	for options in "--since 1s" "--process $pid" "--process 1,$pid"; do
		# shellcheck disable=SC2086 # words
		equal "$("$kerncast" export --csv --run 1 $options | tr -d '\r' | tail -n +2 | cut -d, -f1 | sort -u)" 2 "process of $options"
	done
	equal "$("$kerncast" export --csv --run 1 --until 1s | tr -d '\r' | tail -n +2 | cut -d, -f1 | sort -u)" 1
	"$kerncast" export --chrome --run 1 --process "$pid" -o trace.json
	equal "$(sqlite3 :memory: "SELECT group_concat(DISTINCT value ->> 'pid') FROM json_each(
		CAST(readfile('trace.json') AS TEXT), '\$.traceEvents')")" 2 "processes of the trace"
}

@test "transfers in a trace: by stream and time as launches, and none beside --kernel" {
	record
	transfers() { # OPTION...
		"$kerncast" export --chrome --run all "$@" -o trace.json
		sqlite3 :memory: "SELECT count(*) FROM json_each(CAST(readfile('trace.json') AS TEXT), '\$.traceEvents')
			WHERE value ->> 'cat' = 'transfer,measured'"
	}
	equal "$(transfers)" "$(sql "SELECT count(*) FROM transfer WHERE measured_end_ns")"
	equal "$(transfers --stream 2)" "$(sql "SELECT count(*) FROM transfer t JOIN stream s ON s.id = t.stream WHERE local = 2 AND measured_end_ns")"
	equal "$(transfers --exclude saxpy)" "$(sql "SELECT count(*) FROM transfer WHERE measured_end_ns")"
	equal "$(transfers --min 2us)" "$(sql "SELECT count(*) FROM transfer WHERE measured_end_ns - measured_start_ns >= 2000")"
	equal "$(transfers --kernel saxpy)" 0
}

@test "nothing matches: said on standard error, status 1, no output and no file" {
	record
	for command in report "report --json" "report --csv" replay "replay --json" "replay --csv" "export --csv" \
		"export --chrome" "export --csv -o made.csv" "diff --old 1 --new 2" "diff --json --old 1 --new 2"; do
		# shellcheck disable=SC2086 # words of a command
		keep none "$kerncast" $command --kernel nothing_is_called_so --stream 3
		equal "$(<none.status)" 1 "status of $command"
		equal "$(<none.out)" "" "output of $command"
		contains "$(<none.err)" 'matches the filter: kernel matches "nothing_is_called_so", stream 3'
	done
	[[ ! -e made.csv ]]
}

@test "what is chosen is said; a page without a filter says nothing of it" {
	record
	"$kerncast" report --run 1 --kernel 'a|b' --exclude matmul --stream 2,default --since 1us --until 100s --min 1us \
		--process "$(sql "SELECT pid FROM process WHERE id = 1")" >page
	contains "$(<page)" 'Filter: kernel matches "a|b", kernel does not match "matmul", stream default or 2, process '
	contains "$(<page)" 'launched from 1.00 µs until 100 s, measured at least 1.00 µs: '
	contains "$(<page)" ' of 320 launches'
	"$kerncast" replay --kernel saxpy >page
	contains "$(<page)" 'Filter: kernel matches "saxpy": 80 of 640 launches; all are replayed'
	"$kerncast" diff --old 1 --new 2 --kernel saxpy >page
	contains "$(<page)" 'Filter: kernel matches "saxpy": OLD 40 of 320 launches, NEW 40 of 320 launches'
	for command in report replay "diff --old 1 --new 2"; do
		# shellcheck disable=SC2086 # words of a command
		"$kerncast" $command >page
		[[ $(<page) != *Filter* ]]
	done
	for command in "report --json" "replay --json" "diff --json --old 1 --new 2"; do
		# shellcheck disable=SC2086 # words of a command
		"$kerncast" $command >page.json
		equal "$(of_json page.json "json_type(j, '$.filter')")" null "filter of $command"
	done
}

@test "diff: what comes before the launches that are compared is known all the same, and the change is the same" {
	local seed
	for seed in 1 2; do SIMCUDA_SEED=$seed "$kerncast" run -q "$build/demo-static-sim" >/dev/null; done
	sed 's/\*(350+3\*threads)/*(1050+3*threads)/' "$SIMCUDA_COSTS" >slower.costs
	SIMCUDA_SEED=3 SIMCUDA_COSTS=$PWD/slower.costs "$kerncast" run -q "$build/demo-static-sim" >/dev/null
	matmul() { # OPTION...: its figures
		"$kerncast" diff --json "$@" >diff.json
		of_json diff.json "(SELECT value ->> 'what' || ' ' || (value ->> 'old_ns') || ' ' || (value ->> 'new_ns') || ' ' ||
			(value ->> 'lost_ns') FROM json_each(j, '$.changes') WHERE value ->> 'name' GLOB 'matmul*')"
	}
	local whole
	whole=$(matmul)
	contains "$whole" "slower "
	equal "$(matmul --kernel matmul)" "$whole" "figures of matmul with the others left out"
	equal "$(of_json diff.json "(SELECT count(*) FROM json_each(j, '$.others')) + json_array_length(j, '$.new') + json_array_length(j, '$.gone')")" 0
	equal "$(matmul --exclude matmul)" ""
	equal "$(of_json diff.json "json_array_length(j, '$.others')")" 5
	# A baseline has kernels, not launches.
	"$kerncast" diff --baseline base.json --new 1 2>/dev/null
	contains "$(matmul --baseline base.json --kernel matmul)" "slower "
	within "$(of_json diff.json "j ->> '$.sums.old_ns'")" 1 1e12 "OLD's time"
	equal "$(matmul --baseline base.json --exclude matmul)" ""
	for option in "--stream 1" "--process 1" "--since 1s" "--until 1s" "--min 1us"; do
		# shellcheck disable=SC2086 # words
		keep wrong "$kerncast" diff --baseline base.json $option
		equal "$(<wrong.status)" 2 "$option"
		contains "$(<wrong.err)" "only --kernel and --exclude"
	done
	keep missing "$kerncast" diff --baseline other.json --kernel matmul
	equal "$(<missing.status)" 1
	[[ ! -e other.json ]]
}

@test "--sort and --top: the order and the number of rows of tables" {
	record
	names() { # COMMAND...: those of a CSV, or of a table of kernels
		"$kerncast" "$@" | tr -d '\r' | tail -n +2 | sed -E 's/^"?([a-z_]+).*/\1/' | tr '\n' ' '
	}
	local order="SELECT group_concat(short, ' ') || ' ' FROM (SELECT substr(name, 1, instr(name, '(') - 1) AS short
		FROM $launches WHERE run = 2 GROUP BY name ORDER BY"
	equal "$(names report --csv --sort time)" "$(sql "$order sum(ns) DESC)")"
	equal "$(names report --csv --sort time --top 2)" "$(sql "$order sum(ns) DESC LIMIT 2)")"
	equal "$(names report --csv --sort count --top 1)" "$(sql "$order count(*) DESC LIMIT 1)")"
	"$kerncast" report --csv --sort error --exact | tr -d '\r' >errors.csv
	equal "$(sqlite3 :memory: '.mode csv' '.import errors.csv e' '.mode list' "SELECT count(*) FROM
		(SELECT mape_percent + 0 AS now, lag(mape_percent + 0) OVER (ORDER BY rowid) AS before FROM e) WHERE now > before")" 0
	"$kerncast" report --sort count --top 2 >page
	contains "$(<page)" "Kernels, most launches first"
	contains "$(<page)" "and 4 more (a larger --top shows them)"
	"$kerncast" replay --sort error --top 2 >page
	contains "$(<page)" "Kernels, largest mean error first"
	"$kerncast" diff --old 1 --new 2 --sort time --top 1 >page
	for wrong in "report --sort lost" "replay --sort lost" "diff --sort error" "report --sort size" "report --sort" \
		"report --top 0" "report --top -1" "report --top 2x" "report --top 1,2" "report --json --top 1" "replay --json --sort time" \
		"replay --csv --top 2" "diff --json --sort count" "export --csv --sort time"; do
		# shellcheck disable=SC2086 # words of a command
		keep wrong "$kerncast" $wrong
		equal "$(<wrong.status)" 2 "$wrong"
	done
	keep lost "$kerncast" report --sort lost
	contains "$(<lost.err)" "--sort lost is for changes between runs"
}

@test "wrong values: status 2, and what is taken instead" {
	"$kerncast" run -q "$build/demo-static-sim" --rounds 2 >/dev/null
	local wrong
	for wrong in "--kernel (" "--exclude [" "--stream x" "--stream 1,,2" "--stream 1," "--stream defaults" "--stream default," \
		"--stream -1" "--process x," "--process 1,-2" "--process 99999999999999999999" "--since 5" "--since -1s" "--until 0" \
		"--until 10min" "--min 5" "--since 2s --until 1s" "--since 1s --until 1s" "--stream $(seq -s, 65)"; do
		for command in report replay "export --csv" diff; do
			# shellcheck disable=SC2086 # words
			keep wrong "$kerncast" $command $wrong
			equal "$(<wrong.status)" 2 "$command $wrong"
			contains "$(<wrong.err)" "kerncast ${command%% *}: --"
		done
	done
	"$kerncast" report --since 0 --until 1000s --stream "$(seq -s, 64)" >/dev/null
}
