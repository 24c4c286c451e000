# Programs that have nothing to do with CUDA, and programs no library can be
# preloaded into.
load ../common

nothing_left() { # no file but those the test made itself
	equal "$(find . -type f ! -name '*.out' ! -name '*.err' ! -name '*.status' | sort)" "" "files left behind"
}

unchanged_by_preload() { # COMMAND...
	keep plain "$@"
	keep shimmed preloaded "$@"
	same plain shimmed
	keep run "$kerncast" run -- "$@"
	same plain run
	nothing_left
}

@test "/bin/true and /bin/false: same status, no output, no file" {
	unchanged_by_preload /bin/true
	unchanged_by_preload /bin/false
}

@test "a shell pipeline: same output and status, no file" {
	unchanged_by_preload bash -c 'seq 1 2000 | sort -rn | head -n 3 | tr "\n" " "; exit 7'
}

@test "python3: same output and status, no file" {
	command -v python3 >/dev/null || skip "no python3"
	unchanged_by_preload python3 -c 'import ctypes, json, sys; print(json.dumps(sorted(sys.builtin_module_names)[:3])); sys.exit(3)'
}

@test "a program that looks for libcuda and does not find it: same output, no file" {
	command -v python3 >/dev/null || skip "no python3"
	unset LD_LIBRARY_PATH
	unchanged_by_preload python3 -c 'import ctypes
try:
    ctypes.CDLL("libcuda.so.no-such-version")
except OSError as e:
    print("no:", e)'
}

cpu_us() { # COMMAND...: processor time of one of 60 runs
	local TIMEFORMAT='%U %S' i
	{ time for ((i = 0; i < 60; i++)); do "$@"; done; } 2>&1 |
		awk '{ printf "%d\n", ($1 + $2) * 1e6 / 60 }'
}

@test "no more than 2 ms of processor time are added to /bin/true" {
	local us with=1000000 without=1000000
	for round in 1 2 3 4 5; do # a busy machine only makes it slower: the best round counts
		us=$(cpu_us env KC=1 /bin/true)
		((us < without)) && without=$us
		us=$(cpu_us env LD_PRELOAD="$library" /bin/true)
		((us < with)) && with=$us
	done
	within $((with - without)) -100000 2000 "microseconds added"
}

@test "KERNCAST_DISABLE=1 leaves no trace" {
	keep plain "$build/demo-static-sim" --rounds 20
	keep disabled preloaded KERNCAST_DISABLE=1 "$build/demo-static-sim" --rounds 20
	same plain disabled
	keep run env KERNCAST_DISABLE=1 "$kerncast" run "$build/demo-static-sim" --rounds 20
	same plain run
	rm "$SIMCUDA_LOG"
	nothing_left
}

@test "a missing program: status 127 and its name; one that is no program: 126" {
	keep missing "$kerncast" run ./no-such-program
	equal "$(<missing.status)" 127 "exit status"
	contains "$(<missing.err)" no-such-program
	echo text >text.out
	keep forbidden "$kerncast" run ./text.out
	equal "$(<forbidden.status)" 126 "exit status"
	contains "$(<forbidden.err)" text.out
	nothing_left
}

program() { # FLAGS...: compiles the C on stdin into bin/app
	mkdir -p bin && gcc "$@" -x c - -o bin/app
}

@test "a statically linked program runs, with its status, and is named" {
	echo 'int main(void) { return 5; }' | program -static
	keep ran "$kerncast" run bin/app
	equal "$(<ran.status)" 5 "exit status"
	contains "$(<ran.err)" bin/app
	contains "$(<ran.err)" static
	rm -r bin
	nothing_left
}

# glibc's loader under the name of musl's, which need not be installed: libkerncast.so is not preloaded by that name.
@test "a program linked with musl runs, with its status, and is named" {
	mkdir lib
	ln -s "$(readlink -f /lib64/ld-linux-x86-64.so.2)" lib/ld-musl-x86_64.so.1
	echo '#include <stdlib.h>
		int main(void) { return getenv("LD_PRELOAD") ? 1 : 5; }' | program -Wl,--dynamic-linker="$PWD/lib/ld-musl-x86_64.so.1"
	keep ran "$kerncast" run bin/app
	equal "$(<ran.status)" 5 "exit status"
	contains "$(<ran.err)" "nothing is recorded: bin/app is linked with musl"
	printf '#!%s/bin/app\n' "$PWD" >bin/script
	chmod +x bin/script
	keep ran "$kerncast" run bin/script
	equal "$(<ran.status)" 5 "exit status of a script"
	contains "$(<ran.err)" "is linked with musl"
	keep doctor "$kerncast" doctor bin/app
	equal "$(<doctor.status)" 1
	contains "$(<doctor.out)" "bin/app is linked with musl, and libkerncast.so needs the GNU C library"
	rm -rf bin lib "$SIMCUDA_LOG"
	nothing_left
}

@test "a setuid program runs, with its status, and is named" {
	needs_root
	echo 'int main(void) { return 6; }' | program
	chown 65534 bin/app
	chmod 4755 bin/app
	keep ran "$kerncast" run bin/app
	equal "$(<ran.status)" 6 "exit status"
	contains "$(<ran.err)" setuid
	rm -r bin
	nothing_left
}

@test "death by a signal is 128 and its number" {
	keep killed "$kerncast" run bash -c 'kill -TERM $$'
	equal "$(<killed.status)" 143 "exit status"
	keep killed "$kerncast" run bash -c 'kill -SEGV $$'
	equal "$(<killed.status)" 139 "exit status"
}

@test "SIGTERM reaches the program" {
	"$kerncast" run bash -c 'trap "echo told; exit 9" TERM; touch ready.out; while :; do sleep 0.05; done' >told.out &
	local pid=$!
	for ((i = 0; i < 600; i++)); do
		[[ -e ready.out ]] && break
		sleep 0.05
	done
	kill -TERM "$pid"
	wait "$pid" && false || equal $? 9 "exit status"
	equal "$(<told.out)" told "what the program said"
}

@test "the library exports the hooks and nothing of sqlite" {
	local exported
	exported=$(nm -D --defined-only "$library" | awk '{ print $3 }')
	contains "$exported" cuLaunchKernel
	equal "$(grep -c -i -E 'sqlite|lz4|zstd|^kc_' <<<"$exported")" 0 "symbols that leak"
	equal "$(readelf -d "$library" | grep -c -E 'NEEDED.*(sqlite|cuda|cupti|jansson|lz4|zstd)')" 0 "libraries it needs"
}
