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
	fatbin add newer 90
	fatbin add between 90 100
	fatbin add own 75 90
	fatbin shared differs 90
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
	local formula part how
	for how in path cubin; do
		equal "$(loads "$how" newer)" "read from compute_90" "$how"
		# For each thread with i < n: one multiplication and addition together, a load and a store of 4 bytes each
		formula=$(sql 'SELECT cost_formula FROM kernel')
		for part in "fma = [gid.x < p2]" "bytes_loaded = 4*[gid.x < p2]" "bytes_stored = 4*[gid.x < p2]"; do
			contains "; $formula;" "; $part;"
		done
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
