# kerncast-lab basis: block sizes never timed, from those that were.
load ../common

# f on a K20 and a K40, which takes half as long; g on the K40 alone. Each launch
# once, but f with blocks of 64 on the K40: 190, 200 and 900 us, of which the median counts, and two side by side.
recording() {
	{
		echo process,module,device_name,stream,kind,start_ns,duration_ns,grid_x,grid_y,grid_z,block_x,block_y,block_z,registers,static_shared_bytes,args,name
		at=1000000
		line() { # device threads microseconds size module name
			echo "${1// /},$5,$1,1,kernel,$at,${3}000,16,1,1,$2,1,1,16,0,$4,$6"
			at=$((at + 10000000))
		}
		line "Tesla K40c" 64 190 100 m f
		line "Tesla K40c" 64 200 100 m f
		line "Tesla K40c" 64 900 100 m f
		line "Tesla K40c" 256 100 100 m f
		line "Tesla K40c" 1024 300 100 m f
		line "Tesla K40c" 64 1600 200 m f
		line "Tesla K40c" 256 800 200 m f
		line "Tesla K40c" 1024 2400 200 m f
		line "Tesla K40c" 64 20 100 n g
		line "Tesla K40c" 256 10 100 n g
		line "Tesla K40c" 1024 30 100 n g
		line "Tesla K40c" 128 30 100 n alone
		line "Tesla K20c" 64 400 100 m f
		line "Tesla K20c" 256 200 100 m f
		line "Tesla K20c" 1024 600 100 m f
		echo "q,m,Tesla K40c,1,kernel,1000,5000,16,1,1,64,1,1,16,0,100,f"
		echo "q,m,Tesla K40c,2,kernel,1000,5000,16,1,1,64,1,1,16,0,100,f"
	} >t.csv
	"$kerncast" import t.csv -o t.db
}

predict() { # JSON path, then arguments
	local path=$1
	shift
	"$lab" basis predict --json "$@" >predict.json || return 1
	sqlite3 :memory: "SELECT json_extract(CAST(readfile('predict.json') AS TEXT), '$path')"
}

@test "sweeps are kept: medians of what ran alone, kernels with several block sizes" {
	recording
	run "$lab" basis train t.db
	equal "$status" 0
	contains "$output" "Basis: 4 rows of 2 kernels, k = 1 by cross-validation"
	equal "$(sql 'SELECT count(*), count(DISTINCT kernel) FROM sweep' t.db)" "12|2"
	equal "$(sql "SELECT s.ns, s.launches, s.blocks_per_sm FROM sweep s JOIN sweep_kernel k ON k.id = s.kernel
		JOIN device d ON d.id = s.device WHERE k.name = 'f' AND d.name LIKE '%K40%' AND block_x = 64 AND size = 100" t.db)" \
		"200000.0|3|16"
	# All rows are in one direction, (1/2, 1, 1/3): the first vector is it.
	within "$(sql 'SELECT value * value FROM basis WHERE component = 1 AND threads = 256' t.db)" 0.7346 0.7348 "36 / 49"
	# Again: replaced, not added.
	"$lab" basis train t.db >/dev/null
	equal "$(sql 'SELECT count(*) FROM sweep' t.db)" 12
	equal "$(sql 'SELECT count(*) FROM basis_training' t.db)" 1
	contains "$("$lab" basis show t.db)" "block sizes"
}

@test "what is known elsewhere, at twice the speed" {
	recording
	"$lab" basis train t.db >/dev/null
	within "$(predict '$.predicted[0].predicted_ns' -k f -d K20 -s 100 -t 64 -t 256 t.db)" 599990 600010 "2 · 300 us"
	within "$(predict '$.predicted[0].vectors_ns' -k f -d K20 -s 100 -t 64 -t 256 t.db)" 599900 600100 "as g"
	equal "$(predict '$.predicted[0].measured_ns' -k f -d K20 -s 100 -t 64 -t 256 t.db)" 600000.0
	equal "$(predict '$.siblings' -k f -d K20 -s 100 -t 64 t.db)" 1
	# A size between 100 and 200, which take 8 times as long: 100 · √2.
	within "$(predict '$.timed[1].ns' -k f -d K40 -s 141.42136 -t 64 -t 256 t.db)" 282800 282900 "100 us · √8"
	contains "$("$lab" basis predict -k f -d K20 -s 100 -t 64 -t 256 t.db)" "600"
}

# Each block size of a benchmark covers the same data with another grid: rounded up, and blocks of pathfinder overlap.
@test "block sizes are predicted from all that were timed with the same problem" {
	local kernel block registers shared size database=e/block_size.db of low high here by_hand
	local -a times
	env -u SIMCUDA_COSTS "$lab" experiment block_size --dir e >/dev/null 2>&1
	"$lab" basis train $database >/dev/null
	# neighbours: 384 and 512 threads; 16,16 and 20,16
	while read -r kernel block registers shared size of; do
		here=$(predict '$.predicted[0].predicted_ns' -k "$kernel" -b "$block" -s "$size" $database)
		equal "$(sqlite3 :memory: "SELECT json_array_length(CAST(readfile('predict.json') AS TEXT), '\$.timed')")" 12
		equal "$(predict '$.launches_left_out' -k "$kernel" -b "$block" $database)" 0
		mapfile -t times < <(sqlite3 :memory: "SELECT printf('--time=%d,%d=%.0fns', value ->> 'block_x',
			value ->> 'block_y', value ->> 'ns') FROM json_each(CAST(readfile('predict.json') AS TEXT), '\$.timed')")
		by_hand=$(predict '$.predicted[0].predicted_ns' -d Simulated --regs "$registers" --smem "$shared" "${times[@]}" \
			-b "$block" $database)
		within "$here" "$(awk "BEGIN { print $by_hand * 0.999 }")" "$(awk "BEGIN { print $by_hand * 1.001 }")" "$kernel, by hand"
		read -r low high < <(sql "SELECT printf('%f %f', min(ns) / 1.25, max(ns) * 1.25) FROM sweep s
			JOIN sweep_kernel k ON k.id = s.kernel WHERE k.name LIKE '$kernel%' AND block_x * block_y IN ($of)" $database)
		within "$here" "$low" "$high" "$kernel, between neighbours"
	done <<-'EOF'
		pathfinder 448 18 4096 131072 384,512
		srad_flow 18,16 22 0 1024 256,320
	EOF
	contains "$("$lab" basis predict -k pathfinder -b 448 $database)" "12 block sizes of this problem; 0 launches of other sizes left out"
	# a block of one dimension for a kernel of two
	keep one "$lab" basis predict -k transpose -b 448 $database
	equal "$(<one.status)" 1
	contains "$(<one.err)" "never launched with a block of 1 dimension such as 448,1; its blocks: 8,4; 8,8;"
}

# 1,000 elements by blocks of 32, 96, 256 and 640: grids of 32, 11, 4 and 2. 2,000 by blocks of 32: 63.
@test "without arguments, grids that cover the same elements are one problem" {
	{
		echo process,device_name,stream,kind,start_ns,duration_ns,grid_x,grid_y,grid_z,block_x,block_y,block_z,registers,static_shared_bytes,name
		local grid block at=1000000
		while read -r grid block; do
			echo "p,Tesla K40c,1,kernel,$at,${block}000,$grid,1,1,$block,1,1,16,0,f"
			at=$((at + 10000000))
		done <<<$'32 32\n11 96\n4 256\n2 640\n63 32'
	} >t.csv
	"$kerncast" import t.csv -o t.db
	"$lab" basis train t.db >/dev/null
	keep covered "$lab" basis predict -k f -b 128 t.db
	equal "$(<covered.status)" 0
	contains "$(<covered.out)" "on Tesla K40c, size 1,024;"
	contains "$(<covered.out)" "4 block sizes of this problem; 1 launch of other sizes left out"
}

@test "what is not there is said with what is" {
	recording
	"$lab" basis train t.db >/dev/null
	# measured on one device: it need not be named
	equal "$(predict '$.device' -k g -t 64 t.db)" "Tesla K40c"
	local wrong words status
	while IFS='|' read -r status wrong words; do
		# shellcheck disable=SC2086
		keep failed "$lab" basis predict $wrong t.db
		equal "$(<failed.status)" "$status" "$wrong"
		contains "$(<failed.err)" "$words"
	done <<-'EOF'
		2|-k f|f was measured on several devices; choose one with --device: Tesla K40c; Tesla K20c
		1|-k f -d V100|no device whose name contains "V100"; f was measured on: Tesla K40c; Tesla K20c
		1|-k g -d K20|g was not measured on Tesla K20c, but on: Tesla K40c
		1|-k alome|no kernel measured with several block sizes has "alome" in its name
		1|-k f -d K40 -s 1e9|f was not measured on Tesla K40c at a size near 1,000,000,000; sizes measured: 100; 200
		1|-k f -d K40 -t 8,8|f was not measured on Tesla K40c with blocks of 8,8; blocks measured: 64,1; 256,1; 1024,1
		2|-k f -d K40 -t 32,96,192|not "32,96,192"; give it once for each block size
	EOF
	sed 's/,f$/,vector_add/; s/,g$/,reduce/' t.csv >u.csv
	"$kerncast" import u.csv -o u.db
	"$lab" basis train u.db >/dev/null
	keep near "$lab" basis predict -k vectoradd u.db
	contains "$(<near.err)" "did you mean vector_add?"
}

# 32 · 32 with 8 KiB of shared memory: 2 blocks on an SM of 2,048 threads; 16 · 16: 6 of 48 KiB. A K40's warp slots hold
# 8 of those. Terms in equal shares: lanes 1, tile (1/16) / (1/32), latency (1/48) / (1/64), block (1/6) / (1/2).
@test "times given, no database" {
	within "$(predict '$.predicted[0].predicted_ns' -d k40 --smem 8192 --time 32,32=1ms -b 16,16)" 1166600 1166700
	equal "$(predict '$.predicted[0].blocks_per_sm' -d k40 --smem 8192 --time 32,32=1ms -b 16,16)" 6
	equal "$(predict '$.predicted[0].vectors_ns' -d k40 --time 32,32=1ms -b 16,16)" ""
	recording
	"$lab" basis train t.db >/dev/null
	within "$(predict '$.predicted[0].vectors_ns' -d k40 --time 64=2ms --time 256=1ms -b 1024 t.db)" 2999000 3001000
}

# 8 blocks by 8 tiles; every ninth timed. The other device takes twice as long for each of them.
@test "a tuning space, known on another device" {
	space() { # factor, timed one in
		echo block,tile,time_ms,other
		for block in 32 64 96 128 192 256 512 1024; do
			for tile in 1 2 3 4 5 6 7 8; do
				n=$((n + 1))
				ms=$((n % $2)); [[ $ms == 0 ]] && ms=$(($1 * (1000 / block + 3 * tile + tile % 3 * 5))).5 || ms=
				echo "$block,$tile,$ms,x"
			done
		done
	}
	n=0; space 1 1 >true.csv
	n=0; space 1 9 >part.csv
	n=0; space 2 1 | gzip >twice.csv.gz
	"$lab" basis space --json part.csv --known twice.csv.gz >space.json
	json() { sqlite3 :memory: "SELECT json_extract(CAST(readfile('space.json') AS TEXT), '$1')"; }
	equal "$(json '$.timed')" 7
	equal "$(json '$.known')" 1
	equal "$(json '$.parameters[1]')" tile
	# ms of block 1024, tile 8, the last: 0 + 24 + 10 + 0.5. Its time elsewhere is 68.5.
	equal "$(json '$.configurations[63].values[0]')" 1024.0
	within "$(json '$.configurations[63].predicted_ns')" 32000000 37000000
	equal "$(json '$.configurations[63].measured_ns')" ""
	equal "$(json '$.configurations[8].measured_ns')" 23500000.0
	contains "$("$lab" basis space part.csv --known twice.csv.gz)" "64 configurations, 7 of them timed"
	# Of the seven that are timed, 128 and 3; of all, 1024 and 1 by the formula above: 0 + 3 + 5 + 0.5 ms.
	"$lab" basis space part.csv --known twice.csv.gz >verdict
	contains "$(<verdict)" "Best measured: 16.5 ms, block=128 tile=3"
	equal "$(grep '^Try next: predicted' verdict | sed 's/.*, //')" "block=1024 tile=1"
	printf 'block,time_ms\n32,10\n64,20\n96,40\n' >all.csv
	contains "$("$lab" basis space all.csv)" "Try next: nothing"
	contains "$("$lab" basis space part.csv --axis block:block*tile:4096 --device a4000)" "64 configurations, 7 of them timed"
	# Nothing of a configuration is left out, but what is the same in all
	sed 's/^/7,/; 1s/.*/same,an_unusually_long_name_of_a_block_size,and_a_tile_size_with_a_long_name,time_ms,other/' part.csv >names.csv
	COLUMNS=80 "$lab" basis space names.csv >names.out
	contains "$(<names.out)" "Same in every configuration: same=7"
	equal "$(grep -cE '^ .* an_unusually_long_name_of_a_block_size=[0-9]+ and_a_tile_size_with_a_long_name=[0-9]$' names.out)" 10
	local wrong
	printf 'a,time_ms\n1,5\nx,3\n' >bad1.csv
	printf 'a,b\n1,5\n' >bad2.csv
	printf 'a,time_ms\n1,\n2,\n' >bad3.csv
	printf 'a,time_ms\n1,-3\n' >bad4.csv
	for wrong in bad1.csv bad2.csv bad3.csv bad4.csv missing.csv "part.csv --known bad3.csv" "part.csv --known missing.csv"; do
		keep failed "$lab" basis space $wrong
		equal "$(<failed.status)" 1 "$wrong"
		contains "$(<failed.err)" "$(basename "${wrong##* }")"
	done
	contains "$("$lab" basis space bad1.csv 2>&1)" "bad1.csv:3"
	for wrong in block bloc:block block:block*til block: block*:block block:tile:-1 block:tile:x; do
		keep failed "$lab" basis space part.csv --axis "$wrong"
		equal "$(<failed.status)" 1 "$wrong"
		contains "$(<failed.err)" "--axis $wrong"
	done
	keep failed "$lab" basis space part.csv --device nosuch
	equal "$(<failed.status)" 1
	for wrong in "space" "space a b" "train --known part.csv" "train --axis block:block" "space part.csv --axis a:a --axis b:b --axis c:c --axis d:d"; do
		keep wrong "$lab" basis $wrong
		equal "$(<wrong.status)" 2 "$wrong"
	done
}

@test "nothing to learn from, unknown names: status 1; wrong use: status 2" {
	local wrong
	recording
	keep untrained "$lab" basis show t.db
	equal "$(<untrained.status)" 1
	contains "$(<untrained.err)" "basis train"
	"$lab" basis train t.db >/dev/null
	for wrong in "-k nosuch -d K40" "-k f -d V100" "-k f -d Tesla" "-k f -d K40 -s 1e9" "-k f -d K40 -t 8,8"; do
		keep failed "$lab" basis predict $wrong t.db
		equal "$(<failed.status)" 1 "$wrong"
		[[ -s failed.err ]]
	done
	for wrong in "" "frobnicate" "train a b" "predict" "predict -k f t.db" "predict -k f -d K40 --time 8=1ms" \
		"predict -d K40 --time 8=1ms" "predict -d k40 --time 8=x -b 16" "predict -k f -d K40 -t 2000" \
		"predict -k f -d K40 -t 64,64" "predict -k f -d K40 -s 0" "predict -d nosuch --time 8=1ms -b 16"; do
		keep wrong "$lab" basis $wrong
		equal "$(<wrong.status)" 2 "$wrong"
		equal "$(<wrong.out)" "" "standard output of: $wrong"
	done
	keep missing "$lab" basis train missing/x.db
	equal "$(<missing.status)" 1
}

# The reduced recordings lack the sorts alone: the limit is the same.
sweeps_of_tiled_products() { # FOLDER
	local data=$1
	"$kerncast" import "$data"/traces/solo_bsp/*.csv.gz -o bsp.db >/dev/null
	"$lab" basis train bsp.db >/dev/null
	equal "$(sql "SELECT count(DISTINCT block_x) FROM sweep s JOIN sweep_kernel k ON k.id = s.kernel
		WHERE module = 'matMul_gpu_sharedmem'" bsp.db)" 8
	predict '$' -k matMul_gpu_sharedmem -d K40 -s 4096 -t 4,4 -t 8,8 -t 16,16 -t 32,32 bsp.db >/dev/null
	within "$(sqlite3 :memory: "SELECT 100 * avg(abs(value ->> 'predicted_ns' / (value ->> 'measured_ns') - 1))
		FROM json_each(CAST(readfile('predict.json') AS TEXT), '\$.predicted')")" 0 4.5
}

@test "the reduced sweeps of tiled products" {
	sweeps_of_tiled_products "$reduced"
}

@test "the full sweeps of tiled products" {
	full_data
	sweeps_of_tiled_products "$data"
}
