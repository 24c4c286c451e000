# kerncast import: which operator launched a kernel, by the time span in which its launch call lies, and what the report
# makes of the operator's inputs. The traces are made here; operations are counted by hand.
load ../common

# A call of an operator; a kernel launched at CALL, which is also its correlation id and its start less 1,000.
cat_functions='
import json, sys

events = []
def op(thread, start, end, name, dims, types=None, values=None, strides=None, **more):
	args = {"Input Dims": dims}
	args |= {"Input type": types} if types else {}
	args |= {"Concrete Inputs": values} if values else {}
	args |= {"Input Strides": strides} if strides else {}
	events.append({"ph": "X", "cat": "cpu_op", "name": name, "pid": 100, "tid": thread, "ts": start, "dur": end - start, "args": args} | more)
def kernel(thread, call, name, us, **args):
	events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 1000 + call, "dur": us,
		"args": {"device": 0, "stream": 7, "correlation": call, "grid": [64, 1, 1], "block": [128, 1, 1]} | args})
	events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100, "tid": thread, "ts": call, "dur": 2,
		"args": {"correlation": call}})
def write():
	json.dump({"deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-40GB", "computeMajor": 8, "computeMinor": 0, "numSms": 108}],
		"traceEvents": events}, sys.stdout)
'

make_trace() { # PYTHON: into trace.json, and from there into t.db
	rm -f t.db*
	python3 -c "$cat_functions$1
write()" >trace.json
	keep import "$kerncast" import trace.json -o t.db
	equal "$(<import.status)" 0 "status ($(<import.err))"
}

# Of each kernel by its call: operator, operations, and among how many launches they are divided.
linked() {
	sql "SELECT group_concat(x, ', ') FROM (SELECT l.correlation || ' ' || substr(o.name, 7) || ' ' || coalesce(CAST(o.flop AS INTEGER), '-')
		|| coalesce('/' || b.parts, '') AS x FROM launched_by b JOIN launch l ON l.process = b.id >> 40 AND l.sequence = b.id & ((1 << 40) - 1)
		JOIN operator o ON o.process = l.process AND o.local = b.operator ORDER BY l.correlation)" t.db
}

work() { # KERNEL KEY: of the report
	"$kerncast" report --json t.db >report.json
	sqlite3 :memory: "SELECT json_extract(value, '\$.work.$2') FROM json_each(json_extract(CAST(readfile('report.json') AS TEXT), '\$.kernels'))
		WHERE json_extract(value, '\$.name') = '$1'"
}

half='["c10::Half"] * 3'

@test "the innermost operator on the thread of the call, between its start and its end, launched the kernel" {
	make_trace '
op(1, 0, 100, "aten::linear", [[128, 256], [64, 256], [64]])
op(1, 10, 90, "aten::addmm", [[64], [128, 256], [256, 64], [], []])
op(1, 20, 60, "aten::mm", [[2, 3], [3, 5]])
op(1, 110, 120, "aten::bmm", [[4, 2, 3], [4, 3, 5]])
op(1, 120, 130, "aten::mm", [[2, 3], [3, 7]])
op(2, 0, 200, "aten::mm", [[1, 1], [1, 1]])
kernel(1, 5, "ampere_sgemm_before", 1)
kernel(1, 30, "ampere_sgemm_inner", 1)
kernel(1, 70, "ampere_sgemm_outer", 1)
kernel(1, 90, "ampere_sgemm_after", 1)
kernel(1, 120, "ampere_sgemm_next", 1)
kernel(2, 121, "ampere_sgemm_of_another_thread", 1)
kernel(3, 122, "ampere_sgemm_of_no_operator", 1)'
	equal "$(linked)" "30 mm 60/1, 70 addmm 4194304/1, 120 mm 84/1, 121 mm 2/1"
}

@test "operations are those of the only kernel of the operator's class, and else nobody's" {
	make_trace '
op(1, 10, 20, "aten::mm", [[128, 256], [256, 64]])
kernel(1, 11, "ampere_sgemm_128x64_tn", 1)
kernel(1, 12, "void splitKreduce_kernel<32, 16, int, float>(int)", 1)
kernel(1, 13, "void at::native::elementwise_kernel<128, 4>(int)", 1)
op(1, 30, 40, "aten::bmm", [[4, 2, 3], [4, 3, 5]])
kernel(1, 31, "ampere_sgemm_32x32_nn", 1)
kernel(1, 32, "ampere_sgemm_32x32_nn", 1)
op(1, 50, 60, "aten::mm", [[2, 3], [3, 5]])
kernel(1, 51, "void dot_kernel<float>(int)", 1)
kernel(1, 52, "void reduce_1Block_kernel<float>(int)", 1)
op(1, 70, 80, "aten::mm", [[2, 3], [4, 5]])
kernel(1, 71, "ampere_sgemm_32x32_nn", 1)
op(1, 90, 99, "aten::convolution", [[2, 3, 8, 10], [4, 3, 3, 3], [], [], [], [], []],
	values=["", "", "", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"])
kernel(1, 91, "void cudnn::ops::nchwToNhwcKernel<__half>(int)", 1)
kernel(1, 92, "ampere_sgemm_32x32_nn", 1)'
	equal "$(linked)" "11 mm 4194304/1, 12 mm 4194304, 31 bmm 240, 32 bmm 240, 71 mm -, 91 convolution 34560, 92 convolution 34560/1"
}

@test "of a convolution's gradients each kernel that is called after one has made that" {
	make_trace '
values = ["", "", "", "", "[2, 2]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1", "[True, True, False]"]
dims = [[2, 4, 3, 4], [2, 3, 8, 10], [4, 3, 3, 3], [], [], [], [], [], [], [], []]
op(1, 10, 20, "aten::convolution_backward", dims, values=values)
kernel(1, 11, "sm80_xmma_dgrad_implicit_gemm_f16", 1)
kernel(1, 12, "sm80_xmma_wgrad_implicit_gemm_f16", 1)
op(1, 30, 40, "aten::convolution_backward", dims, values=values)
kernel(1, 31, "cudnn_one", 1)
kernel(1, 32, "cudnn_other", 1)
op(1, 50, 60, "aten::convolution_backward", dims, values=values[:10] + ["[False, True, False]"])
kernel(1, 51, "cudnn_one", 1)
op(1, 70, 80, "aten::convolution_backward", dims)
kernel(1, 71, "cudnn_one", 1)
op(1, 90, 99, "aten::convolution_backward", dims, values=values)
kernel(1, 91, "cudnn_one", 1)'
	# 12 places of the output, filters of 108 numbers, 2 images: 5,184 for each gradient
	equal "$(linked)" "11 convolution_backward 10368/2, 12 convolution_backward 10368/2, 31 convolution_backward 10368, 32 convolution_backward 10368, 51 convolution_backward 5184/1, 71 convolution_backward -, 91 convolution_backward 10368"
}

@test "the report says FLOP/s, bytes/s and how near the limit, and from what that is known" {
	# 128 x 256 x 64: 4,194,304 operations in 10 us; of 311.9 TFLOP/s they take 13.4 ns. Bytes: 2 * (64 + 32,768 + 16,384 + 8,192).
	make_trace "
op(1, 10, 20, 'aten::addmm', [[64], [128, 256], [256, 64], [], []], $half + ['Scalar', 'Scalar'], ['', '', '', '1', '1'],
	[[1], [256, 1], [64, 1], [], []])
kernel(1, 11, 'ampere_fp16_s16816gemm_fp16', 10)
op(1, 30, 40, 'aten::mm', [[128, 256], [256, 64]], ['float'] * 2)
kernel(1, 31, 'ampere_sgemm_128x64_nn', 20)
op(1, 50, 60, 'aten::_scaled_dot_product_flash_attention', [[2, 3, 5, 8], [2, 3, 7, 8], [2, 3, 7, 4], [], []], $half + ['Scalar'] * 2,
	['', '', '', '0.', 'True'])
kernel(1, 51, 'void flash_fwd_kernel<__half>(int)', 1)
op(1, 70, 80, 'aten::mm', [[128, 256], [256, 64]], ['c10::Half'] * 2)
kernel(1, 71, 'some_hgemm', 1)
kernel(1, 85, 'void unknown<float>(int)', 8)"
	equal "$(work ampere_fp16_s16816gemm_fp16 flops_per_s)" 419430400000
	equal "$(work ampere_fp16_s16816gemm_fp16 bytes_per_s)" 11481600000
	within "$(work ampere_fp16_s16816gemm_fp16 of_limit)" 0.1344 0.1346
	equal "$(work ampere_fp16_s16816gemm_fp16 limit) $(work ampere_fp16_s16816gemm_fp16 from)" "tensor cores operator"
	equal "$(work ampere_sgemm_128x64_nn flops_per_s) $(work ampere_sgemm_128x64_nn bytes_per_s)" "209715200000 "
	within "$(work ampere_sgemm_128x64_nn of_limit)" 1.075 1.077 "of 19.5 TFLOP/s"
	equal "$(work ampere_sgemm_128x64_nn limit)" "FP32 units"
	equal "$(work 'void flash_fwd_kernel<__half>(int)' flops_per_s)|$(work 'void flash_fwd_kernel<__half>(int)' of_limit)" "5040000000|" "half of the scores are masked"
	equal "$(work some_hgemm flops_per_s)|$(work some_hgemm of_limit)|$(work some_hgemm limit)" "4194304000000||" "units that the name does not tell"
	equal "$(work 'void unknown<float>(int)' known)" ""
	equal "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('report.json') AS TEXT), '$.work_known')")" 80.0 "32 of 40 us"
	"$root/scripts/check-schemas" report.json
	"$kerncast" report t.db >report.txt
	contains "$(<report.txt)" "the work of 80.0 % of the kernels' time is known, from the operators that launched them"
	"$kerncast" report --csv t.db >kernel.csv
	equal "$(grep -c ',operator,,0' kernel.csv)" 4
	"$root/cuda_tests/e2e/outputs_agree.py" report.json report.txt kernel.csv
}

class_times() { # [OPTION...]: class, its time in us and launches; then the class of each kernel
	"$kerncast" report --json "$@" t.db >report.json
	sqlite3 -separator ' ' :memory: "SELECT group_concat(x, ', ') FROM (SELECT json_extract(value, '\$.name') || ' ' ||
		CAST(json_extract(value, '\$.time_ns') / 1000 AS INTEGER) || '/' || json_extract(value, '\$.launches') AS x
		FROM json_each(json_extract(CAST(readfile('report.json') AS TEXT), '\$.classes')));
		SELECT group_concat(x, ', ') FROM (SELECT json_extract(value, '\$.name') || ' ' || json_extract(value, '\$.class') AS x
		FROM json_each(json_extract(CAST(readfile('report.json') AS TEXT), '\$.kernels')) ORDER BY 1)"
}

@test "a product that a convolution launched is of its class; elsewhere, the kernel's name tells it" {
	make_trace '
for convolution in "aten::_convolution", "aten::convolution_backward", "aten::cudnn_convolution_backward":
	op(1, 10, 20, convolution, [])
	kernel(1, 11, "sgemm_of_both", 10)
	kernel(1, 12, "void at::native::add_kernel<float>(int)", 1)
	events[-5]["args"] = {}
	for event in events[-5:]:
		event["ts"] += 50 * len(events)
		if "correlation" in event["args"]:
			event["args"]["correlation"] += 50 * len(events)
op(1, 10, 20, "aten::mm", [[2, 3], [3, 5]])
kernel(1, 11, "sgemm_of_both", 12)
kernel(1, 12, "sgemm_of_products", 3)
kernel(1, 30, "sgemm_of_nobody", 4)'
	equal "$(class_times)" $'convolution 30/3, matrix product 19/3, elementwise 3/3\nsgemm_of_both convolution, sgemm_of_nobody matrix product, sgemm_of_products matrix product, void at::native::add_kernel<float>(int) elementwise'
	equal "$(class_times --min 12us)" $'matrix product 12/1\nsgemm_of_both matrix product'
	# A damaged database, whose sums have a launch more than its rows.
	sql "DELETE FROM launch_row WHERE id = (SELECT max(b.id) FROM launched_by b JOIN operator o ON o.local = b.operator
		WHERE o.name GLOB '*convolution*')" t.db
	equal "$(class_times | head -n 1)" "matrix product 29/4, convolution 20/2, elementwise 3/3"
	"$kerncast" report --json t.db >report.json
	"$root/scripts/check-schemas" report.json
}

@test "traces of an older profiler, and merged ones, in any order of events" {
	make_trace '
args = {"Input dims": [[2, 3], [3, 5]], "Input type": []}
events.append({"args": args, "cat": "Operator", "dur": 10, "tid": "t", "ts": 10, "pid": "p", "name": "aten::mm", "ph": "X"})
kernel("t", 15, "ampere_sgemm", 1)
events[1]["cat"], events[2]["cat"], events[2]["pid"] = "Kernel", "Runtime", "p"
events.reverse()'
	equal "$(linked)" "15 mm 60/1"
	# Correlation ids begin anew in each rank.
	make_trace '
for rank in "0", "1":
	op(1, 10, 20, "aten::mm", [[2, 3], [3, 5 + int(rank)]], pid="[TP0" + rank + "] 100")
	kernel(1, 15, "ampere_sgemm", 1)
	events[-2]["pid"], events[-1]["pid"] = "[TP0" + rank + "] 0", "[TP0" + rank + "] 100"'
	equal "$(linked)" "15 mm 60/1, 15 mm 72/1"
}

@test "what makes no sense tells nothing, and all kernels are imported" {
	make_trace '
op(1, 10, 20, "aten::mm", [[2, -3], [-3, 5]])
op(1, 30, 40, "aten::mm", [[[2, 3]], [3, 5]])
op(1, 50, 60, "aten::mm", [[2, 9**30], [9**30, 5]])
op(1, 70, 80, "aten::mm", "[[2, 3], [3, 5]]")
op(1, 90, 80, "aten::mm", [[2, 3], [3, 5]])
op(1, 9**20, 9**20 + 10, "aten::mm", [[2, 3], [3, 5]])
op(1, 110, 120, "aten::mm", [[2, 3], [3, 5]], ts="x")
op(1, 130, 140, "aten::mm", {"a": {"b": [[2, 3]]}})
op(None, 150, 160, "aten::mm", [[2, 3], [3, 5]])
op(1, 170, 180, "x" * 100000, [[2, 3], [3, 5]])
op(1, 190, 200, "aten::mm", [[2, 3], [3, 5]] + [[1]] * 1000, ["t" * 100] * 1000, ["v" * 1000] * 1000)
for call in range(15, 200, 20):
	kernel(1, call, "ampere_sgemm", 1)'
	equal "$(sql 'SELECT count(*) FROM launch' t.db)" 10
	equal "$(linked)" "15 mm -, 35 mm -, 55 mm -, 75 mm -, 135 mm -, 195 mm 60/1"
}

@test "ten thousand operators in each other, and spans that cross" {
	make_trace '
for depth in range(10000):
	op(1, depth, 30000 - depth, "aten::mm", [[2, 3], [3, 1 + depth]])
kernel(1, 100, "ampere_sgemm", 1)
kernel(1, 15000, "ampere_sgemm", 1)
kernel(1, 29990, "ampere_sgemm", 1)
op(2, 10, 50, "aten::mm", [[2, 3], [3, 5]])
op(2, 30, 90, "aten::mm", [[2, 3], [3, 7]])
kernel(2, 40, "ampere_sgemm", 1)
kernel(2, 60, "ampere_sgemm", 1)'
	# Of more than 4,096 it is not known which is the innermost.
	equal "$(linked)" "40 mm 84, 60 mm 84, 100 mm 1212/1, 29990 mm 120/1"
}

@test "of more different operators than are kept, further ones have launched nothing" {
	make_trace '
for i in range(262144):
	op(1, 10 * i, 10 * i + 9, "aten::mm", [[1, 1], [1, 1 + i]])
kernel(1, 5, "sgemm", 1)
op(2, 10, 90, "aten::mm", [[1, 1], [1, 1]])
op(2, 20, 80, "aten::mm", [[9, 9], [9, 9]])
kernel(2, 30, "sgemm", 1)
kernel(2, 85, "sgemm", 1)
kernel(1, 2621435, "sgemm", 1)'
	equal "$(linked)" "5 mm 2/1, 2621435 mm 524288/1"
}

@test "the same file again, merged and forgotten: launches keep their operators" {
	make_trace '
op(1, 10, 20, "aten::mm", [[2, 3], [3, 5]])
kernel(1, 15, "ampere_sgemm", 1)'
	"$kerncast" import trace.json -o t.db >again
	contains "$(<again)" "already in the database"
	"$kerncast" merge t.db -o all.db >/dev/null
	mv all.db t.db
	equal "$(linked)" "15 mm 60/1"
	equal "$(work ampere_sgemm flops_per_s)" 60000000
}

flops_agree() { # TRACE LEAST: of an import into t.db, as Python counts; of so many kernels at least
	rm -f t.db*
	"$kerncast" import "$1" -o t.db >/dev/null
	"$root/cuda_tests/e2e/operator_flops.py" check "$1" t.db >flops || { cat flops; return 1; }
	within "$(sed -n 's/.*, \([0-9]*\) of them known, 0 wrong/\1/p' flops)" "$2" 999999 "kernels"
}

@test "operations are those that Python counts, of operators by chance" {
	for seed in 1 2 3; do
		"$root/cuda_tests/e2e/operator_flops.py" make "$seed" >chance.json
		flops_agree chance.json 350
		# Each has as many kernels as it has products, and the kernels share them.
		equal "$(sql "SELECT count(*) FROM launched_by b JOIN operator o ON o.local = b.operator WHERE (o.flop IS NULL) != (b.parts IS NULL)" t.db)" 0
		equal "$(sql "SELECT group_concat(DISTINCT o.name) FROM launched_by b JOIN operator o ON o.local = b.operator WHERE b.parts = 2" t.db)" aten::convolution_backward
	done
	"$root/cuda_tests/e2e/operator_flops.py" make 4 >chance.json
	sed -i 's/"Input Dims": \[\[\([0-9]*\), /"Input Dims": [[1\1, /g' chance.json
	"$kerncast" import chance.json -o wrong.db >/dev/null
	"$root/cuda_tests/e2e/operator_flops.py" make 4 >chance.json
	! "$root/cuda_tests/e2e/operator_flops.py" check chance.json wrong.db >flops # a difference would be seen
}

@test "operations are those that Python counts, of a published profile" {
	full_data
	flops_agree "$data/raw/kineto_resnet50_autograd_nw0.json.gz" 18 # its convolutions have no strides recorded
}
