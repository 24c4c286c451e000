# The command line as its user types it: what an option means, what a wrong one gets, what is left behind.
load ../common

status_is() { # WANTED NAME
	equal "$(<"$2.status")" "$1" "exit status; it said: $(<"$2.err")"
}

lacks() { # TEXT PART
	[[ $1 != *"$2"* ]] || { printf '"%s" in:\n%s\n' "$2" "$1"; return 1; }
}

value() { # DOCUMENT JSON_PATH; null is "null"
	sqlite3 :memory: "SELECT coalesce(json_extract(j, '$2'), json_type(j, '$2'), 'missing')
		FROM (SELECT CAST(readfile('$1') AS TEXT) AS j)"
}

# Two kernels of a trace. $1: what it calls its GPU, $2: file
trace_on() {
	cat >"$2" <<-END
		process,device_name,stream,kind,start_ns,duration_ns,grid_x,grid_y,grid_z,block_x,block_y,block_z,name
		p,$1,1,kernel,1000000,5000,8,1,1,64,1,1,f
		p,$1,1,kernel,2000000,5000,8,1,1,64,1,1,f
	END
}

# --- replay --device

@test "replay --device: stands for a GPU that the trace does not tell, and that is said" {
	trace_on "" nothing.csv
	trace_on "Voodoo 2" name.csv
	"$kerncast" import nothing.csv -o nothing.db
	"$kerncast" import name.csv -o name.db
	contains "$("$kerncast" replay nothing.db --device b200)" \
		"The trace does not say what GPU it ran on; assuming an NVIDIA B200 (--device)"
	contains "$("$kerncast" replay name.db --device b200)" \
		'Of the GPU that the trace calls "Voodoo 2", nothing but the name is known; assuming an NVIDIA B200 (--device)'
	contains "$("$kerncast" replay nothing.db)" \
		"The trace does not say what GPU it ran on; assuming a Tesla V100-SXM2-16GB (--device names another)"
	# Two launches of one trace, two of the other.
	"$kerncast" import nothing.csv name.csv -o both.db
	"$kerncast" replay both.db >both.out
	contains "$(<both.out)" "The trace does not say what GPU 2 of 4 launches ran on; assuming a Tesla V100-SXM2-16GB"
	contains "$(<both.out)" '"Voodoo 2", nothing but the name is known'
}

@test "replay: a GPU that is not built in has the limits of the compute capability that its name or the trace tells" {
	# 8.6: 128 lanes for FP32, 100 KiB of shared memory per SM (programming guide); H100: 9.0.
	trace_on "NVIDIA RTX A3000 12GB Laptop GPU" a3000.csv
	"$kerncast" import a3000.csv -o a3000.db
	"$kerncast" replay a3000.db >a3000.out
	contains "$(<a3000.out)" 'Of the GPU that the trace calls "NVIDIA RTX A3000 12GB Laptop GPU", no figures are known, but its compute capability, 8.6; assuming an NVIDIA '
	"$kerncast" replay a3000.db --json >a3000.json
	equal "$(value a3000.json '$.predicted')" 2
	equal "$(value a3000.json '$.assumed_by_capability')" 8.6
	"$kerncast" replay a3000.db --device b200 --json >b200.json
	equal "$(value b200.json '$.assumed_device')|$(value b200.json '$.assumed_by_capability')" "NVIDIA B200|null"
	# A profile that tells the SMs of a GPU with an unknown name.
	echo '{"deviceProperties": [{"id": 0, "name": "NVIDIA X1", "computeMajor": 9, "computeMinor": 0, "numSms": 7}],
		"traceEvents": [{"ph": "X", "cat": "kernel", "name": "f", "ts": 10, "dur": 5, "args": {"device": 0,
		"stream": 7, "correlation": 1, "grid": [8, 1, 1], "block": [64, 1, 1]}}]}' >x1.json
	"$kerncast" import x1.json -o x1.db
	"$kerncast" replay x1.db >x1.out
	contains "$(<x1.out)" '"NVIDIA X1", no figures are known, but its compute capability, 9.0; assuming an NVIDIA '
}

@test "replay: launches that ran but do not fit the GPU are predicted at its limits, and that is said" {
	{
		echo process,device_name,stream,kind,start_ns,duration_ns,registers,dynamic_shared_bytes,grid_x,grid_y,grid_z,block_x,block_y,block_z,name
		echo "p,,1,kernel,1000000,5000,32,0,8,1,1,64,1,1,f"
		echo "p,,1,kernel,2000000,5000,32,200000,8,1,1,64,1,1,g"
		echo "p,,1,kernel,3000000,5000,96,200000,8,1,1,1024,1,1,h"
	} >greedy.csv
	"$kerncast" import greedy.csv -o greedy.db
	"$kerncast" replay greedy.db >greedy.out
	contains "$(<greedy.out)" "3 launches replayed, 3 predicted"
	contains "$(<greedy.out)" "2 of 3 launches ask for more than the GPU is known to have (registers: 1, shared memory: 2); they are predicted as if they asked for the most that it has"
	"$kerncast" replay greedy.db --json >greedy.json
	equal "$(value greedy.json '$.beyond_device')" '{"launches":2,"threads":0,"registers":1,"shared_memory":2,"clusters":0}'
	equal "$(value greedy.json '$.unpredictable_reasons.does_not_fit')" 0
	# An H100 has 227 KiB.
	"$kerncast" replay greedy.db --device h100 >h100.out
	contains "$(<h100.out)" "1 of 3 launches ask for more than the GPU is known to have (registers: 1)"
	# A trace that names its GPU: it ran there, too.
	sed 's/^p,,/p,Tesla K40c,/' greedy.csv >k40.csv
	"$kerncast" import k40.csv -o k40.db
	contains "$("$kerncast" replay k40.db)" "2 of 3 launches ask for more than the GPU is known to have"
	trace_on "" small.csv
	"$kerncast" import small.csv -o small.db
	lacks "$("$kerncast" replay small.db)" "ask for more"
}

@test "replay --device of a database that knows its GPU: status 2, and which GPU that is" {
	trace_on "Tesla K40c" k40.csv
	"$kerncast" import k40.csv -o k40.db
	"$kerncast" run -q -o live.db "$build/demo-static-sim" --rounds 2 >/dev/null
	local name
	for name in "k40.db|Tesla K40c" "live.db|Simulated NVIDIA A100-SXM4-40GB"; do
		for format in "" --csv --json; do
			keep known "$kerncast" replay "${name%|*}" $format --device b200
			status_is 2 known
			contains "$(<known.err)" "${name#*|}"
			contains "$(<known.err)" "does not yet predict"
			equal "$(<known.out)" "" "standard output"
		done
		"$kerncast" replay "${name%|*}" >known.out
		lacks "$(<known.out)" assuming
	done
	# One of two runs does not know it: the option is for that one.
	trace_on "" nothing.csv
	"$kerncast" import nothing.csv -o k40.db
	"$kerncast" replay k40.db --device b200 >mixed.out
	contains "$(<mixed.out)" "NVIDIA B200 (--device)"
	keep first "$kerncast" replay --run 1 k40.db --device b200
	status_is 2 first
	"$kerncast" replay --help >help.out
	contains "$(tr -s ' \n' ' ' <help.out)" "the GPU on which the launches ran"
}

# --- replay --delay

@test "replay --delay: what is neither 0 nor a time with its unit, or no batch: status 2, and what it takes" {
	trace_on "Tesla K40c" t.csv
	"$kerncast" import t.csv -o t.db
	local wrong
	for wrong in 5 -1ms 0ms 10min "10ms," 10ms,0 10ms,x 10ms,-3 ,3 ""; do
		keep wrong "$kerncast" replay --delay "$wrong" t.db
		status_is 2 wrong
		contains "$(<wrong.err)" "--delay takes 0 or a time with its unit (ns, us, ms, s)"
		contains "$(<wrong.err)" "such as 10ms or 2ms,512"
	done
	keep without "$kerncast" replay t.db --delay
	status_is 2 without
	"$kerncast" replay --delay 2ms,512 t.db >batch.out
	contains "$(<batch.out)" "A measurement becomes known 2.00 ms after its batch of 512 launches and copies has ended"
}

# --- run: where nothing can be recorded

@test "run: a database that was named and cannot be written ends with 2 before the program starts" {
	mkdir folder
	echo "notes of somebody, long enough to be something else than an empty file" >notes.txt
	cp notes.txt before.txt
	sqlite3 newer.db 'PRAGMA application_id = 0; CREATE TABLE t(x); PRAGMA user_version = 999'
	local place
	for place in nosuch/x.db folder notes.txt notes.txt/x.db newer.db /proc/x.db; do
		keep named "$kerncast" run -o "$place" echo ran
		status_is 2 named
		contains "$(<named.err)" "${place##*/}"
		[[ $place == folder ]] || contains "$(<named.err)" "--output"
		equal "$(wc -l <named.err)" 1 "lines"
		keep variable env KERNCAST_DB="$place" "$kerncast" run echo ran
		status_is 2 variable
		equal "$(<named.out)$(<variable.out)" "" "what the program said"
	done
	cmp notes.txt before.txt
	equal "$(echo folder/* nosuch*)" "folder/* nosuch*" "files left"
}

@test "run: a database of another user ends with 2, one that can be written is not touched before it is needed" {
	"$kerncast" run -q -o "$PWD/new.db" true
	equal "$(echo new.db*)" "new.db*" "files of a program without CUDA"
	: >empty.db
	"$kerncast" run -q -o empty.db "$build/demo-static-sim" --rounds 2 >/dev/null
	equal "$(sql 'SELECT count(*) FROM run' empty.db)" 1 "runs recorded into what was an empty file"
	"$kerncast" run -q -o empty.db true
	equal "$(echo empty.db*)" empty.db "files beside a database that was there"
	needs_root
	command -v setpriv >/dev/null || skip "no setpriv"
	chmod 755 . "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" 2>/dev/null || true
	setpriv --reuid 65534 --clear-groups test -r . || skip "the folder cannot be opened to others"
	keep other setpriv --reuid 65534 --clear-groups "$kerncast" run -o "$PWD/theirs.db" echo ran
	status_is 2 other
	contains "$(<other.err)" "ermission"
	equal "$(<other.out)" "" "what the program said"
}

@test "where no database was named, or without kerncast run, the program runs whatever becomes of the recording" {
	keep plain "$build/demo-static-sim" --rounds 2
	# Nothing can be made in /proc, by root either.
	keep default env -C /proc "$kerncast" run "$build/demo-static-sim" --rounds 2
	status_is 0 default
	cmp plain.out default.out
	contains "$(<default.err)" "nothing is recorded"
	keep preloaded env KERNCAST_DB=/proc/x.db LD_PRELOAD="$library" "$build/demo-static-sim" --rounds 2
	status_is 0 preloaded
	cmp plain.out preloaded.out
	# What an outer run settled was not named for an inner one.
	keep inner env -C /proc "$kerncast" run "$kerncast" run "$build/demo-static-sim" --rounds 2
	status_is 0 inner
	cmp plain.out inner.out
}

# --- run: values that make no sense

@test "run: a wrong value is told of the option as it was typed, status 2; of a variable, what is used instead" {
	local wrong
	for wrong in "--measure=foo|all|kernels|adaptive|off" "--flush=5s|MS" "--journal-max=1X|BYTES"; do
		keep wrong "$kerncast" run "${wrong%%|*}" echo ran
		status_is 2 wrong
		contains "$(<wrong.err)" "${wrong%%=*}"
		contains "$(<wrong.err)" "${wrong#*|}"
		lacks "$(<wrong.err)" KERNCAST_
		lacks "$(<wrong.err)" using
		equal "$(<wrong.out)" "" "what the program said"
	done
	keep variable env KERNCAST_MEASURE=foo LD_PRELOAD="$library" "$build/demo-static-sim" --rounds 2
	status_is 0 variable
	contains "$(<variable.err)" 'invalid value for KERNCAST_MEASURE: "foo" (expected all|kernels|adaptive|off); using all'
	# An option beside it does not make the variable fatal.
	keep both env KERNCAST_MEASURE=foo "$kerncast" run --fresh echo ran
	status_is 0 both
	equal "$(<both.out)" ran "what the program said"
	contains "$(<both.err)" 'invalid value for KERNCAST_MEASURE: "foo"'
}

# --- replay --by

@test "replay --by kernel: every kernel has its line, as the page without it promises" {
	{
		echo process,device_name,stream,kind,start_ns,duration_ns,grid_x,grid_y,grid_z,block_x,block_y,block_z,name
		for i in {10..34}; do
			echo "p,Tesla K40c,1,kernel,${i}000000,5000,8,1,1,64,1,1,k$i"
			echo "p,Tesla K40c,2,kernel,${i}500000,6000,8,1,1,64,1,1,k$i"
		done
	} >t.csv
	"$kerncast" import t.csv -o t.db
	"$kerncast" replay t.db >page
	contains "$(<page)" "and 20 more (--by kernel shows all)"
	"$kerncast" replay --by kernel t.db >all
	equal "$(grep -cE '^  k[0-9]{2} ' all)" 25 "lines of kernels"
	lacks "$(<all)" "shows all"
	contains "$(<all)" "50 launches replayed"
	"$kerncast" replay --by model t.db | grep -q '^By model'
	"$kerncast" replay --by case t.db | grep -q '^By case'
	local wrong
	for wrong in "--by colour" "--by stream" "--by kernel --csv" "--by kernel --json"; do
		keep wrong "$kerncast" replay $wrong t.db
		status_is 2 wrong
		contains "$(<wrong.err)" --by
	done
}

# --- commands

@test "a mistyped command is told which one it may be; another word is not" {
	local typed
	for typed in repotr:report dif:diff slwo:slow runn:run exprt:export; do
		keep typed "$kerncast" "${typed%:*}"
		status_is 2 typed
		contains "$(<typed.err)" "unknown command \"${typed%:*}\"; did you mean ${typed#*:}? "
	done
	for typed in python ls env ./app r "$(printf 'x%.0s' {1..4000})"; do
		keep typed "$kerncast" "$typed"
		status_is 2 typed
		contains "$(<typed.err)" "; \`kerncast --help all\` lists all "
	done
}

@test "a mistyped option is told which one it may be; values, a program's own options and other words are not" {
	local typed
	for typed in "report --josn:json" "slow --procces=1:process" "diff --basline x:baseline" "export --crome:chrome" "run --mesure off ls:measure"; do
		keep typed "$kerncast" ${typed%:*}
		status_is 2 typed
		contains "$(<typed.err)" "kerncast: unknown option --"
		contains "$(<typed.err)" "; did you mean --${typed#*:}?"
	done
	for typed in "report --xylophone" "report --kernel --josn no.db" "report --ker=--josn no.db" "report -r --josn no.db" \
		"run -q -- /bin/echo --mesure" "run -q /bin/echo --mesure" "report -- --josn"; do
		keep typed "$kerncast" $typed
		equal "$(grep -c "did you mean" typed.err)" 0 "$typed"
	done
}

# --- devices

@test "devices shows the names that --device takes, and each of them is taken" {
	local name
	"$kerncast" devices >devices.out
	contains "$(head -n 1 devices.out)" "--device"
	for name in rtx4090 a100-80gb h100-pcie h200; do
		grep -q -E " $name +[0-9]+\.[0-9] " devices.out
	done
	# Volta's white paper: 80 SMs with 96 KiB of shared memory each, 1,530 MHz; 877 MHz x 2 x 4,096 bits.
	equal "$(grep ' v100 ' devices.out | tr -s ' ')" "Tesla V100-SXM2-16GB v100 7.0 80 1530 898 16 96" "a row"
	within "$(LC_ALL=C.UTF-8 wc -L <devices.out)" 60 100 "columns"
	SHELL=$(command -v bash) script -qec "stty cols 80 && '$kerncast' devices" narrow.out </dev/null >/dev/null
	equal "$(sed '/^Script/d' narrow.out | tr -d '\r' | LC_ALL=C.UTF-8 wc -L)" 80 "columns of a terminal with 80"
	"$kerncast" devices --json >devices.json
	for name in $(sqlite3 :memory: "SELECT value ->> '\$.short_name' FROM
			json_each(CAST(readfile('devices.json') AS TEXT), '\$.built_in')"); do
		"$kerncast" slowdown --device "$name" blocks=1,threads=32 blocks=1,threads=32 >/dev/null
	done
	within "$(sqlite3 :memory: "SELECT count(value ->> '\$.short_name') FROM
		json_each(CAST(readfile('devices.json') AS TEXT), '\$.built_in')")" 190 400 "short names"
	equal "$(sqlite3 :memory: "SELECT count(*) FROM json_each(CAST(readfile('devices.json') AS TEXT), '\$.built_in')
		WHERE length(value ->> '\$.source') < 10")" 0 "devices without a source"
	"$kerncast" predict --device "RTX 4090" blocks=1,threads=32 >typed.out
	"$kerncast" predict --device rtx4090 blocks=1,threads=32 >short.out
	cmp typed.out short.out
	keep unknown "$kerncast" predict --device "h20 141gb" blocks=1,threads=32
	status_is 2 unknown
	contains "$(<unknown.err)" 'unknown device "h20 141gb"; did you mean h20? (kerncast devices lists names; a file of attributes also works)'
	keep several "$kerncast" predict --device "RTX 6000" blocks=1,threads=32
	status_is 2 several
	contains "$(<several.err)" 'device "RTX 6000" is ambiguous: quadro-rtx6000 or rtx6000-ada'
	# A file of that name is a file.
	echo like=k40 >./4090
	"$kerncast" predict --device 4090 blocks=1,threads=32 >file.out
	! cmp -s file.out short.out
}

# --- import: nothing to import

@test "import: a trace without kernels is status 1, and no database is left of an import that fails" {
	local name
	echo '{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "ts": 1, "dur": 1}]}' >cpu.json
	echo process,kind,start_ns,duration_ns,name >head.csv
	{ cat head.csv; echo p,kernel,x,1,f; } >malformed.csv
	echo "no trace at all" >text
	for name in cpu.json head.csv malformed.csv text nosuch.json; do
		keep nothing "$kerncast" import "$name" -o new.db
		status_is 1 nothing
		contains "$(<nothing.err)" "$name"
		equal "$(<nothing.out)" "" "standard output for $name"
		equal "$(echo new.db*)" "new.db*" "files left of $name"
	done
	for name in cpu.json head.csv malformed.csv; do
		keep nothing "$kerncast" import "$name" -o new.db
		contains "$(tail -n 1 nothing.err)" "$name: nothing was imported"
	done
	# A database that was there stays as it was; so does what another file gave.
	trace_on "Tesla K40c" good.csv
	keep some "$kerncast" import cpu.json good.csv -o some.db
	status_is 1 some
	equal "$(tail -n 1 some.out)" "some.db: imported 2 kernels, 0 copies and memsets from 1 process"
	equal "$(sql 'SELECT count(*) FROM launch' some.db)" 2
	keep more "$kerncast" import cpu.json -o some.db
	status_is 1 more
	equal "$(sql 'SELECT count(*) FROM launch' some.db)" 2
	keep again "$kerncast" import good.csv -o some.db
	status_is 0 again
	equal "$(echo some.db*)" some.db "files beside the database"
	# Copies alone are something.
	{ cat head.csv; echo "p,memcpy,5,6,[CUDA memcpy HtoD]"; } >copies.csv
	"$kerncast" import copies.csv -o copies.db
	: >empty.db
	keep empty "$kerncast" import cpu.json -o empty.db
	status_is 1 empty
	[[ -e empty.db ]]
}

# --- recover

@test "report, diff and slow of a trace: status 1, and that it is to be imported; of another file not" {
	trace_on "Tesla K40c" t.csv
	echo '{"traceEvents": []}' >t.json
	gzip -k t.json
	printf 'SQLite format 3\0, of which the rest is lost' >damaged.db
	echo "no trace at all" >text
	for command in report "diff t.csv" slow; do
		for name in t.csv t.json t.json.gz; do
			keep trace "$kerncast" $command $name
			status_is 1 trace
			contains "$(<trace.err)" 'is not a kerncast database: if it is a trace, `kerncast import '
			lacks "$(<trace.err)" "--output"
		done
	done
	for name in damaged.db text; do
		keep other "$kerncast" report $name
		status_is 1 other
		contains "$(<other.err)" "$name is not a kerncast database, or it is damaged"
	done
}

@test "recover of a database that is not there, nor any journal of it, is status 1" {
	keep typo "$kerncast" recover nosuch.db
	status_is 1 typo
	contains "$(<typo.err)" "nosuch.db: neither this database nor a journal of it (nosuch.db.*.kcj) exists"
	equal "$(<typo.out)" "" "standard output"
	equal "$(echo nosuch*)" "nosuch*" "files made"
	"$kerncast" run -q -o there.db "$build/demo-static-sim" --rounds 2 >/dev/null
	contains "$("$kerncast" recover there.db)" "nothing to import: there is no journal of there.db"
	# A journal alone is enough: the database is made from it.
	KERNCAST_DB=$PWD/gone.db LD_PRELOAD=$library "$build/demo-static-sim" --rounds 1000000 >/dev/null &
	local pid=$!
	until compgen -G 'gone.db.*.kcj' >/dev/null; do sleep 0.05; done
	kill -9 $pid
	wait $pid || true
	rm -f gone.db gone.db-wal gone.db-shm
	keep several "$kerncast" recover there.db nosuch.db gone.db
	status_is 1 several
	contains "$(<several.err)" "nosuch.db: neither this database nor a journal of it"
	contains "$(<several.out)" "nothing to import: there is no journal of there.db"
	contains "$(<several.out)" ": imported, pid $pid"
	[[ -s gone.db ]]
}

# --- help and version

@test "two databases where one is meant, or --json with --csv: every command refuses them in the same words, status 2" {
	local command
	for command in calibrate "basis show" "basis train"; do
		keep two "$(that_has ${command% *})" $command a.db b.db
		status_is 2 two
		contains "$(<two.err)" "expected one database, got two (a.db, b.db)"
	done
	keep two "$kerncast" prune --keep 1 --json a.db b.db
	status_is 2 two
	contains "$(<two.err)" "--json takes one database, as its document is of one"
	for command in report replay; do
		keep both "$kerncast" $command --json --csv
		status_is 2 both
		contains "$(<both.err)" "--json and --csv exclude each other"
	done
}

@test "--help lists at most 14 commands, --help all every one; doctor --recover is recover" {
	local often all
	often=$("$kerncast" --help | sed -n 's/^  \([a-z]\{3,\}\) .*/\1/p' | grep -v kerncast)
	all=$("$kerncast" --help all | sed -n 's/^  \([a-z]\{3,\}\) .*/\1/p' | grep -v kerncast)
	within "$(wc -w <<<"$often")" 12 14 "commands: $often"
	for command in run doctor import report diff slow export predict explain pairs devices; do
		contains " $(tr '\n' ' ' <<<"$often")" " $command "
	done
	for command in $often recover prune merge learn slowdown calibrate; do
		contains " $(tr '\n' ' ' <<<"$all")" " $command "
	done
	equal "$("$lab" --help)" "$("$lab" --help all)" "all commands of kerncast-lab"
	equal "$("$lab" --help | sed -n 's/^  \([a-z]\{3,\}\) .*/\1/p' | tr '\n' ' ')" "experiment basis " "commands of kerncast-lab"
	keep recover "$kerncast" recover nothing.db
	keep doctor "$kerncast" doctor --recover nothing.db
	same recover doctor
	contains "$(<doctor.err)" "neither this database nor a journal of it"
	keep late "$kerncast" doctor nothing.db --recover
	status_is 2 late
}

@test "what is kerncast-lab's now: kerncast says so in a sentence, status 2" {
	local command
	for command in experiment basis; do
		keep moved "$kerncast" $command list
		status_is 2 moved
		equal "$(<moved.out)$(<moved.err)" "kerncast: kerncast $command is kerncast-lab $command now"
	done
	keep near "$lab" experment
	status_is 2 near
	equal "$(<near.err)" 'kerncast-lab: unknown command "experment"; did you mean experiment?'
	keep none "$lab" report
	status_is 2 none
	equal "$(<none.err)" 'kerncast-lab: unknown command "report"; `kerncast-lab --help all` lists all'
}

@test "-h is --help in every command, and no help speaks of mandatory or optional arguments" {
	local command commands
	commands=$("$kerncast" --help all | sed -n 's/^  \([a-z]\{3,\}\) .*/\1/p' | grep -v kerncast)
	within "$(wc -w <<<"$commands")" 14 30 "commands: $commands"
	for command in "" $commands basis experiment; do
		"$(that_has "$command")" $command --help >long.out
		for option in -h '-?'; do
			[[ $command || $option == -h ]] || continue
			keep short "$(that_has "$command")" $command "$option"
			status_is 0 short
			cmp short.out long.out
			equal "$(<short.err)" "" "standard error of $command $option"
		done
		lacks "$(<long.out)" "Mandatory or optional"
		lacks "$(<long.out)" $' \n' "lines of blanks in the help of $command"
		within "$(LC_ALL=C.UTF-8 wc -L <long.out)" 40 100 "columns of the help of $command"
		[[ -z $command ]] || contains "$(<long.out)" "-h, -?, --help"
	done
	contains "$("$kerncast" report --usage)" "Usage: kerncast report"
	# What stands behind the program is the program's own.
	equal "$("$kerncast" run echo -h --help)" "-h --help" "arguments of the program"
	contains "$(ARGP_HELP_FMT=long-opt-col=10 "$kerncast" report -h)" "      --csv   "
}

@test "every help ends with examples, which work and are in the manual with what they print" {
	local command line program
	ln -s "$build/demo-static-sim" app
	ln -s "$build/demo-static-sim" train
	printf 'kind,start_ns,duration_ns,name\nkernel,100,50000,f\nkernel,200000,60000,f\n' | gzip >trace.csv.gz
	zcat "$root/cuda_tests/traces/tuning/pnpoly__RTX_3090__unused_kt.csv.gz" |
		awk -F, -v OFS=, 'NR == 1 { for (i = 1; $i != "time_ms"; i++); } NR > 1 && NR % 8 { $i = "" } { NF = i; print }' >times.csv
	printf 'file,grid,block,tile\n%s,1,32,1\n' "$build/explain/own_memory.ptx" >matmul.csv
	echo '{"cache": {"1": {"tile": 1, "time": 1}}}' >cache.json
	for line in 1 2 3; do
		"$kerncast" run -q ./app --rounds 20 >/dev/null
	done
	"$kerncast" diff --baseline kernels.json >/dev/null
	for line in bf16 int8 killed; do
		cp kerncast.db $line.db
	done
	"$kerncast" import trace.csv.gz -o trace.db >/dev/null
	{ "$kerncast" --man && "$lab" --man; } >manual
	for command in $("$kerncast" --help all | sed -n 's/^  \([a-z]\{3,\}\) .*/\1/p') basis experiment; do
		program=$(that_has $command)
		"$program" $command --help | sed '1,/^Examples:$/d' >examples
		within "$(wc -l <examples)" 1 2 "lines of the examples of $command"
		grep -qF "\$ $(head -n 1 examples | sed 's/^  //')" manual || { echo "$command has no example in the manual"; return 1; }
		while read -r line; do
			[[ $line == ${program##*/}\ $command* ]] || { echo "$command: $line"; return 1; }
			PATH=$build:$PATH bash -c "$line" </dev/null >example.out 2>&1 ||
				[[ $? == 3 && $line == *--fail ]] || { echo "fails: $line"; cat example.out; return 1; }
		done <examples
	done
}

@test "the version is told however it is asked for" {
	local way
	for way in --version -V -v version; do
		keep version "$kerncast" $way
		status_is 0 version
		equal "$(<version.out)" "$("$kerncast" --version)" "kerncast $way"
	done
	[[ $(<version.out) =~ ^kerncast\ [0-9]+\.[0-9]+\.[0-9]+ ]]
}

@test "the manual has the version, and the day of the newest release in the changelog" {
	local day version
	read -r day < <(sed -n 's/^## \[[0-9.]*\] - //p' "$root/CHANGELOG.md")
	version=$("$kerncast" --version | sed -n '1s/^kerncast //p')
	"$kerncast" --man >kerncast.1
	contains "$(<kerncast.1)" ".Dd $(LC_ALL=C date -d "$day" '+%B %-d, %Y')"
	contains "$(<kerncast.1)" ".Os kerncast $version"
}

# --- completion

offered() { # WORD...: what bash offers for the last of them, sorted
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_TYPE=9
	COMPREPLY=()
	"_${1//-/_}" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
	printf '%s\n' "${COMPREPLY[@]}" | sort | tr '\n' ' '
}

@test "bash completion: commands, their options, and the values that are known" {
	local command option
	"$kerncast" --completion bash >completion
	source ./completion
	contains "$(complete -p kerncast)" _kerncast
	for command in $("$kerncast" --help all | sed -n 's/^  \([a-z]\{3,\}\) .*/\1/p' | grep -v kerncast); do
		contains " $(offered kerncast "")" " $command "
		for option in $("$kerncast" "$command" --help | grep -oE '^ +(-[a-z?], )*--[a-z0-9-]+' | grep -oE -- '--[a-z0-9-]+'); do
			contains " $(offered kerncast "$command" "$option")" " $option "
		done
	done
	equal "$(offered kerncast rep)" "replay report "
	equal "$(offered kerncast report --by "")" "case class copy gap gpu kernel model operator range rank step stream time "
	equal "$(offered kerncast report -b m)" "model "
	equal "$(offered kerncast run --measure = k)" "kernels " # as bash splits --measure=k
	equal "$(offered kerncast run --measure =)" "adaptive all kernels off "
	equal "$(offered kerncast report --run "")" "all "
	contains " $(offered kerncast predict --device "")" " rtx4090 "
	equal "$(offered kerncast replay --device rtx4090)" "rtx4090 rtx4090-laptop rtx4090d "
	equal "$(offered kerncast report "")" " " # files, which readline finds
	equal "$(offered kerncast diff --old "")" " "
	equal "$(offered kerncast slow --by "")" "gpu process rank step "
	equal "$(offered kerncast diff --per "")" "run step "
	# What is run: a program, then what is the program's own.
	contains " $(offered kerncast run -q --output x.db bas)" " bash "
	equal "$(offered kerncast run -o x.db ./app --m)" " "
	equal "$(offered kerncast run -- ./app --m)" " "
	equal "$(offered kerncast nosuch --)" " "
	equal "$(offered kerncast run --signal "")" "usr1 usr2 "
	"$lab" --completion bash >completion
	source ./completion
	contains "$(complete -p kerncast-lab)" "_kerncast_lab kerncast-lab"
	equal "$(offered kerncast-lab "")" "--help --version basis experiment help version "
	equal "$(offered kerncast-lab experiment f)" "figures "
	equal "$(offered kerncast-lab basis --kn)" "--known "
	keep other "$kerncast" --completion tcsh
	status_is 2 other
	contains "$(<other.err)" "bash, zsh or fish"
}
