# From driver_types.h: one line for each runtime error, X(name).
/enum __device_builtin__ cudaError$/ { inside = 1 }
inside && /^ *};/ { exit }
inside && match($0, /^ *cudaError?[A-Za-z]* *=/) {
	name = substr($0, RSTART, RLENGTH)
	gsub(/[ =]/, "", name)
	printf "X(%s)\n", name
}
inside && match($0, /^ *cudaSuccess *=/) { print "X(cudaSuccess)" }
