# What cuGetProcAddress and dlsym answer: a driver may have more ABIs of a name
# than kerncast knows, and each must get the calls that are meant for it.
load ../common

abi=$build/awkward/newer_abi

@test "cuLaunchHostFunc of CUDA 13.1: a call of either ABI reaches that one" {
	export SIMCUDA_DRIVER_VERSION=13010
	keep plain "$abi" 12000 13010
	equal "$(tail -n 1 plain.out)" "3 calls" "without kerncast"
	equal "$(counted host_functions_v2)" 1 "calls of the second ABI without kerncast"
	rm "$SIMCUDA_LOG"
	keep shimmed "$kerncast" run -q -- "$abi" 12000 13010
	equal "$(counted host_functions_v2)" 1 "calls of the second ABI"
	same plain shimmed
}

@test "an ABI of a later CUDA: handed out as it is, and the older ones keep their functions" {
	export LD_LIBRARY_PATH=$build/awkward/future_driver KERNCAST_QUIET=1
	keep plain "$abi" 12000 13010 99000
	equal "$(grep -c '^cuLaunchHostFunc_v3(data, 1)' plain.out)" 1 "calls of the third ABI without kerncast"
	keep shimmed preloaded "$abi" 12000 13010 99000
	same plain shimmed
	keep plain "$abi" 99000 13010 12000
	keep shimmed preloaded "$abi" 99000 13010 12000
	same plain shimmed
}

@test "addresses that are not exported: hooked by name as long as the version is known" {
	export SIMCUDA_DRIVER_VERSION=13010 SIMCUDA_FAULT=hidden-addresses
	keep plain "$abi" 12000 99000 13010
	equal "$(counted host_functions_v2)" 3 "calls of the second ABI without kerncast"
	rm "$SIMCUDA_LOG"
	keep shimmed "$kerncast" run -q -- "$abi" 12000 99000 13010
	same plain shimmed
	equal "$(counted host_functions_v2)" 3 "calls of the second ABI"
	equal "$(report '$.ledger.left_unhooked')" 1 "addresses left unhooked"
	contains "$("$kerncast" report)" "left unhooked              1"
}

@test "addresses that are exported: each is known, and no hook is chosen by name" {
	"$kerncast" run -q "$build/demo-static-sim" --rounds 3 >/dev/null
	equal "$(report '$.ledger.matched')" "$(counted launches)" matched
	equal "$(report '$.ledger.routed_by_name')" 0 "routed by name"
}

@test "a preloaded library answers with a function of its own: it is called, once per call" {
	keep plain env LD_PRELOAD="$build/awkward/resolver.so" "$abi" 12000
	equal "$(grep -c 'resolver: called' plain.out)" 1 "calls without kerncast"
	keep shimmed env LD_PRELOAD="$library:$build/awkward/resolver.so" "$abi" 12000
	same plain shimmed
	keep shimmed env LD_PRELOAD="$build/awkward/resolver.so:$library" "$abi" 12000
	same plain shimmed
}

@test "a look-up in the whole process finds the driver where it would without kerncast" {
	local asks='#include <dlfcn.h>
		#include <stdio.h>
		int main(void) { puts(dlsym(RTLD_DEFAULT, "cuLaunchKernel") ? "found" : "not found"); return 0; }'
	gcc -shared -fPIC -D_GNU_SOURCE -o linked.so -x c - -x none -Wl,--no-as-needed "$simcuda/libcuda.so" <<<"$asks"
	gcc -shared -fPIC -D_GNU_SOURCE -o unlinked.so -x c - <<<"$asks"
	# Libraries opened RTLD_LOCAL: the first brings the driver in for itself, not for the second.
	keep plain "$build/doors/open" plain ./linked.so -- plain ./unlinked.so
	keep shimmed preloaded "$build/doors/open" plain ./linked.so -- plain ./unlinked.so
	equal "$(<plain.out)" $'found\nnot found' "without kerncast"
	same plain shimmed
}

@test "functions of later drivers: copies are transfers, captured launches are not taken for executed ones" {
	local later=$build/awkward/later_calls
	export SIMCUDA_DRIVER_VERSION=13030 SIMCUDA_CIG=1
	keep plain "$later"
	equal "$(<plain.status)" 0 "status without kerncast"
	contains "$(<plain.out)" "copied with attributes"
	equal "$(counted kernels)" 8 "kernels executed: two graphs of three, and one on each of two streams"
	equal "$(counted copies)" 4 "copies"
	rm -f "$SIMCUDA_LOG"
	keep shimmed "$kerncast" run -q -- "$later"
	same plain shimmed
	equal "$(report '$.ledger.launches')" 8 launches
	equal "$(report '$.ledger.matched')" 8 matched
	equal "$(report '$.ledger.captured')" 9 "captured launches"
	equal "$(sql "SELECT group_concat(grid_x) FROM (SELECT grid_x FROM launch ORDER BY sequence)")" 10,11,12,20,21,22,40,50 sizes
	equal "$(sql "SELECT sum(count) FROM ledger WHERE item = 'transfers_measured'")" 4 "measured transfers"
	equal "$(sql "SELECT count(*) FROM transfer WHERE bytes = 64 AND result = 0")" 4 "transfers"
	ledger_adds_up
}

@test "a driver without them answers as it did" {
	keep plain "$build/awkward/later_calls" 13000
	contains "$(<plain.out)" "no cuMemcpyWithAttributesAsync"
	keep shimmed preloaded "$build/awkward/later_calls" 13000
	same plain shimmed
}

@test "functions of the program with the C library's names serve the program, and no call of ours" {
	unchanged_under_run "$build/awkward/own_names"
	equal "$(<shimmed.status)" 0 "exit status"
	equal "$(<shimmed.out)" 1 "threads that the program has made"
	equal "$(sql 'SELECT count(*) FROM launch')" 1000 "rows in launch"
	equal "$(ls ./*.kcj 2>/dev/null)" "" "journals left"
}
