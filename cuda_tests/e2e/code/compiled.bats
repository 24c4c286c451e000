# Code that is compiled while the program runs: machine code is loaded, and the PTX behind it is known to the compiler
# alone. NVRTC and nvJitLink are NVIDIA's own, which need no GPU.
load ../common

compiles=$build/awkward/compiles
libraries=$("$root/scripts/find-cuda")/lib64
nvrtc=$libraries/libnvrtc.so.13
jitlink=$libraries/libnvJitLink.so.13

needs() { # LIBRARY...
	local library
	for library; do
		[[ -r $library ]] || skip "no $library"
	done
}

# compiled*(x, y, n) of compiles.c: y[i] = x[i] * 2 + 1 where i < n. For each thread with i < n: one multiplication and
# addition together, a load and a store of 4 bytes each. n is all of 40,000 threads, or one less.
kernels_are_read() { # HOW MANY, IN WHICH CASE
	local number
	equal "$(sql 'SELECT count(*), sum(code = '"'read'"') FROM kernel')" "$1|$1" "kernels, those that were read, $2"
	for number in 0 11 12; do # fma, ld_global, st_global
		equal "$(per_thread "$number")" 1 "counter $number, $2"
	done
	for number in 20 21; do # bytes_loaded, bytes_stored
		equal "$(per_thread "$number")" 4 "counter $number, $2"
	done
}

reads() { # KERNELS COMMAND...
	local kernels=$1
	shift
	unchanged_under_run "$@"
	equal "$(<shimmed.status)|$(<shimmed.err)" "7|" "exit status and what is said, ${*:2}"
	kernels_are_read "$kernels" "${*:2}"
	ledger_adds_up
	rm kerncast.db*
}

@test "what NVRTC compiled is known by its PTX" {
	needs "$nvrtc"
	reads 1 "$compiles" "$nvrtc" 80
	reads 1 "$compiles" "$nvrtc" 80 before
	reads 4 "$compiles" "$nvrtc" 80 threads twice
	reads 1 "$compiles" "$nvrtc" 80 before many 40
}

@test "what nvJitLink linked is known by the PTX that it was given" {
	needs "$nvrtc" "$jitlink"
	reads 1 "$compiles" "$nvrtc" 80 linked "$jitlink"
	reads 1 "$compiles" "$nvrtc" 80 linked "$jitlink" file
	reads 4 "$compiles" "$nvrtc" 80 linked "$jitlink" before threads
}

formulas() { # of the last process
	sql "SELECT count(*) FROM engine_event WHERE kind = 'formula' AND process = (SELECT max(id) FROM process)"
}

remembers() { # WORD...: how the first run compiles; the second loads the machine code from a file, as from a compiler's cache
	rm -f kerncast.db*
	timeout 60 "$kerncast" run -q -- "$compiles" "$nvrtc" 80 "$@" save compiled0.cubin >first.out || true
	equal "$(formulas)" 1 "formulas in the first run, $*"
	timeout 60 "$kerncast" run -q -- "$compiles" - 80 cubin compiled0.cubin >second.out || true
	equal "$(<second.out)" "$(<first.out)" "what the programs say, $*"
	equal "$(sql 'SELECT count(*) FROM process')" 2 processes
	equal "$(formulas)" 1 "formulas in the second run, $*"
	kernels_are_read 1 "$*"
	equal "$(sql 'SELECT process, count(DISTINCT shape) FROM work GROUP BY process')" $'1|1\n2|1' \
		"launch shapes that were counted in each run, $*"
}

@test "a run that loads what an earlier one compiled knows it, too" {
	needs "$nvrtc" "$jitlink"
	remembers
	remembers linked "$jitlink"
	rm kerncast.db*
	timeout 60 "$kerncast" run -q -- "$compiles" - 80 cubin compiled0.cubin >second.out || true
	equal "$(formulas)" 0 "without the first run"
}

@test "what nvJitLink made of LTO-IR is known by the PTX that it makes of the same" {
	needs "$nvrtc" "$jitlink"
	reads 1 "$compiles" "$nvrtc" 80 linked "$jitlink" lto
	reads 4 "$compiles" "$nvrtc" 80 linked "$jitlink" lto before threads twice
}

# The simulated driver has no linker. This one answers with machine code that nvcc made of the same kernel.
@test "what the driver linked is known by the PTX that it was given" {
	needs "$nvrtc"
	cat >compiled0.cu <<-'END'
		extern "C" __global__ void compiled0(const float *x, float *y, int n)
		{
			int i = blockIdx.x * blockDim.x + threadIdx.x;
			if (i < n)
				y[i] = x[i] * 2.0f + 1.0f;
		}
	END
	"$libraries/../bin/nvcc" -arch=sm_80 -cubin -o linked.cubin compiled0.cu
	gcc -shared -fPIC -I"$libraries/../include" -o linker.so -x c - <<-'END'
		#include <cuda.h>
		#include <stdio.h>
		#include <stdlib.h>
		static char cubin[1 << 20];
		CUresult cuLinkCreate(unsigned n, CUjit_option *options, void **values, CUlinkState *state)
		{
			*state = malloc(16);
			return CUDA_SUCCESS;
		}
		CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name, unsigned n,
				       CUjit_option *options, void **values)
		{
			return CUDA_SUCCESS;
		}
		CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path, unsigned n, CUjit_option *options,
				       void **values)
		{
			return CUDA_SUCCESS;
		}
		CUresult cuLinkComplete(CUlinkState state, void **made, size_t *size)
		{
			FILE *file = fopen("linked.cubin", "r");
			*size = fread(cubin, 1, sizeof(cubin), file);
			*made = cubin;
			return fclose(file) ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
		}
		CUresult cuLinkDestroy(CUlinkState state)
		{
			free(state);
			return CUDA_SUCCESS;
		}
	END
	export LD_PRELOAD=$PWD/linker.so
	reads 1 "$compiles" "$nvrtc" 80 driver
	reads 1 "$compiles" "$nvrtc" 80 driver file twice
}

@test "programs that are linked to NVRTC and nvJitLink" {
	local version
	needs "$nvrtc" "$jitlink"
	version=$(nm -D "$jitlink" | grep -o '__nvJitLinkAddData_[0-9_]*' | tail -n 1)
	gcc -D_GNU_SOURCE -DLINKED="${version#__nvJitLinkAddData_}" -I"$root" -I"$libraries/../include" -o compiles \
		"$root/cuda_tests/awkward/code/compiles.c" "$simcuda/libcuda.so" "$nvrtc" "$jitlink" -pthread
	LD_LIBRARY_PATH+=:$libraries
	reads 1 ./compiles "" 80
	reads 1 ./compiles "" 80 linked ""
	reads 1 ./compiles "" 80 linked "" lto
}

@test "nothing is kept where nothing is recorded, and the same is compiled" {
	needs "$nvrtc"
	keep plain "$compiles" "$nvrtc" 80 before
	keep shimmed env KERNCAST_DISABLE=1 LD_PRELOAD="$library" "$compiles" "$nvrtc" 80 before
	same plain shimmed
	keep plain env SIMCUDA_FAULT=no-device "$compiles" "$nvrtc" 80 before
	keep shimmed env SIMCUDA_FAULT=no-device KERNCAST_QUIET=1 LD_PRELOAD="$library" "$compiles" "$nvrtc" 80 before
	same plain shimmed
}

# Libraries that export NVRTC's name and answer with a number of their own.
stand_in() { # FILE NUMBER [SONAME]
	gcc -shared -fPIC -o "$1" -Wl,-soname,"${3:-$1}" -x c - <<<"int nvrtcGetCUBIN(void *program, char *cubin) { *cubin = $2; return $2; }"
}

@test "each of several copies of a library gets its own calls" {
	local i
	for i in 1 2 3 4 5 6; do stand_in "./copy$i.so" "$i"; done
	gcc -o copies -x c - -ldl <<-'END'
		#include <dlfcn.h>
		#include <stdio.h>
		int main(int argc, char **argv)
		{
			for (int round = 0; round < 2; round++)
				for (int i = 1; i < argc; i++) {
					int (*get)(void *, char *) = dlsym(dlopen(argv[i], RTLD_NOW | RTLD_LOCAL), "nvrtcGetCUBIN");
					char cubin = 0;
					int result = get(NULL, &cubin);
					printf("%s %d %d\n", argv[i], result, cubin);
				}
			return 0;
		}
	END
	keep plain ./copies ./copy[1-6].so
	keep shimmed preloaded ./copies ./copy[1-6].so
	equal "$(grep -c '^./copy\([1-6]\).so \1 \1$' plain.out)" 12 "calls without kerncast"
	same plain shimmed
}

@test "a call by address from elsewhere reaches the library that is loaded" {
	stand_in ./libnvrtc.so.13 9 libnvrtc.so.13
	gcc -shared -fPIC -o plugin.so -Wl,-rpath,"$PWD" -x c - -x none ./libnvrtc.so.13 <<<'
		int nvrtcGetCUBIN(void *program, char *cubin);
		int (*plugin(void))(void *, char *) { return nvrtcGetCUBIN; }'
	gcc -o caller -x c - -ldl <<-'END'
		#include <dlfcn.h>
		#include <stdio.h>
		int main(void)
		{
			int (*(*plugin)(void))(void *, char *) =
			    (int (*(*)(void))(void *, char *))dlsym(dlopen("./plugin.so", RTLD_NOW | RTLD_LOCAL), "plugin");
			char cubin = 0;
			int result = plugin()(NULL, &cubin);
			printf("%d %d\n", result, cubin);
			return 0;
		}
	END
	keep plain ./caller
	keep shimmed preloaded ./caller
	equal "$(<plain.out)" "9 9" "without kerncast"
	same plain shimmed
}

@test "a look-up in the whole process finds a compiler where it would without kerncast" {
	local source='#include <dlfcn.h>
		#include <stdio.h>
		#include <string.h>
		int main(int argc, char **argv) {
			(void)argc;
			for (char **name = argv + 1; *name; name++) {
				printf("%s: %s", *name, dlsym(RTLD_DEFAULT, *name) ? "found" : strstr(dlerror(), "undefined"));
				printf("; then %s\n", dlerror() ? "an error" : "none");
			}
			return 0;
		}'
	local names=(nvrtcGetCUBIN nvrtcGetPTX nvJitLinkDestroy __nvJitLinkAddData_13_0 __nvJitLinkAddData_99_0 nv n _ __ __n __nv "")
	stand_in ./libnvrtc.so.13 9 libnvrtc.so.13
	gcc -D_GNU_SOURCE -o asks -x c - -ldl <<<"$source"
	gcc -D_GNU_SOURCE -o linked -x c - -x none -Wl,--no-as-needed -Wl,-rpath,"$PWD" ./libnvrtc.so.13 -ldl <<<"$source"
	keep plain ./asks "${names[@]}"
	keep shimmed preloaded ./asks "${names[@]}"
	equal "$(grep -c ': found' plain.out)" 0 "found without kerncast"
	same plain shimmed
	keep plain ./linked "${names[@]}"
	keep shimmed preloaded ./linked "${names[@]}"
	equal "$(grep ': found' plain.out)" "nvrtcGetCUBIN: found; then none" "found without kerncast, linked"
	same plain shimmed
}
