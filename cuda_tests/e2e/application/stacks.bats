# How much more stack calls take under kerncast: applications make them in fibers, coroutines and threads of 16 KiB.
load ../common

program=$build/awkward/small_stack
# What the loader binds at a first call would hide what that call takes.
export LD_BIND_NOW=1

# Compares the tables of two runs: no call may take 2 KiB more, none that initialises CUDA 4 KiB.
compare() { # BARE SHIMMED
	paste -d ' ' "$1" "$2" | awk '
		{ more = $4 - $2; most = $1 == "cuInit" || $1 == "cudaFree" ? 4096 : 2048 }
		$1 != $3 || $2 <= 0 || $4 <= 0 { print "no figures: " $0; failed = 1 }
		{ printf "%-28s %6d %+6d%s\n", $1, $2, more, more > most ? "  above " most : "" }
		more > most { failed = 1 }
		END { exit failed || NR < 10 }' >"$2.table" || { echo "bytes of stack, alone and added: $1, $2"; cat "$2.table"; return 1; }
}

# With a database to recall from, and without.
bounds_hold() { # [ARGUMENT...]
	"$program" table "$@" >bare
	preloaded "$program" table "$@" >first
	compare bare first
	preloaded "$program" table "$@" >second
	compare bare second
	KERNCAST_MEASURE=off preloaded "$program" table "$@" >unmeasured
	compare bare unmeasured
	# Kernels were known from an earlier run, and some new shapes were counted from the kernel's code.
	equal "$(sql 'SELECT count(*) FROM process')" 3 "recorded runs"
	within "$(sql "SELECT min(n) FROM (SELECT count(DISTINCT arguments) AS n FROM launch GROUP BY process)")" 5 9999 \
		"different arguments in each run"
}

@test "driver calls: at most 2 KiB more, cuInit 4 KiB" {
	bounds_hold
}

@test "driver calls that do nothing themselves: the same" {
	export SIMCUDA_MODE=null
	bounds_hold
}

@test "calls of a static CUDA runtime: the same" {
	bounds_hold runtime
}

@test "cuInit and launches in threads with stacks of 16 KiB" {
	local i
	for i in 1 2; do # the second has a database to recall from
		rm -f "$SIMCUDA_LOG"
		keep plain "$program" tight 3
		rm "$SIMCUDA_LOG"
		keep shimmed preloaded "$program" tight 3
		same plain shimmed
		equal "$(<plain.status)" 0 "exit status"
		equal "$(counted launches)" 60 "launches"
		equal "$(sql 'SELECT count(*) FROM launch')" $((60 * i)) "rows"
	done
}

@test "calls of NVRTC and nvJitLink: at most 2 KiB more" {
	local libraries
	libraries=$("$root/scripts/find-cuda")/lib64
	[[ -r $libraries/libnvrtc.so.13 && -r $libraries/libnvJitLink.so.13 ]] || skip "no NVRTC or nvJitLink in $libraries"
	set -- "$build/awkward/compiler_stack" "$libraries/libnvrtc.so.13" "$libraries/libnvJitLink.so.13"
	"$@" >bare
	preloaded "$@" >shimmed
	compare bare shimmed
	"$@" -lto >bare
	preloaded "$@" -lto >shimmed
	compare bare shimmed
}
