# Where a database cannot be, or is not yet.
load ../common

recorded_at() { # KERNCAST_DB: the demo's run, its message in demo.err
	KERNCAST_DB=$1 LD_PRELOAD=$library keep demo timeout 60 "$build/demo-static-sim" --rounds 5
	equal "$(<demo.status)" 0 "status with KERNCAST_DB=$1"
}

@test "a device, a pipe or a folder as database: the cure is said, and no journal is left anywhere" {
	local place before
	mkfifo pipe
	mkdir folder
	ln -s folder link
	before=$(find . .. /dev / -maxdepth 1 -name "*.kcj")
	for place in /dev/null /dev/full pipe; do
		recorded_at "$place"
		contains "$(<demo.err)" "recording could not begin: nothing is recorded: "
		contains "$(<demo.err)" "is not a file but a device, a pipe or a socket: choose another place"
		equal "$(wc -l <demo.err)" 1 "lines with $place"
	done
	for place in / . .. folder link; do
		recorded_at "$place"
		contains "$(<demo.err)" "is a directory: give the path of a file in it"
		equal "$(wc -l <demo.err)" 1 "lines with $place"
	done
	equal "$(find . .. /dev / -maxdepth 1 -name "*.kcj")" "$before" "journals left"
	equal "$(ls -A folder)" "" "files in the folder"
	[[ -p pipe ]]
	for place in /dev/null pipe; do
		keep named "$kerncast" run -q -o "$place" echo ran
		equal "$(<named.status)" 2 "status of kerncast run -o $place"
		contains "$(<named.err)" "is not a file but a device, a pipe or a socket"
		keep report timeout 60 "$kerncast" report "$place"
		equal "$(<report.status)" 1 "status of report $place"
		contains "$(<report.err)" "is not a file but a device, a pipe or a socket"
	done
}

@test "a report in the first instants of a run says that it has just begun" {
	local locker application looks
	keep none "$kerncast" report k.db
	contains "$(<none.err)" "k.db: no such file or directory"
	: >k.db
	keep empty "$kerncast" report k.db
	contains "$(<empty.err)" "k.db is empty: nothing recorded"
	# Until the lock is released, the run cannot make its tables.
	mkfifo commands
	sqlite3 k.db <commands >locked 3>&- &
	locker=$!
	exec {sql}>commands
	printf '%s\n' "BEGIN EXCLUSIVE; SELECT 'locked';" >&"$sql"
	for ((looks = 0; looks < 1000; looks++)); do
		[[ ! -s locked ]] || break
		sleep 0.02
	done
	KERNCAST_DB=$PWD/k.db LD_PRELOAD=$library "$build/demo-static-sim" --rounds 300000 >/dev/null 2>&1 3>&- &
	application=$!
	for ((looks = 0; looks < 1000 && $(counted launches) < 100; looks++)); do
		sleep 0.02
	done
	keep begun "$kerncast" report k.db
	printf '%s\n' "COMMIT;" >&"$sql"
	exec {sql}>&-
	kill -KILL "$application"
	wait "$application" "$locker" || true
	equal "$(<begun.status)" 1 "status"
	equal "$(<begun.err)" "kerncast: k.db: a run has just begun and has stored nothing yet: try again in a moment"
	keep report "$kerncast" report k.db
	equal "$(<report.status)" 0 "status after the run"
}

# The database ./kerncast.db, which nobody has named, is refused: nothing is written into it, and nothing read from it.
refused_unnamed() { # WHY
	local before how
	before=$(sha256sum kerncast.db)
	for how in run preloaded; do
		if [[ $how == run ]]; then
			keep app "$kerncast" run -- "$build/demo-static-sim" --rounds 2
		else
			keep app preloaded "$build/demo-static-sim" --rounds 2
		fi
		equal "$(<app.status)" 0 "status of the program, $how"
		equal "$(<app.out)" "$(<plain.out)" "output of the program, $how"
		equal "$(grep -c "$1, and the database was not named" app.err)" 1 "lines about it, $how: $(<app.err)"
	done
	for how in report replay recover "export --csv" "prune --keep 3" calibrate; do
		# shellcheck disable=SC2086
		keep command "$kerncast" $how
		equal "$(<command.status)" 1 "status of kerncast $how"
		equal "$(wc -l <command.err)" 1 "lines of kerncast $how"
		contains "$(<command.err)" "$1, and the database was not named: KERNCAST_DB=$PWD/kerncast.db names it"
	done
	keep doctor "$kerncast" doctor
	contains "$(<doctor.out)" "$1"
	equal "$(sha256sum kerncast.db)" "$before" "the database"
	equal "$(ls ./*.kcj 2>/dev/null)" "" "journals"
}

accepted_named() {
	local runs
	KERNCAST_DB=kerncast.db preloaded "$build/demo-static-sim" --rounds 2 >/dev/null
	"$kerncast" run -q -o kerncast.db -- "$build/demo-static-sim" --rounds 2 >/dev/null
	runs=$("$kerncast" report --run all kerncast.db --json | grep -c '"launches"')
	within "$runs" 1 1000000 "reports of a database that was named"
}

@test "a database that nobody has named and others can write is refused in one line" {
	keep plain "$build/demo-static-sim" --rounds 2
	preloaded "$build/demo-static-sim" --rounds 2 >/dev/null
	chmod 620 kerncast.db
	refused_unnamed "kerncast.db can be written by other users"
	accepted_named
	equal "$(sql 'SELECT count(*) FROM process')" 3 "processes, two of them named the database"
	chmod 600 kerncast.db
	preloaded "$build/demo-static-sim" --rounds 2 >/dev/null
	equal "$(sql 'SELECT count(*) FROM process')" 4 "processes"
}

@test "a database that nobody has named and belongs to another user is refused, a link of his as well" {
	needs_root
	keep plain "$build/demo-static-sim" --rounds 2
	preloaded "$build/demo-static-sim" --rounds 2 >/dev/null
	chown nobody kerncast.db
	refused_unnamed "kerncast.db belongs to another user"
	accepted_named
	chown root kerncast.db
	mv kerncast.db mine.db
	ln -s mine.db kerncast.db
	chown -h nobody kerncast.db
	refused_unnamed "kerncast.db belongs to another user"
	rm kerncast.db
	mv mine.db kerncast.db
	: >kerncast.db-wal
	chown nobody kerncast.db-wal
	refused_unnamed "kerncast.db-wal belongs to another user"
}

# The journals of this user that are in local folders.
local_journals() {
	find /var/tmp /dev/shm -maxdepth 1 -name "kerncast-$UID-*.kcj" -newer begun 2>/dev/null
}

# DIR is on a network file system: this host records into a file of its own there, which has no write-ahead log.
recorded_apart() { # DIR
	local file
	file=$1/kerncast.$(uname -n).db
	equal "$(cd "$1" && ls)" "${file##*/}" "files in the folder"
	# sqlite.org/fileformat.html: 1 is a rollback journal, 2 a write-ahead log.
	equal "$(od -An -t u1 -j 18 -N 2 "$file" | tr -d ' ')" 11 "versions of the file format"
	equal "$(sql "SELECT count(*) FROM message WHERE code = 'REMOTE'" "$file")" "$(sql 'SELECT count(*) FROM process' "$file")" \
		"messages about it"
}

# Has launched, is killed, and is imported by the next command that names the database as the program had it.
killed_and_imported() { # DIR PRELOAD...
	local application looks dir=$1
	shift
	rm -f "$SIMCUDA_LOG"
	"$@" "$build/demo-static-sim" --rounds 100000 >/dev/null 2>&1 3>&- &
	application=$!
	for ((looks = 0; looks < 1000 && $(counted launches) < 1000; looks++)); do
		sleep 0.02
	done
	equal "$(local_journals | wc -l)" 1 "local journals"
	kill -KILL "$application"
	wait "$application" || true
	"$kerncast" report "$dir/kerncast.db" >killed.out 2>killed.err
	contains "$(<killed.err)" "imported"
	within "$(sql "SELECT count(*) FROM launch JOIN process p ON p.id = process WHERE p.ended = 'killed'" "$dir/kerncast.$(uname -n).db")" \
		"$(($(counted launches) - 1))" "$(($(counted launches) + 1))" "launches of the killed process"
	equal "$(local_journals)" "" "local journals left"
}

@test "on a network file system: a local journal, a file for each host, no write-ahead log, and said once" {
	local remote=$PWD/remote
	mkdir remote
	touch begun
	export REMOTE_FS=$remote KERNCAST_DB=$remote/kerncast.db
	export LD_PRELOAD=$build/awkward/remote_fs.so
	keep plain "$build/demo-static-sim" --rounds 2
	keep app env LD_PRELOAD="$library:$LD_PRELOAD" "$build/demo-static-sim" --rounds 2
	equal "$(<app.out)" "$(<plain.out)" "output of the program"
	equal "$(grep -c "on a network or FUSE file system" app.err)" 1 "lines about it"
	recorded_apart "$remote"
	keep run "$kerncast" run -- "$build/demo-static-sim" --rounds 2
	contains "$(<run.err)" "recorded in remote/kerncast.$(uname -n).db"
	equal "$("$kerncast" report --run all --json | jq .ledger.launches)" "$(($(counted launches) - $(counted launches) / 3))" \
		"launches of two runs of three"
	recorded_apart "$remote"
	killed_and_imported "$remote" env LD_PRELOAD="$library:$LD_PRELOAD"
	recorded_apart "$remote"
}

@test "on a network file system, without /var/tmp: the journal is in /dev/shm, and imported from there" {
	local remote=$PWD/remote without=(unshare -m sh -c 'mount -t tmpfs none /var && exec "$@"' sh)
	"${without[@]}" true 2>/dev/null || skip "mounting is not permitted here"
	mkdir remote
	touch begun
	printf "#!/bin/sh\nexec %s '%s' \"\$@\"\n" "${without[*]@Q}" "$kerncast" >kerncast
	chmod +x kerncast
	export REMOTE_FS=$remote KERNCAST_DB=$remote/kerncast.db
	export LD_PRELOAD=$build/awkward/remote_fs.so
	kerncast=$PWD/kerncast
	killed_and_imported "$remote" "${without[@]}" env LD_PRELOAD="$library:$LD_PRELOAD"
	"$kerncast" recover
}

@test "a FUSE file system that ends while the program runs does not end it, and nothing is lost" {
	local application server looks
	needs_root
	command -v bindfs >/dev/null && [[ -w /dev/fuse ]] || skip "no bindfs, or no /dev/fuse"
	mkdir back mnt
	touch begun
	bindfs -f back mnt 3>&- &
	server=$!
	for ((looks = 0; looks < 500; looks++)); do
		mountpoint -q mnt && break
		sleep 0.02
	done
	mountpoint -q mnt || skip "bindfs cannot mount here"
	KERNCAST_DB=$PWD/mnt/kerncast.db KERNCAST_QUIET=1 preloaded "$build/demo-static-sim" --rounds 1500 >app.out 2>app.err 3>&- &
	application=$!
	for ((looks = 0; looks < 1000 && $(counted launches) < 1000; looks++)); do
		sleep 0.02
	done
	kill -KILL "$server"
	wait "$server" || true
	wait "$application"
	fusermount -u mnt || umount -l mnt
	SIMCUDA_LOG='' "$build/demo-static-sim" --rounds 1500 >plain.out
	cmp plain.out app.out
	bindfs back mnt
	"$kerncast" report mnt/kerncast.db >report.out 2>report.err
	equal "$(sql 'SELECT count(*) FROM launch' "mnt/kerncast.$(uname -n).db")" "$(counted launches)" launches
	fusermount -u mnt || umount -l mnt
	equal "$(local_journals)" "" "local journals left"
}
