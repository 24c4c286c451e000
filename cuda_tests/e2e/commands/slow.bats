# kerncast slow: which launches took longer than they should, and why. Figures are of the simulated device.
# Runs in real time.
load ../common

program() { # SEED [CAUSE=KERNEL:AMOUNT]...
	SIMCUDA_SEED=$1 SIMCUDA_COSTS=$root/cuda_tests/slow/slow.costs "$kerncast" run -q -- "$build/slow/slow-sim" 100 "${@:2}" >/dev/null
}

slow() {
	"$kerncast" slow --json "$@" >slow.json
}

of_slow() { # EXPRESSION of the document j
	sqlite3 :memory: "WITH d AS (SELECT CAST(readfile('slow.json') AS TEXT) AS j) SELECT $1 FROM d"
}

lost_by() { # CAUSE: its launches and nanoseconds
	sqlite3 -separator ' ' :memory: "SELECT value ->> 'launches', round(value ->> 'lost_ns')
		FROM json_each(CAST(readfile('slow.json') AS TEXT), '$.causes') WHERE value ->> 'cause' = '$1'"
}

@test "injected causes, alone and in pairs: at least 90 % of each one's time found, and of what is found right" {
	"$root/scripts/slow-on-simulation" --build "$build" --seeds 1 --rounds 100 >figures || { cat figures; return 1; }
	contains "$(<figures)" "SIMULATED"
	equal "$(grep -c 'recall' figures)" 6 "causes"
}

@test "nothing injected: nothing is called slow, with earlier runs and without" {
	program 1
	program 2
	slow
	equal "$(of_slow "j -> 'earlier_runs'")" "[1]" "earlier runs"
	within "$(of_slow "100.0 * (j -> 'lost' ->> 'launches') / (j -> 'measured' ->> 'launches')")" 0 2 "percent of launches"
	within "$(of_slow "100.0 * (j -> 'lost' ->> 'ns') / (j -> 'measured' ->> 'ns')")" 0 1 "percent of time"
	slow --old none
	equal "$(of_slow "j -> 'earlier_runs'")" "[]" "earlier runs"
	within "$(of_slow "100.0 * (j -> 'lost' ->> 'launches') / (j -> 'measured' ->> 'launches')")" 0 2 "percent of launches"
	"$kerncast" slow >slow.out
	contains "$(<slow.out)" "None of 500 measured launches"
}

@test "the page: what is lost by cause, by kernel, and the launches that lost most" {
	program 1
	program 2
	program 3 slower=1:1.4 overlap=2:0.2
	"$kerncast" slow --old 1,2 >slow.out
	contains "$(<slow.out)" "SIMULATED"
	contains "$(<slow.out)" "compared with runs 1, 2 and with itself"
	slow --old 1,2
	# Every launch of kernel 1, of 43 us, has lost two sevenths of its time; the 20 of kernel 2 ran beside another.
	equal "$(lost_by slower_than_before | cut -d' ' -f1)" 100 "slower launches"
	within "$(lost_by slower_than_before | cut -d' ' -f2)" 1600000 1800000 "ns lost by being slower"
	equal "$(of_slow "j ->> '\$.causes[5].kernels[0].name'")" "void kernel_of_round<1>(int, float, float*)" "slower kernel"
	equal "$(of_slow "j ->> '\$.causes[2].kernels[0].beside[0].name' IN
		('void kernel_of_round<2>(int, float, float*)', 'void kernel_of_round<4>(int, float, float*)')")" 1 "what it ran beside"
	# 20 of kernel 2 and of the other one, unless the host was late.
	within "$(lost_by overlap | cut -d' ' -f1)" 20 40 "overlapped launches"
	# Parts add up to what is lost, and times of a launch to its duration in the database.
	equal "$(of_slow "abs((j -> 'lost' ->> 'ns') - (SELECT sum(value ->> 'lost_ns') FROM json_each(j, '\$.causes'))) < 2")" 1 "sum of the causes"
	equal "$(of_slow "(SELECT sum(abs((value ->> 'should_ns') + (value ->> 'lost_ns') - (value ->> 'took_ns')) > 1)
		FROM json_each(j, '\$.launches'))")" 0 "launches that do not add up"
	equal "$(sql "SELECT measured_end_ns - measured_start_ns FROM launch WHERE process = $(of_slow "j ->> '\$.launches[0].process'")
		AND sequence = $(of_slow "j ->> '\$.launches[0].sequence'")")" "$(of_slow "CAST(j ->> '\$.launches[0].took_ns' AS INTEGER)")" "duration of the worst launch"
	equal "$(of_slow "json_array_length(j, '\$.launches')")" "$(of_slow "j -> 'lost' ->> 'launches'")" launches
	slow --old 1,2 --top 3
	equal "$(of_slow "json_array_length(j, '\$.launches')")" 3 "launches with --top 3"
	# An overlapped launch takes twice the time.
	slow --old 1,2 --over 200
	equal "$(of_slow "j -> 'lost' ->> 'launches'")" 0 "launches that lost more than 200 %"
}

@test "processes on GPUs of several models: a launch is compared with those on its own model" {
	SIMCUDA_COSTS=$root/cuda_tests/slow/slow.costs "$kerncast" run -q -- sh -c '
		for device in H200 A100 H200 H200; do SIMCUDA_DEVICE=$device "$@"; done' - "$build/slow/slow-sim" 50 >/dev/null
	# The H200 has more SMs at a higher clock: 132 at 1.98 GHz beside 108.
	within "$(sql "SELECT 1.0 * avg(measured_end_ns - measured_start_ns) FILTER (WHERE device.name LIKE '%A100%') /
		avg(measured_end_ns - measured_start_ns) FILTER (WHERE device.name LIKE '%H200%')
		FROM launch JOIN device ON device.id = launch.device")" 1.15 9
	slow
	equal "$(of_slow "j -> 'measured' ->> 'launches'")" 1000 "measured launches"
	within "$(of_slow "100.0 * (j -> 'lost' ->> 'ns') / (j -> 'measured' ->> 'ns')")" 0 1 "percent of time"
	equal "$(lost_by drift)" "0 0.0" "drift"
}

slower_processes() { # of the first kernel: process number, launches and microseconds of each
	of_slow "(SELECT group_concat(p.value ->> 'pid' || ' ' || (p.value ->> 'launches') || ' ' || round((p.value ->> 'lost_ns') / 1e3))
		FROM json_each(j, '\$.causes') c, json_each(c.value, '\$.kernels[0].processes') p)"
}

# The second of four ranks takes 130 us in place of 100 us all through: 60 * 30 us = 1,800 us.
@test "a rank that is slower than the others throughout: what it lost, and which it is" {
	local ranks=("$root"/cuda_tests/traces/made/slow_rank_?.json.gz)
	"$kerncast" import "${ranks[@]}" -o four.db >/dev/null
	slow four.db
	within "$(lost_by slower_process | cut -d' ' -f2)" 1750000 1850000 "ns lost"
	equal "$(of_slow "(j -> 'lost' ->> 'launches') || ' ' || (SELECT group_concat(DISTINCT value ->> 'pid') FROM json_each(j, '\$.launches'))")" "60 2001" "slow launches"
	contains "$(slower_processes)" "2001 60 "
	"$kerncast" slow four.db >slow.out
	contains "$(<slow.out)" "slower rank or GPU"
	contains "$(<slow.out)" "lost in rank 1 (pid 2001) 1.8"
	contains "$(grep 'rank 1' slow.out | head -1)" "1.80 ms           0 ns  7.80 ms  +30.0 %        60  1        GPU 1  rank 1 (pid 2001)"
	equal "$(of_slow "(SELECT group_concat((value ->> 'name') || ' ' || round(value ->> 'slower') || ' ' || (value ->> 'others'))
		FROM json_each(j, '\$.processes'))")" "rank 1 (pid 2001) 30.0 3" "stragglers"
	"$kerncast" import "${ranks[@]:0:2}" -o two.db >/dev/null
	slow two.db
	within "$(lost_by slower_process | cut -d' ' -f2)" 1750000 1850000 "ns lost, of two"
	contains "$(slower_processes)" "2001 60 "
	equal "$(of_slow "j ->> '\$.processes[0].others'")" 1 "others, of two"
	"$kerncast" slow two.db >slow.out
	contains "$(<slow.out)" "slower than the only other one; which of the two is as it should be is not known"
}

# As above: 1,800 of 7,800 us are 23.1 %, and the others lost nothing of their 6,000.
@test "--by: what each rank and each GPU lost, the one that lost most first" {
	local by
	"$kerncast" import "$root"/cuda_tests/traces/made/slow_rank_?.json.gz -o four.db >/dev/null
	for by in rank process gpu; do
		"$kerncast" slow --by $by four.db >$by.out
		contains "$(<$by.out)" "Time lost: 1.80 ms of 25.8 ms (7.0 %)"
	done
	cmp rank.out process.out
	equal "$(grep -A 5 '^By rank or process' rank.out | sed 's/  */ /g')" "By rank or process: what its launches lost of what could be judged
 lost others waited share launches cause rank or process
 1.80 ms 0 ns 23.1 % 60 slower rank or GPU rank 1 (pid 2001)
 0 ns 0 ns 0.0 % 0 rank 0 (pid 2000)
 0 ns 0 ns 0.0 % 0 rank 2 (pid 2002)
 0 ns 0 ns 0.0 % 0 rank 3 (pid 2003)"
	equal "$(grep -A 5 '^By GPU' gpu.out | sed 's/  */ /g')" "By GPU: what its launches lost of what could be judged
 lost others waited share launches cause GPU
 1.80 ms 0 ns 23.1 % 60 slower rank or GPU GPU 1
 0 ns 0 ns 0.0 % 0 GPU 0
 0 ns 0 ns 0.0 % 0 GPU 2
 0 ns 0 ns 0.0 % 0 GPU 3"
	equal "$(grep -c '^By kernel\|^The launches' rank.out)" 0 "tables that it takes the place of"
	# By time the slow one is the first, too: 7,800 us; the filter chooses what is judged.
	"$kerncast" slow --by rank --sort time --top 1 --rank 1,2 four.db >two.out
	contains "$(<two.out)" "Filter: rank 1 or 2: 120 of 240 launches"
	contains "$(<two.out)" "rank 1 (pid 2001)"
	contains "$(<two.out)" "and 1 more (a larger --top shows them)"
	contains "$("$kerncast" slow --by gpu --gpu 'GPU 3' four.db)" 'Filter: GPU "GPU 3": 60 of 240 launches'
	slow four.db
	equal "$(of_slow "(SELECT group_concat((value ->> 'name') || ' ' || (value ->> 'judged_launches') || ' ' || round((value ->> 'judged_ns') / 1e5) || ' ' ||
		coalesce(value ->> 'cause', 'none')) FROM json_each(j, '\$.ranks'))")" \
		"rank 1 (pid 2001) 60 78.0 slower_process,rank 0 (pid 2000) 60 60.0 none,rank 2 (pid 2002) 60 60.0 none,rank 3 (pid 2003) 60 60.0 none"
	equal "$(of_slow "(SELECT group_concat(value ->> 'name') FROM json_each(j, '\$.gpus'))")" "GPU 1,GPU 0,GPU 2,GPU 3"
	slow --top 2 four.db
	equal "$(of_slow "(SELECT group_concat(value ->> 'name') FROM json_each(j, '\$.ranks'))")" "rank 1 (pid 2001),rank 0 (pid 2000)"
	keep wrong "$kerncast" slow --by kernel four.db
	equal "$(<wrong.status)" 2
	contains "$(<wrong.err)" '--by takes rank, process, gpu or step, not "kernel"'
}

# On GPU 2 of one process the kernel takes 120 us in place of 100: 60 * 20 us.
@test "a GPU of a process that is slower than its others" {
	{
		echo kind,start_ns,duration_ns,device,stream,grid_x,grid_y,grid_z,block_x,block_y,block_z,name
		for i in {1..60}; do
			for gpu in 0 1 2; do
				echo "kernel,$((i * 200000)),$(((gpu == 2 ? 120000 : 100000) + i % 7 * 20)),$gpu,7,8,1,1,64,1,1,gemm"
			done
		done
	} >trace.csv
	"$kerncast" import trace.csv >/dev/null
	slow
	equal "$(of_slow "(SELECT group_concat((value ->> 'gpu') || ' ' || (value ->> 'launches') || ' ' || round((value ->> 'lost_ns') / 1e4))
		FROM json_each(j, '\$.processes'))")" "GPU 2 60 120.0" "stragglers"
	equal "$(of_slow "j -> 'lost' ->> 'launches'")" 60 "launches that lost time"
}

@test "made ranks by 18 seeds: the slow one is named first, and since when; of healthy ones, and of those that do other work, none" {
	"$root/cuda_tests/slow/ranks.py" --build "$build" --sets 18 >sets || { cat sets; return 1; }
	equal "$(awk '{print $1, $2, $4}' sets | sort | xargs)" "healthy 2 2 kernel 2 2 kernel_0 2 2 kernel_1 2 2 midway 2 2 other_work 2 2 rank 6 6" "$(<sets)"
}

@test "live ranks by 8 seeds: slow and diff name first the rank that is slow, in all kernels or in one; where nothing is slow, none" {
	"$root/cuda_tests/slow/live_ranks.py" --build "$build" --sets 8 >sets || { cat sets; return 1; }
	equal "$(awk '{print $1, $2, $3, $4, $5}' sets | sort | paste -sd ,)" \
		"before 8 of 8 right,kernel diff 2 of 2,kernel slow 2 of 2,kernel_0 slow 1 of 1,kernel_1 diff 1 of 1,kernel_1 slow 1 of 1,other_work slow 1 of 1,rank diff 3 of 3,rank slow 3 of 3"
}

# Its kernel 1, of 43 us in the others.
@test "a live process of four that is slower than the others" {
	SIMCUDA_COSTS=$root/cuda_tests/slow/slow.costs "$kerncast" run -q -- sh -c '
		for cause in none slower=1:1.3 none none; do
			if [ $cause = none ]; then "$@"; else "$@" $cause; fi
		done' - "$build/slow/slow-sim" 50 >/dev/null
	slow
	within "$(of_slow "(j -> 'lost' ->> 'ns') - $(lost_by slower_process | cut -d' ' -f2)")" 0 100000 "ns lost otherwise"
	contains "$(slower_processes)" "$(sql 'SELECT pid FROM process ORDER BY id LIMIT 1 OFFSET 1') 50 "
	within "$(lost_by slower_process | cut -d' ' -f2)" 580000 700000 "ns lost"
}

# Kernel 1 of one takes 1 to 1.5 times its 43 us, as the run goes on.
@test "a process of four that becomes slower has drifted, and the others have not" {
	SIMCUDA_COSTS=$root/cuda_tests/slow/slow.costs "$kerncast" run -q -- sh -c '
		for cause in none drift=1:1.5 none none; do
			if [ $cause = none ]; then "$@"; else "$@" $cause; fi
		done' - "$build/slow/slow-sim" 100 >/dev/null
	slow
	equal "$(lost_by slower_process)" "0 0.0" "slower process"
	within "$(of_slow "(SELECT coalesce(sum(value ->> 'lost_ns'), 0) FROM json_each(j, '\$.launches') WHERE value ->> 'pid' <>
		$(sql 'SELECT pid FROM process ORDER BY id LIMIT 1 OFFSET 1'))")" 0 60000 "ns lost by the others"
	within "$(lost_by drift | cut -d' ' -f2)" 800000 1200000 "ns lost by drift"
}

@test "earlier runs on another device are left out, and said" {
	program 1
	SIMCUDA_DEVICE=H200 program 2
	slow
	equal "$(of_slow "j -> 'earlier_runs'")" "[]" "earlier runs"
	equal "$(of_slow "j ->> 'earlier_runs_on_other_devices'")" 1 "earlier runs that were left out"
	"$kerncast" slow >slow.out
	contains "$(<slow.out)" "1 earlier run on another device is left out"
	contains "$(<slow.out)" "compared with itself alone"
}

@test "what cannot be asked is said, with status 1 or 2" {
	keep none "$kerncast" slow nothing.db
	equal "$(<none.status)" 1 "exit status"
	KERNCAST_MEASURE=off program 1
	keep unmeasured "$kerncast" slow
	equal "$(<unmeasured.status)" 1 "exit status"
	contains "$(<unmeasured.err)" "run 1 has no measured launch"
	program 2
	keep nine "$kerncast" slow --run 9
	equal "$(<nine.status)" 1 "exit status"
	contains "$(<nine.err)" "no run 9"
	local wrong
	for wrong in "--run all" "--run x" "--old 2" "--old 1,x" "--top 0" "--top x" "--top -1" "--over x" "--floor 5"; do
		# shellcheck disable=SC2086
		keep wrong "$kerncast" slow $wrong
		equal "$(<wrong.status)" 2 "exit status of $wrong"
	done
	"$kerncast" slow >slow.out # without run 1, which has no measured launch
	contains "$(<slow.out)" "compared with itself alone"
}

# Each launches a kernel of 50 us twice; the second time of one takes 150.
@test "10,179 processes: which was slow, in seconds" {
	awk 'BEGIN { print "process,kind,start_ns,duration_ns,device_name,grid_x,grid_y,grid_z,block_x,block_y,block_z,stream,name"
		for (i = 0; i < 10179; i++) {
			print "p" i ",kernel,100,50000,GeForce GTX 950,4,1,1,64,1,1,1,k"
			print "p" i ",kernel,1000100," (i == 77 ? 150000 : 50000) ",GeForce GTX 950,4,1,1,64,1,1,1,k"
		} }' >rows.csv
	"$kerncast" import rows.csv >/dev/null
	(ulimit -t 4 && exec "$kerncast" slow --by process >slow.out)
	cat slow.out
	contains "$(<slow.out)" "Time lost: 100 µs of "
	contains "$(<slow.out)" "in 1 of "
	contains "$(grep -A 2 '^By rank or process' slow.out | tail -n 1)" "p77 (pid "
}

# Alone, "first" takes 100 us and "second" 40. Ten times at the same time: 130 and 40, which ends within it.
@test "what ran at the same time: what it would have taken one after the other, and took together" {
	{
		echo process,kind,stream,start_ns,duration_ns,grid_x,grid_y,grid_z,block_x,block_y,block_z,name
		for i in {1..30}; do
			echo "p,kernel,7,$((i * 1000000)),$((i > 20 ? 130000 : 100000)),8,1,1,64,1,1,first"
			echo "p,kernel,8,$((i * 1000000 + (i > 20 ? 20000 : 500000))),40000,8,1,1,64,1,1,second"
		done
	} >trace.csv
	"$kerncast" import trace.csv >/dev/null
	slow
	equal "$(of_slow "(j -> 'overlapped' ->> 'launches') || ' ' || round(j -> 'overlapped' ->> 'alone_ns') || ' ' || (j -> 'overlapped' ->> 'together_ns')")" \
		"20 1400000.0 1300000.0" "launches, one after the other, and together"
	"$kerncast" slow >slow.out
	contains "$(<slow.out)" "Kernels at the same time as others, 20 launches: one after the other they would have taken 1.40 ms, together they took 1.30 ms (100 µs saved)"
}

@test "a trace of a GPU: launches, streams and moments as in the trace" {
	local name=f
	{
		echo process,kind,stream,start_ns,duration_ns,grid_x,grid_y,grid_z,block_x,block_y,block_z,name
		for i in {1..40}; do
			echo "p,kernel,7,$((i * 100000)),$((i == 30 ? 50000 : 10000)),8,1,1,64,1,1,$name"
		done
		for i in {41..43}; do echo "p,kernel,7,$((i * 100000)),10000,8,1,1,64,1,1,too_few"; done
	} >trace.csv
	"$kerncast" import trace.csv >/dev/null
	"$kerncast" slow >slow.out
	contains "$(<slow.out)" "Time lost: 40.0 µs of 440 µs that could be judged (9.1 %), in 1 of 40 launches"
	contains "$(<slow.out)" "Not judged: 3 launches, 30.0 µs of the 470 µs measured (6.4 %); the last lines say why."
	slow
	equal "$(of_slow "(j -> 'judged' ->> 'launches') || ' ' || (j -> 'judged' ->> 'ns')")" "40 440000.0" "what was judged"
	equal "$(lost_by unexplained)" "1 40000.0" "launches and time not explained"
	equal "$(of_slow "(j ->> '\$.launches[0].after_ns') || ' ' || (j ->> '\$.launches[0].should_ns')")" "2900000 10000" "its moment and what should be"
}
