# The Python module of tools/python: reading, recording a part of a program, predicting; the examples of its README.
load ../common

module=$root/tools/python

# The distribution's, which scripts/setup --all installs, or another one that has SQLite.
interpreter=$(for path in /usr/bin/python3 python3; do
	"$path" -c 'import sqlite3, sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null && echo "$path" && break
done || true)
export PYTHONPATH=$module PATH=$build:$PATH

needs_python() {
	[[ -n $interpreter ]] || skip "no Python 3.9 or newer with sqlite3 (scripts/setup --all installs it)"
}

under() { # OPTION...: kerncast run of program.py
	"$kerncast" run -q "$@" "$interpreter" program.py
}

# A program in Python that launches the same kernels by each step().
program() { # LINES, in which there is step()
	cat >program.py <<-END
		import ctypes, sys
		import kerncast
		def step(library=[]):
		    if not library:
		        library.append(ctypes.CDLL("$build/doors/linked_driver_launch.so"))
		    if library[0].main(1, (ctypes.c_char_p * 2)(b"step", None)):
		        sys.exit("step failed")
	END
	cat >>program.py
}

launches_of_step() {
	program <<<'step()'
	"$interpreter" program.py >/dev/null
	counted kernels
	rm -f "$SIMCUDA_LOG"
}

rows() { # [DB]
	sql 'SELECT count(*) FROM launch' "${1-kerncast.db}"
}

@test "the module's own tests, on a recorded database" {
	needs_python
	"$kerncast" run -q -o recorded.db "$build/demo-static-sim" --rounds 50
	"$interpreter" "$module/module_test.py" recorded.db
}

@test "each example of the module's README" {
	needs_python
	cp "$build/demo-static-sim" demo
	"$kerncast" run -q ./demo --rounds 250
	"$kerncast" run -q -o again.db ./demo --rounds 250
	program <<-END
		import doctest
		failed, tried = doctest.testfile("$module/README.md", module_relative=False, globs={"step": step})
		print(tried, "tried")
		sys.exit(failed > 0 or tried < 28)
	END
	under --while record.now -o part.db >examples || { cat examples; return 1; }
	equal "$((3 * $(rows part.db)))" "$(($(counted kernels) - 2 * 2000))" "three steps, of which one is recorded"
}

@test "record() under kerncast run --while: the block's launches and no others, each time" {
	needs_python
	local each
	each=$(launches_of_step)
	program <<-END
		step()
		for _ in range(2):
		    with kerncast.record():
		        step()
		        with kerncast.record():
		            step()
		        step()
		    step()
	END
	under --while record.now >/dev/null
	equal "$(counted kernels)" $((9 * each)) "kernels"
	equal "$(rows)" $((6 * each)) "launches recorded"
	equal "$(report '$.ledger.not_asked')" $((3 * each)) "not asked for"
	ledger_adds_up
	[[ ! -e record.now ]]
}

@test "record() without kerncast run: the driver loads the library, and the block is recorded" {
	needs_python
	local each
	each=$(launches_of_step)
	program <<-END
		with kerncast.record("mine.db"):
		    step()
		step()
		with kerncast.record():
		    step()
	END
	KERNCAST_QUIET=1 "$interpreter" program.py >/dev/null
	equal "$(rows mine.db)" $((2 * each)) "launches recorded"
	equal "$(report '$.ledger.not_asked' mine.db)" "$each" "not asked for"
	ledger_adds_up mine.db
	equal "$(sql 'SELECT count(*) FROM launch WHERE measured_start_ns IS NOT NULL' mine.db)" $((2 * each)) "measured"
}

@test "record() where it cannot work says how to start the program" {
	needs_python
	program <<-END
		step()
		try:
		    kerncast.record().__enter__()
		except kerncast.Error as error:
		    sys.exit(str(error))
	END
	keep begun "$interpreter" program.py
	contains "$(<begun.err)" "CUDA has begun in this process"
	contains "$(<begun.err)" "start the program with: kerncast run --while record.now python program.py"
	keep whole under
	contains "$(<whole.err)" "kerncast records all of this program"
	CUDA_INJECTION64_PATH=/opt/other.so keep other "$interpreter" -c 'import kerncast; kerncast.record().__enter__()'
	contains "$(<other.err)" "CUDA_INJECTION64_PATH is set to '/opt/other.so'"
}

@test "record() says where it has to wait in vain" {
	needs_python
	program <<-END
		step()
		with kerncast.record():
		    pass
	END
	keep vain under --while record.now --after 1h
	equal "$(<vain.status)" 0 "exit status"
	contains "$(<vain.err)" "kerncast has not begun to record: another of its options does not allow it now"
}
