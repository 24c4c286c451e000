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

@test "a database on a full disk: the file does not count as imported, and is with room" {
	needs_root
	mkdir small
	awk 'BEGIN { print "process,kind,start_ns,duration_ns,name"
		for (i = 0; i < 60000; i++) print i % 3 ",kernel," i * 1000 ",900,k" }' >trace.csv
	mount -t tmpfs -o size=1m none small 2>/dev/null || skip "cannot mount a tmpfs"
	keep full "$kerncast" import trace.csv -o small/t.db
	mount -o remount,size=32m small
	keep room "$kerncast" import trace.csv -o small/t.db
	keep again "$kerncast" import trace.csv -o small/t.db
	cp small/t.db .
	umount small
	equal "$(<full.status)|$(<full.out)|$(grep -c 'once it can, import the file again' full.err)" "1||1"
	equal "$(<room.status)" 0
	contains "$(<again.out)" "already in the database"
	equal "$(sql 'SELECT count(*), sum(measured_end_ns - measured_start_ns) FROM launch' t.db)" '60000|54000000'
}

@test "a full folder for temporary files: nothing is imported, and all of it with room" {
	needs_root
	mkdir small
	mount -t tmpfs -o size=64k none small 2>/dev/null || skip "cannot mount a tmpfs"
	# More than SQLite keeps in memory.
	python3 -c 'import json; print(json.dumps({"traceEvents": [{"ph": "X", "cat": "kernel", "name": f"{i:02000}", "pid": 0,
		"ts": i, "dur": 0.9, "args": {"device": 0, "stream": 7}} for i in range(8000, 0, -1)]}))' >trace.json
	TMPDIR=$PWD/small keep full "$kerncast" import trace.json -o t.db
	umount small
	equal "$(<full.status)|$(<full.out)" "1|"
	equal "$(grep -c "rows cannot be sorted" full.err)" 1
	import trace.json
	equal "$(sql 'SELECT count(*) FROM launch' t.db)" 8000
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

refused() { # FILE MESSAGE: status 1, the message alone, no database
	rm -f refused.db*
	keep refused timeout 60 "$kerncast" import "$1" -o refused.db
	equal "$(<refused.status)" 1 "$1"
	equal "$(<refused.out)" "" "$1"
	equal "$(<refused.err)" "kerncast: $1: $2"
	equal "$(echo refused.db*)" "refused.db*" "files left of $1"
}

# --- JSON that is not quite JSON

@test "JSON: control characters in a text are read as blanks, and a line says which event has them" {
	for file in control_character newline; do
		import "$made/$file.json"
		equal "$(times)" "launch||2|41000.0" $file
		equal "$(grep -c . import.err)" 1
	done
	equal "$(<import.err)" "kerncast: $made/newline.json:19: the event \"a = f() (1): f\" has a control character or backslash that JSON does not allow there; it is read as a blank"
}

@test "JSON: backslashes, keys, kernel names; lines are still counted, texts cut anywhere" {
	# The file is read in pieces of 256 KiB, which end within the first text.
	local i pad
	for i in 0 7 13 20; do
		printf -v pad '%*s' $((262144 - 60 - i)) ''
		{
			printf '{"traceEvents": [\n%s\n{"ph": "X", "name": "C:\\dir\\users\\n\t", "a\nb": 1},\n' "$pad"
			printf '{"ph": "X", "cat": "kernel", "name": "k\t(int)", "ts": 5, "dur": 2},\n'
			printf '{"ph": "X", "cat": "kernel", "name": "\\u0041\\"", "ts": 9, "dur": 2},\n'
			printf '{"ph": "X", "cat": "kernel", "name": "bad", "ts": "x", "dur": 2}]}\n'
		} >odd.json
		import odd.json
		equal "$(sql 'SELECT group_concat(name) FROM (SELECT name FROM kernel ORDER BY id)' t.db)" 'k (int),A"'
		equal "$(grep -c . import.err)" 3
		contains "$(<import.err)" 'odd.json:3: the event "C: dir users'
		contains "$(<import.err)" 'odd.json:5: the event "k (int)" has a control character or backslash'
		contains "$(<import.err)" 'odd.json:7: left out: ts is "x", not a number'
	done
}

@test "JSON: a byte order mark; events without a closing bracket, as their format allows; UTF-16" {
	local kernel='{"ph": "X", "cat": "kernel", "name": "k", "ts": 5, "dur": 2, "args": {"stream": 7}}'
	printf '\xEF\xBB\xBF{"traceEvents": [%s]}' "$kernel" >bom.json
	printf '[%s,\n%s' "$kernel" "$kernel" >open.json
	printf '[%s,\n%s,\n' "$kernel" "$kernel" | gzip >comma.json
	import bom.json
	equal "$(times)" "launch||1|2000.0"
	for file in open.json comma.json; do
		import $file
		equal "$(<import.err)" ""
		equal "$(sql 'SELECT count(*) FROM launch' t.db)" 2 $file
	done
	printf '[%s,\n{"ph": "X"' "$kernel" >cut.json
	keep cut "$kerncast" import cut.json -o cut.db
	equal "$(<cut.status)" 1
	contains "$(<cut.err)" "cut off"
	printf '{"traceEvents": [\n%s,\n{"name": "print("x")"}]}' "$kernel" >quotes.json
	keep quotes "$kerncast" import quotes.json -o quotes.db
	equal "$(<quotes.status)" 1
	contains "$(<quotes.err)" "quotes.json:3: "
	contains "$(<quotes.err)" "quotation marks that are not escaped, mend it, or record without with_stack"
	printf '{"traceEvents": [%s]}' "$kernel" | iconv -t UTF-16 >utf16.json
	refused utf16.json "this is text in UTF-16, which is not read; convert it first (iconv -f UTF-16 -t UTF-8)"
}

# --- files of other tools

@test "a file of another tool: which tool, and what to do" {
	local run="record the program with kerncast run" nsys="nsys profile --trace=cuda and nsys export --type sqlite"
	cp "$made/xla.json" "$made/ncu.csv" .
	refused xla.json "this is a trace of XLA/JAX (or TensorFlow), which is not read; $run, or with $nsys"
	gzip xla.json
	refused xla.json.gz "this is a trace of XLA/JAX (or TensorFlow), which is not read; $run, or with $nsys"
	refused ncu.csv "this is a report of Nsight Compute, which is not read; $run, or with $nsys"
	printf '"ID","Process ID","Process Name","Host Name","Kernel Name","Context"\n' >raw.csv
	refused raw.csv "this is a report of Nsight Compute, which is not read; $run, or with $nsys"
	printf 'NVR\0\4\0\0\0\10\1\20\2' >a
	refused a "this is a report of Nsight Compute, which is not read; $run, or with $nsys"
	printf '\n\30\10\1\22\f/host:CPU   \32\2hi' >b
	refused b "this is a profile of XLA/JAX or TensorFlow (.xplane.pb), which is not read; $run, or with $nsys"
	printf '\n\3P\1\0' >trace.pftrace
	refused trace.pftrace "this is a trace of Perfetto, which is not read; $run"
	printf 'PK\3\4\24\0' >c
	refused c "this is a zip archive, which is not read; unpack it first (unzip) and import the trace in it"
	printf '\50\265\57\375\4\0' >trace.json.zst
	refused trace.json.zst "this is a file that zstd, xz or bzip2 compressed, which is not read; decompress it first"
	printf '%s\n' '{"Type":48,"NvtxEvent":{"Text":"a"}}' '{"Type":79,"CudaEvent":{"startNs":"1"}}' >nsys.json
	refused nsys.json "this is a JSON export of Nsight Systems, which is not read; export the report with nsys export --type sqlite"
	echo '[{"Start (ns)": 1, "Duration (ns)": 2, "Name": "k"}]' >stats.json
	refused stats.json "this is a JSON export of Nsight Systems, which is not read; export the report with nsys export --type sqlite"
	cat >onnx.json <<-'END'
		[{"cat" : "Session","pid" :1,"tid" :1,"dur" :5,"ts" :1,"ph" : "X","name" :"model_loading_uri","args" : {}},
		{"cat" : "Node","pid" :1,"tid" :1,"dur" :5,"ts" :9,"ph" : "X","name" :"MatMul_kernel_time","args" : {"op_name" : "MatMul"}},
		{"cat" : "Kernel","pid" :-1,"tid" :-1,"dur" :2,"ts" :10,"ph" : "X","name" :"gemm","args" : {"stream" : "7","grid_x" : "8","block_x" : "128"}}]
	END
	refused onnx.json "this is a profile of ONNX Runtime, which is not read; $run, or with $nsys"
	printf '"Kind","Agent_Id","Queue_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp"\n' >rocprof.csv
	refused rocprof.csv "this is a table of rocprof (AMD), which is not read; record the program with the PyTorch profiler, whose traces of AMD GPUs are read"
}

@test "PyTorch profiler: calls of the CUDA API and no kernel" {
	cat >calls.json <<-END
		{"traceEvents": [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 1, "dur": 2, "args": {"correlation": 1}},
		{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 5, "dur": 2, "args": {"correlation": 2}}]}
	END
	refused calls.json "nothing was imported: the trace has 2 calls of the CUDA API and no kernel, so CUPTI gave the profiler no records: another profiler ran, this user may not measure (kerncast doctor), or the profiler stopped before the GPU had finished (torch.cuda.synchronize())"
}

# --- what cannot be

trace() { # ROW...: a trace CSV of rows "stream,start_ns,duration_ns,correlation,graph_node,name"
	echo kind,stream,start_ns,duration_ns,correlation,graph_node,name
	printf 'kernel,%s\n' "$@"
}

@test "an operation that starts before its launch is kept, and said" {
	cat >early.csv <<-END
		kind,stream,start_ns,duration_ns,correlation,launch_ns,name
		kernel,7,1000000,5000,1,990000,a
		kernel,7,2000000,5000,2,2090000,b
		kernel,7,3000000,5000,3,3110000,c
	END
	import early.csv
	equal "$(<import.err)" "kerncast: early.csv: 1 operation starts more than 0.1 ms before the call that launched it, which cannot be, so these times are of another clock; imported as recorded"
	equal "$(sql 'SELECT group_concat(measured_end_ns - measured_start_ns) FROM launch' t.db)" 5000,5000,5000
}

@test "a duration that runs over the next kernels of its stream is said" {
	import "$made/runs_over_the_next.json"
	equal "$(<import.err)" "kerncast: $made/runs_over_the_next.json: 1 kernel runs over the next kernels of the same stream, which cannot be, so the duration is wrong (the first: kern, 1.60 s); imported as recorded"
	trace 7,100000,9000,1,,a 7,101000,1000,2,,b 8,102000,1000,3,,other 7,120000,90000,4,,long 7,130000,5000,5,,c >two.csv
	import two.csv
	contains "$(<import.err)" "2 kernels run over the next kernels of the same stream, which cannot be, so the duration is wrong (the first: a, 9.00 µs)"
}

@test "what can be is not said: the next begins early, one graph, two streams, whole microseconds" {
	trace 7,100000,9000,1,,a 7,105000,9000,2,,dependent >early.csv
	trace 7,100000,9000,1,4,a 7,101000,2000,1,5,b 7,103000,2000,1,6,c >graph.csv
	trace 7,100000,9000,,4,a 7,101000,2000,,5,b >nodes.csv
	trace 7,100000,9000,1,,a 8,101000,2000,2,,b ,102000,2000,3,,c >streams.csv
	trace 7,100000,2000,1,,a 7,101000,0,2,,b >ticks.csv
	for file in early graph nodes streams ticks; do
		import $file.csv
		equal "$(<import.err)" "" $file
	done
}

@test "events that come twice are said, and count once" {
	local kernel='{"ph": "X", "cat": "kernel", "name": "k", "ts": 5, "dur": 2, "args": {"device": 0, "stream": 7, "correlation": 3}}'
	local next='{"ph": "X", "cat": "kernel", "name": "k", "ts": 9, "dur": 2, "args": {"device": 0, "stream": 7, "correlation": 4}}'
	local copy='{"ph": "X", "cat": "gpu_memcpy", "name": "HtoD", "ts": 20, "dur": 2, "args": {"device": 0, "stream": 7, "correlation": 5, "bytes": 8}}'
	printf '[%s,%s,%s,%s,%s,%s]' "$kernel" "$next" "$copy" "$copy" "$kernel" "$next" >twice.json
	import twice.json
	equal "$(<import.err)" "kerncast: twice.json: 3 operations are in it twice, with the same stream, correlation id and times; the second is left out"
	equal "$(times)" $'launch||2|4000.0\ntransfer||1|2000.0'
	printf '[%s,%s,%s]' "$kernel" "${kernel/\"stream\": 7/\"stream\": 8}" "${kernel/\"k\"/\"l\"}" >not.json
	import not.json
	equal "$(<import.err)" ""
	equal "$(sql 'SELECT count(*) FROM launch' t.db)" 3
}

# --- older tables

@test "nsys stats of 2020 and 2021: seconds, and memory without a unit, which is in bytes" {
	import "$made/nsys_2021.csv"
	equal "$(sql 'SELECT measured_start_ns - started_ns, measured_end_ns - measured_start_ns, static_shared_bytes,
		dynamic_shared_bytes FROM launch l JOIN process p ON p.id = l.process JOIN kernel k ON k.id = l.kernel' t.db)" \
		$'1000000|500|1024|2048\n2000000|700|1024|2048'
	sed 's/,,,,,H100/,4096,1.5,Pageable,Device,H100/; s/gemm$/[CUDA memcpy HtoD]/; s/,1024,2048//' "$made/nsys_2021.csv" |
		sed 's/,StcSMem,DymSMem//' >copies.csv
	import copies.csv
	equal "$(sql 'SELECT group_concat(bytes) FROM transfer' t.db)" 4096,4096
}

# --- other makers' GPUs

@test "AMD: named though ROCm numbers its devices past those described, said not to be an NVIDIA GPU, not predicted, not learned" {
	import "$made/amd_device_2.json"
	equal "$(<import.err)" "kerncast: $made/amd_device_2.json: AMD Instinct MI300X is not an NVIDIA GPU: what ran on it can be reported and compared, and is not predicted"
	equal "$(sql 'SELECT name, coalesce(cc_major, 0) FROM device' t.db)" "AMD Instinct MI300X|0"
	"$kerncast" report t.db >report
	contains "$(<report)" "on AMD Instinct MI300X, which is not an NVIDIA GPU"
	contains "$(<report)" "10 launches are measured. None is predicted, as no GPU is NVIDIA's."
	"$kerncast" replay t.db >replay
	contains "$(<replay)" "10 launches replayed, 0 predicted"
	contains "$(<replay)" '10 of 10 launches ran on "AMD Instinct MI300X", which is not an NVIDIA GPU; they are not predicted'
	[[ $(<replay) != *assuming* ]]
	"$kerncast" replay --json t.db >replay.json
	equal "$(sqlite3 :memory: "SELECT j ->> 'predicted', j ->> 'foreign_device', j ->> 'foreign_device_launches',
		j ->> 'assumed_device' IS NULL, j ->> '$.unpredictable_reasons.no_device'
		FROM (SELECT CAST(readfile('replay.json') AS TEXT) AS j)")" "0|AMD Instinct MI300X|10|1|10"
	keep learn "$kerncast" learn t.db -o prior
	equal "$(<learn.status)" 1
	contains "$(<learn.err)" "left out: 1 launch shape on a GPU that is not NVIDIA's"
	[[ ! -e prior ]]
	# Compute capability 9.0 is Hopper's at NVIDIA, and MI210's at AMD.
	sed 's/AMD Instinct MI300X/AMD Instinct MI210/; s/"computeMinor": 4/"computeMinor": 0/; s/"device": 2/"device": 0/g' \
		"$made/amd_device_2.json" >mi210.json
	import mi210.json
	contains "$("$kerncast" replay t.db)" 'ran on "AMD Instinct MI210", which is not an NVIDIA GPU'
	"$kerncast" export --chrome t.db -o chrome.json
	"$root/scripts/check-trace" chrome.json
}

@test "AMD and Intel GPUs that the trace does not name; the launch times of xpu_runtime" {
	cat >hip.json <<-'END'
		[{"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "ts": 90, "dur": 1, "args": {"correlation": 5}},
		{"ph": "X", "cat": "kernel", "name": "k", "ts": 100, "dur": 7, "args": {"device": 9, "stream": 0, "correlation": 5}}]
	END
	import hip.json
	equal "$(<import.err)" "kerncast: hip.json: AMD GPU is not an NVIDIA GPU: what ran on it can be reported and compared, and is not predicted"
	cat >xpu.json <<-'END'
		{"deviceProperties": [{"id": 0, "name": "Intel(R) Data Center GPU Max 1550", "computeMajor": 8, "numSms": 448}],
		"traceEvents": [
		{"ph": "X", "cat": "xpu_runtime", "name": "urEnqueueKernelLaunch", "ts": 90, "dur": 1, "args": {"correlation": 5}},
		{"ph": "X", "cat": "xpu_driver", "name": "zeCommandListAppendLaunchKernel", "ts": 95, "dur": 1, "args": {"correlation": 6}},
		{"ph": "X", "cat": "kernel", "name": "long", "ts": 100, "dur": 70, "args": {"device": 0, "stream": 1, "correlation": 5}},
		{"ph": "X", "cat": "kernel", "name": "k", "ts": 110, "dur": 7, "args": {"device": 0, "stream": 1, "correlation": 6}}]}
	END
	import xpu.json
	equal "$(<import.err)" "kerncast: xpu.json: Intel(R) Data Center GPU Max 1550 is not an NVIDIA GPU: what ran on it can be reported and compared, and is not predicted"
	equal "$(sql 'SELECT group_concat(measured_start_ns - launched_ns) FROM launch' t.db)" 10000,15000
	contains "$("$kerncast" replay t.db)" "2 launches replayed, 0 predicted"
	sed 1d xpu.json | sed '1s/^/{/' >nameless.json
	import nameless.json
	equal "$(sql 'SELECT name FROM device' t.db)" "Intel XPU"
}

# --- kernels are the same, live and imported

diff_sees() { # OLD NEW COMPARED: kernels; none of them new or gone
	"$kerncast" diff --json "$1" "$2" >diff.json
	equal "$(sqlite3 :memory: "SELECT j ->> 'compared_kernels', json_array_length(j -> 'new'), json_array_length(j -> 'gone')
		FROM (SELECT CAST(readfile('diff.json') AS TEXT) AS j)")" "$3|0|0" "$1 $2"
}

@test "a live run and traces of the same C++ program are compared kernel by kernel" {
	local nvcc
	nvcc=$("$root/scripts/find-cuda")/bin/nvcc
	"$nvcc" -cudart none -gencode arch=compute_80,code=[sm_80,compute_80] -o two "$made/two_kernels.cu" \
		"$simcuda/libcudart_sim.a" -ldl -lpthread
	"$kerncast" run -q -o live.db ./two
	equal "$(sql 'SELECT group_concat(mangled) FROM (SELECT mangled FROM kernel ORDER BY 1)' live.db)" \
		_Z4addvPfi,_Z5scaleIfEvPT_i
	"$kerncast" import "$made/two_kernels.json.gz" -o torch.db
	diff_sees live.db torch.db 2
	diff_sees torch.db live.db 2
	contains "$("$kerncast" diff live.db torch.db)" "2 kernels were compared"
	# As nsys stats prints them, by NVIDIA's own demangler.
	{
		echo "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Device,Ctx,Strm,Name"
		for i in {1..60}; do
			echo "${i}00000,30000,$i,64,1,1,256,1,1,,1,7,\"void scale<float>(T1 *, int)\""
			echo "${i}50000,15000,$i,64,1,1,256,1,1,,1,7,\"addv(float *, int)\""
		done
	} >nsys.csv
	"$kerncast" import nsys.csv -o nsys.db
	diff_sees live.db nsys.db 2
	diff_sees nsys.db torch.db 2
	contains "$("$kerncast" diff live.db nsys.db)" \
		"DEVICE NOT KNOWN: OLD ran on Simulated NVIDIA A100-SXM4-40GB, and NEW does not tell on what"
}

@test "nsys: the mangled name where the export has one, so that live runs know the kernel" {
	sql "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
		INSERT INTO StringIds VALUES (1, '_Z5scaleIfEvPT_i'), (2, 'void scale<float>(T1 *, int)'), (3, 'scale'), (4, 'gemm'), (5, '');
		CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, mangledName, demangledName, shortName);
		INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 0, 7, 1, 2, 3), (3, 4, 0, 7, NULL, 4, 4), (5, 6, 0, 7, 5, 2, 3)" \
		names.sqlite
	import names.sqlite
	equal "$(sql 'SELECT mangled, name FROM launch l JOIN kernel k ON k.id = l.kernel ORDER BY measured_start_ns' t.db)" \
		'_Z5scaleIfEvPT_i|void scale<float>(float*, int)
gemm|gemm
void scale<float>(T1 *, int)|void scale<float>(T1 *, int)'
}

# --- SQLite without kernels, and of nvprof

no_kernels() { # SQL: exports of CUDA calls
	rm -f none.sqlite
	sql "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT); $1" none.sqlite
}
calls="CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId);
	INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 3, 1), (4, 5, 6, 2);"

@test "nsys: graphs recorded as a whole, or calls and no kernel: what nsys noted is said" {
	no_kernels "$calls CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start, end);
		INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (1, 2), (3, 4), (5, 6), (7, 8), (9, 10)"
	refused none.sqlite "nothing was imported: 5 graph launches were recorded without their kernels; nsys profile --cuda-graph-trace=node records them"
	no_kernels "$calls CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end)"
	refused none.sqlite "nothing was imported: CUDA was traced, with 2 calls of its API, but CUPTI recorded no kernel, copy or memset: kerncast doctor tells whether it can here"
	no_kernels "$calls CREATE TABLE DIAGNOSTIC_EVENT (timestamp, timestampType, source, severity, text, globalPid);
		INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 1, 3, 1, 'Profiling has started.', 0),
		(1, 1, 3, 2, 'Not all CUDA events might have been collected.', 0),
		(1, 1, 3, 2, 'No NVTX events collected. Does the process use NVTX?', 0),
		(1, 1, 1, 2, 'Installed CUDA driver version (13.3) is not supported.', 0),
		(1, 1, 1, 1, 'CUDA injection initialized successfully.', 0),
		(2, 1, 3, 2, 'Not all CUDA events might have been collected.', 0)"
	refused none.sqlite "nothing was imported: CUDA was traced, with 2 calls of its API, but CUPTI recorded no kernel, copy or memset; nsys says: \"Installed CUDA driver version (13.3) is not supported.\" \"Not all CUDA events might have been collected.\""
	sql "CREATE TABLE rocpd_kernel_dispatch (id)" rocpd.db
	refused rocpd.db "this is a database of rocprof (AMD), which is not read; record the program with the PyTorch profiler, whose traces of AMD GPUs are read"
}

# Tables and columns as nvprof of CUDA 9 to 11 wrote them.
nvvp="CREATE TABLE StringTable(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, value TEXT NOT NULL UNIQUE);
	CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, cacheConfig BLOB, registersPerThread INT,
		start INT, end INT, deviceId INT, contextId INT, streamId INT, gridX INT, gridY INT, gridZ INT, blockX INT, blockY INT,
		blockZ INT, staticSharedMemory INT, dynamicSharedMemory INT, correlationId INT, name INT);
	CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, cacheConfig BLOB,
		registersPerThread INT, start INT, end INT, completed INT, deviceId INT, contextId INT, streamId INT, gridX INT,
		gridY INT, gridZ INT, blockX INT, blockY INT, blockZ INT, staticSharedMemory INT, dynamicSharedMemory INT,
		correlationId INT, gridId INT, name INT);
	CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, copyKind INT, srcKind INT, dstKind INT,
		flags INT, bytes INT, start INT, end INT, deviceId INT, contextId INT, streamId INT, correlationId INT);
	CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY2(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, copyKind INT, bytes INT, start INT,
		end INT, deviceId INT, contextId INT, streamId INT, srcDeviceId INT, dstDeviceId INT, correlationId INT);
	CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, value INT, bytes INT, start INT, end INT,
		deviceId INT, contextId INT, streamId INT, correlationId INT);
	CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, cbid INT, start INT, end INT,
		processId INT, threadId INT, correlationId INT, returnValue INT);
	CREATE TABLE CUPTI_ACTIVITY_KIND_DEVICE(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, globalMemoryBandwidth INT,
		globalMemorySize INT, l2CacheSize INT, numThreadsPerWarp INT, coreClockRate INT, numMemcpyEngines INT,
		numMultiprocessors INT, maxWarpsPerMultiprocessor INT, maxBlocksPerMultiprocessor INT, maxRegistersPerBlock INT,
		maxSharedMemoryPerBlock INT, maxThreadsPerBlock INT, computeCapabilityMajor INT, computeCapabilityMinor INT, id INT,
		uuid BLOB, name INT);
	INSERT INTO StringTable VALUES (1, 'Some V100'), (2, '_Z5scaleIfEvPT_i'), (3, 'gemm');
	INSERT INTO CUPTI_ACTIVITY_KIND_DEVICE VALUES (1, 898048000, 16914055168, 6291456, 32, 1530000, 5, 79, 64, 32, 65536,
		49152, 1024, 7, 0, 0, x'00112233445566778899AABBCCDDEEFF', 1);"
nvvp_rows="INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL VALUES
		(1, x'00', 16, 1496933427584362152, 1496933427584362652, 0, 0, 1, 7, 8, 2, 1, 128, 4, 1, 512, 1024, 5, 1, 2),
		(2, x'00', 32, 1496933427584365000, 1496933427584366000, 0, 0, 1, 13, 9, 1, 1, 64, 1, 1, 0, 0, 6, 2, 3),
		(3, x'00', 32, 0, 0, 0, 0, 1, 13, 9, 1, 1, 64, 1, 1, 0, 0, 7, 3, 3);
	INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 1, 1, 3, 0, 4096, 1496933427584370000, 1496933427584371000, 0, 1, 7, 8);
	INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY2 VALUES (1, 10, 64, 1496933427584372000, 1496933427584372500, 0, 1, 7, 0, 1, 9);
	INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (1, 0, 16, 1496933427584373000, 1496933427584373100, 0, 1, 7, 10);
	INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 211, 1496933427584360152, 1496933427584361152, 4, 4, 5, 0),
		(2, 211, 1496933427584364000, 1496933427584364500, 4, 4, 6, 0), (3, 211, 1496933427584368000, 1496933427584368500, 4, 4, 7, 0);"

@test "nvprof's own file (.nvvp): kernels, shapes, mangled names, launch times, copies and the GPU" {
	sql "$nvvp $nvvp_rows" a.nvvp
	import a.nvvp
	equal "$(<import.err)" ""
	equal "$(sql "SELECT measured_start_ns - started_ns, measured_end_ns - measured_start_ns, launched_ns - started_ns,
		s.handle, grid_x || ',' || grid_y, block_x || ',' || block_y, registers, static_shared_bytes, dynamic_shared_bytes,
		k.mangled, k.name, coalesce(unmeasured, '') FROM launch l JOIN process p ON p.id = l.process
		JOIN kernel k ON k.id = l.kernel JOIN stream s ON s.id = l.stream ORDER BY sequence" t.db)" \
		'0|500|-2000|7|8,2|128,4|16|512|1024|_Z5scaleIfEvPT_i|void scale<float>(float*, int)|
2848|1000|1848|13|9,1|64,1|32|0|0|gemm|gemm|
||5848|13|9,1|64,1|32|0|0|gemm|gemm|record_invalid'
	equal "$(sql 'SELECT kind, bytes, measured_end_ns - measured_start_ns FROM transfer ORDER BY measured_start_ns' t.db)" \
		$'HtoD|4096|1000\npeer|64|500\nmemset|16|100'
	equal "$(sql 'SELECT name, sm_count, cc_major, clock_khz, memory_bytes_per_s, max_threads_per_sm FROM device' t.db)" \
		"Some V100|79|7|1530000|898048000000|2048"
	sql "$nvvp" none.nvvp
	refused none.nvvp "nothing was imported: this profile of nvprof has no kernel, copy or memset"
	sql "$nvvp ALTER TABLE StringTable RENAME TO t; CREATE VIEW StringTable AS WITH RECURSIVE c(n) AS
		(SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT t.* FROM t, c WHERE c.n < 0" endless.nvvp
	refused endless.nvvp "its StringTable is not a table of stored rows, so this is not an export of Nsight Systems"
}

@test "devices up to 255 are taken, as GPUs in partitions have many; one above is named" {
	local at='{"ph": "X", "cat": "kernel", "name": "k", "ts": 5, "dur": 2, "args": {"stream": 7, "grid": [1, 1, 1], "block": [32, 1, 1], "device": '
	printf '[%s63}},\n%s64}},\n%s255}},\n%s256}}]' "$at" "$at" "$at" "$at" >many.json
	import many.json
	equal "$(<import.err)" "kerncast: many.json:4: left out: device is 256, not from 0 to 255"
	equal "$(times)" "launch||3|6000.0"
	equal "$(report '$.ledger.adds_up' t.db)" 1
	contains "$("$kerncast" replay t.db)" "3 launches replayed, 3 predicted"
}
