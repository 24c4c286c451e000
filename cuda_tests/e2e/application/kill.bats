# SIGKILL at any moment loses no launch whose call had been made.
load ../common

# Starts the demo under the shim alone, kills it after MICROSECONDS: after its start, or after its first launch.
killed_after() { # MICROSECONDS [launched]
	LD_PRELOAD=$library KERNCAST_QUIET=1 KERNCAST_DB=$PWD/kerncast.db \
		"$build/demo-shared" --threads 8 --rounds 100000 >/dev/null 2>&1 3>&- &
	local pid=$!
	[[ ${2-} != launched ]] || until_launched
	sleep "$(printf '%d.%06d' $(($1 / 1000000)) $(($1 % 1000000)))"
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null || true
}

until_launched() { # for 20 s at most, on a machine however busy
	local looks
	for ((looks = 0; looks < 1000; looks++)); do
		[[ $(counted launches) -eq 0 ]] || return 0
		sleep 0.02
	done
	echo "no launch in 20 s"
	return 1
}

# Each check returns by itself: bash ends no function that || follows.
nothing_lost() { # THREADS
	local launches rows distinct twice
	launches=$(counted launches)
	"$kerncast" recover >recover.out 2>&1 || { cat recover.out; return 1; }
	if ((launches == 0)) && [[ ! -e kerncast.db ]]; then
		return 0
	fi
	IFS='|' read -r rows distinct twice < <(sql "SELECT count(*), count(DISTINCT process || '/' || sequence),
		(SELECT count(*) FROM (SELECT 1 FROM launch WHERE measured_start_ns IS NOT NULL
		GROUP BY process, correlation HAVING count(*) > 1)) FROM launch")
	# Each thread may have been inside one call that the stand-in had not counted yet.
	within "$rows" "$launches" "$((launches + $1))" "rows in launch" || return 1
	equal "$distinct" "$rows" "distinct rows" || return 1
	equal "$twice" 0 "measurements used twice" || return 1
	ledger_adds_up || return 1
	equal "$(ls *.kcj 2>/dev/null)" "" "journals left behind"
}

@test "SIGKILL at 50 random moments of an 8-thread run: every launch is there once" {
	local began=$SECONDS mid_run=0 kills since moment
	RANDOM=${KC_SEED:-$$}
	echo "KC_SEED=${KC_SEED:-$$} repeats this"
	for ((kills = 0; kills < 50; kills++)); do
		# A start takes longer on a busy machine: every other moment is one of the time after it.
		((kills % 2)) && since=launched || since=
		moment=$((RANDOM * 32768 + RANDOM))
		moment=$((moment % 300000))
		killed_after "$moment" "$since"
		(($(counted launches) > 0)) && ((mid_run++)) || true
		nothing_lost 8 || { echo "kill $kills, $moment us after the ${since:-start}"; return 1; }
		rm -f kerncast.db* "$SIMCUDA_LOG"
	done
	echo "$kills kills, $mid_run of them after the first launch, $((SECONDS - began)) s"
	within "$mid_run" 25 50 "kills after the first launch"
}

@test "what a killed process left comes in with the next report, once" {
	killed_after 300000 launched
	local launches
	launches=$(counted launches)
	within "$launches" 1 100000000 "launches before the kill"
	"$kerncast" report kerncast.db
	within "$(sql 'SELECT count(*) FROM launch')" "$launches" $((launches + 8)) "rows in launch"
	"$kerncast" recover kerncast.db
	"$kerncast" report kerncast.db
	within "$(sql 'SELECT count(*) FROM launch')" "$launches" $((launches + 8)) "rows after another recovery"
	equal "$(sql 'SELECT ended FROM process')" killed "how the process ended"
}

@test "several recoveries at once, and beside a run that goes on: no row twice, none missing" {
	killed_after 100000 launched
	"$kerncast" run -q -o kerncast.db "$build/demo-shared" --rounds 100 >/dev/null &
	for i in 1 2 3; do
		"$kerncast" recover kerncast.db >/dev/null &
	done
	wait
	"$kerncast" recover kerncast.db
	local rows
	rows=$(sql 'SELECT count(*) FROM launch')
	within "$rows" "$(counted launches)" "$(($(counted launches) + 8))" "rows in launch"
	equal "$(sql 'SELECT count(DISTINCT process || "/" || sequence) FROM launch')" "$rows" "distinct rows"
}
