# Every way a program can launch (cuda_tests/matrix/): with and without the shim,
# rows against the stand-in's own count. A test's name is the program's; what it
# does is in the program's first lines. Without the shim it runs once for all doors.
load common

setup_file() {
	local build=${KC_BUILD:-$BATS_TEST_DIRNAME/../../build}
	"$build/matrix/run-matrix" --header | sed 's/^/# |/' >&3
}

row() {
	run "$build/matrix/run-matrix" --no-header --plain "$BATS_FILE_TMPDIR/plain" "$BATS_TEST_DESCRIPTION"
	printf '# |%s\n' "${lines[0]-}" >&3
	printf '%s\n' "$output"
	equal "$status" 0 "exit status"
}

@test "the cases here are those of the matrix" {
	diff <("$build/matrix/run-matrix" --list | sort) <(sed -n 's/^@test "\(.*\)" { row; }$/\1/p' "$BATS_TEST_FILENAME" | sort)
}

# Every case once more, where it has threads with eight, and only what is not ok is shown.
door() {
	run "$build/matrix/run-matrix" --no-header --threads 8 --jobs 2 --plain "$BATS_FILE_TMPDIR/plain" --door "$1"
	grep -v ' ok$' <<<"$output" || true
	equal "$status" 0 "exit status"
	within "${#lines[@]}" 40 1000 "cases that ran"
}

@test "shared/runtime_chevron" { row; }
@test "shared/runtime_launch" { row; }
@test "shared/runtime_ex" { row; }
@test "shared/runtime_cooperative" { row; }
@test "shared/runtime_graph" { row; }
@test "static/runtime_chevron" { row; }
@test "static/runtime_launch" { row; }
@test "static/runtime_ex" { row; }
@test "static/runtime_cooperative" { row; }
@test "static/runtime_graph" { row; }
@test "shared/runtime_chevron_ptds" { row; }
@test "shared/runtime_launch_ptds" { row; }
@test "shared/runtime_ex_ptds" { row; }
@test "shared/runtime_cooperative_ptds" { row; }
@test "shared/runtime_graph_ptds" { row; }
@test "static/runtime_chevron_ptds" { row; }
@test "static/runtime_launch_ptds" { row; }
@test "static/runtime_ex_ptds" { row; }
@test "static/runtime_cooperative_ptds" { row; }
@test "static/runtime_graph_ptds" { row; }
@test "driver/linked_driver_launch" { row; }
@test "driver/linked_driver_ex" { row; }
@test "driver/linked_driver_cooperative" { row; }
@test "driver/linked_driver_graph" { row; }
@test "driver/resolved_driver_launch" { row; }
@test "driver/resolved_driver_ex" { row; }
@test "driver/resolved_driver_cooperative" { row; }
@test "driver/resolved_driver_graph" { row; }
@test "driver/linked_driver_launch_ptds" { row; }
@test "driver/linked_driver_ex_ptds" { row; }
@test "driver/linked_driver_cooperative_ptds" { row; }
@test "driver/linked_driver_graph_ptds" { row; }
@test "driver/resolved_driver_launch_ptds" { row; }
@test "driver/resolved_driver_ex_ptds" { row; }
@test "driver/resolved_driver_cooperative_ptds" { row; }
@test "driver/resolved_driver_graph_ptds" { row; }
@test "driver/linked_driver_images" { row; }
@test "driver/resolved_driver_images" { row; }
@test "static/process_fork_first" { row; }
@test "static/process_fork_after" { row; }
@test "static/process_fork_busy" { row; }
@test "static/process_daemon" { row; }
@test "static/process_closefrom" { row; }
@test "static/process_many" { row; }
@test "static/process_sqlite" { row; }
@test "static/process_reload" { row; }
@test "shared/process_reload" { row; }
@test "static/process_exec" { row; }
@test "static/process_exit" { row; }
@test "shared/process_cupti_linked" { row; }
@test "shared/process_cupti_linked+threads" { row; }
@test "shared/process_cupti_loaded" { row; }
@test "shared/process_cupti_loaded+threads" { row; }
@test "driver/linked_driver_launch+wrapper" { row; }

@test "every case by CUDA_INJECTION64_PATH alone" { door injection; }
@test "every case by LD_PRELOAD and CUDA_INJECTION64_PATH at once: one row per launch" { door both; }
@test "every case by LD_AUDIT and LD_PRELOAD" { door audit; }
@test "every case by all three at once: one row per launch" { door all; }
