# Which process of a job each is, as launchers tell it by variables, and how that is shown.
# Runs in real time.
load common

demo=$build/demo-shared

@test "a process records its host, its job, its rank and which GPUs it may use" {
	RANK=3 LOCAL_RANK=1 WORLD_SIZE=8 TORCHELASTIC_RUN_ID=night CUDA_VISIBLE_DEVICES=1 "$kerncast" run -q "$demo" >demo.out
	equal "$(sql "SELECT host, job, rank, local_rank, world_size, visible_devices FROM process")" \
		"$(uname -n)|torchrun night|3|1|8|1"
}

@test "of what the variables say nothing is trusted" {
	RANK=9 WORLD_SIZE=8 SLURM_PROCID=$(printf '9%.0s' {1..5000}) SLURM_NTASKS=2 \
		CUDA_VISIBLE_DEVICES=0$(printf ',%.0s' {1..5000}) "$kerncast" run -q "$demo" >demo.out
	equal "$(sql "SELECT job, rank, local_rank, world_size, length(visible_devices) FROM process")" "||||255"
}

@test "a run is named by the command that was given, not by the process that wrote first" {
	printf 'for i in 1 2 3; do "%s" >/dev/null & done; wait\n' "$demo" >three.sh
	"$kerncast" run -q sh three.sh 'two words'
	equal "$(sql "SELECT command_line FROM run")" "sh three.sh 'two words'"
	equal "$(sql "SELECT count(*), min(command_line) FROM process")" "3|$demo"
}

@test "a killed process's journal keeps its rank and its run's name" {
	printf 'SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_LOCALID=0 SLURM_JOB_ID=7 "%s" fork\n' "$build/awkward/children" >killed.sh
	keep killed "$kerncast" run sh killed.sh
	cat killed.err
	equal "$(sql "SELECT r.command_line, p.rank, p.job, p.ended FROM process p JOIN run r ON r.id = p.run")" \
		"sh killed.sh|1|slurm 7|killed"
}

# Four ranks of two hosts, recorded as one run; the second GPU of each host is its GPU 1.
four_ranks() {
	printf 'for r in 0 1 2 3; do RANK=$r LOCAL_RANK=$((r %% 2)) WORLD_SIZE=4 CUDA_VISIBLE_DEVICES=$((r %% 2)) \
		"%s" >/dev/null; done\n' "$demo" >four.sh
	"$kerncast" run -q sh four.sh
	sql "UPDATE process SET host = iif(rank < 2, 'node6', 'node7'); UPDATE process SET pid = 100 + rank"
}

@test "processes are called by rank, host and GPU, everywhere alike" {
	four_ranks
	"$kerncast" report >report.out
	cat report.out
	contains "$(<report.out)" "rank 3, node7 (pid 103), exited"
	contains "$(<report.out)" "rank 3, node7 (pid 103), stream"
	equal "$(grep -c "^  $demo\$" report.out)" 1 "command lines of four processes"
	contains "$("$kerncast" report --by rank)" "By rank or process, "
	contains "$("$kerncast" report --by gpu)" "By GPU, "
	equal "$("$kerncast" report --csv --by rank | cut -d, -f1 | sort | uniq -c | wc -l)" 5
	contains "$("$kerncast" report --csv --by rank)" '"rank 3, node7 (pid 103)"'
	equal "$(report '$.processes[3].name')" "rank 3, node7 (pid 103)"
	equal "$(report '$.processes[3].world_size')" 4
	equal "$(sql "SELECT group_concat(DISTINCT launches) FROM (SELECT x.value ->> 'launches' AS launches
		FROM json_each(CAST(readfile('report.json') AS TEXT), '\$.ranks') x)")" \
		"$(sql 'SELECT count(*) / 4 FROM launch')" "launches of each rank"
	"$kerncast" export --chrome -o trace.json
	contains "$(<trace.json)" "run 1, rank 3, node7 (pid 103): $demo"
	"$kerncast" report --html page.html
	contains "$(<page.html)" "rank 3, node7 (pid 103)"
	"$kerncast" report --html hidden.html --anonymous
	equal "$(grep -c 'node7' hidden.html)" 0 "hosts in an anonymous page"
}

# The kernel takes 40 us on rank 3 and 20 us on the others, 60 times. The stand-in has GPUs of one host: that ranks 2 and 3
# are on another one is said by SQL.
@test "each rank with a GPU of its own: exports, the page and slow call both by name" {
	local rank each wanted
	for rank in 0 1 2 3; do
		{
			echo "1 1 60 60000000" && echo gemm
			for each in {1..60}; do
				echo "$((each * 100000)) $((each * 100000 + 20000)) $((rank == 3 ? 40000 : 20000)) 0 0 8 1 1 128 1 1 0"
			done
		} >$rank.launches
	done
	cat >job.sh <<-'END'
		for rank in 0 1 2 3; do
			RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=4 "$1" $rank.launches $rank.truth 0.000001 0 &
		done
		wait
	END
	SIMCUDA_DEVICE=A100,A100,A100,A100 "$kerncast" run -q sh job.sh "$build/playback/playback"
	sql "UPDATE process SET host = iif(rank < 2, 'node6', 'node7'), pid = 100 + rank"
	wanted="rank 0, node6 (pid 100) GPU 0,rank 1, node6 (pid 101) GPU 1,rank 2, node7 (pid 102) GPU 2,rank 3, node7 (pid 103) GPU 3"
	"$kerncast" export --csv -o launches.csv
	equal "$(sqlite3 :memory: -cmd ".mode csv" -cmd ".import launches.csv l" -cmd ".mode list" \
		"SELECT group_concat(place) FROM (SELECT DISTINCT process_name || ' ' || gpu AS place FROM l ORDER BY 1)")" "$wanted" CSV
	"$kerncast" export --chrome -o trace.json
	"$root/scripts/check-trace" trace.json
	equal "$(sqlite3 :memory: "WITH e AS (SELECT value AS v FROM json_each(CAST(readfile('trace.json') AS TEXT), '\$.traceEvents') WHERE value ->> 'ph' = 'M')
		SELECT group_concat(place || ' at ' || at) FROM (SELECT substr(n.v ->> '\$.args.name', 18, 30) AS place, s.v ->> '\$.args.sort_index' AS at
		FROM e n JOIN e s ON n.v ->> 'pid' = s.v ->> 'pid' WHERE n.v ->> 'name' = 'process_name' AND s.v ->> 'name' = 'process_sort_index' ORDER BY at)")" \
		"rank 0, node6 (pid 100), GPU 0 at 0,rank 1, node6 (pid 101), GPU 1 at 1,rank 2, node7 (pid 102), GPU 2 at 2,rank 3, node7 (pid 103), GPU 3 at 3" Perfetto
	"$kerncast" slow >slow.out
	cat slow.out
	# 60 launches of 20 us too many.
	equal "$(grep -A 2 '^Stragglers' slow.out | tail -n 1 | tr -s ' ')" " 1.20 ms 0 ns 2.40 ms +100 % 60 1 GPU 3 rank 3, node7 (pid 103)"
	contains "$(sed -n '/^The launches/,$p' slow.out)" "    rank 3, node7 (pid 103), GPU 3"
	"$kerncast" slow --json >slow.json
	equal "$(sqlite3 :memory: "SELECT DISTINCT (value ->> 'process_name') || ' ' || (value ->> 'gpu') FROM
		json_each(CAST(readfile('slow.json') AS TEXT), '\$.launches') WHERE value ->> 'cause' = 'slower_process'")" "rank 3, node7 (pid 103) GPU 3"
	"$kerncast" report --html page.html
	grep -qF '"process":"rank 3, node7 (pid 103), GPU 3"' page.html # whose launch lost most: the timeline's
	"$kerncast" report --html hidden.html --anonymous
	equal "$(grep -c 'node7' hidden.html)" 0 "hosts in an anonymous page"
	has_browser || return 0
	"$root/cuda_tests/e2e/browser.py" page.html 'text=document.body.innerText' >told
	# 60 launches of 20 us each of rank 3, half of what it took; of those of the others nothing.
	contains "$(<told)" '1.20 ms\t0 ns\t50.0 %\t60\tslower rank or GPU\trank 3, node7 (pid 103)\n0 ns\t0 ns\t0.0 %\t0\t\trank '
	grep -q 'of rank \([0-3]\), node[67] (pid 10\1), GPU \1, from' told # the part of the timeline that is shown first
	contains "$(<told)" "slower rank or GPU (rank 3, node7 (pid 103))"
	contains "$(<told)" 'slower rank or GPU\trank 3, node7 (pid 103)\tGPU 3\t' # of the launches that lost most
}

@test "launches are chosen by rank and by GPU, as they are printed" {
	local each
	four_ranks
	each=$(sql 'SELECT count(*) / 4 FROM launch')
	equal "$(report '$.ledger.launches')" $((4 * each))
	for choice in "--rank 3" "--process 'rank 3'" "--process 'rank 3, node7'" "--process 'rank 3, node7 (pid 103)'" \
		"--process 103"; do
		eval "'$kerncast' report --json $choice" >chosen.json
		equal "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('chosen.json') AS TEXT), '\$.filter.launches')")" \
			"$each" "$choice"
	done
	"$kerncast" report --json --rank 1,3 --gpu 1 >chosen.json
	equal "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('chosen.json') AS TEXT), '\$.filter.launches')")" $((2 * each))
	keep none "$kerncast" report --rank 0 --gpu 1
	contains "$(<none.err)" "no launch matches the filter: rank 0, GPU 1"
	# Names are shown as they were typed, as commas may be in them.
	contains "$("$kerncast" report --process 'rank 3, node7')" "Filter: process \"rank 3, node7\": "
	contains "$("$kerncast" slow --process 'rank 1,rank 3' --process 'rank 0')" "Filter: process \"rank 1,rank 3\" or \"rank 0\": "
	keep none "$kerncast" report --process a --process b --process c --process d --process e --process f --process g --process h --process i --process j
	contains "$(<none.err)" '"g" or "h" or 2 more'
	has_browser || return 0
	"$kerncast" report --html page.html --rank 1,3
	"$root/cuda_tests/e2e/browser.py" page.html 'text=document.body.innerText' >told
	contains "$(<told)" "Filter: rank 1, 3: "
	keep wrong "$kerncast" report --rank x
	contains "$(<wrong.err)" '--rank takes numbers of ranks, separated by commas, not "x"'
}

@test "two runs are compared rank by rank, whatever their pids" {
	four_ranks
	four_ranks
	sql "UPDATE process SET pid = pid + 50 WHERE run = 2"
	"$kerncast" diff --json >diff.json || true
	within "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('diff.json') AS TEXT), '\$.compared_on_processes')")" 1 1000 \
		"comparisons on ranks"
}

# What mpiexec, srun and torchrun do: the command is started once for each rank, all at once.
launcher() { # RANKS COMMAND...
	cat >launcher.sh <<-'END'
		ranks=$1 rank=0
		shift
		while [ $rank -lt $ranks ]; do
			OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=$ranks OMPI_COMM_WORLD_LOCAL_SIZE=$ranks \
				OMPI_COMM_WORLD_LOCAL_RANK=$rank PMIX_NAMESPACE=$$ "$@" &
			rank=$((rank + 1))
		done
		wait
	END
	sh launcher.sh "$@"
}

# Its ranks wait for one another, as those of MPI do: none is through before all have begun.
together() { # RANKS COMMAND...
	cat >together.sh <<-'END'
		touch "begun.$1.$OMPI_COMM_WORLD_RANK"
		for turn in $(seq 6000); do
			[ $(ls begun."$1".* | wc -l) -lt $OMPI_COMM_WORLD_SIZE ] || break
			sleep 0.01
		done
		shift
		"$@" >/dev/null
	END
	launcher "$1" "$kerncast" run sh together.sh once "${@:2}"
}

left_in_memory() {
	compgen -G "/dev/shm/kerncast-$EUID-*.job" | wc -l
}

@test "several commands of one launcher are one run, with one summary" {
	local before
	before=$(left_in_memory)
	together 4 "$demo" 2>run.err
	cat run.err
	equal "$(sql "SELECT count(*), group_concat(DISTINCT job IS NOT NULL) FROM run r JOIN process p ON p.run = r.id")" "4|1"
	equal "$(sql "SELECT count(*) FROM run")" 1
	equal "$(grep -c '; 4 ranks$' run.err)" 1
	equal "$(grep -c 'recorded in' run.err)" 1
	contains "$(<run.err)" "$(printf "%'d" "$(counted launches)" | sed 's/\([0-9]\)\([0-9]\{3\}\)$/\1,\2/;s/,,/,/') launches"
	within "$(left_in_memory)" 0 "$before" "files left"
	ledger_adds_up
	"$kerncast" report | sed -n '/^Kernels/q; s/^    \(rank [0-9]\).*/\1/p' >order
	equal "$(tr '\n' ' ' <order)" "rank 0 rank 1 rank 2 rank 3 "
}

@test "a rank that comes again begins another run, which the others join" {
	printf 'for i in 1 2 3; do "%s" run -q "%s" >/dev/null; done\n' "$kerncast" "$demo" >loop.sh
	launcher 3 sh loop.sh
	equal "$(sql "SELECT count(*), min(n), max(n) FROM (SELECT count(DISTINCT rank) AS n FROM process GROUP BY run)")" "3|3|3"
}

@test "two jobs at once are two runs" {
	(together 2 "$demo" 2>/dev/null) &
	(mkdir other && cd other && KERNCAST_DB=$OLDPWD/kerncast.db together 2 "$demo" 2>/dev/null)
	wait
	equal "$(sql "SELECT count(*), min(n), max(n) FROM (SELECT count(DISTINCT rank) AS n FROM process GROUP BY run)")" "2|2|2"
}

@test "a killed rank is named" {
	printf '[ "$OMPI_COMM_WORLD_RANK" = 1 ] && exec "%s" fork; exec "%s"\n' "$build/awkward/children" "$demo" >one_dies.sh
	together 3 sh one_dies.sh 2>run.err
	cat run.err
	contains "$(<run.err)" "kerncast: killed: rank 1 (pid $(sql "SELECT pid FROM process WHERE rank = 1")); no launch that it had made is lost"
	equal "$(grep -c 'killed: ' run.err)" 1
	ledger_adds_up
}

@test "--ranks: these are recorded alone" {
	launcher 3 "$kerncast" run --ranks 0,2 "$demo" >/dev/null 2>run.err
	cat run.err
	equal "$(sql "SELECT group_concat(rank) FROM (SELECT rank FROM process ORDER BY rank)")" "0,2"
	equal "$(counted launches)" "$(sql "SELECT count(*) / 2 * 3 FROM launch")"
	rm kerncast.db
	"$kerncast" run -q --ranks 1-2 sh launcher.sh 4 "$demo" >/dev/null
	equal "$(sql "SELECT group_concat(rank) FROM (SELECT rank FROM process ORDER BY rank)")" "1,2"
	# What a launcher starts on each node, or a script of Slurm's, has a rank, too, and starts others.
	SLURM_PROCID=1 SLURM_NTASKS=2 "$kerncast" run -q --ranks 0,8 -o nodes.db sh -c "RANK=7 WORLD_SIZE=16 '$demo'; RANK=8 WORLD_SIZE=16 '$demo'"
	equal "$(sql "SELECT group_concat(rank) FROM process" nodes.db)" 8
	SLURM_PROCID=0 SLURM_NTASKS=4 "$kerncast" run -q --ranks 1-2 -o script.db sh launcher.sh 4 "$demo" >/dev/null
	equal "$(sql "SELECT group_concat(rank) FROM (SELECT rank FROM process ORDER BY rank)" script.db)" "1,2"
	keep wrong "$kerncast" run --ranks 1,, "$demo"
	equal "$(<wrong.status)" 2
	contains "$(<wrong.err)" '--ranks takes N[,N...], not "1,,"'
}

@test "another user's file in the place of a launcher's is not waited for" {
	local base
	[[ $EUID -eq 0 ]] || skip "only root can act as another user"
	command -v setpriv >/dev/null || skip "no setpriv"
	cat >held.sh <<-'END'
		# $1: kerncast, $2: a program. The name of the file is that of a run before, with this shell's number and start.
		for each in 1 2; do
			OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_SIZE=2 "$1" run -q sh -c 'ls /dev/shm/kerncast-0-*.'$$'-*-1.job >name; "$0"' "$2" >/dev/null
			[ $each = 2 ] || {
				rm "$(cat name)"
				setpriv --reuid nobody --clear-groups /usr/bin/python3 -c 'import fcntl, os, sys, time
		file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o666); os.fchmod(file, 0o666); fcntl.lockf(file, fcntl.LOCK_EX)
		print("held", flush=True); time.sleep(60)' "$(cat name)" >held &
				for turn in $(seq 1000); do grep -q held held && break; sleep 0.01; done
			}
		done
		kill $!
		wait
	END
	timeout 50 sh held.sh "$kerncast" "$demo"
	contains "$(<held)" held
	equal "$(sql 'SELECT count(*) FROM process')" 2
	rm -f "$(<name)"
}

@test "devices whose numbers are none do not make a report unreadable" {
	local number
	CUDA_VISIBLE_DEVICES=1 "$kerncast" run -q "$demo" >/dev/null
	equal "$(report '$.processes[0].gpus')" "[1]"
	for number in -1 "'a'" 1e30 "x'00'"; do
		sql "UPDATE process_device SET ordinal = $number"
		"$kerncast" report >report.out
		"$kerncast" report --json >report.json
		"$kerncast" report --by gpu >report.out
	done
	sql "UPDATE process_device SET ordinal = 0; UPDATE process SET visible_devices = '99999999999999999999'"
	equal "$(report '$.processes[0].gpus')" "[0]"
}

# --- databases of several hosts

one_each() { # RANKS: a database for each rank, as hosts of a job have
	cat >each.sh <<-END
		touch "begun.\$OMPI_COMM_WORLD_RANK"
		for turn in \$(seq 6000); do
			[ \$(ls begun.* | wc -l) -lt \$OMPI_COMM_WORLD_SIZE ] || break
			sleep 0.01
		done
		KERNCAST_DB=rank\$OMPI_COMM_WORLD_RANK.db "$kerncast" run -q "$demo" >/dev/null
	END
	launcher "$1" sh each.sh
}

sums() { # DB...: of all of them
	local table db
	for table in launch_row transfer "rollup WHERE measured" message stream_call engine_event "process WHERE rank NOT NULL" learned; do
		for db in "$@"; do
			sql "SELECT count(*) FROM $table" "$db"
		done | awk -v table="$table" '{ sum += $1 } END { print table, sum }'
	done
	for db in "$@"; do
		sql "SELECT item, reason, sum(count) FROM ledger GROUP BY 1, 2" "$db"
	done | awk -F'|' '{ sum[$1 " " $2] += $3 } END { for (item in sum) print item, sum[item] }' | sort
	for db in "$@"; do
		sql "SELECT sum(measured_end_ns - measured_start_ns), sum(end_ns - start_ns) FROM launch" "$db"
	done | awk -F'|' '{ a += $1; b += $2 } END { print a, b }'
}

@test "merge: databases of one job are one run, and every count is their sum" {
	one_each 3
	sql "UPDATE process SET host = 'node' || rank" rank1.db
	"$kerncast" merge rank?.db -o all.db >merge.out
	cat merge.out
	equal "$(<merge.out)" "all.db: 3 databases, 1 new run, 3 processes, $(printf "%'d" "$(sql 'SELECT count(*) FROM launch' all.db)" |
		sed 's/^\([0-9]\)\([0-9]\{3\}\)$/\1,\2/') launches"
	diff <(sums rank?.db) <(sums all.db)
	equal "$(sql "SELECT count(*), count(DISTINCT rank) FROM process" all.db)" "3|3"
	ledger_adds_up all.db
	"$kerncast" report --exact --json all.db >exact.json
	equal "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('exact.json') AS TEXT), '\$.ledger.launches')")" \
		"$(sql 'SELECT count(*) FROM launch' all.db)"
	equal "$("$kerncast" merge rank?.db -o all.db)" \
		"all.db: 3 databases, 0 new runs, 0 processes, 0 launches; 3 processes had been there already"
	diff <(sums rank?.db) <(sums all.db)
	# A launch is what it was, whatever numbers its kernel, stream and process have now.
	for db in rank1.db all.db; do
		sql "SELECT k.mangled, l.grid_x, l.block_x, s.local, l.sequence, l.launched_ns, l.measured_end_ns, l.solo_ns, l.known_events
			FROM launch l JOIN kernel k ON k.id = l.kernel JOIN stream s ON s.id = l.stream JOIN process p
			ON p.id = l.process WHERE p.rank = 1 ORDER BY l.sequence" $db >$db.launches
	done
	cmp rank1.db.launches all.db.launches
	"$kerncast" replay all.db --json >replay.json
	equal "$(sql 'PRAGMA integrity_check' all.db)" ok
}

@test "merge: jobs of other times, and of other names, stay runs of their own" {
	one_each 2
	mkdir later
	mv rank0.db later
	rm -f begun.*
	sql "UPDATE process SET started_unix_ns = started_unix_ns + 3600000000000" rank1.db
	contains "$("$kerncast" merge later/rank0.db rank1.db -o all.db)" "2 new runs"
	sql "UPDATE process SET started_unix_ns = started_unix_ns - 3600000000000, job = 'slurm 9'" rank1.db
	contains "$("$kerncast" merge later/rank0.db rank1.db -o named.db)" "2 new runs"
}

@test "merge: what is no database of ours is named and left out" {
	one_each 2
	printf 'no database' >text.db
	sqlite3 foreign.db 'CREATE TABLE t(x)'
	cp rank0.db trigger.db
	sqlite3 trigger.db "CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM ledger; END"
	cp rank0.db newer.db
	sqlite3 newer.db 'PRAGMA user_version = 999'
	head -c 20000 rank0.db >short.db
	keep merged "$kerncast" merge text.db rank0.db foreign.db trigger.db missing.db newer.db short.db all.db rank1.db -o all.db
	cat merged.out merged.err
	equal "$(<merged.status)" 1
	contains "$(<merged.out)" "all.db: 2 databases, 1 new run, 2 processes"
	contains "$(<merged.err)" "7 of 9 databases were not merged"
	for name in text foreign trigger missing newer short all; do
		contains "$(<merged.err)" "$name.db"
	done
	diff <(sums rank?.db) <(sums all.db)
	# Ids are keys and nothing more.
	sql "UPDATE launch_row SET shape = 9223372036854775807 WHERE id % 7 = 0; UPDATE launch_row SET stream = -5 WHERE id % 11 = 0;
		UPDATE rollup SET kernel = -9223372036854775807 WHERE id = 1" rank1.db
	"$kerncast" merge rank0.db rank1.db -o odd.db
	equal "$(sql "SELECT count(*) FROM launch_row" odd.db)" "$(sql "SELECT count(*) FROM launch_row" all.db)"
	"$kerncast" report --exact odd.db >odd.out
	"$kerncast" slow odd.db >odd.out
}

@test "commands that are given several databases show them as one, and leave nothing behind" {
	one_each 2
	export TMPDIR=$PWD/tmp
	mkdir tmp
	"$kerncast" report rank0.db rank1.db >report.out
	cat report.out
	contains "$(<report.out)" "rank0.db and 1 more: run 1,"
	contains "$(<report.out)" "rank 0 (pid "
	contains "$(<report.out)" "rank 1 (pid "
	"$kerncast" merge rank0.db rank1.db -o all.db
	for command in "report --json" "report --csv --by gpu" "slow" "export --csv"; do
		"$kerncast" $command rank0.db rank1.db | sed 's/rank0.db and 1 more/all.db/' >several
		"$kerncast" $command all.db >one
		diff several one
	done
	"$kerncast" replay rank0.db rank1.db >replay.out
	"$kerncast" report --html page.html rank0.db rank1.db
	keep wrong "$kerncast" report rank0.db ranks.sh
	equal "$(<wrong.status)" 1
	equal "$(ls tmp)" ""
	keep no_run "$kerncast" report --run 99 rank0.db rank1.db
	equal "$(<no_run.err)" "kerncast: rank0.db and 1 more: no run 99: this database has runs 1 to 1"
	keep two "$kerncast" calibrate rank0.db rank1.db
	contains "$(<two.err)" "expected one database, got two"
}

@test "diff: several databases of each side, by option or before one, are one run of each" {
	local side names
	sed 's/\*(350+3\*threads)/*(1050+3*threads)/' "$SIMCUDA_COSTS" >slower.costs # matmul's
	grep -q 1050 slower.costs
	for side in old new; do
		one_each 2
		mkdir $side
		mv rank?.db $side
		rm -f begun.*
		export SIMCUDA_COSTS=$PWD/slower.costs
	done
	export TMPDIR=$PWD/tmp
	mkdir tmp
	for side in old new; do
		"$kerncast" merge $side/rank?.db -o $side.db >/dev/null
	done
	"$kerncast" diff --json old.db new.db >merged
	for names in "--old old/rank0.db old/rank1.db --new new/rank0.db new/rank1.db" "old/rank0.db old/rank1.db --new new/rank0.db new/rank1.db" \
		"new/rank0.db new/rank1.db --old old/rank0.db old/rank1.db" "--new=new/rank0.db --new=new/rank1.db --old=old/rank0.db --old=old/rank1.db"; do
		# shellcheck disable=SC2086
		"$kerncast" diff --json $names | sed 's/\(old\|new\).rank0.db and 1 more/\1.db/' >several
		diff several merged
		equal "$(ls tmp)" "" "what is left of $names"
	done
	contains "$("$kerncast" diff --old old/rank?.db --fail --new new/rank?.db || echo "status $?")" "status 3"
	"$kerncast" diff --old old/rank?.db --new new/rank?.db >diff.out
	cat diff.out
	contains "$(<diff.out)" "OLD  old/rank0.db and 1 more: run 1,"
	contains "$(<diff.out)" "NEW  new/rank0.db and 1 more: run 1,"
	contains "$(grep -m 1 ' slower ' diff.out)" "matmul"
	# One side in the database of one host alone, and all in one place: runs of it.
	"$kerncast" diff --json old.db --new new/rank?.db | sed 's/new.rank0.db and 1 more/new.db/' >several
	diff several merged
	"$kerncast" merge old/rank?.db new/rank?.db -o all.db >/dev/null
	"$kerncast" diff --json all.db >merged
	"$kerncast" diff --json --new old/rank?.db new/rank?.db | sed 's/old.rank0.db and 3 more/all.db/g' >several
	diff several merged
	"$kerncast" diff --json --old 1 --new 2 --new old/rank?.db new/rank?.db | sed 's/old.rank0.db and 3 more/all.db/g' >several
	diff several merged
	local wrong
	for wrong in "old.db new.db all.db:got a third (all.db)" "--old old.db new.db:the databases of NEW are missing" \
		"all.db --old old.db --new new.db:all.db is neither" "--baseline b.json --old old.db:stands for OLD"; do
		# shellcheck disable=SC2086
		keep wrong "$kerncast" diff ${wrong%%:*}
		equal "$(<wrong.status)" 2 "exit status of $wrong"
		contains "$(<wrong.err)" "${wrong#*:}"
	done
	equal "$("$kerncast" devices --json old/rank?.db new/rank?.db | grep -c '"name": "Simulated NVIDIA A100')" 1 "devices of all of them"
}

@test "what several databases were merged into is deleted, however the command ends" {
	local statuses gone
	one_each 2
	mkdir tmp
	exec {gone}> >(true) # a reader that is gone
	wait $!
	TMPDIR=$PWD/tmp keep unread bash -c '"$@" >&$0' $gone "$kerncast" export --csv rank0.db rank1.db
	exec {gone}>&-
	equal "$(<unread.status) $(ls tmp)" "$((128 + 13)) "
	statuses=$(TMPDIR=$PWD/tmp timeout -s QUIT 2 "$kerncast" export --csv rank0.db rank1.db 2>/dev/null |
		(sleep 3); echo "${PIPESTATUS[0]}")
	equal "$statuses $(ls tmp)" "124 "
	TMPDIR=$PWD/$(printf 'x%.0s' {1..5000}) keep long "$kerncast" report rank0.db rank1.db
	contains "$(<long.err)" "none can be made: File name too long"
}

@test "merge: databases that may only be read, and those with odd names" {
	local only_reads=()
	one_each 2
	mkdir closed
	mv rank0.db closed
	mv rank1.db 'file:x?.db'
	chmod 444 closed/rank0.db
	chmod 555 closed
	((EUID != 0)) || only_reads=(setpriv --bounding-set -dac_override)
	"${only_reads[@]}" true || skip "root cannot go without its power over files"
	"${only_reads[@]}" "$kerncast" merge closed/rank0.db 'file:x?.db' -o all.db >merged.out
	chmod 755 closed
	contains "$(<merged.out)" "all.db: 2 databases, 1 new run, 2 processes"
}

@test "merge: a process that was running is whole when it is merged again" {
	one_each 2
	cp rank0.db early.db
	sql "UPDATE process SET ended = '', ended_ns = NULL; UPDATE ledger SET count = count / 2;
		DELETE FROM launch_row WHERE id & 1099511627775 > (SELECT avg(sequence) FROM launch); DELETE FROM rollup;
		DELETE FROM learned" early.db
	"$kerncast" merge early.db rank1.db -o all.db
	contains "$("$kerncast" report all.db)" "still running"
	equal "$("$kerncast" merge rank0.db -o all.db)" "all.db: 1 database, 0 new runs, 0 processes, $(
		printf "%'d" $(($(sql 'SELECT count(*) FROM launch' rank0.db) - $(sql 'SELECT count(*) FROM launch' early.db))) |
			sed 's/^\([0-9]\)\([0-9]\{3\}\)$/\1,\2/') launches; 1 process had grown"
	diff <(sums rank?.db) <(sums all.db)
	equal "$("$kerncast" merge early.db rank0.db -o all.db)" \
		"all.db: 2 databases, 0 new runs, 0 processes, 0 launches; 2 processes had been there already"
	diff <(sums rank?.db) <(sums all.db)
	equal "$(sql "SELECT group_concat(ended) FROM process" all.db)" "exit,exit"
	equal "$(sql 'PRAGMA integrity_check' all.db)" ok
}

@test "merge: the latest run is the newest, whatever the order of the databases" {
	local i=0 db
	for db in old.db new.db old.db new.db; do
		"$kerncast" run -q -o $db sh -c '"$0" >/dev/null' "$demo"
		sql "UPDATE run SET command_line = 'run $((++i))' WHERE id = (SELECT max(id) FROM run);
			UPDATE process SET command_line = (SELECT r.command_line FROM run r WHERE r.id = run)" $db
	done
	sql "INSERT INTO run SELECT 99, 'of no process', started_unix_ns, command_line, directory, 0, source FROM run WHERE id = 1" old.db
	contains "$("$kerncast" merge new.db old.db -o all.db)" "all.db: 2 databases, 4 new runs, 4 processes"
	equal "$(sql "SELECT group_concat(id || ' ' || command_line) FROM (SELECT * FROM run ORDER BY id)" all.db)" \
		"1 run 1,2 run 2,3 run 3,4 run 4"
	equal "$(sql "SELECT count(*) FROM process p JOIN run r ON r.id = p.run WHERE p.command_line = r.command_line" all.db)" 4 "processes of their runs"
	equal "$(sql "SELECT count(*) FROM rollup u JOIN process p ON p.id = u.process WHERE p.run <> u.run" all.db)" 0
	contains "$("$kerncast" report new.db old.db)" "new.db and 1 more: run 4,"
}

@test "two hosts of a job, each with a database: one run, and ranks with their hosts" {
	needs_root
	unshare --uts --net true || skip "no namespaces"
	local host each
	for host in 6 7; do
		unshare --uts --net sh -c 'hostname node'$host'; for local in 0 1; do
			RANK=$((2 * '$host' - 12 + local)) LOCAL_RANK=$local WORLD_SIZE=4 LOCAL_WORLD_SIZE=2 TORCHELASTIC_RUN_ID=night \
				CUDA_VISIBLE_DEVICES=$local "'"$kerncast"'" run -q -o node'$host'.db "'"$demo"'" >/dev/null &
		done; wait'
	done
	"$kerncast" report node6.db node7.db >report.out
	cat report.out
	contains "$(<report.out)" "node6.db and 1 more: run 1,"
	equal "$(sed -n '/^Kernels/q; s/^    \(rank [0-9], [a-z0-9]*\) .*/\1/p' report.out | paste -sd /)" \
		"rank 0, node6/rank 1, node6/rank 2, node7/rank 3, node7"
	"$kerncast" report --json --rank 3 node6.db node7.db >chosen.json
	each=$(sql "SELECT count(*) / 2 FROM launch" node7.db)
	equal "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('chosen.json') AS TEXT), '\$.filter.launches')")" "$each"
	equal "$(sql "SELECT group_concat(DISTINCT command_line) FROM run" node6.db)" "$demo"
	contains "$("$kerncast" merge node6.db node7.db -o all.db)" "all.db: 2 databases, 1 new run, 4 processes, "
	equal "$(sql "SELECT group_concat(rank || ' ' || host || ' ' || launches, ', ') FROM (SELECT p.rank, p.host, count(*) AS launches
		FROM process p JOIN launch l ON l.process = p.id WHERE p.run = 1 GROUP BY p.id ORDER BY p.rank)" all.db)" \
		"0 node6 $each, 1 node6 $each, 2 node7 $each, 3 node7 $each" "ranks, hosts and launches"
	ledger_adds_up all.db
}

@test "srun's steps, by Slurm's variables: each is a run, whose files are gone at its end" {
	local before step rank
	before=$(left_in_memory)
	cat >srun.sh <<-END
		for rank in 0 1 2; do
			SLURM_PROCID=\$((4 + rank)) SLURM_LOCALID=\$rank SLURM_NTASKS=7 SLURM_JOB_ID=4711 SLURM_STEP_ID=\$1 \\
				SLURM_STEP_TASKS_PER_NODE='2(x2),3' SLURM_NODEID=2 "$kerncast" run "$demo" >/dev/null 2>\$1.\$rank.err &
		done
		wait
	END
	for step in 0 1; do
		sh srun.sh $step
	done
	equal "$(sql "SELECT count(*), group_concat(DISTINCT job) FROM process GROUP BY run")" $'3|slurm 4711.0\n3|slurm 4711.1'
	equal "$(sql "SELECT group_concat(rank || '/' || world_size) FROM (SELECT * FROM process WHERE run = 1 ORDER BY rank)")" "4/7,5/7,6/7"
	contains "$(cat 0.*.err)" "; 3 ranks"
	within "$(left_in_memory)" 0 "$before" "files left"
}

@test "what torchrun starts under kerncast run, by its variables: one run, and a killed rank is named" {
	cat >agent.sh <<-'END'
		for rank in 0 1 2 3; do
			if [ $rank = 2 ]; then program="$2"; else program="$1"; fi
			RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=4 LOCAL_WORLD_SIZE=4 GROUP_RANK=0 TORCHELASTIC_RUN_ID=night \
				TORCHELASTIC_RESTART_COUNT=0 MASTER_ADDR=localhost MASTER_PORT=29500 $program &
		done
		wait
	END
	"$kerncast" run sh agent.sh "$demo" "$build/awkward/children fork" >/dev/null 2>run.err
	cat run.err
	equal "$(sql "SELECT group_concat(rank || ' ' || local_rank || ' ' || world_size || ' ' || job, ', ') FROM (SELECT DISTINCT rank, local_rank,
		world_size, job FROM process ORDER BY rank)")" \
		"0 0 4 torchrun night, 1 1 4 torchrun night, 2 2 4 torchrun night, 3 3 4 torchrun night"
	equal "$(sql "SELECT count(*) FROM run")" 1
	contains "$(<run.err)" "kerncast: killed: rank 2 (pid $(sql "SELECT pid FROM process WHERE ended = 'killed'")); no launch that it had made is lost"
	ledger_adds_up
}
