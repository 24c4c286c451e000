# The page of kerncast report --html in a browser: that it is drawn, sorted, searched and zoomed, by mouse and keyboard,
# and that hostile names run nothing and ask the network for nothing. page.bats has what needs no browser.
load ../common

kernels='[...document.querySelectorAll("#kernels tbody tr")].map(row => [...row.cells[0].querySelectorAll("code")].pop().textContent.split("(")[0]).join(" ")'
heads='document.querySelectorAll("#kernels th")'
buttons='document.querySelectorAll("#kernels th button")'
ticks='[...document.querySelectorAll(".timeline .axes text")].map(text =>
	text.textContent + " at " + Math.round(text.getBoundingClientRect().x)).join(" ")'
slices='document.querySelectorAll(".timeline .slice").length'
back='getComputedStyle(document.body).backgroundColor'
chosen='document.querySelector(".chosen").textContent'

setup_file() { # one browser does all that is done to this page, as starting one takes seconds
	export PAGES=$BATS_FILE_TMPDIR
	cd "$PAGES" || return 1
	for ((i = 0; i < 2; i++)); do
		LD_LIBRARY_PATH=$simcuda SIMCUDA_SEED=1 "$kerncast" run -q -o demo.db "$build/demo-static-sim" --rounds 30 >/dev/null
	done
	"$kerncast" report --html demo.html demo.db
	! has_browser || "$root/cuda_tests/e2e/browser.py" demo.html \
		'sections=[...document.querySelectorAll("section")].map(part => part.id).join(" ")' \
		'figures=document.querySelectorAll("figure > svg").length' \
		'marks=document.querySelectorAll("figure .dots, figure .box, figure .bubble, figure .line").length' \
		'first=document.querySelector("header").firstChild.textContent.slice(0, 10)' \
		'ledger=document.querySelector("#ledger").textContent.includes("The counts add up.")' \
		'predicted=document.querySelectorAll(".timeline .slice.predicted").length' "drawn=$kernels" \
		'odd=(document.body.innerText.match(/.*(\[object|undefined|NaN|Infinity|null).*/g) || []).join("; ")' \
		"do:${buttons}[0].click()" "by_name=$kernels" "do:${buttons}[0].click()" "by_name_down=$kernels" "sorted=${heads}[0].getAttribute('aria-sort')" \
		'do:document.querySelector("#kernels input").focus()' type:'VECTOR add' "found=$kernels" \
		'said=document.querySelector("#kernels output").textContent' 'do:document.activeElement.select()' 'type: ' "again=$kernels" \
		key:Tab key:Tab 'focus=document.activeElement.textContent' 'visible=document.activeElement.matches(":focus-visible")' key:Enter \
		"by_share=$kernels" "sorted_by_key=${heads}[1].getAttribute('aria-sort')" \
		"slices=$slices" "whole=$ticks" 'do:document.querySelector(".timeline").focus()' key:+ key:+ key:+ "zoomed=$slices" "scale=$ticks" \
		key:ArrowRight "moved=$ticks" key:ArrowLeft "moved_back=$ticks" key:- key:- key:- "zoomed_out=$slices" key:+ key:Home "home=$ticks" \
		key:n "selected=$chosen" 'selected_slices=document.querySelectorAll(".slice.selected").length' key:n "next=$chosen" key:p "previous=$chosen" \
		'do:document.querySelectorAll("#timeline .controls button")[0].click()' "by_button=$slices" \
		light "light=$back" dark "dark=$back" width:390 'narrow=document.documentElement.scrollWidth' pdf:page.pdf >seen
}

needs_browser() {
	has_browser || skip "no Chromium or no python3 (Debian: chromium; scripts/setup --all installs it)"
	cd "$PAGES" || return 1
}

browse() { # PAGE STEP...
	has_browser || skip "no Chromium or no python3 (Debian: chromium; scripts/setup --all installs it)"
	"$root/cuda_tests/e2e/browser.py" "$@" >seen || { cat seen; return 1; }
}

seen() { # NAME: what it came to, text without its quotes
	sed -n "s/^$1 //p" seen | sed 's/^"\(.*\)"$/\1/'
}

is() { # NAME WANTED
	equal "$(seen "$1")" "$2" "$1"
}

nothing_else() { # neither errors nor requests
	equal "$(grep -E '^(error|requested): ' seen || true)" "" "errors and requests"
}

@test "the page is drawn: sections, figures, timeline, table; no error, no request" {
	needs_browser
	is sections "timeline kernels slow steps changed ran classes accuracy ledger"
	is first SIMULATED:
	is figures 6
	within "$(seen marks)" 20 400 "marks in the figures"
	is ledger true
	is odd "" # what is no text for people
	is predicted "$(sql 'SELECT count(*) FROM (SELECT 1 FROM launch WHERE run = 2 AND end_ns UNION ALL
		SELECT 1 FROM transfer t JOIN process p ON p.id = t.process WHERE run = 2 AND end_ns AND sequence BETWEEN
		(SELECT min(sequence) FROM launch WHERE run = 2) AND (SELECT max(sequence) FROM launch WHERE run = 2))' demo.db)"
	nothing_else
}

@test "what was asked for is said above the page" {
	"$kerncast" report --html page.html --device 0 --stream 1 "$PAGES/demo.db"
	browse page.html 'said=[...document.querySelectorAll(".about")].map(part => part.textContent).find(text => text.startsWith("Filter"))'
	contains "$(seen said)" "Filter: stream 1; GPU 0: "
}

by_share() { # the kernels of demo.db, the one that took most time first
	sql "SELECT group_concat(name, ' ') FROM (SELECT substr(k.name, 1, instr(k.name, '(') - 1) AS name FROM launch l JOIN kernel k ON
		k.id = l.kernel WHERE run = 2 GROUP BY k.id ORDER BY sum(measured_end_ns - measured_start_ns) DESC)" demo.db
}

@test "kernels are sorted and searched, by mouse and by keyboard" {
	needs_browser
	is drawn "$(by_share)"
	is by_name "matmul reduce saxpy stencil transpose vector_add"
	is by_name_down "vector_add transpose stencil saxpy reduce matmul"
	is sorted descending
	is found vector_add
	is said "1 of 6 kernels"
	is again "vector_add transpose stencil saxpy reduce matmul"
	is focus share
	is visible true
	is by_share "$(by_share)"
	is sorted_by_key descending
}

@test "the timeline is zoomed and moved by keyboard and button, and launches are selected" {
	needs_browser
	(($(seen zoomed) < $(seen slices) && $(seen by_button) < $(seen slices))) || { echo "all slices after zooming in"; return 1; }
	[[ $(seen scale) != "$(seen whole)" && $(seen moved) != "$(seen scale)" ]] || { echo "the scale stays: $(seen scale)"; return 1; }
	is moved_back "$(seen scale)"
	is zoomed_out "$(seen slices)"
	is home "$(seen whole)"
	contains "$(seen selected)" "predicted"
	is selected_slices 2 # what was predicted, and what was measured
	[[ $(seen next) != "$(seen selected)" ]] || { echo "the next launch is the same: $(seen next)"; return 1; }
	is previous "$(seen selected)"
}

@test "dark, narrow and printed" {
	needs_browser
	is light "rgb(255, 255, 255)"
	is dark "rgb(20, 23, 27)"
	within "$(seen narrow)" 300 390 "width of the page in a window of 390"
	equal "$(head -c 4 page.pdf)" %PDF "what was printed"
}

@test "170 kernels with long names: 6,000 pixels at most, each on a line, and nothing is wider than a narrow window" {
	local at=0 k i
	{
		echo kind,start_ns,duration_ns,name
		for ((i = 0; i < 12; i++)); do
			for ((k = 0; k < 170; k++)); do
				printf 'kernel,%d,%d,"void at::native::vectorized_elementwise_kernel<4, at::native::Functor%dOf<float>, at::detail::Array<char*, 3> >(int, at::native::Functor%dOf<float>, at::detail::Array<char*, 3>)"\n' \
					$((at += 100000)) $(((k + 1) * (i == 7 ? 300 : 200))) $k $k
			done
		done
	} >long.csv
	"$kerncast" import long.csv -o long.db >/dev/null
	"$kerncast" report --html long.html long.db
	browse long.html width:1280 'height=document.documentElement.scrollHeight' \
		'rows=document.querySelectorAll("#kernels tbody tr").length' \
		'lines=Math.max(...[...document.querySelectorAll("#kernels summary code")].map(name => name.getClientRects().length))' \
		'forms=new Set([...document.querySelectorAll("#kernels summary code")].map(name => name.textContent)).size' \
		'do:[...document.querySelectorAll("#kernels button")].pop().click()' 'all=document.querySelectorAll("#kernels tbody tr").length' \
		'all_forms=new Set([...document.querySelectorAll("#kernels summary code")].map(name => name.textContent)).size' \
		'closed=document.querySelector("#ledger > details").open' 'do:document.querySelector("#kernels summary").click()' 'whole=document.querySelector("#kernels details[open] > code").textContent.length' \
		'do:location.hash = "#ledger"' 'do:new Promise(next => setTimeout(next, 100))' 'open=document.querySelector("#ledger > details").open' width:390 'narrow=document.documentElement.scrollWidth'
	within "$(seen height)" 1000 6000 "height of the page"
	is rows 20
	is lines 1
	is forms 20
	is all 170
	is all_forms 170
	is whole 179 # the letters of the name of Functor169Of
	is closed false
	is open true
	within "$(seen narrow)" 300 390 "width of the page in a window of 390"
	nothing_else
}

@test "hostile names run nothing and ask for nothing" {
	local i=0 name
	{
		echo kind,start_ns,duration_ns,process,device_name,name
		for name in '</script><script>document.title="run"</script>' '<!--<script>' '</style><style>*{display:none}</style>' \
			'<img src=http://192.0.2.1/x onerror=document.title="run">' $'k\u2028l\u2029' '&lt;b&gt;' __proto__; do
			for ((k = 0; k < 3; k++)); do printf 'kernel,%d,1500,"%s","%s","%s"\n' $((i += 2000)) '<b>p' '<b>GPU' "${name//\"/\"\"}"; done
		done
	} >hostile.csv
	"$kerncast" import hostile.csv -o '<img src=x onerror=document.title=1>.db' >/dev/null
	"$kerncast" report --html hostile.html '<img src=x onerror=document.title=1>.db'
	browse hostile.html 'title=document.title' 'made=document.querySelectorAll("img, b > b, style").length' \
		'last=[...document.querySelectorAll("#kernels tbody tr")].map(row => row.cells[0].textContent).sort().slice(-1)[0]' \
		'rows=document.querySelectorAll("#kernels tbody tr").length' 'display=getComputedStyle(document.querySelector("#kernels")).display'
	is title "kerncast: <img src=x onerror=document.title=1>.db"
	is made 1 # the page's own style sheet
	is last 'k\\u2028l\\u2029'
	is rows 7
	is display block
	nothing_else
}

@test "what these tests look for would be seen: a script that is forbidden, one that fails, a request" {
	sed 's/^<\/script>$/nosuchname();\n&/' "$PAGES/demo.html" >other.html # another hash
	browse other.html 'sections=document.querySelectorAll("section").length'
	is sections 0
	contains "$(<seen)" "error: "
	sed '/Content-Security-Policy/d; s/^<\/script>$/nosuchname();\n&/; s/<main/<img src="file:\/\/\/nosuch.png"><main/' "$PAGES/demo.html" >open.html
	browse open.html 'sections=document.querySelectorAll("section").length'
	is sections 9
	contains "$(<seen)" "requested: file:///nosuch.png"
	contains "$(<seen)" "nosuchname is not defined"
}
