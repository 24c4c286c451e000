# kerncast tune: which of a kernel's compiled variants are worth timing. The variants are nvcc's, of cuda_tests/explain.
load ../common

matmuls() { # makes matmul.csv of tiled products of 1024 x 1024 matrices; $1: further columns of all
	local n c
	echo "file,kernel,grid,block,args,tile,coalesced${1:+,$1}"
	for n in 4 8 16 32; do
		for c in yes no; do
			[[ $c == yes ]] && k=coalesced || k=uncoalesced
			echo "$build/explain/libkernels.so,matmul_tiled_${k}_$n,\"$((1024 / n)),$((1024 / n))\",\"$n,$n\",\"0x10000000,0x20000000,0x30000000,1024\",$n,$c"
		done
	done
}

tune() { # ARG...: leaves tune.json
	"$kerncast" tune --json "$@" >tune.json
}

value() { # JSON_PATH
	sqlite3 :memory: "SELECT coalesce(json_extract(j, '$1'), 'null') FROM (SELECT CAST(readfile('tune.json') AS TEXT) AS j)"
}

variants() { # EXPRESSION [CONDITION], over the variants, which are v
	sqlite3 :memory: "SELECT group_concat(x, ' ') FROM (SELECT $1 AS x FROM (SELECT value AS v FROM
		json_each((SELECT json_extract(CAST(readfile('tune.json') AS TEXT), '$.variants')))) WHERE ${2:-1})"
}

rounded() { # numbers to six digits, words as they are
	awk '{ if ($1 + 0 == $1) printf "%.6g\n", $1; else print }'
}

refused() { # WORDS ARG...: tune fails with 1 and these words
	local words=$1
	shift
	keep refused "$kerncast" tune --device h100 "$@"
	equal "$(<refused.status)" 1 "status of kerncast tune"
	equal "$(<refused.out)" "" "output"
	contains "$(<refused.err)" "$words"
}

@test "variants are ranked by what explain estimates, and five are named" {
	local place tile kernel key
	matmuls >matmul.csv
	tune matmul.csv --device h100
	equal "$(value '$.count') $(value '$.estimated') $(value '$.timed') $(value '$.verdict')" "8 8 0 first"
	equal "$(variants "v ->> 'next'")" "1 2 3 4 5" "places of those to time"
	equal "$(variants "v ->> 'expected_ns'" | tr ' ' '\n' | sort -g -c && echo sorted)" sorted "order"
	# the same numbers as explain's
	for place in 0 3 7; do
		tile=$(value "\$.variants[$place].parameters.tile")
		kernel=matmul_tiled_$([[ $(value "\$.variants[$place].parameters.coalesced") == yes ]] || echo un)coalesced_$tile
		"$kerncast" explain --json "$build/explain/libkernels.so" --kernel "$kernel" --device h100 --args 0x10000000,0x20000000,0x30000000,1024 \
			--grid "$((1024 / tile)),$((1024 / tile))" --block "$tile,$tile" >explain.json
		for key in estimated_ns:models.resources.total_ns low_ns:models.resources.low_ns limit:models.resources.limit \
			resources.shared:models.resources.ns.shared resources.dram:models.resources.ns.dram registers:code.registers; do
			equal "$(value "\$.variants[$place].${key%:*}" | rounded)" \
				"$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('explain.json') AS TEXT), '$.kernels[0].${key#*:}')" | rounded)" "$key of $kernel"
		done
	done
	# 4 x 4 threads are one warp, of which an SM holds 32 of 64; 32 x 32 fill both of its halves
	equal "$(variants "v ->> 'occupancy'" "v ->> 'parameters' ->> 'tile' = 4")" "50 50" "occupancy of small blocks"
	equal "$(variants "v ->> 'occupancy'" "v ->> 'parameters' ->> 'tile' = 32")" "100 100" "occupancy of large blocks"
}

@test "Kernel Tuner's cache, T4 and CSV tell the same times, whatever the order and form of parameters" {
	matmuls >matmul.csv
	printf 'coalesced,tile,time_ms,else\nyes,32.0,0.4,\nno,8,1.2,x\nyes,4,,\n' >times.csv
	cat >cache.json <<-'END'
		{"device_name": "H100", "kernel_name": "matmul", "problem_size": [1024, 1024],
		 "tune_params_keys": ["tile", "coalesced"], "tune_params": {"tile": [4, 8, 16, 32], "coalesced": ["yes", "no"]},
		 "cache": {
		"32,yes": {"tile": 32, "coalesced": "yes", "time": 0.4, "times": [0.3, 0.5], "GFLOP/s": 5.0},
		"8,no": {"tile": 8, "coalesced": "no", "time": 1.2, "env": {"time": 7}},
		"99,no": {"tile": 99, "coalesced": "no", "time": 0.1},
		"16,no": {"tile": 16, "coalesced": "no", "time": "RuntimeFailedConfig"}}}
	END
	cat >t4.json <<-'END'
		{"metadata": {"timeunit": "microseconds"}, "results": [
		 {"configuration": {"tile": 32, "coalesced": "yes"}, "times": {"runtimes": [1, 2]}, "invalidity": "correct",
		  "measurements": [{"name": "power", "value": 9}, {"name": "time", "value": 400, "unit": ""}], "objectives": ["time"]},
		 {"measurements": [{"name": "time", "value": 1.2, "unit": "miliseconds"}], "configuration": {"tile": 8, "coalesced": "no"}, "invalidity": "correct"},
		 {"configuration": {"tile": 16, "coalesced": "no"}, "invalidity": "runtime", "measurements": [{"name": "time", "value": 3}]}]}
	END
	sed -i 's/"unit": ""/"unit": "microseconds"/' t4.json
	gzip -k t4.json
	for file in times.csv cache.json t4.json t4.json.gz; do
		tune matmul.csv --device h100 --timed $file
		equal "$(variants "v ->> 'line' || ':' || (v ->> 'measured_ns')" "v ->> 'measured_ns' IS NOT NULL")" "8:400000 5:1200000" "times of $file"
		equal "$(value '$.timed')|$(value '$.verdict')" "2|next" "of $file"
		mv tune.json "$file.out"
	done
	same_document() { # FILE FILE: but for what failed
		diff <(grep expected_ns "$1") <(grep expected_ns "$2")
	}
	same_document cache.json.out t4.json.out
	same_document t4.json.gz.out t4.json.out
	cp cache.json.out tune.json
	equal "$(value '$.strangers') $(value '$.failed')" "1 1"
	equal "$(variants "v ->> 'next'" "v ->> 'state' = 'failed'")" "" "place of one that failed"
}

@test "what was timed corrects the others, and tells when to stop" {
	local before after
	matmuls >matmul.csv
	tune matmul.csv --device h100
	before=$(variants "v ->> 'expected_ns'" "v ->> 'line' = 6")
	printf 'tile,coalesced,time_ms\n32,yes,2.5\n' >slow.csv # ten times the estimate, or nearly
	tune matmul.csv --device h100 --timed slow.csv
	after=$(variants "v ->> 'expected_ns'" "v ->> 'line' = 6")
	within "$(awk -v a="$after" -v b="$before" 'BEGIN { print a / b }')" 5 12 "by what another one is expected to take longer"
	equal "$(value '$.verdict')" next
	# The three slowest by far are left: nothing better is expected of them, beyond the error.
	printf 'tile,coalesced,time_ms\n32,yes,0.39\n16,yes,0.43\n8,yes,0.7\n4,yes,2.1\n8,no,1.1\n' >most.csv
	tune matmul.csv --device h100 --timed most.csv
	equal "$(value '$.verdict') $(value '$.may_be_better') $(value '$.gain')" "stop 0 0.0"
	"$kerncast" tune matmul.csv --device h100 --timed most.csv >text
	grep -q '^Nothing better: none of 3 that were not timed is faster than the best, beyond the error. Stop.$' text
	# all of them
	{ cat most.csv && printf '4,no,3\n16,no,2\n32,no,3\n'; } >all.csv
	tune matmul.csv --device h100 --timed all.csv
	equal "$(value '$.verdict') $(variants "v ->> 'next'")" "nothing_left "
}

@test "what cannot run and what is not known is said, and not named" {
	matmuls shared | sed 's/$/,0/; 1s/,0$//; 2s/,0$/,400000/' >matmul.csv
	echo "none.so,f,1,32,,64,yes,0" >>matmul.csv
	echo "$build/explain/libkernels.so,,1,32,,65,yes,0" >>matmul.csv
	tune matmul.csv --device h100
	equal "$(value '$.cannot_run') $(value '$.unknown') $(value '$.estimated')" "1 2 7"
	contains "$(variants "v ->> 'why'" "v ->> 'state' = 'cannot_run'")" "cannot run on NVIDIA H100"
	contains "$(variants "v ->> 'why'" "v ->> 'line' = 10")" "none.so cannot be read"
	contains "$(variants "v ->> 'why'" "v ->> 'line' = 11")" "the column kernel tells which"
	equal "$(variants "v ->> 'next'" "v ->> 'state' <> 'estimated'")" ""
	"$kerncast" tune matmul.csv --device h100 >text
	grep -q '^  1 cannot run there, 2 of unknown work$' text
	grep -q '^Cannot run there, such as line 2: ' text
}

@test "block shapes of a kernel are ranked, with grids that cover as many threads" {
	local threads=(--grid "32,128" --block "32,8" --args "0x10000000,0x20000000,0x30000000,1024" --device h100)
	tune --kernel "$build/explain/libkernels.so:matmul_naive_coalesced" "${threads[@]}"
	equal "$(value '$.assumed')" "each grid covers 1024 x 1024 x 1 threads, or up to a block more in each dimension"
	# 2^x by 2^y threads of 32 to 1,024: of each number from 2^5 to 2^10 one more than its exponent
	equal "$(value '$.count') $(value '$.estimated')" "51 51"
	equal "$(variants "1" "v ->> 'parameters' ->> 'block_x' = 32 AND v ->> 'parameters' ->> 'block_y' = 8")" 1 "that of the launch, once"
	equal "$(variants "DISTINCT (v ->> 'parameters' ->> 'block_z')" | tr ' ' ',')" 1
	# as explain says of one of them
	"$kerncast" explain --json "$build/explain/libkernels.so" --kernel matmul_naive_coalesced --args 0x10000000,0x20000000,0x30000000,1024 \
		--grid 16,256 --block 64,4 --device h100 >explain.json
	equal "$(variants "v ->> 'estimated_ns'" "v ->> 'parameters' ->> 'block_x' = 64 AND v ->> 'parameters' ->> 'block_y' = 4" | rounded)" \
		"$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('explain.json') AS TEXT), '$.kernels[0].models.resources.total_ns')" | rounded)"
	printf 'block_x,block_y,block_z,time_ms\n32,8,1,0.9\n' >times.csv
	tune --kernel "$build/explain/libkernels.so:matmul_naive_coalesced" "${threads[@]}" --timed times.csv
	equal "$(value '$.timed') $(variants "v ->> 'measured_ns'")" "1 900000"
	# a block that is no power of two, and more threads than there are
	tune --kernel "$build/explain/libkernels.so:vector_add" --grid 2 --block 100 --args 0x1000,0x2000,0x3000,200 --device h100
	equal "$(variants "v ->> 'parameters' ->> 'block_x'" | tr ' ' '\n' | sort -n | tr '\n' ' ')" "32 64 100 128 "
	# the same without a guard: the last 56 threads would access memory
	tune --kernel "$build/explain/simple.ptx:strided" --grid 2 --block 100 --args 0x1000,0x2000,4,1,4 --device h100
	equal "$(variants "v ->> 'why'" "v ->> 'parameters' ->> 'block_x' = 128")" "more threads than the launch had would access memory"
	equal "$(value '$.unknown')" 3 "those of 32, 64 and 128, of which none divides 200"
	# a tile that is as large as its blocks
	tune --kernel "$build/explain/libkernels.so:matmul_tiled_coalesced_16" --grid 64,64 --block 16,16 \
		--args 0x10000000,0x20000000,0x30000000,1024 --device h100
	equal "$(value '$.count')" 1
	contains "$(value '$.assumed')" "; blocks keep their size in x, y and z, as the code uses shared memory"
	keep both "$kerncast" tune list.csv --kernel f --grid 1 --block 32 --device h100
	equal "$(<both.status)" 2 "status with a list and a kernel"
	keep no_launch "$kerncast" tune --kernel f --device h100
	equal "$(<no_launch.status)" 2 "status without a launch"
	contains "$(<no_launch.err)" "--kernel needs a launch"
	keep no_kernel "$kerncast" tune list.csv --grid 1 --block 32 --device h100
	equal "$(<no_kernel.status)" 2 "status of a launch without a kernel"
}

@test "a space without code is answered by the times of its configurations, as basis space does" {
	printf 'block,time_ms\n32,1\n64,2\n96,3\n128,\n' >space.csv
	"$kerncast" tune space.csv --device h100 >tuned
	"$lab" basis space space.csv --device h100 >said
	diff tuned said
	"$kerncast" tune space.csv --device h100 --json >tuned
	"$lab" basis space space.csv --device h100 --json >said
	diff tuned said
	refused "its times are those of the column time_ms" space.csv --timed space.csv
}

@test "files are named as seen from the list; without parameters, the launches tell variants apart" {
	mkdir there
	cp "$build/explain/containers/kernels.ptx" there
	printf 'file,kernel,grid,block,args\nkernels.ptx,reduction,64,256,"_,_,16384"\nkernels.ptx,reduction,128,128,"_,_,16384"\n' >there/list.csv
	tune there/list.csv --device h100
	equal "$(value '$.estimated')" 2
	equal "$(value '$.variants[0].parameters.file')" kernels.ptx
	equal "$(variants "v ->> 'registers' IS NULL")" "1 1" "PTX has no registers"
	printf 'file,kernel,grid,block,args,time_ms\nkernels.ptx,reduction,64,256,"_,_,16384",0.1\n' >times.csv
	tune there/list.csv --device h100 --timed times.csv
	equal "$(value '$.timed') $(variants "v ->> 'line'" "v ->> 'measured_ns'")" "1 2"
}

@test "T4 out is T4 in; CSV and text have the numbers of JSON" {
	matmuls >matmul.csv
	printf 'tile,coalesced,time_ms\n32,yes,0.39\n' >times.csv
	"$kerncast" tune matmul.csv --device h100 --timed times.csv --t4 >t4.json
	equal "$(sqlite3 :memory: "SELECT json_array_length(CAST(readfile('t4.json') AS TEXT), '$.results')")" 8
	tune matmul.csv --device h100 --timed t4.json
	equal "$(value '$.timed') $(value '$.variants[0].measured_ns')" "1 390000" "expected times are no measured ones"
	"$kerncast" tune matmul.csv --device h100 --timed times.csv >tune.txt
	"$kerncast" tune matmul.csv --device h100 --timed times.csv --csv >tune.csv
	equal "$(wc -l <tune.csv)" 9
	"$root/cuda_tests/e2e/outputs_agree.py" tune.json tune.txt tune.csv >differs || { cat differs; return 1; }
	grep -q ' 0 different$' differs
}

@test "lists and times that are wrong are refused in a sentence" {
	matmuls >matmul.csv
	keep none "$kerncast" tune
	equal "$(<none.status)" 1 "status of kerncast tune"
	contains "$(<none.err)" "kerncast.db: no such file"
	keep none "$kerncast" tune --device h100
	equal "$(<none.status)" 2 "status of kerncast tune --device"
	contains "$(<none.err)" "give either a list"
	keep none "$kerncast" tune matmul.csv
	equal "$(<none.status)" 2 "status of kerncast tune"
	contains "$(<none.err)" "no device given"
	keep both "$kerncast" tune matmul.csv --device h100 --t4 --json
	equal "$(<both.status)" 2 "status of kerncast tune"
	refused "none.csv: No such file" none.csv
	printf 'file,block,tile\na,32,1\n' >list.csv
	refused "list.csv:1: the columns file, grid and block are needed" list.csv
	printf 'file,grid,block,tile\na,0,32,1\n' >list.csv
	refused "list.csv:2: grid takes one to three numbers" list.csv
	printf 'file,grid,block,tile\na,1,"64,64",1\n' >list.csv
	refused "list.csv:2: block takes one to three numbers" list.csv
	printf 'file,grid,block,tile\na,1,32,1\na,1,64,1.0\n' >list.csv
	refused "list.csv:3: the same parameters as in line 2" list.csv
	printf 'file,grid,block,tile\n' >list.csv
	refused "list.csv: no variants" list.csv
	printf 'file,grid,block,tile,time_ms\na,1,32,1,-3\n' >list.csv
	refused "list.csv:2: time_ms is no time" list.csv
	{ echo file,grid,block; printf 'p%d,' {1..40}; } | paste -s -d , | sed 's/,$//' >list.csv
	refused "list.csv:1: more than 32 parameters" list.csv
	: >empty
	refused "empty: no header" empty
	refused "empty: no header" matmul.csv --timed empty
	printf 'tile,time_ms\n32,1\n' >times.csv
	refused "times.csv:1: no column coalesced, which the list has" matmul.csv --timed times.csv
	echo '{"cache": {"a": {"time": 1' >cut.json
	refused "cut.json:" matmul.csv --timed cut.json
	echo '{"hello": [1, 2, {"time": 3}]}' >other.json
	refused "neither a cache of Kernel Tuner nor results in the format T4" matmul.csv --timed other.json
}

# --- of a run

simulate() { # DB ARGUMENT...: of launch_shapes, on the simulated H100
	SIMCUDA_DEVICE=H100 SIMCUDA_COSTS=$root/cuda_tests/explain/shapes.costs \
		"$kerncast" run -q -o "$1" "$build/explain/launch_shapes" "${@:2}"
}

shaped() { # KERNEL X Y: the argument of launch_shapes for 512 x 512 threads, or as many in a row, in blocks of X,Y
	if [[ $1 == *vector_add* ]]; then
		echo "$1:3:262144:$((262144 / $2 / $3)),1:$(($2 * $3)),1"
	else
		echo "$1:3:512:$((512 / $2)),$((512 / $3)):$2,$3"
	fi
}

in_all_shapes() { # KERNEL: the same of all powers of two that are whole warps
	local x y
	for ((x = 1; x <= 512; x *= 2)); do
		for ((y = 1; y <= 512; y *= 2)); do
			((x * y < 32 || x * y > 1024)) || shaped "$1" $x $y
		done
	done | sort -u
}

of_kernel() { # PATH within a kernel of tuned.json [its place]
	sqlite3 :memory: "SELECT json_extract(CAST(readfile('tuned.json') AS TEXT), '$.kernels[${2:-0}].$1')"
}

# What is lost is told by the simulated device's own times, of costs by block shape that were derived from the source.
@test "of a run's own kernels, blocks are named that lose at most half as much as rules of thumb (simulated)" {
	local kernel file own shapes
	for kernel in _Z10vector_addPKfS0_Pfi _Z10matrix_sumPKfS0_Pfi _Z22matrix_sum_uncoalescedPKfS0_Pfi matmul_naive_coalesced \
		matmul_naive_uncoalesced; do
		file=$build/explain/simple.ptx
		[[ $kernel != matmul* ]] || file=$build/explain/matmul.ptx
		mapfile -t shapes < <(in_all_shapes $kernel)
		simulate all.db "$file" "${shapes[@]}"
		for own in "8 8" "16 16" "32 32"; do
			# shellcheck disable=SC2086 # two numbers
			simulate own.db "$file" "$(shaped $kernel $own)"
			"$kerncast" tune own.db --code "$file" --json >tuned.json
			rm -f own.db*
			echo "$kernel,$(of_kernel block),$(of_kernel faster),$(of_kernel 'blocks[0].block')" >>named.csv
		done
	done
	sqlite3 all.db >lost <<-'END'
		CREATE TEMP TABLE named(kernel, own, answer, block);
		.import --csv named.csv named
		CREATE TEMP TABLE took AS SELECT k.mangled AS kernel, l.block_x * l.block_y AS threads, CASE WHEN l.grid_y * l.block_y = 1 THEN
			CAST(l.block_x AS TEXT) ELSE l.block_x || ' x ' || l.block_y END AS block, avg(l.measured_end_ns - l.measured_start_ns) AS ns
			FROM launch l JOIN kernel k ON k.id = l.kernel GROUP BY 1, 2, 3;
		CREATE TEMP TABLE lost AS SELECT kernel, block, threads, ns / (SELECT min(ns) FROM took o WHERE o.kernel = took.kernel) - 1 AS lost
			FROM took;
		SELECT 'first', count(*), 100 * avg(lost) FROM named n JOIN lost l ON l.kernel = n.kernel AND l.block = coalesce(nullif(n.block, ''),
			n.own);
		SELECT '256', count(*), 100 * avg(lost) FROM lost WHERE block IN ('256', '16 x 16');
		SELECT 'occupancy', count(*), 100 * avg(lost) FROM lost WHERE threads >= 64;
		SELECT kernel, own, answer, n.block, 100 * lost FROM named n JOIN lost l USING (kernel) WHERE l.block = coalesce(nullif(n.block, ''), own);
	END
	equal "$(awk -F '|' '$1 == "first" { print $2 } $1 == 256 { print $2 }' lost | paste -s -d ' ')" "15 5"
	awk -F '|' 'NR <= 3 { lost[$1] = $3 } END { least = lost[256] < lost["occupancy"] ? lost[256] : lost["occupancy"]
		exit !(lost["first"] <= least / 2) }' lost || { cat lost; return 1; }
}

@test "of a run: what the code does not allow, what is not there, and what does other work is said" {
	cp "$build/explain/simple.ptx" gone.ptx
	simulate run.db gone.ptx _Z15transpose_naivePKfPfi:2:512:16,16:32,32
	rm gone.ptx
	tuned() { # OPTION...: why nothing is told
		"$kerncast" tune run.db --json "$@" >tuned.json
		equal "$(of_kernel faster) $(of_kernel "blocks")" "not known []"
		of_kernel why
	}
	equal "$(tuned --code "$build/explain/simple.ptx")" \
		"other blocks would do other work: the code uses threadIdx.x, blockIdx.x or blockDim.x by itself"
	contains "$(tuned)" "--code FILE tells where it is" # whether the process noted where it was or not
	contains "$(tuned --code "$build/explain/matmul.ptx")" "matmul.ptx has no code of it"
	# other code of that name: every load counts twice
	sed 's/^\(\s*\)\(ld.global.*\)$/\1\2\n\1\2/' "$build/explain/simple.ptx" >twice.ptx
	equal "$(tuned --code twice.ptx)" "the code in twice.ptx does other work than the run recorded"
	"$kerncast" tune run.db --code twice.ptx >text.txt
	contains "$(head -n 1 text.txt)" SIMULATED
	"$root/cuda_tests/e2e/outputs_agree.py" tuned.json text.txt >differs || { cat differs; return 1; }
}

@test "of a run: blocks that the code bounds are not named; the other options" {
	local kernel=matmul_naive_uncoalesced
	simulate run.db "$build/explain/matmul.ptx" $kernel:3:512:16,16:32,32 matmul_tiled_coalesced_16:3:512:32,32:16,16
	sed "/entry $kernel/,/^{/s/^{/.maxntid 32, 1, 1\n{/" "$build/explain/matmul.ptx" >bounded.ptx
	for code in "$build/explain/matmul.ptx" bounded.ptx; do
		"$kerncast" tune run.db --code "$code" --json >tuned.json
		sqlite3 :memory: "SELECT max(x * y) FROM (SELECT CAST(substr(block, 1, instr(block, ' ')) AS INTEGER) AS x,
			CAST(substr(block, instr(block, 'x ') + 2) AS INTEGER) AS y FROM (SELECT json_extract(value, '$.block') AS block
			FROM json_each(CAST(readfile('tuned.json') AS TEXT), '$.kernels[0].blocks')))"
	done >threads
	within "$(head -n 1 threads)" 33 1024 "threads of the largest block that is named"
	equal "$(tail -n 1 threads)" 32 "the same with 32 at most"
	mv run.db kerncast.db
	"$kerncast" tune --json >tuned.json
	equal "$(of_kernel faster)" yes "where the run had the code from"
	mv kerncast.db run.db
	# of all launches but one it is not known with which arguments they were made
	cp run.db one.db
	sql "UPDATE launch_row SET arguments = NULL WHERE id NOT IN (SELECT max(id) FROM launch_row GROUP BY shape)" one.db
	"$kerncast" tune one.db --json >tuned.json
	equal "$(of_kernel faster) $(of_kernel alone)" "yes 1" "of the launch that was counted"
	for options in "" "--top 1"; do
		# shellcheck disable=SC2086 # none or two
		"$kerncast" tune run.db --code "$build/explain/matmul.ptx" $options --json >tuned.json
		# shellcheck disable=SC2086
		"$kerncast" tune run.db --code "$build/explain/matmul.ptx" $options >text.txt
		# shellcheck disable=SC2086
		"$kerncast" tune run.db --code "$build/explain/matmul.ptx" $options --csv >tuned.csv
		"$root/cuda_tests/e2e/outputs_agree.py" tuned.json text.txt tuned.csv >differs || { cat differs; return 1; }
	done
	equal "$(cut -d , -f 1,2 tuned.csv | uniq -c | tr -s ' ' | paste -s -d ,)" " 1 kernel,faster, 3 $kernel,yes"
	contains "$(<text.txt)" "1 more kernel"
	keep wrong "$kerncast" tune none.db
	equal "$(<wrong.status)" 1 "status of a database that is not there"
	contains "$(<wrong.err)" "none.db: no such file"
	keep wrong "$kerncast" tune run.db --device h100
	equal "$(<wrong.status)" 2 "status with a device"
	contains "$(<wrong.err)" "run.db is a database"
	keep wrong "$kerncast" tune list.csv --run 1 --device h100
	equal "$(<wrong.status)" 2 "status of a list with a run"
	keep wrong "$kerncast" tune run.db --top 27
	equal "$(<wrong.status)" 2 "status with too many kernels"
	keep wrong "$kerncast" tune run.db --run 7
	equal "$(<wrong.status)" 1 "status of a run that is not there"
}
