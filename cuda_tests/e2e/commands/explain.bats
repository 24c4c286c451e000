# kerncast explain: what the code in a file does. The counts themselves are
# compared in cuda_tests/explain/counts_test.c.
load ../common

containers=$build/explain/containers

explain() { # what it prints, kept in explain.json, and its status 0
	"$kerncast" explain --json "$@" >explain.json
}

get() { # JSON path
	sqlite3 :memory: "SELECT json_extract(CAST(readfile('explain.json') AS TEXT), '$1')"
}

# Every kernel's name, formulas, loops' trip counts and unknowns; not the offsets in the text.
formulas() {
	sqlite3 :memory: "
		WITH k AS (SELECT value AS j FROM json_each(CAST(readfile('explain.json') AS TEXT), '\$.kernels'))
		SELECT j ->> 'name', j -> 'formula',
			(SELECT group_concat((value ->> 'depth') || ' ' || (value ->> 'trips'), '; ')
				FROM json_each(j, '\$.loops')),
			json_array_length(j, '\$.unknown')
		FROM k ORDER BY 1"
}

@test "one source, every container: the same formulas" {
	local container
	explain "$containers/kernels.ptx"
	formulas >wanted
	equal "$(wc -l <wanted)" 9
	contains "$(<wanted)" '"ld_shared":'
	contains "$(<wanted)" p2
	for container in sm_90.o none.o speed.o size.o kernels.fatbin program library.so rdc; do
		explain "$containers/$container"
		formulas >got
		diff wanted got || { echo "in $container"; return 1; }
	done
}

# The longest of the twelve takes 7,944 steps. A thirteenth takes more than 60,000, whatever its arguments.
@test "an interpreter that walks every thread counts the same" {
	run "$BATS_TEST_DIRNAME/../../explain/interpreter/compare" "$kerncast" "$build/explain/simple.ptx" \
		"$build/explain/own_memory.ptx" "$containers/kernels.ptx" --kernels 12 --steps 9000 --seed 5
	equal "$status" 0
	contains "$output" "12 agree, 0 differ"
}

@test "nvcc's default architecture: the same formulas" {
	explain "$containers/default.o"
	equal "$(get '$.architecture')" 75
	# shared_stride makes a float of an integer: I2F for sm_75, I2FP of the integer unit for sm_90.
	formulas | sed '/shared_stride/s/"int":"9"\(.*\)"convert":"1"/"int":"10"\1"convert":"0"/' >got
	explain "$containers/kernels.ptx"
	formulas >wanted
	diff wanted got
}

@test "machine code for one architecture, PTX of an older one: the formula is the PTX's" {
	explain "$containers/mixed.o" --kernel reduction
	equal "$(get '$.kernels[0].ptx')" 75
	equal "$(get '$.kernels[0].code.architecture')" 90
	explain "$containers/mixed.o" --kernel reduction --device rtx2080ti
	equal "$(get '$.kernels[0].code.architecture')" 75
}

@test "no PTX: said, with what the machine code tells" {
	local container
	for container in code_only.o kernels.cubin; do
		explain "$containers/$container" --kernel max_subarray
		equal "$(get '$.kernels[0].formula')" ""
		contains "$(get '$.kernels[0].refused')" "no PTX"
		equal "$(get '$.kernels[0].code.static_shared_bytes')" $((128 * 33 * 4))
		equal "$(get '$.kernels[0].params[2].offset_bytes')" 16
		equal "$(get '$.kernels[0].code.instructions.barriers')" 2
		equal "$(get '$.kernels[0].code.instructions.executed')" unknown
		"$kerncast" explain "$containers/$container" --kernel max_subarray >text
		contains "$(<text)" "no PTX"
	done
}

@test "a device that would take none of it: said, and the lowest architecture shown" {
	explain "$containers/sm_90.o" --device a100
	contains "$(get '$.notes[0]')" "compute capability 8.0"
	equal "$(get '$.kernels[0].ptx')" 90
}

@test "names: readable, with or without the parameter list, and mangled" {
	local name
	for name in reduction "reduction(float const*, float*, int)" _Z9reductionPKfPfi; do
		explain "$containers/kernels.ptx" --kernel "$name"
		equal "$(get '$.kernels[0].name')" _Z9reductionPKfPfi
		equal "$(get '$.kernels[0].demangled')" "reduction(float const*, float*, int)"
		equal "$(get '$.kernels[1].name')" ""
	done
}

@test "the text: formulas, and with a launch the counts" {
	"$kerncast" explain "$containers/library.so" --kernel transpose_padded >text
	contains "$(<text)" "p0:u64"
	contains "$(<text)" "ld_shared"
	"$kerncast" explain "$containers/library.so" --kernel transpose_padded --grid 3,3 --block 32,8 \
		--args 0x1000,0x8000,96 >text
	contains "$(<text)" "2,304 threads; the counts are exact"
	contains "$(<text)" "coalesced"
	contains "$(<text)" "no bank conflicts"
}

# 33 elements: a warp of 128 bytes and one of 4, 4 + 1 sectors in 2 requests. From byte 4 on 128 bytes touch 5 sectors.
@test "the least a request can touch is rounded up to sectors, from where its first lane is" {
	local arguments words
	while IFS='|' read -r arguments words; do
		"$kerncast" explain "$build/explain/libkernels.so" --kernel vector_add --grid 8 --block 256 --args "$arguments" >text
		contains "$(<text)" "global loads and stores  $words"
	done <<-'EOF'
		0x0,0x0,0x0,33|2.5 sectors per request (minimum 2.5): coalesced
		0x0,0x0,0x0,1|1.0 sectors per request (minimum 1.0): coalesced
		0x4,0x4,0x4,2048|5.0 sectors per request (minimum 4.0): dense but misaligned
	EOF
	explain "$build/explain/libkernels.so" --kernel vector_add --grid 8 --block 256 --args 0x0,0x0,0x0,33
	equal "$(get '$.kernels[0].counts.sectors_per_request_minimum')" 2.5
	equal "$(get '$.kernels[0].counts.sectors_scattered')" 0.0
	"$kerncast" explain "$build/explain/libkernels.so" --kernel transpose_naive --grid 32,32 --block 32,32 --args 0x0,0x0,1024 >text
	contains "$(<text)" "not coalesced"
}

@test "an argument that is not known, and one that does not fit" {
	explain "$build/explain/libkernels.so" --kernel vector_add --grid 4 --block 64 --args 0x100,0x200,0x300,_
	equal "$(get '$.kernels[0].counts.exact')" 0
	keep wrong "$kerncast" explain "$build/explain/libkernels.so" --kernel vector_add --grid 4 --block 64 \
		--args 0x100,0x200,0x300,1.5
	equal "$(<wrong.status)" 2
	contains "$(<wrong.err)" 'p3 of vector_add(float const*, float const*, float*, int) (u32, 4 bytes): "1.5"'
	keep wrong "$kerncast" explain "$build/explain/libkernels.so" --kernel vector_add --grid 4 --block 64 \
		--args 1,2,3,4,5
	contains "$(<wrong.err)" "has 4 parameters, not 5"
}

# 10 SMs of 128 cores at 1 GHz, 384 GB/s: 38.4 bytes a cycle and SM.
spec_device() {
	printf '%s\n' sm_count=10 cc_major=9 cores_per_sm=128 clock_khz=1000000 memory_bytes_per_s=384000000000 >small.device
}
# 4,000 blocks of 256 threads, one element each: 12 bytes and an addition.
add_launch=(--grid 4000 --block 256 --args "0x10000000,0x20000000,0x30000000,1024000" --device small.device)

@test "every model's time of vector add, by hand arithmetic" {
	spec_device
	explain "$build/explain/libkernels.so" --kernel vector_add "${add_launch[@]}"
	equal "$(get '$.kernels[0].models.boathull.class')" "element ^ element -> element"
	within "$(get '$.kernels[0].models.boathull.low_ns')" 42666.6 42666.7 "12 bytes per thread at three quarters of the peak"
	within "$(get '$.kernels[0].models.boathull.high_ns')" 42666.6 42666.7 "33 operations, twice the time, are shorter"
	within "$(get '$.kernels[0].models.roofline_low_ns')" 31999.9 32000.1 "12 bytes per thread at the peak"
	within "$(get '$.kernels[0].models.cycle_max_ns')" 31999.9 32000.1 \
		"400 blocks an SM, 8 warps, 32 threads, 12 / 38.4 · 4 · 128 cycles, over 4 · 128"
	# Beside the addition there are a few integer operations: 1 to 40 cycles of a core.
	within "$(get '$.kernels[0].models.bsp_ns')" 1200800 1232000 "1,024,000 · (1,500 + 1 to 40) / 1,280 cores"
	within "$(get '$.kernels[0].models.cycle_sum_ns')" 32800 64000 "4 to 160 cycles of a thread more"
	within "$(get '$.kernels[0].models.roofline_high_ns')" 32800 64000 "the additions more at 10 · 128 a cycle, at least"
	equal "$(get '$.kernels[0].refused')" ""
	equal "$(get '$.lambda')" 1.0
}

@test "predict says of a kernel in a file what explain says" {
	local name key from_explain
	spec_device
	for name in vector_add triangular gather; do # exact, exact, assumed
		explain "$build/explain/libkernels.so" --kernel $name "${add_launch[@]}"
		from_explain=$(get '$.kernels[0].models')
		"$kerncast" predict --json --kernel "$build/explain/libkernels.so:$name" "${add_launch[@]}" >predict.json
		mv explain.json explained.json
		mv predict.json explain.json
		equal "$(get '$.kernels[0].models')" "$from_explain" "models of $name"
		for key in fma add int ld_global sectors; do
			equal "$(get "\$.kernels[0].counts.$key")" \
				"$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('explained.json') AS TEXT), '\$.kernels[0].counts.$key')")" \
				"$key of $name"
		done
	done
	equal "$(get '$.kernels[0].assumed')" 1 "gather: addresses from memory"
	"$kerncast" predict --kernel "$build/explain/libkernels.so:vector_add(float const*, float const*, float*, int)" \
		--lambda 2 --json "${add_launch[@]}" >explain.json
	within "$(get '$.kernels[0].models.bsp_ns')" 600400 616000 "over λ"
}

@test "times as text: λ not learned, assumptions, and what is missing" {
	spec_device
	"$kerncast" explain "$build/explain/libkernels.so" --kernel vector_add "${add_launch[@]}" >text
	contains "$(<text)" "on small.device, running alone"
	contains "$(<text)" "estimate: "
	# 32,000 warps, 13 cycles each; 12 bytes of 1,024,000 threads at 0.92 of the peak. Bound:
	# two thirds of 670 ns, and 3 accesses of 1,024,000 threads over 32 lanes on 10 SMs; how large L2 is, is not known.
	contains "$(<text)" "lower bound: 10.0 µs, by the peak of load and store units"
	contains "$(<text)" "limited by: starting blocks 41.6 µs, device memory 34.8 µs, "
	contains "$(<text)" "BSP is left out"
	[[ $(<text) != *"BSP "*"eq. 3"* ]]
	contains "$(<text)" "class element ^ element -> element"
	[[ $(<text) != *assumption* ]]
	"$kerncast" explain "$build/explain/libkernels.so" --kernel gather "${add_launch[@]}" >text
	contains "$(<text)" "rest on assumptions"
	[[ $(<text) != *"lower bound"* ]]
	"$kerncast" explain "$build/explain/libkernels.so" --kernel vector_add "${add_launch[@]:0:6}" >text
	contains "$(<text)" "For predicted times, name a device"
	[[ $(<text) != *BSP* ]]
	"$kerncast" explain "$build/explain/libkernels.so" --kernel vector_add --device small.device >text
	contains "$(<text)" "give a launch"
}

@test "a launch that the device cannot run: counts, no times, and why" {
	spec_device
	explain "$containers/kernels.ptx" --kernel reduction --grid 4 --block 64 --shared 300000 --device small.device
	equal "$(get '$.kernels[0].models')" ""
	contains "$(get '$.kernels[0].refused')" "300000 bytes of shared memory per block"
	equal "$(get '$.kernels[0].counts.threads')" 256.0
	keep wrong "$kerncast" predict --kernel "$containers/kernels.ptx:reduction" --grid 4 --block 64 --shared 300000 \
		--device small.device
	equal "$(<wrong.status)" 1
	contains "$(<wrong.err)" "300000 bytes of shared memory per block"
}

@test "predict of a file: which kernel, which launch, and code that cannot be counted" {
	local wrong
	spec_device
	keep wrong "$kerncast" predict --device k40 --kernel "$containers/kernels.ptx" --grid 1 --block 32
	equal "$(<wrong.status)" 2
	contains "$(<wrong.err)" "has 9 kernels: choose one"
	keep wrong "$kerncast" predict --device small.device --kernel "$containers/kernels.cubin:reduction" --grid 1 --block 32
	equal "$(<wrong.status)" 1
	contains "$(<wrong.err)" "no PTX"
	for wrong in "--kernel a" "--kernel a --grid 1" "--grid 1 --block 1 blocks=1,threads=1" \
		"--kernel a --kernel b --grid 1 --block 1"; do
		keep wrong "$kerncast" predict --device k40 $wrong
		equal "$(<wrong.status)" 2 "$wrong"
	done
	keep wrong "$kerncast" predict --device k40 --kernel nothing:f --grid 1 --block 1
	equal "$(<wrong.status)" 1
	contains "$(<wrong.err)" "No such file"
}

little_endian() { # BYTES NUMBER...
	local number i
	for number in "${@:2}"; do
		for ((i = 0; i < $1; i++)); do
			printf "\\x$(printf %02x $((number >> 8 * i & 255)))"
		done
	done
}

branching_ptx() { # BRANCHES: a kernel whose formulas are as long as that
	awk -v n="$1" 'BEGIN {
		print ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry kernel_00(.param .u64 a, .param .u32 n) {"
		print ".reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %d<2>;"
		print "ld.param.u64 %d1, [a]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x;"
		for (i = 1; i <= n; i++) {
			printf "mad.lo.s32 %%r3, %%r2, %d, %d;\nsetp.gt.s32 %%p1, %%r3, %%r1;\n@%%p1 bra L%d;\n", i + 1, i * 7, i
			printf "ld.global.f32 %%r3, [%%d1+%d];\nst.global.f32 [%%d1+%d], %%r3;\nL%d:\n", i * 4, i * 4, i
		}
		print "ret;\n}"
	}'
}

# As predictor/code/README.md lays a fatbin out: 16 bytes, then 64 for the entry, then the PTX.
large_library() { # KERNELS BRANCHES: a fatbin for each kernel, in one file
	local i size
	branching_ptx "$2" >one.ptx
	size=$((($(wc -c <one.ptx) + 7) / 8 * 8))
	truncate -s $size one.ptx
	{ little_endian 4 0xba55ed50; little_endian 2 1 16; little_endian 8 $((size + 64))
	little_endian 2 1 0x101; little_endian 4 64; little_endian 8 $size 0; little_endian 4 0 90; little_endian 8 0 0 0 0; } >header
	for ((i = 0; i < $1; i++)); do
		cat header
		sed "s/kernel_00/kernel_$(printf %02d $i)/" one.ptx
	done
}

@test "a large library: memory does not grow with the number of kernels" {
	large_library 20 100 >many.fatbin
	(
		ulimit -v 131072 # KiB; one kernel takes 35 MiB
		exec "$kerncast" explain --json many.fatbin
	) >explain.json
	equal "$(sqlite3 :memory: "SELECT count(j ->> 'formula'), count(j ->> 'refused'), count(DISTINCT j ->> 'name')
		FROM (SELECT value AS j FROM json_each(CAST(readfile('explain.json') AS TEXT), '\$.kernels'))")" "20|0|20"
	equal "$(get '$.kernels[19].name')" kernel_19
	(ulimit -v 131072 && exec "$kerncast" explain many.fatbin) >text
	equal "$(grep -c '^kernel_' text)" 20
	equal "$(grep -c 'no formula' text || true)" 0
	get '$.kernels[7]' >wanted
	explain many.fatbin --kernel kernel_07
	get '$.kernels[0]' >got
	diff wanted got
	equal "$(get '$.kernels[1]')" ""
}

refused() { # FILE PART: status 1, nothing on standard output, one line of error that says PART
	keep refused "$kerncast" explain "$1"
	equal "$(<refused.status)" 1 "status for $1"
	equal "$(<refused.out)" "" "standard output for $1"
	equal "$(wc -l <refused.err)" 1 "lines for $1"
	contains "$(<refused.err)" "$2"
}

@test "what is no GPU code: one line, status 1" {
	: >empty
	refused empty "is empty"
	refused nothing "No such file"
	refused . "directory"
	refused /dev/null "not a regular file"
	refused "$BATS_TEST_FILENAME" "neither"
	refused "$(command -v ls)" "no GPU code"
	head -c 2000 "$containers/kernels.ptx" >cut.ptx
	refused cut.ptx "at byte"
	head -c 5000 "$containers/kernels.fatbin" >cut.fatbin
	refused cut.fatbin "at byte"
	head -c 9000 "$containers/kernels.cubin" >cut.cubin
	refused cut.cubin "at byte"
	head -c 30000 "$containers/program" >part
	refused part "at byte"
	keep refused "$kerncast" explain "$containers/kernels.ptx" --kernel nosuch
	equal "$(<refused.status)" 1
	contains "$(<refused.err)" "no kernel called nosuch"
}

@test "cut anywhere: never worse than a refusal" {
	local source bytes i
	for source in kernels.ptx kernels.fatbin kernels.cubin; do
		bytes=$(wc -c <"$containers/$source")
		for ((i = 1; i <= 40; i++)); do
			head -c $((bytes * i / 41)) "$containers/$source" >part
			keep cut "$kerncast" explain part
			within "$(<cut.status)" 0 1 "$source, $i of 41"
		done
	done
}

@test "wrong use: status 2" {
	local wrong
	for wrong in "" "a b" "a --grid 1" "a --block 32" "a --grid 1,1,1,1 --block 1" "a --grid 0 --block 1" \
		"a --grid 1 --block 1025" "a --grid 1 --block 1,1,65" "a --args 1" "a --shared 1" \
		"a --grid 1 --block 1 --shared 1x" "a --device nosuch"; do
		keep wrong "$kerncast" explain $wrong
		equal "$(<wrong.status)" 2 "$wrong"
		equal "$(<wrong.out)" "" "standard output of: $wrong"
	done
}

# KC_NVDISASM: where it is, if not in the toolkit.
@test "instructions for tensor cores and loads are those that nvdisasm tells" {
	local cubin nvdisasm=${KC_NVDISASM:-$("$BATS_TEST_DIRNAME/../../../scripts/find-cuda")/bin/nvdisasm}
	[[ -x $nvdisasm ]] || skip "no nvdisasm"
	for cubin in "$build"/code/features_*.cubin; do
		explain "$cubin"
		sqlite3 -separator ' ' :memory: "
			SELECT value ->> 'name', value ->> '\$.code.instructions.tensor',
				value ->> '\$.code.instructions.ld_global', value ->> '\$.code.instructions.ld_shared'
			FROM json_each(CAST(readfile('explain.json') AS TEXT), '\$.kernels') ORDER BY 1" >got
		"$nvdisasm" -c "$cubin" | awk '
			/^\.text\./ { name = substr($1, 7, length($1) - 7); tensor[name] += 0 }
			$2 != "@!PT" && $2 ~ /^(@!?U?P|[A-Z])/ { # with that guard, it does nothing
				word = $2 ~ /^@/ ? $3 : $2
				tensor[name] += word ~ /^(H|I|B|D|Q|O|HG|IG|QG|BG|UTCH|UTCI|UTCQ|UTCO)MMA/
				global[name] += word ~ /^LDG(STS)?\.|^LDG(STS)?$/
				shared[name] += word ~ /^LDSM?\.|^LDSM?$/
			}
			END { for (n in tensor) print n, tensor[n], global[n] + 0, shared[n] + 0 }' | LC_ALL=C sort >wanted
		[[ -s wanted ]]
		diff wanted got || { echo "in $cubin"; return 1; }
	done
}
