# The check against NVIDIA's own drivers, where none can be had: the check itself is
# scripts/real-driver, which needs Debian's archive.
load common

check() { # what it prints goes to check.out
	[[ $(uname -m) == x86_64 && ! -d /proc/driver/nvidia ]] || skip "the pinned packages are for x86-64, without an NVIDIA kernel module"
	command -v apt-get dpkg-deb >/dev/null || skip "needs apt"
	keep check env KC_BUILD="$build" KC_DEBIAN_MIRROR=file:///nowhere "$root/scripts/real-driver" "$PWD/place"
}

@test "what the archive does not have is skipped, with the reason" {
	local kinds
	check
	kinds=$(awk -F '\t' '!/^#/ { print $1, $2 }' "$root/scripts/lists/real-driver.tsv" | sort -u | wc -l)
	equal "$(<check.status)" 0 "exit status"
	equal "$(tail -n 1 check.out)" "0 passed, 0 failed, $kinds skipped" "closing line"
	equal "$(grep -c '^skipped  .*[0-9]: .*[a-z]' check.out)" "$kinds" "reasons"
}

@test "a package with another SHA-256 than the pinned one is a failure, and is not unpacked" {
	local package version
	read -r package version < <(awk -F '\t' '$1 == "driver" && $2 == "12.4" { print $4, $5; exit }' "$root/scripts/lists/real-driver.tsv")
	mkdir -p place/debs
	echo "not this" >"place/debs/${package}_${version}_amd64.deb"
	check
	equal "$(<check.status)" 1 "exit status"
	contains "$(tail -n 1 check.out)" " 1 failed, "
	contains "$(grep -A 1 '^FAILED' check.out)" SHA-256
	equal "$(find place -name 'libcuda*.so*')" "" "unpacked"
}
