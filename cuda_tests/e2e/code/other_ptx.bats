# Fatbins whose PTX is for another architecture than the device's, as libraries of wheels have: machine code for each GPU,
# and PTX for the newest alone.
load ../common

compiles=$build/awkward/compiles

setup_file() {
	nvcc=$("$BATS_TEST_DIRNAME/../../../scripts/find-cuda")/bin/nvcc
	cd "$BATS_FILE_TMPDIR" || return 1
	cat >add.cu <<-'END'
		extern "C" __global__ void compiled0(const float *x, float *y, int n)
		{
			int i = blockIdx.x * blockDim.x + threadIdx.x;
			if (i < n)
				y[i] = x[i] * 2.0f + 1.0f;
		}
	END
	cat >shared.cu <<-'END'
		extern "C" __global__ void compiled0(const float *x, float *y, int n)
		{
			__shared__ float tile[__CUDA_ARCH__ >= 900 ? 2048 : 1024];
			int i = blockIdx.x * blockDim.x + threadIdx.x;
			tile[threadIdx.x] = x[i];
			__syncthreads();
			y[i] = tile[blockDim.x - 1 - threadIdx.x];
		}
	END
	cat >branches.cu <<-'END'
		#include <mma.h>
		extern "C" __global__ void compiled0(const float *x, float *y, int n)
		{
			int i = blockIdx.x * blockDim.x + threadIdx.x;
		#if __CUDA_ARCH__ >= 900 && defined(TENSOR)
			using namespace nvcuda::wmma;
			fragment<matrix_a, 16, 16, 8, precision::tf32, row_major> a;
			fragment<matrix_b, 16, 16, 8, precision::tf32, col_major> b;
			fragment<accumulator, 16, 16, 8, float> c;
			fill_fragment(c, 0);
			load_matrix_sync(a, x, 8);
			load_matrix_sync(b, x, 8);
			mma_sync(c, a, b, c);
			store_matrix_sync(y, c, 16, mem_row_major);
		#elif __CUDA_ARCH__ >= 900 && defined(BARRIER)
			float mine = x[i];
			__syncthreads();
			y[i] = mine;
		#elif __CUDA_ARCH__ >= 900 && defined(WIDE)
			float4 a = ((const float4 *)x)[i], b = ((const float4 *)x)[i + n];
			y[i] = a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
		#else
			y[i] = x[i] + n;
		#endif
		}
	END
	fatbin add newer 90
	fatbin add between 90 100
	fatbin add own 75 90
	fatbin shared differs 90
	NVCC_APPEND_FLAGS=-DTENSOR fatbin branches tensor 90
	NVCC_APPEND_FLAGS=-DBARRIER fatbin branches barrier 90
	NVCC_APPEND_FLAGS=-DWIDE fatbin branches wide 90
	fatbin branches alike 90
}

fatbin() { # SOURCE NAME PTX...: machine code for sm_80 and PTX
	local options=() ptx
	for ptx in "${@:3}"; do
		options+=(-gencode "arch=compute_$ptx,code=compute_$ptx")
	done
	"$nvcc" -fatbin -gencode arch=compute_80,code=sm_80 "${options[@]}" -o "$2.fatbin" "$1.cu"
}

loads() { # HOW, NAME: what became of the kernel's code on an A100
	rm -f kerncast.db*
	SIMCUDA_DEVICE=A100 timeout 60 "$kerncast" run -q -- "$compiles" - 80 "$1" "$BATS_FILE_TMPDIR/$2.fatbin" \
		>loads.out || true
	sql 'SELECT code FROM kernel'
}

counted_of_other() { # 1: every launch shape was counted in code for another architecture; 0: none. The 35th double says it
	sql "SELECT DISTINCT CASE hex(substr(counts, 34 * 8 + 1, 8)) WHEN '000000000000F03F' THEN 1
		WHEN '0000000000000000' THEN 0 END FROM work"
}

@test "PTX for a newer architecture is read, from a file and from memory" {
	local how
	for how in path cubin; do
		equal "$(loads "$how" newer)" "read from compute_90" "$how"
		# For each thread with i < n, which is the 40,000 of them or one less: one multiplication and addition together, a
		# load and a store of 4 bytes each
		equal "$(per_thread 0)|$(per_thread 20)|$(per_thread 21)" "1|4|4" "fma, bytes loaded, stored"
		equal "$(counted_of_other)" 1 "$how"
	done
}

@test "the nearest architecture is read, and one that the driver could compile before any other" {
	equal "$(loads path between)" "read from compute_90"
	equal "$(loads path own)" read
	equal "$(counted_of_other)" 0
}

@test "PTX that takes another amount of shared memory than the device's code is refused" {
	local how
	for how in path cubin; do
		contains "$(loads "$how" differs)" "the code for the device takes another amount of shared memory"
	done
}

@test "PTX of other lines of the source than the device's code is refused: tensor cores, barriers, wide loads" {
	local how
	for how in path cubin; do
		contains "$(loads "$how" tensor)" "the code for the device does not use tensor cores"
		contains "$(loads "$how" barrier)" "the code for the device has no barriers"
		contains "$(loads "$how" wide)" "the code for the device has no loads of 16 bytes"
		equal "$(loads "$how" alike)" "read from compute_90" "$how"
	done
}

@test "explain refuses the same, for the device whose code it is" {
	local file output
	for file in tensor:"does not use tensor cores" barrier:"has no barriers" wide:"has no loads of 16 bytes" \
		differs:"takes another amount of shared memory"; do
		output=$("$kerncast" explain --json --device a100 "$BATS_FILE_TMPDIR/${file%%:*}.fatbin")
		contains "$output" "the code for the device ${file#*:}"
	done
	output=$("$kerncast" explain --json --device a100 "$BATS_FILE_TMPDIR/alike.fatbin")
	[[ $output != *"the code for the device"* ]]
	output=$("$kerncast" explain --json --device h200 "$BATS_FILE_TMPDIR/tensor.fatbin")
	[[ $output != *"the code for the device"* ]]
}
