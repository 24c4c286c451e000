# What the tests of scripts/gpu-check share: programs that others take the place of, and what its summary says.

with_program() { # NAME: stdin takes the place of that program; $real is its own, $under whether kerncast is around it
	[[ -e files ]] || cp -rs "$(cd "$build" && pwd)/gpu" files
	rm "files/$1"
	{
		printf '#!/bin/bash\nreal=%q under=\n' "$build/gpu/$1"
		echo '[[ ${LD_PRELOAD-} != *libkerncast* ]] || under=1'
		cat
	} >"files/$1"
	chmod +x "files/$1"
}

python_with_torch() { # stdin: shell code for a program, whose name is $name; makes ./python
	mkdir -p modules/torch && : >modules/torch/__init__.py
	{
		echo '#!/bin/bash'
		printf 'export PYTHONPATH=%q\n' "$PWD/modules"
		echo '[[ $1 != -c ]] || exec python3 "$@"'
		printf 'build=%q demo=%q name=${1##*/}\n' "$build" "$build/gpu/demo-static-sim"
		cat
	} >python
	chmod +x python
}

column() { # QUESTION COLUMN of the summary
	awk -F ' *[|] *' -v name="$1" -v column="$2" '$2 == name { print $column; exit }' out/summary.md
}

verdict() { # STEP, as the summary has it
	column "$1" 3
}

answer() { # QUESTION, its verdict in the summary
	column "$1" 5
}

with_check() { # stdin: python that uses the modules of the check
	PYTHONPATH="$root/scripts" python3 -B -
}
