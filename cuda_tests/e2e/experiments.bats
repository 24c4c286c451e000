# The papers' programs (cuda_tests/experiments): that their kernels compute what
# they should, on the CPU, and that they run on the simulated device.
# Runs in real time.
load common

programs=(bsp cycles block_size boat_hull real_pairs)

on_device() { # COMMAND...
	SIMCUDA_COSTS=$root/cuda_tests/experiments/programs.costs "$@"
}

all_right() { # RESULTS PROGRAM ARG...
	local results=$1 program=$build/experiments/$2-cpu
	shift 2
	"$program" --repeat 2 "$@" >results.out || { cat results.out; return 1; }
	equal "$(grep -c ': right$' results.out)|$(wc -l <results.out)" "$results|$results" "right results, results"
}

algorithms() { # PROGRAM
	"$build/experiments/$1-cpu" --list | wc -l
}

@test "kernels compute what their references do, whatever the block (on the CPU)" {
	all_right $((2 * $(algorithms bsp))) bsp --size 70 --block 64,96
	all_right $((2 * $(algorithms cycles))) cycles --size 70 --block 32,256
	all_right $((2 * $(algorithms block_size))) block_size --size 70 --block 96,128
	all_right $((2 * $(algorithms boat_hull))) boat_hull --size 40 --block 64,160 --streams 2
	all_right $((2 * $(algorithms real_pairs))) real_pairs --size 70 --block 64,160 --particles 300 --filter-block 96
	# sublists of sublists; more elements than threads
	all_right 4 cycles --only list_ranking --size 1,2,300,5000
	all_right 3 bsp --only subarray --size 1,4095,50000
	# above a side of 1,024: Freivalds' check
	all_right 1 block_size --only lud --size 1025 --block 256 --repeat 1
}

@test "each program runs on the simulated device; its output is the same under kerncast, every launch measured" {
	local program launches=0

	for program in "${programs[@]}"; do
		rm -f kerncast.db
		on_device unchanged_under_run "$build/experiments/$program-sim" --size 128 --repeat 2
		grep -q ': not checked$' plain.out
		equal "$(grep -vc ': not checked$' plain.out)" 0 "results said to be checked"
		launches=$(counted kernels)
		equal "$(sql 'SELECT count(*), count(predicted_at_ns), count(measured_end_ns), min(simulated) FROM launch')" \
			"$launches|$launches|$launches|1" "$program: launches, predicted, measured, simulated"
		ledger_adds_up
	done
}

# By the rules of the simulated device (cuda_tests/simcuda/README.md, "Time"): a block of w warps uses w / 16 of an SM, and
# blocks whose shares sum to U > 1 take U times as long.
@test "sharing: every two kernels meet, and slow each other down by as much as the device's rules say" {
	local row a b least most

	SIMCUDA_COSTS=$root/cuda_tests/experiments/sharing.costs "$build/experiments/sharing-sim" --repeat 3 --us 500 >sharing.out
	awk '!NF { pairs = 1; next } { print >(pairs ? "pairs.csv" : "kernels.csv") }' sharing.out
	equal "$(wc -l <kernels.csv)|$(wc -l <pairs.csv)" "17|257" "lines: a heading, and 16 kernels or their pairs"
	equal "$(awk -F, 'NF != 16' kernels.csv)$(awk -F, 'NF != 18' pairs.csv)" "" "lines with other numbers of columns"
	equal "$(awk -F, 'NR > 1 && !($3 >= 2 * $2)' kernels.csv)" "" "kernels that leave no room for one like them"
	equal "$(awk -F, 'NR > 1 && $8 != 0' kernels.csv)" "" "kernels that spill registers"
	# pair, least and most slowdown of the first: 8 + 8 and 16 + 16 and 16 + 8 and 4 + 4 warps
	for row in "l1_16 shared 0.9 1.1" "l2 atomics 1.8 2.2" "l2 l1_48 1.35 1.65" "fma_1 fma_8 0.9 1.1"; do
		read -r a b least most <<<"$row"
		awk -F, -v a="$a" -v b="$b" -v least="$least" -v most="$most" \
			'$1 == a && $2 == b { found = $12 >= least && $12 <= most; print } END { exit !found }' pairs.csv ||
			{ echo "$a beside $b: not $least to $most"; return 1; }
	done
}

# Of each algorithm's kernels, launches beside a particle filter's that were put in first, and that were not.
@test "real pairs: the particle filter is second, then first, and they meet on the device" {
	local name behind

	# knn is one kernel of 11 µs: on a busy machine the filter's first launch often comes too late for it
	on_device "$kerncast" run -q "$build/experiments/real_pairs-sim" --repeat 40 >pairs.out
	for name in knn pathfinder hotspot_kernel hotspot_3d bfs srad lud; do
		for behind in behind overtaken; do
			within "$(sql "SELECT count(*) FROM launch l JOIN kernel k ON k.id = l.kernel
				WHERE k.mangled LIKE '%$name%' AND l.overlap = '$behind'")" 1 10000 "$name $behind"
		done
	done
}

@test "wrong use is said, with status 2" {
	local arguments

	for arguments in "--block 33" "--block 2048" "--size 0" "--size 1,x" "--only nothing" "--repeat" "--unknown"; do
		# shellcheck disable=SC2086
		keep wrong "$build/experiments/bsp-cpu" $arguments
		equal "$(<wrong.status)" 2 "status of $arguments"
		contains "$(<wrong.err)" "bsp: "
	done
	keep help "$build/experiments/bsp-cpu" --help
	equal "$(<help.status)" 0
	contains "$(<help.out)" "--streams"
}
