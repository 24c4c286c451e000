# From cupti_runtime_cbid.h: each runtime function's callback id without its version, the newest of them,
#   #define CUDART_CBID_cudaMalloc CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020
match($0, /CUPTI_RUNTIME_TRACE_CBID_[A-Za-z0-9_]+_v[0-9]+/) {
	id = substr($0, RSTART, RLENGTH)
	name = id
	version = id
	sub(/^CUPTI_RUNTIME_TRACE_CBID_/, "", name)
	sub(/_v[0-9]+$/, "", name)
	sub(/.*_v/, "", version)
	if (version + 0 >= newest[name]) {
		newest[name] = version + 0
		full[name] = id
	}
}
END {
	for (name in full)
		printf "#define CUDART_CBID_%s %s\n", name, full[name]
}
