# `--json`: documents whose keys others rely on.
load ../common

keys_at() { # JSON path
	sqlite3 :memory: "SELECT key FROM json_each(CAST(readfile('report.json') AS TEXT), '$1')"
}

@test "report --json has every key of the contract, and README documents them" {
	local part key
	"$kerncast" run -q "$build/demo-static-sim" --rounds 30
	"$kerncast" report --json >report.json
	equal "$(sqlite3 :memory: "SELECT json_valid(CAST(readfile('report.json') AS TEXT))")" 1 "one valid document"
	for key in ledger accuracy first_seen new_size repeated solo overlapped kernels simulated; do
		contains "$(keys_at '$')" "$key"
	done
	for key in launches predicted unpredictable failed measured matched unmatched unmeasured dropped invalid; do
		contains "$(keys_at '$.ledger')" "$key"
		equal "$(sqlite3 :memory: "SELECT json_type(CAST(readfile('report.json') AS TEXT), '\$.ledger.$key')")" \
			integer "type of ledger.$key"
	done
	for part in accuracy first_seen new_size repeated solo overlapped; do
		for key in n mape median p90 within_20; do
			contains "$(keys_at "\$.$part")" "$key"
		done
	done
	within "$(sqlite3 :memory: "SELECT json_array_length(CAST(readfile('report.json') AS TEXT), '\$.kernels')")" 6 6 kernels
	for key in $(keys_at '$') $(keys_at '$.ledger') $(keys_at '$.accuracy') $(keys_at '$.kernels[0]'); do
		grep -q -F "\`$key\`" "$root/tools/manual/report.md" || { echo "$key is not documented"; return 1; }
	done
}

@test "report --json agrees with the rows it is made from" {
	"$kerncast" run -q "$build/demo-static-sim"
	equal "$(report '$.accuracy.n')" "$(sql 'SELECT count(*) FROM launch WHERE measured_start_ns IS NOT NULL')" n
	local mape
	mape=$(sql "SELECT 100.0 * avg(abs((end_ns - start_ns) - (measured_end_ns - measured_start_ns))
		/ CAST(measured_end_ns - measured_start_ns AS REAL)) FROM launch")
	within "$(report '$.accuracy.mape')" "$(awk "BEGIN { print $mape * 0.99 }")" "$(awk "BEGIN { print $mape * 1.01 }")" mape
	equal "$(($(report '$.first_seen.n') + $(report '$.new_size.n') + $(report '$.repeated.n')))" \
		"$(report '$.accuracy.n')" "first seen, new size and repeated together"
	equal "$(($(report '$.solo.n') + $(report '$.overlapped.n')))" "$(report '$.accuracy.n')" "solo and overlapped together"
}

begins_with_schema() { # NAME/VERSION COMMAND...
	local schema=kerncast.$1
	shift
	"$(that_has "$1")" "$@" >document.json || return 1
	equal "$(sqlite3 :memory: "SELECT json_type(j) || ' ' || (SELECT key || ' ' || value FROM json_each(j) LIMIT 1)
		FROM (SELECT CAST(readfile('document.json') AS TEXT) AS j)")" "object schema $schema" "document of kerncast $1"
	grep -q -F "\`$schema\`" "$root/tools/README.md" || { echo "$schema is not documented"; return 1; }
}

@test "every JSON document begins with its schema and version, and README names it" {
	"$kerncast" run -q "$build/demo-static-sim" --rounds 3
	begins_with_schema report/1 report --json
	begins_with_schema replay/1 replay --json
	"$kerncast" run -q "$build/demo-static-sim" --rounds 3
	begins_with_schema diff/1 diff --json
	begins_with_schema slow/1 slow --json
	begins_with_schema pairs/1 pairs --json
	begins_with_schema devices/1 devices --json
	begins_with_schema prune/1 prune --keep 1 --json
	begins_with_schema doctor/1 doctor --json
	begins_with_schema calibrate/1 calibrate --json c.db
	begins_with_schema predict/1 predict --json --device v100 blocks=1,threads=32
	begins_with_schema slowdown/1 slowdown --json --device v100 blocks=1,threads=32 blocks=1,threads=32
	begins_with_schema explain/1 explain --json "$build/demo-static-sim"
	begins_with_schema experiment/1 experiment figures lambda --json --dir here
	printf '%s\n' kind,start_ns,duration_ns,device_name,grid_x,grid_y,grid_z,block_x,block_y,block_z,name \
		'kernel,0,500,Tesla K40c,16,1,1,64,1,1,f' 'kernel,1000,400,Tesla K40c,8,1,1,128,1,1,f' >sweep.csv
	"$kerncast" import sweep.csv -o sweep.db >/dev/null
	begins_with_schema basis/1 basis train --json sweep.db
	begins_with_schema basis-predict/1 basis predict --json --kernel f --device 'Tesla K40c' --timed 64 --block 96 sweep.db
	printf 'block,time_ms\n32,1\n64,2\n96,3\n128,\n' >space.csv
	begins_with_schema basis-space/1 basis space --json space.csv
	printf 'file,grid,block\n%s,1,32\n' "$build/explain/own_memory.ptx" >list.csv
	begins_with_schema tune/1 tune --json --device v100 list.csv
	begins_with_schema tune-run/1 tune --json sweep.db
	"$kerncast" export --chrome >trace.json
	equal "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('trace.json') AS TEXT), '$.otherData.schema')")" kerncast.chrome/1
}
