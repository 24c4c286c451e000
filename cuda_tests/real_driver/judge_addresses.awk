# Compares what addresses.c printed without kerncast and with it. usage:
#	awk -v version=CUDA-VERSION -f judge_addresses.awk shim/hooks.h WITHOUT WITH
# Each look-up must lead to the same function: to the hook of that symbol where there is one, else to the
# driver's own. Every hook of the driver's version, in the form of cuDriverGetVersion, must be among them.
# Prints how many, or what is wrong; exit status 1.
function wrong(text) {
	if (++faults <= 10)
		print text
}

FILENAME == ARGV[1] {
	if (match($0, /X\(cu[^)]*\)/)) {
		split(substr($0, RSTART + 2, RLENGTH - 3), field, /, */)
		hook[field[1]] = field[3] + 0
	}
	next
}

# Columns: look-up, result, file, symbol.
FILENAME == ARGV[2] {
	without[FNR] = $1 " " $2 " " $4
	file[FNR] = $3
	lines = FNR
	if ($3 != "-" && $3 != "libcuda")
		wrong("without kerncast, " $1 " leads to " $3)
	if ($4 in hook) {
		split($1, part, ":") # when, how
		there[part[2], $4] = 1
	}
	next
}

{
	wanted = $4 in hook ? "libkerncast" : file[FNR]
	if ($1 " " $2 " " $4 != without[FNR])
		wrong("\"" $1 " " $2 " " $4 "\", without kerncast \"" without[FNR] "\"")
	else if ($3 != wanted)
		wrong($1 " leads to " $3 ", not to " wanted)
	else if ($4 in hook) {
		split($1, part, ":")
		routed[part[2], $4] = 1
	}
	compared = FNR
}

function count(list, how,    key, part, n) {
	for (key in list) {
		split(key, part, SUBSEP)
		n += part[1] == how
	}
	return n + 0
}

END {
	if (compared != lines)
		wrong(lines " look-ups without kerncast, " compared " with it")
	n = split("dlsym proc proc_v2", how, " ")
	for (i = 1; i <= n; i++) {
		if (count(routed, how[i]) != count(there, how[i]))
			wrong(how[i] ": " count(routed, how[i]) " of " count(there, how[i]) " hooks routed")
		said = said ", " count(routed, how[i]) "/" count(there, how[i]) " by " how[i]
	}
	for (symbol in hook)
		if (hook[symbol] <= version && !(("dlsym", symbol) in there))
			wrong(symbol " was not found, of version " hook[symbol])
	if (faults)
		exit 1
	print compared " look-ups; hooks routed: " substr(said, 3)
}
