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
	contains "$(<report.out)" " vector_add "
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
		contains "$(<out)" "vector_add"
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

# --- kernels of one name

by_kernel() { # COMMAND: kernels of its table by kernel that begin with "plugin", and what stands behind their names
	"$kerncast" "$1" --by kernel | sed -n 's/^  \(plugin\)[^][]*int)\( \[[^]]*\]\)*  .*/\1\2/p' | sort
}

# A plugin that is built anew while the program runs: its kernel has other code then, and 10 registers in place of 8.
@test "kernels of one name and other code are told apart in text, JSON, CSV and on the page" {
	local wanted=$'plugin_kernel(int*, int, int) [10 registers]\nplugin_kernel(int*, int, int) [8 registers]'
	"$kerncast" run -q "$build/matrix/sim/process_reload" >/dev/null
	equal "$(sql "SELECT name || ' [' || registers || ' registers]' FROM kernel ORDER BY 1")" "$wanted" "kernels"
	equal "$(by_kernel report)" $'plugin [10 registers]\nplugin [8 registers]' text # which may shorten the rest
	equal "$(by_kernel replay)" $'plugin [10 registers]\nplugin [8 registers]' replay
	equal "$("$kerncast" report --csv | sed -n 's/^"\(plugin[^"]*\)".*/\1/p' | sort)" "$wanted" CSV
	"$kerncast" report --json >report.json
	equal "$(sqlite3 :memory: "SELECT value ->> 'name' FROM json_each(CAST(readfile('report.json') AS TEXT), '\$.kernels') ORDER BY 1")" "$wanted" JSON
	"$kerncast" report --html page.html
	equal "$(grep -o 'plugin_kernel(int\*, int, int) \[[0-9]* registers\]' page.html | sort -u)" "$wanted" page
	# Where there is one, its name is enough.
	sql "UPDATE kernel SET name = 'another' WHERE registers = 8"
	equal "$(by_kernel report)" plugin
}

# As of kernels in unnamed namespaces of two files, which c++filt gives one name.
@test "diff and slow tell kernels apart whose mangled names read the same" {
	local side shown="same(int) [_Z6matmuliPKfS0_Pf]"
	for side in old new; do
		SIMCUDA_SEED=$((${#side} + 1)) "$kerncast" run -q -o $side.db -- "$build/demo-static-sim" >/dev/null
		sed 's/\*(350+3\*threads)/*(1050+3*threads)/' "$SIMCUDA_COSTS" >slower.costs # matmul's
		"$kerncast" report $side.db >/dev/null
		sql "UPDATE kernel SET name = 'same(int)' WHERE mangled GLOB '*matmul*' OR mangled GLOB '*stencil*'" $side.db
		export SIMCUDA_COSTS=$PWD/slower.costs
	done
	"$kerncast" diff old.db new.db >diff.out
	cat diff.out
	contains "$(grep -m 1 ' slower ' diff.out)" "$shown"
	contains "$("$kerncast" diff --md old.db new.db)" "$shown"
	"$kerncast" diff --json old.db new.db >diff.json
	equal "$(sqlite3 :memory: "SELECT value ->> 'name' FROM json_each(CAST(readfile('diff.json') AS TEXT), '\$.changes')")" "$shown"
	"$kerncast" slow --json new.db >slow.json
	equal "$(sqlite3 :memory: "SELECT count(*) FROM json_tree(CAST(readfile('slow.json') AS TEXT)) WHERE value = 'same(int)'")" 0 "kernels that are not told apart"
	# A baseline goes by the mangled name.
	"$kerncast" diff --baseline base.json old.db
	contains "$("$kerncast" diff --baseline base.json new.db)" "$shown"
}
