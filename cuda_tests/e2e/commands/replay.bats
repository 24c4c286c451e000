# kerncast replay: predictions of recorded launches know nothing of what came later.
load ../common

# 4 streams, 12 kernels in 3 sizes, the host up to 2 ms ahead of the device, which
# it waits for now and then; copies between. $1: operations, $2: file
trace() {
	awk -v n="$1" -v seed="${KC_SEED:-20170607}" 'BEGIN {
		srand(seed)
		print "process,device_name,stream,kind,start_ns,duration_ns,launch_ns,grid_x,grid_y,grid_z,block_x,block_y,block_z,registers,bytes,name"
		for (i = 0; i < n; i++) {
			k = int(rand() * 12); s = int(rand() * 4); size = 1 + int(rand() * 3)
			host += 500 + int(rand() * 4000)
			if (i % 40 < 3) # one alone
				for (q = 0; q < 4; q++) if (host < end[q]) host = end[q] + 1000
			start = host + 4000
			if (end[s] + 900 > start) start = end[s] + 900
			if (start - host > 2000000) host = start - 1000000
			span = int((2000 + 3000 * k) * size * (1 + 0.05 * rand()))
			end[s] = start + span
			if (i % 17)
				printf "%d,Tesla V100,%d,kernel,%.0f,%d,%.0f,%d,1,1,128,1,1,32,,k%d\n", start / 4e7, s, start, span, host, 40 * size, k
			else
				printf "%d,Tesla V100,%d,memcpy,%.0f,%d,%.0f,,,,,,,,%d,Memcpy HtoD\n", start / 4e7, s, start, span, host, 8 * span
		}
	}' >unsorted.csv
	{ head -n 1 unsorted.csv; tail -n +2 unsorted.csv | sort -t, -k1,1n -k5,5n; } >"$2"
}

replay_json() { # JSON path, then arguments
	local path=$1
	shift
	"$kerncast" replay --json "$@" >replay.json || return 1
	told "$path"
}

long_trace() { # t.db: a trace of 4,000 operations, imported once for the tests of this file
	if [[ ! -e $BATS_FILE_TMPDIR/t.db ]]; then
		trace 4000 t.csv
		"$kerncast" import t.csv -o "$BATS_FILE_TMPDIR/t.db"
	fi
	cp "$BATS_FILE_TMPDIR/t.db" .
}

told() { # JSON path, of the last replay_json's document, or another one
	sqlite3 :memory: "SELECT json_extract(CAST(readfile('${2-replay.json}') AS TEXT), '$1')"
}

# All but what was measured, and what leaves out of the figures for that; launches up to a moment of one process.
predictions() { # CSV PROCESS TIME
	awk -F, -v p="$2" -v t="$3" 'NR > 1 && ($1 < p || $1 == p && $6 <= t) {
		for (i = 1; i <= 18; i++) printf "%s,", $i; print "" }' "$1"
}

# Predictions of launches up to a moment, with what was measured from then on
# as it was, gone, longer, of no length, each other's or turned over. $1: database, $2: the delay, then cuts.
nothing_leaks() {
	local db=$1 delay=$2 launches cut process at change tried=0
	shift 2
	"$kerncast" replay --delay "$delay" --csv "$db" >base.csv
	launches=$(sql 'SELECT count(*) FROM launch' "$db")
	equal "$(($(grep -c . base.csv) - 1))" "$launches"
	for cut; do
		IFS='|' read -r process at < <(sql "SELECT process, launched_ns - p.started_ns FROM launch l
			JOIN process p ON p.id = l.process ORDER BY process, launched_ns LIMIT 1 OFFSET $cut" "$db")
		for change in gone longer zeroed shuffled inverted; do
			cp "$db" changed.db
			later="(id >> 40 > $process OR id >> 40 = $process AND launched + measured_wait + measured_span >= $at)"
			starts="(id >> 40 > $process OR launched + measured_wait >= $at)"
			transfer="(process > $process OR process = $process AND measured_end_ns
				>= (SELECT started_ns FROM process WHERE id = $process) + $at)"
			case $change in
			gone) sql "UPDATE launch_row SET measured_wait = NULL, measured_span = NULL WHERE $later;
				UPDATE transfer SET measured_start_ns = NULL, measured_end_ns = NULL WHERE $transfer" changed.db ;;
			longer) sql "UPDATE launch_row SET measured_span = 9 * measured_span + 12345 WHERE $later;
				UPDATE transfer SET measured_end_ns = measured_end_ns + 777777 WHERE $transfer" changed.db ;;
			zeroed) sql "UPDATE launch_row SET measured_span = 0 WHERE $later AND $starts" changed.db ;;
			shuffled) sql "CREATE TEMP TABLE spans AS SELECT measured_span span FROM launch_row
				WHERE $later AND $starts ORDER BY ((id & 0xffffff) * 2654435761) % 65537;
				CREATE TEMP TABLE places AS SELECT id FROM launch_row WHERE $later AND $starts;
				UPDATE launch_row SET measured_span = (SELECT span FROM spans JOIN places
				ON spans.rowid = places.rowid WHERE places.id = launch_row.id)
				WHERE id IN (SELECT id FROM places WHERE rowid % 3)" changed.db ;;
			inverted) sql "UPDATE launch_row SET measured_span = 1000000000 / (1 + measured_span)
				WHERE $later AND $starts" changed.db ;;
			esac
			[[ $change == gone ]] || ! cmp -s "$db" changed.db || { echo "$change: nothing was changed"; return 1; }
			"$kerncast" replay --delay "$delay" --csv changed.db >changed.csv
			predictions base.csv "$process" "$at" >wanted
			predictions changed.csv "$process" "$at" >got
			cmp wanted got || { diff wanted got | head -4; return 1; }
			! cmp -s base.csv changed.csv || { echo "$change: no prediction was changed"; return 1; }
			within "$(grep -c . wanted)" "$cut" "$launches"
			tried=$((tried + 1))
		done
	done
	equal "$tried" $((5 * $#))
}

@test "nothing measured later changes a prediction, byte for byte" {
	long_trace
	nothing_leaks t.db 0 150 1000 1900 2600 3500
	# The models that learn took part in what was compared.
	local model
	for model in context mix bsp-shape scaling bsp-device; do
		grep -q ",$model," base.csv
	done
	nothing_leaks t.db 10ms 1000 2600
	nothing_leaks t.db 1ms,16 1900
}

@test "nothing measured later changes a prediction of a reduced recording" {
	"$kerncast" import "$reduced/traces/pytorch/hta_nccl_a100.csv.gz" -o t.db >/dev/null
	nothing_leaks t.db 0 300
	nothing_leaks t.db 10ms 300
}

@test "nothing measured later changes a prediction of a full recording" {
	full_data
	"$kerncast" import "$data/traces/pytorch/hta_nccl_a100.csv.gz" -o t.db >/dev/null
	nothing_leaks t.db 0 300 2000
	nothing_leaks t.db 10ms 2000
}

# One kernel, 1 ms long, launched every 2 ms: launch i is made at 2 * i ms and ends 1.1 ms later.
@test "--delay: a measurement is used by the launches made after it became known, and by no others" {
	{
		echo process,device_name,stream,kind,start_ns,duration_ns,launch_ns,grid_x,grid_y,grid_z,block_x,block_y,block_z,name
		for ((i = 0; i < 12; i++)); do
			echo "p,Tesla V100,1,kernel,$((i * 2000000 + 100000)),1000000,$((i * 2000000)),8,1,1,64,1,1,k"
		done
	} >t.csv
	"$kerncast" import t.csv -o t.db
	first_seen() { "$kerncast" replay --csv "$@" t.db | awk -F, '$7 == "first_seen"' | grep -c . || true; }
	equal "$(first_seen --delay 0)" 1
	equal "$(first_seen --delay 800us)" 1 "known at 1.9 ms"
	equal "$(first_seen --delay 1ms)" 2 "known at 2.1 ms"
	equal "$(first_seen --delay 10ms)" 6 "known at 11.1 ms"
	equal "$(first_seen)" 6 "the default of an imported trace"
	equal "$(first_seen --delay 0,4)" 4 "the fourth ends at 7.1 ms"
	equal "$(first_seen --delay 10ms,4)" 9 "known at 17.1 ms"
	equal "$(first_seen --delay 0,13)" 12 "twelve never make a batch of 13"
	contains "$("$kerncast" replay --delay 0 t.db)" "A measurement becomes known as soon as its launch has ended"
	contains "$("$kerncast" replay t.db)" "A measurement becomes known 10.0 ms after its launch has ended"
	equal "$(replay_json '$.known' --delay 2ms,3 t.db)" \
		'{"as_recorded_launches":0,"delayed_launches":12,"delay_ns":2000000,"batch":3}'
}

@test "a recorded run is replayed as recorded, unless --delay, --fresh or a trace beside it say otherwise" {
	"$kerncast" run -q -o t.db "$build/demo-static-sim" --rounds 2 >/dev/null
	local n
	n=$(sql 'SELECT count(*) FROM launch' t.db)
	contains "$("$kerncast" replay t.db)" "from the measurements that its process recorded as known by then"
	equal "$(replay_json '$.known.as_recorded_launches' t.db)" "$n"
	equal "$(replay_json '$.known.delayed_launches' t.db)" 0
	for option in "--delay 0" "--delay 10ms" --fresh "--without mix"; do
		equal "$(replay_json '$.known.as_recorded_launches' $option t.db)" 0 "$option"
		equal "$(replay_json '$.known.delayed_launches' $option t.db)" "$n" "$option"
		contains "$("$kerncast" replay $option t.db)" "A measurement becomes known"
	done
	equal "$(replay_json '$.known.delay_ns' --fresh t.db)" 10000000
	trace 200 t.csv
	"$kerncast" import t.csv -o t.db
	equal "$(replay_json '$.known.as_recorded_launches' t.db)" "$n"
	equal "$(replay_json '$.known.delayed_launches' t.db)" "$(($(sql 'SELECT count(*) FROM launch' t.db) - n))"
	contains "$("$kerncast" replay t.db)" \
		"$n of $(sql 'SELECT count(*) FROM launch' t.db) launches are predicted from the measurements that their process"
}

@test "--without: each part of the prediction that is switched off changes it, margins the intervals alone" {
	trace 3000 t.csv
	"$kerncast" import t.csv -o t.db
	"$kerncast" replay --csv --delay 0 t.db >all.csv
	local layer
	for layer in lambda sizes contexts mix contention placement margins; do
		"$kerncast" replay --csv --delay 0 --without "$layer" t.db >without.csv
		equal "$(grep -c . without.csv)" "$(grep -c . all.csv)"
		! cmp -s all.csv without.csv || { echo "$layer changes nothing"; return 1; }
		equal "$(replay_json '$.without' --without "$layer" t.db)" "[\"$layer\"]"
		# What is known of a launch is not a part of the prediction, nor is what was measured.
		cmp <(cut -d, -f1-7,19-22 all.csv) <(cut -d, -f1-7,19-22 without.csv)
	done
	cmp <(cut -d, -f1-9,12-22 all.csv) <(cut -d, -f1-9,12-22 without.csv)
	equal "$(replay_json '$.without' t.db)" "[]"
	equal "$(replay_json '$.without' --without margins,contexts t.db)" '["contexts","margins"]'
	"$kerncast" replay --csv --delay 0 --without contexts t.db >without.csv
	equal "$(awk -F, 'NR > 1 && $8 ~ /context|mix/' without.csv)" ""
	"$kerncast" replay --csv --delay 0 --without sizes t.db >without.csv
	equal "$(awk -F, 'NR > 1 && $8 == "scaling"' without.csv)" ""
	contains "$("$kerncast" replay --without mix,sizes t.db)" "Predicted without sizes, mix"
	local wrong
	for wrong in "" nosuch "mix," ,mix "mix sizes" MIX; do
		keep wrong "$kerncast" replay --without "$wrong" t.db
		equal "$(<wrong.status)" 2 "$wrong"
		contains "$(<wrong.err)" "lambda, sizes, contexts, mix, contention, placement, margins"
	done
}

@test "scripts/ablation: one row per trace and delay, and means by where constants were chosen" {
	mkdir -p some/traces/pytorch
	ln -s "$reduced/traces/pytorch/param_linear_2080ti.csv.gz" "$reduced/traces/pytorch/hta_nccl_a100.csv.gz" some/traces/pytorch
	printf '%s\n' file,x pytorch/param_linear_2080ti.csv.gz,x pytorch/hta_nccl_a100.csv.gz,x >some/traces/MANIFEST.csv
	KC_SHARED_DATA=$PWD/some "$root/scripts/ablation" "$kerncast" >table
	local number='[0-9]+\.[0-9]{2}' trace
	for trace in "param_linear_2080ti +tuned on" "hta_nccl_a100 +held out"; do
		equal "$(grep -cE "^$trace +(0|10 ms)( +$number){9}$" table)" 2 "$trace"
	done
	equal "$(grep -cE "^(known kernels|first seen|new size|repeated|inside) +(all|tuned on|held out) +(0|10 ms)( +$number){9}$" table)" 30
	# Without margins the same durations are predicted; of one trace, the mean is its own.
	equal "$(awk '$1 == "repeated" { print $(NF - 8) - $(NF - 1) }' table | sort -u)" 0
	equal "$(awk '/^known kernels +held out +0 /{ print $(NF - 8) }' table)" "$(awk '/^hta_nccl_a100 +held out +0 / { print $(NF - 8) }' table)"
}

@test "what is known shows: repeated launches of steady kernels are predicted well" {
	long_trace
	"$kerncast" replay --json --delay 0 t.db >replay.json
	equal "$(told '$.launches')" "$(sql 'SELECT count(*) FROM launch' t.db)"
	equal "$(told '$.predicted')" "$(told '$.launches')"
	within "$(told '$.first_seen.n')" 12 400
	within "$(told '$.repeated.median')" 0 25
	within "$(told '$.repeated.mape')" 0 "$(told '$.first_seen.mape')"
	equal "$(($(told '$.solo.n') + $(told '$.overlapped.n')))" "$(told '$.accuracy.n')"
	within "$(told '$.slowdown.n')" 1 4000
	within "$(told '$.makespan.n')" 1 4000
	# With every process fresh, more launches are first seen.
	"$kerncast" replay --json --fresh --delay 0 t.db >fresh.json
	within "$(told '$.first_seen.n' fresh.json)" "$(($(told '$.first_seen.n') + 1))" 4000
	# What is excluded is counted, and runs all the same: the others are predicted as with it.
	equal "$(replay_json '$.excluded' --exclude '^k(1|2)$' --delay 0 t.db)" \
		"$(sql "SELECT count(*) FROM launch l JOIN kernel k ON k.id = l.kernel WHERE name IN ('k1', 'k2')" t.db)"
	equal "$("$kerncast" replay --delay 0 --csv --exclude '^k1$' t.db | cut -d, -f1-18 | cksum)" \
		"$("$kerncast" replay --delay 0 --csv t.db | awk -F, -v k1="$(sql "SELECT id FROM kernel WHERE name = 'k1'" t.db)" \
			'$4 != k1' | cut -d, -f1-18 | cksum)"
}

@test "--fresh: a process is predicted as if it were the only one, whatever those before it taught" {
	local trace=$reduced/traces/pytorch/hta_df_index_v100.csv.gz
	gzip -dc "$trace" | awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "duration_ns") at = i }
		NR > 1 { $at *= 10 } { print }' >slower.csv
	"$kerncast" import slower.csv "$trace" -o both.db
	"$kerncast" import "$trace" -o alone.db
	# All but the numbers that streams and launch shapes have in the database.
	"$kerncast" replay --fresh --csv both.db | grep '^2,' | cut -d, -f2,4,6- >after
	"$kerncast" replay --fresh --csv alone.db | tail -n +2 | cut -d, -f2,4,6- >alone
	within "$(grep -c . alone)" 2000 4000
	diff alone after | head -n 4 >differ || true
	equal "$(<differ)" ""
}

# 1 wave (15 SMs, 8 blocks of 256 threads each), then 4, 16 and 256, all of 100 us.
@test "a new size of a known kernel is scaled by its waves, not by its threads alone" {
	{
		echo process,device_name,stream,kind,start_ns,duration_ns,launch_ns,grid_x,block_x,grid_y,grid_z,block_y,block_z,name
		i=1
		for blocks in 120 480 1920 30720; do
			echo "a,Tesla K40c,1,kernel,$((i * 10000000)),100000,$((i * 10000000)),$blocks,256,1,1,1,1,f"
			i=$((i + 1))
		done
	} >t.csv
	"$kerncast" import t.csv -o t.db
	"$kerncast" replay --delay 0 --csv t.db >replayed.csv
	equal "$(awk -F, '$7 == "new_size" { print $8 }' replayed.csv | sort | uniq -c | tr -s ' ')" " 3 scaling"
	within "$(awk -F, 'NR == 3 { print $9 }' replayed.csv)" 100000 400000 "four waves: at most four times as long"
	# All three took as long as the first: by now the largest is not expected to take 16 times as long as the third.
	within "$(awk -F, 'NR == 5 { print $9 }' replayed.csv)" 100000 800000
}

@test "two kernels by hand: slowdown and makespan" {
	# f alone takes 100 us, three times; then two of them together take 150 us each, started together.
	{
		echo process,device_name,stream,kind,start_ns,duration_ns,launch_ns,grid_x,block_x,grid_y,grid_z,block_y,block_z,name
		for i in 1 2 3; do echo "a,Tesla K40c,1,kernel,${i}000000,100000,${i}000000,15,64,1,1,1,1,f"; done
		echo "b,Tesla K40c,1,kernel,9000000,150000,9000000,15,64,1,1,1,1,f"
		echo "b,Tesla K40c,2,kernel,9000000,150000,9000000,15,64,1,1,1,1,f"
	} >t.csv
	"$kerncast" import t.csv -o t.db
	equal "$(replay_json '$.slowdown.n' --delay 0 t.db)" 2
	# The reference is a median in buckets of 2 %: the slowdown is 1.5, and "none" is off by a third.
	within "$(replay_json '$.slowdown.mape_no_slowdown' --delay 0 t.db)" 32 35
	equal "$(replay_json '$.makespan.n' --delay 0 t.db)" 1
	# 200 us one after the other, 100 us side by side, where 150 us were measured.
	within "$(replay_json '$.makespan.mape_serial' --delay 0 t.db)" 32 35
	within "$(replay_json '$.makespan.mape_no_contention' --delay 0 t.db)" 32 35
	equal "$(replay_json '$.slowdown.n' --fresh --delay 0 t.db)" 0
	# The solo launches are not in the figures, and still what the others are compared with.
	equal "$(replay_json '$.slowdown.n' --min 101us --delay 0 t.db)" 2
	equal "$(replay_json '$.excluded' --at-least 101us --delay 0 t.db)" 3
}

@test "groups of kernels that ran at once, whatever order they were launched in" {
	local i pair
	# 50 pairs; each kernel in a stream of its own, launched at once, and started in reverse order.
	{
		echo process,device_name,stream,kind,start_ns,duration_ns,launch_ns,grid_x,block_x,grid_y,grid_z,block_y,block_z,name
		for i in {0..99}; do
			pair=$((50 - i / 2))
			echo "a,Tesla K40c,$i,kernel,$((pair * 1000000 + i % 2 * 1000)),100000,$((1000 + i)),15,64,1,1,1,1,f"
		done
	} >t.csv
	"$kerncast" import t.csv -o t.db
	equal "$(replay_json '$.makespan.n' --delay 0 t.db)" 50
}

@test "a live recording; wrong use" {
	"$kerncast" run -q -o live.db "$build/demo-static-sim" --rounds 5 >/dev/null
	equal "$(replay_json '$.simulated' live.db)" 1
	equal "$(replay_json '$.launches' live.db)" "$(sql 'SELECT count(*) FROM launch' live.db)"
	contains "$("$kerncast" replay live.db)" SIMULATED
	local wrong
	for wrong in "--exclude ( live.db" "--min 5 live.db" "--json --csv live.db" "--device nosuch live.db" \
		"--run x live.db"; do
		keep wrong "$kerncast" replay $wrong
		equal "$(<wrong.status)" 2 "$wrong"
	done
	keep missing "$kerncast" replay live.db missing.db # several, of which one is not there
	equal "$(<missing.status)" 1
}

slowdown_table() { # FOLDER LINES
	KC_SHARED_DATA=$1 "$root/scripts/slowdown-on-traces" "$kerncast" >table
	equal "$(grep -c . table)" "$2"
	grep -q -E '^pooled +[1-9][0-9]* +[0-9.]+ % +[0-9.]+ % +-?[0-9.]+ % +-?[0-9.]+ % to -?[0-9.]+ %$' table
}

@test "scripts/slowdown-on-traces says how many, ours, none, and how sure" {
	slowdown_table "$reduced" 4 # a head, two of the four traces, and both together
}

@test "scripts/slowdown-on-traces of the full recordings" {
	full_data
	slowdown_table "$data" 6
}

@test "errors on the reduced recordings are those written down" {
	"$root/scripts/replay-figures" "$kerncast"
}

@test "--json has every key that README.md of tools lists, and classes add up" {
	long_trace
	"$kerncast" replay --json t.db >replay.json
	local key class
	has() { # JSON path
		[[ $(sqlite3 :memory: "SELECT json_type(CAST(readfile('replay.json') AS TEXT), '$1')") =~ ^(integer|real)$ ]] ||
			{ echo "no number at $1"; return 1; }
	}
	for class in repeated new_size first_seen solo overlapped by_model.bsp by_model.context by_model.mix \
		'by_model."last-value"'; do
		for key in n mape median p90; do
			has "\$.$class.$key"
		done
	done
	for key in coverage90 mape_beside_last_value slowdown.n slowdown.mape slowdown.mape_no_slowdown makespan.n \
		makespan.mape makespan.mape_serial makespan.mape_no_contention interval_score.n interval_score.ours \
		interval_score.quantiles launches_per_s 'learning_curve[0].from' 'learning_curve[0].n' 'learning_curve[0].mape'; do
		has "\$.$key"
	done
	for class in first_seen new_size repeated; do
		for key in n coverage median_width; do
			has "\$.intervals.$class.$key"
		done
		equal "$(told "\$.intervals.$class.n")" "$(told "\$.$class.n")"
	done
	equal "$(told '$.by_model.mix.n')" "$(told '$.accuracy.n')"
	equal "$(told '$.by_model."last-value".n')" "$(told '$.repeated.n')"
	equal "$(sqlite3 :memory: "SELECT sum(value ->> '\$.n') FROM json_each(CAST(readfile('replay.json') AS TEXT),
		'\$.learning_curve')")" "$(told '$.accuracy.n')"
	# As text, the same.
	"$kerncast" replay t.db >text
	contains "$(<text)" "90 % interval"
	contains "$(<text)" last-value
	contains "$(<text)" "from launch"
}

@test "intervals hold about nine in ten of durations that jump and drift" {
	# One stream: k takes 50 us after a, 20 us after b, 3 % noisy, and 50 % longer from halfway on.
	awk 'BEGIN {
		srand(7)
		print "process,device_name,stream,kind,start_ns,duration_ns,launch_ns,grid_x,grid_y,grid_z,block_x,block_y,block_z,registers,bytes,name"
		for (i = 0; i < 6000; i++) {
			name = i % 2 ? "k" : i % 6 ? "b" : "a"
			span = int((name == "a" || i % 6 == 1 ? 50000 : 20000) * (i < 3000 ? 1 : 1.5) * (0.97 + 0.06 * rand()))
			printf "0,Tesla V100,1,kernel,%.0f,%d,%.0f,80,1,1,128,1,1,32,,%s\n", start + 4000, span, start, name
			start += span + 9000
		}
	}' >t.csv
	"$kerncast" import t.csv -o t.db
	within "$(replay_json '$.coverage90' --delay 0 t.db)" 87 95
	# Uniform within 3 %: the mean error is 1.5 %, and nine in ten lie within 2.7 % on either side.
	within "$(replay_json '$.repeated.mape' --delay 0 t.db)" 1.4 1.8
	within "$(replay_json '$.intervals.repeated.median_width' --delay 0 t.db)" 4.5 7.5
}

layouts() { # ROUNDS: one kernel and shape with three tensor layouts, each after another kernel, in a program of 40 of them
	awk -v rounds="$1" 'BEGIN {
		srand(11)
		split("10000 17000 31000", duration, " ")
		print "process,device_name,stream,kind,start_ns,duration_ns,launch_ns,grid_x,grid_y,grid_z,block_x,block_y,block_z,registers,bytes,name"
		for (i = 0; i < 40; i++) layout[i] = 1 + int(3 * rand())
		for (i = 0; i < 80 * rounds; i++) {
			which = layout[int(i / 2) % 40]
			span = int((i % 2 ? duration[which] : 8000) * (0.98 + 0.04 * rand()))
			printf "0,Tesla V100,1,kernel,%.0f,%d,%.0f,80,1,1,128,1,1,32,,%s\n",
				start + 4000, span, start, i % 2 ? "k" : "before" which
			start += span + 3000
		}
	}' >t.csv
	rm -f t.db
	"$kerncast" import t.csv -o t.db
}

@test "three tensor layouts in one launch shape are told apart from the start" {
	# Uniform within 2 %: the mean error is no less than 1 %.
	layouts 2
	equal "$(replay_json '$.repeated.n' --delay 0 --kernel '^k$' t.db)" 79
	within "$(replay_json '$.repeated.mape' --delay 0 --kernel '^k$' t.db)" 0.9 7
	layouts 10
	within "$(replay_json '$.repeated.mape' --delay 10ms --kernel '^k$' t.db)" 0.9 7
	# Without contexts it is one duration for all of them.
	within "$(replay_json '$.repeated.mape' --delay 0 --kernel '^k$' --without contexts t.db)" 20 100
}

table_of_errors() { # FOLDER [FOLDER TO ASK FOR]: leaves table, and rows without the words of its columns
	local data=$1
	KC_SHARED_DATA=${2-$data} "$root/scripts/replay-all" "$kerncast" >table 2>said
	equal "$(grep -cE '^[^ ]+ +(tuned on|held out) +(first seen|new size|repeated|all) ' table)" \
		"$((4 * ($(grep -c . "$data/traces/MANIFEST.csv") - 1)))"
	# Columns: trace, class, then n, error, median, last, inside, score, at once and after the delay
	sed -nE 's/^([^ ]+) +(tuned on|held out) +(.*[a-z]) +([0-9]+ .*)\|/\1 \3 \4/p' table |
		sed -E 's/ (first|new) (seen|size) / \1_\2 /' >rows
	# The same launches at both delays, only known or not; no class is lost.
	equal "$(awk '$2 == "all" && $3 != $9' rows)" ""
	equal "$(awk '$2 != "all" { a += $3; b += $9 } $2 == "all" { a -= $3; b -= $9 } END { print a, b }' rows)" "0 0"
	equal "$(awk '$2 == "repeated" && $3 < $9' rows)" "" "a delay makes no launch known earlier"
}

# More than 500 launches: 87 to 95 % inside. Where the clock shows whole microseconds alone, 90 % are not to be had: to 97.
inside_interval() { # FOLDER
	local trace n inside most
	while read -r trace n inside; do
		most=95
		! zcat "$1"/traces/*/"$trace.csv.gz" | awk -F, 'NR > 1 && $8 % 1000 { exit 1 }' || most=97
		within "$inside" 87 $most "share inside the interval, $trace, $n launches"
	done < <(awk '$2 == "all" && $3 > 500 { print $1, $3, $7 }' rows)
}

errors_within() { # reads TRACE LIMIT of repeated launches, per cent
	local trace limit
	while read -r trace limit; do
		within "$(awk -v t="$trace" '$1 == t && $2 == "repeated" { print $4 }' rows)" 0 "$limit" "$trace"
	done
}

@test "scripts/replay-all: without the full recordings, the table of the reduced ones" {
	table_of_errors "$reduced" "$PWD/nowhere"
	contains "$(<said)" "the reduced ones"
	# No worse than the last known duration.
	equal "$(awk '$2 == "repeated" && $3 > 500 && $4 > $6' rows)" ""
	inside_interval "$reduced"
}

@test "scripts/replay-all: limits of error and interval on every full recording" {
	full_data
	table_of_errors "$data"
	# More than 500 repeated launches: no worse than the last known duration
	equal "$(awk '$2 == "repeated" && $3 > 500 && $4 > $6' rows)" ""
	inside_interval "$data"
	# The interval score is no worse than that of the quantiles, nor with hundreds of launches in flight.
	equal "$(awk '$2 == "repeated" && $3 > 500 && $8 != "n/a" && $8 > 1' rows)" ""
	equal "$(awk '$2 == "repeated" && $9 > 500 && $14 != "n/a" && $14 > 1' rows)" ""
	errors_within <<-END
		hta_df_index_v100 3.8
		hta_nccl_a100 4.2
		kineto_resnet50_autograd_nw0 4.9
		kineto_resnet50_v100_a 2.4
		param_linear_2080ti 1.8
		gtx1080ti 2.5
	END
}

@test "scripts/pooled-figures: launches are pooled by use and source, and --use leaves the others unread" {
	mkdir -p own/traces/pytorch
	awk 'BEGIN {
		print "process,device_name,stream,kind,start_ns,duration_ns,launch_ns,grid_x,grid_y,grid_z,block_x,block_y,block_z,registers,name"
		for (i = 0; i < 20; i++)
			printf "0,Tesla V100,1,kernel,%d,50000,%d,80,1,1,128,1,1,32,k\n", i * 90000 + 4000, i * 90000
	}' >t.csv
	gzip -c t.csv >own/traces/pytorch/one.csv.gz
	cp own/traces/pytorch/one.csv.gz own/traces/pytorch/two_h100.csv.gz
	printf 'file,use\npytorch/one.csv.gz,choose\npytorch/two_h100.csv.gz,report\n' >own/traces/MANIFEST.csv
	KC_SHARED_DATA=$PWD/own "$root/scripts/pooled-figures" "$kerncast" >table
	# The first of 20 launches is first seen; all take as long, so the others are predicted exactly.
	for pool in "choose: PyTorch" "choose: PyTorch, all" "choose: PyTorch, one stream" "report: PyTorch, H100 and B200" "report: PyTorch, all"; do
		equal "$(awk -v p="$pool " 'index($0, p) == 1 && / repeated / { print $0 }' table |
			sed -E "s/^$pool +repeated +[|] +([0-9]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+) .*/\1/" | tr -s ' ')" \
			"19 0.0 0.0 100.0 1.00" "$pool"
		equal "$(grep -cE "^$pool +first seen +[|] +1 " table)" 1 "$pool"
	done
	rm own/traces/pytorch/two_h100.csv.gz
	KC_SHARED_DATA=$PWD/own "$root/scripts/pooled-figures" --use=choose "$kerncast" >table
	equal "$(grep -c report: table)" 0
	equal "$(grep -cE '^choose: PyTorch, all +repeated ' table)" 1
}

pooled() { # POOL CLASS COLUMN, 1 to 7 at once and 8 to 14 after 10 ms: of table
	awk -F '|' -v pool="$1 " -v class=" $2 " -v column="$3" 'index($1, pool) == 1 && index($1, class) {
		split($2 " " $3, at, " ")
		print at[column]
	}' table
}

# After 10 ms a third more is allowed for the median. At once, the share within a factor of 2 is not as good as it should
# be (67 %), nor is the median (41 %).
@test "scripts/pooled-figures: limits of first launches, new sizes and intervals on the recordings kept for judging" {
	full_data
	[[ -r $data/traces_2/MANIFEST.csv ]] || skip "no second part of the recordings in $data"
	"$root/scripts/pooled-figures" --use=report "$kerncast" >table
	local all="report: PyTorch, all" new="report: PyTorch, H100 and B200"
	equal "$(pooled "$all" "first seen" 1)" 1654 "first-seen launches"
	within "$(pooled "$all" "first seen" 2)" 0 45 "median error"
	within "$(pooled "$all" "first seen" 3)" 0 120 "mean error"
	within "$(pooled "$all" "first seen" 4)" 65 100 "within a factor of 2"
	within "$(pooled "$all" "first seen" 9)" 0 60 "median error, 10 ms"
	within "$(pooled "$all" "first seen" 10)" 0 80 "mean error, 10 ms"
	within "$(pooled "$all" "first seen" 11)" 69 100 "within a factor of 2, 10 ms"
	within "$(pooled "$all" "first seen" 7)" 0 1200 "width of the interval"
	within "$(pooled "$all" "first seen" 6)" 88 100 "inside the interval"
	within "$(pooled "$all" "first seen" 5)" 0.33 3 "sum of time"
	within "$(pooled "$new" "first seen" 2)" 0 45 "median error, H100 and B200"
	within "$(pooled "$new" "first seen" 4)" 65 100 "within a factor of 2, H100 and B200"
	# Before there was a prior: 31.7 and 100; a tenth less.
	within "$(pooled "$all" "new size" 2)" 0 28.5 "median error of new sizes"
	within "$(pooled "$all" "new size" 3)" 0 90 "mean error of new sizes"
	within "$(pooled "$all" repeated 6)" 88.5 95 "inside the interval, repeated"
	within "$(pooled "$all" repeated 13)" 88.5 95 "inside the interval, repeated, 10 ms"
	# Before there was a prior: 78.1, 1,545 and 40.7. Held to what is usual, a sixth of the mean error, and 2.6 points fewer
	# within a factor of 2.
	within "$(pooled "report: applications" "first seen" 2)" 0 78.1 "median error, applications"
	within "$(pooled "report: applications" "first seen" 3)" 0 300 "mean error, applications"
	within "$(pooled "report: applications" "first seen" 4)" 38 100 "within a factor of 2, applications"
}

@test "where the output fails, the database is not blamed" {
	"$kerncast" run -q -- "$build/demo-static-sim" >demo.out
	set +e
	"$kerncast" replay --csv >/dev/full 2>full.err
	echo $? >full.status
	set -e
	equal "$(<full.status)" 1
	contains "$(<full.err)" "cannot write to standard output"
	[[ $(<full.err) != *"cannot be read"* ]]
}
