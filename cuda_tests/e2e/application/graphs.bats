# Large CUDA graphs: every kernel node of every launch is accounted for, and a node
# costs the calling thread as much among many as among few.
# Runs in real time.
load ../common

graph=$build/awkward/large_graph

# What five runs print, in ns of the calling thread's processor time per 1,000 nodes.
runs_with() { # THOUSANDS
	local -i runs
	for ((runs = 0; runs < 5; runs++)); do
		preloaded env KERNCAST_DB=runs.db "$graph" added "$1"000 2
		rm -f runs.db*
	done | awk -v per="$1" '{ print $1, int($2 / per) }'
}

least() { # KEY FILE
	awk -v key="$1" '$1 == key && (!n++ || $2 < least) { least = $2 } END { print least }' "$2"
}

@test "a graph of 10,000 captured nodes, launched again and again: nothing is lost" {
	local -i launches=8
	preloaded env KERNCAST_DB=kerncast.db "$build/playback/large_graph_at_once" captured 10000 $launches
	equal "$(counted kernels)" $((launches * 10000)) "kernels executed"
	equal "$(report '$.ledger.launches')" $((launches * 10000)) launches
	equal "$(report '$.ledger.matched')" $((launches * 10000)) matched
	equal "$(report '$.ledger.captured')" 10000 "captured launches"
	equal "$(sql "SELECT sum(count) FROM ledger WHERE item IN ('dropped', 'cupti_dropped')")" 0 "dropped"
	within "$(counted cupti_buffers)" 1 $((launches * 10000 / 64)) "buffers that CUPTI asked for"
	equal "$(report '$.ledger.transfers')|$(report '$.ledger.transfers_measured')" "$((2 * launches))|$((2 * launches))" \
		"the copy and the memset of each launch"
	equal "$(report '$.ledger.transfer_records')|$(report '$.ledger.transfers_unmatched')" "$((2 * launches))|0" "their records"
	ledger_adds_up
}

@test "instantiating, changing and launching a graph: 20 times as many nodes take no more than 60 times as long" {
	local key few
	runs_with 1 >few
	runs_with 20 >many
	for key in instantiate change launch; do
		few=$(least "$key" few)
		within "$(least "$key" many)" 1 $((3 * few)) "$key, ns per 1,000 of 20,000 nodes ($few where there are 1,000)"
	done
}

# The least of several runs, which alternate, in the processor time of the calling thread: a busy machine only makes it
# more, so that there are more runs where the first ones do not do. A driver takes microseconds for such a launch, and so
# does the stand-in where CUPTI does not record the nodes.
@test "launching a graph of 10,000 nodes takes 20 us and 10 ns per node more than without kerncast, at most" {
	local -i most=$((20000 + 10000 * 10))
	local -i round bare
	unset SIMCUDA_LOG # which would add to both
	for ((round = 0; round < 40; round++)); do
		((round < 8)) || (($(least launch recorded) > most + $(least launch bare))) || break
		LD_LIBRARY_PATH="$build/simcuda" "$graph" captured 10000 10 >>bare
		preloaded env KERNCAST_DB=runs.db KERNCAST_MEASURE=off "$graph" captured 10000 10 >>recorded
		rm -f runs.db*
	done
	bare=$(least launch bare)
	within "$bare" 1 50000 "ns of a launch without kerncast"
	within "$(least launch recorded)" 1 $((bare + most)) "ns of a launch ($bare without kerncast)"
}

# The worker has made no row of the last launch when the process is killed: recovery makes them.
@test "SIGKILL right after a graph has been launched loses none of its kernels" {
	preloaded env KERNCAST_DB=kerncast.db KERNCAST_MEASURE=off "$graph" captured 5000 3 killed || true
	"$kerncast" recover >recover.out 2>&1 || { cat recover.out; return 1; }
	equal "$(sql "SELECT count(*), count(DISTINCT sequence), count(solo_ns) FROM launch")" "20000|20000|20000" \
		"rows, distinct ones, predictions"
	equal "$(sql "SELECT group_concat(n) FROM (SELECT count(*) AS n FROM launch GROUP BY graph_launch)")" \
		"5000,5000,5000,5000" "kernels of each launch"
	# Whoever made them, the rows of each launch are those of the first, at another time.
	equal "$(sql "SELECT count(*) FROM launch a JOIN launch b ON b.graph_launch = 1 AND b.graph_node = a.graph_node
		WHERE a.graph_launch = 4 AND a.solo_ns = b.solo_ns AND a.grid_x = b.grid_x AND a.kernel = b.kernel
		AND a.end_ns - a.start_ns = b.end_ns - b.start_ns")" 5000 "kernels as in the first launch"
	ledger_adds_up
	equal "$(ls ./*.kcj 2>/dev/null)" "" "journals left behind"
}

# As with CUPTI 13.0: 235 of 295 were.
@test "nodes of child graphs are measured where their records have ids that nobody has told" {
	preloaded env KERNCAST_DB=kerncast.db SIMCUDA_CUPTI_NODES=other "$build/matrix/sim/runtime_graph" --threads 1 >/dev/null
	equal "$(report '$.ledger.launches')" 295 launches
	equal "$(report '$.ledger.matched')" 295 matched
	equal "$(sql "SELECT coalesce(sum(count), 0) FROM ledger WHERE item = 'cupti_unmatched'")" 0 "records without a launch"
	ledger_adds_up
}

# --graphs=whole

whole() { # COMMAND...: into kerncast.db
	preloaded env KERNCAST_GRAPHS=whole "$@"
}

# The chain begins and ends with a copy and a memset, which are nodes as well. The device takes as long in either run.
@test "a graph measured as one takes as long as from the first of its nodes to the last" {
	local took
	preloaded env KERNCAST_DB=nodes.db "$graph" added 1000 4
	whole "$graph" added 1000 4
	equal "$(sql "SELECT count(*), count(solo_ns), count(end_ns), count(measured_end_ns), group_concat(DISTINCT unmeasured)
		FROM launch")" "4000|4000|4000|0|in_graph" "kernels, predicted, with times"
	equal "$(report '$.ledger.graphs_whole')|$(report '$.ledger.graphs_measured')|$(report '$.ledger.graphs_unmatched')" \
		"4|4|0" "graphs, measured, records without a launch"
	equal "$(report '$.ledger.records')|$(report '$.ledger.unmatched')" "0|0" "records of kernels"
	equal "$(report '$.graphs[0].kernels')|$(report '$.graphs[0].measured')" "1000|4" "in the report"
	took=$(sql "SELECT avg(took) FROM (SELECT max(measured_end_ns) - min(measured_start_ns) AS took FROM launch
		GROUP BY graph_launch)" nodes.db)
	within "$(report '$.graphs[0].mean_measured_ns')" "$(awk -v t="$took" 'BEGIN { print t * 0.99 }')" \
		"$(awk -v t="$took" 'BEGIN { print t * 1.01 }')" "ns of a launch (node by node: $took)"
	# As predicted node by node, and nothing is learned of them.
	equal "$(sql 'SELECT count(DISTINCT solo_ns), count(DISTINCT model_state) FROM launch WHERE graph_node = 1')" "1|1"
	equal "$(sql 'SELECT count(*) FROM lambda')" 0 "learned"
	contains "$("$kerncast" report kerncast.db)" "All 4,000 launches are kernels of graphs that were measured as a whole"
	within "$(report '$.activity.devices[0].busy_ns')" "$(awk -v t="$took" 'BEGIN { print 4 * t * 0.9 }')" 1e12 "busy ns"
	ledger_adds_up
}

@test "kernels outside of graphs are measured as ever beside graphs measured as one" {
	whole "$build/matrix/sim/runtime_graph" --threads 1 >/dev/null
	equal "$(report '$.ledger.launches')" 295 launches
	equal "$(sql "SELECT count(*) FROM launch WHERE api <> 'cuGraphLaunch' AND measured_end_ns IS NULL")" 0 "not measured"
	equal "$(sql "SELECT count(*) FROM launch WHERE api = 'cuGraphLaunch' AND ifnull(unmeasured, '') <> 'in_graph'")" 0 \
		"kernels of graphs not so"
	equal "$(report '$.ledger.graphs_measured')" "$(sql "SELECT count(DISTINCT graph_launch) FROM launch
		WHERE api = 'cuGraphLaunch'")" "graphs measured"
	equal "$(report '$.ledger.unmatched')|$(report '$.ledger.graphs_unmatched')" "0|0" "records without a launch"
	ledger_adds_up
}

@test "a graph measured as one whose record is lost is counted, and its kernels are still of a graph" {
	whole env SIMCUDA_FAULT=cupti-drop=2 KERNCAST_FLUSH_MS=8000 "$graph" added 100 8
	equal "$(report '$.ledger.graphs_whole')|$(report '$.ledger.graphs_measured')" "8|4" "graphs, measured"
	equal "$(sql "SELECT count(*), group_concat(DISTINCT unmeasured) FROM stream_call
		WHERE kind = 9 AND measured_end_ns IS NULL")" "4|record_dropped" "the others"
	equal "$(sql "SELECT DISTINCT unmeasured FROM launch")" in_graph "kernels"
	ledger_adds_up
}

@test "SIGKILL loses no kernel of graphs measured as one, and makes none twice" {
	whole "$graph" added 5000 3 killed || true
	"$kerncast" recover >recover.out 2>&1 || { cat recover.out; return 1; }
	equal "$(sql "SELECT count(*), count(DISTINCT sequence), group_concat(DISTINCT unmeasured) FROM launch")" \
		"20000|20000|in_graph" "rows, distinct ones"
	equal "$(sql "SELECT count(*), count(measured_end_ns) BETWEEN 0 AND 3, sum(unmeasured = 'process_killed') > 0
		FROM stream_call WHERE kind = 9")" "4|1|1" "launches of graphs"
	ledger_adds_up
}

@test "graphs as one do not go with measuring in windows, and are of no account where nothing is measured" {
	local status=0
	"$kerncast" run --graphs=whole --measure=adaptive true 2>refused || status=$?
	equal "$status" 2 "exit status"
	contains "$(cat refused)" "--graphs=whole does not go with --measure=adaptive"
	KERNCAST_GRAPHS=whole KERNCAST_MEASURE=adaptive preloaded "$graph" added 100 2 2>said
	contains "$(cat said)" "--graphs=whole does not go with"
	equal "$(sql 'SELECT count(*), count(measured_end_ns) FROM launch')" "200|200" "measured node by node"
	# Of a flag and a variable the flag is used, of two variables the one that the library uses.
	KERNCAST_GRAPHS=whole KERNCAST_MEASURE=adaptive "$kerncast" run env >both 2>said
	contains "$(grep -E 'KERNCAST_(GRAPHS|MEASURE)' both | sort | tr '\n' ' ')" "KERNCAST_GRAPHS=nodes KERNCAST_MEASURE=adaptive"
	contains "$(cat said)" "; --measure=adaptive is used, with --graphs=nodes"
	KERNCAST_MEASURE=adaptive "$kerncast" run --graphs=whole env >flag 2>said
	contains "$(grep -E 'KERNCAST_(GRAPHS|MEASURE)' flag | sort | tr '\n' ' ')" "KERNCAST_GRAPHS=whole KERNCAST_MEASURE=all"
	contains "$(cat said)" "; --graphs=whole is used, with --measure=all"
	rm kerncast.db
	whole env KERNCAST_MEASURE=off "$graph" added 100 2
	equal "$(sql 'SELECT DISTINCT unmeasured FROM launch')" measure_off "reason"
	equal "$(report '$.ledger.graphs_whole')" 0 "graphs as one"
}

@test "records of graphs as one that were not asked for are of no account" {
	whole env KERNCAST_AFTER=600 "$graph" added 100 12
	equal "$(report '$.ledger.launches')|$(report '$.ledger.not_asked')" "600|600" "launches, not asked for"
	equal "$(report '$.ledger.graphs_measured')|$(report '$.ledger.graphs_unmatched')" "6|0" "graphs, without a launch"
	ledger_adds_up
}

# Of a copy and a memset a record comes as well. 100 are more than make the library ask for the runtime's calls.
@test "graphs as one without a kernel have no record without a launch" {
	whole "$graph" captured 0 100
	equal "$(report '$.ledger.graphs_whole')|$(report '$.ledger.graphs_unmatched')" "0|0" "graphs, records without a launch"
	ledger_adds_up
}

# A launch that is passed over accounts for one record, not for one of each of its 100 kernels: those that come all the
# same, 1,200, are records without a launch, but for one of each of the six launches passed over.
@test "a graph as one that was not asked for accounts for one record" {
	whole env KERNCAST_AFTER=600 SIMCUDA_FAULT=cupti-graph-nodes "$graph" added 100 12
	equal "$(report '$.ledger.graphs_whole')|$(report '$.ledger.not_asked')" "6|600" "graphs, not asked for"
	within "$(report '$.ledger.unmatched')" 1188 1200 "records without a launch"
}

# --- copies and memsets of graphs

copies() { # OPTIONS PROGRAM-ARGUMENTS...: prints kind, bytes, transfers, measured, why not
	local options=$1
	shift
	rm -f kerncast.db*
	# shellcheck disable=SC2086
	"$kerncast" run -q $options -o kerncast.db -- "$build/awkward/graph_copies" "$@" >/dev/null || true
	sql "SELECT kind, bytes, count(*), count(measured_end_ns), coalesce(group_concat(DISTINCT unmeasured), '')
		FROM transfer GROUP BY kind, bytes, unmeasured IS NULL ORDER BY kind, bytes, unmeasured"
}

# TRANSFERS MEASURED, which are as many as CUPTI's records
transfers_add_up() {
	equal "$(report '$.ledger.transfers')|$(report '$.ledger.transfers_measured')|$(report '$.ledger.transfer_records')" "$1|$2|$2" \
		"transfers, measured, records"
	equal "$(report '$.ledger.transfers_unmatched')|$(report '$.ledger.transfers_dropped')" "0|0" "unmatched, dropped"
}

@test "copies and memsets of a graph and of its child graph: each is a transfer, and has its record" {
	equal "$(copies "" mixed 10)" $'DtoD|64|10|10|\nDtoH|32|10|10|\nHtoD|256|10|10|\nmemset|128|10|10|'
	transfers_add_up 40 40
	equal "$(report '$.ledger.launches')|$(report '$.ledger.matched')" "10|10" "kernels"
	equal "$(sql "SELECT count(*) FROM transfer t JOIN launch l USING (process, correlation, stream) WHERE t.launched_ns = l.launched_ns")" \
		40 "with the call of their graph's launch"
	ledger_adds_up
}

@test "copies and memsets of a graph without a kernel" {
	equal "$(copies "" alone 10)" $'DtoD|64|10|10|\nmemset|128|10|10|'
	transfers_add_up 20 20
}

@test "copies of a graph that are changed and disabled" {
	equal "$(copies "" changed 10)" $'DtoD|64|20|20|\nDtoH|32|10|10|\nHtoD|256|10|10|\nHtoD|512|10|10|\nmemset|128|20|20|'
	transfers_add_up 70 70
	ledger_adds_up
}

@test "copies of a graph are changed where nothing is recorded" {
	keep shimmed preloaded env KERNCAST_DISABLE=1 "$build/awkward/graph_copies" changed 3
	equal "$(<shimmed.status)" 0 "exit status, disabled"
	KERNCAST_DB=$PWD/none/k.db keep shimmed preloaded "$build/awkward/graph_copies" changed 3
	equal "$(<shimmed.status)" 0 "exit status, without a place for a database"
}

@test "copies of graphs that are not measured, and whose records are dropped" {
	local what
	for what in kernels off; do
		equal "$(copies --measure=$what mixed 10)" \
			$'DtoD|64|10|0|measure_off\nDtoH|32|10|0|measure_off\nHtoD|256|10|0|measure_off\nmemset|128|10|0|measure_off'
		transfers_add_up 40 0
		ledger_adds_up
	done
	SIMCUDA_FAULT=cupti-drop=3 copies "" mixed 30
	within "$(report '$.ledger.transfers_measured')" 60 119 "measured"
	transfers_add_up 120 "$(report '$.ledger.transfers_measured')"
	equal "$(sql "SELECT count(*) FROM transfer WHERE measured_end_ns IS NULL AND unmeasured NOT IN ('record_dropped', 'not_delivered')")" 0
	equal "$(copies --graphs=whole mixed 10)" "" "where the graph is measured as one"
	equal "$(report '$.ledger.graphs_measured')|$(report '$.ledger.transfers_unmatched')" "10|0" "graphs, records without a transfer"
}

@test "copies of graphs that are launched before and after what is asked for are counted" {
	copies "--after 4 --for 3" mixed 10
	equal "$(report '$.ledger.transfers')|$(report '$.ledger.transfers_not_asked')" "12|28" "transfers, not asked for"
	equal "$(report '$.ledger.transfers_unmatched')" 0 "records without a transfer"
	ledger_adds_up
}
