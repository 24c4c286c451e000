# README and the manual: what they show is what the commands print, and their links lead somewhere.
load common

MOST_WORDS=1300 PICTURE_BYTES=150000

outputs() { # ARG...
	"$root/scripts/docs/outputs" --build "$build" "$@"
}

@test "each output in README and the manual is what the command prints" {
	outputs >said || { cat said; return 1; }
	within "$(sed -n 's/ outputs compared, 0 different$//p' said)" 30 999 "outputs compared"
}

@test "another figure, a missing line and a line too many are found, and written anew" {
	sed 's/13\.8 ms     1,798/13.9 ms     1,798/' "$root/README.md" >figure.md
	sed '/^  difference  why/d' "$root/README.md" >missing.md
	sed 's/^  difference  why/    no such line\n&/' "$root/README.md" >many.md
	all=$(outputs "$root/README.md" | sed -n 's/^\([0-9]*\) outputs compared, 0 different$/\1/p')
	within "$all" 6 99 "outputs of README.md"
	for page in figure missing many; do
		run outputs "$page.md"
		equal "$status $(tail -n 1 <<<"$output")" "1 $all outputs compared, 1 different" "$page"
	done
	outputs --update figure.md >said
	cmp "$root/README.md" figure.md
}

@test "numbers that vary are left out where a page says so, and commands that it says are not run" {
	cat >page.md <<-'END'
		<!-- numbers vary: random -->
		```
		$ echo "$RANDOM µs of $RANDOM"; echo other
		12 µs of 9
		```

		<!-- not repeated: there is none -->
		```
		$ no-such-command
		found
		```

		    $ printf 'a\nb\nc\n'
		    a
		    …
		    $ true
	END
	outputs page.md >said || { cat said; return 1; }
	equal "$(<said)" "3 outputs compared, 0 different"
	sed -i 's/12 µs of 9/12 µs or 9/' page.md
	run outputs page.md
	equal "$status $(tail -n 1 <<<"$output")" "1 3 outputs compared, 1 different"
}

man_examples() { # COMMAND...: as blocks of a page
	local command
	for command in "$@"; do
		"$(that_has "$command")" --man | perl -CS -pe 's/\\\[u([0-9A-F]+)\]/chr(hex($1))/ge; s/^\\&//; s/\\e/\\/g' |
			awk -v command="\$ $(basename "$(that_has "$command")") $command" '/^\$ |^\.Ed/ { on = index($0, command) == 1 && !seen; seen = seen || on } on' >example
		[[ -s example ]] || { echo "no example of $command"; return 1; }
		printf '```\n%s\n```\n\n' "$(<example)"
	done
}

@test "the examples in the manual page are what the commands print" {
	local traces=$root/cuda_tests/traces name tile n
	mkdir files
	ln -s "$build/demo-static-sim" files/app
	cp "$traces/traces/pytorch/kineto_resnet50_v100_a.csv.gz" files/trace.csv.gz
	for name in bf16 int8; do
		"$kerncast" import "$traces/examples/ao_vit_${name}_a100.csv.gz" -o files/$name.db >/dev/null
	done
	"$kerncast" import "$traces/examples/hta_trace_diff_control_a100.csv.gz" --device a100 -o files/kerncast.db >/dev/null
	gzip -dc "$traces/tuning/convolution__A4000__main.csv.gz" |
		awk -F, -v OFS=, 'NR > 1 && NR % 20 != 2 { $NF = "" } 1' >files/times.csv
	{
		echo file,kernel,grid,block,args,tile,coalesced
		for tile in 8,yes 8,no 16,yes 16,no 32,yes 32,no; do
			name=${tile#*,} name=matmul_tiled_${name/no/un} n=${tile%,*}
			echo "$build/explain/libkernels.so,${name/yes/}coalesced_$n,\"$((1024 / n)),$((1024 / n))\",\"$n,$n\",\"0x10000000,0x20000000,0x30000000,1024\",$tile"
		done
	} >files/matmul.csv
	man_examples import report diff slow whatif devices merge export predict slowdown replay explain basis tune experiment >page.md
	outputs --in files page.md >said || { cat said; return 1; }
	equal "$(<said)" "15 outputs compared, 0 different"
}

@test "no page of the manual is longer than a file of the sources" {
	local page
	for page in "$root"/tools/manual/*.md "$root"/{,tools/}README.md; do
		within "$(wc -l <"$page")" 10 600 "lines of $page"
	done
}

@test "README is short, and its pictures are there and small" {
	local picture count=0
	within "$(wc -w <"$root/README.md")" 600 $MOST_WORDS words
	for picture in $(grep -oE '(src|srcset)="[^"]*"' "$root/README.md" | cut -d '"' -f 2); do
		within "$(stat -c %s "$root/$picture")" 10000 $PICTURE_BYTES "bytes of $picture"
		((count += 1))
	done
	equal $count 2 pictures
}

@test "the picture's answers are those of the page that is made today" {
	has_browser || skip "no Chromium or no python3 (Debian: chromium; scripts/setup --all installs it)"
	"$root/scripts/docs/pictures" --check --build "$build"
}

@test "links between the pages lead to files and headings" {
	"$root/scripts/docs/links" >said || { cat said; return 1; }
	within "$(sed -n 's/ links, 0 lead nowhere$//p' said)" 50 9999 links
	printf '# A Heading: `one`\n[a](#a-heading-one) [b](#other) [c](none.md) [d](https://example.org)\n' >page.md
	run "$root/scripts/docs/links" "$PWD/page.md"
	equal "$status" 1 "exit status"
	equal "$(tail -n 1 <<<"$output")" "4 links, 2 lead nowhere"
}

@test "README's Working on it has the commands of .ci/run, and no others" {
	sed -n '/^## Working on it/,$s/^    \(.*[^ ]\)\( *#.*\)\?$/\1/p' "$root/README.md" | sed 's/ *#.*//' >readme
	sed -n 's/^step \(.*\)/\1/p' "$root/.ci/run" >ci
	within "$(wc -l <ci)" 10 30 commands
	diff ci readme
	# GitHub's CI is that script, and has no steps of its own but for what a bare system lacks.
	equal "$(sed -n 's/^      - run: //p' "$root/.github/workflows/ci.yml" | grep -v '^apt-get \|^git config ')" .ci/run
}
