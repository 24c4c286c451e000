# A database may be damaged, or somebody's trap: the application that finds it
# runs as without kerncast, and a command says what it can or what is wrong.
load ../common

setup_file() { # what is damaged, and how the demo runs with it as it was
	BATS_TEST_TMPDIR=$BATS_FILE_TMPDIR setup
	cd "$BATS_FILE_TMPDIR" || return 1
	"$build/demo-static-sim" --rounds 20 >plain.out
	"$kerncast" run -q -o sound.db "$build/demo-static-sim" --rounds 20 >sound.out
	peak_of run "$kerncast" run -q -o sound.db "$build/demo-static-sim" --rounds 20
	peak_of replay "$kerncast" replay sound.db
}

peak_of() { # NAME COMMAND...: its peak memory, KiB, in NAME.peak, its status in NAME.status; a minute of processor time
	local name=$1
	shift
	set +e
	(ulimit -t 60 && exec timeout 400 "$build/awkward/peak" "$name.peak" "$@") >"$name.out" 2>"$name.err" </dev/null
	echo $? >"$name.status"
	set -e
}

# Room for what a database of this size may take beyond a sound one, KiB.
slack=65536

# Once for each SQL: a second run with a database that it has damaged, and what `kerncast replay` makes of it.
harmless() { # SQL...
	local damage sound=$BATS_FILE_TMPDIR
	for damage in "$@"; do
		rm -f bad.db*
		cp "$sound/sound.db" bad.db
		sqlite3 bad.db "PRAGMA ignore_check_constraints = 1; $damage" || return 1
		KERNCAST_DB=$PWD/bad.db LD_PRELOAD=$library peak_of run "$build/demo-static-sim" --rounds 20
		equal "$(<run.status)" 0 "status of the application after: $damage"
		cmp "$sound/plain.out" run.out || { echo "output of the application after: $damage"; return 1; }
		within "$(<run.peak)" 1 $(($(<"$sound/run.peak") + slack)) "KiB of the application after: $damage"
		peak_of replay "$kerncast" replay bad.db
		within "$(<replay.status)" 0 1 "status of replay after: $damage"
		within "$(<replay.peak)" 1 $(($(<"$sound/replay.peak") + slack)) "KiB of replay after: $damage"
		[[ $(<replay.status) == 0 || -s replay.err ]] || { echo "replay says nothing after: $damage"; return 1; }
	done
}

@test "a device's number is a key and never a size" {
	harmless "UPDATE shape SET device = 4294967296" "UPDATE shape SET device = 1099511627776" \
		"UPDATE shape SET device = 9223372036854775807" "UPDATE shape SET device = 9223372036854775780" \
		"UPDATE shape SET device = 300000000" "UPDATE shape SET device = -1" \
		"UPDATE OR REPLACE stream SET device = 1e308" "UPDATE stream SET device = 300000000"
}

@test "so is a number of arguments, a shape's, a kernel's, a stream's" {
	harmless "UPDATE arguments SET local = local + 50000000; UPDATE launch_row SET arguments = arguments + 50000000" \
		"UPDATE arguments SET local = local + 1000000000" "UPDATE launch_row SET arguments = -1" \
		"UPDATE launch_row SET shape = shape + 300000000" "UPDATE launch_row SET shape = 9223372036854775807 WHERE id % 2" \
		"UPDATE shape SET id = id + 4000000000000000000 WHERE id % 2" \
		"UPDATE OR REPLACE shape SET kernel = 9223372036854775807" "UPDATE launch_row SET stream = stream + 300000000" \
		"UPDATE launch_row SET stream = 9223372036854775807 WHERE id % 2" \
		"UPDATE rollup SET kernel = kernel + 60000000" "UPDATE rollup SET stream = -1"
}

replayed() { # SQL JSON_PATH...: what the replay says of the database it has damaged
	local paths
	cp "$BATS_FILE_TMPDIR/sound.db" bad.db
	sqlite3 bad.db "$1"
	shift
	"$kerncast" replay --json bad.db >replay.json
	printf -v paths ", '%s'" "$@"
	sqlite3 :memory: "SELECT json_extract(CAST(readfile('replay.json') AS TEXT)$paths)"
}

unpredictable() { # SQL
	replayed "$1" '$.launches' '$.predicted' '$.unpredictable_reasons.no_attributes'
}

@test "launches without a device, a kernel or a stream are unpredictable: no_attributes" {
	local launches=$(($(sql "SELECT count(*) FROM launch_row" "$BATS_FILE_TMPDIR/sound.db")))
	equal "$(unpredictable "UPDATE shape SET device = 4294967296")" "[$launches,0,$launches]"
	equal "$(unpredictable "UPDATE device SET warp_size = 2147483648")" "[$launches,0,$launches]"
	equal "$(unpredictable "DELETE FROM kernel")" "[$launches,0,$launches]"
	equal "$(unpredictable "DELETE FROM stream")" "[$launches,0,$launches]"
	equal "$(unpredictable "UPDATE launch_row SET shape = -1")" "[$launches,0,$launches]"
}

@test "a measurement more than a month long, or a month away from its launch, is none" {
	equal "$(replayed "" '$.measured')" "$(sql "SELECT count(*) FROM launch_row" "$BATS_FILE_TMPDIR/sound.db")"
	equal "$(replayed "UPDATE launch_row SET measured_wait = 4000000000000000000" '$.measured')" 0
	equal "$(replayed "UPDATE launch_row SET measured_span = 3000000000000000" '$.measured')" 0
}

@test "a device that cannot exist" {
	harmless "UPDATE device SET warp_size = 1" "UPDATE device SET warp_size = 2147483648" \
		"UPDATE device SET warp_size = -1, sm_count = -1" "UPDATE device SET sm_count = 4294967295" \
		"UPDATE device SET sm_count = 1e308, clock_khz = 1e308" "UPDATE device SET clock_khz = 'fast'" \
		"UPDATE device SET registers_per_sm = 1, max_threads_per_sm = 1, max_blocks_per_sm = 4294967295" \
		"DELETE FROM device"
}

@test "launch shapes and times that cannot be" {
	harmless "UPDATE shape SET block_x = 0" "UPDATE OR REPLACE shape SET block_x = 4294967297, grid_x = -1" \
		"UPDATE OR REPLACE shape SET blocks_per_sm = 4294967295, grid_x = 4294967295" \
		"UPDATE launch_row SET launched = 9223372036854775807 WHERE id % 2" \
		"UPDATE launch_row SET launched = -9223372036854775808, measured_wait = -9223372036854775808 WHERE id % 3 = 0" \
		"UPDATE launch_row SET measured_span = 9223372036854775807" "UPDATE launch_row SET flags = -1" \
		"UPDATE transfer SET launched_ns = 9223372036854775780" "UPDATE stream SET priority = -2147483648" \
		"UPDATE process SET started_ns = -9223372036854775808" "UPDATE process SET id = id + 4611686018427387904"
}

@test "an order of events that cannot be" {
	local process="(SELECT max(id) FROM process)" many="SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000"
	harmless "UPDATE launch_row SET known = 9223372036854775807, measured_after = 9223372036854775807, decided_after = 1" \
		"UPDATE launch_row SET known = -1 WHERE id % 2; UPDATE launch_row SET known = 1e308 WHERE id % 3 = 0" \
		"UPDATE launch_row SET known = 0, measured_after = 1, decided_after = 1" \
		"UPDATE launch_row SET known = 4611686018427387904, measured_after = 1, decided_after = -9223372036854775808" \
		"UPDATE transfer SET known_events = 5, measured_event = 4611686018427387904, decided_event = 1" \
		"WITH n(i) AS ($many) INSERT OR REPLACE INTO engine_event SELECT $process, i, 'formula', i, i, -i FROM n" \
		"INSERT OR REPLACE INTO past VALUES($process, $process, 1, 2)" "INSERT OR REPLACE INTO past VALUES(1, 9223372036854775807, 9, 1e308)" \
		"INSERT OR REPLACE INTO past SELECT $process, process, checksum, -1 FROM learned" \
		"WITH n(i) AS ($many) INSERT OR REPLACE INTO learned SELECT $process + i, i, i, zeroblob(64) FROM n" \
		"INSERT OR REPLACE INTO work SELECT r.id >> 40, r.shape, 0, zeroblob(33554432) FROM launch_row r LIMIT 1" \
		"INSERT OR REPLACE INTO work SELECT id >> 40, shape, coalesce(arguments, 0), randomblob(272) FROM launch_row"
}

@test "what was learned that nobody can have learned" {
	harmless "UPDATE learned SET snapshot = zeroblob(100000000)" "UPDATE learned SET snapshot = randomblob(4096)" \
		"UPDATE learned SET snapshot = 'text'" "UPDATE learned SET snapshot = substr(snapshot, 1, length(snapshot) - 8)" \
		"UPDATE learned SET snapshot = snapshot || zeroblob(8)" "UPDATE learned SET snapshot = 9223372036854775807" \
		"UPDATE learned SET checksum = checksum + 1" "UPDATE OR REPLACE learned SET process = 9223372036854775807" \
		"UPDATE learned SET snapshot = CAST(substr(snapshot, 1, 200) || randomblob(8) || substr(snapshot, 209) AS BLOB)" \
		"UPDATE process SET ended = '', boot_id = x'00', pid = -1, pid_start = 1e308"
}

# Kind 7: the launch or transfer with the sequence number ns failed. 1 << 19 marks launches as failed.
@test "cancellations of what has not failed, is not there, or comes later" {
	harmless "UPDATE stream_call SET kind = 7, ns = 9223372036854775807 - id % 2" \
		"UPDATE stream_call SET kind = 7, ns = (SELECT max(id) & 1099511627775 FROM launch_row)" \
		"UPDATE launch_row SET flags = flags | 1 << 19;
			UPDATE stream_call SET kind = 7, ns = (SELECT max(id) & 1099511627775 FROM launch_row)"
}

# A second run with a limit on the size of files, KiB.
limited() { # KIB
	(
		unset SIMCUDA_LOG # the stand-in's own file
		ulimit -f "$1"
		export KERNCAST_DB=$PWD/k.db LD_PRELOAD=$library
		keep limited "$build/demo-static-sim" --rounds 20
	)
}

@test "a limit on the size of files ends no application that finds a database" {
	local kib sound=$BATS_FILE_TMPDIR
	for kib in 4 16 31; do
		for wal in none left; do
			rm -f k.db*
			cp "$sound/sound.db" k.db
			if [[ $wal == left ]]; then
				sqlite3 k.db ".dbconfig no_ckpt_on_close on" "UPDATE run SET directory = directory || '/'" >/dev/null
				rm -f k.db-shm
				[[ -s k.db-wal ]] || { echo "no log left to be read"; return 1; }
			fi
			limited "$kib"
			equal "$(<limited.status)" 0 "status under $kib KiB, write-ahead log: $wal"
			cmp "$sound/plain.out" limited.out
		done
	done
}

@test "a journal of another user is named and left alone, by root, too" {
	needs_root
	local pid journal rows looks
	cp "$BATS_FILE_TMPDIR/sound.db" k.db
	KERNCAST_DB=$PWD/k.db LD_PRELOAD=$library "$build/demo-static-sim" --rounds 300000 >/dev/null 2>&1 3>&- &
	pid=$!
	for ((looks = 0; looks < 1000 && $(counted launches) < 100; looks++)); do
		sleep 0.02
	done
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null || true
	journal=$(compgen -G "k.db.*.kcj")
	cp "$journal" mine
	chown 12345 "$journal"
	rows=$(sql "SELECT count(*) FROM launch" k.db)
	keep report "$kerncast" report k.db
	contains "$(<report.err)" "belongs to another user"
	keep recover "$kerncast" recover k.db
	equal "$(<recover.status)" 1 "status of recover"
	contains "$(<recover.out)" "$journal: left alone because it belongs to another user"
	equal "$(sql "SELECT count(*) FROM launch" k.db)" "$rows" "launches beside a journal of another user"
	cmp mine "$journal"
	chown 0 "$journal"
	keep recover "$kerncast" recover k.db
	equal "$(<recover.status)" 0 "status of recover of one's own"
	within "$(sql "SELECT count(*) FROM launch" k.db)" $((rows + 1)) 100000000 "launches with one's own journal"
	[[ ! -e $journal ]]
}
