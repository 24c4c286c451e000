# The end of a program: short, and every launch is a row or a count.
# Runs in real time.
load ../common

program=$build/awkward/exit

# Each thread may have been inside a call that the stand-in had not counted yet.
accounted_for() { # THREADS
	local rows dropped after
	rows=$(report '$.ledger.launches')
	dropped=$(report '$.ledger.dropped')
	after=$(report '$.ledger.after_end')
	within "$((rows + dropped + after))" "$(counted launches)" "$(($(counted launches) + $1))" \
		"rows ($rows), dropped ($dropped) and after the end ($after) together"
	equal "$(sql 'SELECT count(*) FROM launch')" "$rows" "rows in launch"
	ledger_adds_up
}

@test "threads that launch until the process is gone: one short wait, every launch is a row or a count" {
	local how i began
	export KERNCAST_FLUSH_MS=300 KERNCAST_QUIET=1
	for how in exit return; do
		for i in 1 2 3 4 5; do
			rm -f kerncast.db* "$SIMCUDA_LOG"
			began=$SECONDS
			keep shimmed preloaded "$program" "$how" 4
			within "$((SECONDS - began))" 0 9 "seconds"
			equal "$(<shimmed.status)" 5 "exit status"
			accounted_for 4
		done
	done
}

@test "launches by exit handlers and destructors are rows; of those after the last measurements it says so" {
	unchanged_under_run "$program" handlers
	# 1,000, then one handler before the shim's, one after it, and a destructor.
	equal "$(<shimmed.out)" 1300 "launches, as the program counts them"
	equal "$(sql 'SELECT count(*) FROM launch')" 1300 "rows in launch"
	equal "$(sql "SELECT count(*) FROM launch WHERE unmeasured = 'after_exit'")" 200 "launched after the exit began"
	equal "$(report '$.ledger.measured')" 1100 measured
	equal "$(report '$.ledger.after_end')" 0 "not recorded"
	equal "$(ls ./*.kcj 2>/dev/null)" "" "journals left"
	ledger_adds_up
}

@test "a pool of threads that a destructor waits for: every launch is a row" {
	unchanged_under_run "$program" pool
	equal "$(<shimmed.out)" 1100 "launches, as the program counts them"
	equal "$(sql 'SELECT count(*) FROM launch')" 1100 "rows in launch"
	equal "$(report '$.ledger.after_end')" 0 "not recorded"
	equal "$(ls ./*.kcj 2>/dev/null)" "" "journals left"
	ledger_adds_up
}

@test "records of launches that are only counted are not taken for a library past the preloaded one" {
	KERNCAST_QUIET=1 preloaded "$program" exit 4 || true
	equal "$(report '$.ledger.unmatched')" 0 "records without a launch"
	accounted_for 4
}

# Holds the database's write lock until its standard input ends.
hold_database() {
	mkfifo hold
	sqlite3 kerncast.db <hold >held 2>&1 3>&- &
	exec 7>hold
	printf 'BEGIN IMMEDIATE;\nSELECT 1;\n' >&7
	until [[ -s held ]]; do sleep 0.02; done
}

@test "a database that another process has locked: said as it is, and the next command imports the launches" {
	"$kerncast" run -q -- "$program" handlers || true
	rm "$SIMCUDA_LOG"
	hold_database
	keep shimmed env KERNCAST_FLUSH_MS=2000 LD_PRELOAD="$library" "$program" handlers
	keep recover "$kerncast" recover
	exec 7>&-
	equal "$(<recover.status)" 1 "status of recover"
	contains "$(<recover.err)" "kerncast.db is locked by another process"
	contains "$(<recover.err)" "is kept, and the next kerncast command imports it"
	wait
	equal "$(<shimmed.status)" 5 "exit status"
	contains "$(<shimmed.err)" "not everything was in the database when the program ended"
	[[ $(<shimmed.err) != *CUPTI* ]]
	equal "$(report '$.ledger.launches')" 1300 "launches of the run"
	equal "$(sql "SELECT count(*) FROM message WHERE code = 'EXIT_TIMEOUT'")" 1 "the cause in message"
	equal "$(sql "SELECT count(*) FROM process WHERE ended = 'exit'")" 2 "processes that exited"
}

@test "launches after the shim's own destructor are counted, and the next command takes the count" {
	keep shimmed env LD_PRELOAD="$library:$build/awkward/late.so" "$program" late
	equal "$(<shimmed.status)" 5 "exit status"
	equal "$(<shimmed.out)" 1100 "launches, as the program counts them"
	equal "$(sql 'SELECT count(*) FROM launch')" 1000 "rows in launch"
	equal "$(report '$.ledger.after_end')" 100 "after the end"
	equal "$(sql 'SELECT count(*) FROM process')" 1 processes
	equal "$(ls ./*.kcj 2>/dev/null)" "" "journals left"
	contains "$("$kerncast" report)" "after the end            100   launched while the program ended; not recorded"
	accounted_for 0
}

@test "so are those of 32 threads at once" {
	keep shimmed env LD_PRELOAD="$library:$build/awkward/late.so" "$program" late 32
	equal "$(<shimmed.status)" 5 "exit status"
	equal "$(report '$.ledger.launches')|$(report '$.ledger.after_end')" "1000|3200" "rows, after the end"
	accounted_for 0
}

@test "main ends by pthread_exit(): the process ends with its last thread, with exit handlers and status 0" {
	local first=$build/awkward/first_thread arguments
	for arguments in "launches 100" "launches 50000" "handlers 100"; do
		rm -f kerncast.db* "$SIMCUDA_LOG"
		# shellcheck disable=SC2086
		unchanged_under_run timeout 60 "$first" $arguments
		equal "$(<shimmed.status)" 0 "exit status with $arguments"
		equal "$(sql 'SELECT count(*) FROM launch')" "$(counted launches)" "rows in launch with $arguments"
		equal "$(sql 'SELECT ended FROM process')" exit "how the process ended with $arguments"
		equal "$(ls ./*.kcj 2>/dev/null)" "" "journals left with $arguments"
		ledger_adds_up
	done
	contains "$(<shimmed.out)" "the end"
}

@test "main ends by pthread_exit(): a thread that makes no call of CUDA any more goes on" {
	unchanged_under_run timeout 60 "$build/awkward/first_thread" goes_on
	equal "$(<shimmed.out)" "went on" "output"
	equal "$(<shimmed.status)" 0 "exit status"
}

# --- without exit handlers

ends() { # HOW STATUS ENDED LAUNCHES
	rm -f kerncast.db* "$SIMCUDA_LOG"
	unchanged_under_run timeout 60 "$build/awkward/ends" "$1"
	equal "$(<shimmed.status)" "$2" "exit status after $1"
	equal "$(sql "SELECT ended, ended_ns IS NOT NULL FROM process")" "$3" "how the process ended by $1, and whether it is known when"
	equal "$(sql 'SELECT count(*) FROM launch')" "$4" "rows in launch after $1"
	equal "$(sql "SELECT count(*) FROM launch WHERE unmeasured NOT IN ('', '$5')")" 0 "launches after $1 that are unmeasured for another reason"
	equal "$(ls ./*.kcj 2>/dev/null)" "" "journals left after $1"
	ledger_adds_up
}

@test "_exit(), _Exit(), quick_exit() and exec: the process has ended by itself" {
	local how
	for how in _exit _Exit signal execv execve execvp execvpe execl execlp execle fexecve; do
		ends $how 5 "exit|1" 100 not_delivered
	done
	ends quick_exit 5 "exit|1" 200 not_delivered
}

@test "SIGKILL, also after exec has failed, and after children that have its memory: the process was killed" {
	local how
	for how in killed vain vfork; do
		ends $how 137 "killed|0" 100 process_killed
	done
}
