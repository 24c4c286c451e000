# Names of kernels: an application records what its driver calls them; commands show what their authors called them.
load ../common

names() { # of the kernels that have mangled ones, in one line
	sql "SELECT group_concat(name, '|') FROM (SELECT DISTINCT name FROM kernel WHERE mangled LIKE '\_Z%' ESCAPE '\' ORDER BY mangled)"
}

mangled() {
	sql "SELECT group_concat(mangled, '|') FROM (SELECT DISTINCT mangled FROM kernel WHERE mangled LIKE '\_Z%' ESCAPE '\' ORDER BY mangled)"
}

readable() { # what binutils make of the names
	mangled | tr '|' '\n' | c++filt | paste -sd '|'
}

recorded() { # a database that no command has opened
	preloaded "$build/demo-static-sim" --rounds 3 >/dev/null 2>&1
	equal "$(names)" "$(mangled)" "names as recorded"
	contains "$(mangled)" "_Z"
}

@test "the library writes the driver's names, the first report readable ones" {
	recorded
	"$kerncast" report --by kernel >report.out
	equal "$(names)" "$(readable)" "names after a report"
	contains "$(<report.out)" "vector_add(int, "
	equal "$(grep -c _Z report.out)" 0 "mangled names in the report"
	preloaded "$build/demo-static-sim" --rounds 1 >/dev/null 2>&1
	equal "$(names)" "$(readable)" "names after another run"
}

@test "kerncast run, quiet or not, leaves readable names" {
	"$kerncast" run -q "$build/demo-static-sim" --rounds 1
	equal "$(names)" "$(readable)" "names after kerncast run -q"
}

@test "what a killed process left has readable names after kerncast recover" {
	LD_PRELOAD=$library "$build/demo-static-sim" --threads 2 --rounds 100000 >/dev/null 2>&1 3>&- &
	local pid=$! looks
	for ((looks = 0; looks < 500; looks++)); do
		(($(counted launches) < 100)) || break
		sleep 0.02
	done
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null || true
	"$kerncast" recover >/dev/null
	equal "$(names)" "$(readable)" "names after recover"
}

@test "a database that cannot be written: all commands show readable names, and leave it as it is" {
	recorded
	sql 'PRAGMA wal_checkpoint(TRUNCATE)' >/dev/null
	local folder command as_nobody=()
	folder=$(mktemp -d) # bats' own folders are closed to others
	cp kerncast.db "$folder"
	chmod 444 "$folder/kerncast.db"
	chmod 755 "$folder"
	((EUID != 0)) || as_nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	"${as_nobody[@]}" test -x "$kerncast" || skip "the build folder is closed to ordinary users"
	for command in "report --by kernel" "report --json" "replay --by kernel" "replay --json" "export --csv" "export --chrome"; do
		"${as_nobody[@]}" "$kerncast" $command "$folder/kerncast.db" >out
		contains "$(<out)" "vector_add(int, "
		equal "$(grep -c _Z out)" 0 "mangled names of $command"
	done
	cmp kerncast.db "$folder/kerncast.db"
	rm -rf "$folder"
}

@test "names of kilobytes and names that would be gigabytes: shown or left, within seconds" {
	recorded
	sql "WITH RECURSIVE
		d(n, text) AS (SELECT 0, '_Z1f1pIiiE' UNION ALL
			SELECT n + 1, text || 'S_IS' || substr('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ', n + 1, 1)
				|| '_S' || substr('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ', n + 1, 1) || '_E' FROM d WHERE n < 30),
		p(n, text) AS (SELECT 0, '_Z1f' UNION ALL SELECT n + 1, text || 'PFPFPFPFPFPFPFPF' FROM p WHERE n < 2000),
		i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 300)
		INSERT INTO kernel(mangled, name, name_pending, module, code_hash, registers, static_shared_bytes)
			SELECT text, text, 1, 'hostile', i.n, 1, 0 FROM i,
			(SELECT text FROM (SELECT text FROM d ORDER BY n DESC LIMIT 1) UNION ALL
			SELECT text FROM (SELECT text FROM p ORDER BY n DESC LIMIT 1))"
	local began=$SECONDS round
	"$kerncast" report --by kernel >/dev/null
	within $((SECONDS - began)) 0 20 "seconds"
	for ((round = 0; round < 20; round++)); do # a command takes a second at most for names; on a busy machine others go on
		[[ $(sql "SELECT sum(name_pending) FROM kernel") != 0 ]] || break
		"$kerncast" report >/dev/null
	done
	equal "$(sql "SELECT count(*), min(length(name)), max(length(name)), sum(name_pending) FROM kernel
		WHERE module = 'hostile' AND name LIKE 'f(p<int, int>, p<p<int%'")" "300|4095|4095|0"
	equal "$(sql "SELECT count(*), sum(name_pending) FROM kernel WHERE module = 'hostile' AND name = '_Z1f' || substr(mangled, 5, 4091)")" \
		"300|0"
}
