# kerncast pairs: which kernels of a run would gain from running together, on the simulated device and on traces.
# Runs in real time.
load common

json() { # PATH [FILE]
	sqlite3 :memory: "SELECT json_extract(CAST(readfile('${2:-pairs.json}') AS TEXT), '$1')"
}

each() { # CONDITION over the pairs: how many hold
	sqlite3 :memory: "WITH pair AS (SELECT json_extract(value, '$.first') AS first, json_extract(value, '$.second') AS second,
		json_extract(value, '$.first_ns') AS first_ns, json_extract(value, '$.second_ns') AS second_ns,
		json_extract(value, '$.serial_ns') AS serial, json_extract(value, '$.together_ns') AS ns,
		json_extract(value, '$.together_low_ns') AS low, json_extract(value, '$.together_high_ns') AS high,
		json_extract(value, '$.gain') AS gain, json_extract(value, '$.gain_low') AS gain_low,
		json_extract(value, '$.gain_high') AS gain_high, json_extract(value, '$.answer') AS answer,
		json_extract(value, '$.why') AS why, json_extract(value, '$.measured') AS measured
		FROM json_each(CAST(readfile('${2:-pairs.json}') AS TEXT), '$.pairs'))
		SELECT count(*) FROM pair WHERE $1"
}

@test "of a run whose code is known: every two kernels, with a range, and an answer that follows from it" {
	"$kerncast" run -q "$build/demo-static-sim" --rounds 40
	"$kerncast" pairs --json >pairs.json
	equal "$(json '$.kernels[#-1].label')" E
	equal "$(each 1)" 15 "pairs of five kernels"
	equal "$(each 'ns IS NULL')" 0 "pairs of which nothing is known"
	equal "$(each 'abs(serial - first_ns - second_ns) < 1')" 15 "one after the other"
	equal "$(each 'low <= ns AND ns <= high AND high <= serial AND max(first_ns, second_ns) <= low + 1')" 15 "ranges"
	equal "$(each 'abs(gain - 100 * (1 - 1.0 * ns / serial)) + abs(gain_low - 100 * (1 - 1.0 * high / serial))
		+ abs(gain_high - 100 * (1 - 1.0 * low / serial)) < 0.001')" 15 "gains"
	equal "$(each "(answer = 'together') = (gain_low >= 3)")" 15 "answers"
	within "$(each "why = 'tail' AND first NOT LIKE 'matmul%'")" 1 15 "kernels that fill the GPU"
	within "$(each "why IN ('apart', 'same') AND first LIKE 'matmul%'")" 1 5 "pairs of the one that does not"
	within "$(json '$.kernels[0].shares.dram')" 1 100 "share of device memory"
	equal "$(json '$.kernels[0].time_ns')" "$(sql 'SELECT max(t) FROM (SELECT sum(measured_end_ns - measured_start_ns) AS t
		FROM launch GROUP BY kernel)')" "time of the first"
	"$kerncast" pairs --csv --top 3 >pairs.csv
	equal "$(wc -l <pairs.csv)" 7 "lines of three kernels' pairs"
	"$kerncast" pairs --top 2 --kernel matmul >matmul.txt
	contains "$(<matmul.txt)" "A + A"
	equal "$(grep -c "B +" matmul.txt || true)" 0 "pairs with another kernel"
	contains "$(head -n 1 matmul.txt)" SIMULATED
}

# Each of the experiment's 50 pairs meets four times, in two streams; each kernel has run four times alone before.
@test "how often kernels were measured together, and what they gained then" {
	export SIMCUDA_DEVICE=K40 SIMCUDA_COSTS=$root/cuda_tests/experiments/pairs.costs
	"$kerncast" run -q "$build/experiments/pairs-sim" --repeat 4 >/dev/null
	"$kerncast" pairs --json >pairs.json
	equal "$(each "why = 'unknown' AND ns IS NULL AND answer = 'in turn'")" 1 "pairs"
	sql "CREATE TEMP TABLE one AS SELECT grid_x || ' ' || block_x || ' ' || dynamic_shared_bytes || ' ' || coalesce(arguments, '')
			AS shape, measured_start_ns AS start, measured_end_ns AS end, overlap FROM launch;
		CREATE TEMP TABLE solo AS SELECT shape, took AS ns FROM (SELECT shape, end - start AS took,
			row_number() OVER (PARTITION BY shape ORDER BY end - start) - 1 AS place, count(*) OVER (PARTITION BY shape) AS n
			FROM one WHERE overlap = 'none') WHERE place = n / 2;
		CREATE TEMP TABLE met AS SELECT 100 * (1 - (max(a.end, b.end) - a.start) / (x.ns + y.ns + 0.0)) AS gain
			FROM one a JOIN one b ON a.start < b.start AND b.start < a.end
			LEFT JOIN solo x ON x.shape = a.shape LEFT JOIN solo y ON y.shape = b.shape;
		SELECT (SELECT count(*) FROM met), (SELECT gain FROM met WHERE gain NOT NULL ORDER BY gain
			LIMIT 1 OFFSET (SELECT count(gain) FROM met) / 2)" >wanted
	equal "$(json '$.pairs[0].measured')" "$(cut -d '|' -f 1 wanted)" "times together"
	within "$(json '$.pairs[0].measured')" 150 200 "times together"
	equal "$(json '$.pairs[0].measured_by_themselves')" "$(json '$.pairs[0].measured')" "times together, beside no other"
	within "$(json '$.pairs[0].measured_gain')" "$(cut -d '|' -f 2 wanted | awk '{ print $1 - 1e-5, $1 + 1e-5 }' | cut -d ' ' -f 1)" \
		"$(cut -d '|' -f 2 wanted | awk '{ print $1 + 1e-5 }')" "gain"
}

@test "a trace that does not tell its GPU: --device does, and large grids overlap in their tails alone" {
	"$kerncast" import "$root/cuda_tests/traces/traces/pytorch/kineto_resnet50_autograd_nw0.csv.gz" -o trace.db >/dev/null
	"$kerncast" pairs trace.db >unknown.txt
	contains "$(<unknown.txt)" "Which GPU they ran on is not known: --device NAME tells it."
	"$kerncast" pairs --device v100 --json trace.db >pairs.json
	equal "$(each 'ns NOT NULL AND why NOT IN ('"'tail', 'no_room')")" 0 "numbers of kernels whose needs are not known"
	within "$(each "why = 'tail'")" 1 15 "tails"
	equal "$(each "why = 'tail' AND gain_high > 6")" 0 "tails of which more than 6 % are told"
	equal "$(each "answer = 'together'")" 0 "pairs that are better together"
}

@test "kernels of several GPUs are paired where one GPU ran both, whichever launch of each is looked at" {
	# The middle launch of one is on GPU 0, that of the other on GPU 1; the third is on GPU 1 alone, the fourth on GPU 0.
	python3 -c '
import json, sys
events = []
def kernel(name, at, gpu):
	events.append({"ph": "X", "cat": "kernel", "name": name, "pid": gpu, "tid": 7, "ts": at, "dur": 10, "args":
		{"device": gpu, "stream": 7, "correlation": at, "grid": [64, 1, 1], "block": [128, 1, 1]}})
for i in range(20):
	kernel("one", 100 * i, i % 2)
	kernel("other", 100 * i + 20, (i + 1) % 2)
	kernel("third", 100 * i + 40, 1)
	kernel("fourth", 100 * i + 60, 0)
json.dump({"deviceProperties": [{"id": gpu, "name": "NVIDIA A100-SXM4-40GB", "computeMajor": 8, "computeMinor": 0, "numSms": 108}
	for gpu in (0, 1)], "traceEvents": events}, sys.stdout)' >trace.json
	"$kerncast" import trace.json -o gpus.db >/dev/null
	"$kerncast" pairs --json gpus.db >pairs.json
	equal "$(sqlite3 :memory: "SELECT group_concat(x, ', ') FROM (SELECT min(f, s) || ' + ' || max(f, s) AS x FROM
		(SELECT json_extract(value, '$.first') AS f, json_extract(value, '$.second') AS s
		FROM json_each(CAST(readfile('pairs.json') AS TEXT), '$.pairs')) ORDER BY 1)")" "fourth + fourth, fourth + one, fourth + other, one + one, one + other, one + third, other + other, other + third, third + third"
	"$kerncast" pairs gpus.db >pairs.txt
	contains "$(<pairs.txt)" "9 pairs: gain not known, as what A, B, C and D need is not."
	equal "$(grep -c 'in turn' pairs.txt || true)" 0 "lines of pairs of which nothing is known"
}

@test "every launch that runs beside a long one counts, however many there are; what ends as another begins does not" {
	python3 -c '
import json, sys
events = []
def kernel(name, stream, start, us):
	events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": start, "dur": us, "args":
		{"device": 0, "stream": stream, "correlation": len(events) + 1, "grid": [64, 1, 1], "block": [128, 1, 1]}})
kernel("long", 7, 1000, 20000)
for i in range(6000):
	kernel("short", 8, 1000 + 2 * i, 2)
kernel("long", 7, 21000, 5)
kernel("short", 8, 21004, 5)
json.dump({"deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-40GB", "computeMajor": 8, "computeMinor": 0, "numSms": 108}],
	"traceEvents": events}, sys.stdout)' >trace.json
	"$kerncast" import trace.json -o long.db >/dev/null
	"$kerncast" pairs --json long.db >pairs.json
	equal "$(each "first <> second AND measured = 6001") $(each "first = second AND measured = 0")" "1 2"
	"$kerncast" pairs long.db >pairs.txt
	equal "$(grep -c '^  [A-Z] + [A-Z] ' pairs.txt)" 1 "lines of pairs: that which was measured"
	contains "$(<pairs.txt)" "2 more pairs: gain not known, as what A and B need is not."
}

@test "wrong use: status 2; nothing to look at: status 1" {
	"$kerncast" run -q "$build/demo-static-sim" --rounds 1
	local wrong
	for wrong in "--top 27" "--top 0" "--csv --json" "--device nosuch" "--sort time"; do
		keep wrong "$kerncast" pairs $wrong
		equal "$(<wrong.status)" 2 "$wrong"
		equal "$(<wrong.out)" "" "standard output of: $wrong"
	done
	for wrong in "--kernel nosuch" "--run 9" "nosuch.db"; do
		keep wrong "$kerncast" pairs $wrong
		equal "$(<wrong.status)" 1 "$wrong"
	done
}
