# kerncast prune: which runs go, that nothing of theirs is left, and that the rest is as it was.
load ../common

record() { # ROUNDS [PROGRAM]
	"$kerncast" run -q -o kerncast.db "${2:-$build/demo-static-sim}" --rounds "$1" >/dev/null
}

older() { # RUN DAYS
	sql "UPDATE process SET started_unix_ns = started_unix_ns - $2 * 86400000000000 WHERE run = $1"
}

left() { # the runs that there are
	sql 'SELECT group_concat(id) FROM (SELECT id FROM run ORDER BY id)'
}

# No row belongs to a process that does not exist, and what the rest of the file refers to is there.
is_whole() {
	equal "$(sql 'PRAGMA integrity_check')" ok
	local table
	for table in launch_row lambda_row transfer stream_call; do
		equal "$(sql "SELECT count(*) FROM $table WHERE id >> 40 NOT IN (SELECT id FROM process)")" 0 "$table"
	done
	for table in message ledger call_site arguments stream process_kernel rollup process_device engine_event work past learned; do
		equal "$(sql "SELECT count(*) FROM $table WHERE process NOT IN (SELECT id FROM process)")" 0 "$table"
	done
	equal "$(sql 'SELECT count(*) FROM process WHERE run NOT IN (SELECT id FROM run)')" 0 processes
}

@test "prune --keep RUNS: the oldest go, the rest reports and replays as before" {
	local run
	for run in 1 2 3 4; do
		record 25
	done
	"$kerncast" report --json --exact --run 3 >three.before
	"$kerncast" report --json --exact --run 4 >four.before
	"$kerncast" prune --keep 2 --dry-run >would
	equal "$(grep -c 'would be removed' would)" 2
	equal "$(left)" 1,2,3,4
	"$kerncast" prune --keep 2 >pruned.out 2>pruned.err
	equal "$(grep -c '200 launches, about .*: removed' pruned.out)|$(<pruned.err)" "2|"
	contains "$(<pruned.out)" "kerncast.db: 2 of 4 runs removed; "
	equal "$(left)" 3,4
	is_whole
	for run in three:3 four:4; do
		"$kerncast" report --json --exact --run "${run#*:}" >after
		diff "${run%:*}.before" after
	done
	equal "$(sql 'SELECT count(*) FROM past WHERE process IN (SELECT id FROM process WHERE run = 3) AND source IS NULL')" 1
	contains "$("$kerncast" replay --run 4)" "200 launches replayed"
	record 25 # begins with what the others taught
	within "$(sql "SELECT count(*) FROM launch WHERE process = (SELECT max(id) FROM process) AND novelty = 'repeated'")" 190 200
}

@test "prune of several databases: each by the rule, and one that cannot be read is named" {
	local db run
	for db in a b; do
		for run in 1 2 3; do
			record 5
		done
		mv kerncast.db $db.db
	done
	keep pruned "$kerncast" prune --keep 2 a.db missing.db b.db
	equal "$(<pruned.status)" 1
	contains "$(<pruned.err)" "missing.db"
	equal "$(grep -c '^[ab].db: 1 of 3 runs removed; ' pruned.out)" 2
	for db in a b; do
		equal "$(sql 'SELECT group_concat(id) FROM (SELECT id FROM run ORDER BY id)' $db.db)" 2,3 $db
	done
	"$kerncast" prune --keep 1 --dry-run b.db a.db >would
	equal "$(sed 's/,.*: /: /' would | paste -sd /)" "b.db/run 2: would be removed//a.db/run 2: would be removed"
}

@test "prune --keep TIME: by the end of the run; the newest of each program stays" {
	record 5 "$build/demo-shared"
	record 5
	record 5
	record 5
	older 1 100
	older 2 31
	older 3 29
	keep pruned "$kerncast" prune --keep 30d
	equal "$(left)" 1,3,4
	contains "$(<pruned.out)" "kept: the newest of its program"
	is_whole
	sql "UPDATE process SET ended_ns = ended_ns + 20 * 86400000000000 WHERE run = 3" # it ran for 20 days: ended 9 days ago
	"$kerncast" prune --keep 10d >again.out
	equal "$(left)" 1,3,4
	"$kerncast" prune --keep 8d >again.out
	equal "$(left)" 1,4
}

@test "prune --keep SIZE: until the rest fits, and the file gets smaller" {
	local run before
	for run in 1 2 3 4 5; do
		record 100
	done
	before=$(stat -c %s kerncast.db)
	"$kerncast" prune --keep $((before / 2 / 1024))K --json >done.json
	is_whole
	within "$(left | tr -cd , | wc -c)" 1 2 "runs left, less one"
	within "$(stat -c %s kerncast.db)" 1 $((before * 6 / 10)) "bytes"
	equal "$(sqlite3 :memory: "SELECT j ->> 'removed' || '|' || (SELECT count(*) FROM json_each(j -> 'runs') WHERE value ->> 'what' = 'removed')
		|| '|' || (j ->> 'file_bytes') FROM (SELECT CAST(readfile('done.json') AS TEXT) AS j)")" \
		"$((5 - $(left | tr , '\n' | wc -l)))|$((5 - $(left | tr , '\n' | wc -l)))|$(stat -c %s kerncast.db)"
}

@test "prune: a run that is being recorded stays, and goes on being recorded; the file is not copied meanwhile" {
	record 25
	record 25
	mkfifo told
	KERNCAST_QUIET=1 LD_PRELOAD=$library "$build/awkward/pauses" 100 100 <told >pauses.out 3>&- &
	exec 8>told
	local looks
	for ((looks = 0; looks < 1000; looks++)); do
		[[ $(sql 'SELECT count(*) FROM launch') == 500 ]] && break
		sleep 0.02
	done
	keep pruned "$kerncast" prune --keep 1
	equal "$(left)" 2,3
	contains "$(<pruned.err)" "the file keeps its size, as it is in use"
	echo >&8
	exec 8>&-
	wait
	equal "$(<pauses.out)" "ready
done"
	equal "$(sql 'SELECT count(*) FROM launch WHERE process = 3')" 200
	is_whole
	ledger_adds_up
}

@test "prune killed at any moment leaves a whole database, and goes on" {
	local i
	for i in 1 2; do
		record 500
	done
	record 5
	cp kerncast.db all.db
	for i in 2 5 9 15 30; do
		cp all.db kerncast.db
		rm -f kerncast.db-wal kerncast.db-shm
		"$kerncast" prune --keep 1 >/dev/null 2>&1 3>&- &
		sleep "0.$(printf %03d "$i")"
		kill -KILL $! 2>/dev/null || true
		wait $! 2>/dev/null || true
		equal "$(sql 'PRAGMA integrity_check')" ok "killed after $i ms"
		ledger_adds_up
		"$kerncast" prune --keep 1 >/dev/null 2>&1
		equal "$(left)" 3
		is_whole
		"$kerncast" report --json --exact >after
		[[ -s before ]] || cp after before
		diff before after
	done
}

@test "run --keep prunes after the program, the library alone does not; imported traces stay" {
	"$kerncast" import -o kerncast.db "$reduced/raw/nvprof_k40_matmul.csv" >/dev/null 2>&1
	record 5
	record 5
	older 2 3
	older 3 2
	KERNCAST_KEEP=1d KERNCAST_QUIET=1 LD_PRELOAD=$library "$build/demo-static-sim" --rounds 5 >/dev/null
	equal "$(left)" 1,2,3,4
	keep pruned "$kerncast" run --keep 1d "$build/demo-static-sim" --rounds 5
	equal "$(<pruned.status)" 0
	contains "$(<pruned.err)" "removed 2 old runs (--keep)"
	equal "$(left)" 1,4,5
	is_whole
	older 4 3
	KERNCAST_DISABLE=1 "$kerncast" run --keep 1d "$build/demo-static-sim" --rounds 5 >/dev/null # touches nothing
	equal "$(left)" 1,4,5
}

@test "prune: what cannot be is refused" {
	record 5
	local wrong
	for wrong in "" "--keep 0" "--keep soon" "--keep 1.5d" "--keep 2g"; do
		# shellcheck disable=SC2086 # two words, or none
		keep wrong "$kerncast" prune $wrong
		equal "$(<wrong.status)" 2 "prune $wrong"
	done
	keep typo "$kerncast" prune --keep 1 nosuch.db
	equal "$(<typo.status)" 1
	keep wrong "$kerncast" run --keep never true
	equal "$(<wrong.status)" 2
}
