# kerncast report --html: the page's file, its data, and that nothing in them can run or ask the network for anything.
# What a browser makes of it is in page_browser.bats.
load ../common

setup_file() { # two runs of one program
	export RECORDED=$BATS_FILE_TMPDIR/recorded.db
	for ((i = 0; i < 2; i++)); do
		LD_LIBRARY_PATH=$simcuda SIMCUDA_SEED=1 "$kerncast" run -q -o "$RECORDED" "$build/demo-static-sim" --rounds 30 >/dev/null
	done
}

page() { # ARG...: makes page.html, and takes its data apart: data.json
	"$kerncast" report --html page.html "$@" || return 1
	data_of page.html
}

data_of() { # PAGE
	sed -n 's/^.*id="data">\(.*\)<\/script>$/\1/p' "$1" >data.json
	equal "$(json_of data.json valid)" 1 "the data are JSON"
}

json_of() { # FILE PATH, or "valid"
	if [[ $2 == valid ]]; then
		sqlite3 :memory: "SELECT json_valid(CAST(readfile('$1') AS TEXT))"
	else
		sqlite3 :memory: "SELECT json_extract(CAST(readfile('$1') AS TEXT), '$2')"
	fi
}

data() { # PATH
	json_of data.json "$1"
}

refused() { # STATUS PART ARG...: of report; a file that was there stays as it was
	local wanted=$1 part=$2
	shift 2
	keep refused "$kerncast" report "$@"
	equal "$(<refused.status)" "$wanted" "status of report $*: $(<refused.err)"
	contains "$(<refused.err)" "$part"
}

@test "the data are what the other commands say" {
	local path
	page "$RECORDED"
	"$kerncast" report --json "$RECORDED" >report.json
	for path in '$.simulated' '$.ledger' '$.accuracy' '$.repeated' '$.kernels' '$.concurrency' '$.activity.devices' '$.activity.processes' '$.activity.streams' '$.activity.copies' \
		'$.activity.idle_causes' '$.activity.gaps[0]' '$.activity.gaps[9]' '$.runs' '$.database'; do
		equal "$(data "\$.report${path#\$}")" "$(json_of report.json "$path")" "$path"
	done
	within "$(json_of report.json '$.activity.gaps[10].ns')" 1 1000000000000 "the eleventh gap"
	equal "$(data '$.report.activity.gaps[10]')" "" "more than ten gaps"
	equal "$(data '$.report.simulated')" 1 simulated
	equal "$(data '$.drawn.shown') $(data '$.drawn.of')" "240 240" "launches that are shown, of all"
	"$kerncast" slow --json "$RECORDED" >slow.json
	for path in '$.lost' '$.measured' '$.causes[4].lost_ns' '$.earlier_runs' '$.launches[0].took_ns'; do
		equal "$(data "\$.slow${path#\$}")" "$(json_of slow.json "$path")" "slow: $path"
	done
	"$kerncast" diff --json "$RECORDED" >diff.json
	for path in '$.sums' '$.compared_kernels' '$.old_source.runs' '$.new_source.runs'; do
		equal "$(data "\$.diff${path#\$}")" "$(json_of diff.json "$path")" "diff: $path"
	done
	"$kerncast" report --json --by step "$RECORDED" >report.json
	for path in time_ns busy_ns measured_ns predicted_ns; do
		equal "$(data "\$.steps.rows[3].$path")" "$(json_of report.json "\$.found_steps[3].$path")" "$path of the fourth step"
	done
	# Of a launch that is drawn: what the database says, its time alone times its slowdown.
	equal "$(data '$.drawn.rows[7]' | jq -r '[.[2:7][]] | join(" ")')" \
		"$(sql "SELECT end_ns - start_ns, measured_end_ns - measured_start_ns, CAST(solo_low_ns * slowdown AS INTEGER),
			CAST(ceil(solo_high_ns * slowdown) AS INTEGER), CASE novelty WHEN 'first_seen' THEN 0 WHEN 'new_size' THEN 1 ELSE 2 END
			FROM launch WHERE run = 2 ORDER BY process, sequence LIMIT 1 OFFSET 7" "$RECORDED" | tr '|' ' ')" "predicted, measured, its range and what was known"
	# Of those of the timeline: each time, after the window's first moment.
	equal "$(sql "SELECT count(*) > 100 AND count(*) = sum(stream = value ->> 0 AND start_ns - base = value ->> 2 AND end_ns - base = value ->> 3 AND
		measured_start_ns - base = value ->> 4 AND measured_end_ns - base = value ->> 5 AND l.launched_ns - base = value ->> 6)
		FROM json_each(CAST(readfile('data.json') AS TEXT), '\$.windows[0].rows') JOIN launch l ON sequence = value ->> 7,
		(SELECT started_ns + $(data '$.windows[0].base_ns') AS base FROM process WHERE run = 2) WHERE run = 2 AND value ->> 9 IS NULL" "$RECORDED")" 1 \
		"launches of the timeline with the database's times"
	within "$(data '$.windows[0].rows[#-1][0]')" 1 99 "stream of a row of the timeline"
	within "$(data '$.lambda.lines[0].points[1][2]')" 0.0001 10000 "a value of λ"
}

@test "one run alone has no section about changes; --old chooses the runs to compare with" {
	page --old none "$RECORDED"
	equal "$(data '$.diff')$(data '$.slow.earlier_runs')" "[]" "earlier runs"
	page --old 1 "$RECORDED"
	equal "$(data '$.diff.old_source.runs')" "[1]" "runs before"
	page --run 1 "$RECORDED"
	equal "$(data '$.diff')" "" "what changed since before the first run"
	page --run all "$RECORDED"
	contains "$(data '$.slow.left_out')" "choose one with --run"
	equal "$(data '$.drawn.of')" 480 "launches of both runs"
	refused 1 "no run 7" --html other.html --old 7 "$RECORDED"
	[[ ! -e other.html ]]
}

hash_of() { # TEXT FILE: SHA-256 in base64, of a file without its last line end
	printf '%b' "$(head -c -1 "$1" | sha256sum | cut -d ' ' -f 1 | sed 's/../\\x&/g')" | base64
}

@test "the policy allows the page's own script and style by their hashes, and nothing else" {
	page "$RECORDED"
	sed -n '/<style>/,/<\/style>/p' page.html | sed '1s/.*<style>//; $s/<\/style>$//' >style
	sed -n '/^<script>/,/^<\/script>/p' page.html | sed '1s/^<script>//; $s/<\/script>$//' >script
	contains "$(head -n 5 page.html)" "content=\"default-src 'none'; script-src 'sha256-$(hash_of script)'; \
style-src 'sha256-$(hash_of style)'; base-uri 'none'; form-action 'none'\""
	equal "$(grep -o -i -E '<(script|style|link|img|iframe|object|embed|base|form|svg)[ >]' page.html | tr -d '\n')" '<style><script <script <script>' \
		"elements that could load or run"
}

hostile_trace() { # kernels whose names would end the data, hide its end, or run
	local i=0 name
	echo kind,start_ns,duration_ns,process,device_name,name
	for name in '</script><script>document.title=1</script>' '<!--<script>' '</style><style>*{display:none}</style>' \
		'<img src=http://192.0.2.1/x onerror=document.title=1>' $'k\u2028l\u2029' $'k\e[31m' $'k\u202eevil' $'k\xff\xfe' '&lt;b&gt;' \
		'__proto__' '{{7*7}}' 'javascript:alert(1)'; do
		printf 'kernel,%d,1500,"%s","%s","%s"\n' $((i += 2000)) '</script>p' '</script><script>GPU' "$name"
	done
}

@test "hostile names stay in the data" {
	hostile_trace >'<img src=x>.csv'
	"$kerncast" import '<img src=x>.csv' -o '<script>x.db' >/dev/null
	page '<script>x.db'
	equal "$(grep -c -F '<' data.json)$(grep -c -F '>' data.json)$(grep -c -F '&' data.json)" 000 "lines of the data with markup"
	equal "$(LC_ALL=C grep -c -P '[\x00-\x09\x0b-\x1f\x7f-\xff]' data.json)" 0 "lines of the data with other bytes than printable ones"
	equal "$(grep -o -i '<script' page.html | wc -l) $(grep -o -i '</script' page.html | wc -l) $(grep -c -i '<style' page.html)" "3 3 1" \
		"elements"
	equal "$(sqlite3 :memory: "SELECT count(*) FROM json_each(CAST(readfile('data.json') AS TEXT), '\$.report.kernels')
		WHERE json_extract(value, '\$.name') IN ('</script><script>document.title=1</script>', 'k\\u202eevil', 'k\\x1b[31m')")" 3 \
		"names as they are shown"
}

@test "--anonymous: names are hashes, and nothing is left of names, paths, hosts, command lines and arguments" {
	local word
	mkdir -p 'secret folder'
	cp "$build/demo-static-sim" 'secret folder/secretprogram'
	"$kerncast" run -q -o 'secret folder/secret.db' 'secret folder/secretprogram' --rounds 3 >/dev/null
	sql "INSERT INTO message(id, process, time_ns, severity, code, count, text)
		SELECT id << 40 | 999, id, 0, 2, 'SECRETLESS', 1, 'no secret at ' || directory FROM process" 'secret folder/secret.db'
	page --anonymous --exclude secretkernel --process "'secret folder/secretprogram' --rounds 3" --device 'GPU 0 of secret,0' \
		'secret folder/secret.db'
	for word in secret rounds saxpy matmul stencil transpose vector_add reduce "$PWD" "$HOME/" "$(hostname)" "$(uname -n)" "$USER"; do
		[[ -z $word || ${#word} -lt 4 ]] || ! grep -q -F -- "$word" data.json || { echo "$word is left"; return 1; }
	done
	equal "$(data '$.report.kernels[0].name')" "kernel $(sql "SELECT name FROM kernel k JOIN shape s ON s.kernel = k.id JOIN launch_row r
		ON r.shape = s.id GROUP BY k.id ORDER BY sum(measured_span) DESC LIMIT 1" 'secret folder/secret.db' |
		head -c -1 | sha256sum | head -c 10)" "the name of the kernel that took most time"
	equal "$(data '$.report.messages[0].code')$(data '$.report.messages[0].text')" SECRETLESS "what is left of a message"
	page 'secret folder/secret.db'
	grep -q secretprogram data.json # a page that is not anonymous has them
}

@test "a trace has the predictions of a replay" {
	"$kerncast" import "$reduced"/traces/pytorch/*.csv.gz -o trace.db >/dev/null
	page trace.db
	"$kerncast" replay --json trace.db >replay.json
	equal "$(data '$.replayed.report.accuracy')" "$(json_of replay.json '$.accuracy')" "accuracy"
	equal "$(data '$.report.accuracy.n')" 0 "matched without the replay"
	contains "$(data '$.replayed.about')" "kerncast replay"
	equal "$(sqlite3 :memory: "SELECT sum(json_extract(value, '\$[2]') > 0) > 0
		FROM json_each(CAST(readfile('data.json') AS TEXT), '\$.drawn.rows')")" 1 "drawn launches with a prediction"
}

@test "launches of a trace are drawn where and as long as the replay predicts and the trace measured them" {
	local columns='NR == 1 {for (i = 1; i <= NF; i++) at[$i] = i; next} {start = $at["start_ns"]; end = $at["end_ns"]
		began = $at["measured_start_ns"]; ended = $at["measured_end_ns"]; launched = $at["launched_ns"]}'
	{
		echo kind,start_ns,duration_ns,grid_x,grid_y,grid_z,block_x,block_y,block_z,stream,name
		for ((i = 0; i < 12; i++)); do # every fourth begins during the one before
			echo "kernel,$((1000000 + (i - (i % 4 == 3)) * 500000 + i)),$((20000 + i % 3 * 10000)),$((8 << i % 3)),1,1,128,1,1,$((7 + i % 4)),k$((i % 2))"
		done
	} >trace.csv
	"$kerncast" import trace.csv -o trace.db >/dev/null
	page trace.db
	"$kerncast" replay --csv trace.db | tr -d '\r' >replay.csv
	awk -F, "$columns"'{print int(launched / 1000), end - start, ended - began, $at["solo_low_ns"], $at["solo_high_ns"]}' replay.csv |
		sort >replayed
	jq -r '.drawn.rows[] | .[1:6] | join(" ")' data.json | sort >drawn
	equal "$(wc -l <drawn) $(<drawn)" "12 $(<replayed)" "drawn launches"
	awk -F, -v base="$(data '$.windows[0].base_ns')" \
		"$columns"'{print start - base, end - base, began - base, ended - base, launched - base, $at["sequence"]}' replay.csv |
		sort >replayed
	equal "$(jq -r '.windows[0].rows[] | .[2:8] | join(" ")' data.json | sort)" "$(<replayed)" "launches of the first window"
	awk -F, "$columns"'$at["overlap"] ~ "behind|overtaken" && $at["reference_ns"] > 0 {printf "%.0f %.0f\n", 1000 * $at["slowdown"],
		1000 * (ended - began) / $at["reference_ns"]}' replay.csv | sort >replayed
	jq -r '.drawn.rows[] | select(length > 8) | .[8:10] | map(. * 1000 | round) | join(" ")' data.json | sort >drawn
	equal "$(wc -l <drawn) $(<drawn)" "4 $(<replayed)" "slowdowns"
}

@test "a trace of kernels that took 0 ns, each or all of them: there is a page" {
	printf '%s\n' kind,start_ns,duration_ns,grid_x,grid_y,grid_z,block_x,block_y,block_z,stream,name \
		kernel,1000,0,1,1,1,1,1,1,7,f kernel,2000,0,1,1,1,1,1,1,7,f >all.csv
	{ cat all.csv && echo kernel,3000,5,1,1,1,1,1,1,7,f; } >some.csv
	for name in all some; do
		"$kerncast" import "$name.csv" -o "$name.db" >/dev/null
		"$kerncast" report --html "$name.html" "$name.db"
	done
	contains "$(<all.html)" "Nothing was measured."
}

@test "a filter: what matches is drawn, and the page says so" {
	page --kernel '^saxpy' "$RECORDED"
	equal "$(data '$.drawn.shown') $(data '$.drawn.of') $(data '$.report.filter.kernel')" "30 30 ^saxpy" "what is drawn"
	equal "$(data '$.report.accuracy.n')" 30 "matched"
	equal "$(data '$.slowdowns')" "" "roll-ups, which are of all launches"
	equal "$(data '$.slow.measured.launches')" 30 "launches that are judged"
}

@test "a filter of a trace: its launches count once, whatever is replayed" {
	"$kerncast" import "$root"/cuda_tests/traces/made/slow_rank_?.json.gz -o trace.db >/dev/null
	page --anonymous trace.db
	equal "$(data '$.slow.processes' | jq -c '[.[] | [.name, .pid]]')" "[[null,2001]]" "stragglers, without names"
	page --process "rank 1" trace.db
	equal "$(data '$.slow.processes' | jq -c '[.[] | [.name, .pid]]')" '[["rank 1 (pid 2001)",2001]]' "stragglers"
	equal "$(data '$.report.filter.launches') $(data '$.report.filter.of_launches') $(data '$.drawn.of')" "60 240 60"
}

@test "nothing measured, nothing launched: a page that says so" {
	KERNCAST_MEASURE=off "$kerncast" run -q "$build/demo-static-sim" --rounds 3 >/dev/null
	page kerncast.db
	equal "$(data '$.slow.left_out')" "Nothing was measured." "what was slow"
	equal "$(data '$.report.accuracy.n') $(data '$.drawn.rows[0][3]')" "0 " "matched, and a measured time"
	sql "DELETE FROM launch_row; DELETE FROM rollup; DELETE FROM ledger"
	page kerncast.db
	equal "$(data '$.drawn.shown') $(data '$.windows')" "0 []" "launches"
}

@test "3,000 kernels with long names: the page is small and says which part it shows" {
	local name
	name=$(printf '\U1d54a%.0s' {1..300})
	{
		echo kind,start_ns,duration_ns,name
		for ((i = 1; i <= 3000; i++)); do echo "kernel,$((i * 2000)),$((1000 + i % 900)),$i$name"; done
	} >many.csv
	"$kerncast" import many.csv -o many.db >/dev/null
	page many.db
	equal "$(data '$.counts.kernels.shown') $(data '$.counts.kernels.of')" "1000 3000" "kernels"
	within "$(stat -c %s page.html)" 100000 5000000 "bytes of the page"
}

@test "names of several hundred characters that differ in the middle are there as a whole" {
	local long
	long=$(printf 'c10::Half, %.0s' {1..30})
	printf '%s\n' kind,start_ns,duration_ns,name "kernel,2000,1000,\"void f<${long}int, ${long}0>(int)\"" \
		"kernel,4000,1000,\"void f<${long}long, ${long}0>(int)\"" >two.csv
	"$kerncast" import two.csv -o two.db >/dev/null
	page two.db
	equal "$(data '$.report.kernels[0].name')|$(data '$.report.kernels[1].name')" "void f<${long}int, ${long}0>(int)|void f<${long}long, ${long}0>(int)"
}

forty_five_kernels() { # FACTOR: 12 launches of each of 45 kernels, the last of which takes longest
	local i k at=0 ns
	echo kind,start_ns,duration_ns,stream,grid_x,block_x,name
	for ((i = 0; i < 12; i++)); do
		for ((k = 1; k <= 45; k++)); do
			ns=$(((20000 + k * 100) * $1))
			echo "kernel,$at,$ns,7,64,128,k$k"
			at=$((at + ns + 5000))
		done
	done
}

@test "45 kernels that are slower than before: how many, and the 40 that lost most time" {
	local names list
	forty_five_kernels 1 >old.csv
	forty_five_kernels 2 >new.csv
	"$kerncast" import old.csv -o two.db >/dev/null
	"$kerncast" import new.csv -o two.db >/dev/null
	page --old 1 two.db
	names=$(printf 'k%d ' {45..6})
	equal "$(data '$.diff.counts.contributors') $(data '$.diff.counts.changes')" "45 45" "how many there are"
	for list in diff.contributors diff.changes 'slow.causes[5].kernels'; do
		equal "$(data "\$.$list" | jq -r '.[].name' | xargs) " "$names" "names in $list"
	done
}

@test "the file appears whole or not at all, and never over a database" {
	echo before >page.html
	refused 1 "cannot write no/such/page.html" --html no/such/page.html "$RECORDED"
	refused 1 "No space left on device" --html /dev/full "$RECORDED"
	cp "$RECORDED" copy.db
	refused 1 "is not overwritten" --html copy.db "$RECORDED"
	cmp copy.db "$RECORDED"
	: >some.kcj
	refused 1 "is not overwritten" --html some.kcj "$RECORDED"
	[[ ! -s some.kcj ]]
	head -c 20000 "$RECORDED" >broken.db
	refused 1 kerncast --html page.html broken.db
	refused 1 kerncast --html page.html missing.db
	equal "$(<page.html)" before "a page that was there"
	equal "$(compgen -G 'page.html.*')" "" "temporary files"
	"$kerncast" report --html page.html "$RECORDED"
	"$kerncast" report --html - "$RECORDED" >stdout.html
	cmp page.html stdout.html
}

@test "a disk that is full in the middle of the page: no page, and the one before stays" {
	local full=(unshare -m sh -c 'mount -t tmpfs -o size=64k none full && echo before >full/page.html && "$@"; s=$?; ls full >left
		cat full/page.html >>left; exit $s' sh)
	unshare -m sh -c 'mkdir -p full && mount -t tmpfs none full' 2>/dev/null || skip "mounting is not permitted here"
	keep full "${full[@]}" "$kerncast" report --html full/page.html "$RECORDED"
	equal "$(<full.status)" 1 "status"
	contains "$(<full.err)" "cannot write full/page.html: No space left on device"
	equal "$(<left)" $'page.html\nbefore' "what is left"
}

@test "options that do not go with a page: status 2" {
	local options
	for options in "--json" "--csv" "--by kernel" "--sort time" "--top 3"; do
		refused 2 "leave out" --html page.html $options "$RECORDED"
	done
	refused 2 "are for --html" --anonymous "$RECORDED"
	refused 2 "are for --html" --old 1 "$RECORDED"
	[[ ! -e page.html ]]
}
