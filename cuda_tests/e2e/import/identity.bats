# kerncast import: which GPU, stream, context and process a row belongs to. The right values of the made files were worked
# out with Python (json, sqlite3, unions of intervals), not with kerncast.
load ../common

made=$root/cuda_tests/traces/made

json() { # FILE EXPRESSION of its document o
	python3 -c 'import json, sys; o = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$@"
}

sql_file() { # NAME: NAME.sqlite, as Nsight Systems exports it
	zcat "$made/$1.sql.gz" | sqlite3 "$1.sqlite"
}

imported() { # FILE...: t.db
	rm -f t.db
	"$kerncast" import "$@" -o t.db >/dev/null
	"$kerncast" report t.db >report.out
}

streams() { # number, context and launches of each, whether it has two kernels at once
	sql "SELECT s.handle, s.context, count(*), coalesce(max(l.measured_start_ns < l.before_ns), 0) FROM (SELECT *, lag(measured_end_ns)
		OVER (PARTITION BY stream ORDER BY measured_start_ns) AS before_ns FROM launch) l
		JOIN stream s ON s.id = l.stream GROUP BY s.id" t.db
}

@test "two GPUs of one model in one process are two" {
	imported "$made/two_gpus.json.gz"
	equal "$(sql 'SELECT ordinal, name FROM device' t.db)" $'0|NVIDIA H100 80GB HBM3\n1|NVIDIA H100 80GB HBM3'
	equal "$(sql 'SELECT p.ordinal, count(*) FROM launch l JOIN process_device p ON p.device = l.device
		GROUP BY p.ordinal' t.db)" $'0|50\n1|50'
	equal "$(sql "SELECT DISTINCT overlap FROM launch" t.db)" none
	for gpu in 0 1; do
		equal "$(grep -A1 "^  GPU $gpu, NVIDIA" report.out | tr -s ' ')" " GPU $gpu, NVIDIA H100 80GB HBM3, 4.98 ms
 busy 80.3 %: kernels 80.3 %, no copies were recorded"
		contains "$(<report.out)" "GPU $gpu, stream 7"
	done
	"$kerncast" report --json t.db >report.json
	equal "$(json report.json '[d["gpu"] for d in o["devices"]]')" "['GPU 0', 'GPU 1']"
}

@test "a process whose pid is also the number of one of its GPUs is one process" { # as in a container, where it is 1
	local pid
	for pid in 0 1; do
		zcat "$made/two_gpus.json.gz" | sed -E "s/\"pid\": ?100\b/\"pid\":$pid/g" >container.json
		imported container.json
		equal "$(sql "SELECT count(DISTINCT process), count(*), count(launched_ns < measured_start_ns) FROM launch" t.db)" '1|100|100'
		equal "$(grep -c 'launch times are not known' report.out)" 0
	done
}

@test "what a kernel taught on one GPU serves on another of its model" {
	for i in {0..9}; do echo "0,kernel,${i}00000,50000,4,1,1,64,1,1,f"; done >rows
	for i in {10..19}; do echo "1,kernel,${i}00000,50000,4,1,1,64,1,1,f"; done >>rows
	{ echo device,kind,start_ns,duration_ns,grid_x,grid_y,grid_z,block_x,block_y,block_z,name; cat rows; } >one.csv
	sed 's/^device/device_name,device/; s/^0/Tesla K40c,0/; s/^1,/Tesla K20c,1,/' one.csv >models.csv
	sed -i 's/^device,/device,device_name,/; s/^\([01]\),/\1,Tesla K40c,/' one.csv
	for trace in one models; do
		"$kerncast" import $trace.csv -o $trace.db >/dev/null
		"$kerncast" replay --json --delay 0 $trace.db >$trace.json
	done
	equal "$(json one.json 'o["first_seen"]["n"]')" 1
	equal "$(json models.json 'o["first_seen"]["n"]')" 2
}

@test "ranks merged into one file are processes of their own: SGLang's labels" {
	imported "$made/merged_ranks.json.gz"
	equal "$(sql 'SELECT command_line, pid FROM process' t.db)" $'TP00|1000\nTP01|1000'
	equal "$(sql 'SELECT place, ordinal FROM device' t.db)" $'TP00|0\nTP01|0'
	equal "$(streams)" $'7|1|20|0\n7|1|20|0'
	equal "$(sql 'SELECT DISTINCT process, measured_start_ns - launched_ns FROM launch' t.db)" $'1|30000\n2|30000'
	for rank in TP00 TP01; do
		contains "$(grep -A1 "^  GPU 0 of $rank, " report.out)" "busy 46.3 %: kernels 46.3 %"
		contains "$(<report.out)" "$rank (pid 1000), stream 7"
	done
}

# The same as other tools write it: ranks as an argument, pids and correlation ids moved by a number that differs by rank
# (TraceLens); pids moved alone; a label alone.
@test "ranks merged into one file are processes of their own: an argument, numbers, labels" {
	zcat "$made/merged_ranks.json.gz" >labels.json
	python3 - <<-'END'
		import json
		for how in 'argument', 'numbers', 'label':
		    trace = json.load(open('labels.json'))
		    for event in trace['traceEvents']:
		        label, pid = event['pid'].split()
		        rank, pid = int(label[3:5]), int(pid)
		        if how == 'label':
		            event['pid'] = f'rank {rank}'
		        else:
		            event['pid'] = pid + rank * 100000
		        if how == 'argument':
		            event['args']['rank'] = rank
		            event['args']['correlation'] += rank * 1000
		    json.dump(trace, open(how + '.json', 'w'))
	END
	for how in argument numbers label; do
		imported $how.json
		equal "$(sql 'SELECT process, count(*), count(DISTINCT device), min(measured_start_ns - launched_ns),
			max(measured_start_ns - launched_ns) FROM launch GROUP BY process' t.db)" \
			$'1|20|1|30000|30000\n2|20|1|30000|30000' "$how"
		equal "$(grep -c "busy 46.3 %" report.out)" 2 "$how"
	done
	imported argument.json
	equal "$(sql 'SELECT command_line, pid FROM process' t.db)" $'rank 0|1000\nrank 1|101000'
	imported numbers.json
	equal "$(sql 'SELECT command_line, pid FROM process' t.db)" $'pid 1000|1000\npid 101000|101000'
	imported label.json
	equal "$(sql 'SELECT command_line FROM process' t.db)" $'rank 0\nrank 1'
}

@test "processes of one Nsight Systems export share its clock, and one GPU" {
	sql_file two_processes
	imported two_processes.sqlite
	equal "$(sql 'SELECT pid FROM process' t.db)" $'500\n501'
	equal "$(sql 'SELECT count(*), max(bus) FROM device' t.db)" "1|0000:01:00.0"
	equal "$(sql 'SELECT overlap, count(*) FROM launch GROUP BY overlap' t.db)" $'behind|40\novertaken|40'
	contains "$(<report.out)" "NVIDIA H100 80GB HBM3, 3.98 ms"
	contains "$(<report.out)" "busy 81.4 %"
	equal "$(grep -o 'pid 50[01]), stream 7 .*' report.out | cut -c1-19 | sort)" $'pid 500), stream 7 \npid 501), stream 7 '
}

@test "a stream is one of a context" {
	sql_file two_contexts
	imported two_contexts.sqlite
	equal "$(streams)" $'7|1|40|0\n7|2|40|0'
	contains "$(<report.out)" "stream 7 of context 1"
	contains "$(<report.out)" "stream 7 of context 2"
	contains "$(<report.out)" "busy 81.4 %"
	printf '%s\n' '"Start","Duration","Grid X","Grid Y","Grid Z","Block X","Block Y","Block Z","Device","Context","Stream","Name"' \
		us,us,,,,,,,,,, '1,1,1,1,1,1,1,1,"Tesla K40c (0)","1","7","f"' '5,1,1,1,1,1,1,1,"Tesla K40c (0)","2","7","f"' >nvprof.csv
	imported nvprof.csv
	equal "$(streams)" $'7|1|1|0\n7|2|1|0'
}

@test "ranks of several files are told apart, and their GPUs" {
	imported "$made"/slow_rank_?.json.gz
	equal "$(sql 'SELECT command_line, pid FROM process' t.db)" $'rank 0|2000\nrank 1|2001\nrank 2|2002\nrank 3|2003'
	equal "$(sql 'SELECT rank, world_size FROM process' t.db)" $'0|4\n1|4\n2|4\n3|4'
	equal "$(sql 'SELECT ordinal FROM device' t.db)" $'0\n1\n2\n3'
	contains "$(<report.out)" "rank 1 (pid 2001), stream 7"
	for process in "rank 1" "rank 1 (pid 2001)" "pid 2001" 2001; do
		"$kerncast" report t.db --process "$process" --json >rank.json
		equal "$(json rank.json 'o["filter"]["launches"], o["kernels"][0]["mean_measured_ns"]')" "(60, 130044.683)" "$process"
	done
	imported "$made"/two_models_rank_?.json.gz
	equal "$(sql 'SELECT place, ordinal, name FROM device' t.db)" 'rank 0|0|NVIDIA H100 80GB HBM3
rank 1|0|NVIDIA H100 80GB HBM3
rank 2|0|NVIDIA A100-SXM4-80GB
rank 3|0|NVIDIA H100 80GB HBM3'
	contains "$(<report.out)" "GPU 0 of rank 2, NVIDIA A100-SXM4-80GB"
	contains "$("$kerncast" slow t.db)" "None of 400 measured launches"
}

@test "files without a rank have their names" {
	zcat "$made/two_gpus.json.gz" >a.json
	sed 's/"gemm"/"other"/' a.json >b.json
	imported a.json b.json
	equal "$(sql 'SELECT command_line FROM process' t.db)" $'a.json\nb.json'
	printf 'process,kind,start_ns,duration_ns,name\n0,kernel,100,50,f\n1,kernel,100,50,f\n' >c.csv
	printf 'kind,start_ns,duration_ns,name\nkernel,100,50,f\n' >d.csv
	imported c.csv d.csv
	equal "$(sql 'SELECT command_line, pid FROM process' t.db)" $'c.csv, process 0|1\nc.csv, process 1|2\nd.csv|3'
	equal "$(sql 'SELECT count(DISTINCT boot_id) FROM process' t.db)" 3 "clocks"
	contains "$("$kerncast" import c.csv d.csv -o t.db)" "nothing new"
}

@test "the UUID of a GPU in an Nsight Systems export tells it from others" {
	sql_file two_processes
	sql "UPDATE TARGET_INFO_GPU SET uuid = 'GPU-0f3e1122-3344-5566-7788-99aabbccddee' WHERE id = 0" two_processes.sqlite
	imported two_processes.sqlite
	equal "$(sql 'SELECT uuid, ordinal FROM device' t.db)" "0f3e112233445566778899aabbccddee|0"
}

@test "processes imported by version 12, which told clocks by processes, keep clocks of their own" {
	printf 'process,kind,start_ns,duration_ns,name\np,kernel,100,50,f\nq,kernel,100,50,f\n' >t.csv
	imported t.csv
	sql "UPDATE process SET boot_id = rtrim(rtrim(boot_id, '12'), '-'); ALTER TABLE device DROP COLUMN ordinal;
		ALTER TABLE device DROP COLUMN place; ALTER TABLE device DROP COLUMN bus;
		$(printf 'ALTER TABLE stream_call DROP COLUMN %s;' graph_launch start_ns end_ns measured_start_ns \
			measured_end_ns unmeasured measured_event)
		$(printf 'ALTER TABLE process DROP COLUMN %s;' host container visible_devices job rank local_rank world_size)
		DROP TABLE learned; DROP TABLE past; DROP TABLE gpu_state; DROP TABLE operator; DROP TABLE launched_by; DROP TABLE step; DROP TABLE scope; DROP TABLE launched_in;
		CREATE TABLE past_part(process INTEGER NOT NULL, place INTEGER NOT NULL, source INTEGER, first_sequence INTEGER NOT NULL, last_sequence INTEGER NOT NULL, PRIMARY KEY(process, place)) WITHOUT ROWID;
		DELETE FROM schema WHERE version > 12; PRAGMA user_version = 12" t.db
	equal "$(sql 'SELECT count(DISTINCT boot_id) FROM process' t.db)" 1
	contains "$("$kerncast" import t.csv -o t.db)" "nothing new"
	equal "$(sql 'SELECT count(DISTINCT boot_id) FROM process' t.db)" 2
	contains "$("$kerncast" report t.db)" "busy 100 %"
}
