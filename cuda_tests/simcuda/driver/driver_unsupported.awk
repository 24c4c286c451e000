# From unsupported.txt and the prototypes of cuda.h: UNSUPPORTED(function, (parameters)) for each name of the list.
# A plain name of cuda.h means the newest ABI, cuX_v2, while it is a macro: "#define cuX cuX_v2", until "#undef cuX".
FNR == NR {
	if ($0 !~ /^#/ && NF)
		wanted[$1] = 1
	next
}
/^ *# *define +cu[A-Z]/ && $3 ~ /^(__CUDA_API_PT[DS][SZ]\()?cu[A-Z]/ {
	match($3, /cu[A-Za-z0-9_]+/)
	if (substr($3, RSTART, RLENGTH) ~ "^" $2 "_v[0-9]+$")
		newest[$2] = substr($3, RSTART, RLENGTH)
}
/^ *# *undef +cu[A-Z]/ { delete newest[$2] }
/^ *(__CUDA_DEPRECATED )?CUresult CUDAAPI/ { prototype = ""; open = 1 }
open {
	prototype = prototype " " $0
	if ($0 !~ /;/)
		next
	open = 0
	match(prototype, /cu[A-Z][A-Za-z0-9_]*\(/)
	name = substr(prototype, RSTART, RLENGTH - 1)
	parameters = substr(prototype, RSTART + RLENGTH - 1)
	sub(/;.*/, "", parameters)
	if (name in newest)
		name = newest[name]
	if (wanted[name] == 1) {
		printf "UNSUPPORTED(%s, %s)\n", name, parameters
		wanted[name] = 2
	}
}
END {
	for (name in wanted)
		if (wanted[name] == 1) {
			print "unsupported.txt: cuda.h does not declare " name > "/dev/stderr"
			exit 1
		}
}
