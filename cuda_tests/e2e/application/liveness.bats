# Whether a process that has recorded still lives: while it does, nobody touches its journal; when it
# does not, the next command imports all of its launches. Whatever the process does with its
# descriptors, and wherever it and the command are.
# Runs in real time.
load ../common

program=$build/awkward/lives
first=1000 later=2000

teardown() {
	[[ ! -s survivor ]] || kill "$(<survivor)" 2>/dev/null || true
	[[ -z ${recorder-} ]] || kill -KILL "$recorder" 2>/dev/null || true
}

# Starts the program through the words of a command, if there are any; returns when it has launched and waits.
begin() { # HOW [COMMAND...]
	local how=$1 line
	shift
	mkfifo in out
	KERNCAST_QUIET=1 KERNCAST_DB=$PWD/kerncast.db "$@" env LD_PRELOAD="$library" "$program" "$how" $first $later \
		<in >out 3>&- &
	recorder=$!
	exec 8>in 9<out
	read -r -t 60 -u 9 line
	equal "$line" ready "first words"
}

# Has it launch again and end. Who lives on is in survivor.
end() {
	echo >&8
	cat <&9 >survivor
	exec 8>&- 9<&-
}

all_here() { # [ENDED]
	equal "$(sql 'SELECT count(*) FROM launch')" $((first + later)) "rows in launch"
	equal "$(counted launches)" $((first + later)) "launches"
	equal "$(sql 'SELECT ended FROM process')" "${1-killed}" "how the process ended"
	equal "$(ls ./*.kcj 2>/dev/null)" "" "journals left"
	ledger_adds_up
}

recover() { # NAME STATUS TEXT [COMMAND...]: what `kerncast recover`, run by that command, ends with and says
	local name=$1 status=$2 text=$3
	shift 3
	keep "$name" "$@" "$kerncast" recover
	equal "$(<"$name.status")" "$status" "status of recover"
	contains "$(<"$name.out")" "$text"
}

# --- what the process does

lives_and_dies() { # HOW
	begin "$1"
	recover living 0 "in use by pid $recorder"
	end
	wait "$recorder" || true
	recover dead 0 ": imported, pid $recorder"
	all_here
}

@test "killed: its journal is in use before, and imported after" {
	lives_and_dies kill
}

@test "a program that closes every descriptor is alive until it is killed" {
	lives_and_dies close
}

@test "a kernel that refuses robust futexes: /proc tells" {
	lives_and_dies refuse
}

@test "killed while a child made by fork() lives on: imported at once" {
	lives_and_dies fork
	kill -0 "$(<survivor)"
}

@test "killed while a child made by clone(), which still maps the journal, lives on: imported at once" {
	lives_and_dies clone
	kill -0 "$(<survivor)"
}

@test "exec: what the program before it has recorded is imported while the next one runs" {
	begin exec
	end
	equal "$(<survivor)" "$recorder" "pid of the program that lives on"
	until [[ $(</proc/$recorder/comm) == sleep ]]; do sleep 0.02; done
	recover after 0 ": imported, pid $recorder"
	kill -0 "$recorder"
	all_here exit
}

# --- where the process is

needs_namespaces() { # OPTION...
	needs_root
	unshare "$@" true 2>/dev/null || skip "unshare $* is not permitted here"
}

# The second argument of sh -c keeps the program from being the namespace's first process, which no SIGKILL from inside
# ends.
own_proc=(unshare -pf --mount-proc sh -c '"$@"; true' sh)
hosts_proc=(unshare -pf sh -c '"$@"; true' sh)
no_proc=(unshare -m sh -c 'umount -l /proc && exec "$@"' sh)

@test "in a new PID namespace with its own /proc: alive from outside, then imported" {
	needs_namespaces -pf --mount-proc
	begin kill "${own_proc[@]}"
	recover living 0 "in use by pid 2 "
	recover from_another 0 "in use by pid 2 " "${own_proc[@]}"
	end
	wait "$recorder" || true
	recover dead 0 ": imported, pid 2 "
	all_here
}

@test "in a new PID namespace with the /proc from outside: alive, then imported" {
	needs_namespaces -pf
	begin kill "${hosts_proc[@]}"
	recover living 0 "in use by pid 2 "
	end
	wait "$recorder" || true
	recover dead 0 ": imported, pid 2 "
	all_here
	[[ $(sql 'SELECT pid_start FROM process') != "$(cut -d' ' -f22 /proc/2/stat)" ]] # that of the process outside
}

@test "killed in a PID namespace: a command in another one, which sees no process of it, imports" {
	needs_namespaces -pf --mount-proc
	begin kill "${own_proc[@]}"
	end
	wait "$recorder" || true
	recover dead 0 ": imported, pid 2 " "${own_proc[@]}"
	all_here
}

@test "a process without /proc: not touched while it is not known whether it lives, then imported" {
	needs_namespaces -m
	begin kill "${no_proc[@]}"
	recover living 1 "left alone because it is not known whether pid $recorder "
	contains "$(<living.err)" "if these processes have ended, run kerncast recover --force"
	keep report "$kerncast" report
	contains "$(<report.err)" "it is not known whether the process still runs"
	end
	wait "$recorder" || true
	recover dead 0 ": imported, pid $recorder"
	all_here
}

@test "a command without /proc: not touched while it is not known whether it lives, then imported" {
	needs_namespaces -m
	begin kill
	recover living 1 "left alone because it is not known whether pid $recorder " "${no_proc[@]}"
	end
	wait "$recorder" || true
	recover dead 0 ": imported, pid $recorder" "${no_proc[@]}"
	all_here
}

@test "neither has a /proc: the same" {
	needs_namespaces -m
	begin kill "${no_proc[@]}"
	recover living 1 "left alone because it is not known whether pid $recorder " "${no_proc[@]}"
	end
	wait "$recorder" || true
	recover dead 0 ": imported, pid $recorder" "${no_proc[@]}"
	all_here
}

# --- another boot

@test "a boot id that a container's manager has made up: the process is alive, then imported" {
	needs_namespaces -m
	echo 00000000-0000-4000-8000-000000000000 >boot_id
	begin kill unshare -m sh -c 'mount --bind boot_id /proc/sys/kernel/random/boot_id && exec "$@"' sh
	recover living 0 "in use by pid $recorder"
	end
	wait "$recorder" || true
	recover dead 0 ": imported, pid $recorder"
	all_here
	equal "$(sql 'SELECT boot_id FROM process')" 00000000-0000-4000-8000-000000000000 "boot id"
}

# A copy of the journal as it was while the process lived, beside a database of its own.
copy_journal() {
	mkdir -p copy
	cp ./*.kcj copy/
}

@test "a journal from before a reboot is imported, though nobody has marked its end" {
	begin kill
	copy_journal
	local here
	here=$(</proc/sys/kernel/random/boot_id)
	sed -i "s/$here/11111111-1111-4111-8111-111111111111/" copy/*.kcj
	cd copy
	recover rebooted 0 ": imported, pid $recorder"
	equal "$(sql 'SELECT ended FROM process')" killed "how the process ended"
	cd ..
	end
	wait "$recorder" || true
	recover dead 0 ": imported"
	all_here
}

# --- --force

@test "--force imports what is not known, and nothing that is in use" {
	needs_namespaces -m
	begin kill "${no_proc[@]}"
	copy_journal
	end
	wait "$recorder" || true
	cd copy
	recover unknown 1 "left alone because it is not known whether pid $recorder "
	compgen -G 'kerncast.db.*.kcj'
	keep forced "$kerncast" recover --force
	equal "$(<forced.status)" 0 "status of recover --force"
	contains "$(<forced.out)" ": imported, pid $recorder"
	within "$(sql 'SELECT count(*) FROM launch')" 0 $first "launches, as far as they were not in the database"
	equal "$(ls ./*.kcj 2>/dev/null)" "" "journals left"
	cd ..
	rm survivor in out
	begin kill
	keep forced "$kerncast" recover --force
	equal "$(<forced.status)" 0 "status of recover --force"
	contains "$(<forced.out)" "in use by pid $recorder"
	end
	wait "$recorder" || true
}

@test "kerncast run that leaves a process behind, where nobody can tell whether it lives: said so" {
	needs_namespaces -m
	mkfifo in out
	"$kerncast" run -o kerncast.db -- "${no_proc[@]}" sh -c '
		"$0" kill 1000 2000 <in >out 3>&- & echo $! >survivor
		until [ -e ready ]; do sleep 0.02; done' "$program" >/dev/null 2>run.err 3>&- &
	local run=$! line
	exec 8>in 9<out
	read -r -t 60 -u 9 line
	touch ready
	wait "$run"
	contains "$(<run.err)" "it is not known whether their processes still run"
	contains "$(<run.err)" "kerncast recover"
	[[ $(<run.err) != *Success* ]]
	echo >&8
	cat <&9 >/dev/null
	exec 8>&- 9<&-
	until [[ ! -e /proc/$(<survivor) ]]; do sleep 0.02; done
	recover dead 0 ": imported"
	all_here
}
