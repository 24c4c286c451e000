# Where the time of GPUs and streams went: of a program whose gaps have known reasons, of traces, and of runs of which
# not everything was measured.
load ../common

# Of a list of activity ($.activity.devices or .streams), by its place: a key, in ms
ms() { # LIST PLACE KEY
	sqlite3 :memory: "SELECT json_extract(CAST(readfile('report.json') AS TEXT), '\$.activity.$1[$2].$3') / 1e6"
}

place_of() { # NAME of a stream
	sqlite3 :memory: "SELECT key FROM json_each(CAST(readfile('report.json') AS TEXT), '\$.activity.streams')
		WHERE value ->> 'name' = '$1'"
}

# Whatever was recorded, the parts are the whole to the nanosecond.
adds_up() { # [DB [ARG...]]
	"$kerncast" report --json "${@:2}" "${1:-kerncast.db}" >report.json
	equal "$(sqlite3 :memory: "WITH j AS (SELECT CAST(readfile('report.json') AS TEXT) AS j),
		u AS (SELECT value AS v FROM j, json_each(j, '\$.activity.devices')
			UNION ALL SELECT value FROM j, json_each(j, '\$.activity.streams'))
		SELECT count(*) FROM u WHERE v ->> 'span_ns' <> (v ->> 'busy_ns') + (v ->> 'idle_ns')
			OR v ->> 'busy_ns' <> (v ->> 'kernels_ns') + (v ->> 'copies_only_ns')
			OR v ->> 'idle_ns' <> coalesce(v ->> 'idle_launch_bound_ns', 0)
				+ coalesce(v ->> 'idle_launched_ns', 0) + (v ->> 'idle_unknown_ns')")" 0 "times that do not add up"
}

# A kernel takes 100 ms, a copy 0.1 ms (2.5 MB at 25 GB/s), the sleep 200 ms. What the host adds between them is its own, and
# is launch-bound; what the stand-in adds after a call is some microseconds, unless its thread has to wait for a processor.
late=40 # ms that a busy machine may be late, all in all
run_gaps() { # [ARG...]: of kerncast run
	echo '*awkward* 1.41e8 0' >costs # cycles of the only block: 100 ms at 1.41 GHz
	SIMCUDA_COSTS=$PWD/costs SIMCUDA_NOISE=0 "$kerncast" run -q "$@" "$build/awkward/gaps" 2500000 200
}

@test "a program whose gaps are known: what ran, and what the GPU waited for" {
	local one two
	run_gaps
	adds_up
	within "$(ms devices 0 kernels_ns)" 399.9 401 "kernels of the GPU"
	within "$(ms devices 0 copies_only_ns)" 0.09 0.12 "of two copies, the one beside no kernel"
	within "$(ms devices 0 idle_launch_bound_ns)" 200 $((200 + late)) "launch-bound"
	within "$(ms devices 0 idle_launched_ns)" 0 $late "launches on their way to the GPU"
	one=$(place_of 'stream 1')
	two=$(place_of 'stream 2')
	# Between its kernels, the host waited for stream two, slept and copied before it launched.
	within "$(ms streams "$one" kernels_ns)" 199.9 201
	within "$(ms streams "$one" idle_launch_bound_ns)" 300 $((300 + late)) "stream one, launch-bound"
	within "$(ms streams "$one" idle_launched_ns)" 0 $late "stream one, launched"
	# Its second kernel was launched early, and waited for stream one.
	within "$(ms streams "$two" kernels_ns)" 199.9 201
	within "$(ms streams "$two" copies_only_ns)" 0.18 0.24
	within "$(ms streams "$two" idle_launched_ns)" $((100 - late)) 101 "stream two, waiting for stream one"
	within "$(ms streams "$two" idle_launch_bound_ns)" 200 $((200 + 2 * late)) "stream two, launch-bound"
	"$kerncast" report >page
	grep -q '^    busy .* %: kernels .* %, copies only .* %$' page
	grep -q '^    idle .* %: launch-bound .* % (waiting for the host), already launched .* %$' page
	grep -q '^  stream 2 .* %$' page
}

# The kernels run for 200 ms, the host is busy for 700 ms: that it then waits for them, and comes back at once, is no cause.
@test "a host that waits when the GPU has long been idle was late, and did not wait for it" {
	echo '*awkward* 1.41e8 0' >costs
	SIMCUDA_COSTS=$PWD/costs SIMCUDA_NOISE=0 "$kerncast" run -q "$build/awkward/gaps" 1000 700 busy
	equal "$(report '$.activity.gaps[0].next')" HtoD "what ran next"
	equal "$(report '$.activity.gaps[0].cause')" host_late "cause"
	within "$(report '$.activity.gaps[0].ns')" 400000000 9000000000 "ns of the gap"
	local waited
	waited=$(report '$.activity.gaps[0].waited_ns')
	within "${waited:-0}" 0 200000000 "ns that the host waited"
}

@test "copies that were not measured take no time that is known" {
	run_gaps --measure kernels
	equal "$(report '$.activity.copies_measured')" 0 "copies were measured"
	equal "$(report '$.activity.devices[0].copies_only_ns')" "" "time of copies"
	"$kerncast" report >page
	grep -q '^    busy .* %: kernels .* %, copies were not measured (--measure=kernels)$' page
	grep -q '^  0 kernels and 2 copies without a measured time count as idle$' page
}

@test "where nothing was measured, nothing is said about the time" {
	"$kerncast" run -q --measure off "$build/demo-static-sim" --rounds 3
	"$kerncast" report >page
	equal "$(grep -c '^GPU time' page)" 0 "headings"
	equal "$(report '$.activity')" \
		'{"copies_measured":true,"copies":[],"devices":[],"processes":[],"streams":[],"idle_causes":[],"gaps":[]}'
}

@test "what was left out of a recording counts as idle, which is said" {
	"$kerncast" run -q --kernel saxpy "$build/demo-static-sim" --rounds 10
	adds_up
	"$kerncast" report >page
	grep -q "^  $(report '$.ledger.not_asked') kernels and $(report '$.ledger.transfers_not_asked') copies without a measured time count as idle$" page
}

@test "processes of a run share a GPU: it is busy as long as their kernels together" {
	echo '*awkward* 1.41e8 0' >costs
	SIMCUDA_COSTS=$PWD/costs SIMCUDA_NOISE=0 "$kerncast" run -q sh -c \
		"'$build/awkward/gaps' 1000 10 & '$build/awkward/gaps' 1000 10; wait"
	adds_up
	equal "$(report '$.activity.devices[0].kernels')" 8 kernels
	equal "$(sql "SELECT count(DISTINCT process) FROM launch")" 2 processes
	equal "$(report '$.activity.devices[0].span_ns')" "$(sql "SELECT max(e) - min(s) FROM (
		SELECT measured_start_ns AS s, measured_end_ns AS e FROM launch UNION ALL
		SELECT measured_start_ns, measured_end_ns FROM transfer)")" "from the first start to the last end"
	within "$(ms devices 0 kernels_ns)" 400 799 "kernels side by side"
}

trace() { # ROW...
	printf '%s\n' kind,start_ns,duration_ns,launch_ns,device_name,grid_x,grid_y,grid_z,block_x,block_y,block_z,stream,name "$@"
}

times() { # LIST: the times of its first element
	sqlite3 :memory: "SELECT group_concat(coalesce(u.atom, 'null'), ' ')
		FROM json_each(CAST(readfile('report.json') AS TEXT), '\$.activity.$1[0]') u WHERE u.key GLOB '*_ns'"
}

# span, busy, kernels, computing, communication, hidden, exposed, copies only, idle, launch-bound, launched, unknown
@test "traces: launch times that are known, that are not, and that some rows have" {
	trace 'kernel,1000,500,900,G,1,1,1,1,1,1,7,f' 'kernel,4000,1000,3500,G,1,1,1,1,1,1,7,f' \
		'memcpy,6000,200,5100,G,,,,,,,7,HtoD' >known.csv
	trace 'kernel,1000,500,,G,1,1,1,1,1,1,7,f' 'kernel,4000,1000,,G,1,1,1,1,1,1,7,f' >unknown.csv
	trace 'kernel,1000,500,900,G,1,1,1,1,1,1,7,f' 'kernel,4000,1000,,G,1,1,1,1,1,1,7,f' \
		'kernel,6000,200,5100,G,1,1,1,1,1,1,7,f' >some.csv
	for name in known unknown some; do
		"$kerncast" import "$name.csv" -o "$name.db" >/dev/null
		"$kerncast" report "$name.db" >"$name.page"
	done
	adds_up known.db
	equal "$(times devices)" "5200 1700 1500 1500 0 0 0 200 3500 2100 1400 0" known
	adds_up unknown.db
	equal "$(times devices)" "4000 1500 1500 1500 0 0 0 0 2500 null null 2500" unknown
	equal "$(times streams)" "4000 1500 1500 1500 0 0 0 0 2500 null null 2500" "unknown, of the stream"
	grep -q '^    idle 62.5 %: launch times are not known$' unknown.page
	grep -q '^    busy 37.5 %: kernels 37.5 %, no copies were recorded$' unknown.page
	adds_up some.db
	equal "$(times devices)" "5200 1700 1700 1700 0 0 0 0 3500 100 900 2500" some
	grep -q '^    idle 67.3 %: launch-bound 1.9 % (waiting for the host), already launched 17.3 %, unknown 48.1 %$' some.page
}

# On GPU 0, in us: 1 to 2, NCCL 1.5 to 3.5, 5 to 6, launched at 4.8; on GPU 1: 1 to 1.5 and 3 to 3.5, launched at 2.9.
@test "two ranks on two GPUs, by hand: each is told once, with what is hidden and exposed" {
	printf '%s\n' kind,start_ns,duration_ns,launch_ns,device,device_name,process,grid_x,grid_y,grid_z,block_x,block_y,block_z,stream,name \
		kernel,1000,1000,900,0,G,1,1,1,1,1,1,1,7,gemm kernel,1500,2000,1400,0,G,1,1,1,1,1,1,1,8,ncclDevKernel_AllReduce \
		kernel,5000,1000,4800,0,G,1,1,1,1,1,1,1,7,gemm kernel,1000,500,900,1,G,2,1,1,1,1,1,1,7,gemm \
		kernel,3000,500,2900,1,G,2,1,1,1,1,1,1,7,relu >two.csv
	"$kerncast" import two.csv -o two.db >/dev/null
	adds_up two.db
	equal "$(times devices)" "5000 3500 3500 2000 2000 500 1500 0 1500 1300 200 0" "GPU 0"
	equal "$(report '$.activity.gaps[0].late_ns' two.db) $(report '$.activity.gaps[1].late_ns' two.db)" "1300 1400" "late"
	"$kerncast" report two.db >page
	grep -q '^    computing 40.0 %, communication 40.0 %: exposed 30.0 %, hidden by computing 10.0 % (copies hide none)$' page
	grep -q '^    GPU 1, two.csv, process 2 (pid 2), stream 7; after gemm, two.csv, process 2 (pid 2), stream 7$' page
}

@test "recorded traces of GPUs: the times add up" {
	local file
	for file in "$reduced"/traces/*/*.csv.gz; do
		"$kerncast" import "$file" -o all.db >/dev/null
	done
	adds_up all.db --run all
	within "$(sqlite3 :memory: "SELECT json_array_length(CAST(readfile('report.json') AS TEXT), '$.activity.devices')")" 2 999
}

@test "copies of recorded traces: number, bytes and time of each kind as added up from the trace, to nine digits" {
	local trace
	for trace in apps/gtx1080ti pytorch/hta_nccl_a100 pytorch/kineto_resnet50_autograd_nw0; do
		rm -f one.db
		"$kerncast" import "$reduced/traces/$trace.csv.gz" -o one.db >/dev/null
		"$kerncast" report --json one.db >report.json
		python3 - "$reduced/traces/$trace.csv.gz" >added <<-'END'
			import collections, csv, gzip, re, sys
			sums = collections.defaultdict(lambda: [0, 0, 0])
			for row in csv.DictReader(gzip.open(sys.argv[1], "rt")):
			    if row["kind"] != "kernel":
			        kind = re.search("HtoD|DtoH|DtoD|PtoP|memset|$", row["name"], re.I).group().lower()
			        sums[kind] = [a + b for a, b in zip(sums[kind], (1, int(row["bytes"] or 0), int(row["duration_ns"])))]
			for kind, of in sorted(sums.items()):
			    print(kind, *of[:2], f"{of[2]:.9g}", f"{of[1] / of[2]:.3f}", sep="|")
		END
		sqlite3 :memory: "SELECT lower(value ->> 'kind'), value ->> 'count', value ->> 'bytes',
			format('%.9g', value ->> 'ns'), format('%.3f', (value ->> 'bytes_per_s') / 1e9)
			FROM json_each(CAST(readfile('report.json') AS TEXT), '\$.activity.copies') ORDER BY 1" >told
		diff added told
	done
}

# Of what was recorded, as CSV: launches, transfers, and when the host came back from waiting.
rows_of() { # DB
	sqlite3 -batch -bail -csv -header "$1" "SELECT p.boot_id AS clock, l.process, l.device, l.stream, 'kernel' AS kind,
			l.measured_start_ns AS start_ns, l.measured_end_ns AS end_ns, l.launched_ns AS launch_ns, k.name
			FROM launch l JOIN process p ON p.id = l.process JOIN kernel k ON k.id = l.kernel WHERE l.measured_end_ns NOT NULL
		UNION ALL SELECT p.boot_id, t.process, t.device, t.stream, t.kind, t.measured_start_ns, t.measured_end_ns, t.launched_ns, ''
			FROM transfer t JOIN process p ON p.id = t.process WHERE t.measured_end_ns NOT NULL
		UNION ALL SELECT p.boot_id, p.id, 0, 0, 'wait', p.started_ns + c.time_ns - c.ns, p.started_ns + c.time_ns, NULL, ''
			FROM stream_call c JOIN process p ON p.id = c.id >> 40 WHERE c.kind IN (1, 2) AND c.ns NOT NULL" | tr -d '\r'
}

added_up() { # REPORT ROWS COUNT: the script found that many rows and no difference
	"$root/cuda_tests/e2e/time_use.py" "$1" "$2" >different || { cat different; return 1; }
	grep -q "^$3 rows, .*, different: 0$" different || { cat different; return 1; }
}

@test "busy, communication, copies and gaps of recorded traces are those of another computation, to the nanosecond" {
	local trace
	for trace in apps/gtx1080ti=4000 two_streams/mem_mem_pairs=1600 pytorch/hta_nccl_a100=1500 pytorch/param_dlrm_v100_w0=261 \
		pytorch/hta_sampled_rank0=1204 pytorch/kineto_resnet50_v100_a=2500; do
		rm -f one.db
		"$kerncast" import "$reduced/traces/${trace%=*}.csv.gz" -o one.db >/dev/null
		"$kerncast" report --json one.db >report.json
		added_up report.json "$reduced/traces/${trace%=*}.csv.gz" "${trace#*=}"
	done
}

@test "busy, copies and gaps of recorded programs are those of another computation: the demo, two processes, known gaps" {
	"$kerncast" run -q -o demo.db "$build/demo-static-sim"
	run_gaps -o gaps.db
	"$kerncast" run -q -o two.db sh -c "'$build/demo-static-sim' --rounds 20 & '$build/demo-static-sim' --rounds 20; wait"
	for db in demo gaps two; do
		"$kerncast" report --json "$db.db" >"$db.json"
		rows_of "$db.db" >"$db.csv"
		added_up "$db.json" "$db.csv" "$(($(wc -l <"$db.csv") - 1))"
	done
	within "$(wc -l <demo.csv)" 2500 9999 "rows of the demo"
	equal "$(sqlite3 :memory: "SELECT json_array_length(CAST(readfile('two.json') AS TEXT), '$.activity.processes')")" 2 "processes"
}

@test "a run of too many launches is read for an exact report only" {
	"$kerncast" run -q "$build/demo-static-sim" --rounds 3
	sql "UPDATE ledger SET count = 2000001 WHERE item = 'measured'"
	equal "$(report '$.activity')" ""
	"$kerncast" report >page
	grep -q -- '--exact reads all of them$' page
	"$kerncast" report --exact >page
	grep -q '^    busy ' page
}
