# scripts/gpu-check, on the stand-in device: all of it, less of everything.
# Runs in real time.
load common
load gpu_check

setup() { # it makes its own environment
	cd "$BATS_TEST_TMPDIR" || return 1
}

check() { # FILES ARG...: with FILES in the place of build/gpu
	local files=$1
	shift
	mkdir -p build && ln -sfn "$files" build/gpu
	keep check timeout 320 "$root/scripts/gpu-check" --simulated --quick --build build --output out "$@"
}

runs() { # PID; a zombie that nobody has waited for yet does not
	local state
	state=$(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null)
	[[ -n $state && $state != Z ]] && echo yes || echo no
}

@test "gpu-check --simulated runs every step in its time, and says SIMULATED on every table" {
	local tables captions
	check "$build/gpu" --limit 300
	cat check.out check.err
	equal "$(<check.status)" 0 "exit status"
	for step in environment facts idle delivery graphs reported demo matrix cost first calibrate accuracy sharing \
		experiments; do
		equal "$(verdict $step)" passed "$step"
	done
	for question in F0 F1 F2 F2-buffer F3-function F3-kernel F3-static F4 idle-again graph-after-finalize \
		stuck-kinds records hw-trace device-buffers windows reset demo-matched first-launches calibration doctor matrix-cases \
		sharing-pairs experiments-right; do
		equal "$(answer $question)" "as expected" "$question ($(column $question 4))"
	done
	equal "$(answer F6)" "not asked" F6
	equal "$(answer step)" "not asked" step
	contains "$(head -n 1 out/summary.md)" SIMULATED
	contains "$(<out/summary.md)" "no contradiction"
	tables=$(grep -c '^|---' out/summary.md)
	captions=$(grep -c '^SIMULATED: a stand-in device' out/summary.md)
	within "$tables" 9 100 tables
	equal "$captions" "$((tables - 2))" "tables that say SIMULATED, beside steps and machine"
	equal "$(cd out && echo *)" "$(cd out && echo databases.tar* details.txt sharing_kernels.csv sharing_pairs.csv summary.md)" "files in the results folder"
}

@test "gpu-check --simulated runs in a sandbox without some system calls" {
	mkdir -p build && ln -sfn "$build/gpu" build/gpu
	keep check timeout 320 "$build/awkward/sandbox" poor "$root/scripts/gpu-check" --simulated --quick --build build \
		--output out --limit 300
	cat check.out check.err
	equal "$(<check.status)" 0 "exit status"
	equal "$(grep -c '^FAILED' check.out)" 0 "steps that failed"
	for question in F1 F4 windows reset demo-matched matrix-cases experiments-right; do
		equal "$(answer $question)" "as expected" "$question ($(column $question 4))"
	done
}

@test "gpu-check: a step that crashes and one that hangs do not stop the others" {
	with_program facts <<-'END'
		#!/bin/bash
		printf 'first fact\tholds\tseen\n'
		[[ $1 == addresses ]] || exit 1
		sleep 300 & # a child that would outlive it
		echo $! >"${BASH_SOURCE[0]%/*}/child"
		wait
	END
	printf '#!/bin/bash\nkill -SEGV $$\n' | with_program demo-shared
	check "$PWD/files" --limit 30 --steps environment,demo,facts,accuracy
	cat check.out check.err
	equal "$(<check.status)" 1 "exit status"
	equal "$(verdict demo)" FAILED demo
	equal "$(verdict facts)" FAILED facts
	equal "$(verdict accuracy)" passed accuracy
	contains "$(<out/summary.md)" "died by signal 11"
	contains "$(<out/summary.md)" "ran into its limit"
	contains "$(<out/summary.md)" "first fact"
	[[ $(runs "$(<files/child)") == no ]] || { echo "what it started is still there"; return 1; }
}

@test "gpu-check: stopped early, it says what it has, and that it has not finished" {
	printf '#!/bin/bash\ntouch %q; sleep 300 & wait\n' "$PWD/begun" | with_program facts
	mkdir -p build && ln -sfn "$PWD/files" build/gpu
	"$root/scripts/gpu-check" --simulated --quick --build build --output out --limit 300 --steps environment,facts \
		>check.out 2>check.err &
	for _ in {1..600}; do
		[[ ! -e begun ]] || break
		sleep 0.1
	done
	kill -TERM $!
	status=0
	wait $! || status=$?
	cat check.out check.err
	equal "$status" 1 "exit status"
	equal "$(verdict environment)" passed environment
	contains "$(<out/summary.md)" "UNFINISHED, so far: passed"
	contains "$(<check.out)" "UNFINISHED, so far: passed"
}

@test "gpu-check: without its files it names the cure, and writes nothing" {
	mkdir -p empty
	check "$PWD/empty"
	equal "$(<check.status)" 2 "exit status"
	contains "$(<check.err)" "make gpu-check-files"
	[[ ! -e out ]]
}

@test "gpu-check: without a GPU it says so at once, and asks nothing else" {
	printf '#!/bin/bash\nexit 1\n' | with_program gpu-probe
	printf '#!/bin/bash\ntouch %q\n' "$PWD/called" >python
	chmod +x python
	mkdir -p build && ln -sfn "$PWD/files" build/gpu
	keep check "$root/scripts/gpu-check" --build build --output out --python "$PWD/python"
	cat check.out check.err
	equal "$(<check.status)" 1 "exit status"
	contains "$(<check.out)" "no GPU here"
	equal "$(answer F1)" "not asked" F1
	equal "$(answer step)" "not asked" "the training step"
	[[ ! -e called ]] || { echo "python was called"; return 1; }
}

@test "gpu-check: parts that contradict each other fail the check" {
	with_program facts <<-'END'
		#!/bin/bash
		case $* in
		*"--buffer 1048576"*) delivered=0 ;;
		*) delivered=20 ;;
		esac
		printf 'while_running\tvalue\t%d\nlongest_flush_ms\tvalue\t1\n' $delivered
	END
	check "$PWD/files" --limit 30 --steps delivery
	cat check.out check.err
	equal "$(<check.status)" 1 "exit status"
	equal "$(verdict delivery)" passed delivery
	equal "$(answer F2)" "NOT as expected" F2
	contains "$(<check.out)" "CONTRADICTION: a record takes its place"
	contains "$(<out/summary.md)" "FAILED. Answers: 1 as expected, 1 NOT as expected, 0 not asked; 1 contradiction"
}

@test "gpu-check: what becomes of PyTorch is an answer each" {
	python_with_torch <<-'END'
		case $name in
		torch_profiled.py)
			"$demo" --rounds 5 >&2
			[[ ${KERNCAST_MEASURE-} == off ]] && echo kernels 9 || echo kernels 10
			;;
		torch_loader.py) "$demo" --rounds 5 ;;
		torch_ahead.py) "$demo" --rounds 100 >/dev/null && echo launched 800 kernels ;;
		torch_small.py)
			echo "PyTorch sees no GPU"
			exit 77
			;;
		torch_compile.py) kill -SEGV $$ ;;
		esac
	END
	check "$build/gpu" --limit 60 --steps pytorch --python "$PWD/python"
	cat check.out check.err
	equal "$(<check.status)" 1 "exit status"
	equal "$(verdict pytorch)" FAILED pytorch
	for question in profiler-disabled profiler-all loader; do
		equal "$(answer $question)" "as expected" "$question ($(column $question 4))"
	done
	equal "$(answer profiler-off)" "NOT as expected" profiler-off
	contains "$(grep '^| profiler-off |' out/summary.md)" "printed 'kernels 9' under kerncast, 'kernels 10' alone"
	contains "$(grep '^| ahead |' out/summary.md)" "% of "
	contains "$(grep '^| classes |' out/summary.md)" "PyTorch sees no GPU | not asked"
	contains "$(grep '^| compile |' out/summary.md)" "died by signal 11: it said nothing | not asked"
}

@test "gpu-check: of kernels that share SMs it keeps what was measured before the program died" {
	with_program experiments/sharing-sim <<-'END'
		#!/bin/bash
		printf 'kernel,blocks_per_sm,threads,registers,shared_bytes,steps,alone_ns,work_per_ns,unit\n'
		printf 'copy,2,256,40,0,10,1500000,2.5,byte\nl2,2,256,40,0,20,1400000,5.5,byte\n\n'
		printf 'a,b,overlap_share,shared_sms_share,slowdown_in_overlap_a\ncopy,copy,0.99,1.0,2.125\ncopy,l2,0.5,0.'
		kill -SEGV $$
	END
	check "$PWD/files" --limit 30 --steps sharing
	cat check.out check.err
	equal "$(<check.status)" 1 "exit status"
	equal "$(verdict sharing)" FAILED sharing
	contains "$(<out/summary.md)" "died by signal 11"
	contains "$(<out/summary.md)" "1 of 4 pairs"
	contains "$(<out/summary.md)" "| copy | 2.12 | - |"
	contains "$(<out/summary.md)" "| l2 | - | - |"
	equal "$(wc -l <out/sharing_kernels.csv)|$(wc -l <out/sharing_pairs.csv)" "3|3" "lines"
}

@test "gpu-check: frameworks are imported in the background, and not left behind" {
	echo 'echo Some GPU' | { echo '#!/bin/bash'; cat; } | with_program gpu-probe
	cat >python <<-'END'
		#!/bin/bash
		[[ $2 == "import "* && $2 != *";"* ]] || exec python3 "$@"
		echo "$$ $2" >>"${BASH_SOURCE[0]%/*}/imports"
		sleep 300
	END
	chmod +x python
	mkdir -p build && ln -sfn "$PWD/files" build/gpu
	keep check timeout 60 "$root/scripts/gpu-check" --build build --output out --python "$PWD/python" --steps environment
	cat check.out check.err
	equal "$(sort -k2 imports | cut -d' ' -f3 | xargs)" "cupy jax torch triton" imports
	while read -r pid _; do
		[[ $(runs "$pid") == no ]] || { echo "an import is still there"; return 1; }
	done <imports
}

@test "gpu-check: the four commands have all steps, and their shares add up to less than ten minutes" {
	with_check <<-'END'
		from gpu_check import facts, matrix, plan
		assert sorted(plan.COMMANDS) == ["A", "B", "C", "D"]
		for steps in plan.COMMANDS.values():
		    assert sum(step.SHARE_S for step in steps) + 12 == plan.limit_of(steps) < 600
		# 90 of 90 + 190 seconds, and all that was left over for the last one
		assert plan.share(facts, 140, (matrix,), False) == 45
		assert plan.share(matrix, 140, (), False) == 140
		for wrong in (900, 500):
		    matrix.SHARE_S = wrong
		    try:
		        plan.check()
		    except ValueError:
		        continue
		    raise SystemExit("a command of more than ten minutes was not noticed")
	END
}

@test "gpu-check: a measurement counts as in time if a later launch knew it" {
	# launched, measurements known, number of its measurement, end. The third ended after the last launch.
	with_check <<-'END'
		from gpu_check.pytorch import lags_of
		launches = [(0, None, 1, 5), (10, 0, 2, 30), (20, 1, 3, 50), (40, 2, None, None)]
		assert lags_of(launches) == (2, [10, 15])
		launches[3] = (40, 1, None, None)  # the second was not known before the end
		assert lags_of(launches) == (2, [15])
	END
}

@test "gpu-check: a step's added time against both goals" {
	# ms. 4 % and 40 of 100 µs; 6 % and 60 of 100 µs; nothing to compare with
	with_check <<-'END'
		from gpu_check.cost import step_goals
		class Section:
		    def __init__(self): self.said = {}
		    def answer(self, question, part, text, expected): self.said[question] = (text, bool(expected))
		def goals(on, profiler=None):
		    section, times = Section(), {"alone": 1.0, "measuring on": on}
		    step_goals(section, dict(times, **({"PyTorch's profiler": profiler} if profiler else {})))
		    return section.said
		assert goals(1.04, 1.1) == {"step": ("4.0 % (40 µs)", True), "step-profiler": ("40 µs beside 100 µs", True)}
		assert goals(1.06, 1.1) == {"step": ("6.0 % (60 µs)", False), "step-profiler": ("60 µs beside 100 µs", False)}
		assert goals(0.99) == {"step": ("-1.0 % (-10 µs)", True)}
	END
}

@test "gpu-check: what remains of CUPTI's cost, and records of CUPTI attached again" {
	# By call, wait included, four threads: 60, 100 and 80 ns remain, means of two times; 101 of the call once
	# finalized. Without a first state there is nothing to compare with.
	with_program facts <<-'END'
		#!/bin/bash
		state() { printf 'state %s\tvalue\t%s\n' "$1" "0.5 $2 900 $3 $4"; }
		case $* in
		"idle-graphs "*--early*) printf 'graphs_again\tvalue\t1\n' ;;
		idle-graphs*) printf 'graphs callbacks off\tvalue\t0.5 5000 300000\ngraphs_again\tvalue\t0\n' ;;
		*idle*--early*) printf 'cuptiFinalize\tfails\tunknown error\n' ; exit 1 ;;
		idle*)
			state "1 bare" 1000 2000 3000
			state "1 bare, measured again" 1020 2000 3000
			state "1 callbacks off" 1060 2120 3080
			state "2 callbacks off" 1080 2080 3080
			state "1 finalized" 1111 2000 3000
			printf 'attached_again\tvalue\t1\n'
			;;
		reattach*--in-callback*) printf 'rounds\tvalue\t3\n'; kill -ALRM $$ ;;
		*) printf 'reattached\tvalue\t1\nhw_trace\tvalue\tnot supported\n' ;;
		esac
	END
	check "$PWD/files" --limit 60 --steps idle
	cat check.out check.err out/summary.md
	equal "$(<check.status)" 1 "exit status"
	contains "$(grep '^| idle-off |' out/summary.md)" \
		"| +60 ns in the call, +100 ns in all, +80 ns by 4 threads; not asked: attached early: cuptiFinalize"
	equal "$(answer idle-off)" "as expected" idle-off
	contains "$(grep '^| idle-finalized |' out/summary.md)" "+101 ns in the call, +0 ns in all"
	equal "$(answer idle-finalized)" "NOT as expected" idle-finalized
	contains "$(grep '^| idle-again |' out/summary.md)" "attached late, graphs: not all right"
	contains "$(grep '^| idle-again |' out/summary.md)" "beside launches, finalized in a callback: died by signal 14"
	contains "$(grep '^| idle-again |' out/summary.md)" "beside launches, finalized directly: all right"
	contains "$(grep '^| idle-again |' out/summary.md)" "attached early, graphs: all right"
	contains "$(<out/summary.md)" "| attached late | callbacks off | 2 | 0.5 | 1080 | 900 | 2080 | 3080 |"
	contains "$(<out/summary.md)" "| attached late | callbacks off | 0.5 | 5000 | 1500 |"
	contains "$(<out/summary.md)" "| finalized in a callback | 3 | not asked: died by signal 14"
}

@test "gpu-check: graphs after cuptiFinalize, and threads whose ids repeat, are an answer each" {
	with_program facts <<-'END'
		#!/bin/bash
		case $* in
		survival*--instantiated*--launched*) kill -SEGV $$ ;;
		survival*--instantiated*) printf 'cuInit\tfails\tno device\n'; exit 1 ;;
		survival*--launched*) printf 'graph_survives\tvalue\tcuStreamSynchronize: SOME_ERROR\n' ;;
		survival*) printf 'graph_survives\tvalue\tyes\n' ;;
		stuck*"--switch runtime"*) printf 'stuck_threads\tvalue\tnot asked: the runtime answers cudaSomething\n' ;;
		stuck*"--switch driver --cudart "*) printf 'stuck_threads\tvalue\t2\nstuck_launches\tvalue\t184\n' ;;
		stuck*) printf 'stuck_threads\tvalue\t0\nstuck_launches\tvalue\t0\n' ;;
		esac
	END
	check "$PWD/files" --limit 60 --steps idle
	cat check.out check.err out/summary.md
	equal "$(<check.status)" 1 "exit status"
	equal "$(grep '^| graph-after-finalize |' out/summary.md)" "| graph-after-finalize | does a graph still launch after \
cuptiFinalize? | not seen by CUPTI: yes; launched while it was attached: cuStreamSynchronize: SOME_ERROR; instantiated and \
launched while it was attached: the process died by signal 11; not asked: instantiated while it was attached: cuInit: no \
device | NOT as expected | yes |" graph-after-finalize
	equal "$(grep '^| stuck-callbacks |' out/summary.md | cut -d'|' -f4-6)" " launches of the driver, callbacks of the driver: \
none; launches of the runtime, callbacks of the driver: 2 of 4, 184 launches; not asked: launches of the runtime, callbacks \
of the runtime: the runtime answers cudaSomething | NOT as expected | none " stuck-callbacks
	equal "$(answer stuck-kinds)" "as expected" stuck-kinds
}

@test "gpu-check: the programs of frameworks compile" {
	PYTHONPYCACHEPREFIX=$PWD/cache python3 -B -m py_compile "$root"/cuda_tests/gpu/*.py
	equal "$(find cache -name '*.pyc' | wc -l)" "$(find "$root/cuda_tests/gpu" -maxdepth 1 -name '*.py' | wc -l)" programs
}

@test "what the GPU check carries is measured, and refused above 64 MiB" {
	mkdir -p large
	truncate -s 1M large/file
	keep size "$root/scripts/gpu-check-size" "$PWD/large"
	equal "$(<size.status)" 0 "exit status"
	contains "$(<size.out)" "large: 1.0 MiB, the tree: "
	truncate -s 64M large/file
	keep size "$root/scripts/gpu-check-size" "$PWD/large"
	equal "$(<size.status)" 1 "exit status"
	contains "$(<size.err)" "too large to be carried"
}
