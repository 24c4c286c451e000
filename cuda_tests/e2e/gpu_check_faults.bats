# Each question of scripts/gpu-check can be answered otherwise than expected: with a fault of the stand-ins, or in a
# program, that is planted here. Times are compared with those without the fault, as a busy machine adds its own.
# Runs in real time.
load common
load gpu_check

setup() { # it makes its own environment
	cd "$BATS_TEST_TMPDIR" || return 1
}

ask() { # QUESTION,... [VARIABLE=VALUE...]
	local questions=$1 files=$build/gpu python=()
	shift
	[[ ! -e files ]] || files=$PWD/files
	[[ ! -e python ]] || python=(--python "$PWD/python")
	mkdir -p build && ln -sfn "$files" build/gpu
	keep check env "$@" timeout 100 "$root/scripts/gpu-check" --simulated --quick --limit 90 --build build --output out \
		"${python[@]}" --questions "$questions"
	cat check.out check.err
	grep '^| [A-Za-z0-9-]* | .* | .*as expected | ' out/summary.md || true
}

expected() { # QUESTION...
	local name
	for name; do
		equal "$(column "$name" 5)" "as expected" "$name ($(column "$name" 4))"
	done
}

unexpected() { # QUESTION [WHAT IS SAID]
	equal "$(column "$1" 5)" "NOT as expected" "$1"
	contains "$(column "$1" 4)" "${2-}"
}

number() { # QUESTION PATTERN: the number that the pattern's group finds first in the answer
	[[ $(column "$1" 4) =~ $2 ]] && echo "${BASH_REMATCH[1]}"
}

@test "facts: correlation ids, places of records, handles, capture, dependent launches" {
	ask F0,F1 SIMCUDA_CUPTI_IDS=runtime
	unexpected F0 "runtime launch: runtime"
	unexpected F1 "runtime launch: not the driver"
	ask F2 SIMCUDA_CUPTI_PLACE=end
	unexpected F2 "when the kernel has ended"
	ask F2-buffer SIMCUDA_FAULT=cupti-null-buffer
	unexpected F2-buffer "0 of 200 records"
	ask F3-function,F3-kernel SIMCUDA_FAULT=loose-handles
	unexpected F3-function "CUDA_SUCCESS: a wrong value"
	unexpected F3-kernel "CUDA_SUCCESS: a wrong value"
	ask F3-static SIMCUDA_LOADS=private
	unexpected F3-static "the code of 0 read"
	ask F4 SIMCUDA_FAULT=cupti-unsafe-flush
	unexpected F4 CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
	ask F6 SIMCUDA_DEVICE=H200
	expected F6
	ask F6 SIMCUDA_DEVICE=H200 SIMCUDA_FAULT=serial-dependents
	unexpected F6 "0 pairs of 40 kernels"
}

@test "idle: what CUPTI costs in the state that kerncast rests in, and in those after it" {
	local costs=idle-rest,idle-off,idle-finalized name
	ask $costs SIMCUDA_FAULT=cupti-cost=20000
	for name in ${costs//,/ }; do
		within "$(number "$name" 'attached late: \+([0-9]+) ns in the call')" 19000 100000 "$name"
	done
	unexpected idle-rest
	unexpected idle-off
	unexpected idle-finalized
	ask $costs
	for name in ${costs//,/ }; do
		within "$(number "$name" 'attached late: ([-+][0-9]+) ns in the call')" -10000 10000 "$name, without the fault"
	done
}

@test "idle: records, graphs after cuptiFinalize, ids that repeat, records of the hardware" {
	ask idle-again,records SIMCUDA_FAULT=cupti-drop=100
	unexpected idle-again "attached late: not all right"
	unexpected records "not all right"
	ask graph-after-finalize SIMCUDA_FAULT=cupti-finalize-graphs
	unexpected graph-after-finalize "instantiated while it was attached: cuStreamSynchronize: CUDA_ERROR_LAUNCH_FAILED"
	ask stuck-callbacks,stuck-kinds
	unexpected stuck-callbacks "of 4"
	expected stuck-kinds
	ask stuck-callbacks,stuck-kinds SIMCUDA_CUPTI_IDS=driver
	expected stuck-callbacks stuck-kinds
	ask stuck-kinds SIMCUDA_FAULT=cupti-stuck-kinds
	unexpected stuck-kinds "of 4"
	with_program simcuda/libcupti.so.13 <<<""
	echo 'int cuptiActivityEnableHWTrace(unsigned char on) { return on ? 0 : 1; }' |
		gcc -shared -fPIC -x c - -x none -o files/simcuda/libcupti.so.13 -Wl,--no-as-needed "$simcuda/libcupti.so.13" \
			-Wl,-rpath,"$simcuda" -Wl,--disable-new-dtags
	ask hw-trace
	expected hw-trace
	contains "$(column hw-trace 4)" "all records right"
	ask hw-trace SIMCUDA_FAULT=cupti-drop=100
	unexpected hw-trace "not all records right"
}

@test "large graphs: what kerncast adds to a launch when nothing is measured" {
	with_program facts <<-'END'
		[[ -z $under ]] || export SIMCUDA_FAULT=slow-launch=1000
		exec "$real" "$@"
	END
	ask F5-2000,F5-10000
	unexpected F5-2000
	unexpected F5-10000
	within "$(number F5-2000 'launch \+([0-9]+) ')" 1900 20000 "µs, 2,000 nodes of 1 µs"
	within "$(number F5-10000 'launch \+([0-9]+) ')" 9500 100000 "µs, 10,000 nodes of 1 µs"
}

@test "what others met: device buffers that run out, wrong ids, a reset, slower kernels, decoding" {
	ask clock,device-buffers,windows,reset,durations,decode
	expected device-buffers windows reset durations
	ask device-buffers SIMCUDA_FAULT=cupti-device-buffers=1000
	unexpected device-buffers "192000 no times"
	ask windows SIMCUDA_FAULT=cupti-graph-ids
	unexpected windows "launch" # not measured, or a record without one
	ask reset SIMCUDA_FAULT=cupti-drop=10
	unexpected reset "40 records and 0 launches dropped"
	ask durations SIMCUDA_FAULT=cupti-slow-kernels=200000
	unexpected durations
	within "$(number durations ' ([0-9]+)\.[0-9] µs measured')" 200 1000 "µs, measured"
	ask decode SIMCUDA_FAULT=cupti-cost=20000
	unexpected decode "measuring on: "
	within "$(number decode 'measuring on: ([0-9]+)')" 3 100 "times 3 ms, with 10 ms more"
}

@test "what others met: a clock that is slow to read" {
	gcc -shared -fPIC -x c - -o slow_clock.so <<-'END'
		#include <sys/syscall.h>
		#include <time.h>
		#include <unistd.h>
		int clock_gettime(clockid_t clock, struct timespec *t)
		{
			for (int i = 0; i < 20; i++)
				syscall(SYS_clock_gettime, clock, t);
			return 0;
		}
	END
	printf 'LD_PRELOAD=%q exec "$real" "$@"\n' "$PWD/slow_clock.so" | with_program facts
	ask clock
	unexpected clock
	within "$(number clock '([0-9]+) ns')" 1000 1000000 "ns"
}

@test "what others met: two processes on one GPU" {
	ask two-processes
	expected two-processes
	with_program facts <<-'END'
		[[ $under ]] || exec "$real" "$@"
		if ! mkdir "${0%/*}/busy" 2>/dev/null; then # another one is there
			echo '*  141000  0' >"${0%/*}/slow.costs"
			export SIMCUDA_COSTS=${0%/*}/slow.costs
			exec "$real" "$@"
		fi
		"$real" "$@"
		status=$?
		[[ $* != *events* ]] || sleep 1
		rmdir "${0%/*}/busy"
		exit $status
	END
	ask two-processes
	unexpected two-processes "µs by two"
}

@test "demo, calibration, doctor, first launches and ways to launch" { # as expected without: gpu_check.bats
	ask demo-matched SIMCUDA_FAULT=cupti-drop=3
	unexpected demo-matched "records and 0 launches dropped"
	ask calibration,doctor SIMCUDA_FAULT=cupti-busy
	unexpected calibration "nothing was measured"
	unexpected doctor "trial run"
	ask first-launches SIMCUDA_FAULT=cupti-slow-kernels=1000000
	unexpected first-launches "of 12: 0 within 2 x"
	with_program matrix/driver/resolved_driver_ex <<-'END'
		[[ -z $under ]] || export SIMCUDA_FAULT=cupti-drop=3
		exec "$real" "$@"
	END
	ask matrix-cases
	unexpected matrix-cases "1 of 5 are not: driver/resolved_driver_ex: "
}

@test "what a launch costs more, and what it costs while adaptive measuring rests" {
	with_program launch_path <<-'END'
		[[ -z $under ]] || export SIMCUDA_FAULT=slow-launch=5000
		exec "$real" "$@"
	END
	ask launch-1,launch-8
	unexpected launch-1
	unexpected launch-8
	within "$(number launch-1 '([0-9]+) ns')" 4500 30000 "ns more, one stream"
	within "$(number launch-8 '([0-9]+) ns')" 4500 30000 "ns more, eight streams"
	rm -r files
	ask pause SIMCUDA_FAULT=cupti-cost=5000
	unexpected pause
	within "$(number pause '\+([0-9]+) ns')" 4500 30000 "ns more while it rests"
}

@test "PyTorch and other frameworks: results, profiles, measurements that come late or not at all" {
	python_with_torch <<-'END'
		case $name in
		torch_profiled.py)
			"$demo" --rounds 5 >&2
			echo kernels $((KERNCAST_DISABLE == 1 ? 8 : ${#KERNCAST_MEASURE} > 0 ? 9 : 10))
			;;
		torch_profiled_late.py)
			"$demo" --rounds 5 >&2
			echo kernels $((${#LD_PRELOAD} > 0 ? 99 : 100))
			;;
		torch_ahead.py) (echo 100; sleep 0.5; echo 1000) | "$build/awkward/steered" ;;
		torch_loader.py | torch_compile.py | torch_small.py | torch_train.py) "$demo" --rounds 5 ;;
		esac
	END
	ask profiler-disabled,profiler-off,profiler-all,profiler-late,loader,compile,classes,frameworks-same \
		SIMCUDA_FAULT=cupti-drop=3
	unexpected profiler-disabled "printed 'kernels 8' under kerncast, 'kernels 10' alone"
	unexpected profiler-off "printed 'kernels 9' under kerncast"
	unexpected profiler-all "printed 'kernels 9' under kerncast"
	unexpected profiler-late "printed 'kernels 99' under kerncast, 'kernels 100' alone"
	unexpected loader "records and 0 launches dropped"
	unexpected compile "records and 0 launches dropped"
	unexpected classes "records and 0 launches dropped"
	unexpected frameworks-same "records and 0 launches dropped"
	ask ahead,lag # most kernels end with the program, the others half a second before it goes on
	unexpected ahead "% of "
	unexpected lag " ms at "
	within "$(number lag '([0-9]+)\.[0-9] ms')" 300 10000 "lag, ms"
}

@test "programs that break off: pairs that share SMs, results of the experiments" {
	with_program experiments/sharing-sim <<-'END'
		printf 'kernel,blocks_per_sm,threads,registers,shared_bytes,steps,alone_ns,work_per_ns,unit\n'
		printf 'copy,2,256,40,0,10,1500000,2.5,byte\nl2,2,256,40,0,20,1400000,5.5,byte\n\n'
		printf 'a,b,overlap_share,shared_sms_share,slowdown_in_overlap_a\ncopy,copy,0.99,1.0,2.125\n'
	END
	ask sharing-pairs
	unexpected sharing-pairs "1 of 4"
	with_program kerncast-lab <<-'END'
		echo '{"experiments": [{"name": "bsp", "claims": [], "checks": {"wrong": 2}, "complete": 1, "steps": 1}]}'
	END
	ask experiments-right
	unexpected experiments-right "2 wrong"
}

@test "intervals of repeated launches: 87 to 95 % of them hold" {
	with_check <<-'END'
		import sqlite3
		from gpu_check import accuracy
		class Section:
		    def table(self, *_, **__): return []
		    def row(self, *_): pass
		    def answer(self, question, part, text, expected): self.said = question, text, expected
		class Machine: databases = ["launches.db"]
		def coverage(inside, launches=1000):
		    file = sqlite3.connect("launches.db")
		    file.executescript("DROP TABLE IF EXISTS launch; CREATE TABLE launch(solo_ns, solo_low_ns, solo_high_ns, "
		                       "measured_start_ns, measured_end_ns, novelty, overlap)")
		    for i in range(launches):
		        file.execute("INSERT INTO launch VALUES(100, 90, 110, 0, ?, 'repeated', 'none')", [105 if i < inside else 111])
		    file.commit()
		    section = Section()
		    section.said = None
		    accuracy.coverage(Machine, section)
		    return section.said
		assert coverage(900) == ("intervals", "90.0 %", True), coverage(900)
		assert coverage(860) == ("intervals", "86.0 %", False)
		assert coverage(960) == ("intervals", "96.0 %", False)
		assert coverage(600, 700) is None  # too few
	END
}

@test "every question of the check is one that a test has answered otherwise" {
	# Of a training step only the judgement is tested, as it needs PyTorch and a GPU; of intervals here, above.
	{
		printf '%s\n' step step-adaptive step-profiler intervals
		grep -oE '^	+unexpected [A-Za-z0-9-]+' "$root/cuda_tests/e2e/gpu_check_faults.bats" | awk '{ print $2 }'
		grep 'NOT as expected' "$root/cuda_tests/e2e/gpu_check.bats" | grep -oE 'answer [A-Za-z0-9-]+\)' |
			sed 's/answer //; s/)//'
	} | LC_ALL=C sort -u >tested
	with_check <<<'from gpu_check.questions import CATALOGUE; print(*(row[0] for row in CATALOGUE), sep="\n")' |
		LC_ALL=C sort -u >asked
	diff tested asked
}

@test "graphs as one: half of their time is told, and records are made of their nodes" {
	ask graph-whole-cost,graph-whole-time SIMCUDA_FAULT=cupti-graph-short
	expected graph-whole-cost
	unexpected graph-whole-time "2000 nodes: 50"
	ask graph-whole-cost SIMCUDA_FAULT=cupti-graph-nodes
	unexpected graph-whole-cost
}
