# Ranges of NVTX in programs (cuda_tests/ranges): which of them a launch was made in. Each program knows it by itself.
load ../common

ranges=$build/ranges

setup_file() {
	[[ -x $build/ranges/ranges ]] || skip "this CUDA toolkit has no headers of NVTX"
}

agree() { # DATABASE LOG
	"$kerncast" report --by range --csv "$1" >range.csv
	python3 "$root/cuda_tests/e2e/ranges/ranges.py" "$2" "$1" range.csv
}

names_of() { # DATABASE [CONDITION]: name, launches whose innermost it is
	sql "SELECT s.name, count(*) FROM launched_in i JOIN scope s ON s.process = i.id >> 40 AND s.local = i.scope
		JOIN process p ON p.id = s.process WHERE ${2-1} GROUP BY 1 ORDER BY 1" "$1"
}

@test "ranges of threads, domains, registered and wide texts, of a late library, across each other: as the program says" {
	for seed in 1 2 3 4; do
		rm -f kerncast.db*
		keep run "$kerncast" run -q "$ranges/ranges" $((seed * 2)) 6 $seed "$ranges/late.so"
		equal "$(<run.status)" 0 "status of seed $seed ($(<run.err))"
		within "$(wc -l <run.out)" 100 10000 "launches"
		agree kerncast.db run.out || return 1
	done
	ledger_adds_up
}

@test "what a killed process was in comes in with its launches" {
	"$kerncast" run -q "$ranges/ranges" 4 6 5 "$ranges/late.so" >whole.out
	equal "$(sql "SELECT count(*) FROM launched_in i LEFT JOIN launch_row r USING (id) WHERE r.id IS NULL")" 0 "launches without a row"
	# The journal alone has all of it: the database cannot be written before the end.
	LD_PRELOAD=$library NVTX_INJECTION64_PATH=$library KERNCAST_QUIET=1 KERNCAST_DB=$PWD/k.db \
		"$ranges/ranges" 4 6 5 "$ranges/late.so" killed >killed.out || true
	[[ ! -e k.db ]] || equal "$(sql "SELECT count(*) FROM process WHERE ended = 'exit'" k.db)" 0 "processes that exited"
	"$kerncast" recover k.db >/dev/null
	agree k.db killed.out
}

@test "a million names are bounded: further ones are told of together, and counted" {
	keep run "$kerncast" run "$ranges/names" 1000000
	equal "$(<run.status)" 0 "status ($(<run.err))"
	contains "$(<run.err)" "65,536 names of ranges"
	within "$(sql "SELECT count(*) FROM scope")" 60000 65536 "rows of scopes"
	# 1,000 and 999 launches in "inner", as far as there was room in a range of its own, else in (others).
	equal "$(sql "SELECT count(*) FROM launched_in")" 1999 "launches in ranges"
	equal "$(sql "SELECT count(*) FROM launched_in i JOIN scope s ON s.process = i.id >> 40 AND s.local = i.scope
		WHERE s.name != 'inner'")" 0 "outside of inner"
	equal "$(sql "SELECT count(*) FROM launched_in i JOIN scope s ON s.process = i.id >> 40 AND s.local = i.scope
		JOIN scope o ON o.process = s.process AND o.local = s.parent WHERE o.name LIKE 'iteration % of many' OR o.name = '(others)'")" 1999 "in a range of its own, or in others"
	within "$(sql "SELECT count(*) FROM scope WHERE name LIKE 'iteration %'")" 30000 65536 "kept names"
	within "$(sql "SELECT count FROM ledger WHERE item = 'ranges_others'")" 900000 2000000 "counted ones"
}

@test "a child of fork() begins in the ranges that its thread was in" {
	for i in 1 2 3; do
		rm -f kerncast.db*
		keep run "$kerncast" run -q "$ranges/forks"
		equal "$(<run.status)" 0 "status ($(<run.err))"
		equal "$(names_of kerncast.db)" $'child|3\nparent|2'
		equal "$(sql "SELECT DISTINCT p.name FROM launched_in i JOIN scope s ON s.process = i.id >> 40 AND s.local = i.scope
			JOIN scope p ON p.process = s.process AND p.local = s.parent")" before "what held them"
		equal "$(sql "SELECT count(*) FROM launch")" 6 "launches"
	done
}

@test "another tool's NVTX_INJECTION64_PATH stays, and doctor says so" {
	local other=$ranges/counting.so
	keep run env NVTX_INJECTION64_PATH="$other" "$kerncast" run -q "$ranges/names" 10
	equal "$(<run.out)" "counted: 20 pushed, 20 popped"
	equal "$(sql "SELECT count(*) FROM launch")" 10 "launches"
	equal "$(sql "SELECT count(*) FROM launched_in")" 0 "launches in ranges"
	contains "$(NVTX_INJECTION64_PATH=$other "$kerncast" doctor 2>&1 || true)" "NVTX_INJECTION64_PATH names $other"
	contains "$("$kerncast" doctor 2>&1 || true)" "kerncast run gets the program's ranges"
}

@test "where kerncast is off or not preloaded, NVTX does without a tool, and nothing is said" {
	for variables in "" "KERNCAST_DISABLE=1 LD_PRELOAD=$library" "CUDA_INJECTION64_PATH=$build/nothing.so"; do
		keep off env $variables NVTX_INJECTION64_PATH="$library" "$ranges/ranges" 2 2 1 "$ranges/late.so"
		equal "$(<off.status)" 0 "status with $variables"
		equal "$(<off.err)" "" "what is said with $variables"
		equal "$(ls ./*.db ./*.kcj 2>/dev/null)" "" "files with $variables"
	done
}

@test "where the driver loads the library, ranges are known, too, also those from before" {
	CUDA_INJECTION64_PATH=$library NVTX_INJECTION64_PATH=$library KERNCAST_QUIET=1 "$ranges/ranges" 3 4 9 "$ranges/late.so" >run.out
	agree kerncast.db run.out
}

@test "kernels of a graph are in the ranges of its launch" {
	keep run "$kerncast" run -q "$ranges/graphs"
	equal "$(<run.status)" 0 "status ($(<run.err))"
	equal "$(names_of kerncast.db)" $'one|3\ntwo|6'
}

@test "ProfilerStep#N is a step, not a range" {
	"$kerncast" run -q "$ranges/graphs" steps
	equal "$("$kerncast" report --by step --csv kerncast.db | tr -d '\r' | cut -d, -f2,5)" $'number,launches\n3,1\n4,2\n,1'
	equal "$(names_of kerncast.db)" "inner|2"
}
