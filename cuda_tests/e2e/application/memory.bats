# What kerncast takes of an application's memory: the table in shim/README.md, measured by
# awkward/libraries/own_memory.c.
load ../common

awkward=$build/awkward

measured() { # COMMAND...: leaves the peaks, in KiB, in own
	env KERNCAST_DB=kerncast.db OWN_MEMORY="$PWD/own" LD_PRELOAD="$awkward/own_memory.so:$library" "$@"
	cat own
}

own() { # WHICH
	awk -v which="$1" '$1 == which { print $2 }' own
}

@test "launches of eight threads at the highest rate: all of kerncast's memory is within 64 MiB" {
	measured env KERNCAST_FLUSH_MS=2000 "$awkward/flood" 8 4
	within "$(own journal)" 1 $((16 * 1024)) "KiB of the journal"
	within "$(own total)" 1 $((64 * 1024)) "KiB"
}

@test "kernels and launch shapes without end, all of kerncast's memory is within 64 MiB" {
	export SIMCUDA_MODE=null
	local what
	for what in kernels shapes; do
		rm -f kerncast.db*
		measured "$awkward/tables" $what 30000
		within "$(own total)" 1 $((64 * 1024)) "KiB after 30,000 $what"
		contains "$(sql "SELECT text FROM message WHERE code = 'TABLE_FULL'")" "MiB for what is known of the program"
	done
}

@test "threads, streams, modules and graphs that have ended take no memory, and no table is full" {
	local what
	for what in threads destroyed reloads graphs; do
		rm -f kerncast.db*
		measured env KERNCAST_FLUSH_MS=20000 "$awkward/tables" $what 20000
		within "$(own mapped)" 1 $((16 * 1024)) "KiB after 20,000 $what"
		equal "$(sql 'SELECT count(*), count(unpredictable) FROM launch')" "20000|0" \
			"launches, and without a prediction, $what"
		equal "$(sql "SELECT text FROM message WHERE code = 'TABLE_FULL'")" "" "message, $what"
	done
}

kernel() { # NUMBER LINES [NOISE]: PTX of a kernel with that many multiply-adds, with NOISE letters that cannot be packed
	printf '.visible .entry k%d(.param .u64 p0)\n{\n.reg .f32 %%f<4>;\n.reg .b64 %%rd<2>;\n' "$1"
	printf 'ld.param.u64 %%rd1, [p0];\n'
	awk -v lines="$2" -v noise="${3:-0}" -v seed="$1" 'BEGIN {
		srand(seed)
		for (i = 0; i < lines; i++) {
			line = "fma.rn.f32 %f1, %f2, %f3, %f1; //"
			for (n = 0; n < noise; n++)
				line = line sprintf("%c", 65 + int(58 * rand()))
			print line
		}
	}'
	printf 'st.global.f32 [%%rd1], %%f1;\nret;\n}\n'
}

reads_all() { # FILE KERNELS: within 16 seconds
	local seconds
	for seconds in 1 4 16; do
		rm -f kerncast.db*
		"$kerncast" run -q -- "$build/awkward/one_each" "$1" "$2" "$seconds"
		if (($(sql "SELECT count(*) FROM kernel WHERE code = 'waits'") == 0)); then break; fi
	done
	equal "$(sql "SELECT code, count(*) FROM kernel GROUP BY code")" "read|$2"
}

head='.version 8.0\n.target sm_75\n.address_size 64\n'

# Each kernel needs more memory than is left beside the text of the other three.
@test "kernels too long to be read beside each other's text are read one after another" {
	local i
	# shellcheck disable=SC2059 # it has escapes
	{
		printf "$head"
		for i in 0 1 2 3; do kernel "$i" 9500 24; done
	} >long.ptx
	reads_all long.ptx 4
	equal "$(per_thread 0)" 9500 fma
}

# A step of the reader has time for some of them; each has its own number of multiply-adds.
@test "the kernels of a large module are read in many steps, each once and from its own text" {
	local i
	# shellcheck disable=SC2059
	{
		printf "$head"
		for i in {0..199}; do kernel "$i" "$((200 + i))"; done
	} >large.ptx
	reads_all large.ptx 200
	equal "$(per_thread 0)" "$(seq -s ' ' 200 399)" fma
}
