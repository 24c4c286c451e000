# What is packaged, by what `make wheel`, `make deb` and `make tarball` left in build/dist; skipped where nothing was made.
load common

dist=$root/build/dist
version=$(sed -n 's/^#define KC_VERSION "\(.*\)"/\1/p' "$root/store/common/version.h")
wheel=$dist/kerncast-$version-py3-none-manylinux_2_28_x86_64.whl
deb=$dist/kerncast_${version}_amd64.deb
tarball=$dist/kerncast-$version-linux-x86_64.tar.gz

needs() { # FILE TARGET
	[[ -r $1 ]] || skip "no ${1##*/}; make $2 makes it, with a download of 77 MB"
}

# A command that was installed somewhere: it records, and tells the library beside it.
works() { # COMMAND LIBRARY
	rm -f kerncast.db* "$SIMCUDA_LOG"
	"$1" run -q "$build/demo-static-sim" --rounds 10
	equal "$(sql 'SELECT count(*) FROM launch')" "$(counted launches)" "rows"
	equal "$("$1" --library)" "$(realpath "$2")" "library"
}

@test "check-floor: what needs a newer glibc, another library or a copied variable is named" {
	local floor=$root/scripts/package/check-floor
	# clock_gettime came into libc with glibc 2.17, copy_file_range with 2.27 (their manual pages).
	cat >newer.c <<-'END'
		#define _GNU_SOURCE
		#include <unistd.h>
		long kerncast_test(void) { return copy_file_range(0, 0, 1, 0, 1, 0); }
	END
	gcc -shared -fPIC -nostartfiles newer.c -o newer.so
	run "$floor" 2.27 newer.so
	equal "$status|$output" "0|newer.so: needs glibc 2.27"
	run "$floor" 2.26 newer.so
	equal "$status" 1 "exit status"
	contains "$output" "newer.so: needs glibc 2.27, for copy_file_range@GLIBC_2.27"
	run "$floor" 2.9 newer.so # versions are no decimal fractions
	equal "$status" 1 "exit status for 2.9"
	echo 'int sqlite3_libversion_number(void); int kerncast_test(void) { return sqlite3_libversion_number(); }' >library.c
	gcc -shared -fPIC -nostartfiles library.c -o library.so -lsqlite3
	run "$floor" 2.28 library.so
	equal "$status" 1 "exit status with a library"
	contains "$output" "needs the library libsqlite3.so.0"
	echo '#include <stdio.h>
		int main(void) { return stdin == NULL; }' >copies.c
	gcc -O0 -fno-pic -no-pie copies.c -o copies
	run "$floor" 2.99 copies
	equal "$status" 1 "exit status with a copy"
	contains "$output" "copies variables of the C library: stdin@GLIBC"
	run "$floor" 2.28 copies.c
	equal "$status" 1 "exit status for what is no ELF file"
	run "$floor" 2.28
	equal "$status" 2 "exit status for wrong use"
}

@test "a wheel written twice has the same bytes, and RECORD tells them" {
	local python=/usr/bin/python3
	"$python" -c 'import zipfile' 2>/dev/null || python=$(command -v python3) || skip "no python3 (scripts/setup --all installs it)"
	mkdir -p stage/bin stage/lib/kerncast stage/share/doc/kerncast
	printf '\x7fELF program' >stage/bin/kerncast
	printf '\x7fELF library' >stage/lib/kerncast/libkerncast.so
	echo licence >stage/share/doc/kerncast/copyright
	SOURCE_DATE_EPOCH=1700000000 "$python" "$root/scripts/package/wheel" stage first
	sleep 0.01
	touch stage/bin/kerncast
	SOURCE_DATE_EPOCH=1700000000 "$python" "$root/scripts/package/wheel" stage second
	cmp first/*.whl second/*.whl
	SOURCE_DATE_EPOCH=1700000002 "$python" "$root/scripts/package/wheel" stage third # ZIP counts in 2 s
	run cmp -s first/*.whl third/*.whl
	equal "$status" 1 "status of cmp"
	"$python" - first/*.whl <<-'END'
		import base64, csv, hashlib, sys, zipfile
		archive = zipfile.ZipFile(sys.argv[1])
		names = archive.namelist()
		record, = (name for name in names if name.endswith(".dist-info/RECORD"))
		rows = {path: (digest, size) for path, digest, size in csv.reader(archive.read(record).decode().splitlines())}
		assert set(rows) == set(names), set(rows) ^ set(names)
		for name in names:
		    digest = base64.urlsafe_b64encode(hashlib.sha256(archive.read(name)).digest()).decode().rstrip("=")
		    assert name == record or rows[name] == ("sha256=" + digest, str(len(archive.read(name)))), name
		program, = (about for about in archive.infolist() if about.filename.endswith(".data/scripts/kerncast"))
		assert program.external_attr >> 16 == 0o100755, oct(program.external_attr >> 16)
		assert {about.date_time for about in archive.infolist()} == {(2023, 11, 14, 22, 13, 20)}
	END
}

@test "the wheel: glibc 2.28 is enough, and it works in a fresh environment" {
	needs "$wheel" wheel
	/usr/bin/python3 -c 'import ensurepip, venv' 2>/dev/null || skip "no python3-venv (scripts/setup --all installs it)"
	/usr/bin/python3 -m venv environment
	environment/bin/pip install -q --no-index --disable-pip-version-check "$wheel"
	"$root/scripts/package/check-floor" 2.28 environment/bin/kerncast environment/lib/kerncast/*.so
	works environment/bin/kerncast environment/lib/kerncast/libkerncast.so
	environment/bin/python -c '
import kerncast, sys
from kerncast import _command
assert _command.find() == sys.argv[1], _command.find()
assert kerncast.open("kerncast.db").launches("dicts")' "$PWD/environment/bin/kerncast"
	environment/bin/pip uninstall -q -y --disable-pip-version-check kerncast
	equal "$(find environment -name '*kerncast*' ! -type d)" "" "files left"
}

@test "the Debian package: where things are, what it depends on, and what lintian says" {
	needs "$deb" deb
	dpkg-deb --extract "$deb" root
	equal "$(dpkg-deb -f "$deb" Depends)" "libc6 (>= 2.28)" "Depends"
	"$root/scripts/package/check-floor" 2.28 root/usr/bin/kerncast root/usr/lib/kerncast/*.so
	equal "$(cd root && find . -name '*kerncast*' ! -path '*/schemas/*' -type f | sort | tr '\n' ' ')" "./usr/bin/kerncast\
 ./usr/lib/kerncast/libkerncast-audit.so ./usr/lib/kerncast/libkerncast.so\
 ./usr/share/bash-completion/completions/kerncast ./usr/share/fish/vendor_completions.d/kerncast.fish\
 ./usr/share/lintian/overrides/kerncast ./usr/share/man/man1/kerncast.1.gz\
 ./usr/share/zsh/vendor-completions/_kerncast "
	(cd root && md5sum --quiet -c <(dpkg-deb --info "$deb" md5sums))
	works root/usr/bin/kerncast root/usr/lib/kerncast/libkerncast.so
	if command -v lintian >/dev/null; then
		equal "$(lintian --allow-root --fail-on none "$deb" | grep '^E:')" "" "errors of lintian"
	fi
}

@test "the tar archive works where it is unpacked" {
	needs "$tarball" tarball
	mkdir 'any where'
	tar -xzf "$tarball" -C 'any where'
	equal "$(tar -tvzf "$tarball" | awk '{ print $2 }' | sort -u)" "0/0" "owner"
	mv 'any where' anywhere # a path with a blank cannot be preloaded
	works "anywhere/kerncast-$version-linux-x86_64/bin/kerncast" "anywhere/kerncast-$version-linux-x86_64/lib/kerncast/libkerncast.so"
}
