# kerncast import: what other profilers write, small files with answers known by hand,
# and the recorded ones. The format is told by what is in a file, so names here mislead.
load ../common

# One line per kernel: start, duration, start - launch, stream, grid, block, registers, shared memory, name.
kernels() { # DB
	sql "SELECT l.measured_start_ns - p.started_ns, l.measured_end_ns - l.measured_start_ns,
		l.measured_start_ns - l.launched_ns, s.handle,
		l.grid_x || ',' || l.grid_y || ',' || l.grid_z, l.block_x || ',' || l.block_y || ',' || l.block_z,
		k.registers, k.static_shared_bytes, l.dynamic_shared_bytes, k.name
		FROM launch l JOIN process p ON p.id = l.process JOIN stream s ON s.id = l.stream
		JOIN kernel k ON k.id = l.kernel ORDER BY l.process, l.measured_start_ns" "$1"
}

transfers() { # DB
	sql "SELECT kind, bytes, measured_start_ns - started_ns, measured_end_ns - measured_start_ns
		FROM transfer t JOIN process p ON p.id = t.process ORDER BY p.id, measured_start_ns" "$1"
}

fails() { # MESSAGE FILE [ROWS]; status 1, and what could be read is there, or else no database
	rm -f fails.db
	keep fails timeout 60 "$kerncast" import "$2" -o fails.db
	equal "$(<fails.status)" 1 "$2"
	contains "$(<fails.err)" "$2"
	contains "$(<fails.err)" "$1"
	if ((${3:-0})); then
		equal "$(sql 'SELECT count(*) FROM launch' fails.db)" "$3" "$2"
	else
		equal "$(echo fails.db*)" "fails.db*" "files left of $2"
	fi
}

# --- PyTorch profiler

# As of 2025: times with nanoseconds, newest first, the launch behind its kernel.
kineto() {
	cat <<-END
		{
		  "schemaVersion": 1,
		  "deviceProperties": [
		    {"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 101997215744, "computeMajor": 9, "computeMinor": 0,
		     "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048, "regsPerBlock": 65536, "warpSize": 32,
		     "sharedMemPerBlock": 49152, "numSms": 114, "regsPerMultiprocessor": 65536,
		     "sharedMemPerBlockOptin": 232448, "sharedMemPerMultiprocessor": 233472}],
		  "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
		  "baseTimeNanoseconds": 1743521598000000000,
		  "traceEvents": [
		  {"ph": "X", "cat": "kernel", "name": "void mul<float>(int, \"x\")", "pid": 0, "tid": 20,
		   "ts": 1610366387140620.001, "dur": 10.500, "args": {"queued": 0, "device": 0, "context": 1, "stream": 20,
		   "correlation": 12, "registers per thread": 24, "shared memory": 4096, "blocks per SM": 0.07,
		   "grid": [8, 2, 1], "block": [64, 4, 1], "graph node id": 0}},
		  {"ph": "X", "cat": "kernel", "name": "add", "pid": 0, "tid": 7, "ts": 1610366387140599.123, "dur": 1.250,
		   "args": {"device": 0, "stream": 7, "correlation": 11, "registers per thread": 16, "shared memory": 0,
		   "grid": [10, 1, 1], "block": [128, 1, 1], "shape": {"stream": 99, "deep": [[1, [2]], {"grid": [9]}]}}},
		  {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "ts": 1610366387140650, "dur": 0,
		   "args": {"device": 0, "stream": 7, "correlation": 13, "bytes": 400, "memory bandwidth (GB/s)": inf}},
		  {"args": {"bytes": 512, "stream": 7, "device": 0, "correlation": 14}, "dur": 2, "ts": 1610366387140660,
		   "name": "Memset (Device)", "cat": "gpu_memset", "ph": "X"},
		  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 1610366387140590.000, "dur": 3.000,
		   "args": {"cbid": 211, "correlation": 11}},
		  {"ph": "X", "cat": "cuda_driver", "name": "cuLaunchKernel", "ts": 1610366387140600.001, "dur": 3,
		   "args": {"cbid": 307, "correlation": 12}},
		  {"ph": "s", "id": 11, "cat": "ac2g", "ts": 1610366387140000, "name": "ac2g"},
		  {"ph": "X", "cat": "gpu_user_annotation", "name": "step", "ts": 1, "dur": 2, "args": {"stream": 7}},
		  {"ph": "X", "cat": "cpu_op", "name": "aten::add", "ts": 1, "dur": 2, "args": {"Input Dims": [[1, 2], []]}},
		  {"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "python"}}
		  ],
		  "traceName": "t.json"
		}
	END
}
# From the first operation; the two kernels do not meet.
kineto_kernels='0|1250|9123|7|10,1,1|128,1,1|16|0|0|add
20878|10500|20000|20|8,2,1|64,4,1|24|0|4096|void mul<float>(int, "x")'

@test "PyTorch profiler: to the nanosecond, sorted, with launches, device and rank; plain and gzip" {
	kineto >trace.csv
	kineto | gzip >trace.txt
	for file in trace.csv trace.txt; do
		keep import "$kerncast" import "$file" -o "$file.db"
		equal "$(<import.status)" 0
		equal "$(<import.err)" ""
		equal "$(kernels "$file.db")" "$kineto_kernels"
		equal "$(transfers "$file.db")" $'HtoD|400|50877|0\nmemset|512|60877|2000'
		equal "$(sql 'SELECT command_line FROM process' "$file.db")" "rank 3"
		equal "$(sql 'SELECT name, sm_count, cc_major, memory_bytes, shared_per_sm_bytes FROM device' "$file.db")" \
			"NVIDIA H100|114|9|101997215744|233472"
		equal "$(report '$.ledger.adds_up' "$file.db")" 1
	done
}

@test "PyTorch profiler: the events alone, and formerly" {
	cat >old.json <<-END
		[{"ph": "X", "cat": "Runtime", "ts": 90, "dur": 1, "name": "cudaLaunchKernel", "args": {"correlation": 5}},
		 {"ph": "X", "cat": "Kernel", "ts": 100, "dur": 7, "name": "k", "args": {"device": 1, "stream": 7,
		  "correlation": 5, "grid": [1, 2, 3], "block": [4, 5, 6], "registers per thread": 8, "shared memory": 9}},
		 {"ph": "X", "cat": "Memset", "ts": 120, "dur": 1, "name": "Memset (Device)", "args": {"bytes": 3}}]
	END
	"$kerncast" import old.json -o old.db
	equal "$(kernels old.db)" '0|7000|10000|7|1,2,3|4,5,6|8|0|9|k'
	equal "$(transfers old.db)" 'memset|3|20000|1000'
}

@test "PyTorch profiler: an event that makes no sense is named with its line; the rest comes in" {
	cat >bad.json <<-END
		{"traceEvents": [
		{"ph": "X", "cat": "kernel", "name": "no duration", "ts": 1, "args": {"stream": 7}},
		{"ph": "X", "cat": "kernel", "name": "no time", "dur": 1, "args": {"stream": 7}},
		{"ph": "X", "cat": "kernel", "name": "before it began", "ts": 1, "dur": -1, "args": {"stream": 7}},
		{"ph": "X", "cat": "kernel", "name": "no number", "ts": nan, "dur": 1, "args": {"stream": 7}},
		{"ph": "X", "cat": "kernel", "name": "a word", "ts": 1, "dur": 1, "args": {"stream": "default"}},
		{"ph": "X", "cat": "kernel", "name": "too large", "ts": 1, "dur": 1, "args": {"block": [99999, 1, 1]}},
		{"ph": "X", "cat": "kernel", "name": "good", "ts": 5, "dur": 2, "args": {"stream": 7}}
		]}
	END
	keep import "$kerncast" import bad.json -o bad.db
	equal "$(<import.status)" 0
	for line in 2 3 4 5 6 7; do
		contains "$(<import.err)" "bad.json:$line: left out: "
	done
	equal "$(grep -c . import.err)" 6
	contains "$(tail -n 1 import.out)" "imported 1 kernel,"
	contains "$(tail -n 1 import.out)" "6 malformed lines"
}

@test "PyTorch profiler: cut off, damaged, nothing in it, or something else" {
	kineto >whole.json
	head -n 19 whole.json | head -c -20 >cut.json
	fails "cut.json:19: cannot be read further (byte $(wc -c <cut.json))" cut.json 2
	contains "$(<fails.err)" "cut off"
	{ kineto; echo '{}'; } | gzip >tail.gz
	fails "tail.gz:" tail.gz 2 # something behind the document
	kineto | sed '19s/,$/ oops,/' >word.json
	fails "word.json:19: " word.json 2
	kineto | gzip >whole.gz
	head -c 600 whole.gz >cut.gz
	fails "damaged or cut off" cut.gz "$(zcat cut.gz 2>/dev/null | grep -c '"grid": .*}}*,$')"
	echo '{"a": [1, 2]}' >other.json
	fails "this JSON is not a trace, as it has no traceEvents, which the PyTorch profiler's export_chrome_trace() writes" other.json
	echo '{"traceEvents": []}' >empty.json
	fails "nothing was imported: the trace has no kernel" empty.json
	head -c 2000 /dev/zero | tr '\0' '[' >deep.json
	fails "nested deeper" deep.json
	{ printf '{"traceEvents": [{"name": "'; head -c 20000000 /dev/zero | tr '\0' 'x'; echo '"}]}'; } >long.json
	fails "16 MiB" long.json
	echo '{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "ts": 1, "dur": 1}]}' >cpu.json
	fails "nothing was imported: the trace has no kernel; the PyTorch profiler records kernels with activities=[..., ProfilerActivity.CUDA]" cpu.json
}

@test "PyTorch profiler: memory does not grow with the file" {
	# 90 MB in 40,000 kernels, starts in no order, in an address space of 64 MiB.
	awk 'BEGIN {
		n = 40000
		print "{\"traceEvents\": ["
		for (i = 1; i <= n; i++) {
			t = (i * 7919) % n * 10
			printf "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"op%d\", \"ts\": %d, \"dur\": 1, \"args\": {\"x\": \"%02000d\"}},\n", i, t, i
			printf "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"ts\": %d.25, \"args\": {\"correlation\": %d}},\n", t, i
			printf "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k%d\", \"ts\": %d.75, \"dur\": 3.125, \"args\": {\"stream\": 7,", i % 50, t + 2
			printf " \"correlation\": %d, \"grid\": [%d, 1, 1], \"block\": [128, 1, 1]}}%s\n", i, i % 100 + 1, i < n ? "," : ""
		}
		print "]}"
	}' >big.json
	within "$(wc -c <big.json)" 80000000 120000000
	(
		ulimit -v 65536
		exec "$kerncast" import big.json -o big.db
	)
	equal "$(sql 'SELECT count(*), sum(measured_end_ns - measured_start_ns), min(measured_start_ns - launched_ns),
		max(measured_start_ns - launched_ns), sum(overlapped) FROM launch' big.db)" "40000|125000000|2500|2500|0"
}

@test "several files are several processes of one run" {
	kineto >rank3.json
	kineto | sed 's/"rank": 3/"rank": 4/' >rank4.json
	"$kerncast" import rank3.json missing.json rank4.json -o t.db 2>err || true
	contains "$(<err)" "missing.json: No such file"
	equal "$(sql 'SELECT count(*) FROM run' t.db)" 1
	equal "$(sql "SELECT command_line, source LIKE '%/rank_.json' FROM process" t.db)" $'rank 3|1\nrank 4|1'
	contains "$("$kerncast" import rank4.json -o t.db)" "nothing new"
	kineto | sed 's/"rank": 3/"rank": 5/' >rank5.json
	"$kerncast" import rank4.json rank5.json -o t.db
	equal "$(sql 'SELECT group_concat(run) FROM process' t.db)" 1,1,2
}

# --- nvprof

nvprof_head='"Start","Duration","Grid X","Grid Y","Grid Z","Block X","Block Y","Block Z","Registers Per Thread","Static SMem","Dynamic SMem","Size","Throughput","Device","Context","Stream","Name"'

nvprof() { # COMMAND START UNIT
	cat <<-END
		==4311== NVPROF is profiling process 4311, command: $1
		what the program printed, with "quotes" and, commas
		==4311== Profiling application: $1
		==4311== Profiling result:
		$nvprof_head
		$3,us,,,,,,,,B,KB,KB,GB/s,,,,
		$2,65.504000,,,,,,,,,,390.625000,5.687119,"GeForce GTX 950 (0)","1","13","[CUDA memcpy HtoD]"
		528.546212,260.514000,391,1,1,256,1,1,28,6.272000e+03,1.500000,,,"GeForce GTX 950 (0)","1","13","add(float const *, int) [230]"
		528.9,1.0,,,,,,,,,,2.0,,"GeForce GTX 950 (0)","1","14","[CUDA memset]"
	END
}

@test "nvprof: units, what it says itself, several tables, columns in front" {
	{
		nvprof "./a 1" 528.405155 ms
		nvprof "./a 1" 528.405155 ms
		sed 's/^"Start/252,x,&/; s/^s,/252,x,s,/; s/^2\./252,x,2./' <<-END
			$nvprof_head
			s,s,,,,,,,,B,B,MB,GB/s,,,,
			2.012410,2.691200e-05,,,,,,,,,,1.500000,8.79,"Tesla K40c (1)","1","7","[CUDA memcpy DtoH]"
			2.012512,1.276810e-04,9,9,1,28,28,1,25,6.272000e+03,0.000000,,,"Tesla K40c (1)","1","7","matMul(float*) [103]"
		END
	} >nvprof.json
	keep import "$kerncast" import nvprof.json -o t.db
	equal "$(<import.status)" 0
	equal "$(<import.err)" ""
	add='528546212|260514|0|13|391,1,1|256,1,1|28|6272|1536|add(float const *, int)'
	equal "$(kernels t.db)" "$add
$add
2012512000|127681|0|7|9,9,1|28,28,1|25|6272|0|matMul(float*)"
	equal "$(transfers t.db | tail -n 3)" 'HtoD|400000|528405155|65504
memset|2048|528900000|1000
DtoH|1572864|2012410000|26912'
	equal "$(sql 'SELECT command_line, pid FROM process' t.db)" $'./a 1|4311\n./a 1 #2|4311\n252 x #3|4311'
	equal "$(sql 'SELECT name, sm_count FROM device' t.db)" $'GeForce GTX 950|6\nTesla K40c|15'
	equal "$(sql 'SELECT DISTINCT correlation FROM launch' t.db)" $'230\n103'
}

@test "nvprof: a unit that is not known leaves its table out, a line that makes no sense itself" {
	{ nvprof ./a 1 fortnights; nvprof ./b 528.5 ms; } >unit.csv
	fails 'unit.csv:6: the unit of Start is "fortnights", but only s, ms, us and ns are known' unit.csv 1
	equal "$(sql 'SELECT command_line FROM process' fails.db)" "./b #2"
	nvprof ./a 1 ms | sed '6d' >none.csv
	fails 'none.csv:6: the unit of Start is "1"' none.csv
	nvprof ./a 1 ms | head -n 5 >short.csv
	fails 'short.csv: the file ends where a row of units is expected' short.csv
	nvprof ./a x ms >bad.csv
	echo '1,2,3' >>bad.csv
	echo '530.0,1.0,,,,,,,,,,,,"GeForce GTX 950 (0)","1","14","[Unified Memory GPU page faults]"' >>bad.csv
	keep bad "$kerncast" import bad.csv -o bad.db
	equal "$(<bad.status)" 0
	contains "$(<bad.err)" 'bad.csv:7: left out: Start is "x", not a number'
	contains "$(<bad.err)" 'bad.csv:10: left out: 3 fields'
	contains "$(<bad.err)" 'bad.csv:11: left out: [Unified Memory'
	contains "$(tail -n 1 bad.out)" "3 malformed lines"
	equal "$(sql 'SELECT count(*) FROM launch' bad.db)" 1
	printf '%s\n' '"Type","Time(%)","Time","Calls","Avg","Min","Max","Name"' ',%,ms,,us,us,us,' >summary.csv
	fails "--print-gpu-trace" summary.csv
}

# --- Nsight Systems

@test "nsys stats cuda_gpu_trace: units in the header, notices, other reports, rows in no order" {
	cat >gpu <<-END

		NOTICE: Existing SQLite export found: t.sqlite
		        It is assumed file was previously exported from: t.nsys-rep

		Processing [t.sqlite] with [reports/cuda_api_sum.py]...
		Time (%),Total Time (ns),Num Calls,Name
		100.0,5,1,cudaLaunchKernel

		Processing [t.sqlite] with [reports/cuda_gpu_trace.py]...
		Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name
		9961685,2707098,67,1,1,2304,128,1,1,160,0.000,0.025,,,,,NVIDIA A100-SXM4-80GB (0),1,,7,"second(int, float)"
		9695093,265888,65,1,2,3,128,1,1,137,0.001,0.007,,,,,NVIDIA A100-SXM4-80GB (0),1,,13,first
		12000000,5,68,,,,,,,,,,4.096,100.0,Pageable,Device,NVIDIA A100-SXM4-80GB (0),1,,7,[CUDA memcpy Host-to-Device]

		Processing [t.sqlite] with [reports/cuda_gpu_mem_size_sum.py]...
		Total (MB),Count,Operation
		1,1,[CUDA memcpy Host-to-Device]
	END
	keep import "$kerncast" import gpu -o t.db
	equal "$(<import.status)" 0
	equal "$(<import.err)" ""
	equal "$(kernels t.db)" '9695093|265888|0|13|1,2,3|128,1,1|137|1000|7000|first
9961685|2707098|0|7|1,1,2304|128,1,1|160|0|25000|second(int, float)'
	equal "$(transfers t.db)" 'HtoD|4096000|12000000|5'
	equal "$(sql 'SELECT name, sm_count FROM device' t.db)" 'NVIDIA A100-SXM4-80GB|108'
	sed 's/(ns)/(μs)/g; s/(MB)/(byte)/g' gpu >us
	"$kerncast" import us -o us.db
	equal "$(kernels us.db | head -n 1)" '9695093000|265888000|0|13|1,2,3|128,1,1|137|0|0|first'
	sed 's/Start (ns)/Start (parsec)/' gpu >parsec
	fails 'parsec:10: the unit of Start is "parsec"' parsec
	head -n 7 gpu >sums
	fails "--report cuda_gpu_trace" sums
}

# The documented schema of version 3, as far as import reads it ("SQLite Schema Reference").
nsys_tables="
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, busLocation TEXT,
	isDiscrete INTEGER, l2CacheSize INTEGER, totalMemory INTEGER, memoryBandwidth INTEGER, clockRate INTEGER,
	smCount INTEGER, maxRegistersPerBlock INTEGER, maxShmemPerBlock INTEGER, maxShmemPerBlockOptin INTEGER,
	maxShmemPerSm INTEGER, maxRegistersPerSm INTEGER, threadsPerWarp INTEGER, asyncEngines INTEGER,
	maxWarpsPerSm INTEGER, maxBlocksPerSm INTEGER, maxThreadsPerBlock INTEGER, computeMajor INTEGER,
	computeMinor INTEGER);
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL, uuid TEXT,
	numMultiprocessors INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,
	globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL,
	callchainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
	contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER,
	globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER,
	launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL,
	gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL,
	blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL,
	localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL,
	sharedMemoryExecuted INTEGER, graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
	contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER,
	globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER,
	graphNodeId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
	contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER,
	globalPid INTEGER, value INTEGER NOT NULL, bytes INTEGER NOT NULL, graphNodeId INTEGER, memKind INTEGER);
"
# Two processes, 100 and 200, that use the same correlation ids; 200 sees GPU 1 as device 0.
nsys_rows="
INSERT INTO StringIds VALUES (1, 'void gemm<float>(int)'), (2, 'gemm'), (3, 'relu'), (9, 'cudaLaunchKernel_v7000');
INSERT INTO TARGET_INFO_GPU VALUES
	(0, 0, 'NVIDIA A100-SXM4-40GB', '', 1, 41943040, 42297786368, 1555200000000, 1410000000, 108, 65536, 49152, 166912,
		167936, 65536, 32, 3, 64, 32, 1024, 8, 0),
	(0, 1, 'Some GPU', '', 1, 1, 2, 3, 4000, 5, 6, 7, 8, 9, 10, 32, 2, 48, 16, 1024, 8, 6);
INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, 100, '', 108), (1, 0, 200, '', 5);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
	(900, 950, 0, (1 << 56) + (100 << 24) + 101, 7, 9, 0, NULL), (1900, 1950, 0, (1 << 56) + (100 << 24) + 102, 8, 9, 0, NULL),
	(500, 550, 0, (1 << 56) + (200 << 24) + 201, 7, 9, 0, NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
	(2000, 2600, 0, 1, NULL, 13, 8, (1 << 56) + (100 << 24), 3, 3, NULL, 0, 0, 20, 4, 5, 6, 32, 2, 1, 0, 1024, 0, 0, 2,
		NULL, (6 << 32) + 4, NULL),
	(1000, 2500, 0, 1, NULL, 7, 7, (1 << 56) + (100 << 24), 1, 2, NULL, 0, 0, 40, 100, 1, 1, 256, 1, 1, 512, 0, 0, 0, 1,
		NULL, NULL, NULL),
	(1000, 1001, 0, 1, NULL, 7, 7, (1 << 56) + (200 << 24), 3, 3, NULL, 0, 0, 20, 1, 1, 1, 32, 1, 1, 0, 0, 0, 0, 1, NULL, NULL,
		NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES
	(3000, 3100, 0, 1, NULL, 7, 9, (1 << 56) + (100 << 24), 4096, 1, 1, 2, NULL),
	(3200, 3300, 0, 1, NULL, 7, 10, (1 << 56) + (100 << 24), 8192, 10, 1, 2, NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (3400, 3410, 0, 1, NULL, 7, 11, (1 << 56) + (100 << 24), 0, 64, NULL, 2);
"

@test "Nsight Systems SQLite: kernels, streams, times, grids, launches, devices and processes" {
	sql "$nsys_tables $nsys_rows" trace.json
	keep import "$kerncast" import trace.json -o t.db
	equal "$(<import.status)" 0
	equal "$(<import.err)" ""
	equal "$(kernels t.db)" '1000|1500|100|7|100,1,1|256,1,1|40|512|0|void gemm<float>(int)
2000|600|100|13|4,5,6|32,2,1|20|0|1024|relu
1000|1|500|7|1,1,1|32,1,1|20|0|0|relu'
	equal "$(sql 'SELECT overlap, graph_node FROM launch ORDER BY process, measured_start_ns' t.db)" \
		$'overtaken|\nbehind|4\nnone|'
	equal "$(transfers t.db)" $'HtoD|4096|3000|100\npeer|8192|3200|100\nmemset|64|3400|10'
	equal "$(sql 'SELECT command_line, pid FROM process' t.db)" $'trace.json|100\ntrace.json|200'
	equal "$(sql 'SELECT d.name, sm_count, clock_khz, memory_bytes_per_s, max_threads_per_sm, max_blocks_per_sm
		FROM device d JOIN process_device p ON p.device = d.id ORDER BY p.process' t.db)" \
		'NVIDIA A100-SXM4-40GB|108|1410000|1555200000000|2048|32
Some GPU|5|4|3|1536|16'
}

@test "Nsight Systems SQLite: fewer columns, rows without times, graphs as a whole, damage, other databases" {
	sql "CREATE TABLE StringIds (id INTEGER, value TEXT); INSERT INTO StringIds VALUES (1, 'k');
		CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
			correlationId INTEGER, shortName INTEGER, gridX INTEGER);
		CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER);
		CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER);
		CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT);
		INSERT INTO TARGET_INFO_GPU VALUES (0, 'Tesla K40c');
		INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (1), (2);
		INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (70, 80, 1 << 56, 5);
		INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 160, 0, 7, 5, 1, 3), (0, 0, 0, 7, 6, 1, 3),
			(200, 190, 0, 7, 7, 1, 3), (300, NULL, 0, 7, 8, 1, 3), (-1, 9223372036854775807, 0, 7, 9, 1, 3)" few.sqlite
	keep few "$kerncast" import few.sqlite -o few.db
	equal "$(<few.status)" 0
	equal "$(kernels few.db | tail -n 1)" '100|60|30|7|3,0,0|0,0,0|0|0|0|k'
	equal "$(sql 'SELECT sm_count FROM device' few.db)" 15
	contains "$(<few.err)" "few.sqlite:3: left out: "
	contains "$(<few.err)" "few.sqlite:4: left out: "
	contains "$(<few.err)" "few.sqlite:5: left out: row of CUPTI_ACTIVITY_KIND_KERNEL: duration_ns is 9223372036854775807, not"
	contains "$(<few.err)" "2 graph launches were recorded without their kernels"
	contains "$(tail -n 1 few.out)" "3 malformed lines"

	gzip -k few.sqlite
	fails "gunzip" few.sqlite.gz
	sql "CREATE TABLE StringIds (id INTEGER, value TEXT)" no_cuda
	fails "nsys profile --trace=cuda" no_cuda
	sql "CREATE TABLE t (x)" other
	fails "not an export of Nsight Systems" other
	fails "a database of kerncast" few.db
	sql "$nsys_tables $nsys_rows" whole
	head -c 20000 whole >half
	fails "half: cannot be read further" half
}

@test "Nsight Systems SQLite: a view, a virtual table or a computed column in place of a table ends no import late" {
	local endless="WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)" table
	for table in CUPTI_ACTIVITY_KIND_KERNEL StringIds CUPTI_ACTIVITY_KIND_RUNTIME TARGET_INFO_GPU; do
		rm -f endless
		sql "$nsys_tables $nsys_rows ALTER TABLE $table RENAME TO t;
			CREATE VIEW $table AS $endless SELECT t.* FROM t, c WHERE c.n < 0" endless
		fails "its $table is not a table of stored rows" endless
	done
	sql "$nsys_tables $nsys_rows DROP TABLE StringIds; CREATE VIRTUAL TABLE StringIds USING fts5(id, value)" virtual
	fails "its StringIds is not a table of stored rows" virtual
	sql "$nsys_tables $nsys_rows DROP TABLE StringIds; CREATE TABLE StringIds(id INTEGER,
		value AS (hex(zeroblob(id * 400000000))))" computed
	fails "its StringIds is not a table of stored rows" computed
}

# --- what is no trace

@test "an empty file, a directory, a pipe, another kind of file: each says what to do" {
	: >empty
	fails "the file is empty" empty
	: | gzip >empty.gz
	fails "the file is empty" empty.gz
	mkdir folder
	fails "this is a directory; name the files in it" folder
	mkfifo pipe
	fails "save its contents to one" pipe
	fails "nsys export --type sqlite" "$kerncast"
	printf 'one line\nanother, "quoted" line\n' >text
	fails "no row names the columns" text
	printf 'kind,start_ns,name\nkernel,1,k\n' >half.csv
	fails "must name kind, start_ns, duration_ns and name" half.csv
	fails "No such file" absent
}

# --- recorded ones

raw_manifest_is_kept() { # FOLDER
	local data=$1 file kernels memcpy memset note
	while IFS=, read -r file kernels memcpy memset note; do
		rm -f t.db
		"$kerncast" import "$data/raw/$file" -o t.db
		equal "$(sql "SELECT (SELECT count(*) FROM launch) || ',' || (SELECT count(*) FROM transfer WHERE kind <> 'memset')
			|| ',' || (SELECT count(*) FROM transfer WHERE kind = 'memset')" t.db)" "$kernels,$memcpy,$memset" "$file"
		equal "$(report '$.ledger.adds_up' t.db)" 1
		if [[ $note == *" traces in one file"* ]]; then
			equal "$(sql 'SELECT count(*) FROM process' t.db)" "${note%% *}" "$file"
		fi
	done < <(tail -n +2 "$data/raw/MANIFEST.csv" | tr -d '\r')
}

@test "rows of every reduced raw recording are those of its manifest" {
	raw_manifest_is_kept "$reduced"
}

@test "rows of every full raw recording are those of its manifest" {
	full_data
	raw_manifest_is_kept "$data"
}

profile_and_csv_agree() { # FOLDER KERNELS
	local data=$1
	"$kerncast" import "$data/raw/kineto_resnet50_autograd_nw0.json.gz" -o json.db
	"$kerncast" import "$data/traces/pytorch/kineto_resnet50_autograd_nw0.csv.gz" -o csv.db
	kernels json.db | sort >json
	kernels csv.db | sort >csv
	equal "$(grep -c . json)" "$2"
	cmp json csv
	transfers json.db | sort >json
	transfers csv.db | sort >csv
	cmp json csv
}

@test "a reduced PyTorch profile and the CSV made from it give the same rows" {
	profile_and_csv_agree "$reduced" 2017
}

@test "a full PyTorch profile and the CSV made from it give the same rows" {
	full_data
	profile_and_csv_agree "$data" 9329
}

nvprof_and_csv_agree() { # FOLDER
	local data=$1
	"$kerncast" import "$data/raw/nvprof_k40_matmul.csv" -o raw.db
	"$kerncast" import "$data/traces/solo_bsp/Tesla-K40.csv.gz" -o csv.db
	kernels raw.db | sort >raw
	kernels csv.db | sort >csv
	equal "$(comm -12 raw csv | grep -c .)" 32
}

@test "raw nvprof traces and the reduced CSV made from them give the same kernels" {
	nvprof_and_csv_agree "$reduced"
}

@test "raw nvprof traces and the full CSV made from them give the same kernels" {
	full_data
	nvprof_and_csv_agree "$data"
}
