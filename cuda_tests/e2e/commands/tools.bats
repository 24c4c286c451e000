# The kerncast command as its user meets it: options, errors, files, signals.
load ../common

setup_file() { # one recorded run for all tests that read
	export RECORDED=$BATS_FILE_TMPDIR/recorded.db
	LD_LIBRARY_PATH=$simcuda "$kerncast" run -q -o "$RECORDED" "$build/demo-static-sim" --rounds 30 >/dev/null
}

status_is() { # WANTED NAME
	equal "$(<"$2.status")" "$1" "exit status; it said: $(<"$2.err")"
}

query_json() { # FILE PATH
	sqlite3 :memory: "SELECT json_extract(CAST(readfile('$1') AS TEXT), '$2')"
}

# --- help, manual, wrong use

@test "--help and --version of everything: status 0, on standard output" {
	local command
	for command in "" run report diff doctor devices recover prune export predict slowdown import replay calibrate explain; do
		keep help "$kerncast" $command --help
		status_is 0 help
		contains "$(<help.out)" Usage:
		equal "$(<help.err)" "" "standard error"
	done
	contains "$("$kerncast" --version)" kerncast
	for command in "" basis experiment; do
		keep help "$lab" $command --help
		status_is 0 help
		contains "$(<help.out)" Usage:
		equal "$(<help.err)" "" "standard error"
	done
	equal "$("$lab" --version | tail -n +2)" "$("$kerncast" --version | tail -n +2)" "versions"
	contains "$("$lab" --version)" "kerncast-lab $("$kerncast" --version | sed -n '1s/^kerncast //p')"
}

@test "wrong use: status 2, on standard error" {
	local command
	for command in "" "nosuch" "run" "run --measure nonsense true" "report --by colour" "report --json --csv" \
		"report --run x $RECORDED" "export $RECORDED" "export --csv --chrome" "prune a b"; do
		keep wrong "$kerncast" $command
		status_is 2 wrong
		equal "$(<wrong.out)" "" "standard output of: $command"
		contains "$(<wrong.err)" kerncast
	done
}

@test "every option of run, its variable and every command are in the manual" {
	local word
	"$kerncast" --man >kerncast.1
	for word in $("$kerncast" run --help | grep -o -E 'KERNCAST_[A-Z_]+' | sort -u); do
		grep -q -x ".It Ev $word" kerncast.1 || { echo "no $word"; return 1; }
	done
	for word in $("$kerncast" run --help | grep -o -E -- '--[a-z-]+' | sort -u); do
		case $word in --help | --usage) continue ;; esac
		grep -q -E "Fl -${word#--}( |$)" kerncast.1 || { echo "no $word"; return 1; }
	done
	for word in run report doctor devices recover export predict slowdown import replay calibrate; do
		grep -q "^.It Nm Cm $word " kerncast.1 || { echo "no $word"; return 1; }
	done
	"$lab" --man >kerncast-lab.1
	equal "$(grep -c '^.It Nm Cm ' kerncast-lab.1)" 2 "commands of kerncast-lab"
	if command -v man >/dev/null; then
		for word in kerncast kerncast-lab; do
			equal "$(MANWIDTH=80 man --warnings -E UTF-8 -l $word.1 2>&1 >/dev/null)" "" "what man complains of"
		done
	fi
}

# --- run

@test "run: the options become variables, LD_PRELOAD keeps what was there" {
	LD_PRELOAD=libm.so.6 "$kerncast" run --measure kernels --flush 70 -o there.db sh -c \
		'echo "$LD_PRELOAD $KERNCAST_MEASURE $KERNCAST_FLUSH_MS $KERNCAST_DB"' >out.txt
	equal "$(<out.txt)" "$library:libm.so.6 kernels 70 $PWD/there.db" "what the program sees"
}

@test "run: two runs have two names, what follows -- is the program's" {
	"$kerncast" run sh -c 'echo $KERNCAST_RUN' >one
	"$kerncast" run sh -c 'echo $KERNCAST_RUN' >two
	[[ $(<one) != $(<two) ]]
	equal "$("$kerncast" run -- echo -q --measure)" "-q --measure" "arguments of the program"
	equal "$("$kerncast" run echo -q)" "-q" "arguments of the program"
}

@test "run: input, output and ignored signals are the program's own" {
	equal "$(echo in | "$kerncast" run cat)" in "what came through"
	(
		trap '' HUP
		"$kerncast" run grep SigIgn /proc/self/status >run.out
		grep SigIgn /proc/self/status >plain.out
	)
	cmp run.out plain.out
	equal "$("$kerncast" run grep SigBlk /proc/self/status)" "$(grep SigBlk /proc/self/status)" "blocked signals"
}

@test "run: INT, TERM, HUP and QUIT reach the program, once each" {
	local name
	for name in INT TERM HUP QUIT; do
		rm -f ready
		env --default-signal=INT,QUIT "$kerncast" run bash -c "trap 'echo $name; n=1' $name; touch ready
			for ((i = 0; i < 3000 && !n; i++)); do sleep 0.02; done; sleep 0.1; exit 5" >said &
		local pid=$!
		for ((i = 0; i < 6000; i++)); do [[ -e ready ]] && break; sleep 0.05; done
		kill -$name $pid
		wait $pid && false || equal $? 5 "exit status after $name"
		equal "$(<said)" $name "what the program said"
	done
}

state_of() { # PID
	awk '/^State:/ { print $2 }' "/proc/$1/status"
}

@test "run: a program stopped as from the terminal stops kerncast, and goes on with it" {
	"$kerncast" run sh -c 'echo $$ >pid; i=0; while [ $i -lt 2000 ]; do sleep 0.05; i=$((i+1)); done' &
	local ours=$! theirs
	for ((i = 0; i < 6000; i++)); do [[ -s pid ]] && break; sleep 0.05; done
	theirs=$(<pid)
	kill -TSTP $ours
	for ((i = 0; i < 6000; i++)); do [[ $(state_of $ours)$(state_of $theirs) == TT ]] && break; sleep 0.05; done
	equal "$(state_of $ours)$(state_of $theirs)" TT "stopped"
	kill -CONT $ours
	local stopped=TT # a program that goes on may be seen asleep, running or waiting for a disk
	for ((i = 0; i < 6000; i++)); do
		stopped=$(state_of $ours)$(state_of $theirs) && stopped=${stopped//[!T]/}
		[[ -z $stopped ]] && break
		sleep 0.05
	done
	equal "$stopped" "" "still stopped after SIGCONT"
	kill -TERM $ours
	wait $ours && false || equal $? 143 "exit status"
}

@test "run: the summary is on stderr, at most ten lines, SIMULATED first; -q says nothing" {
	keep loud "$kerncast" run "$build/demo-static-sim" --rounds 30
	within "$(wc -l <loud.err)" 4 10 "lines of summary"
	contains "$(head -n 1 loud.err)" SIMULATED
	contains "$(tail -n 1 loud.err)" "kerncast report"
	keep quiet "$kerncast" run -q "$build/demo-static-sim" --rounds 30
	equal "$(<quiet.err)" "" "standard error with -q"
	equal "$(<quiet.out)" "$(<loud.out)" "standard output"
	keep none "$kerncast" run true # there is a database, but this used no CUDA
	equal "$(<none.err)" "" "standard error without CUDA"
}

@test "run of a program without CUDA: one line on a terminal, nothing elsewhere or with -q" {
	script -qc "'$kerncast' run true" /dev/null >tty.out
	contains "$(<tty.out)" "no CUDA launch was seen"
	equal "$(wc -l <tty.out)" 1 "lines on a terminal"
	equal "$(script -qc "'$kerncast' run -q true" /dev/null)$("$kerncast" run true 2>&1)" "" "with -q, and to a pipe"
}

# --- databases that are none

@test "report on what is no database: status 1, what is wrong and what to do" {
	: >empty.db
	echo 'this is not a database, whatever its name says, and it is long enough' >foreign.db
	sqlite3 other.db 'CREATE TABLE t(x); INSERT INTO t VALUES(1)'
	cp "$RECORDED" newer.db
	sqlite3 newer.db 'PRAGMA user_version = 999'
	cp "$RECORDED" corrupt.db
	dd if=/dev/urandom of=corrupt.db bs=4096 seek=1 count=3 conv=notrunc status=none
	head -c 5000 "$RECORDED" >cut.db
	mkdir folder.db
	local name
	for name in missing.db empty.db foreign.db other.db newer.db corrupt.db cut.db folder.db; do
		keep "$name" "$kerncast" report "$name"
		status_is 1 "$name"
		contains "$(<"$name.err")" "$name"
		within "$(wc -l <"$name.err")" 1 3 "lines about $name: $(<"$name.err")"
		equal "$(<"$name.out")" "" "standard output for $name"
	done
	contains "$(<newer.db.err)" newer
	contains "$(<folder.db.err)" directory
}

@test "report without permission: status 1 and the cause" {
	needs_root
	command -v setpriv >/dev/null || skip "no setpriv"
	cp "$RECORDED" secret.db
	chmod 600 secret.db
	chmod 755 . "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" 2>/dev/null || true
	setpriv --reuid 65534 --clear-groups test -r . || skip "the folder cannot be opened to others"
	keep denied setpriv --reuid 65534 --clear-groups "$kerncast" report secret.db
	status_is 1 denied
	contains "$(<denied.err)" "ermission"
}

@test "a database of an older version that may not be written: status 1, what is wrong and what to do" {
	needs_root
	command -v setpriv >/dev/null || skip "no setpriv"
	cp "$RECORDED" older.db
	sqlite3 older.db "DROP TABLE step; DROP TABLE scope; DROP TABLE launched_in; DELETE FROM schema WHERE version > 20; PRAGMA user_version = 20" \
		"PRAGMA journal_mode = DELETE" >/dev/null
	chmod 644 older.db
	chmod 755 . "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" 2>/dev/null || true
	setpriv --reuid 65534 --clear-groups test -r older.db || skip "the folder cannot be opened to others"
	keep older setpriv --reuid 65534 --clear-groups "$kerncast" report older.db
	status_is 1 older
	contains "$(<older.err)" "older.db is of an older version, and may not be written to bring it up to date: read a copy that may"
	cp older.db copy.db
	"$kerncast" report copy.db >/dev/null
}

@test "a full disk behind standard output: status 1 and a message" {
	local command
	[[ -w /dev/full ]] || skip "no /dev/full"
	for command in "report" "report --json" "report --csv" "export --csv" "export --chrome" "devices" "devices --json"; do
		set +e
		"$kerncast" $command "$RECORDED" >/dev/full 2>full.err
		equal $? 1 "status of $command"
		set -e
		contains "$(<full.err)" "cannot write to standard output: No space left on device"
	done
}

into_closed_pipe() { # COMMAND...: its status; nobody reads its output any more
	local output status
	exec {output}> >(exec true)
	wait $!
	set +e
	"$@" 2>pipe.err 1>&"$output"
	status=$?
	set -e
	exec {output}>&-
	return $status
}

@test "a pipe that nobody reads any more ends a command as it ends cat: by SIGPIPE, without a word" {
	local command ignored
	into_closed_pipe env --default-signal=PIPE cat "$kerncast" && false || equal $? 141 "status of cat"
	for command in "report" "report --json" "report --csv" "export --csv" "export --chrome" "devices" "devices --json" \
		"replay" "replay --csv" "recover" "--help" "--man" "report --help"; do
		for ignored in env "env --ignore-signal=PIPE"; do
			into_closed_pipe $ignored "$kerncast" $command "$RECORDED" && false ||
				equal $? 141 "status of $ignored kerncast $command"
			equal "$(<pipe.err)" "" "what $command said"
		done
	done
}

@test "report | head under pipefail: nothing on standard error" {
	local status
	for _ in {1..10}; do
		status=0
		(set -o pipefail; "$kerncast" export --csv --run all "$RECORDED" 2>>pipe.err | head -n 1 >first) || status=$?
		[[ $status == 0 || $status == 141 ]] || { echo "status $status"; return 1; }
	done
	equal "$(<pipe.err)" "" "what export said"
	equal "$(wc -l <first)" 1 "lines read"
}

@test "run: SIGPIPE is the program's own matter, and no closed pipe keeps it from running" {
	local how status
	for how in --default-signal=PIPE --ignore-signal=PIPE; do
		equal "$(env $how "$kerncast" run grep SigIgn /proc/self/status)" "$(env $how grep SigIgn /proc/self/status)" "$how"
	done
	into_closed_pipe env --default-signal=PIPE "$kerncast" run cat "$kerncast" && false || equal $? 141 "status of cat"
	exec {status}> >(exec true)
	wait $!
	env --default-signal=PIPE "$kerncast" run --measure=kernels "$build/demo-static-sim" --rounds 3 >run.out 2>&"$status" ||
		equal $? 0 "status of a program when nobody reads the summary"
	exec {status}>&-
	contains "$(<run.out)" "24 kernel launches"
}

# --- report

@test "report: what took the time comes first, then the accuracy, then the ledger, in 100 columns" {
	"$kerncast" report "$RECORDED" >page
	contains "$(head -n 1 page)" SIMULATED
	equal "$(grep -oE '^(Kernels by time|Errors|Kernels, most mispredicted|Concurrency|Ledger)' page | tr '\n' ';')" \
		"Kernels by time;Errors;Kernels, most mispredicted;Concurrency;Ledger;" "order"
	within "$(grep -n '^Kernels by time' page | cut -d: -f1)" 2 12 "line of the kernels by time"
	within "$(LC_ALL=C.UTF-8 wc -L <page)" 60 100 "columns of the widest line"
	equal "$(grep -c ' $' page)" 0 "lines that end in blanks"
}

@test "report without measurements says why, and sends nobody to doctor who switched them off" {
	"$kerncast" run --measure=off -o off.db "$build/demo-static-sim" --rounds 5 2>off.err >/dev/null
	"$kerncast" report off.db >off.txt
	contains "$(<off.err)" "Not measured: --measure=off. Accuracy unknown for all 40 launches."
	contains "$(<off.txt)" "Not measured: --measure=off. Accuracy unknown for all 40 launches."
	equal "$(grep -c doctor off.err off.txt | cut -d : -f 2 | tr '\n' ' ')" "0 0 " "hints at doctor"
	KERNCAST_CUPTI=/nonexistent "$kerncast" run -o none.db "$build/demo-static-sim" --rounds 5 2>none.err >/dev/null
	"$kerncast" report none.db >none.txt
	contains "$(<none.txt)" "NO MEASUREMENT: accuracy unknown for all 40 launches (40 no CUPTI)."
	contains "$(<none.txt)" "\`kerncast doctor\` names the problems."
	contains "$(<none.err)" "NO MEASUREMENT"
}

@test "a file that is named and not there: the program is not started" {
	local option
	for option in --prior --cupti; do
		keep failed "$kerncast" run "$option" "$PWD/missing.file" touch started
		equal "$(<failed.status)" 2 "exit status, $option"
		contains "$(<failed.err)" "$option: cannot read $PWD/missing.file: No such file or directory; the program was not started"
		keep failed "$kerncast" run "$option" "$PWD" touch started
		contains "$(<failed.err)" "$option: cannot read $PWD: Is a directory"
	done
	[ ! -e started ]
}

@test "report --by: one line each; --exact agrees; --csv has the names in full" {
	local by
	for by in kernel model stream case class; do
		"$kerncast" report --by $by "$RECORDED" | grep -q "^By $by"
		"$kerncast" report --by $by --csv "$RECORDED" >$by.csv
		within "$(wc -l <$by.csv)" 2 100 "lines of $by.csv"
		contains "$(head -n 1 $by.csv)" "$by,id,launches"
	done
	"$kerncast" report --json "$RECORDED" >rolled.json
	"$kerncast" report --json --exact "$RECORDED" >exact.json
	equal "$(query_json rolled.json '$.accuracy.n')" "$(query_json exact.json '$.accuracy.n')" n
	local median
	median=$(query_json exact.json '$.accuracy.median')
	within "$(query_json rolled.json '$.accuracy.median')" "$(awk "BEGIN { print $median * 0.98 }")" \
		"$(awk "BEGIN { print $median * 1.02 }")" median
}

@test "report: the kernels by time add up, and are as many as were measured" {
	local time
	"$kerncast" report "$RECORDED" >page
	time=$(sql 'SELECT sum(measured_end_ns - measured_start_ns) FROM launch' "$RECORDED")
	within "$(sed -n 's/^Kernels by time: \([0-9.]*\) ms in 240 launches$/\1/p' page)" \
		"$(awk "BEGIN { print $time / 1e6 * 0.995 }")" "$(awk "BEGIN { print $time / 1e6 * 1.005 }")" "time of all, ms"
	sed -n '/^Kernels by time/,/^$/p' page | tail -n +3 | sed 's/.*)  *//' >rows # after the names
	equal "$(awk '$3 != "" { shares += $3; launches += $5 } END { print int(shares + 0.5), launches }' rows)" "100 240" \
		"shares in percent and launches"
}

@test "names of kernels that agree at both ends stay different in a table" {
	local type
	echo kind,start_ns,duration_ns,name >t.csv
	for type in int float double; do
		echo "kernel,$((start += 2000)),1500,\"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<$type>, at::detail::Array<char*, 1> >(int, at::native::FillFunctor<$type>, at::detail::Array<char*, 1>)\"" >>t.csv
	done
	"$kerncast" import t.csv -o t.db >/dev/null
	for type in int float double; do
		equal "$("$kerncast" report t.db | sed '/^GPU time/,$d' | grep -c "FillFunctor<$type")" 1 "rows of FillFunctor<$type>"
	done
}

# --- colour

on_terminal() { # COMMAND...: prints what a terminal gets, less its carriage returns
	script -qec "$(printf '%q ' "$@")" /dev/null </dev/null | tr -d '\r'
}

@test "colour on a terminal alone, and not with NO_COLOR, TERM=dumb, JSON, CSV or Markdown" {
	local command esc=$'\e' way
	export TERM=xterm
	cp "$RECORDED" other.db
	for command in "report $RECORDED" "replay $RECORDED" "doctor" "diff $RECORDED other.db" "run -o run.db $build/demo-static-sim --rounds 5"; do
		on_terminal "$kerncast" $command >coloured
		grep -qF "${esc}[33mSIMULATED: " coloured || grep -qF "kerncast: ${esc}[33mSIMULATED: " coloured
		equal "$("$kerncast" $command 2>&1 | grep -c "$esc")" 0 "lines with colour of $command in a pipe"
		for way in NO_COLOR=1 TERM=dumb -uTERM; do
			equal "$(on_terminal env $way "$kerncast" $command | grep -c "$esc")" 0 "lines with colour of $command with $way"
		done
	done
	on_terminal "$kerncast" report "$RECORDED" >coloured
	for command in 'Kernels by time' Errors Ledger; do
		grep -qF "${esc}[1m$command" coloured
	done
	sed "s/$esc\[[0-9]*m//g" coloured >plain
	equal "$(wc -l <plain)" "$("$kerncast" report "$RECORDED" | wc -l)" "lines"
	on_terminal "$kerncast" doctor >coloured
	grep -qF "${esc}[32mok${esc}[0m       LD_PRELOAD " coloured
	on_terminal env -u LD_LIBRARY_PATH KERNCAST_DISABLE=1 "$kerncast" doctor >coloured || true
	grep -qF "${esc}[31mproblem${esc}[0m  " coloured
	for command in "report --json" "report --csv" "replay --json" "diff --json $RECORDED" "diff --md $RECORDED" "export --csv"; do
		equal "$(on_terminal "$kerncast" $command other.db 2>&1 | grep -c "$esc")" 0 "lines with colour of $command"
	done
}

# --- export

@test "export --csv: a header and one line per launch" {
	"$kerncast" export --csv "$RECORDED" -o launches.csv
	sqlite3 check.db -cmd '.mode csv' '.import launches.csv l' 'SELECT count(*) FROM l' >count
	equal "$(<count)" "$(sql 'SELECT count(*) FROM launch' "$RECORDED")" "lines"
	equal "$(sqlite3 check.db 'SELECT sum(measured_end_ns - measured_start_ns) FROM l')" \
		"$(sql 'SELECT sum(measured_end_ns - measured_start_ns) FROM launch' "$RECORDED")" "measured time"
	equal "$(sqlite3 check.db "SELECT count(*) FROM l WHERE kernel_name = '' OR simulated <> 1")" 0 "lines without a name"
}

@test "export --chrome: predicted and measured of every launch, on tracks of their own" {
	"$kerncast" export --chrome "$RECORDED" -o trace.json
	local launches events
	launches=$(sql 'SELECT count(*) FROM launch' "$RECORDED")
	events="SELECT count(*) FROM json_each(CAST(readfile('trace.json') AS TEXT), '\$.traceEvents') AS e"
	for kind in predicted measured; do
		equal "$(sqlite3 :memory: "$events WHERE e.value ->> 'ph' = 'X' AND e.value ->> 'cat' = 'kernel,$kind'")" \
			"$launches" "$kind slices"
	done
	equal "$(sqlite3 :memory: "$events WHERE e.value ->> 'name' = 'thread_name' AND e.value ->> '\$.args.name' LIKE '%predicted'")" \
		"$(sqlite3 :memory: "$events WHERE e.value ->> 'name' = 'thread_name' AND e.value ->> '\$.args.name' LIKE '%measured'")" \
		"tracks"
	# On one track, slices do not cross.
	equal "$(sqlite3 :memory: "WITH s AS (SELECT e.value ->> 'tid' AS tid, CAST(round((e.value ->> 'ts') * 1000) AS INTEGER) AS a,
			CAST(round(((e.value ->> 'ts') + (e.value ->> 'dur')) * 1000) AS INTEGER) AS b
			FROM json_each(CAST(readfile('trace.json') AS TEXT), '\$.traceEvents') AS e WHERE e.value ->> 'ph' = 'X'),
		n AS (SELECT tid, a, b, lead(a) OVER (PARTITION BY tid ORDER BY a, b) AS next FROM s)
		SELECT count(*) FROM n WHERE next < b")" 0 "slices that cross"
}

@test "a run of many processes is read in a time that grows with their number, not with its square" {
	local reading
	cp "$RECORDED" many.db
	sqlite3 many.db "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 30000)
		INSERT INTO process(run, pid, pid_start, boot_id, started_ns, started_unix_ns, ended)
		SELECT run, 1000000 + n, 0, boot_id, started_ns + n, started_unix_ns, 'exit' FROM process, n"
	for reading in "report --exact" replay "export --csv" "export --chrome" "prune --dry-run --keep 1" "diff --baseline b.json"; do
		keep many bash -c "ulimit -t 5; exec '$kerncast' $reading many.db"
		status_is 0 many
	done
}

@test "a trace is compressed where its name says so" {
	awk 'BEGIN { print "process,kind,start_ns,duration_ns,name"; for (i = 0; i < 6000; i++) {
		at = (at * 16807 + 11) % 2147483647 # as good as random: it takes some room
		print "p" i ",kernel," at ",50,k" } }' >many.csv
	"$kerncast" import many.csv -o many.db >/dev/null
	"$kerncast" export --chrome many.db -o many.json
	equal "$(grep -c process_name many.json)" 6000 "processes"
	"$kerncast" export --chrome many.db -o many.json.gz
	zcat many.json.gz | cmp - many.json
	(trap '' XFSZ && ulimit -f 40 && exec "$kerncast" export --csv many.db -o cut.csv.gz) 2>limit.err && false || equal $? 1 status
	contains "$(<limit.err)" "cannot write cut.csv.gz: File too large"
	equal "$(find . -name 'cut*')" "" "what is left of a file that could not be written"
}

@test "export: a file appears whole or not at all, and no database is overwritten" {
	cp "$RECORDED" mine.db
	keep over "$kerncast" export --csv mine.db -o mine.db
	status_is 1 over
	cmp mine.db "$RECORDED"
	keep nowhere "$kerncast" export --csv mine.db -o no/such/folder/x.csv
	status_is 1 nowhere
	echo old >out.csv
	[[ -w /dev/full ]] && { keep full "$kerncast" export --csv mine.db -o /dev/full; status_is 1 full; }
	"$kerncast" export --csv mine.db -o out.csv
	contains "$(head -c 20 out.csv)" process
	ln -s out.csv link.csv
	"$kerncast" export --csv mine.db -o link.csv
	[[ -L link.csv ]]
	equal "$(find . -name '*csv.*')" "" "temporary files left"
}

# --- devices, recover

@test "devices: built-in ones without a database, recorded ones with it" {
	"$kerncast" devices >builtin.out
	contains "$(<builtin.out)" K40
	"$kerncast" devices --json "$RECORDED" >devices.json
	contains "$(query_json devices.json '$.recorded[0].name')" Simulated
	keep missing "$kerncast" devices no-such.db
	status_is 1 missing
}

@test "recover: status 0 and a word where there is nothing to do; a journal that is none is kept" {
	keep nothing "$kerncast" recover
	status_is 0 nothing
	contains "$(<nothing.out)" nothing
	equal "$(ls *.db 2>/dev/null)" "" "databases made"
	echo garbage >kerncast.db.12-34.kcj
	keep garbage "$kerncast" recover
	status_is 1 garbage
	contains "$(<garbage.out)$(<garbage.err)" kerncast.db.12-34.kcj
	[[ -e kerncast.db.12-34.kcj ]]
}

@test "report on a database of a killed process that may only be read" {
	needs_root
	command -v setpriv >/dev/null || skip "no setpriv"
	mkdir there
	cp "$RECORDED" there/kerncast.db
	"$kerncast" run -q -o "$PWD/there/kerncast.db" bash -c "'$build/demo-static-sim' --rounds 1000000 &
		for ((i = 0; i < 6000; i++)); do compgen -G 'there/*.kcj' && break; sleep 0.05; done
		kill -9 \$!; wait" >/dev/null 2>&1 || true
	chmod 755 there
	chmod 644 there/*
	setpriv --reuid 65534 --clear-groups test -r there/kerncast.db || skip "the folder cannot be opened to others"
	keep readonly setpriv --reuid 65534 --clear-groups "$kerncast" report --run all there/kerncast.db
	status_is 0 readonly
	contains "$(<readonly.out)" Ledger
}

@test "report below a folder that is closed: said as it is" {
	needs_root
	command -v setpriv >/dev/null || skip "no setpriv"
	mkdir -p closed/open
	cp "$RECORDED" closed/open/kerncast.db
	chmod 755 closed/open
	chmod 644 closed/open/kerncast.db
	chmod 700 closed
	cd closed/open
	keep below setpriv --reuid 65534 --clear-groups "$kerncast" report kerncast.db
	cd ../..
	contains "$(<closed/open/below.err)" "permission denied"
	equal "$(<closed/open/below.status)" 1 "exit status"
}

# --- doctor

@test "doctor: with the stand-ins nothing is in the way, and SIMULATED is said" {
	keep well "$kerncast" doctor --json
	status_is 0 well
	equal "$(query_json well.out '$.ok')" 1 ok
	equal "$(query_json well.out '$.simulated')" 1 simulated
	keep text "$kerncast" doctor "$build/demo-shared"
	contains "$(head -n 1 text.out)" SIMULATED
	contains "$(<text.out)" libcudart
	equal "$(ls *.db *.kcj 2>/dev/null)" "" "files made"
}

@test "doctor: each thing in the way is a problem with its cure, status 1" {
	mkdir none
	keep nodriver env LD_LIBRARY_PATH="$PWD/none" "$kerncast" doctor
	if [[ $(<nodriver.status) == 1 ]]; then # a machine with a GPU has a driver elsewhere
		contains "$(<nodriver.out)" libcuda
	fi
	keep nocupti env KERNCAST_CUPTI=/no/such/libcupti.so "$kerncast" doctor
	status_is 1 nocupti
	contains "$(grep '^problem' nocupti.out)" CUPTI
	keep disabled env KERNCAST_DISABLE=1 "$kerncast" doctor
	status_is 1 disabled
	keep place env KERNCAST_DB=/no/such/folder/x.db "$kerncast" doctor
	status_is 1 place
	contains "$(grep '^problem' place.out)" database
	keep profiler env NSYS_PROFILING_SESSION_ID=1 "$kerncast" doctor
	status_is 0 profiler
	contains "$(grep '^warning' profiler.out)" NSYS_PROFILING_SESSION_ID
	echo 'int main(void) { return 0; }' | gcc -static -x c - -o static
	keep static "$kerncast" doctor ./static
	status_is 1 static
	contains "$(grep '^problem' static.out)" static
}

@test "doctor: survives a driver that crashes" {
	mkdir bad
	echo '__attribute__((constructor)) static void f(void) { *(volatile int *)0 = 1; }' |
		gcc -shared -fPIC -x c - -o bad/libcuda.so.1
	keep crash env LD_LIBRARY_PATH="$PWD/bad:$simcuda" "$kerncast" doctor
	status_is 1 crash
	contains "$(grep '^problem' crash.out)" crashed
}

@test "doctor: a CUPTI newer than the driver may start within a major version, and not beyond it" {
	local version wanted # the stand-in driver is of CUDA 13.0
	while read -r version wanted; do
		gcc -shared -fPIC -x c - -o libcupti.so <<<"int cuptiGetVersion(unsigned *v) { *v = $version; return 0; }"
		KERNCAST_CUPTI=$PWD/libcupti.so "$kerncast" doctor >said.txt || true
		contains "$(grep -A 1 ' CUPTI ' said.txt | tr -s ' \n' ' ')" "$wanted"
	done <<-END
		28 ok CUPTI $PWD/libcupti.so (chosen by KERNCAST_CUPTI), version 28 (CUDA 12.9)
		130000 ok CUPTI $PWD/libcupti.so (chosen by KERNCAST_CUPTI), version 130000 (CUDA 13.0)
		130500 warning CUPTI $PWD/libcupti.so is from CUDA 13.5, newer than the driver (CUDA 13.0), and may not start -> if nothing is measured
		140000 problem CUPTI $PWD/libcupti.so is from CUDA 14.0, newer than the driver, and will not start -> set KERNCAST_CUPTI
	END
}

@test "doctor: a trial run says what is in the way, for each fault of the stand-in" {
	local fault
	mkdir temporary
	export TMPDIR=$PWD/temporary
	"$kerncast" doctor >clear.txt
	contains "$(<clear.txt)" "400 launches: all predicted, all measured"
	while IFS='|' read -r fault said; do
		SIMCUDA_FAULT=$fault "$kerncast" doctor >found.txt 2>&1 || true
		contains "$(<found.txt)" "$said" || { echo "with $fault"; return 1; }
		within "$(wc -l <found.txt)" 5 24 "lines with $fault: one screen"
	done <<-'END'
		cupti-busy|another profiler holds CUPTI
		cupti-drop=3|records dropped
		cupti-zero-time=3|133 invalid
		cupti-device-buffers=10|240 invalid
		cupti-null-buffer|none measured
		hidden-addresses|addresses that the driver does not export
		oom|the driver refused a small kernel
		launch-fail=5|the driver refused a small kernel
		no-device|no GPU
	END
	equal "$(ls temporary)" "" "folders left behind"
}
