# kerncast-lab experiment on the simulated device: what it prints, that it goes on
# where it was killed, and what it says when something is missing.
load ../common

setup_file() { # one small experiment, which the tests share
	cd "$BATS_FILE_TMPDIR" || return 1
	unset LD_PRELOAD
	export LD_LIBRARY_PATH=${KC_BUILD:-$BATS_TEST_DIRNAME/../../../build}/simcuda
	unset SIMCUDA_COSTS SIMCUDA_DEVICE
	"${KC_BUILD:-$BATS_TEST_DIRNAME/../../../build}/kerncast-lab" experiment lambda pairs --dir measured >first.out 2>first.err
}

measure() { # ARG...: without the demo's costs, so that the programs' own hold
	env -u SIMCUDA_COSTS "$lab" experiment "$@"
}

# JSON path in experiment.json
json() {
	sqlite3 :memory: "SELECT json_extract(CAST(readfile('experiment.json') AS TEXT), '$1')"
}

steps() { # DB
	sql "SELECT step, completed_unix_ns FROM experiment_step ORDER BY step" "$1"
}

@test "an experiment prints claims, the paper's figure and ours, marked SIMULATED, and draws its figure" {
	local name

	contains "$(head -n 1 "$BATS_FILE_TMPDIR/first.out")" SIMULATED
	contains "$(<"$BATS_FILE_TMPDIR/first.out")" "slowdown by the wave model (eq. 5.1)"
	contains "$(<"$BATS_FILE_TMPDIR/first.out")" "3.49 %"
	contains "$(<"$BATS_FILE_TMPDIR/first.out")" "5 of 5 steps measured"
	equal "$(tail -n 1 "$BATS_FILE_TMPDIR/first.out")" "$(grep -c '  yes$' "$BATS_FILE_TMPDIR/first.out") of $(grep -cE \
		'  (yes|no)$' "$BATS_FILE_TMPDIR/first.out") measured claims hold here, on the simulated device." "the tally"
	for name in lambda pairs; do
		contains "$(tail -c 16 "$BATS_FILE_TMPDIR/measured/$name.svg")" "</svg>"
		contains "$(<"$BATS_FILE_TMPDIR/measured/$name.svg")" SIMULATED
		equal "$(head -c 8 "$BATS_FILE_TMPDIR/measured/$name.png" | od -An -tx1 | tr -d ' ')" 89504e470d0a1a0a
		ledger_adds_up "$BATS_FILE_TMPDIR/measured/$name.db"
	done
}

@test "experiment --json, and figures of what is there already" {
	cp -r "$BATS_FILE_TMPDIR/measured" .
	steps measured/pairs.db >before
	measure figures pairs --dir measured --json >experiment.json
	equal "$(json '$.experiments[0].simulated')|$(json '$.experiments[0].name')" "1|pairs"
	equal "$(json '$.experiments[0].complete')|$(json '$.experiments[0].steps')" "1|1"
	equal "$(json '$.experiments[0].claims[0].points')" 50
	equal "$(json '$.experiments[0].claims[0].paper')" "3.49 %"
	within "$(json '$.experiments[0].claims[0].value')" 0.001 1
	equal "$(json '$.experiments[0].figures[1]')" measured/pairs.png
	equal "$(json '$.experiments[0].checks.wrong')" 0
	equal "$(steps measured/pairs.db)" "$(<before)"
}

@test "experiments that count in the programs' code judge every point" {
	local unjudged

	measure cycles boat_hull --small --dir counted --json >experiment.json
	equal "$(json '$.experiments[0].complete')|$(json '$.experiments[1].complete')" "$(json '$.experiments[0].steps')|$(json '$.experiments[1].steps')" "steps measured"
	equal "$(json '$.experiments[0].claims[0].points')" "$(json '$.experiments[0].steps')" "bounds of the cycle model"
	unjudged=$(sqlite3 :memory: "SELECT count(*) FROM json_each(CAST(readfile('experiment.json') AS TEXT), '\$.experiments') e,
		json_each(e.value, '$.claims') c WHERE coalesce(json_extract(c.value, '$.points'), 0) = 0")
	equal "$unjudged" 0 "claims about nothing"
	# MAX is the least that SUM can be; more of the same work takes longer by both
	equal "$(sqlite3 :memory: "SELECT count(*) FROM json_each(CAST(readfile('experiment.json') AS TEXT), '\$.experiments[0].points')
		WHERE NOT json_extract(value, '$.low') > 0 OR json_extract(value, '$.low') > json_extract(value, '$.high')")" 0
	within "$(json '$.experiments[0].points[1].low')" "$(json '$.experiments[0].points[0].low')" "$(json '$.experiments[0].points[2].low')" "twice the side"
}

@test "killed and started again, it continues: nothing is measured twice, half a step is dropped" {
	local pid begun=0

	env -u SIMCUDA_COSTS "$lab" experiment bsp --dir k >killed.out 2>&1 &
	pid=$!
	for ((i = 0; i < 1500 && begun < 3; i++)); do
		sleep 0.01
		begun=$(sqlite3 -batch k/bsp.db 'SELECT count(*) FROM experiment_step' 2>/dev/null || echo 0)
	done
	kill -KILL "$pid"
	wait "$pid" || true
	within "$begun" 3 14 "steps before the kill"
	steps k/bsp.db >before
	keep again measure bsp --dir k
	equal "$(<again.status)" 0
	contains "$(<again.out)" "15 of 15 steps measured"
	steps k/bsp.db | grep -Fxf before | diff before -
	equal "$(sql 'SELECT count(*), count(DISTINCT token) FROM run WHERE token IN (SELECT token FROM experiment_step)' k/bsp.db)" "15|15"
	equal "$(sql 'SELECT count(*) FROM run' k/bsp.db)" 15
	# 4 products of 1 kernel and a search of 2, 3 sizes, 5 rounds
	equal "$(sql 'SELECT count(*), count(measured_end_ns) FROM launch' k/bsp.db)" "90|90"
	ledger_adds_up k/bsp.db
	keep uncounted measure figures bsp --dir k --programs "$PWD/nowhere"
	equal "$(<uncounted.status)" 1
	contains "$(<uncounted.err)" "cannot read its programs' code in $PWD/nowhere"
	contains "$(tr -s " \n" " " <uncounted.out)" "The code of bsp cannot be read: no counts"
	contains "$(<uncounted.out)" "not measured"
}

@test "runs that are not the experiment's own stay in its database" {
	mkdir d
	keep own "$kerncast" run -o d/pairs.db "$build/demo-static-sim"
	equal "$(<own.status)" 0
	sql "SELECT id, token FROM run" d/pairs.db >before
	equal "$(wc -l <before)" 1
	sql "SELECT count(*) FROM launch" d/pairs.db >launches
	# of a step that was not completed
	sqlite3 d/pairs.db "INSERT INTO run(token, started_unix_ns) VALUES('experiment-1-000000001-1', 1)"
	keep experiment measure pairs --dir d
	equal "$(<experiment.status)" 0
	contains "$(<experiment.out)" "1 of 1 steps measured"
	equal "$(sql "SELECT id, token FROM run WHERE token NOT IN (SELECT token FROM experiment_step)" d/pairs.db)" "$(<before)"
	equal "$(sql "SELECT count(*) FROM launch l JOIN run r ON r.id = l.run
		WHERE r.token NOT IN (SELECT token FROM experiment_step)" d/pairs.db)" "$(<launches)"
	ledger_adds_up d/pairs.db
}

@test "without gnuplot that is said, and the table still comes" {
	cp -r "$BATS_FILE_TMPDIR/measured" .
	rm measured/*.svg measured/*.png
	keep none env PATH=/nowhere "$lab" experiment figures pairs --dir measured
	equal "$(<none.status)" 0
	equal "$(grep -c gnuplot none.err)" 1
	contains "$(<none.err)" "gnuplot is not installed"
	contains "$(<none.out)" "slowdown by the wave model (eq. 5.1)"
	equal "$(find measured -name '*.svg*' -o -name '*.png*')" ""
}

@test "a figure that cannot be written is said and fails; the table still comes" {
	cp -r "$BATS_FILE_TMPDIR/measured" .
	rm measured/pairs.svg
	mkdir measured/pairs.svg.new # where the figure is drawn before it gets its name
	keep figure measure figures pairs --dir measured
	equal "$(<figure.status)" 1
	contains "$(<figure.err)" "pairs: no figure"
	contains "$(<figure.out)" "slowdown by the wave model (eq. 5.1)"
}

@test "a full disk is said in one line, the table comes, and with room it goes on" {
	needs_root
	mkdir small
	mount -t tmpfs -o size=500k none small 2>/dev/null || skip "cannot mount a tmpfs"
	keep full measure lambda --dir small
	equal "$(<full.status)" 1
	equal "$(grep -c 'disk is full' full.err)|$(grep -vc 'no GPU here' full.err)" "1|1"
	contains "$(<full.out)" "λ from one measurement"
	mount -o remount,size=8m small
	keep room measure lambda --dir small
	umount small
	equal "$(<room.status)" 0
	contains "$(<room.out)" "5 of 5 steps measured"
}

@test "a wrong result is told and fails; a program that dies is told, and its step stays open" {
	local name

	mkdir programs
	ln -s "$build"/experiments/*.costs programs/
	printf '#!/bin/bash\n"%s/pairs-sim" "$@"\necho "knn size 1: WRONG: entry 1 is 2, not 3"\nexit 1\n' \
		"$build/experiments" >programs/pairs-sim
	printf '#!/bin/bash\nkill -SEGV $$\n' >programs/bsp-sim
	chmod +x programs/*-sim
	keep wrong measure pairs --dir d --programs programs
	equal "$(<wrong.status)" 1
	contains "$(<wrong.out)" "1 of 1 steps measured"
	contains "$(<wrong.out)" "1 WRONG"
	contains "$(<wrong.err)" "computed a wrong result"
	keep dies measure lambda --dir d --programs programs
	equal "$(<dies.status)" 1
	contains "$(<dies.out)" "0 of 5 steps measured"
	contains "$(<dies.err)" "died by signal 11"
	contains "$(<dies.err)" "5 of 5 steps are not complete; running it again continues"
}

@test "what was measured elsewhere is not continued here; where nothing can be measured, that is said once" {
	cp -r "$BATS_FILE_TMPDIR/measured" .
	rm measured/lambda.*
	keep other env -u SIMCUDA_COSTS SIMCUDA_DEVICE=K40 "$lab" experiment pairs --dir measured
	equal "$(<other.status)" 1
	contains "$(<other.err)" "use another --dir"
	SIMCUDA_FAULT=cupti-busy keep blind measure lambda bsp --dir blind
	equal "$(<blind.status)" 1
	equal "$(grep -c 'no launch of it was measured' blind.err)" 1
	contains "$(<blind.err)" "kerncast doctor"
	contains "$(<blind.out)" "0 of 15 steps measured"
}

@test "experiments are listed; wrong use and what is not there are said" {
	local arguments

	equal "$("$lab" experiment list | grep -c '^[a-z]')" 7
	for arguments in "" "nothing" "pairs --limit x" "pairs --small --full"; do
		# shellcheck disable=SC2086
		keep wrong "$lab" experiment $arguments
		equal "$(<wrong.status)" 2 "status of experiment $arguments"
	done
	keep programs measure pairs --dir d --programs "$PWD/nowhere"
	equal "$(<programs.status)" 1
	contains "$(<programs.err)" "make run-programs"
	keep empty "$lab" experiment figures pairs --dir empty
	equal "$(<empty.status)" 0
	contains "$(<empty.out)" "not measured"
}
