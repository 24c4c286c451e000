# The numbers that a page draws: those of a document that was made by hand, cuda_tests/page/made.json, against what was
# worked out from it by hand, cuda_tests/page/drawn.js and colours.js. The page is a real one with the document put in place of its data.
load ../common

CHECKS=(numbers scales top ran slow steps per_step colours changed accuracy limits kernels folded sorting little ledger predicted errors classes lambdas slowdowns timeline pointer places)

with_document() { # PAGE: the same with made.json for its data
	sed -e '/ id="data">/ { s/ id="data">.*/ id="data">/; r '"$root/cuda_tests/page/made.json"'
		a </script>
		}' "$1"
}

compare() { # PAGE: told, a line for each of CHECKS
	local steps=() name
	for name in "${CHECKS[@]}"; do steps+=("$name=told('$name')"); done
	"$root/cuda_tests/e2e/browser.py" "$1" "do:$(cat "$root"/cuda_tests/page/{drawn,colours}.js)" "${steps[@]}" >told
}

setup_file() { # one browser does it all, as starting one takes seconds
	export PAGES=$BATS_FILE_TMPDIR
	cd "$PAGES" || return 1
	printf 'kind,start_ns,duration_ns,name\nkernel,0,1000,k\n' >one.csv
	"$kerncast" import one.csv -o one.db >/dev/null
	"$kerncast" report --html one.html one.db
	with_document one.html >made.html
	! has_browser || compare made.html
}

needs_browser() {
	has_browser || skip "no Chromium or no python3 (Debian: chromium; scripts/setup --all installs it)"
	cd "$PAGES" || return 1
}

right() { # NAME...: each was compared, and nothing differs
	local name
	for name in "$@"; do
		[[ $(sed -n "s/^$name //p" told) =~ ^\"[1-9][0-9]*\ compared\"$ ]] || { grep "^$name " told || cat told; return 1; }
	done
}

@test "numbers, scales, bars and medians are those worked out by hand" {
	needs_browser
	right numbers scales colours
}

@test "all sections say what the document says" {
	needs_browser
	right top ran slow steps per_step changed accuracy limits kernels folded sorting little ledger
	equal "$(grep -E '^(error|requested): ' told || true)" "" "errors and requests"
}

@test "dots, lines and boxes of the figures are at the values that their axes give them" {
	needs_browser
	right predicted errors classes lambdas slowdowns
}

@test "the timeline shows times where its axis has them, and moves, zooms and selects" {
	needs_browser
	right timeline pointer
}

@test "no label lies upon another or outside its figure" {
	needs_browser
	right places
}

@test "what these tests look for would be seen: a sum that is wrong, a dot in another place, a bar too long" {
	needs_browser
	sed -e 's/showPercent(slow\.lost\.share)/showPercent(slow.lost.share \/ 10)/' -e 's/x(row\[MEASURED\]), y(row\[PREDICTED\])/x(row[HIGH]), y(row[PREDICTED])/' \
		-e 's/row.accuracy.within_20 \/ 100/row.accuracy.within_20 \/ 50/' -e '/Content-Security-Policy/d' made.html >wrong.html
	mkdir wrong && cd wrong && compare ../wrong.html
	equal "$(for name in "${CHECKS[@]}"; do right "$name" >differs || echo "$name"; done | xargs)" "top slow accuracy little predicted" "what differs"
}
