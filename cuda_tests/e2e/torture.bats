# scripts/torture: what it must notice, that a seed repeats it, and that it leaves nothing behind.
load common

torture() { # ARG...
	keep torture timeout 120 "$root/scripts/torture" --build "$build" --output "$PWD/out" "$@"
}

# In the place of kerncast: the command itself, and then, in the folder of some cases, what must never be.
doctored() {
	cat >doctored <<-END
		#!/bin/bash
		case \${PWD##*/}/\$1 in
		kills0/* | kills1/*)
			setpriv --pdeathsig KILL '$kerncast' "\$@" # which is killed with this script
			status=\$?
			rows="FROM launch_row WHERE id = (SELECT max(id) FROM launch_row)"
			if [[ \$1 == recover && \$PWD == */kills0 ]]; then
				sqlite3 "\$2" "DELETE FROM launch_row WHERE id = (SELECT id FROM launch_row
					WHERE id >> 40 = (SELECT max(id >> 40) FROM launch_row) ORDER BY id LIMIT 1 OFFSET 3)"
			elif [[ \$1 == recover ]]; then
				sqlite3 "\$2" "CREATE TEMP TABLE t AS SELECT * \$rows; UPDATE t SET id = id + 1; INSERT INTO launch_row SELECT * FROM t"
			fi
			exit \$status
			;;
		commands13/report) kill -SEGV \$\$ ;;
		commands4/prune) echo "Try --help" >&2 && exit 2 ;;
		commands22/export)
			echo "x.c:1:2: runtime error: signed integer overflow" >&2
			exit 1
			;;
		names0/report) printf 'name \033[31m\n' && exit ;;
		esac
		exec '$kerncast' "\$@"
	END
	chmod +x doctored
}

@test "torture notices a lost launch, a doubled row, a crash, a sanitizer's report, a raw escape and its own wrong use" {
	local case
	doctored
	torture --seed 1 --kerncast "$PWD/doctored" --case kills:0 --case kills:1 --case commands:13 --case commands:22 --case commands:4 \
		--case names:0
	cat torture.out
	equal "$(<torture.status)" 1 "exit status"
	equal "$(grep -c '^FAILED: seed 1, ' torture.out)" 6 "failures"
	grep -Eq 'lost [1-9][0-9]*, twice 0' torture.out # one by each call of recover, which may be killed and called again
	# By the launches that rows tell of, or by the measurement that both rows have.
	grep -Eq 'lost [0-9]+, twice [1-9]|[1-9][0-9]* measurements are used twice' torture.out
	grep -q 'doctored report .*: signal 11' torture.out
	grep -q 'sanitizer: .*runtime error' torture.out
	grep -q 'doctored prune .*: status 2: Try --help' torture.out
	grep -q 'a control character: .*x1b.31m' torture.out
	for case in kills:0 kills:1 commands:13 commands:22 commands:4 names:0; do
		contains "$(<torture.out)" "repeat: scripts/torture --seed 1 --case $case "
		[[ -s out/found/1-${case/:/-}/FAILURE ]] || { echo "no files of $case"; return 1; }
	done
	grep -q '^all  *6  *6  *0 ' torture.out
}

@test "torture: one case of each chapter, the table, the totals, nothing left" {
	local line
	torture --seed 2 --case kills:3 --case limits:0 --case denials:5 --case application:0 --case commands:2 --case journals:0 \
		--case imports:2 --case names:1
	equal "$(<torture.status)" 0 "exit status: $(<torture.out)"
	equal "$(grep -cE '^(kills|limits|denials|application|commands|journals|imports|names) +1 +0 +0 +[0-9]+ s  .' torture.out)" 8 "chapters"
	grep -q '^SIMULATED' torture.out
	grep -Eq '^kills  *1  *0  *0 .*launches [0-9,]+, lost 0, ' torture.out
	grep -Eq '^all  *8  *0  *0 ' torture.out
	equal "$(ls out)" "" "what is left"
	torture --seed 3 --seconds 0.1
	line=$(<out/totals.jsonl)
	echo "${line/\"seed\": 3/\"seed\": 4}" >>out/totals.jsonl
	equal "$(wc -l <out/totals.jsonl)" 2 "lines of totals"
	torture --totals
	contains "$(<torture.out)" "2 calls, "
	contains "$(<torture.out)" "seeds 3 4"
}

@test "torture: a seed repeats the cases, another one has others" {
	local seed
	for seed in 5 5 6; do
		torture --seed $seed --list 60
		equal "$(<torture.status)" 0 "exit status: $(<torture.err)"
		equal "$(wc -l <torture.out)" 60 "cases"
		[[ $seed == 6 || ! -e cases.5 ]] || cmp torture.out cases.5
		mv torture.out cases.$seed
	done
	cmp -s cases.5 cases.6 && echo "the same cases" && return 1
	equal "$(sed 's/:.*//' cases.5 | sort -u | tr '\n' ' ')" "application commands denials imports journals kills limits names " "chapters"
}

@test "torture: wrong use ends with 2" {
	local arguments
	for arguments in "--seconds 0" "--seconds x" "--seed x" "-j 0" "--case kills" "--case nothing:1" "--list -1" surplus; do
		# shellcheck disable=SC2086 # several words
		torture $arguments
		equal "$(<torture.status)" 2 "exit status of $arguments"
	done
	keep nothing "$root/scripts/torture" --build "$PWD"
	equal "$(<nothing.status)" 2 "exit status without a build"
	contains "$(<nothing.err)" "run make torture"
}

# Runs a Python program that uses torture_chapters.process.
with_process() { # NAME <PROGRAM; as keep
	cat >"$1.py" <<-'END'
		import os, signal, subprocess, sys
		sys.dont_write_bytecode = True
		sys.path.insert(0, sys.argv[1])
		from torture_chapters import process

		class Build:
		    root, outside = sys.argv[2], dict(os.environ)

	END
	cat >>"$1.py"
	keep "$1" timeout -k 1 20 python3 "$1.py" "$root/scripts" "$build"
}

# The kernel counts the memory of the process that starts a command as the command's, at its largest.
@test "torture: what the script itself needed is not the memory of a command" {
	with_process peak <<-'END'
		large = b"x" * (600 << 20)
		del large
		print(process.run(Build, ["true"], "case", {}).peak_kib)
	END
	within "$(<peak.out)" 1 $((200 << 10)) "KiB of true(1)"
}

# As if the signal came just before subprocess.Popen() returns.
@test "torture: a command that is being started when the signal comes is ended, too" {
	with_process started <<-'END'
		def end():
		    process.end_all()
		    os.wait()
		    os._exit(3)

		def popen(*arguments, **named):
		    started = start(*arguments, **named)
		    os.kill(os.getpid(), signal.SIGTERM)
		    return started

		start, subprocess.Popen = subprocess.Popen, popen
		process.on(signal.SIGTERM, end)
		process.Running(Build, ["sleep", "1000"], "case", {})
	END
	equal "$(<started.status)" 3 "exit status"
}

@test "torture: ended by a signal, it prints the table and leaves no process and no file" {
	local pid looks
	# so many at a time that some are being started while others are under way
	"$root/scripts/torture" --build "$build" --output "$PWD/out" --seed 4 --seconds 100 -j 20 >out.text 2>&1 3>&- &
	pid=$!
	for ((looks = 0; looks < 1500; looks++)); do
		[[ -z $(compgen -G "out/scratch-*/[a-z]*[0-9]") ]] || break # a case is under way
		sleep 0.02
	done
	kill -TERM $pid
	wait $pid && false || equal "$?" 130 "exit status"
	grep -q '^interrupted' out.text
	grep -q '^all ' out.text
	equal "$(ls out)" totals.jsonl "what is left"
	for ((looks = 0; looks < 500; looks++)); do # they have been killed; a busy machine needs a moment to end them
		[[ -n $(grep -lazF "$PWD/out" /proc/[0-9]*/cmdline 2>/dev/null) ]] || return 0
		sleep 0.02
	done
	echo "processes left: $(grep -lazF "$PWD/out" /proc/[0-9]*/cmdline)"
	return 1
}
