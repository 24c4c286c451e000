# kerncast export --chrome: what the trace holds, held against the database by SQL, and against the trace event format
# by scripts/check-trace.
load ../common

sound() { # TRACE...
	"$root/scripts/check-trace" "$@" >checked || { cat checked; return 1; }
}

# events: a table with what the trace says. Times are in ns, from time 0 of the trace.
events="WITH events AS (SELECT value ->> 'ph' AS ph, value ->> 'name' AS name, value ->> 'cat' AS cat, value ->> 'pid' AS pid,
	value ->> 'tid' AS tid, value ->> 'id' AS id, CAST(round((value ->> 'ts') * 1000) AS INTEGER) AS at,
	CAST(round((value ->> 'dur') * 1000) AS INTEGER) AS dur, value ->> 'cname' AS colour, value -> 'args' AS args
	FROM json_each(CAST(readfile('trace.json') AS TEXT), '\$.traceEvents'))"

traced() { # SELECT over events, with the database attached as db
	sqlite3 -batch -bail -separator '|' :memory: "ATTACH '${DB:-kerncast.db}' AS db; $events $1"
}

rows() { # ROW...: a trace to import
	printf '%s\n' process,kind,start_ns,duration_ns,device_name,grid_x,grid_y,grid_z,block_x,block_y,block_z,stream,name "$@" >rows.csv
	rm -f rows.db
	"$kerncast" import rows.csv -o rows.db >import.out
	"$kerncast" export --chrome rows.db -o trace.json 2>export.err
}

record() {
	"$kerncast" run -q "$build/demo-static-sim" --rounds 30 >/dev/null
	"$kerncast" export --chrome -o trace.json 2>export.err
	equal "$(<export.err)" "" "standard error"
}

# --- the check

@test "the check finds slices that cross, flows that lead nowhere, counters and names that are none" {
	local change changes=() n=0
	cat >good.json <<-'END'
		{"traceEvents":[
		{"ph":"M","pid":1,"tid":0,"name":"process_name","args":{"name":"p"}},
		{"ph":"M","pid":1,"tid":7,"name":"thread_name","args":{"name":"t"}},
		{"ph":"X","pid":1,"tid":7,"ts":10,"dur":20,"name":"outer","cat":"c"},
		{"ph":"X","pid":1,"tid":7,"ts":15,"dur":15,"name":"inner","cat":"c"},
		{"ph":"X","pid":1,"tid":7,"ts":30.000,"dur":5.001,"name":"next","cat":"c"},
		{"ph":"s","pid":1,"tid":7,"ts":12,"id":"0x1","name":"flow","cat":"c"},
		{"ph":"f","pid":1,"tid":7,"ts":31,"id":"0x1","name":"flow","cat":"c","bp":"e"},
		{"ph":"b","pid":1,"tid":7,"ts":1,"id":"0x2","name":"beside","cat":"c"},
		{"ph":"e","pid":1,"tid":7,"ts":9,"id":"0x2","name":"beside","cat":"c"},
		{"ph":"C","pid":1,"tid":0,"ts":1,"name":"count","args":{"n":1}},
		{"ph":"C","pid":1,"tid":0,"ts":2,"name":"count","args":{"n":0}}
		]}
	END
	sound good.json
	equal "$(<checked)" "good.json: 3 slices on 1 tracks, 1 asynchronous, 1 flows, 2 values of counters"
	for change in 's/"ts":15,"dur":15/"ts":15,"dur":16/' 's/"ts":30.000/"ts":29.999/' 's/"ts":31,/"ts":36,/' 's/"ts":12,/"ts":9,/' \
		's/"f","pid":1,"tid":7/"f","pid":1,"tid":8/' 's/"s",/"t",/' 's/"ts":12,/"ts":32,/' 's/"0x1",\(.*"bp"\)/"0x3",\1/' \
		's/"ts":9,\(.*"0x2"\)/"ts":0,\1/' '/"ph":"e"/d' 's/"n":0/"n":"0"/' 's/"args":{"n":0}/"args":{}/' 's/"ts":2,/"ts":1,/' \
		'/thread_name/d' '/process_name/d' 's/process_name/process_names/' 's/"dur":20,//' 's/"dur":20/"dur":-20/' 's/"ts":10,/"ts":-10,/' \
		's/"dur":20/"dur":NaN/' 's/"dur":20/"dur":20,&/' 's/"ph":"X"/"ph":"x"/' 's/"tid":7,"ts":10/"ts":10/' 's/{"n":1}/[1]/' '$d'; do
		n=$((n + 1))
		sed "$change" good.json >"bad.$n.json"
		changes+=("$change")
	done
	! "$root/scripts/check-trace" bad.*.json >checked || { echo "nothing found"; return 1; }
	for ((; n > 0; n--)); do
		grep "^bad.$n.json: " checked | grep -qv ' slices on ' || { echo "nothing found after: ${changes[n - 1]}"; return 1; }
	done
}

# --- recorded

@test "a recorded run: slices, calls, flows and colours are those of the database" {
	record
	sound trace.json
	equal "$(traced "SELECT count(*), sum(dur) FROM events WHERE cat = 'kernel,predicted'")" \
		"$(sql "SELECT count(*), sum(end_ns - start_ns) FROM launch")" "predicted kernels, and their time"
	equal "$(traced "SELECT count(*), sum(dur) FROM events WHERE cat = 'kernel,measured'")" \
		"$(sql "SELECT count(*), sum(measured_end_ns - measured_start_ns) FROM launch")" "measured kernels"
	equal "$(traced "SELECT count(*), sum(dur) FROM events WHERE cat = 'transfer,predicted'")" \
		"$(sql "SELECT count(*), sum(end_ns - start_ns) FROM transfer")" "predicted transfers"
	equal "$(traced "SELECT count(*), sum(dur) FROM events WHERE cat = 'transfer,measured'")" \
		"$(sql "SELECT count(*), sum(measured_end_ns - measured_start_ns) FROM transfer")" "measured transfers"
	# A call is drawn from its prediction until it is handed on, at its time of the run.
	equal "$(traced "SELECT count(*), sum(dur) FROM events WHERE cat = 'call' AND name LIKE 'cu%'")" \
		"$(sql "SELECT count(*), sum(launched_ns - predicted_at_ns) FROM launch")" "calls of launches"
	equal "$(traced "SELECT count(*) FROM events e JOIN db.launch l ON l.process = e.pid AND l.sequence = e.args ->> 'launch'
		JOIN db.process p ON p.id = l.process WHERE e.cat = 'call' AND e.name = l.api
		AND e.at = l.predicted_at_ns - p.started_ns AND e.at + e.dur = l.launched_ns - p.started_ns")" \
		"$(sql "SELECT count(*) FROM launch")" "calls at their times"
	# A flow for each launch and transfer, through its call, prediction and measurement at their times.
	equal "$(traced "SELECT group_concat(ph || n, ' ') FROM (SELECT ph, count(DISTINCT id) || '/' || count(*) AS n FROM events
		WHERE cat = 'flow' GROUP BY ph ORDER BY ph)")" \
		"$(sql "SELECT printf('f%d/%d s%d/%d t%d/%d', n, n, n, n, n, n) FROM (SELECT (SELECT count(*) FROM launch) + (SELECT count(*) FROM transfer) AS n)")" "flows"
	equal "$(traced ", parts AS (SELECT e.pid << 40 | e.args ->> 'launch' AS id, e.tid, e.at FROM events e WHERE e.ph = 'X' AND e.args ->> 'launch')
		SELECT count(*) FROM events f JOIN parts ON f.id = printf('0x%x', parts.id) AND f.tid = parts.tid AND f.at = parts.at WHERE f.name = 'kernel'")" \
		"$(sql "SELECT 3 * count(*) FROM launch")" "ends of flows on slices of their launch"
	# 20 % as in the report, and a factor of 2.
	equal "$(traced "SELECT group_concat(c || n, ' ') FROM (SELECT coalesce(colour, 'none') AS c, count(*) AS n FROM events
		WHERE cat LIKE 'kernel,%' GROUP BY 1 ORDER BY 1)")" \
		"$(sql "SELECT group_concat(c || n, ' ') FROM (SELECT CASE WHEN r BETWEEN 0.8 AND 1.2 THEN 'none' WHEN r BETWEEN 0.5 AND 2 THEN 'bad'
			ELSE 'terrible' END AS c, 2 * count(*) AS n FROM (SELECT 1.0 * (end_ns - start_ns) / (measured_end_ns - measured_start_ns) AS r
			FROM launch) GROUP BY 1 ORDER BY 1)")" "colours"
	within "$(traced "SELECT count(*) FROM events WHERE colour = 'terrible'")" 1 99999 "launches that are far off"
}

# The steps of SMs in use: at each time the sum over the launches that run, a block per SM, no more than the device has.
steps() { # START END: columns of launch
	sql "WITH l AS (SELECT *, process AS pid, min(sm_count, grid_x * grid_y * grid_z) AS n, (SELECT p.started_ns FROM process p WHERE p.id = process) AS zero
			FROM launch JOIN device d ON d.id = device WHERE $2 > $1),
		c AS (SELECT pid, $1 - zero AS at, n, sm_count FROM l UNION ALL SELECT pid, $2 - zero, -n, sm_count FROM l),
		t AS (SELECT pid, at, sum(n) AS n, sm_count FROM c GROUP BY pid, at),
		s AS (SELECT pid, at, min(sm_count, sum(n) OVER (PARTITION BY pid ORDER BY at)) AS n FROM t),
		d AS (SELECT *, lag(n) OVER (PARTITION BY pid ORDER BY at) AS before FROM s)
		SELECT pid, at, n FROM d WHERE before IS NOT n ORDER BY 1, 2"
}

@test "counters: SMs in use at every time, and the error of every launch, as SQL finds them" {
	local count
	record
	traced "SELECT pid, at, args ->> 'SMs' FROM events WHERE name = 'SMs in use, predicted' ORDER BY 1, 2" >predicted
	traced "SELECT pid, at, args ->> 'SMs' FROM events WHERE name = 'SMs in use, measured' ORDER BY 1, 2" >measured
	steps start_ns end_ns | diff - predicted
	steps measured_start_ns measured_end_ns | diff - measured
	within "$(wc -l <measured)" 100 99999 "steps"
	# One value for each start; of those at one time, the largest error.
	traced ", wanted AS (SELECT l.process AS pid, l.measured_start_ns - p.started_ns AS at,
			max(100.0 * abs(l.end_ns - l.start_ns - (l.measured_end_ns - l.measured_start_ns)) / (l.measured_end_ns - l.measured_start_ns)) AS error
			FROM db.launch l JOIN db.process p ON p.id = l.process GROUP BY 1, 2)
		SELECT count(*), count(w.at), (SELECT count(*) FROM wanted) FROM events e LEFT JOIN wanted w
		ON w.pid = e.pid AND w.at = e.at AND abs(w.error - (e.args ->> 'percent')) < 0.001 WHERE e.name = 'error'" >errors
	count=$(sql "SELECT count(*) FROM (SELECT DISTINCT process, measured_start_ns FROM launch)")
	equal "$(<errors)" "$count|$count|$count" "errors drawn, right, and there"
}

@test "all kernels of a graph come from one call" {
	"$kerncast" run -q "$build/matrix/sim/runtime_graph" >/dev/null
	"$kerncast" export --chrome -o trace.json
	sound trace.json
	within "$(sql "SELECT count(*) - count(DISTINCT graph_launch) FROM launch WHERE api = 'cuGraphLaunch'")" 1 99999 "kernels beyond one per graph"
	equal "$(traced "SELECT count(*) FROM events WHERE cat = 'call' AND name = 'cuGraphLaunch'")" \
		"$(sql "SELECT count(DISTINCT process || ' ' || graph_launch) FROM launch WHERE api = 'cuGraphLaunch'")" "calls"
}

# --- imported

@test "imported launches are predicted as by kerncast replay, and the trace and standard error say so" {
	local trace=$reduced/traces/pytorch/param_dlrm_v100_w3.csv.gz
	"$kerncast" import "$trace" >/dev/null
	"$kerncast" export --chrome -o trace.json 2>export.err
	sound trace.json
	contains "$(<export.err)" "315 imported launches have no predictions of their own"
	"$kerncast" replay --csv >replay.csv
	sqlite3 check.db -cmd '.mode csv' '.import replay.csv r'
	traced "SELECT pid, args ->> 'launch', dur, args ->> 'model', args ->> 'novelty', args ->> 'case', args ->> 'solo_ns' FROM events
		WHERE cat = 'kernel,predicted' ORDER BY 1, 2" >drawn
	sqlite3 -separator '|' check.db "SELECT CAST(process AS INTEGER), CAST(sequence AS INTEGER), end_ns - start_ns, model, novelty,
		\"case\", CAST(solo_ns AS INTEGER) FROM r WHERE unpredictable = '' ORDER BY 1, 2" | diff - drawn
	equal "$(wc -l <drawn)" 315 "predictions"
	# Predicted starts stand where the replay has them, from the trace's own zero.
	equal "$(DB=check.db traced "SELECT count(DISTINCT e.at - r.start_ns), count(*) FROM events e
		JOIN db.r ON CAST(r.sequence AS INTEGER) = e.args ->> 'launch' WHERE e.cat = 'kernel,predicted'")" "1|315" "shifts of predicted starts"
	equal "$(traced "SELECT json_extract(CAST(readfile('trace.json') AS TEXT), '\$.otherData.replay.predicted')")" 315
	equal "$(traced "SELECT args ->> 'labels' FROM events WHERE name = 'process_labels'")" "predicted by replay"
	equal "$(traced "SELECT count(*) FROM events WHERE args ->> 'unpredictable' = 'imported'")" 0
	# The trace tells when the calls were made.
	equal "$(traced "SELECT count(*) FROM events WHERE cat = 'call'")" \
		"$(sql "SELECT (SELECT count(*) FROM launch WHERE launched_ns <> measured_start_ns) +
			(SELECT count(*) FROM transfer WHERE launched_ns <> measured_start_ns)")" "calls"
}

@test "a window of an imported trace has the predictions of the whole" {
	"$kerncast" import "$reduced/traces/pytorch/param_dlrm_v100_w3.csv.gz" >/dev/null
	"$kerncast" export --chrome -o trace.json 2>/dev/null
	traced "SELECT dur, args FROM events WHERE cat = 'kernel,predicted'" | sort >whole
	"$kerncast" export --chrome --kernel gemm -o trace.json 2>export.err
	sound trace.json
	traced "SELECT dur, args FROM events WHERE cat = 'kernel,predicted'" | sort >part
	within "$(wc -l <part)" 1 300 "launches that match"
	equal "$(comm -23 part whole)" "" "predictions that differ"
}

@test "kernels of one stream that overlap go to lanes, and what finds none is asynchronous" {
	local i
	for i in {1..40}; do
		echo "p,kernel,$((1000 + i)),$((1000 - i)),GeForce GTX 950,1,1,1,64,1,1,3,k$i"
	done >many
	mapfile -t many <many
	rows "${many[@]}" "p,kernel,2000,10,GeForce GTX 950,1,1,1,64,1,1,3,after"
	sound trace.json
	DB=rows.db
	equal "$(traced "SELECT count(DISTINCT tid), count(*) FROM events WHERE ph = 'X' AND cat = 'kernel,measured'")" "32|33" "lanes and slices"
	equal "$(traced "SELECT count(DISTINCT id), count(*) FROM events WHERE ph IN ('b', 'e') AND cat = 'kernel,measured'")" "8|16" "asynchronous ones"
	equal "$(traced "SELECT args ->> 'name' FROM events WHERE name = 'thread_name' AND args ->> 'name' LIKE '%measured (32)'")" \
		"stream 3 measured (32)"
}

@test "SMs in use by hand: two kernels of 4 blocks on a GTX 950, which has 6" {
	rows 'p,kernel,1000,200,GeForce GTX 950,2,2,1,64,1,1,1,f' 'p,kernel,1100,200,GeForce GTX 950,4,1,1,64,1,1,2,g' \
		'p,kernel,2000,50,GeForce GTX 950,100,1,1,64,1,1,2,g' 'p,kernel,2050,50,GeForce GTX 950,6,1,1,64,1,1,2,g' \
		'q,kernel,3000,50,Unheard Of,4,1,1,64,1,1,4,g'
	sound trace.json
	DB=rows.db
	equal "$(traced "SELECT group_concat((at - o.first) || ':' || (args ->> 'SMs'), ' ') FROM events,
		(SELECT min(at) AS first FROM events WHERE cat = 'kernel,measured') o WHERE name = 'SMs in use, measured'")" \
		"0:4 100:6 200:4 300:0 1000:6 1100:0" "steps"
}

@test "calls before the trace's own zero: time 0 is the first of them, as viewers drop what is before" {
	printf '%s\n' process,kind,start_ns,duration_ns,launch_ns,name p,kernel,5000,100,200,a p,kernel,6000,100,900,b >rows.csv
	"$kerncast" import rows.csv >/dev/null
	sql "UPDATE process SET started_ns = started_ns + 700"
	sql "UPDATE launch_row SET launched = launched - 700"
	"$kerncast" export --chrome -o trace.json 2>export.err
	sound trace.json
	equal "$(traced "SELECT group_concat(at, ' ') FROM (SELECT at FROM events WHERE cat = 'call' ORDER BY at)")" "0 700" "calls"
	equal "$(traced "SELECT group_concat(at, ' ') FROM (SELECT at FROM events WHERE cat = 'kernel,measured' ORDER BY at)")" "4800 5800" "kernels"
}

# --- size

@test "10,179 processes: sound, and in seconds" {
	awk 'BEGIN { print "process,kind,start_ns,duration_ns,device_name,grid_x,grid_y,grid_z,block_x,block_y,block_z,stream,name"
		for (i = 0; i < 10179; i++) print "p" i ",kernel,100,50,GeForce GTX 950,4,1,1,64,1,1,1,k" }' >rows.csv
	"$kerncast" import rows.csv >/dev/null
	(ulimit -t 4 && exec "$kerncast" export --chrome -o trace.json.gz 2>export.err)
	sound trace.json.gz
	equal "$(<checked)" "trace.json.gz: 20358 slices on 20358 tracks, 0 asynchronous, 10179 flows, 50895 values of counters"
}

@test "an imported trace is exported where the folder for temporary files is not there, as by SQLite" {
	"$kerncast" import "$reduced/traces/apps/gtx1080ti.csv.gz" -o one.db >/dev/null
	"$kerncast" export --chrome one.db -o there.json
	TMPDIR=$PWD/not/there SQLITE_TMPDIR=$PWD/$(printf 'x%.0s' {1..5000}) "$kerncast" export --chrome one.db -o not_there.json
	cmp there.json not_there.json
}

@test "memory does not grow with the number of launches" {
	"$kerncast" run -q "$build/demo-static-sim" --rounds 30 >/dev/null
	cp kerncast.db many.db
	sqlite3 many.db "
		CREATE TEMP TABLE more AS SELECT * FROM launch_row;
		WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 600)
		INSERT INTO launch_row(id, shape, stream, launched, lead, solo, below, above, wait, span, measured_wait, measured_span, flags,
			slowdown, slowdown_waves, thread) SELECT id + n * 100000, shape, stream, launched + n * 150000000, lead, solo, below, above, wait,
			span, measured_wait, measured_span, flags, slowdown, slowdown_waves, thread FROM more, n"
	within "$(sql "SELECT count(*) FROM launch_row" many.db)" 100000 400000 launches
	(ulimit -v 45000 && exec "$kerncast" export --chrome many.db -o /dev/null)
}

@test "export --csv is compressed where the name says so, too" {
	"$kerncast" run -q "$build/demo-static-sim" --rounds 3 >/dev/null
	"$kerncast" export --csv -o launches.csv
	"$kerncast" export --csv -o launches.csv.gz
	zcat launches.csv.gz | cmp - launches.csv
}

@test "what has command lines in it is for its owner alone, whatever the umask: the trace, the rows, the page" {
	local file
	"$kerncast" run -q "$build/demo-static-sim" --rounds 3 >/dev/null
	umask 000
	"$kerncast" export --chrome -o trace.json
	"$kerncast" export --chrome -o trace.json.gz
	"$kerncast" export --csv -o launches.csv
	"$kerncast" report --html page.html >/dev/null
	: >before.json
	"$kerncast" export --chrome -o before.json
	for file in kerncast.db trace.json trace.json.gz launches.csv page.html before.json; do
		equal "$(stat -c %a $file)" 600 "mode of $file"
	done
}

# Nobody takes what it writes for three seconds.
@test "what takes more than two seconds says so on a terminal, and takes the line away; elsewhere nothing is said" {
	command -v script >/dev/null || skip "no script"
	awk 'BEGIN { print "process,kind,start_ns,duration_ns,grid_x,grid_y,grid_z,block_x,block_y,block_z,name"
		for (i = 0; i < 20000; i++) printf "p,kernel,%d,500,8,1,1,64,1,1,k\n", i * 1000 }' >many.csv
	"$kerncast" import many.csv -o many.db >/dev/null
	mkfifo pipe
	{ sleep 3; cat; } <pipe >taken.csv &
	SHELL=$(command -v bash) script -qec "'$kerncast' export --csv many.db -o pipe" log </dev/null >/dev/null
	wait $!
	contains "$(<log)" "many.db: exported for 2 s"
	contains "$(<log)" $' s\r\e[K\n'
	"$kerncast" export --csv many.db | cmp - taken.csv
	{ sleep 3; cat; } <pipe >taken.csv &
	"$kerncast" export --csv many.db -o pipe 2>said
	wait $!
	equal "$(<said)" "" "said"
}
