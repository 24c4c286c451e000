# From cuda.h: ERROR(name) for each value of CUresult.
/^typedef enum cudaError_enum/ { inside = 1 }
inside && /^} *CUresult;/ { exit }
inside && match($0, /^ *CUDA_(SUCCESS|ERROR_[A-Z0-9_]*) *=/) {
	name = substr($0, RSTART, RLENGTH)
	gsub(/[ =]/, "", name)
	printf "ERROR(%s)\n", name
}
