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
	equal "$(report '$.activity')" '{"copies_measured":true,"devices":[],"streams":[]}'
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

# span, busy, kernels, copies only, idle, launch-bound, launched, unknown
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
	equal "$(times devices)" "5200 1700 1500 200 3500 2100 1400 0" known
	adds_up unknown.db
	equal "$(times devices)" "4000 1500 1500 0 2500 null null 2500" unknown
	equal "$(times streams)" "4000 1500 1500 0 2500 null null 2500" "unknown, of the stream"
	grep -q '^    idle 62.5 %: launch times are not known$' unknown.page
	grep -q '^    busy 37.5 %: kernels 37.5 %, no copies were recorded$' unknown.page
	adds_up some.db
	equal "$(times devices)" "5200 1700 1700 0 3500 100 900 2500" some
	grep -q '^    idle 67.3 %: launch-bound 1.9 % (waiting for the host), already launched 17.3 %, unknown 48.1 %$' some.page
}

@test "recorded traces of GPUs: the times add up" {
	local file
	for file in "$reduced"/traces/*/*.csv.gz; do
		"$kerncast" import "$file" -o all.db >/dev/null
	done
	adds_up all.db --run all
	within "$(sqlite3 :memory: "SELECT json_array_length(CAST(readfile('report.json') AS TEXT), '$.activity.devices')")" 2 999
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
