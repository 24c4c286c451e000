# The library under a sanitizer, in unmodified programs: a test file sets `sanitizer`
# (the build folder's name) and `runtime` (gcc's library), then loads this. The
# stand-ins and the programs' cudart are built with the sanitizer, too: what they
# synchronise by atomics would else look like races of the library's.
#
# Left out, and why:
#   leaks of forked children  The leak check takes the allocator's locks, which
#                             threads that a child does not have may hold. (Measured:
#                             process_fork_busy hangs in it, in __lsan::LockAllocator.)
#   descriptors               ThreadSanitizer knows one table in a process, and threads of
#                             the library's have tables of their own: the same number is
#                             another file in each. What the library's calls that take a
#                             number race with, SQLite's open(), or the look through a
#                             table for a database's files is not reported.
#   dlsym.c, object.c         Run before the sanitizer's runtime is ready; see Makefile.

load ../e2e/common
build=$build/$sanitizer
kerncast=$build/kerncast library=$build/libkerncast.so simcuda=$build/simcuda

# Reports go to files, as a child's standard error may be closed. Those of
# UndefinedBehaviorSanitizer do not, beside AddressSanitizer's; they end the process.
options() { # [MORE]
	export UBSAN_OPTIONS=print_stacktrace=1
	export ASAN_OPTIONS=log_path=$PWD/sanitizer${1:+:$1}
	# A forked child may start threads again (die_after_fork): the library does, if the program does.
	printf 'race:^%s$\n' __wrap_{close,read,write,pread,pwrite,pread64,pwrite64,ftruncate,ftruncate64} kc__disk_map robust_open kc__held_find \
		>suppressed
	export TSAN_OPTIONS=log_path=$PWD/sanitizer:die_after_fork=0:suppressions=$PWD/suppressed
	export KERNCAST_QUIET=1
}

no_reports() {
	local reports
	reports=$(find . -name 'sanitizer.*'; grep -ls 'runtime error:' -- *.err || true)
	[[ -z $reports ]] || { cat $reports; return 1; }
}

# The sanitizer's runtime first, as it demands.
preload="$(gcc -print-file-name="$runtime") $library"

watched() { # COMMAND...
	env LD_PRELOAD="$preload" "$@"
}

# Output and status are those without the library, and nothing was reported.
unchanged() { # COMMAND...
	keep plain "$@"
	rm -f "$SIMCUDA_LOG"
	keep watched watched "$@"
	no_reports
	same plain watched || { cat watched.err; return 1; }
	ledger_adds_up
}

# The stand-in's own count is what rows and dropped launches sum up to.
clean() { # COMMAND...
	unchanged "$@"
	equal "$(($(report '$.ledger.launches') + $(report '$.ledger.dropped')))" "$(counted kernels)" \
		"launches and dropped together"
	no_reports
}

demo() { # ROUNDS
	options
	clean "$build/demo-static-sim" --threads 8 --rounds "$1"
}

# The second run takes over what the first one learned.
again() {
	options
	watched "$build/demo-static-sim" --threads 8 --rounds 20 >first.out
	no_reports
	demo 20
	equal "$(sql "SELECT count(*) FROM launch WHERE run = 2 AND novelty = 'first_seen'")" 0 "first seen in the second run"
}

# Shapes told apart by their arguments, while the code is read and after.
sizes() {
	export SIMCUDA_COSTS=$root/cuda_tests/sizes/sizes.costs
	options
	clean "$build/sizes/$1-sim" "${@:2}"
	equal "$(sql 'SELECT DISTINCT code FROM kernel')" read "the kernels' code"
	within "$(sql "SELECT count(*) FROM launch WHERE arguments IS NOT NULL")" 1 100000 "launches told by arguments"
	within "$(sql "SELECT count(*) FROM launch WHERE model = 'bsp-sizes'")" 1 100000 "launches predicted from other sizes"
}

graph() { # PROGRAM [LAUNCHES]
	options
	clean "$build/matrix/$1" --threads 8 --launches "${2:-20}"
}

fork() { # PROGRAM
	options detect_leaks=0
	clean "$build/matrix/$1"
}

journal_full() {
	export SIMCUDA_MODE=null KERNCAST_MEASURE=off KERNCAST_JOURNAL_MAX=1M
	demo 60
	within "$(report '$.ledger.dropped')" 1 10000 "dropped launches"
}

# Most plans of graphs find no room there, and each launch makes one anew.
graph_full() {
	export SIMCUDA_MODE=null KERNCAST_MEASURE=off KERNCAST_JOURNAL_MAX=1M
	graph driver/linked_driver_graph 100
	within "$(report '$.ledger.dropped')" 1 100000 "dropped launches"
}

# The library's own destructor has run, and its journal is gone: the first launch makes it again, and all count there.
after_end() {
	options
	keep late env LD_PRELOAD="$preload $build/awkward/late.so" KERNCAST_FLUSH_MS=60000 "$build/awkward/exit" late 8
	no_reports
	equal "$(<late.status)" 5 "exit status"
	equal "$(report '$.ledger.launches')|$(report '$.ledger.after_end')" "1000|800" "rows, after the end"
}

fault() { # SIMCUDA_FAULT. One thread: the demo exits at an error, and its other threads would go on launching
	export SIMCUDA_FAULT=$1
	options
	unchanged "$build/demo-static-sim" --threads 1 --rounds 40
	no_reports
}

killed() {
	options
	LD_PRELOAD=$preload "$build/demo-static-sim" --threads 2 --rounds 1000000 >watched.out 2>&1 3>&- &
	sleep 2
	kill -KILL $!
	wait $! || true
	keep recover "$kerncast" recover kerncast.db
	no_reports
	equal "$(<recover.status)" 0 "exit status of recover"
	ledger_adds_up
	no_reports
}
