# From cudaTypedefs.h, cudaProfilerTypedefs.h and the names of the functions that this driver has (nm's output) to resolve_table.h:
# SYMBOL(function) for all of them, ENTRY(base name, version, per-thread, function) for cuGetProcAddress.
# The i-th version of a base name is its i-th ABI: cuMemAlloc, cuMemAlloc_v2, …; a per-thread twin of
# version 7000 belongs to the newest ABI of that time.
BEGIN { # defined in cu_resolve.c, which is built with the table
	have["cuGetProcAddress"] = have["cuGetProcAddress_v2"] = have["cuGetExportTable"] = 1
	later("cuLaunchHostFunc", 13010)
	later("cuStreamBeginCaptureToCig", 13010)
	later("cuStreamEndCaptureToCig", 13010)
	later("cuMemcpyWithAttributesAsync", 13020)
	later("cuMemcpy3DWithAttributesAsync", 13020)
	later("cuStreamBeginRecaptureToGraph", 13030)
	# of cudaGLTypedefs.h, which the pinned packages of scripts/setup do not hold
	note("cuGraphicsGLRegisterBuffer", 3000, "")
	note("cuGraphicsGLRegisterImage", 3000, "")
}
# cudaTypedefs.h of CUDA 13.5 has them
function later(base, version) {
	note(base, version, "")
	note(base, version, "_ptsz")
}
function note(base, version, twin) {
	if (twin != "")
		twins[base, version] = twin
	else
		plain[base, version] = 1
	bases[base] = 1
	if (!((base, version) in seen)) {
		seen[base, version] = 1
		versions[base] = versions[base] " " version
	}
}
/typedef .*PFN_cu[A-Za-z0-9]*_v[0-9]+/ {
	match($0, /PFN_cu[A-Za-z0-9]*_v[0-9]+(_ptsz|_ptds)?/)
	type = substr($0, RSTART + 4, RLENGTH - 4)
	twin = ""
	if (match(type, /_pt[ds][sz]$/)) {
		twin = substr(type, RSTART)
		type = substr(type, 1, RSTART - 1)
	}
	match(type, /_v[0-9]+$/)
	note(substr(type, 1, RSTART - 1), substr(type, RSTART + 2) + 0, twin)
	next
}
$2 == "T" && $3 ~ /^cu[A-Z]/ { have[$3] = 1 }
$3 == "T" && $4 ~ /^cu[A-Z]/ { have[$4] = 1 }
function sorted(list, out,    n, i, j, t) {
	n = split(list, out, " ")
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && out[j - 1] + 0 > out[j] + 0; j--) {
			t = out[j]; out[j] = out[j - 1]; out[j - 1] = t
		}
	return n
}
function entry(base, version, per_thread, name) {
	if (name in have)
		printf "ENTRY(\"%s\", %d, %d, %s)\n", base, version, per_thread, name
}
END {
	for (name in have)
		printf "SYMBOL(%s)\n", name | "sort"
	close("sort")
	for (base in bases) {
		n = sorted(versions[base], v)
		abi = 0
		for (i = 1; i <= n; i++) {
			if ((base, v[i]) in plain)
				abi++
			name = base (abi > 1 ? "_v" abi : "")
			if ((base, v[i]) in plain)
				entry(base, v[i], 0, name)
			if ((base, v[i]) in twins)
				entry(base, v[i], 1, name twins[base, v[i]])
		}
	}
}
