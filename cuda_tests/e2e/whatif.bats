# kerncast whatif: what a recorded run would take on another GPU, on made traces and on the simulated device.
load common

json() { # PATH [FILE]
	sqlite3 :memory: "SELECT json_extract(CAST(readfile('${2:-there.json}') AS TEXT), '$1')"
}

each() { # CONDITION over the kernels [FILE]: how many hold
	sqlite3 :memory: "WITH kernel AS (SELECT json_extract(value, '$.here_ns') AS here, json_extract(value, '$.there_ns') AS ns,
		json_extract(value, '$.there_low_ns') AS low, json_extract(value, '$.there_high_ns') AS high,
		json_extract(value, '$.answer') AS answer, json_extract(value, '$.evidence') AS evidence,
		json_extract(value, '$.name') AS name FROM json_each(CAST(readfile('${2:-there.json}') AS TEXT), '$.kernels'))
		SELECT count(*) FROM kernel WHERE $1"
}

there() { # NAME [FILE]: time of a kernel on the other GPU
	sqlite3 :memory: "SELECT json_extract(value, '$.there_ns') FROM json_each(CAST(readfile('${2:-there.json}') AS TEXT), '$.kernels')
		WHERE json_extract(value, '$.name') = '$1'"
}

trace() { # GPU OUT ROW...: a database of kernels, each "name blocks µs", one after the other with 1 µs between them
	local gpu=$1 out=$2 start=0 row fields
	shift 2
	echo process,device,device_name,stream,kind,start_ns,duration_ns,grid_x,grid_y,grid_z,block_x,block_y,block_z,registers,name >"$out.csv"
	for row in "$@"; do
		read -ra fields <<<"$row"
		echo "0,0,$gpu,1,kernel,$start,$((1000 * fields[2])),${fields[1]},1,1,256,1,1,32,${fields[0]}" >>"$out.csv"
		start=$((start + 1000 * fields[2] + 1000))
	done
	"$kerncast" import "$out.csv" -o "$out" >/dev/null
}

# A K20 holds 13 × 8 of these blocks, a K40 15 × 8, at 705.5 and 745 MHz. Of 1,000 blocks, 10 ms leave memory 8 kB for each
# thread: the time goes with √(1 + waves²) and the clock.
@test "by law: waves and clock, a 90 % range, and the time without kernels stays" {
	trace "Tesla K20c" k20.db "first 1000 10000" "second 2000 20000"
	"$kerncast" whatif --device k40 --json k20.db >there.json
	within "$(there first)" "$(awk 'BEGIN { print 1e7 * sqrt(1 + (1000 / 120) ^ 2) / sqrt(1 + (1000 / 104) ^ 2) * 705.5 / 745 - 20000 }')" \
		"$(awk 'BEGIN { print 1e7 * sqrt(1 + (1000 / 120) ^ 2) / sqrt(1 + (1000 / 104) ^ 2) * 705.5 / 745 + 20000 }')" "time by law"
	equal "$(each "evidence = 'within' AND low < ns AND ns < high AND abs(high / ns - ns / low) < 1e-6 AND answer = 'faster'")" 2 "ranges"
	equal "$(json '$.without_kernels_ns')" 1000.0 "time without kernels"
	equal "$(json '$.whole_run.here_ns')" 30001000.0 "the run here"
	equal "$(sqlite3 :memory: "SELECT abs($(json '$.whole_run.there_ns') - 1000 - $(json '$.all_kernels.there_ns')) < 1")" 1 "the run there"
	equal "$(sqlite3 :memory: "SELECT abs($(there first) + $(there second) - $(json '$.all_kernels.there_ns')) < 1")" 1 "sum"
	"$kerncast" whatif --device k40 --csv k20.db >there.csv
	equal "$(wc -l <there.csv)" 3 "lines"
	"$kerncast" whatif --device k40 --top 1 k20.db >there.txt
	contains "$(<there.txt)" "by law, within its architecture"
	contains "$(<there.txt)" "1 more kernel: --top N shows more of them."
	"$kerncast" whatif --device h100 --json k20.db >there.json
	equal "$(each "evidence = 'new'")" 2 "an architecture that was not in training"
	# a run without gaps is told once
	"$kerncast" import "$root/cuda_tests/traces/traces/solo_bsp/Tesla-K40.csv.gz" -o k40.db >/dev/null
	"$kerncast" whatif --device gtx980 k40.db >there.txt
	equal "$(grep -c '^Kernels: ' there.txt) $(grep -c '^Run: ' there.txt || true)" "1 0"
}

@test "an anchor: what was timed there, the same kernel at another size, five others, and one other that moves nothing" {
	trace "Tesla K20c" k20.db "own 1000 10000" "own 2000 20000" "a 1000 1000" "b 1000 1001" "c 1000 1002" "d 1000 1003" "e 1000 1004" "f 1000 1005"
	trace "Tesla K40c" one.db "own 2000 40000"
	trace "Tesla K40c" five.db "a 1000 2000" "b 1000 2000" "c 1000 2000" "d 1000 2000" "e 1000 2000"
	"$kerncast" whatif --device k40 --json k20.db >law.json
	"$kerncast" whatif --device k40 --anchor one.db --json k20.db >there.json
	for name in a b c d e f; do
		equal "$(there $name)" "$(there $name law.json)" "$name, with one other kernel timed there"
	done
	# The larger size was timed, 40 ms; the smaller one by law, times (40 ms / by law) to the power of 0.9.
	equal "$(sqlite3 :memory: "SELECT $(there own) > 40000000 + 0.49 * 0.5 * $(there own law.json) / 1.5
		AND $(there own) < 60000000")" 1 "own"
	equal "$(json '$.timed_there.sizes')|$(json '$.timed_there.measured_ns')" "1|40000000.0" "timed there"
	within "$(json '$.timed_there.error')" -70 -50 "error of the law, with its sign"
	"$kerncast" whatif --device k40 --anchor five.db --json k20.db >there.json
	equal "$(each "evidence = 'known' AND ns = 2000000 AND low = ns AND high = ns AND answer = 'slower'")" 5 "timed there"
	equal "$(each "evidence = 'others'")" 2 "others"
	equal "$(sqlite3 :memory: "SELECT $(there f) > 1.2 * $(there f law.json) AND $(there f) < 1.6 * $(there f law.json)")" 1 "f"
	"$kerncast" whatif --device k40 --anchor five.db k20.db >there.txt
	contains "$(<there.txt)" "Timed there, too: 5"
	trace "Tesla V100-SXM2-16GB" v100.db "own 2000 40000"
	"$kerncast" whatif --device k40 --anchor v100.db k20.db >there.txt
	contains "$(<there.txt)" "The anchor has none of these launches on that GPU: nothing is taken from it."
}

@test "what is not known there: kernels that wait for other GPUs, blocks that are too large, a run on an unknown GPU" {
	trace "Tesla K20c" k20.db "ncclKernel_AllReduce 2 1000" "own 1000 10000"
	"$kerncast" whatif --device k40 --json k20.db >there.json
	equal "$(each "name LIKE 'nccl%' AND ns IS NULL AND answer = 'not known' AND evidence = 'unknown'")" 1 "NCCL"
	equal "$(json '$.unknown_ns')|$(json '$.all_kernels.here_ns')" "1000000.0|10000000.0" "sums"
	equal "$(json '$.whole_run.there_ns' | wc -w)" 1 "the run, of which a tenth is not known"
	trace "Tesla K20c" more.db "ncclKernel_AllReduce 2 5000" "own 1000 10000"
	"$kerncast" whatif --device k40 --json more.db >there.json
	equal "$(json '$.whole_run.there_ns')|$(json '$.whole_run.answer')" "|not known" "the run, of which a third is not known"
	trace "some device" unknown.db "own 1000 10000"
	"$kerncast" whatif --device k40 unknown.db >there.txt
	contains "$(<there.txt)" "Where the run's GPU is not known, --from NAME tells it."
	"$kerncast" whatif --device k40 --from k20 --json unknown.db >there.json
	equal "$(each "evidence = 'within'")" 1 "with --from"
	keep missing "$kerncast" whatif k20.db
	equal "$(<missing.status)" 2 "status without --device"
	contains "$(<missing.err)" "--device is missing"
	keep wrong "$kerncast" whatif --device nothing k20.db
	equal "$(<wrong.status)" 2 "status of an unknown GPU"
}

@test "a run of our own: on its own GPU every kernel is known, on another one told with a range" {
	SIMCUDA_DEVICE=K40 "$kerncast" run -q "$build/demo-static-sim" --rounds 20
	"$kerncast" whatif --device k40 --json >there.json
	equal "$(each "evidence = 'known' AND low = ns AND high = ns")" "$(each 1)" "kernels known on the run's own GPU"
	# What is told of a time by that time itself is no proof.
	equal "$(each "answer = 'the same GPU'")|$(json '$.all_kernels.answer')|$(json '$.whole_run.answer')|$(json '$.timed_there')" \
		"$(each 1)|the same GPU|the same GPU|" "of the run's own GPU"
	"$root/scripts/check-schemas" there.json
	"$kerncast" whatif --device k40 >there.txt
	equal "$(grep -cE 'Timed there|cannot tell' there.txt || true)" 0 "lines"
	within "$(each 1)" 5 9 "kernels"
	"$kerncast" whatif --device v100 --json >there.json
	equal "$(each "evidence = 'across' AND low < ns AND ns < high")" "$(each 1)" "kernels by law"
	equal "$(each "answer = 'not known'")" 0 "kernels that are not known"
	equal "$(sqlite3 :memory: "SELECT abs($(json '$.all_kernels.here_ns') -
		$(sql 'SELECT sum(measured_end_ns - measured_start_ns) FROM launch')) < 1")" 1 "time of all kernels"
	"$kerncast" whatif --device v100 >there.txt
	contains "$(head -n 1 there.txt)" SIMULATED
	"$root/cuda_tests/e2e/outputs_agree.py" there.json there.txt >differs || { cat differs; return 1; }
}
