# More launches than can be followed: each is accounted for, and which ones have no measured time depends on no kernel.
load ../common

flood() { # THREADS: for a second, with two seconds for the exit. Leaves launches and took_s.
	local began=$EPOCHREALTIME
	launches=$(preloaded env KERNCAST_DB=kerncast.db KERNCAST_FLUSH_MS=2000 "$build/awkward/flood" "$1" 1 2>flood.err)
	took_s=$(awk -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')
	echo "$launches launches in $took_s s"
	cat flood.err
}

accounted_for() {
	"$kerncast" recover kerncast.db
	equal "$(sql 'SELECT count(*) FROM launch')" "$launches" "rows"
	equal "$(sql "SELECT sum(count) FROM ledger WHERE item IN ('dropped', 'after_end')")" 0 "launches without a row"
	ledger_adds_up
	ls -A ./*.kcj 2>/dev/null && return 1
	# Seven sizes, launched in turn.
	within "$(sql 'SELECT max(share) - min(share)
		FROM (SELECT avg(measured_end_ns IS NOT NULL) AS share FROM launch GROUP BY grid_x)')" 0 0.05 \
		"difference between the measured shares of launches of seven sizes"
}

@test "one thread as fast as it can, and eight: every launch has a row, and no kernel is measured less than others" {
	local threads launches took_s
	for threads in 1 8; do
		rm -f kerncast.db*
		flood $threads
		within "$took_s" 1 20 "seconds"
		accounted_for
	done
}
