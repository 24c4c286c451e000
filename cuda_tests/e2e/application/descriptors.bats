# Descriptors are the application's: it closes any of them at any moment, and gets the numbers for files of its own.
# Nothing of kerncast's is in its table. The same where a container refuses unshare(), as Docker's does.
load ../common

leaves=$build/awkward/leaves
directly=("$build/torture/confine" --env LD_PRELOAD="$library" --)
in_container=("$build/torture/confine" --deny unshare:EPERM --deny clone3:ENOSYS --env LD_PRELOAD="$library" --)

all_stored() {
	equal "$(sql 'SELECT count(*) FROM launch')" "$(counted launches)" "rows in launch"
	equal "$(ls ./*.kcj 2>/dev/null)" "" "journals left"
	ledger_adds_up
}

# The program says what is wrong with its own files.
spared() { # HOW N PLACE...
	rm -f kerncast.db* "$SIMCUDA_LOG"
	KERNCAST_DB=$PWD/kerncast.db KERNCAST_QUIET=1 KERNCAST_MEASURE=off "${@:3}" timeout 60 \
		"$build/awkward/descriptors" "$1" "$PWD" "$2"
	all_stored
}

@test "all descriptors closed and taken again and again while a thread launches" {
	spared again 3 "${directly[@]}"
	spared again 3 "${in_container[@]}"
}

# The stand-in opens its count inside cuInit, and its costs, among the program's descriptors.
spared_from_start() { # PLACE...
	rm -f kerncast.db*
	KERNCAST_DB=$PWD/kerncast.db KERNCAST_QUIET=1 KERNCAST_MEASURE=off SIMCUDA_LOG='' env -u SIMCUDA_COSTS "$@" timeout 60 \
		"$build/awkward/descriptors" start "$PWD" 500
	equal "$(ls ./*.kcj 2>/dev/null)" "" "journals left"
	within "$(sql 'SELECT count(*) FROM launch')" 1 100000000 "rows in launch"
	ledger_adds_up
}

@test "the same from before cuInit" {
	spared_from_start "${directly[@]}"
	spared_from_start "${in_container[@]}"
}

@test "all descriptors closed and taken once, at a random moment, while four threads launch" {
	local seed
	for seed in 43 124 394 398; do
		spared once "$seed" "${directly[@]}"
		spared once "$seed" "${in_container[@]}"
	done
}

teardown() {
	[[ -z ${recorder-} ]] || kill -KILL "$recorder" 2>/dev/null || true
	! mountpoint -q "$BATS_TEST_TMPDIR/disk" 2>/dev/null || umount -l "$BATS_TEST_TMPDIR/disk"
}

files_open() { # FOLDER...: of descriptors
	find "$@" -type l -printf '%l\n' 2>/dev/null | grep -c kerncast.db || true
}

ends_its_pipe() { # PLACE...
	rm -f out
	mkfifo out
	KERNCAST_DB=$PWD/kerncast.db KERNCAST_QUIET=1 "$@" "$leaves" output 20000 return >out 2>&1 </dev/null 3>&- &
	recorder=$!
	equal "$(timeout 20 cat out)" "" "output"
	until (($(files_open "/proc/$recorder/task"/*/fd) > 0)); do
		kill -0 "$recorder"
		sleep 0.1
	done
	equal "$(files_open "/proc/$recorder/fd")" 0 "of kerncast's, in the program's table"
	kill -KILL "$recorder"
	wait "$recorder" || true
	recorder=
}

@test "a program that closes its output ends its pipe, and has no descriptor of kerncast's" {
	ends_its_pipe "${directly[@]}"
	ends_its_pipe "${in_container[@]}"
}

# All is in the journal's file, whose path the process cannot follow any more.
left() { # WHAT HOW
	rm -f kerncast.db* "$SIMCUDA_LOG"
	KERNCAST_DB=$PWD/kerncast.db "${directly[@]}" "$leaves" "$1" 20000 "$2" >left.out 2>&1 || skip "$(<left.out)"
	"$kerncast" recover
	all_stored
	equal "$(report '$.ledger.dropped')" 0 "dropped"
}

@test "chroot() and seteuid() after half of the launches, and exit() or _exit(): every launch is a row, none twice" {
	local how
	needs_root
	mkdir root
	for how in return _exit; do
		left "root=$PWD/root" "$how"
		left user=65534 "$how"
	done
}

@test "a process that is killed while the disk is full: what was in memory alone is counted as dropped" {
	needs_root
	mkdir disk
	mount -t tmpfs -o size=3m none disk 2>/dev/null || skip "cannot mount a tmpfs"
	KERNCAST_DB=$PWD/disk/kerncast.db KERNCAST_QUIET=1 KERNCAST_FRESH=1 "${directly[@]}" "$build/demo-shared" --threads 8 \
		--rounds 100000 >/dev/null 2>&1 3>&- &
	recorder=$!
	until (($(counted launches) > 60000)); do
		kill -0 "$recorder"
		sleep 0.02
	done
	kill -KILL "$recorder"
	wait "$recorder" || true
	recorder=
	mount -o remount,size=64m disk
	"$kerncast" recover disk/kerncast.db
	local rows dropped launches
	rows=$(sql 'SELECT count(*) FROM launch' disk/kerncast.db)
	dropped=$(report '$.ledger.dropped' disk/kerncast.db)
	launches=$(counted launches)
	within "$dropped" 1 "$launches" dropped
	# Each thread may have been inside one call that the stand-in had not counted yet.
	within "$((rows + dropped))" "$launches" "$((launches + 8))" "rows ($rows) and dropped ($dropped) together"
	ledger_adds_up disk/kerncast.db
}
