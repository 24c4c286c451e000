# A program built with AddressSanitizer, whose leak check looks at the whole process as it ends.
load ../common

leaks=$build/awkward/leaks

# The check cannot look at a process where tracing is forbidden.
plain() { # ARGUMENTS...
	keep plain "$leaks" "$@"
	! grep -q 'LeakSanitizer has encountered a fatal error' plain.err || skip "no leak check here"
}

clean() { # VARIABLE=VALUE... LAUNCHES
	plain "${@: -1}"
	keep shimmed env "${@:1:$#-1}" "$kerncast" run -q -- "$leaks" "${@: -1}"
	same plain shimmed
	equal "$(<plain.status)" 0 "exit status"
}

@test "AddressSanitizer: nothing of kerncast's is a leak" {
	clean 2000
	equal "$(sql "SELECT count(*) FROM launch")" 2000 "rows in launch"
}

@test "AddressSanitizer: nor is what earlier runs taught" {
	clean 2000
	clean 2000
	equal "$(sql "SELECT count(*) FROM launch")" 4000 "rows in launch"
}

@test "AddressSanitizer: nor is what the worker thread is still at" {
	clean KERNCAST_QUIET=1 KERNCAST_FLUSH_MS=1 200000
}

@test "AddressSanitizer: the program's own leak is reported as without kerncast" {
	plain 2000 leak
	keep shimmed "$kerncast" run -q -- "$leaks" 2000 leak
	diff plain.out shimmed.out
	diff plain.status shimmed.status
	[[ $(<plain.status) != 0 ]]
	contains "$(<plain.err)" "leak of 4711 byte(s) in 1 object(s)"
	equal "$(grep SUMMARY shimmed.err)" "$(grep SUMMARY plain.err)" "summary"
}
