# Which copy of CUPTI is opened in a process that could have several.
load ../common

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	simcuda=${KC_BUILD:-$BATS_TEST_DIRNAME/../../../build}/simcuda
	mkdir driver && cp "$simcuda/libcuda.so.1" driver
}

opens=$build/awkward/opens
plugin=$build/awkward/late.so            # any library
framework=$build/awkward/clock_plugin.so # one that needs libcupti.so.13
old=$build/awkward/old_cupti/libcupti.so.12
refusing=$build/awkward/refusing_cupti/libcupti.so.13

# A copy of a library in a folder of the test's.
put() { # CUPTI FILE
	mkdir -p "${2%/*}"
	cp "$1" "$2"
}

# With nothing in the loader's path but the driver and what FOLDERS (":path...") names: what is printed and measured.
opened() { # FOLDERS ARGUMENT...
	local folders=$BATS_FILE_TMPDIR/driver$1
	rm -f kerncast.db*
	keep shimmed env LD_LIBRARY_PATH="$folders" KERNCAST_FRESH=1 LD_PRELOAD="$library" "$opens" "${@:2}"
	equal "$(<shimmed.status)" 0 "exit status: $(<shimmed.out)"
	sql 'SELECT count(measured_end_ns) || " measured" FROM launch' >>shimmed.out
}

@test "CUPTI in a Python package alone" {
	packages=$PWD/lib/python3.12/site-packages
	put "$plugin" "$packages/cupy/_core.so"
	put "$simcuda/libcupti.so.13" "$packages/nvidia/cu13/lib/libcupti.so.13"
	opened "" "$packages/cupy/_core.so"
	equal "$(<shimmed.out)" "$packages/nvidia/cu13/lib/libcupti.so.13"$'\n'"3 measured"
	opened "" "$plugin" # nothing tells where Python's packages are
	equal "$(tail -n 1 shimmed.out)" "0 measured"

	put "$plugin" "$PWD/lib/python3.12/lib-dynload/_struct.so" # a module of Python itself
	opened "" "$PWD/lib/python3.12/lib-dynload/_struct.so"
	equal "$(<shimmed.out)" "$packages/nvidia/cu13/lib/libcupti.so.13"$'\n'"3 measured"
}

@test "CUPTI beside the program's CUDA runtime" {
	put "$plugin" "$PWD/toolkit/lib64/libcudart.so.13"
	put "$simcuda/libcupti.so.13" "$PWD/toolkit/extras/CUPTI/lib64/libcupti.so.13"
	opened "" "$PWD/toolkit/lib64/libcudart.so.13"
	equal "$(<shimmed.out)" "$PWD/toolkit/lib64/../extras/CUPTI/lib64/libcupti.so.13"$'\n'"3 measured"
}

@test "a framework that is opened later finds the CUPTI that it needs, not an older one" {
	put "$old" "$PWD/path/libcupti.so.13"
	put "$framework" "$PWD/lib/python3.12/site-packages/torch/framework.so"
	put "$plugin" "$PWD/lib/python3.12/site-packages/jax/plugin.so"
	put "$simcuda/libcupti.so.13" "$PWD/lib/python3.12/site-packages/nvidia/cu13/lib/libcupti.so.13"
	opened ":$PWD/path" "$PWD/lib/python3.12/site-packages/jax/plugin.so" \
		"then" "$PWD/lib/python3.12/site-packages/torch/framework.so"
	equal "$(<shimmed.out)" "$PWD/lib/python3.12/site-packages/nvidia/cu13/lib/libcupti.so.13"$'\n'"3 measured"
}

@test "a copy that cannot be used is not left behind" {
	put "$old" "$PWD/unusable/libcupti.so.13"
	KERNCAST_CUPTI="$PWD/unusable/libcupti.so.13" opened "" "$plugin"
	equal "$(<shimmed.out)" "0 measured"
}

@test "the newest CUPTI that fits the driver" {
	packages=$PWD/lib/python3.12/site-packages
	put "$plugin" "$packages/cupy/_core.so"
	put "$simcuda/libcupti.so.13" "$packages/nvidia/cu13/lib/libcupti.so.13"
	put "$simcuda/libcupti.so.13" "$packages/nvidia/cuda_cupti/lib/libcupti.so.12"
	opened "" "$packages/cupy/_core.so"
	equal "$(head -n 1 shimmed.out)" "$packages/nvidia/cu13/lib/libcupti.so.13" "a driver of CUDA 13"
	SIMCUDA_DRIVER_VERSION=12040 opened "" "$packages/cupy/_core.so"
	equal "$(head -n 1 shimmed.out)" "$packages/nvidia/cuda_cupti/lib/libcupti.so.12" "a driver of CUDA 12"

	# Of two of one major version, the one whose version is higher: the first found here does not even tell it.
	put "$plugin" "$PWD/toolkit/libcudart.so.12"
	put "$old" "$PWD/toolkit/libcupti.so.12"
	SIMCUDA_DRIVER_VERSION=12040 opened "" "$PWD/toolkit/libcudart.so.12" "$packages/cupy/_core.so"
	equal "$(<shimmed.out)" "$packages/nvidia/cuda_cupti/lib/libcupti.so.12"$'\n'"3 measured" "two of CUDA 12"
}

@test "of copies that do not begin, the next one is tried, wherever it is" {
	packages=$PWD/lib/python3.12/site-packages
	put "$plugin" "$PWD/toolkit/libcudart.so.13"
	put "$refusing" "$PWD/toolkit/libcupti.so.13"
	put "$plugin" "$packages/cupy/_core.so"
	put "$simcuda/libcupti.so.13" "$packages/nvidia/cu13/lib/libcupti.so.13"
	opened "" "$PWD/toolkit/libcudart.so.13" "$packages/cupy/_core.so"
	contains "$(<shimmed.out)" "$PWD/toolkit/libcupti.so.13"
	contains "$(<shimmed.out)" "$packages/nvidia/cu13/lib/libcupti.so.13"
	equal "$(tail -n 1 shimmed.out)" "3 measured" "in another folder"
	equal "$(<shimmed.err)" ""
	opened ":$simcuda" "$PWD/toolkit/libcudart.so.13"
	contains "$(<shimmed.out)" "$simcuda/libcupti.so.13"
	equal "$(tail -n 1 shimmed.out)" "3 measured" "in the loader's path"

	# One that is chosen is not replaced; nor is the one of a profiler that holds it.
	KERNCAST_CUPTI="$refusing" opened ":$simcuda" "$plugin"
	equal "$(tail -n 1 shimmed.out)" "0 measured" "chosen"
	contains "$(<shimmed.err)" "CUPTI did not start: launches are predicted, not measured: CUPTI_ERROR_UNKNOWN"
	SIMCUDA_FAULT=cupti-busy opened ":$PWD/toolkit" "$packages/cupy/_core.so"
	equal "$(tail -n 1 shimmed.out)" "0 measured" "busy"
	contains "$(<shimmed.err)" "another profiler holds CUPTI"
}

@test "what is chosen or loaded already comes first, and doctor says which copy it is" {
	packages=$PWD/lib/python3.12/site-packages
	put "$plugin" "$packages/cupy/_core.so"
	put "$simcuda/libcupti.so.13" "$packages/nvidia/cu13/lib/libcupti.so.13"
	opened ":$simcuda" "$framework" "$packages/cupy/_core.so"
	equal "$(<shimmed.out)" "$simcuda/libcupti.so.13"$'\n'"3 measured" "loaded already"
	KERNCAST_CUPTI="$simcuda/libcupti.so.13" opened "" "$packages/cupy/_core.so"
	equal "$(<shimmed.out)" "$simcuda/libcupti.so.13"$'\n'"3 measured" "chosen"

	contains "$("$kerncast" doctor)" "libcupti.so.13 (in the loader's path), version"
	contains "$(KERNCAST_CUPTI="$simcuda/libcupti.so.13" "$kerncast" doctor)" \
		"libcupti.so.13 (chosen by KERNCAST_CUPTI), version"
}
