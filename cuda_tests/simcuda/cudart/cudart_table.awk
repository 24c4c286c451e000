# From cudaTypedefs.h: one line for each driver function the cudart stand-in looks up,
#   X(member, "name", version, flags, type)
# in its newest version, per-thread-default-stream twins (_ptds, _ptsz) apart.
# cuda.h renames functions by macro; the #undefs let members bear the plain names.
# Functions whose unsuffixed name in cuda.h still means the older version keep it.
BEGIN {
	keep["cuCtxSynchronize"] = 2000
	keep["cuCtxGetDevice"] = 2000
	keep["cuStreamGetCtx"] = 9020
}
/^#if defined\(__CUDA_API_VERSION_INTERNAL\)/ { internal = 1 }
/^#endif/ { internal = 0 }
internal { next }
match($0, /PFN_cu[A-Za-z0-9]+_v[0-9]+(_pt(sz|ds))?\)/) {
	type = substr($0, RSTART, RLENGTH - 1)
	name = type
	sub(/^PFN_/, "", name)
	twin = sub(/_pt(sz|ds)$/, "", name)
	version = name
	sub(/.*_v/, "", version)
	sub(/_v[0-9]+$/, "", name)
	member = name (twin ? "_ptsz" : "")
	if (name in keep && version + 0 != keep[name])
		next
	if (!(member in newest))
		order[++count] = member
	if (version + 0 < newest[member])
		next
	newest[member] = version + 0
	line[member] = sprintf("X(%s, \"%s\", %d, %d, %s)", member, name, version, twin ? 2 : 0, type)
}
END {
	for (i = 1; i <= count; i++)
		printf "#undef %s\n", order[i]
	print "#define CUDART_DRIVER_TABLE(X) \\"
	for (i = 1; i <= count; i++)
		printf "\t%s%s\n", line[order[i]], i < count ? " \\" : ""
}
