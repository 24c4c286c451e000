# What kerncast says about itself is so: reasons, messages and counts, when its
# tables are full, the disk is closed to it, or its files are taken away.
load common

awkward=$build/awkward

# Launches without a prediction, as REASON|COUNT lines.
reasons() {
	sql 'SELECT unpredictable, count(*) FROM launch WHERE unpredictable IS NOT NULL GROUP BY unpredictable'
}

table_full() { # the message's text
	sql "SELECT text FROM message WHERE code = 'TABLE_FULL'"
}

@test "more threads with streams of their own than are told apart: the table of streams is said to be full" {
	export SIMCUDA_MODE=null
	unchanged_under_run "$awkward/tables" threads 16500
	equal "$(sql 'SELECT count(*) FROM launch')" 16500 "rows in launch"
	equal "$(sql 'SELECT count(*) FROM stream')" 16384 "streams, as shim/tables.c bounds them"
	equal "$(reasons)" "table_full|$((16500 - 16384))" "reasons"
	contains "$(table_full)" "16,384 streams"
	equal "$(sql 'SELECT count(*) FROM launch WHERE kernel IS NULL')" 0 "launches whose kernel is not named"
	ledger_adds_up
}

@test "more kernels than there is memory for: the message says that it is the memory, and at how many kernels" {
	export SIMCUDA_MODE=null
	local kernels shapes
	unchanged_under_run "$awkward/tables" kernels 15000
	equal "$(sql 'SELECT count(*) FROM launch')" 15000 "rows in launch"
	kernels=$(sql 'SELECT count(*) FROM kernel')
	within "$kernels" 1 14999 "kernels with an entry"
	equal "$(reasons)" "table_full|$((15000 - $(sql 'SELECT count(*) FROM launch WHERE unpredictable IS NULL')))" \
		reasons
	contains "$(table_full)" "40 MiB"
	# The worker counts when it sees that memory is full: a smaller entry may still have found room after that.
	within "$(table_full | sed -n 's/.*kernels: \([0-9]*\),\([0-9]*\),.*/\1\2/p')" $((kernels - 10)) "$kernels" \
		"kernels in the message"
	contains "$(table_full)" "8,192 loaded images"
	run "$kerncast" report
	contains "$output" "40 MiB"
	ledger_adds_up
}

@test "more launch shapes than there is memory for: said, and the rest is predicted" {
	export SIMCUDA_MODE=null
	unchanged_under_run "$awkward/tables" shapes 50000
	equal "$(sql 'SELECT count(*) FROM launch')" 50000 "rows in launch"
	equal "$(reasons | cut -d'|' -f1)" table_full reasons
	contains "$(table_full)" "40 MiB"
	contains "$(table_full)" "launch shapes: "
}

@test "tables with room left: no message about them" {
	export SIMCUDA_MODE=null
	unchanged_under_run "$awkward/tables" streams 1000
	equal "$(table_full)" "" "message about a full table"
	equal "$(reasons)" "" "reasons"
}
