# kerncast import: traces of others become rows, all of them, once.
load ../common

head=process,module,device,device_name,stream,kind,start_ns,duration_ns,launch_ns,grid_x,grid_y,grid_z,block_x,block_y,block_z,registers,static_shared_bytes,dynamic_shared_bytes,bytes,correlation,graph_node,priority,args,name

all_of() { # FOLDER NAME: NAME.db of every recording, imported once for the tests of this file
	[[ -e $BATS_FILE_TMPDIR/$2.db ]] || "$kerncast" import "$1"/traces/*/*.csv.gz -o "$BATS_FILE_TMPDIR/$2.db" >/dev/null
	cp "$BATS_FILE_TMPDIR/$2.db" .
}

manifest_is_kept() { # FOLDER DB
	local data
	data=$(realpath "$1")
	sqlite3 -batch -bail -separator , "$2" "
		WITH launches AS (SELECT process, count(*) AS n FROM launch GROUP BY process),
		transfers AS (SELECT process, count(*) AS n FROM transfer GROUP BY process)
		SELECT replace(source, '$data/traces/', ''), total(l.n) + total(t.n), total(l.n), count(*) FROM process p
		LEFT JOIN launches l ON l.process = p.id LEFT JOIN transfers t ON t.process = p.id GROUP BY source" |
		sed 's/\.0,/,/g' | sort >there
	tail -n +2 "$data/traces/MANIFEST.csv" | tr -d '\r' | cut -d, -f1-4 | sort >listed
	within "$(wc -l <listed)" 10 1000 "recordings"
	diff listed there
	equal "$(sql "SELECT count(*) FROM launch WHERE unpredictable IS NOT 'imported' OR simulated != 0" "$2")" 0
	equal "$(report '$.ledger.adds_up' "$2")" 1
	equal "$(sql 'SELECT count(*) FROM run' "$2")" 1
}

can_be_replayed() { # FOLDER DB
	"$kerncast" replay --json "$2" >replay.json
	equal "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('replay.json') AS TEXT), '$.launches')")" \
		"$(awk -F, 'NR > 1 { n += $3 } END { print n }' "$1/traces/MANIFEST.csv")" "launches"
	within "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('replay.json') AS TEXT), '$.repeated.median')")" 0 10 \
		"median error of repeated launches"
}

@test "reduced recordings are the bytes that their list names" {
	(cd "$reduced" && sha256sum -c --quiet SHA256SUMS)
	equal "$(cd "$reduced" && find examples pairs raw seed_tables traces tuning -type f | sort)" "$(cut -c67- "$reduced/SHA256SUMS")"
}

@test "rows, kernels and processes of every reduced recording are those of its manifest" {
	all_of "$reduced" reduced
	manifest_is_kept "$reduced" reduced.db
}

@test "rows, kernels and processes of every full recording are those of its manifest" {
	full_data
	all_of "$data" full
	manifest_is_kept "$data" full.db
}

@test "every reduced recording can be replayed" {
	all_of "$reduced" reduced
	can_be_replayed "$reduced" reduced.db
}

@test "every full recording can be replayed" {
	full_data
	all_of "$data" full
	can_be_replayed "$data" full.db
}

@test "what malformed lines say is left out and named; the rest comes in" {
	cat >trace.csv <<-END
		$head
		p,m,0,Tesla K40c,7,memcpy,-5,3,,,,,,,,,,,400,,,,,[CUDA memcpy HtoD]
		p,m,0,Tesla K40c,7,kernel,100,50,90,10,1,1,64,1,1,16,0,0,,1,,,size 10,"f(int, ""x"")"
		p,m,0,Tesla K40c,8,kernel,120,50,95,10,1,1,64,1,1,16,0,0,,2,,-1,size 10,g(int)
		too,few,fields
		p,m,0,Tesla K40c,7,kernel,x,50,,10,1,1,64,1,1,16,0,0,,,,,,g(int)
		p,m,0,Tesla K40c,7,kernel,300,-1,,10,1,1,64,1,1,16,0,0,,,,,,g(int)
		p,m,0,Tesla K40c,7,nothing,300,1,,10,1,1,64,1,1,16,0,0,,,,,,g(int)
		p,m,0,Tesla K40c,7,kernel,300,1,,10,1,1,99999,1,1,16,0,0,,,,,,g(int)
		p,m,0,Tesla K40c,7,kernel,400,10,,10,1,1,64,1,1,16,0,0,,,,,,g(int)
		p,m,0,Tesla K40c,7,kernel,500,10,,10,1,1,64,1,1,16,0,0,,,,,,"never closed
		q,m,0,Tesla K40c,7,kernel,600,10,,10,1,1,64,1,1,16,0,0,,,,,,g(int)
	END
	keep import "$kerncast" import trace.csv -o t.db
	equal "$(<import.status)" 0
	for line in 5 6 7 8 9 11; do
		contains "$(<import.err)" "trace.csv:$line: "
	done
	equal "$(grep -c . import.err)" 6
	contains "$(tail -n 1 import.out)" "6 malformed lines"
	equal "$(sql "SELECT group_concat(k.name || ' ' || l.overlap || ' ' || (l.measured_end_ns - l.measured_start_ns)
		|| ' ' || (l.measured_start_ns - l.launched_ns), ';') FROM launch l JOIN kernel k ON k.id = l.kernel" t.db)" \
		'f(int, "x") overtaken 50 10;g(int) behind 50 25;g(int) none 10 0;g(int) none 10 0'
	equal "$(sql 'SELECT kind, bytes FROM transfer' t.db)" 'HtoD|400'
	equal "$(sql 'SELECT DISTINCT sm_count FROM device' t.db)" 15
	equal "$(sql "SELECT source LIKE '%/trace.csv', command_line, ended FROM process" t.db)" $'1|p|imported\n1|q|imported'
	equal "$(sql 'SELECT group_concat(arguments) FROM launch' t.db)" "size 10,size 10"
	equal "$(sql 'SELECT priority FROM stream ORDER BY priority LIMIT 1' t.db)" -1
}

@test "the same file twice, gzip or cut off" {
	{ echo "$head"; for i in {1..50}; do echo "p,m,0,x,7,kernel,${i}00,5,,1,1,1,32,1,1,1,0,0,,,,,,g"; done; } >t.csv
	gzip -k t.csv
	"$kerncast" import t.csv t.csv.gz -o t.db
	equal "$(sql 'SELECT count(*) FROM launch' t.db)" 100
	contains "$("$kerncast" import t.csv t.csv.gz -o t.db)" "nothing new"
	equal "$(sql 'SELECT count(*) FROM launch' t.db)" 100
	for i in {1..5000}; do echo "p,m,0,x,7,kernel,${i}00,$RANDOM,,1,1,1,32,1,1,1,0,0,,,,,,g"; done | cat t.csv - | gzip >big.csv.gz
	head -c 10000 big.csv.gz >cut.csv.gz
	keep cut "$kerncast" import cut.csv.gz -o cut.db
	equal "$(<cut.status)" 1
	contains "$(<cut.err)" "cut off"
	within "$(sql 'SELECT count(*) FROM launch' cut.db)" 51 5049
}

@test "what is no trace: status 1; wrong use: status 2" {
	echo "a,b" >no.csv
	keep no "$kerncast" import no.csv -o no.db
	equal "$(<no.status)" 1
	contains "$(<no.err)" "no.csv"
	: >empty.csv
	keep empty "$kerncast" import empty.csv missing.csv -o no.db
	equal "$(<empty.status)" 1
	contains "$(<empty.err)" "missing.csv: No such file"
	keep none "$kerncast" import -o no.db
	equal "$(<none.status)" 2
	keep device "$kerncast" import --device nosuch no.csv -o no.db
	equal "$(<device.status)" 2
}

@test "a database of version 1 is brought up to date when it is opened" {
	{ echo "$head"; echo "p,m,0,Tesla K40c,7,kernel,100,5,,1,1,1,32,1,1,1,0,0,,,,,,g"; } >t.csv
	"$kerncast" import t.csv -o old.db
	sql "DROP INDEX kernel_code_waits; ALTER TABLE run DROP COLUMN source; ALTER TABLE process DROP COLUMN source; DROP TABLE calibration; ALTER TABLE kernel DROP COLUMN code;
		DROP VIEW launch; ALTER TABLE launch_row DROP COLUMN arguments; DROP TABLE arguments;
		ALTER TABLE launch_row DROP COLUMN known; ALTER TABLE launch_row DROP COLUMN measured_after;
		ALTER TABLE launch_row DROP COLUMN decided_after; ALTER TABLE transfer DROP COLUMN known_events;
		ALTER TABLE transfer DROP COLUMN measured_event; ALTER TABLE transfer DROP COLUMN decided_event;
		DROP TABLE engine_event; DROP TABLE past; DROP TABLE learned; DROP TABLE work; DROP TABLE stream_call; DROP TABLE code_place; DROP TABLE kernel_text; DROP TABLE gpu_state; DROP TABLE operator; DROP TABLE launched_by;
		DROP TABLE step; DROP TABLE scope; DROP TABLE launched_in;
		ALTER TABLE stream DROP COLUMN lane;
		ALTER TABLE device DROP COLUMN ordinal; ALTER TABLE device DROP COLUMN place; ALTER TABLE device DROP COLUMN bus;
		$(printf 'ALTER TABLE process DROP COLUMN %s;' host container visible_devices job rank local_rank world_size)
		DROP TABLE sweep; DROP TABLE sweep_kernel; DROP TABLE basis; DROP TABLE basis_training;
		ALTER TABLE device DROP COLUMN empty_kernel_ns; ALTER TABLE device DROP COLUMN copy_bytes_per_s;
		ALTER TABLE device DROP COLUMN flops_per_s;
		DROP INDEX kernel_name_pending; ALTER TABLE kernel DROP COLUMN name_pending; DELETE FROM schema WHERE version > 1; PRAGMA user_version = 1" old.db
	contains "$("$kerncast" replay old.db)" "1 launches replayed, 1 predicted"
	equal "$(sql 'PRAGMA user_version; SELECT max(version) FROM schema; SELECT count(source), count(*) FROM process' old.db)" \
		$'21\n21\n0|1'
}

lines_with() { # TEXT in the report
	grep -F -- "$1" report.out || true
}

@test "report of an imported trace: measured and not yet predicted, what to do next, and of the device what is known" {
	printf 'kind,start_ns,duration_ns,name\nkernel,100,50,f\nkernel,200,50,g\n' >nameless.csv
	printf 'kind,start_ns,duration_ns,device_name,name\nkernel,100,50,Quadro Q,f\n' >named.csv
	printf 'kind,start_ns,duration_ns,device_name,name\nkernel,100,50,Tesla K40c,f\n' >known.csv
	"$kerncast" import nameless.csv -o nameless.db >import.out
	equal "$(<import.out)" "nameless.csv: 2 rows, 2 kernels, 1 process
nameless.db: imported 2 kernels, 0 copies and memsets from 1 process" "what import says"
	printf 'kind,start_ns,duration_ns,bytes,name\nmemset,100,50,4,m\n' >memset.csv
	contains "$("$kerncast" import memset.csv -o memset.db)" "memset.db: imported 0 kernels, 1 memset from 1 process"
	sed s/memset,/memcpy,/ memset.csv >copy.csv
	contains "$("$kerncast" import copy.csv -o copy.db)" "copy.db: imported 0 kernels, 1 copy from 1 process"
	"$kerncast" report nameless.db >report.out
	equal "$(lines_with 'Next:')" "Imported: 2 launches are measured, none is predicted yet. Next: kerncast replay nameless.db"
	equal "$(lines_with 'NO MEASUREMENT')$(lines_with doctor)" "" "false alarm"
	equal "$(lines_with device)" "  device: not named in the trace (kerncast import --device says which)"
	"$kerncast" import named.csv -o named.db >import.out
	"$kerncast" report named.db >report.out
	equal "$(lines_with ' on ')" "  on Quadro Q" "a device of which only the name is known"
	"$kerncast" import known.csv -o known.db >import.out
	"$kerncast" report known.db >report.out
	equal "$(lines_with ' on ')" "  on Tesla K40c, compute capability 3.5, 15 SMs, 12.0 GiB" "a built-in device, no driver"
	"$kerncast" replay nameless.db >replay.out
	contains "$(<replay.out)" "The trace does not say what GPU it ran on; assuming a "
}
