# Names, paths and values that hold terminal escapes, line ends, formulas or turned reading direction: whatever the
# command prints, the terminal gets text.
load ../common

esc=$'\e' line=$'\n' # what the names are made of

# What no output may have: C0 but line ends, DEL, C1, marks of direction, U+2028, U+2029, bytes that are not UTF-8.
harmless() { # FILE...
	local file
	for file in "$@"; do
		if LC_ALL=C grep -naP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]|\xd8\x9c' \
			"$file" >controls; then
			echo "$file: control characters:"
			head -n 3 controls | cat -v
			return 1
		fi
		iconv -f utf-8 -t utf-8 "$file" >/dev/null || { echo "$file: not UTF-8"; return 1; }
	done
}

# Runs kerncast, whatever its status, and looks at all that it prints. CSV's lines end in CR LF (RFC 4180).
prints_text() { # ARG...
	set +e
	"$(that_has "$1")" "$@" >shown.out 2>shown.err </dev/null
	set -e
	sed -i 's/\r$//' shown.out
	harmless shown.out shown.err || { printf 'kerncast'; printf ' %q' "$@"; echo; return 1; }
}

prints_text_of() { # DB: every command that reads one
	local by
	for by in kernel model stream case; do
		prints_text report --by "$by" "$1"
		equal "$(grep -c '^Ledger' shown.out)" 1 "ledgers of report --by $by"
		prints_text report --csv --by "$by" "$1"
	done
	prints_text report --exact "$1"
	prints_text report --json "$1"
	jq_valid shown.out
	prints_text replay "$1"
	prints_text replay --csv "$1"
	prints_text replay --json "$1"
	jq_valid shown.out
	prints_text export --csv "$1"
	prints_text export --chrome "$1"
	jq_valid shown.out
	prints_text devices "$1"
	prints_text devices --json "$1"
	prints_text basis train "$1"
	prints_text basis predict --kernel "k${esc}[31m" --device v100 --block 64 "$1"
	prints_text recover "$1"
}

jq_valid() { # FILE: one JSON document
	equal "$(sqlite3 :memory: "SELECT json_valid(CAST(readfile('$1') AS TEXT))")" 1 "$1 is JSON"
}

hostile_trace() { # a trace CSV; its sixth column is quoted
	local i=0 name
	echo kind,start_ns,duration_ns,process,device_name,name
	for name in "k${esc}]0;pwned"$'\a'"${esc}[31mRED${esc}[2J" $'k\nLedger\n  launches 0' "=cmd|' /C calc'!A0" '+1' '@SUM(A1)' \
		$'-1\r=2' $'k\xff\xfe' $'k\u202eevil' $'k\u009b31mC1' $'k\u2028l\u2029' $'a\tb,c;""d""' $'\u061c\u2066\u200f\x7f'; do
		printf 'kernel,%d,1500,"%s","%s","%s"\n' $((i += 2000)) "p${esc}[2J${line}Ledger" "GPU${esc}[31m" "$name"
	done
}

@test "names of an imported trace: no command prints a control character or a second ledger" {
	hostile_trace >trace.csv
	prints_text import trace.csv -o k.db
	equal "$(sql 'SELECT count(*) FROM launch' k.db)" 12 "launches imported"
	prints_text_of k.db
	prints_text report k.db
	contains "$(<shown.out)" 'k\x1b]0;pwned\x07\x1b[31mRED\x1b[2J'
	contains "$(<shown.out)" 'k\nLedger\n  launches 0'
	contains "$(<shown.out)" 'k\u202eevil'
}

@test "columns of a table stand below one another whatever the names are" {
	hostile_trace >trace.csv
	"$kerncast" import trace.csv -o k.db >/dev/null
	"$kerncast" report --by kernel k.db | sed -n '/^  kernel /,/^$/p' | sed '$d' | iconv -f utf-8 -t ascii//TRANSLIT >table
	equal "$(wc -l <table)" 13 "lines of the table"
	equal "$(awk '{ print index($0, /share/ ? "share" : "8.3 %") }' table | sort -u | wc -l)" 1 "columns of the shares"
}

@test "names in CSV are no formulas" {
	hostile_trace >trace.csv
	"$kerncast" import trace.csv -o k.db >/dev/null
	"$kerncast" report --csv k.db >k.csv
	grep -q "^'=cmd|' /C calc'!A0,[0-9]" k.csv
	grep -q "^'+1,[0-9]" k.csv
	grep -q "^'@SUM(A1),[0-9]" k.csv
	grep -q "^'-1\\\\r=2,[0-9]" k.csv
	equal "$(grep -c '^[=+@-]' k.csv)" 0 "rows that begin as a formula"
	"$kerncast" export --csv k.db >launches.csv
	contains "$(<launches.csv)" ",'+1"
	equal "$(grep -c ',[=+@]' launches.csv)" 0 "fields that begin as a formula"
	run "$kerncast" import launches.csv -o again.db
	equal "$status" 1 "exit status of importing an export"
	contains "$output" "launches.csv: this is not a trace"
	printf "kind,start_ns,duration_ns,name\nkernel,1,1500,'=1\n" >quoted.csv
	"$kerncast" import quoted.csv -o quoted.db >/dev/null
	equal "$(sql 'SELECT name FROM kernel' quoted.db)" "'=1" "a trace's name, as it stands"
}

@test "a database edited by hand: messages, devices, commands and models are shown as text" {
	"$kerncast" run -q "$build/demo-static-sim" --rounds 3
	sql "UPDATE device SET name = 'G' || char(27) || '[31m' || char(10) || 'Ledger';
		UPDATE process SET command_line = 'x' || char(10) || 'Ledger' || char(155);
		UPDATE kernel SET name = 'k' || char(27) || char(10) || 'Ledger' || id, mangled = 'k' || char(8238) || id;
		INSERT INTO message(id, process, time_ns, severity, code, count, text)
			SELECT id << 40 | 999, id, 0, 2, 1, 1, 'm' || char(27) || '[2J' || char(10) || 'Ledger' FROM process"
	prints_text_of kerncast.db
}

@test "values, paths and errors that quote them are shown as text" {
	local bad="b${esc}[31m${line}Ledger"$'\u009b\u202e\xff' command
	printf 'kind,start_ns,duration_ns,name\nkernel,%s,1,k\nker%snel,1,1,k\n' "${esc}[31mEVIL" "${esc}[2J" >"$bad.csv"
	printf '{"traceEvents": [{"ph":"X","cat":"kernel","name":"k","ts":"\\u001b[31mEVIL","dur":1}]}' >"$bad.json"
	printf '==1== %s\n"Start","Duration","%s"\n' "$bad" "${esc}[31m" >"$bad.nvprof"
	for command in csv json nvprof; do
		prints_text import "$bad.$command" -o "$bad.db"
	done
	for command in report replay export devices recover; do
		prints_text $command "$bad"
		prints_text $command "$bad.db"
		prints_text $command "--$bad"
		prints_text $command a "$bad"
		prints_text $command --run="$bad" "$bad.db"
	done
	prints_text report --by="$bad"
	prints_text export --csv -o "$bad/x" "$bad.db"
	prints_text explain "$bad"
	prints_text explain "$build/demo-static-sim" --kernel "$bad" --grid "$bad"
	prints_text predict --device "$bad" "$bad"
	prints_text slowdown --device v100 "$bad" "blocks=1,threads=$bad"
	prints_text experiment "$bad"
	prints_text basis "$bad"
	prints_text basis space "$bad"
	prints_text doctor "$bad"
	prints_text doctor "./$bad"
	prints_text run "$bad"
	prints_text run --measure="$bad" true
	prints_text run -o "/nonexistent/$bad" "$build/demo-static-sim" --rounds 1
	prints_text "$bad"
	cp "$build/demo-static-sim" "$bad.app"
	prints_text run -o app.db "./$bad.app" --rounds 1
	prints_text_of app.db
}

@test "what the library says inside an application is shown as text" {
	KERNCAST_MEASURE="x${esc}[31m${line}Ledger" LD_PRELOAD="$library" "$build/demo-static-sim" --rounds 1 >out 2>err
	contains "$(<err)" 'x\x1b[31m\nLedger'
	harmless err
	KERNCAST_DB="/nonexistent/${esc}[31m/x.db" LD_PRELOAD="$library" "$build/demo-static-sim" --rounds 1 >out 2>err
	harmless err
}

@test "300 names of random bytes: no command prints a control character" {
	LC_ALL=C awk 'BEGIN {
		srand(7)
		print "kind,start_ns,duration_ns,process,name"
		for (i = 0; i < 300; i++) {
			name = ""
			for (n = 1 + int(rand() * 40); n > 0; n--) {
				byte = rand() < 0.5 ? 1 + int(rand() * 31) : 127 + int(rand() * 129)
				name = name sprintf("%c", byte == 34 ? 27 : byte)
			}
			printf "kernel,%d,1500,\"%s\",\"%s\"\n", i * 2000, i % 50 ? "p" : name, name
		}
	}' >random.csv
	prints_text import random.csv -o r.db
	within "$(sql 'SELECT count(*) FROM launch' r.db)" 250 300 "launches imported"
	prints_text_of r.db
}
