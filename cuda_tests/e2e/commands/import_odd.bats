# kerncast import: what other people's files have that should not be there, and files that
# are no trace. The files of cuda_tests/traces/made were made, one kind of fault each; its
# README says what is right.
load ../common

made=$root/cuda_tests/traces/made

import() { # FILE...: into t.db
	rm -f t.db*
	keep import "$kerncast" import "$@" -o t.db
	equal "$(<import.status)" 0 "status ($(<import.err))"
}

# Launches and transfers by why they are unmeasured, their number, and the sum of their times.
times() {
	sql "SELECT 'launch', coalesce(unmeasured, ''), count(*), total(measured_end_ns - measured_start_ns) FROM launch
		GROUP BY unmeasured UNION ALL
		SELECT 'transfer', coalesce(unmeasured, ''), count(*), total(measured_end_ns - measured_start_ns) FROM transfer
		GROUP BY unmeasured" t.db
}

# --- without a time

@test "without a time: PyTorch profiler; launched when its call says, and the process ends with what was measured" {
	import "$made/zero_times.json"
	contains "$(<import.out)" "20 rows, 20 kernels, 1 process, 10 without a time"
	equal "$(times)" $'launch||10|205000.0\nlaunch|record_invalid|10|0.0'
	equal "$(sql 'SELECT ended_ns - started_ns FROM process' t.db)" 920500
	# Calls are 100 us apart, the first 10 us before the first kernel; those of unmeasured kernels follow.
	equal "$(sql "SELECT count(*), min(launched_ns - started_ns), max(launched_ns - started_ns) FROM launch l
		JOIN process p ON p.id = l.process WHERE unmeasured IS NOT NULL" t.db)" "10|990000|1890000"
	equal "$(report '$.ledger.adds_up' t.db)" 1
	equal "$(report '$.ledger.invalid' t.db)" 10
	contains "$("$kerncast" report t.db)" "10 measured of 20 launches"
}

@test "without a time: nvprof, nsys stats and a trace CSV; kernels, copies and memsets" {
	cat >nvprof.csv <<-'END'
		==7== NVPROF is profiling process 7, command: ./a
		"Start","Duration","Grid X","Grid Y","Grid Z","Block X","Block Y","Block Z","Registers Per Thread","Static SMem","Dynamic SMem","Size","Throughput","Device","Context","Stream","Name"
		s,us,,,,,,,,B,B,KB,GB/s,,,,
		0.000000,0.000000,1,1,1,32,1,1,8,0,0,,,"Tesla K40c (0)","1","7","f(int) [1]"
		0.000000,0.000000,,,,,,,,,,1.0,,"Tesla K40c (0)","1","7","[CUDA memcpy HtoD]"
		0.000000,0.000000,,,,,,,,,,1.0,,"Tesla K40c (0)","1","7","[CUDA memset]"
		90.000000,50.500000,1,1,1,32,1,1,8,0,0,,,"Tesla K40c (0)","1","7","f(int) [4]"
		90.000100,2.000000,,,,,,,,,,1.0,,"Tesla K40c (0)","1","7","[CUDA memcpy HtoD]"
	END
	cat >nsys.csv <<-'END'
		Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),Device,Ctx,Strm,Name
		0,0,1,1,1,1,32,1,1,8,0,0,,Tesla K40c (0),1,7,f(int)
		0,0,2,,,,,,,,,,0.001,Tesla K40c (0),1,7,[CUDA memcpy HtoD]
		0,0,3,,,,,,,,,,0.001,Tesla K40c (0),1,7,[CUDA memset]
		90000000000,50500,4,1,1,1,32,1,1,8,0,0,,Tesla K40c (0),1,7,f(int)
		90000100000,2000,5,,,,,,,,,,0.001,Tesla K40c (0),1,7,[CUDA memcpy HtoD]
	END
	cat >trace.csv <<-'END'
		kind,start_ns,duration_ns,launch_ns,name
		kernel,90000000000,50500,89999990000,f(int)
		memcpy,90000100000,2000,,HtoD
		kernel,0,0,89999995000,f(int)
		memcpy,0,0,,HtoD
		memset,,,,memset
	END
	for file in nvprof.csv nsys.csv trace.csv; do
		import $file
		contains "$(<import.out)" "5 rows, 2 kernels, 1 process, 3 without a time"
		equal "$(times)" "launch||1|50500.0
launch|record_invalid|1|0.0
transfer||1|2000.0
transfer|record_invalid|2|0.0" $file
		equal "$(report '$.ledger.adds_up' t.db)" 1 $file
		# Nothing is where nobody knows that it was: an unmeasured launch is launched when its call was, or with the last.
		within "$(sql 'SELECT min(launched_ns - started_ns) FROM launch l JOIN process p ON p.id = l.process' t.db)" \
			89999990000 90000000000 $file
	done
}

@test "without a time: Nsight Systems; start or end is 0" {
	sql "CREATE TABLE StringIds (id INTEGER, value TEXT); INSERT INTO StringIds VALUES (1, 'k');
		CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
			correlationId INTEGER, shortName INTEGER, gridX INTEGER);
		CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
			correlationId INTEGER, bytes INTEGER, copyKind INTEGER);
		CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER);
		INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1000, 1010, 1 << 56, 5), (1500, 1510, 1 << 56, 6),
			(1600, 1610, 1 << 56, 7), (1700, 1710, 1 << 56, 8);
		INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1100, 1160, 0, 7, 5, 1, 3), (0, 0, 0, 7, 6, 1, 3),
			(0, 2000, 0, 7, 7, 1, 3), (1800, 0, 0, 7, 8, 1, 3);
		INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (0, 0, 0, 7, 9, 64, 1)" some.sqlite
	import some.sqlite
	equal "$(<import.err)" ""
	equal "$(times)" $'launch||1|60.0\nlaunch|record_invalid|3|0.0\ntransfer|record_invalid|1|0.0'
	equal "$(sql 'SELECT group_concat(launched_ns - started_ns) FROM launch l JOIN process p ON p.id = l.process' t.db)" \
		1000,1500,1600,1700
}
