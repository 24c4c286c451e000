# The JSON Schemas in tools/schemas: documents in every state that the code can give are valid, and have no key that
# their schema does not name.
load ../common

setup_file() { # once: an interpreter can be a script that looks for one
	python=$(for name in python3 /usr/bin/python3; do
		"$name" -c 'from jsonschema import Draft202012Validator; import sys; print(sys.executable)' 2>/dev/null && break
	done || true)
	export python
}

check_documents() { # [DOCUMENT...]; none: the schemas
	[[ -n $python ]] || skip "no jsonschema (Debian: python3-jsonschema; scripts/setup --all installs it)"
	"$python" "$root/scripts/check-schemas" "$@"
}

count=0
prints() { # ARG...: a command's document goes to N.json
	count=$((count + 1))
	"$(that_has "$1")" "$@" >"$count.json" || { echo "status of kerncast $*"; return 1; }
}

fails() { # ARG...: its status is 1; a document is kept if there is one
	count=$((count + 1))
	keep failed "$(that_has "$1")" "$@"
	equal "$(<failed.status)" 1 "status of kerncast $*"
	[[ ! -s failed.out ]] || mv failed.out "$count.json"
}

value() { # DOCUMENT JSON_PATH; null is "null"
	sqlite3 :memory: "SELECT coalesce(json_extract(j, '$2'), json_type(j, '$2'), 'missing')
		FROM (SELECT CAST(readfile('$1') AS TEXT) AS j)"
}

trace() { # ROW...: the columns of most tests
	printf '%s\n' kind,start_ns,duration_ns,device_name,grid_x,grid_y,grid_z,block_x,block_y,block_z,stream,name "$@"
}

prints_all_of() { # DB: every document that tells what a database holds
	prints report --json --run all "$1"
	prints report --json --exact "$1"
	prints replay --json "$1"
	prints replay --json --fresh --without lambda,sizes,contexts,mix,contention,placement,margins --delay 2ms,512 "$1"
	prints devices --json "$1"
	prints export --chrome "$1"
	cp "$1" again.db
	prints diff --json "$1" again.db
	prints slow --json "$1"
	prints pairs --json "$1"
	prints whatif --json --device v100 --anchor "$1" "$1"
	prints prune --dry-run --keep 1 --json "$1"
	if "$kerncast" learn "$1" -o learned.prior; then # not where nothing was measured
		prints learn --list learned.prior --json
		prints replay --json --prior learned.prior "$1"
	fi
}

# --- the schemas themselves

@test "each document that tools/README.md lists has a schema, and each schema is one" {
	local name
	check_documents
	sed -n '/^## JSON/,/^## Filters/s/kerncast\.[a-z-]*\/[0-9]/\n&\n/gp' "$root/tools/README.md" |
		grep -o '^kerncast\.[a-z-]*/[0-9]*$' | sort -u >documented
	for name in "$root"/tools/schemas/*.schema.json; do
		name=${name##*/}
		name=${name%.schema.json}
		echo "${name%.*}/${name##*.}"
	done | sort >there
	within "$(wc -l <there)" 16 99 schemas
	diff documented there
}

@test "the manual describes every key of every schema" {
	sqlite3 :memory: "SELECT DISTINCT k.key FROM fsdir('$root/tools/schemas') f
		JOIN json_tree(CAST(readfile(f.name) AS TEXT)) k
		WHERE f.name GLOB '*.json' AND k.path GLOB '*.properties' AND k.key <> 'block_y'" >keys # block_x … block_z
	within "$(wc -l <keys)" 300 999 keys
	while read -r key; do
		grep -q -F "\`$key\`" "$root"/tools/{README.md,manual/*.md} "$root/store/database/README.md" || echo "$key"
	done <keys >missing
	equal "$(tr '\n' ' ' <missing)" "" "keys that are not documented"
}

@test "the check finds a key that is missing, unknown, of another type, or twice, and NaN" {
	local change n=0
	prints devices --json
	check_documents 1.json
	for change in '/"recorded"/d' 's/"recorded"/"unheard": 1, &/' 's/"sm_count": [0-9]*/"sm_count": "many"/' \
		's/"sm_count": [0-9]*/&, &/' 's/"sm_count": [0-9]*/"sm_count": NaN/' 's/"kerncast.devices/"kerncast.device/'; do
		n=$((n + 1))
		sed "$change" 1.json >"changed.$n"
	done
	! check_documents changed.* >errors || { echo "nothing found"; return 1; }
	for ((; n > 0; n--)); do
		grep -q "^changed.$n: " errors || { echo "no error of $n in: $(<errors)"; return 1; }
	done
}

# --- recorded, imported, empty

@test "recorded: measured, overlapped, several runs, and a program that learned from the one before" {
	"$kerncast" run -q "$build/demo-static-sim" --rounds 40
	"$kerncast" run -q "$build/demo-static-sim" --rounds 40
	prints_all_of kerncast.db
	prints diff --json --old 1 --new 2
	equal "$(value 1.json '$.processes[1].ended')" exit
	within "$(value 1.json '$.overlapped.n')" 1 99999 "overlapped launches"
	check_documents [0-9]*.json
}

@test "filters: one, and all of them, in every document that has them" {
	local filters all
	"$kerncast" run -q "$build/demo-static-sim" --rounds 40
	"$kerncast" run -q "$build/demo-static-sim" --rounds 40
	all=(--kernel . --exclude nothing --stream "1,2,3,4,default" --process "$(sql "SELECT group_concat(pid) FROM process")"
		--since 1ns --until 1000s --min 1ns)
	for filters in "--kernel=saxpy" "${all[*]}"; do
		# shellcheck disable=SC2086 # words
		{
			prints report --json --run all $filters
			prints replay --json $filters
			prints export --chrome $filters
			prints diff --json --old 1 --new 2 $filters
		}
	done
	equal "$(value 1.json '$.filter.kernel')|$(value 1.json '$.filter.streams')" "saxpy|null"
	equal "$(value 6.json '$.filter.streams')|$(value 6.json '$.filter.min_ns')" '["default",1,2,3,4]|1'
	check_documents [0-9]*.json
}

@test "recorded: nothing measured, calls that fail, launches left out, a killed process" {
	local db before
	"$kerncast" run -q --measure off -o off.db "$build/demo-static-sim" --rounds 3
	keep failed env SIMCUDA_FAULT=launch-fail=3 "$kerncast" run -q -o failed.db "$build/demo-static-sim" --rounds 3
	"$kerncast" run -q --kernel saxpy --after 5 -o chosen.db "$build/demo-static-sim" --rounds 9
	keep none "$kerncast" run -q --kernel nothing_is_called_so -o none.db "$build/demo-static-sim" --rounds 3
	KERNCAST_CUPTI=/nowhere/libcupti.so "$kerncast" run -q -o blind.db "$build/demo-static-sim" --rounds 3
	timeout 120 "$kerncast" run -q -o killed.db "$build/demo-static-sim" --rounds 1000000 >/dev/null 2>&1 &
	before=$(counted launches)
	until (($(counted launches) > before + 100)); do sleep 0.05; done
	kill -KILL -- -$! # timeout's group
	wait $! || true
	for db in off failed chosen none blind killed; do
		prints report --json "$db.db"
		prints replay --json "$db.db"
		prints export --chrome "$db.db"
		prints devices --json "$db.db"
	done
	fails diff --json off.db failed.db
	within "$(value 5.json '$.ledger.failed')" 1 999 "failed launches"
	equal "$(value 21.json '$.processes[0].ended')" killed
	within "$(value 9.json '$.ledger.not_asked')" 1 999 "launches that were not asked for"
	check_documents [0-9]*.json
}

@test "what nobody measured has no share of the time: null, in JSON and in CSV" {
	"$kerncast" run -q --measure off "$build/demo-static-sim" --rounds 3
	prints report --json
	equal "$(value 1.json '$.kernels[0].time_share')" null "share of no time"
	"$kerncast" report --csv --by model | tr -d '\r' >models.csv
	equal "$(sqlite3 :memory: '.mode csv' '.import models.csv m' '.mode list' \
		"SELECT count(*) > 0 AND count(*) = sum(time_share_percent = '') FROM m")" 1 "no model has a share"
	check_documents 1.json
}

@test "where the time went: copies not measured, launch times and devices not known, too many launches" {
	"$kerncast" run -q --measure kernels "$build/demo-static-sim" --rounds 3
	trace 'kernel,0,500,Unheard Of,16,1,1,64,1,1,1,f' 'kernel,1000,400,Unheard Of,16,1,1,64,1,1,1,f' >trace.csv
	"$kerncast" import trace.csv -o trace.db >/dev/null
	prints report --json
	prints report --json trace.db
	sql "UPDATE shape SET device = 0" trace.db
	prints report --json trace.db
	sql "UPDATE ledger SET count = 2000001 WHERE item = 'measured'" trace.db
	prints report --json trace.db
	equal "$(value 1.json '$.activity.devices[0].copies_only_ns')" null "time of copies that were not measured"
	equal "$(value 2.json '$.activity.devices[0].idle_launch_bound_ns')" null "launch-bound without launch times"
	equal "$(value 3.json '$.activity.streams[0].device')" null "unknown device"
	equal "$(value 4.json '$.activity')" null "activity of too many launches"
	check_documents [1-4].json
}

@test "imported: a device that nobody knows, launches without a shape, durations of 0" {
	trace 'kernel,0,500,Unheard Of,16,1,1,64,1,1,1,f' 'kernel,100,400,Unheard Of,,,,,,,2,f' \
		'kernel,2000,0,Unheard Of,8,1,1,128,1,1,1,g' 'memcpy,3000,10,Unheard Of,,,,,,,1,HtoD' >unknown.csv
	"$kerncast" import unknown.csv -o unknown.db >/dev/null
	prints_all_of unknown.db
	equal "$(value 1.json '$.processes[0].ended')" imported
	equal "$(value 1.json '$.devices[0].driver_version')" null
	equal "$(grep -c '"grid":"0x0x0"' 6.json)" 0 "launches of an unknown grid in the trace, shown as 0"
	equal "$(grep -c '"kernel,measured".*"grid":"16x1x1"' 6.json)" 1 "those of a known one"
	check_documents [0-9]*.json
}

@test "devices: an attribute that is not known is null, one that is 0 is 0" {
	trace 'kernel,0,500,Unheard Of,16,1,1,64,1,1,1,f' 'kernel,1000,500,Tesla K40c,16,1,1,64,1,1,1,f' >both.csv
	sed 2d both.csv >k40.csv
	sed -i 3d both.csv
	"$kerncast" import both.csv -o both.db >/dev/null
	"$kerncast" import k40.csv -o both.db >/dev/null
	prints devices --json both.db
	equal "$(value 1.json '$.recorded[0].name')" "Unheard Of"
	for key in cc_major cc_minor sm_count clock_khz memory_bytes shared_reserved_per_block_bytes \
		shared_per_block_optin_bytes copy_engines launch_overhead_ns empty_kernel_ns flops_per_s driver_version; do
		equal "$(value 1.json "\$.recorded[0].$key")" null "$key of an unknown device"
	done
	equal "$(value 1.json '$.recorded[1].cc_major')" 3
	for key in shared_per_block_optin_bytes shared_reserved_per_block_bytes; do # there is none before 7.0
		equal "$(value 1.json "\$.recorded[1].$key")" 0 "$key of a K40"
	done
	for key in empty_kernel_ns copy_bytes_per_s flops_per_s; do
		equal "$(value 1.json "\$.recorded[1].$key")" null "$key of a K40"
	done
	sql "UPDATE device SET memory_bytes = -1, copy_engines = NULL WHERE id = 2; UPDATE device SET cc_major = 7,
		cc_minor = 0, sm_count = 80, copy_engines = 0, driver_version = 12040, uuid = '1' WHERE id = 1" both.db
	prints devices --json both.db
	equal "$(value 2.json '$.recorded[0].cc_minor')|$(value 2.json '$.recorded[0].copy_engines')" "0|0"
	equal "$(value 2.json '$.recorded[1].memory_bytes')" null "memory below 0"
	equal "$(value 2.json '$.recorded[1].copy_engines')" null "unknown copy engines"
	check_documents [12].json
}

@test "a trace of damaged rows is JSON, and tells only what is a number" {
	local damage n=0
	"$kerncast" run -q -o sound.db "$build/demo-static-sim" --rounds 2
	for damage in "UPDATE launch_row SET slowdown = 9e999, solo = 9e999" "UPDATE launch_row SET slowdown = -9e999" \
		"UPDATE launch_row SET slowdown = NULL, solo = NULL, below = NULL" "UPDATE launch_row SET slowdown = 'x'" \
		"UPDATE launch_row SET span = -5, measured_span = -5" "UPDATE launch_row SET shape = NULL, stream = NULL" \
		"UPDATE launch_row SET measured_span = 4611686018427387904, wait = -4611686018427387904" \
		"UPDATE launch_row SET flags = -1" "UPDATE transfer SET bytes = NULL, kind = NULL" \
		"UPDATE OR IGNORE kernel SET name = CAST(x'ff1b0a22' AS TEXT), mangled = 9e999" "UPDATE process SET command_line = NULL, executable = NULL" \
		"DELETE FROM kernel; DELETE FROM stream; DELETE FROM shape"; do
		cp sound.db "bad.$((++n)).db"
		sqlite3 "bad.$n.db" "PRAGMA ignore_check_constraints = 1; $damage"
		prints export --chrome "bad.$n.db" || { echo "after: $damage"; return 1; }
	done
	prints export --chrome sound.db
	within "$(grep -c '"slowdown":' $count.json)" 1 99 "slowdowns that are known"
	for n in 1 2 3; do
		equal "$(grep -c '"slowdown":' $n.json)" 0 "slowdowns that are not"
	done
	check_documents [0-9]*.json
}

@test "reports, replays and prunings of damaged rows" {
	local damage n=0
	"$kerncast" run -q -o sound.db "$build/demo-static-sim" --rounds 2
	for damage in "UPDATE rollup SET error_sum = 9e999, log_sum = -9e999, measured_ns = 9e999" \
		"UPDATE process SET command_line = NULL, measure = NULL, ended_ns = NULL, ended = ''" \
		"UPDATE device SET driver_version = 0, clock_khz = NULL" "UPDATE run SET command_line = NULL" \
		"UPDATE launch_row SET slowdown = 9e999"; do
		cp sound.db "bad.$((++n)).db"
		sqlite3 "bad.$n.db" "PRAGMA ignore_check_constraints = 1; $damage"
		prints report --json "bad.$n.db"
		prints replay --json "bad.$n.db"
		prints devices --json "bad.$n.db"
		prints prune --json --dry-run --keep 1 "bad.$n.db"
	done
	check_documents [0-9]*.json
}

@test "names that hold anything" {
	local name=$'k\e[31m\u202e\x80\xff"\\\n\u0085\U000e0001'
	"$kerncast" run -q "$build/demo-static-sim" --rounds 3
	sql "UPDATE kernel SET name = CAST(x'$(printf %s "$name" | od -An -tx1 -v | tr -d ' \n')' AS TEXT);
		UPDATE device SET name = (SELECT name FROM kernel); UPDATE process SET command_line = (SELECT name FROM kernel);
		UPDATE run SET command_line = (SELECT name FROM kernel)"
	prints_all_of kerncast.db
	"$kerncast" diff --baseline first.json kerncast.db >/dev/null
	prints diff --json --baseline first.json kerncast.db
	check_documents [1-9].json first.json
}

# --- one command each

@test "diff, and the baseline that it writes: changed, new, gone and too few" {
	sed 's/^saxpy .*/saxpy 99000/' "$SIMCUDA_COSTS" >costs
	"$kerncast" run -q -o old.db "$build/demo-static-sim" --rounds 60
	"$kerncast" run -q -o old.db "$build/demo-static-sim" --rounds 60
	SIMCUDA_COSTS=$PWD/costs "$kerncast" run -q -o new.db "$build/demo-static-sim" --rounds 60
	sql "DELETE FROM launch_row WHERE shape IN (SELECT id FROM shape WHERE kernel = (SELECT min(kernel) FROM shape))" new.db
	sql "UPDATE kernel SET mangled = 'renamed', name = 'renamed' WHERE id = (SELECT max(kernel) FROM shape)" new.db
	prints diff --json old.db new.db
	prints diff --json --old 1 --new 2 old.db
	"$kerncast" diff --baseline base.json old.db >/dev/null
	prints diff --json --baseline base.json new.db
	within "$(value 1.json '$.gone[#-1].old_launches')" 1 9999 "launches of a gone kernel"
	within "$(value 1.json '$.new[#-1].new_launches')" 1 9999 "launches of a new kernel"
	check_documents [0-9].json base.json
}

@test "imported: one of four ranks slower, throughout and since; a GPU that is not NVIDIA's" {
	local made=$root/cuda_tests/traces/made
	"$kerncast" import "$made"/slow_rank_?.json.gz -o slow.db >/dev/null
	"$kerncast" import "$made"/slower_since_old_rank_?.json.gz -o old.db >/dev/null
	"$kerncast" import "$made"/slower_since_new_rank_?.json.gz -o new.db >/dev/null
	"$kerncast" import "$made"/amd_device_2.json -o amd.db >/dev/null 2>&1
	prints slow --json slow.db
	prints diff --json old.db new.db
	prints replay --json amd.db
	prints report --json amd.db
	equal "$(value 2.json '$.compared_on_processes')" 4 "comparisons on single processes"
	check_documents [0-9].json
}

@test "prune: what would go, what went, what stays" {
	local round
	for round in 1 2 3; do
		"$kerncast" run -q "$build/demo-static-sim" --rounds "$round"
	done
	trace 'kernel,0,500,Tesla K40c,16,1,1,64,1,1,1,f' >one.csv
	"$kerncast" import one.csv -o kerncast.db >/dev/null
	prints prune --dry-run --keep 1 --json
	sql "INSERT INTO run(token, started_unix_ns) VALUES('empty', 1)"
	prints prune --dry-run --keep 1000 --json
	prints prune --keep 1 --json
	equal "$(value 2.json '$.runs[0].ended_unix_ns')" null "end of a run without processes"
	check_documents [0-9].json
}

@test "doctor: all is well, no driver, no device" {
	prints doctor --json
	prints doctor --json "$build/demo-shared"
	LD_LIBRARY_PATH=/nowhere fails doctor --json
	SIMCUDA_DEVICE=K40 prints doctor --json
	KERNCAST_DB=/nowhere/at.db fails doctor --json
	equal "$(value 1.json '$.checks[0].cure')" null
	equal "$(value 3.json '$.driver_version')|$(value 3.json '$.devices')" "null|[]"
	check_documents [0-9].json
}

@test "calibrate, and documents with what it measured" {
	prints calibrate --json c.db
	prints devices --json c.db
	prints predict --json --db c.db --device "$(value 1.json '$.device')" blocks=64,threads=64,ld_global=1
	prints slowdown --json --db c.db --device "$(value 1.json '$.device')" blocks=1,threads=32 blocks=1,threads=32
	check_documents [0-9].json
}

@test "predict and slowdown: from counts and from code, with and without loads, times and a class" {
	prints predict --json --device k40 blocks=1,threads=32
	prints predict --json --device h200 --lambda 0.5 blocks=4096,threads=256,fma=1,ld_global=2,st_global=1 \
		blocks=1,threads=1024,atomics=3,ld_shared=1,bank_conflict_degree=32
	prints predict --json --device k40 --kernel "$build/explain/shared.ptx:$(grep -m 1 -o '_Z[0-9a-zA-Z_]*' \
		"$build/explain/shared.ptx")" --grid 4 --block 64
	prints slowdown --json --device k40 blocks=110,threads=256,smem=1024,time=10us blocks=450,threads=256,time=20us
	prints slowdown --json --device v100 blocks=80,threads=64,fma=1e6 blocks=80,threads=64,ld_global=1e5,footprint=96K \
		blocks=80,threads=64,ld_global=1e5,footprint=96K
	prints slowdown --json --device v100 blocks=9999,threads=1024 blocks=1,threads=1024 blocks=640,threads=64,regs=255
	printf '%s\n' like=v100 sm_count=1 cc_major=9 'name=one' >device
	prints slowdown --json --device "$PWD/device" blocks=1,threads=32,time=1us blocks=1,threads=32,time=1s
	equal "$(value 1.json '$.kernels[0].counts.sectors_per_request')" null
	check_documents [0-9]*.json
}

@test "explain: PTX, machine code, every container, with and without a launch and a device" {
	local file
	for file in "$build"/explain/containers/* "$build"/explain/*.ptx "$build"/code/*.cubin "$build"/code/*.fatbin \
		"$build/demo-static"; do
		[[ -f $file ]] && "$kerncast" explain --json "$file" >explained 2>errors || continue
		mv explained "$((++count)).json"
	done
	within "$count" 10 99 "files with code"
	for file in "$build"/explain/*.ptx; do
		prints explain --json "$file" --grid 4,4 --block 16,16
		prints explain --json "$file" --grid 4,4 --block 16,16 --device k40
	done
	check_documents [0-9]*.json
}

# saxpy loads and stores global memory only; shared_passes over no request is nothing.
@test "explain: a ratio of nothing is null, as in predict" {
	local launch=(--grid 64 --block 256 --device h200)
	printf '%s\n' '.version 7.0' '.target sm_70' '.address_size 64' '.visible .entry idle() { ret; }' >idle.ptx
	prints explain --json idle.ptx "${launch[@]}"
	prints predict --json --kernel idle.ptx "${launch[@]}"
	prints explain --json "$build/demo-static" --kernel saxpy --args 16384,2.5,0x1000,0x20000 "${launch[@]}"
	for key in sectors_per_request sectors_per_request_minimum bank_conflict_degree; do
		equal "$(value 1.json "\$.kernels[0].counts.$key")" null "$key of a kernel that does nothing"
	done
	for key in sectors_per_request bank_conflict_degree; do
		equal "$(value 2.json "\$.kernels[0].counts.$key")" null "$key of predict"
	done
	equal "$(value 3.json '$.kernels[0].counts.sectors_per_request')" 4.0
	equal "$(value 3.json '$.kernels[0].counts.bank_conflict_degree')" null "conflicts without shared memory"
	check_documents [0-9].json
}

@test "experiment: nothing measured, and measured" {
	prints experiment figures --json --dir none
	env -u SIMCUDA_COSTS "$lab" experiment bsp --small --json --dir some >9.json
	prints experiment figures lambda --json --dir some
	equal "$(value 1.json '$.experiments[0].device')" null
	equal "$(value 1.json '$.experiments[0].claims[0].here')" null
	check_documents [0-9].json
}

@test "basis: trained, without a basis, predicted with and without a database, a tuning space" {
	trace 'kernel,0,500,Tesla K40c,16,1,1,64,1,1,1,f' 'kernel,1000,400,Tesla K40c,8,1,1,128,1,1,1,f' >sweep.csv
	"$kerncast" import sweep.csv -o sweep.db >/dev/null
	prints basis train --json sweep.db
	prints basis show --json sweep.db
	prints basis predict --json --kernel f --device 'Tesla K40c' --timed 64 --block 96 sweep.db
	prints basis predict --json --device v100 --time 64=1ms --time 128=2ms --block 256 sweep.db
	sql 'DELETE FROM basis; DELETE FROM basis_training' sweep.db
	prints basis show --json sweep.db
	printf 'block,time_ms\n32,1\n64,2\n96,3\n128,\n' >space.csv
	prints basis space --json space.csv
	equal "$(value 6.json '$.configurations[3].measured_ns')" null
	check_documents [0-9]*.json
}

@test "tune of a run: named blocks, none, not known" {
	SIMCUDA_DEVICE=H100 SIMCUDA_COSTS=$root/cuda_tests/explain/shapes.costs "$kerncast" run -q "$build/explain/launch_shapes" \
		"$build/explain/matmul.ptx" matmul_naive_uncoalesced:3:512:16,16:32,32 matmul_tiled_coalesced_16:3:512:32,32:16,16
	prints tune --json --code "$build/explain/matmul.ptx" kerncast.db
	prints tune --json --top 1 kerncast.db
	equal "$(value 1.json '$.kernels[0].faster') $(value 1.json '$.kernels[1].faster')" "yes not known"
	equal "$(value 2.json '$.others.kernels')" 1
	check_documents [0-9]*.json
}

@test "tune: nothing timed, some timed, stop, what cannot run, fails or is not known" {
	printf 'file,kernel,grid,block,args,shared,n\n' >list.csv
	printf '%s,vector_add,4000,256,"0x1000,0x2000,0x3000,1024000",%s\n' "$build/explain/simple.ptx" 0,1 "$build/explain/simple.ptx" 90000,2 \
		"$build/explain/simple.ptx" 900000,3 none.ptx 0,x >>list.csv
	printf 'n,time_ms\n1,0.1\n' >one.csv
	printf 'n,time_ms\n1,0.0000001\n' >fast.csv
	echo '{"cache": {"1": {"n": 1, "time": "failed"}}}' >failed.json
	prints tune --json list.csv --device h100
	prints tune --json list.csv --device h100 --timed one.csv
	prints tune --json list.csv --device h100 --timed fast.csv
	prints tune --json list.csv --device h100 --timed failed.json
	equal "$(value 1.json '$.verdict')" first
	equal "$(value 2.json '$.variants[0].expected_ns')" null
	equal "$(value 3.json '$.cannot_run')$(value 3.json '$.unknown')$(value 4.json '$.failed')" 111
	check_documents [0-9]*.json
}

@test "the tables and views of --schema are those of a database that was just made" {
	prints --schema
	check_documents 1.json
	"$kerncast" run -q "$build/demo-static-sim" --rounds 1
	equal "$(value 1.json '$.application_id')|$(value 1.json '$.version')" \
		"$((0x6B636173))|$(sql 'PRAGMA user_version')"
	sqlite3 -batch -bail kerncast.db "SELECT type || name || tbl_name || sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY 1" >there
	sqlite3 -batch -bail :memory: "SELECT (v ->> 'type') || (v ->> 'name') || (v ->> 'table') || (v ->> 'sql') FROM
		(SELECT value AS v FROM json_each(CAST(readfile('1.json') AS TEXT), '\$.objects')) WHERE NOT v ->> 'optional' ORDER BY 1" >told
	[[ -s told ]]
	diff told there
}

@test "a command that fails prints a message and no document, or a whole one" {
	echo nothing >no.db
	for command in "report --json no.db" "replay --json no.db" "devices --json no.db" "prune --json --keep 1 no.db" \
		"diff --json no.db no.db" "export --chrome no.db" "basis show --json no.db" "basis space --json no.db" \
		"explain --json no.db" "tune --json no.db --device v100" "predict --json --device v100 blocks=1,threads=4096" "report --json --run 9 missing.db" \
		"slowdown --json --device v100 blocks=1,threads=32 blocks=1,threads=4096" "calibrate --json --device 9 c.db"; do
		# shellcheck disable=SC2086 # words of a command
		keep failed "$(that_has ${command%% *})" $command
		equal "$(<failed.status)" 1 "status of kerncast $command"
		equal "$(<failed.out)" "" "output of kerncast $command"
		[[ -s failed.err ]] || { echo "kerncast $command says nothing"; return 1; }
	done
}
