# A database brings its own schema, which may be a trap: what it says is not run,
# neither in an application nor in a command. And a program does not wait long to
# learn what earlier runs taught.
load ../common

setup_file() {
	BATS_TEST_TMPDIR=$BATS_FILE_TMPDIR setup
	cd "$BATS_FILE_TMPDIR" || return 1
	"$build/demo-static-sim" --rounds 20 >plain.out
	"$kerncast" run -q -o sound.db "$build/demo-static-sim" --rounds 20 >sound.out
}

# The demo with bad.db: it runs as without kerncast.
application() { # WHAT
	KERNCAST_DB=$PWD/bad.db LD_PRELOAD=$library keep application timeout 60 "$build/demo-static-sim" --rounds 20
	equal "$(<application.status)" 0 "status of the application with $1"
	cmp "$BATS_FILE_TMPDIR/plain.out" application.out
}

damaged() { # SQL
	rm -f bad.db*
	cp "$BATS_FILE_TMPDIR/sound.db" bad.db
	sqlite3 bad.db "$1"
	cp bad.db before.db
}

# Every command refuses it and tells why; it is not changed, and the launches of the application wait in its journal.
refused() { # REASON SQL
	local command
	damaged "$2"
	application "$2"
	contains "$(<application.err)" "$1"
	equal "$(wc -l <application.err)" 1 "lines of the application with $2"
	for command in report replay recover; do
		keep "$command" timeout 60 "$kerncast" "$command" bad.db
		equal "$(<"$command.status")" 1 "status of $command with $2"
		contains "$(<"$command.err")" "$1"
	done
	cmp before.db bad.db
	[[ -n $(compgen -G "bad.db.*.kcj") ]] || { echo "no journal left with $2"; return 1; }
}

endless="WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)"

@test "a view in place of a table, or another one in place of a view of ours" {
	local table
	for table in launch_row rollup process calibration; do
		refused "a view in place of the table \"$table\"" \
			"ALTER TABLE $table RENAME TO t; CREATE VIEW $table AS $endless SELECT t.* FROM t, c WHERE c.n < 0"
	done
	refused 'its view "launch" is another' "DROP VIEW launch; CREATE VIEW launch AS $endless SELECT n FROM c"
}

@test "a trigger" {
	refused 'has the trigger "gone"' "CREATE TRIGGER gone AFTER INSERT ON launch_row BEGIN DELETE FROM launch_row; END"
	refused 'has the trigger "gone"' "CREATE TRIGGER gone AFTER INSERT ON process BEGIN DELETE FROM process; END"
}

@test "a column, a constraint or an index that computes or refuses rows" {
	local text="PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql,"
	refused 'its table "stream" is another' "ALTER TABLE stream ADD COLUMN x AS (hex(zeroblob(400000000)))"
	refused 'its table "launch_row" is another' \
		"$text 'shape INTEGER', 'shape INTEGER CHECK(hex(zeroblob(400000000)) > 0)') WHERE name = 'launch_row'"
	refused 'its index "i" on "process"' "CREATE INDEX i ON process(hex(zeroblob(1 + pid * 0)))"
	refused 'its index "i" on "process"' "CREATE INDEX i ON process(pid) WHERE hex(zeroblob(1)) = ''"
	refused 'its index "i" on "process"' "CREATE UNIQUE INDEX i ON process(run, pid)"
}

@test "a version that cannot be" {
	local version
	for version in -1 -2147483648 0; do
		refused "not a kerncast database" "PRAGMA user_version = $version"
	done
}

@test "views, tables and plain indexes of one's own stay and are kept up to date" {
	damaged "CREATE VIEW slow AS SELECT * FROM launch WHERE slowdown > 2; CREATE TABLE notes(t);
		CREATE INDEX mine ON launch_row(shape, launched DESC); CREATE UNIQUE INDEX own ON notes(t) WHERE t > '';
		ANALYZE"
	application "own objects"
	equal "$(<application.err)" "" "standard error"
	ledger_adds_up bad.db
	equal "$(sql "SELECT count(DISTINCT run) FROM launch; SELECT count(*) FROM sqlite_master WHERE name IN ('slow', 'mine',
		'own', 'notes'); PRAGMA integrity_check" bad.db)" $'2\n4\nok'
	"$kerncast" replay bad.db >replay.out
}

# What the newest process says of its past, and whether it has begun with one.
past_of_newest() {
	sql "SELECT coalesce((SELECT text FROM message WHERE process = p.id AND code = 'PAST_UNUSED'), 'used') || ': ' ||
		(SELECT count(*) FROM past WHERE process = p.id) FROM process p ORDER BY id DESC LIMIT 1" bad.db
}

@test "where the past is too long to be read at the start, the run begins like a first one and says so" {
	local fresh="nothing that earlier runs taught is used: this run begins like a first one"
	damaged "PRAGMA journal_mode = DELETE"
	application "sound past"
	equal "$(past_of_newest)" "used: 1"
	damaged "PRAGMA journal_mode = WAL"
	truncate -s 65M bad.db-wal
	application "long write-ahead log"
	equal "$(<application.err)" "" "standard error"
	contains "$(past_of_newest)" "$fresh: "
	contains "$(past_of_newest)" "bad.db-wal is longer than 64 MiB: 0"
	keep report "$kerncast" report bad.db
	contains "$(<report.out)" "$fresh"
	# A table so long that reading the PTX of the newest processes takes more than the 200 ms of the start.
	damaged "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
		WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000000)
		INSERT INTO process_kernel SELECT (SELECT max(id) FROM process), i + 1000, 1 FROM n;
		INSERT OR IGNORE INTO kernel_text SELECT id, 80, 4, 'text' FROM kernel WHERE id = 1"
	application "many kernels"
	equal "$(<application.err)" "" "standard error"
	equal "$(past_of_newest)" "$fresh: reading it takes too long: 0"
	equal "$(sql "SELECT count(*) FROM launch l JOIN process p ON p.id = l.process WHERE p.id = (SELECT max(id) FROM process)
		AND novelty = 'first_seen'" bad.db | awk '{ print ($1 > 0) }')" 1 "launches first seen"
}
