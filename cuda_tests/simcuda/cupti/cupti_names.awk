# Names for the CUPTI stand-in to print:
# from cupti_result.h       RESULT(CUPTI_ERROR_UNKNOWN)
# from cupti_*_cbid.h       DRIVER(cuInit), RUNTIME(cudaMalloc_v3020)
match($0, /^ *CUPTI_(ERROR_[A-Z0-9_]+|SUCCESS) *=/) && !/FORCE_INT/ {
	name = substr($0, RSTART, RLENGTH)
	gsub(/[ =]/, "", name)
	printf "RESULT(%s)\n", name
}
match($0, /CUPTI_(DRIVER|RUNTIME)_TRACE_CBID_[A-Za-z0-9_]+/) && !/_(INVALID|SIZE|FORCE_INT)/ {
	name = substr($0, RSTART, RLENGTH)
	domain = name ~ /_DRIVER_/ ? "DRIVER" : "RUNTIME"
	sub(/CUPTI_(DRIVER|RUNTIME)_TRACE_CBID_/, "", name)
	printf "%s(%s)\n", domain, name
}
