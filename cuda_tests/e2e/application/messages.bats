# What kerncast says on standard error: never where it does harm, and in `message` all the same.
load ../common

messages=$build/awkward/messages

# The program is given a bad option, which is said at its start.
complaining() { # COMMAND...
	timeout 60 env KERNCAST_MEASURE=nonsense LD_PRELOAD="$library" "$@"
}

# Output and status are those without kerncast. What standard error is, the program decides.
unchanged() { # ARGUMENTS...
	keep plain "$messages" "$@"
	keep shimmed complaining "$messages" "$@"
	diff plain.out shimmed.out
	equal "$(<shimmed.status)" "$(<plain.status)" "exit status"
	equal "$(<plain.status)" 0 "exit status of the program"
	kept
}

kept() {
	equal "$(sql "SELECT count(*) FROM message WHERE code = 'OPTION'")" 1 "rows in message"
	equal "$(sql "SELECT count(*) FROM launch")" 100 "rows in launch"
}

@test "standard error is a pipe that nobody reads any more: no SIGPIPE" {
	unchanged gone launch
}

@test "no journal can be made, standard error is a pipe that nobody reads any more: no SIGPIPE" {
	export KERNCAST_DB=/nonexistent/kerncast.db
	keep plain "$messages" gone launch
	keep shimmed preloaded "$messages" gone launch
	same plain shimmed
	equal "$(<plain.status)" 0 "exit status of the program"
}

@test "SIGPIPE pending already: it stays so" {
	unchanged gone pending
	contains "$(<shimmed.out)" "SIGPIPE pending: 1"
}

@test "standard error is a full pipe: the program does not wait" {
	unchanged full launch
}

@test "standard error is a socket that nobody reads any more: no SIGPIPE" {
	unchanged socket-gone launch
}

@test "standard error is a full socket: the program does not wait" {
	unchanged socket-full launch
}

@test "number 2 is a data file of the program: nothing is added to it" {
	unchanged data data.txt
	equal "$(<data.txt)" $'first\nsecond' "the data file"
}

@test "standard error is a file at RLIMIT_FSIZE: no SIGXFSZ" {
	export KERNCAST_DB=/nonexistent/kerncast.db
	head -c 65536 /dev/zero >log
	keep plain bash -c 'ulimit -f 64; exec "$0" launch 2>>log' "$messages"
	keep shimmed bash -c 'ulimit -f 64; exec env LD_PRELOAD="$1" "$0" launch 2>>log' "$messages" "$library"
	same plain shimmed
	equal "$(<plain.status)" 0 "exit status of the program"
	equal "$(stat -c %s log)" 65536 "bytes in the file"
}

@test "standard error is a file: the line stands where the program was" {
	keep plain "$messages" around
	complaining "$messages" around >shimmed.out 2>log
	diff plain.out shimmed.out
	equal "$(grep -v '^kerncast: ' log)" $'first\nsecond' "what the program wrote"
	equal "$(grep -n '^kerncast: an option' log | cut -d: -f1)" 2 "the line's place"
	kept
}

@test "standard error is a pipe that is read: the line arrives" {
	{ complaining "$messages" launch 2>&1 >shimmed.out || echo "status $?"; } | cat >log
	equal "$(grep -c '^kerncast: an option' log)" 1 "lines"
	equal "$(wc -l <log)" 1 "lines in all"
	kept
}

@test "standard error is a named pipe: the line arrives" {
	mkfifo pipe
	cat pipe >log &
	complaining "$messages" launch >shimmed.out 2>pipe
	wait $!
	equal "$(grep -c '^kerncast: an option' log)" 1 "lines"
	kept
}

@test "standard error is a terminal: the line arrives" {
	command -v script >/dev/null || skip "no script"
	export -f complaining
	export library messages
	# shellcheck disable=SC2016 # the inner shell's variables
	SHELL=$(command -v bash) script -qec 'complaining "$messages" launch' log </dev/null >/dev/null
	equal "$(grep -c 'kerncast: an option' log)" 1 "lines"
	kept
}

# The database is there in the second run, and is opened before the first launch.
@test "standard error is closed: its number stays free" {
	unchanged closed
	contains "$(<plain.out)" "next number: 2"
	keep shimmed complaining "$messages" closed
	same plain shimmed
}
