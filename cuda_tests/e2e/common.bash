# What the end-to-end tests share. They see kerncast from outside: its commands,
# its library, the database, and the count that the simulated device keeps for
# itself. On a machine with a GPU they use the stand-ins all the same.

export LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 # bash reads \u202e in its locale

root=$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd)
build=${KC_BUILD:-$root/build}
kerncast=$build/kerncast
lab=$build/kerncast-lab
library=$build/libkerncast.so
simcuda=$build/simcuda

setup() {
	local name
	for name in $(compgen -e KERNCAST_) $(compgen -e SIMCUDA_) LD_PRELOAD; do
		unset "$name"
	done
	cd "$BATS_TEST_TMPDIR" || return 1
	export XDG_CONFIG_HOME=$PWD/config # not the developer's own
	export LD_LIBRARY_PATH=$simcuda
	export SIMCUDA_LOG=$PWD/simcuda.log
	export SIMCUDA_SEED=1
	export SIMCUDA_COSTS=$root/cuda_tests/demo/demo.costs
	export KERNCAST_FLUSH_MS=60000 # a busy machine is no reason to leave anything to the journal
}

that_has() { # COMMAND: prints the program that has it
	case $1 in
	basis | experiment) echo "$lab" ;;
	*) echo "$kerncast" ;;
	esac
}

# --- assertions that say what was there instead

equal() { # GOT WANTED [WHAT]
	[[ $1 == "$2" ]] || { echo "${3:-value}: got \"$1\", wanted \"$2\""; return 1; }
}

within() { # GOT LOW HIGH [WHAT]; integers or decimals, both ends included
	awk -v g="$1" -v l="$2" -v h="$3" 'BEGIN { exit !(g ~ /^ *[-+]?[.0-9]/ && g + 0 >= l + 0 && g + 0 <= h + 0) }' ||
		{ echo "${4:-value}: got \"$1\", wanted $2 to $3"; return 1; }
}

contains() { # TEXT PART
	[[ $1 == *"$2"* ]] || { printf 'no "%s" in:\n%s\n' "$2" "$1"; return 1; }
}

# --- the stand-in's own count: struct simcuda_log of cuda_tests/simcuda/simcuda.h

counted() { # NAME, one of these
	local -A at=([launches]=8 [launches_failed]=16 [kernels]=40 [copies]=48 [memsets]=56 [processes]=64 [host_functions_v2]=72 [calls]=80
		[cupti_buffers]=88 [cupti_cleared]=96)
	if [[ -s $SIMCUDA_LOG ]]; then
		od -An -t u8 -j "${at[$1]}" -N 8 "$SIMCUDA_LOG" | tr -d ' '
	else
		echo 0
	fi
}

# --- the database and the report

sql() { # QUERY [DB]
	sqlite3 -batch -bail -separator '|' "${2:-kerncast.db}" "$1"
}

per_thread() { # NUMBER: what launches count of the counter with this number (predictor/code/counts.h, from 0), per thread
	sql "SELECT DISTINCT hex(substr(counts, 8 * $1 + 1, 8)) FROM work" | xxd -r -p | od -An -v -t f8 -w8 |
		awk '{ printf "%.4g\n", $1 }' | sort -gu | paste -s -d ' '
}

report() { # JSON path, e.g. $.ledger.launches [DB]
	"$kerncast" report --json "${2:-kerncast.db}" >report.json || return 1
	sqlite3 :memory: "SELECT json_extract(CAST(readfile('report.json') AS TEXT), '$1')"
}

# The sums of design.md, "Everything is accounted for", over every run in DB.
ledger_adds_up() { # [DB]
	local sums
	"$kerncast" report --json --run all "${1:-kerncast.db}" >ledger.json || return 1
	sums=$(sqlite3 :memory: "
		WITH l AS (SELECT json_extract(CAST(readfile('ledger.json') AS TEXT), '\$.ledger') AS j),
		v AS (SELECT j ->> 'launches' AS launches, j ->> 'predicted' AS predicted,
			j ->> 'unpredictable' AS unpredictable, j ->> 'matched' AS matched,
			j ->> 'unmeasured' AS unmeasured, coalesce(j ->> 'awaited', 0) AS awaited FROM l)
		SELECT CASE
		WHEN launches IS NULL THEN 'no launches in the ledger'
		WHEN launches <> predicted + unpredictable THEN 'launches <> predicted + unpredictable'
		WHEN predicted <> matched + unmeasured + awaited THEN 'predicted <> matched + unmeasured'
		ELSE 'ok' END FROM v")
	[[ $sums == ok ]] || { echo "$sums"; cat ledger.json; return 1; }
}

# --- running

# Runs a command; its output and status are kept apart from bats' own.
keep() { # NAME COMMAND...
	local name=$1
	shift
	set +e
	"$@" >"$name.out" 2>"$name.err" </dev/null
	echo $? >"$name.status"
	set -e
}

same() { # NAME NAME: output, error output and exit status
	diff "$1.out" "$2.out" && diff "$1.err" "$2.err" && diff "$1.status" "$2.status"
}

preloaded() { # COMMAND...: under the shim, without `kerncast run`
	env LD_PRELOAD="$library" "$@"
}

# Runs COMMAND without the shim, then under `kerncast run -q`: same output, same
# status. Leaves kerncast.db, and in SIMCUDA_LOG what the second run launched.
unchanged_under_run() { # COMMAND...
	keep plain "$@"
	rm -f "$SIMCUDA_LOG"
	keep shimmed "$kerncast" run -q -- "$@"
	same plain shimmed
}

needs_root() {
	((EUID == 0)) || skip "needs root"
}

has_browser() { # for browser.py
	command -v python3 >/dev/null && { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null
}

# --- recordings of GPUs: the reduced ones, and the full ones, which are elsewhere

reduced=$root/cuda_tests/traces

full_data() { # sets data; skips where they are not there
	data=${KC_SHARED_DATA:-$root/../shared/data}
	[[ -r $data/traces/MANIFEST.csv ]] || skip "no full recordings in $data (KC_SHARED_DATA names another place)"
}
