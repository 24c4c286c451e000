# One document, several outputs: whatever number the text, CSV, Markdown or the page has is in JSON, and reads as that does.
# Runs in real time.
load ../common

agree() { # NUMBERS ROWS JSON OUTPUT...: so many numbers and rows of tables at least are compared, and none differs
	local numbers=$1 rows=$2 compared
	shift 2
	"$root/cuda_tests/e2e/outputs_agree.py" "$@" >differs || { head -n 20 differs; echo "of $*"; return 1; }
	read -r -a compared <<<"$(sed -n 's/ compared, \(.*\) rows, 0 different$/ \1/p' differs)"
	within "${compared[0]}" "$numbers" 999999 "numbers compared of $*" && within "${compared[1]}" "$rows" 999999 "rows compared of $*"
}

differ() { # FOUND ARG...: of agree, which fails
	if agree 1 0 "${@:2}" >"$1"; then
		echo "nothing was found"
		return 1
	fi
}

browse() { # PAGE: makes data.json and all.page of it
	"$root/cuda_tests/e2e/browser.py" "$1" 'data=JSON.parse(document.getElementById("data").textContent)' \
		'tables=[...document.querySelectorAll("table")].map(table => [...table.rows].map(row => [...row.cells].map(cell =>
			(cell.querySelector(".name > code") || cell).textContent.trim())))' >told
	sed -n 's/^data //p' told >data.json
	sed -n 's/^tables //p' told >all.page
}

report_agrees() { # DB NUMBERS ROWS: text and CSV by all that there is, and the page
	local by
	"$kerncast" report --json "$1" >report.json
	"$kerncast" report "$1" >report.txt
	for by in kernel model stream case rank gpu class time gap copy; do
		"$kerncast" report --by "$by" "$1" >"$by.txt"
		"$kerncast" report --by "$by" --csv "$1" >"$by.csv"
	done
	agree "$2" "$3" report.json report.txt ./{kernel,model,stream,case,rank,gpu,class,time,gap,copy}.{txt,csv}
	has_browser || return 0
	"$kerncast" report --html page.html "$1"
	browse page.html
	agree 250 30 data.json all.page
}

others_agree() { # DB
	local command
	for command in slow replay; do
		"$kerncast" "$command" --json "$1" >"$command.json"
		"$kerncast" "$command" "$1" >"$command.txt"
		agree 15 2 "$command.json" "$command.txt"
	done
	for command in json csv; do
		"$kerncast" pairs --$command "$1" >"pairs.$command"
	done
	"$kerncast" pairs "$1" >pairs.txt
	agree 15 2 pairs.json pairs.txt pairs.csv
	for command in rank gpu; do
		"$kerncast" slow --by $command "$1" >by.txt
		agree 10 2 slow.json by.txt
	done
}

@test "report, slow, pairs, diff and replay say one and the same in text, JSON, CSV, Markdown and on the page" {
	local trace
	"$kerncast" run -q "$build/demo-static-sim" --rounds 60
	sed 's/\*(350+3\*threads)/*(1050+3*threads)/' "$SIMCUDA_COSTS" >costs
	grep -q 1050 costs
	SIMCUDA_COSTS=$PWD/costs "$kerncast" run -q "$build/demo-static-sim" --rounds 60
	report_agrees kerncast.db 1000 400
	others_agree kerncast.db
	"$kerncast" diff --json >diff.json
	"$kerncast" diff >diff.txt
	"$kerncast" diff --md >diff.md
	agree 30 3 diff.json diff.txt diff.md
	for trace in pytorch/hta_nccl_a100 apps/gtx1080ti; do
		rm -f one.db
		"$kerncast" import "$reduced/traces/$trace.csv.gz" -o one.db >/dev/null
		report_agrees one.db 1000 400
		others_agree one.db
	done
}

@test "slowdown, prune and learn say one and the same in text and JSON" {
	local kernels=(--device k40 'blocks=110,threads=256,smem=1024,time=10us' 'blocks=450,threads=256,time=20us')
	"$kerncast" run -q "$build/demo-static-sim" --rounds 20
	"$kerncast" slowdown "${kernels[@]}" >slowdown.txt
	"$kerncast" slowdown --json "${kernels[@]}" >slowdown.json
	agree 10 0 slowdown.json slowdown.txt
	"$kerncast" learn kerncast.db -o l.prior >/dev/null
	"$kerncast" learn --list l.prior >learn.txt
	"$kerncast" learn --list l.prior --json >learn.json
	agree 20 0 learn.json learn.txt
}

@test "a number that is off, or under another's head, in one of the outputs would be seen" {
	"$kerncast" import "$reduced/traces/pytorch/hta_nccl_a100.csv.gz" -o one.db >/dev/null
	"$kerncast" report --json one.db >report.json
	"$kerncast" report one.db >report.txt
	"$kerncast" report --by copy --csv one.db >copy.csv
	agree 100 20 report.json report.txt copy.csv
	sed 's/exposed 3\.7 %/exposed 3.6 %/' report.txt >wrong.txt # a percentage in a sentence
	differ found.1 report.json wrong.txt
	sed 's/^  DtoD  *479 /  DtoD      38 /' report.txt >wrong.txt # a count that is another row's
	differ found.2 report.json wrong.txt
	sed 's/^DtoD,479,/DtoD,478,/' copy.csv >wrong.csv
	differ found.3 report.json wrong.csv
	awk -F, -v OFS=, 'NR > 1 { bytes = $3; $3 = $4; $4 = bytes } 1' copy.csv >wrong.csv # two columns
	differ found.4 report.json wrong.csv
	sed 's/^\(  stream .*\)  kernels  \(.*\)  launch-bound$/\1  launch-bound  \2  kernels/' report.txt >wrong.txt # two heads
	contains "$(<wrong.txt)" "launch-bound  copies only"
	differ found.5 report.json wrong.txt
	sed 's/,0\r*$/,1/' copy.csv >wrong.csv
	differ found.6 report.json wrong.csv
	(echo "SIMULATED: these times come from a stand-in device, not from a GPU." && cat report.txt) >wrong.txt
	differ found.7 report.json wrong.txt
	equal "$(grep -l -E '^3.6 % |^no row of activity.(copies|streams)|^no object of JSON is .*(478|102653936|simulated)|^simulated is False' found.[1-7] | wc -l)" 7 \
		"outputs in which it was found"
}
