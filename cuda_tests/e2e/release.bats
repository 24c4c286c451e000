# Releases: making one, in a clone that is thrown away, and databases of earlier and later ones.
load common

make_clone() { # a commit that says 9.8.0-dev
	git clone -q --shared --no-checkout "$root" clone
	cd clone || return 1
	git config user.name "kerncast test"
	git config user.email test@kerncast.invalid
	git sparse-checkout set --no-cone /CHANGELOG.md /LICENSE /store/common/version.h /tools/manual/install.md /scripts/package/ /.gitattributes
	git checkout -q --detach
	sed -i 's/^#define KC_VERSION .*/#define KC_VERSION "9.8.0-dev"/' store/common/version.h
	sed -i '/^| [0-9.]*-dev |/d; s/^| 0\.1\.0 |\(.*\)/&\n| 9.8.0-dev | 90 | 1 to 90 | 91 |/' tools/manual/install.md
	printf '%s\n' '# Changelog' '' '## [Unreleased]' '' '<!-- The form. -->' '' '### Added' '- One thing.' '' '## [9.7.0] - 2026-01-02' '' \
		'### Fixed' '- Another.' >CHANGELOG.md
	git commit -qam "Try"
}

refused() { # PART-OF-SENTENCE ARGUMENT...
	local part=$1 before after
	shift
	before=$(git rev-parse HEAD; git diff)
	run scripts/package/release "$@"
	equal "$status" 1 "exit status"
	contains "$output" "$part"
	after=$(git rev-parse HEAD; git diff)
	equal "$after" "$before" "what is there after it was refused"
}

@test "a release is two commits: a dated one, and the beginning of the next version" {
	local today
	make_clone
	today=$(date --utc +%F)
	scripts/package/release 9.8.0
	equal "$(git log -2 --format=%s)" "Begin 9.9.0"$'\n'"Release 9.8.0"
	equal "$(git status --porcelain)" "" "left over"
	equal "$(git show HEAD~1:CHANGELOG.md | tr '\n' '|')" "# Changelog||## [Unreleased]||<!-- The form. -->||## [9.8.0] - $today||### Added|- One\
 thing.||## [9.7.0] - 2026-01-02||### Fixed|- Another.|"
	equal "$(git show HEAD~1:store/common/version.h | grep -E '^#define KC_(VERSION|RELEASED) ' | tr '\n' '|')" \
		"#define KC_VERSION \"9.8.0\"|#define KC_RELEASED \"$(LC_ALL=C date -d "$today" '+%B %-d, %Y')\"|"
	equal "$(git show HEAD~1:tools/manual/install.md | grep -c '^| 9\.8\.0 | 90 | 1 to 90 | 91 |$')" 1 "rows of 9.8.0"
	equal "$(scripts/package/version)|$(scripts/package/version deb)|$(scripts/package/version wheel)" "9.9.0-dev|9.9.0~dev|9.9.0.dev0"
	equal "$(grep -E '^\| 9' tools/manual/install.md)" "| 9.8.0 | 90 | 1 to 90 | 91 |"$'\n'"| 9.9.0-dev | 90 | 1 to 90 | 91 |"
	# Debian's order, and Python's: what is being worked on comes before its release and after the one before.
	dpkg --compare-versions "9.9.0~dev" lt 9.9.0
	dpkg --compare-versions "9.9.0~dev" gt 9.8.0
	refused "tells nothing under Unreleased" 9.9.0
}

@test "a release is refused in a sentence, and nothing has changed" {
	make_clone
	refused "usage: scripts/package/release VERSION" 9.8
	refused "says 9.8.0-dev, not 9.7.0-dev" 9.7.0
	refused "next is no version" 9.8.0 next
	echo more >>LICENSE
	refused "files differ from the commit" 9.8.0
	git checkout -q LICENSE
	sed -i "s/^- One thing/- $(printf '%159s' '' | tr ' ' x)/" CHANGELOG.md # 162 characters
	git commit -qam "Long line"
	refused "longer than 160 characters" 9.8.0
	git reset -q --hard HEAD~1
	sed -i '/^| 9.8.0-dev/d' tools/manual/install.md
	git commit -qam "No row"
	refused "does not tell which files 9.8.0-dev reads" 9.8.0
}

@test "the source archive: the same bytes each time, of the commit alone, which it names" {
	local commit
	make_clone
	SOURCE_DATE_EPOCH=1 scripts/package/source one
	touch -d '2001-01-01' LICENSE
	scripts/package/source two
	cmp one/kerncast-9.8.0-dev.tar.gz two/kerncast-9.8.0-dev.tar.gz
	commit=$(git rev-parse HEAD)
	equal "$(scripts/package/commit)" "${commit:0:12}" "commit"
	mkdir ../elsewhere
	tar -xzf one/kerncast-9.8.0-dev.tar.gz -C ../elsewhere
	equal "$(../elsewhere/kerncast-9.8.0-dev/scripts/package/commit)" "${commit:0:12}" "commit that the archive tells"
	equal "$(../elsewhere/kerncast-9.8.0-dev/scripts/package/commit --time)" "$(git log -1 --format=%ct)" "its time"
	equal "$(SOURCE_DATE_EPOCH=7 ../elsewhere/kerncast-9.8.0-dev/scripts/package/commit --time)" 7 "the time that was given"
	echo more >>LICENSE
	equal "$(scripts/package/commit)" "${commit:0:12}+" "commit with changes"
	run scripts/package/source three
	equal "$status" 1 "exit status"
	contains "$output" "files differ from the commit"
	cd ../elsewhere/kerncast-9.8.0-dev
	run scripts/package/source three
	equal "$status" 1 "exit status where there is no clone"
}

# --- databases of other versions

TIMES="SELECT count(*) || ' ' || sum(measured_end_ns - measured_start_ns) FROM launch"

@test "databases of released versions are read, and continued, and nothing in them is lost" {
	local kept version before
	for kept in "$root"/cuda_tests/upgrade/kerncast-*.db.gz; do
		version=${kept##*/kerncast-} version=${version%.db.gz}
		rm -f kerncast.db*
		zcat "$kept" >kerncast.db
		before=$(sql "$TIMES") # by SQLite alone, of the tables as that version made them
		equal "${before% *}" 320 "launches that $version recorded"
		"$kerncast" report --run all >report.out
		equal "$(sql "PRAGMA user_version")|$(sql "PRAGMA integrity_check")" "$(database_version)|ok" "after reading $version's"
		equal "$(sql "$TIMES")" "$before" "launches and their times"
		equal "$(report '$.ledger.matched')" 160 "matched in its newest run"
		ledger_adds_up
		"$kerncast" run -q "$build/demo-static-sim" --rounds 10
		equal "$(sql "SELECT count(DISTINCT run) FROM process")" 3 "runs"
		equal "$(sql "$TIMES WHERE process IN (SELECT id FROM process WHERE run <= 2)")" "$before" "the runs of $version"
		equal "$(sql "SELECT count(*) FROM launch WHERE process IN (SELECT id FROM process WHERE run = 3)")" "$(counted launches)"
		ledger_adds_up
		rm -f "$SIMCUDA_LOG"
	done
}

@test "a database of a later version is refused in a sentence, programs run, and it stays as it is" {
	local before
	"$kerncast" run -q "$build/demo-static-sim" --rounds 10
	sql "PRAGMA user_version = $(($(database_version) + 1)); PRAGMA journal_mode = DELETE" >/dev/null
	before=$(sha256sum <kerncast.db)
	for command in report slow "export --csv" "replay"; do
		# shellcheck disable=SC2086 # words of a command
		run "$kerncast" $command
		equal "$status" 1 "status of $command"
		contains "$output" "kerncast.db was written by a newer kerncast: use that one to read it"
	done
	keep own "$kerncast" run sh -c '"$0" --rounds 10 >/dev/null; exit 7' "$build/demo-static-sim"
	equal "$(<own.status)" 7 "the program's own status"
	contains "$(<own.err)" "was written by a newer kerncast"
	equal "$(sha256sum <kerncast.db)" "$before" "the database"
}

database_version() {
	"$kerncast" --version | sed -n 's/^database *version \([0-9]*\),.*/\1/p'
}

@test "the manual's table of versions has today's as its last row" {
	local version database journal
	version=$("$kerncast" --version | sed -n '1s/^kerncast //p')
	read -r database journal < <("$kerncast" --version | sed -n 's/^database *version \([0-9]*\), journal \([0-9]*\)$/\1 \2/p')
	equal "$(grep -E '^\| [0-9]+\.[0-9]+\.[0-9]+(-dev)? \|' "$root/tools/manual/install.md" | tail -n 1)" \
		"| $version | $database | 1 to $database | $journal |"
}
