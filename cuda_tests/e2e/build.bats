# Setting up and installing.
load common

@test "scripts/setup with everything there: says nothing, in under half a second" {
	local before took best=10000000
	for round in 1 2 3 4 5 6 7 8 9 10; do # a busy machine only makes it slower: the best round counts
		before=${EPOCHREALTIME/./}
		run "$root/scripts/setup"
		took=$((${EPOCHREALTIME/./} - before))
		equal "$status" 0 "exit status"
		equal "$output" "" output
		((took < best)) && best=$took
	done
	within "$best" 0 500000 microseconds
}

@test "scripts/setup without the rights: prints the apt line, exits 1, installs nothing" {
	command -v setpriv >/dev/null || skip "no setpriv"
	command -v apt-get >/dev/null || skip "no apt-get"
	local tool bin as_nobody=()
	((EUID != 0)) || as_nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	bin=$(mktemp -d) # bats' own folders are closed to others
	chmod 755 "$bin"
	for tool in bash dirname env grep readlink gcc g++ make ar pkg-config sqlite3 find apt-get python3 clang cat mktemp; do
		command -v "$tool" >/dev/null && ln -s "$(command -v "$tool")" "$bin/"
	done
	"${as_nobody[@]}" test -r "$root/scripts/setup" || skip "the source folder is closed to ordinary users"
	run "${as_nobody[@]}" env -u CI CUDA_HOME="${CUDA_HOME-}" PATH="$bin" bash "$root/scripts/setup" </dev/null
	rm -r "$bin"
	equal "$status" 1 "exit status"
	contains "$output" "sudo apt-get install"
	for tool in bats jq procps; do
		contains "$output " " $tool "
	done
}

@test "make without a compiler: nothing is said before set-up begins" {
	local tool bin=$PWD/bin
	mkdir "$bin"
	for tool in bash dirname env readlink grep nproc git; do
		ln -s "$(command -v "$tool")" "$bin/"
	done
	keep dry env -i PATH="$bin" "$(command -v make)" -n -C "$root" demo BUILD="$PWD/new"
	equal "$(<dry.err)" "" "error output"
	contains "$(<dry.out)" "scripts/setup"
}

@test "scripts/run-tests: tests see nothing of the environment but what it names" {
	cat >environment <<-'END'
		#!/bin/bash
		[[ $LC_ALL == C.UTF-8 && $PYTHONDONTWRITEBYTECODE == 1 && $KC_BUILD == here ]] || not="not "
		for name in LANG PYTHONPATH KERNCAST_DB SIMCUDA_DEVICE LD_LIBRARY_PATH COLUMNS NO_COLOR; do
			[[ ! -v $name ]] || not="not "
		done
		printf '1..1\n%sok 1 - as on a bare machine\n' "${not-}"
	END
	chmod +x environment
	keep bare env LANG=C LC_ALL=C PYTHONDONTWRITEBYTECODE= PYTHONPATH=/nowhere KERNCAST_DB=/nowhere SIMCUDA_DEVICE=K40 \
		COLUMNS=40 NO_COLOR=1 KC_BUILD=here "$root/scripts/run-tests" ./environment
	equal "$(tail -n 1 bare.out)" "1 passed, 0 failed, 0 skipped"
}

@test "scripts/run-tests: what failed is run again, alone, where it runs in real time, and listed at the end" {
	for name in steady timed broken; do
		{
			[[ $name == steady ]] || echo "# Runs in real time."
			printf '@%s "%s case" {\n' test "$name"
			printf 'echo >>%q\n' "$PWD/$name.runs"
			[[ $name == timed ]] && printf '[[ $(wc -l <%q) == 2 ]]\n}\n' "$PWD/$name.runs" || printf 'false\n}\n'
		} >$name.bats
	done
	PATH=$(tr : '\n' <<<"$PATH" | grep -v bats-core | paste -sd :) # bats puts its inner commands there
	keep again "$root/scripts/run-tests" ./steady.bats ./timed.bats ./broken.bats
	equal "$(<again.status)" 1 "exit status"
	equal "$(wc -l <steady.runs)" 1 "runs of what does not depend on time"
	equal "$(wc -l <timed.runs)" 2 "runs of what passes the second time"
	equal "$(wc -l <broken.runs)" 2 "runs of what fails each time"
	equal "$(grep -v '^ ' again.out | tail -n 3)" "failed: ./steady.bats: steady case
failed: ./broken.bats: broken case
1 passed, 2 failed, 0 skipped"
	contains "$(<again.out)" "to be run again, alone: ./timed.bats: timed case"
}

@test "make install: command, library, manual and schemas, and they work from there" {
	make -s -C "$root" install BUILD="${build#"$root/"}" DESTDIR="$PWD/root" PREFIX=/opt/kerncast
	equal "$(cd root/opt/kerncast && find . -type f ! -name 'libkerncast*.so' ! -path './share/kerncast/schemas/*' | sort | tr '\n' ' ')" \
		"./bin/kerncast ./bin/kerncast-lab ./share/bash-completion/completions/kerncast\
 ./share/bash-completion/completions/kerncast-lab ./share/fish/vendor_completions.d/kerncast-lab.fish\
 ./share/fish/vendor_completions.d/kerncast.fish ./share/man/man1/kerncast-lab.1 ./share/man/man1/kerncast.1\
 ./share/zsh/site-functions/_kerncast ./share/zsh/site-functions/_kerncast-lab " "installed files"
	equal "$(cd root/opt/kerncast/lib/kerncast && ls)" "$(cd "$build" && ls libkerncast*.so)" "installed libraries"
	diff -r root/opt/kerncast/share/kerncast/schemas "$root/tools/schemas"
	root/opt/kerncast/bin/kerncast-lab experiment list | grep -q '^bsp '
	root/opt/kerncast/bin/kerncast run -q "$build/demo-static-sim" --rounds 10
	equal "$(sql 'SELECT count(*) FROM launch')" "$(counted launches)" "rows in launch"
}

@test "make uninstall takes away what make install put there, and nothing else" {
	local where=(BUILD="${build#"$root/"}" DESTDIR="$PWD/a root" PREFIX=/opt/kerncast)
	mkdir -p "a root/opt/kerncast/lib"
	echo theirs >"a root/opt/kerncast/lib/theirs.so"
	make -s -C "$root" install "${where[@]}"
	within "$(find "a root" -type f | wc -l)" 20 40 "files with what was there"
	make -s -C "$root" uninstall "${where[@]}"
	equal "$(find "a root" -type f)" "a root/opt/kerncast/lib/theirs.so" "files left"
	equal "$(find "a root" -path '*schemas*' -o -path '*/share/kerncast' -o -path '*/lib/kerncast')" "" "folders left"
	make -s -C "$root" uninstall "${where[@]}" # nothing there is no error
}

@test "make help: a line for each target that people call" {
	local target
	make -s -C "$root" help BUILD="${build#"$root/"}" >help.out
	for target in all demo test sanitize torture fuzz lint bench install uninstall format clean help; do
		grep -q -E "^  make $target +[a-zA-Z]" help.out || { echo "no $target in: $(<help.out)"; return 1; }
	done
	within "$(LC_ALL=C.UTF-8 wc -L <help.out)" 20 100 "columns"
	# What README and the manual call is there.
	for target in $(sed -n 's/^    make \([a-z-]\+\)\( .*\)\?$/\1/p' "$root/README.md" "$root"/tools/manual/*.md); do
		grep -q "make $target " help.out || { echo "README or manual calls $target"; return 1; }
	done
}

@test "CHANGELOG.md has the version that kerncast tells, and what is not yet released before it" {
	local version unreleased newest
	version=$("$kerncast" --version | head -n 1)
	version=${version#kerncast }
	{ read -r unreleased && read -r newest; } < <(sed -n 's/^## \[\([^]]*\)\].*/\1/p' "$root/CHANGELOG.md")
	equal "$unreleased" Unreleased "first heading"
	if [[ $version == *-dev ]]; then # what comes after the newest release
		equal "$(printf '%s\n' "${version%-dev}" "$newest" | sort -V | tail -n 1)" "${version%-dev}" "newer than $newest"
		[[ ${version%-dev} != "$newest" ]] || { echo "$newest is released"; return 1; }
	else
		equal "$newest" "$version" "newest release"
	fi
}

@test "make with nothing changed does nothing" {
	run make -C "$root" BUILD="${build#"$root/"}"
	equal "$status" 0 "exit status"
	contains "$output" "Nothing to be done"
}

functions_of() { # FILE: defined in it, sorted
	nm --defined-only "$1" | awk '$2 ~ /^[TtWw]$/ { print $3 }' | sort -u
}

@test "libkerncast.so holds nothing that only reads afterwards" {
	local name
	functions_of "$library" >inside
	{ functions_of "$kerncast" && functions_of "$lab"; } >commands
	grep -qx kc_store_open inside || { echo "no symbols in $library"; return 1; }
	equal "$(functions_of "$build/libreaders.a" | grep '^kc_' | comm -12 - inside)" "" "functions of libreaders.a"
	equal "$(grep -E '^kc_+(figures|score|yardstick|query|report)_' inside)" "" "functions for reports"
	# Whichever archive they are in, and each by the name that it has today.
	for name in cplus_demangle_v3_callback kc_readable_name kc_query_report kc_query_select kc_report_free kc_recover kc_store_forget_run \
		kc_sweeps_collect kc_replay_run kc__recorded_replay kc__figures_add kc__score_add kc__yardstick_add \
		kc_basis_train kc_boathull_ns; do
		grep -qx "$name" commands || { echo "$name is not in $kerncast"; return 1; }
		! grep -qx "$name" inside || { echo "$name is in $library"; return 1; }
	done
}

@test "kerncast holds nothing of kerncast-lab" {
	local name
	functions_of "$kerncast" >commands
	functions_of "$lab" >lab
	for name in $(find "$build/tools/lab" -name '*.o' ! -name '*_test.o' -exec nm -A --defined-only {} + | awk '$2 == "T" { print $3 }'); do
		grep -qx "$name" lab || { echo "$name is not in $lab"; return 1; }
		! grep -qx "$name" commands || { echo "$name is in $kerncast"; return 1; }
	done
	for name in kc_sweeps_collect kc_blocks_predict; do
		! grep -qx "$name" commands || { echo "$name is in $kerncast"; return 1; }
	done
}

@test "cuda_tests/README.md names every folder and every end-to-end test" {
	local readme path
	readme=$(<"$root/cuda_tests/README.md")
	for path in "$root"/cuda_tests/*/; do
		contains "$readme" "| \`$(basename "$path")/\` |"
	done
	for path in "$root"/cuda_tests/e2e/*.bats "$root"/cuda_tests/e2e/*/*.bats; do
		contains "$readme" "\`$(basename "$path" .bats)\`"
	done
}
