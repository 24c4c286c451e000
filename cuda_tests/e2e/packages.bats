# What is packaged, by what `make dist` left in build/dist; skipped where nothing was made.
load common

dist=$root/build/dist
version=$("$root/scripts/package/version")
wheel=$dist/kerncast-$("$root/scripts/package/version" wheel)-py3-none-manylinux_2_28_x86_64.whl
deb=$dist/kerncast_$("$root/scripts/package/version" deb)_amd64.deb
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
	"$root/scripts/package/check-floor" 2.28 environment/bin/kerncast environment/bin/kerncast-lab environment/lib/kerncast/*.so
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
	"$root/scripts/package/check-floor" 2.28 root/usr/bin/* root/usr/lib/kerncast/*.so
	equal "$(cd root && find . -name '*kerncast*' ! -path '*/schemas/*' -type f | sort | tr '\n' ' ')" "./usr/bin/kerncast ./usr/bin/kerncast-lab\
 ./usr/lib/kerncast/libkerncast-audit.so ./usr/lib/kerncast/libkerncast.so\
 ./usr/share/bash-completion/completions/kerncast ./usr/share/bash-completion/completions/kerncast-lab\
 ./usr/share/fish/vendor_completions.d/kerncast-lab.fish ./usr/share/fish/vendor_completions.d/kerncast.fish\
 ./usr/share/lintian/overrides/kerncast ./usr/share/man/man1/kerncast-lab.1.gz ./usr/share/man/man1/kerncast.1.gz\
 ./usr/share/zsh/vendor-completions/_kerncast ./usr/share/zsh/vendor-completions/_kerncast-lab "
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

# --- Debian 11, of whose system its C library alone is needed

fetch_libc6() { # SUITE: into the current folder, from Debian, without a change of this machine's apt
	mkdir -p apt/lists/partial apt/cache/archives/partial
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $1 main" >apt/sources.list
	local apt=(apt-get -qq -o Dir::Etc::SourceList="$PWD/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
		-o Dir::State::Lists="$PWD/apt/lists" -o Dir::Cache="$PWD/apt/cache" -o Acquire::Languages=none
		-o APT::Sandbox::User=root -o Acquire::Retries=2)
	"${apt[@]}" update && "${apt[@]}" download "libc6/$1"
}

@test "with the C library of Debian 11, glibc 2.31, the command starts, and what it preloads records" {
	local options
	needs "$tarball" tarball
	((EUID == 0)) && unshare --mount true 2>/dev/null || skip "chroot needs root, and a mount namespace of its own"
	fetch_libc6 bullseye >fetch.out 2>&1 || skip "Debian's packages cannot be fetched: $(tail -n 1 fetch.out)"
	mkdir -p root/{tmp,proc,dev}
	dpkg-deb --extract libc6_2.31-*_amd64.deb root
	tar -xzf "$tarball" -C root
	options=$("$root/scripts/package/portable" --options)
	make -s -j2 -C "$root" BUILD=build/portable CC=scripts/package/cc OPT="$options" build/portable/lag build/portable/simcuda/lib{cuda.so.1,cupti.so.13}
	cp "$root"/build/portable/{lag,simcuda/libcuda.so.1,simcuda/libcupti.so.13} root
	there() { # COMMAND...: in that root, with /proc
		env -i PATH="$PATH" LD_LIBRARY_PATH=/ unshare --mount --propagation private \
			sh -c 'mount -t proc proc root/proc && exec chroot root "$@"' sh "$@"
	}
	there "/kerncast-$version-linux-x86_64/bin/kerncast" --version | head -n 1 >version.out
	equal "$(<version.out)" "kerncast $version"
	there "/kerncast-$version-linux-x86_64/bin/kerncast" devices | grep -q H100
	there "/kerncast-$version-linux-x86_64/bin/kerncast" run -q -o /tmp/kerncast.db /lag 1000 500
	equal "$(sql "SELECT count(*) FROM launch" root/tmp/kerncast.db)" 500 "launches"
	ledger_adds_up root/tmp/kerncast.db
}
