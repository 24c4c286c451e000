# scripts/gpu-check, on the stand-in device: all of it, less of everything.
load common

setup() { # it makes its own environment
	cd "$BATS_TEST_TMPDIR" || return 1
}

check() { # FILES ARG...: with FILES in the place of build/gpu
	local files=$1
	shift
	mkdir -p build && ln -sfn "$files" build/gpu
	keep check timeout 60 "$root/scripts/gpu-check" --simulated --quick --build build --output out "$@"
}

with_program() { # NAME: stdin takes the place of that program
	[[ -e files ]] || cp -rs "$(cd "$build" && pwd)/gpu" files
	rm "files/$1"
	cat >"files/$1"
	chmod +x "files/$1"
}

runs() { # PID; a zombie that nobody has waited for yet does not
	local state
	state=$(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null)
	[[ -n $state && $state != Z ]] && echo yes || echo no
}

verdict() { # STEP, as the summary has it
	awk -F ' *[|] *' -v step="$1" '$2 == step { print $3; exit }' out/summary.md
}

@test "gpu-check --simulated runs every step in its time, and says SIMULATED on every table" {
	local tables captions
	check "$build/gpu" --limit 35
	cat check.out check.err
	equal "$(<check.status)" 0 "exit status"
	for step in environment demo facts matrix cost accuracy experiments; do
		equal "$(verdict $step)" passed "$step"
	done
	equal "$(verdict frameworks)" skipped frameworks
	contains "$(head -n 1 out/summary.md)" SIMULATED
	tables=$(sed '1,/^## /d' out/summary.md | grep -c '^|---')
	captions=$(grep -c '^SIMULATED: a stand-in device' out/summary.md)
	within "$tables" 6 100 tables
	equal "$captions" "$tables" "tables that say SIMULATED"
	within "$(ls out | wc -l)" 2 8 "files in the results folder"
	equal "$(find out -name 'databases.tar*' | wc -l)" 1 "archives of databases"
}

@test "gpu-check: a step that crashes and one that hangs do not stop the others" {
	with_program facts <<-'END'
		#!/bin/bash
		printf 'first fact\tholds\tseen\n'
		sleep 300 & # a child that would outlive it
		echo $! >"${BASH_SOURCE[0]%/*}/child"
		wait
	END
	printf '#!/bin/bash\nkill -SEGV $$\n' | with_program demo-shared
	check "$PWD/files" --limit 40 --steps environment,demo,facts,accuracy
	cat check.out check.err
	equal "$(<check.status)" 1 "exit status"
	equal "$(verdict demo)" FAILED demo
	equal "$(verdict facts)" FAILED facts
	equal "$(verdict accuracy)" passed accuracy
	contains "$(<out/summary.md)" "died by signal 11"
	contains "$(<out/summary.md)" "ran into its limit"
	contains "$(<out/summary.md)" "first fact"
	[[ $(runs "$(<files/child)") == no ]] || { echo "what it started is still there"; return 1; }
}

@test "gpu-check: without its files it names the cure, and writes nothing" {
	mkdir -p empty
	check "$PWD/empty"
	equal "$(<check.status)" 2 "exit status"
	contains "$(<check.err)" "make gpu-check-files"
	[[ ! -e out ]]
}
