# What kerncast says about itself is so: reasons, messages and counts, when its
# tables are full, the disk is closed to it, or its files are taken away.
load ../common

awkward=$build/awkward

# Launches without a prediction, as REASON|COUNT lines.
reasons() {
	sql 'SELECT unpredictable, count(*) FROM launch WHERE unpredictable IS NOT NULL GROUP BY unpredictable'
}

table_full() { # the message's text
	sql "SELECT text FROM message WHERE code = 'TABLE_FULL'"
}

@test "more streams than are told apart: the table of streams is said to be full" {
	export SIMCUDA_MODE=null
	unchanged_under_run "$awkward/tables" streams 16500
	equal "$(sql 'SELECT count(*) FROM launch')" 16500 "rows in launch"
	equal "$(sql 'SELECT count(*) FROM stream')" 16384 "streams, as shim/tables/tables.c bounds them"
	equal "$(reasons)" "table_full|$((16500 - 16384))" "reasons"
	contains "$(table_full)" "16,384 streams"
	equal "$(sql 'SELECT count(*) FROM launch WHERE kernel IS NULL')" 0 "launches whose kernel is not named"
	ledger_adds_up
}

@test "more kernels than there is memory for: the message says that it is the memory, and at how many kernels" {
	export SIMCUDA_MODE=null
	local kernels shapes
	unchanged_under_run "$awkward/tables" kernels 15000
	equal "$(sql 'SELECT count(*) FROM launch')" 15000 "rows in launch"
	kernels=$(sql 'SELECT count(*) FROM kernel')
	within "$kernels" 1 14999 "kernels with an entry"
	equal "$(reasons)" "table_full|$((15000 - $(sql 'SELECT count(*) FROM launch WHERE unpredictable IS NULL')))" \
		reasons
	contains "$(table_full)" " MiB for what is known of the program"
	# The worker counts when it sees that memory is full. Entries have 4 MiB of their own, and up to 10 as long as
	# buffers and the reading of code leave it: what those give back after that makes room for more.
	within "$(table_full | sed -n 's/.*kernels: \([0-9]*\),\([0-9]*\),.*/\1\2/p')" $((kernels * 4 / 10)) "$kernels" \
		"kernels in the message"
	run "$kerncast" report
	contains "$output" " MiB for what is known of the program"
	ledger_adds_up
}

@test "kernels that are compiled, launched once and unloaded leave room for those that are launched again" {
	export SIMCUDA_MODE=null
	unchanged_under_run "$awkward/tables" one-off 20000
	equal "$(sql 'SELECT count(*) FROM launch')" 21000 "rows in launch"
	equal "$(reasons | cut -d'|' -f1)" table_full reasons
	contains "$(table_full)" "the first launches of further kernels are recorded, but not predicted"
	# 50 kernels, launched 20 times each: of each all but the first launch.
	equal "$(sql "SELECT count(*) FROM (SELECT * FROM launch ORDER BY sequence DESC LIMIT 1000) WHERE unpredictable IS NULL")" \
		950 "predicted launches of kernels that were launched again"
	equal "$(report '$.ledger.loads_unseen')" 0 "functions whose load was not seen"
	ledger_adds_up
}

@test "more launch shapes than there is memory for: said, and the rest is predicted" {
	export SIMCUDA_MODE=null
	unchanged_under_run "$awkward/tables" shapes 50000
	equal "$(sql 'SELECT count(*) FROM launch')" 50000 "rows in launch"
	equal "$(reasons | cut -d'|' -f1)" table_full reasons
	contains "$(table_full)" " MiB for what is known of the program"
	contains "$(table_full)" "launch shapes: "
}

@test "tables with room left: no message about them" {
	export SIMCUDA_MODE=null
	unchanged_under_run "$awkward/tables" streams 1000
	equal "$(table_full)" "" "message about a full table"
	equal "$(reasons)" "" "reasons"
}

# --- files that are taken away, and disks that are closed

launched_first=1000

# Starts a program that has launched $launched_first times and waits; what it says goes to paused.err.
begin_paused() { # LATER: launches after the pause
	mkfifo in out
	LD_PRELOAD=$library KERNCAST_FLUSH_MS=60000 KERNCAST_DB=$PWD/${database:=kerncast.db} \
		"$awkward/pauses" $launched_first "$1" <in >out 2>paused.err 3>&- &
	paused=$!
	exec 8>in 9<out
	read -r -t 60 -u 9 line
	equal "$line" "ready" "first words"
}

rows_in() { # COUNT [DB]: waits until that many launches are stored, for 60 s
	local looks
	for ((looks = 0; looks < 1200; looks++)); do
		[[ $(sql 'SELECT count(*) FROM launch' "${2:-$database}" 2>/dev/null) != "$1" ]] || return 0
		sleep 0.05
	done
	echo "$1 launches are not in the database after a minute"
	return 1
}

end_paused() {
	echo >&8
	read -r -t 60 -u 9 line
	equal "$line" "done" "last words"
	wait "$paused"
	exec 8>&- 9<&-
}

@test "the folder is removed while the program runs: said, with the number of launches that are lost" {
	mkdir gone
	database=gone/kerncast.db
	begin_paused 20000
	rows_in $launched_first
	rm -r gone
	end_paused
	cat paused.err
	contains "$(<paused.err)" "lost"
	contains "$(<paused.err)" "20000 launches"
	contains "$(<paused.err)" "moved or deleted"
	[[ $(<paused.err) != *"no disk space"* && $(<paused.err) != *"stay in the journal"* ]]
}

limited() { # KIB COMMAND...: with that limit on the size of files; its output, not limited, in limited.err
	local limit=$1
	shift
	mkfifo err
	cat err >limited.err &
	(ulimit -f "$limit" && exec env KERNCAST_FLUSH_MS=60000 LD_PRELOAD="$library" "$@") 2>err >/dev/null
	wait $!
	cat limited.err
}

@test "a file-size limit that the journal does not fit: what is lost is said, in the ledger, too" {
	export SIMCUDA_MODE=null SIMCUDA_LOG=
	limited 64 "$awkward/tables" shapes 2000
	contains "$(<limited.err)" "ulimit -f"
	contains "$(<limited.err)" "lost"
	contains "$(<limited.err)" "2000 launches"
	run "$kerncast" report
	contains "$output" "dropped launches       2,000"
	[[ $output != *"--journal-max"* ]]
	contains "$output" "NO LAUNCHES HERE: the ledger says what became of those that were made"
}

@test "launches that were measured and are lost at the exit: their records are not awaited, nor another library's" {
	export SIMCUDA_LOG=
	limited 64 "$awkward/tables" shapes 200
	contains "$(<limited.err)" "200 launches"
	equal "$(report '$.ledger.dropped')" 200 dropped
	equal "$(report '$.ledger.records_awaited')" 0 "records awaited after the end"
	within "$(report '$.ledger.records_lost')" 1 200 "records of dropped launches"
	run "$kerncast" report
	contains "$output" "of dropped launches)"
	[[ $output != *"bypass LD_PRELOAD"* ]]
	ledger_adds_up
}

@test "the journal is deleted while the program runs: said while it runs, and nothing is lost at a normal exit" {
	local looks
	begin_paused 2000
	rows_in $launched_first
	rm kerncast.db.*.kcj
	for ((looks = 0; looks < 1200; looks++)); do
		[[ ! -s paused.err ]] || break
		sleep 0.05
	done
	contains "$(<paused.err)" "would be lost in a crash: it, or its folder, was moved or deleted"
	end_paused
	equal "$(wc -l <paused.err)" 1 "lines of messages"
	equal "$(sql 'SELECT count(*) FROM launch')" $((launched_first + 2000)) "rows in launch"
	equal "$(report '$.ledger.dropped')" 0 dropped
	ledger_adds_up
}

@test "a file-size limit below everything: still said at the end, and the program runs on" {
	export SIMCUDA_MODE=null SIMCUDA_LOG=
	local limit
	for limit in 32 4; do
		limited "$limit" "$awkward/tables" shapes 2000
		contains "$(<limited.err)" "ulimit -f"
		contains "$(<limited.err)" "2000 launches"
		[[ $(<limited.err) != *"stay in the journal"* ]]
		rm -rf kerncast.db* err
	done
}

@test "the folder is moved while the program runs: nothing is lost, nothing is said to be" {
	mkdir here
	database=here/kerncast.db
	begin_paused 2000
	rows_in $launched_first
	mv here there
	end_paused
	cat paused.err
	[[ $(<paused.err) != *"lost with the process"* ]]
	"$kerncast" recover there/kerncast.db
	equal "$(sql 'SELECT count(*) FROM launch' there/kerncast.db)" $((launched_first + 2000)) "rows in launch"
	equal "$(report '$.ledger.dropped' there/kerncast.db)" 0 dropped
	ledger_adds_up there/kerncast.db
}

@test "a file-size limit, and a database with room for a few rows: what is lost is in its messages" {
	export SIMCUDA_MODE=null SIMCUDA_LOG=
	preloaded "$awkward/tables" shapes 10
	limited 1024 "$awkward/tables" shapes 20000
	dropped=$(report '$.ledger.dropped')
	equal "$(sql "SELECT count(*) FROM message WHERE code = 'LOST' AND text LIKE '%: $dropped launches'")" 1 \
		"rows about it"
	equal "$((dropped + $(report '$.ledger.launches')))" 20000 "dropped ($dropped) and stored together"
	within "$dropped" 1 20000 dropped
	ledger_adds_up
}

# What a run that went on in a new database says of itself: launches there and elsewhere are all of them.
went_on() { # LATER
	contains "$(<paused.err)" "was moved or deleted while the program ran"
	[[ $(<paused.err) != *"closed the database's descriptor"* ]]
	equal "$(sql 'SELECT count(*) FROM launch')" "$1" "rows in the new one"
	equal "$(report '$.ledger.elsewhere')" $launched_first elsewhere
	equal "$(report '$.ledger.calls')" $((launched_first + $1)) calls
	equal "$(report '$.ledger.dropped')" 0 dropped
	equal "$(report '$.ledger.records_awaited')" 0 "records awaited"
	equal "$(sql 'SELECT count(*) FROM launch WHERE kernel IS NULL OR stream IS NULL OR device IS NULL')" 0 \
		"rows that do not know their kernel, stream or device"
	equal "$(sql 'SELECT DISTINCT k.mangled FROM launch l JOIN kernel k ON k.id = l.kernel')" awkward kernel
	ledger_adds_up
	equal "$(ls *.kcj 2>/dev/null)" "" "journals left behind"
}

@test "the database is moved while the program runs: it holds what it had, the rest is in a new one" {
	begin_paused 2000
	rows_in $launched_first
	mv kerncast.db moved.db
	end_paused
	cat paused.err
	went_on 2000
	mkdir elsewhere
	mv moved.db elsewhere/
	equal "$(sql 'SELECT count(*) FROM launch' elsewhere/moved.db)" $launched_first "rows in the moved one, by itself"
	equal "$(sql 'PRAGMA integrity_check' elsewhere/moved.db)" ok "the moved one"
	equal "$(sql 'PRAGMA integrity_check')" ok "the new one"
}

@test "the database is moved with its -wal and -shm: the same" {
	begin_paused 2000
	rows_in $launched_first
	mkdir elsewhere
	mv kerncast.db kerncast.db-wal kerncast.db-shm elsewhere/
	end_paused
	went_on 2000
	equal "$(sql 'SELECT count(*) FROM launch' elsewhere/kerncast.db)" $launched_first "rows in the moved one"
	equal "$(sql 'PRAGMA integrity_check' elsewhere/kerncast.db)" ok "the moved one"
}

@test "the database is deleted while the program runs: the new one says how many launches it took with it" {
	begin_paused 2000
	rows_in $launched_first
	rm kerncast.db kerncast.db-wal kerncast.db-shm
	end_paused
	went_on 2000
	run "$kerncast" report
	contains "$output" "stored elsewhere       1,000"
}

@test "the database's -wal and -shm are deleted while the program runs: what they held is in the database" {
	begin_paused 2000
	rows_in $launched_first
	rm kerncast.db-wal kerncast.db-shm
	end_paused
	contains "$(<paused.err)" "was moved or deleted while the program ran"
	equal "$(sql 'SELECT count(*) FROM launch')" $((launched_first + 2000)) "rows in launch"
	equal "$(report '$.ledger.elsewhere')" 0 elsewhere
	equal "$(sql 'PRAGMA integrity_check')" ok "the database"
	ledger_adds_up
}

@test "the database is replaced by a copy of itself: each launch is in one of the two, or in both" {
	begin_paused 2000
	rows_in $launched_first
	sqlite3 kerncast.db "VACUUM INTO 'copy.db'"
	mv copy.db kerncast.db
	end_paused
	equal "$(sql 'SELECT count(*) FROM launch')" $((launched_first + 2000)) "rows in launch"
	equal "$(sql 'PRAGMA integrity_check')" ok "the database"
	equal "$(report '$.ledger.elsewhere')" 0 elsewhere
	equal "$(report '$.ledger.records_awaited')" 0 "records awaited"
	ledger_adds_up
}

@test "the database is moved away and back: nothing is elsewhere" {
	begin_paused 2000
	rows_in $launched_first
	kill -STOP "$paused"
	mv kerncast.db moved.db
	mv moved.db kerncast.db
	kill -CONT "$paused"
	end_paused
	equal "$(<paused.err)" "" "messages"
	equal "$(sql 'SELECT count(*) FROM launch')" $((launched_first + 2000)) "rows in launch"
	equal "$(report '$.ledger.elsewhere')" 0 elsewhere
	ledger_adds_up
}

# --- what a command says of the journals it imports

# A process that exits while no database can be written: its launches stay in its journal.
exit_with_backlog() { # LAUNCHES
	echo "my diary" >kerncast.db
	KERNCAST_QUIET=1 preloaded "$awkward/tables" shapes "$1"
	rm kerncast.db
}

killed_at_its_end() {
	local status=0
	preloaded "$awkward/pauses" 10 10 KILL <<<go >/dev/null || status=$?
	equal $status 137 "exit status"
}

@test "the journal of a process that exited: the command that imports it does not call it killed" {
	export SIMCUDA_MODE=null
	exit_with_backlog 100
	keep report "$kerncast" report
	equal "$(<report.status)" 0 "exit status"
	contains "$(<report.err)" "imported 100 launches from the journal of 1 process that had exited"
	[[ $(<report.err) != *killed* ]]
	equal "$(sql 'SELECT ended FROM process')" exit "how it ended"
}

@test "the journal of a killed process: the command that imports it calls it killed, of several it counts them" {
	export SIMCUDA_MODE=null
	killed_at_its_end
	keep report "$kerncast" report
	contains "$(<report.err)" "from the journal of 1 killed process"
	rm kerncast.db*
	killed_at_its_end
	rm -f kerncast.db kerncast.db-*
	exit_with_backlog 100
	keep report "$kerncast" report
	contains "$(<report.err)" "from the journals of 2 processes, 1 of them killed"
}
