# What the command is told by the user's file of options; what it tells of itself; whether its library fits it.
load ../common

app=("$build/demo-static-sim" --rounds 10)

schema=$(sed -n 's/^#define KC_SCHEMA_VERSION \([0-9]*\).*/\1/p' "$root/store/database/schema.h")
journal=$(sed -n 's/^#define KC_JOURNAL_VERSION \([0-9]*\).*/\1/p' "$root/store/journal/journal.h")

configure() { # LINE...
	mkdir -p "$XDG_CONFIG_HOME"
	printf '%s\n' "$@" >"$XDG_CONFIG_HOME/kerncast.conf"
	chmod 600 "$XDG_CONFIG_HOME/kerncast.conf"
}

measure_of_last() {
	sql 'SELECT measure FROM process ORDER BY id DESC LIMIT 1'
}

@test "flag before variable before file before default" {
	"$kerncast" run -q "${app[@]}"
	equal "$(measure_of_last)" all "default"
	configure '# mine' '' 'measure = kernels' 'quiet = on'
	keep run "$kerncast" run "${app[@]}"
	equal "$(measure_of_last)" kernels "by the file"
	equal "$(<run.err)" "" "quiet by the file"
	KERNCAST_MEASURE=off "$kerncast" run "${app[@]}"
	equal "$(measure_of_last)" off "by the variable"
	KERNCAST_MEASURE=off "$kerncast" run --measure all "${app[@]}"
	equal "$(measure_of_last)" all "by the flag"
	HOME=$PWD XDG_CONFIG_HOME='' "$kerncast" run -q "${app[@]}"
	equal "$(measure_of_last)" all "no file in ~/.config"
	mkdir .config
	cp "$XDG_CONFIG_HOME/kerncast.conf" .config
	HOME=$PWD XDG_CONFIG_HOME='' "$kerncast" run -q "${app[@]}"
	equal "$(measure_of_last)" kernels "by ~/.config"
}

@test "the file's database is that of the other commands as well" {
	configure "output = $PWD/mine.db"
	"$kerncast" run -q "${app[@]}"
	equal "$(sql 'SELECT count(*) FROM launch' mine.db)" "$(counted launches)" "rows"
	"$kerncast" report --json >report.json
	equal "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('report.json') AS TEXT), '\$.ledger.launches')")" \
		"$(counted launches)" "launches in the report"
	[[ ! -e kerncast.db ]]
}

@test "the file is the command's: the library alone does not read it" {
	configure 'measure = off'
	KERNCAST_QUIET=1 preloaded "${app[@]}"
	equal "$(measure_of_last)" all "measure"
}

@test "a line that is not understood: its number, status 2, and nothing is started" {
	configure 'quiet = 1' '' 'measur = off'
	keep run "$kerncast" run "${app[@]}"
	equal "$(<run.status)" 2 "exit status"
	equal "$(<run.err)" \
		"kerncast: $XDG_CONFIG_HOME/kerncast.conf: line 3: unknown key \"measur\"; keys are the flags of kerncast run"
	equal "$(counted launches)" 0 "launches"
	keep report "$kerncast" report
	equal "$(<report.status)" 2 "exit status of another command"
	"$kerncast" --help >/dev/null
	KERNCAST_CONFIG='' "$kerncast" run -q "${app[@]}" # none is read
	KERNCAST_CONFIG=nowhere.conf keep run "$kerncast" run "${app[@]}"
	equal "$(<run.status)" 2 "exit status without the file that was named"
	contains "$(<run.err)" "nowhere.conf, which KERNCAST_CONFIG names"
}

@test "a key is shown as it is, without what would move a terminal's cursor" {
	configure $'\e[31mred = 1'
	keep run "$kerncast" run "${app[@]}"
	equal "$(<run.status)" 2 "exit status"
	[[ $(<run.err) != *$'\e'* ]]
}

@test "a file that others can write is not read, and that is said" {
	configure 'measure = off'
	chmod 666 "$XDG_CONFIG_HOME/kerncast.conf"
	keep run "$kerncast" run -q "${app[@]}"
	equal "$(<run.status)" 0 "exit status"
	contains "$(<run.err)" "kerncast.conf: other users can write it; it is not read"
	equal "$(measure_of_last)" all "measure"
}

@test "--help and the manual name the file and its variable" {
	"$kerncast" run --help >help
	contains "$(<help)" "kerncast.conf"
	"$kerncast" --man >kerncast.1
	contains "$(<kerncast.1)" ".Pa ~/.config/kerncast.conf"
	contains "$(<kerncast.1)" ".It Ev KERNCAST_CONFIG"
}

# --- version

@test "--version: release, commit, schema, library, CUPTI" {
	"$kerncast" --version >version
	[[ $(sed -n 1p version) =~ ^kerncast\ [0-9]+\.[0-9]+\.[0-9]+(-dev)?$ ]]
	[[ $(sed -n 2p version) =~ ^commit\ +([0-9a-f]{12}\+?|unknown)$ ]]
	"$kerncast" run -q "${app[@]}"
	equal "$(sed -n 3p version)" "database   version $(sql 'PRAGMA user_version'), journal $journal"
	equal "$(sed -n 4p version)" "library    $(realpath "$library")"
	contains "$(sed -n 5p version)" "CUPTI      $simcuda/libcupti.so.13 (API version "
	contains "$(KERNCAST_CUPTI=/nowhere.so "$kerncast" --version)" "CUPTI      not found"
}

# A copy of the command and of the library, whose note says $other: 9 in place of the first digit.
other_version() {
	local at
	version=$("$kerncast" --version | sed -n '1s/^kerncast //p') other=9${version#?}
	mkdir other
	cp "$kerncast" "$library" other
	at=$(readelf -SW "$library" | awk '{ sub(/^ *\[ *[0-9]+\] */, "") } $1 == ".note.kerncast" { print $4 }')
	printf 9 | dd of=other/libkerncast.so bs=1 seek=$((16#$at + 24)) conv=notrunc status=none
}

@test "a library of another version: the command refuses it, and the program runs" {
	other_version
	keep plain "${app[@]}"
	rm -f "$SIMCUDA_LOG"
	keep run other/kerncast run "${app[@]}"
	equal "$(<run.status)" "$(<plain.status)" "exit status"
	diff plain.out run.out
	equal "$(<run.err)" "kerncast: nothing is recorded: $PWD/other/libkerncast.so is of another version ($other, database $schema,\
 journal $journal) than this command ($version, database $schema, journal $journal); build or install\
 kerncast again"
	[[ ! -e kerncast.db ]]
	contains "$(other/kerncast --version)" "is of another version"
	other/kerncast doctor >doctor || true
	contains "$(<doctor)" "is of another version ($other"
}

@test "a library without a version: the command refuses it" {
	mkdir other
	cp "$kerncast" other
	objcopy --remove-section .note.kerncast "$library" other/libkerncast.so
	keep run other/kerncast run "${app[@]}"
	contains "$(<run.err)" "is of another version (it does not tell which) than this command"
	[[ ! -e kerncast.db ]]
}

@test "a command of another version: the library says so once, records nothing, and the program runs" {
	keep plain "${app[@]}"
	KERNCAST_VERSION='9.1.0, database 99, journal 99' keep shimmed preloaded "${app[@]}"
	diff plain.out shimmed.out
	equal "$(<shimmed.status)" 0 "exit status"
	equal "$(<shimmed.err)" "kerncast: the command kerncast and this library are of different versions: nothing is recorded\
 (install both together): 9.1.0, database 99, journal 99"
	equal "$(find . -name 'kerncast.db*')" "" "files"
}

# --- completion

@test "zsh completion: commands, options, values, files, and the program that is run" {
	command -v zsh >/dev/null || skip "no zsh (scripts/setup --all installs it)"
	"$kerncast" --completion zsh >_kerncast
	zsh -n _kerncast
	zsh_offers() { zsh -f "$root/cuda_tests/e2e/commands/offered.zsh" "_${1%% *}" "$1" | tr '\n' ' '; }
	equal "$(zsh_offers 'kerncast rep')" "replay report "
	equal "$(zsh_offers 'kerncast run --mea')" "--measure "
	equal "$(zsh_offers 'kerncast run --measure=')" "adaptive all kernels off "
	equal "$(zsh_offers 'kerncast report -b m')" "model "
	contains " $(zsh_offers 'kerncast predict --device rtx409')" " rtx4090 "
	contains " $(zsh_offers 'kerncast run -q --output x.db bas')" " bash "
	contains " $(zsh_offers 'kerncast report _ker')" "_kerncast "
	"$lab" --completion zsh >_kerncast-lab
	zsh -n _kerncast-lab
	equal "$(zsh_offers 'kerncast-lab ')" "basis experiment "
	equal "$(zsh_offers 'kerncast-lab experiment fig')" "figures "
	equal "$(zsh_offers 'kerncast-lab basis --kno')" "--known "
}

@test "fish completion: commands, options, values, files, and the program that is run" {
	command -v fish >/dev/null || skip "no fish (scripts/setup --all installs it)"
	export HOME=$PWD
	"$kerncast" --completion fish >kerncast.fish
	fish -n kerncast.fish
	fish_offers() { fish --no-config -c 'source kerncast.fish; complete -C $argv[1]' "$1" | cut -f1 | sort | tr '\n' ' '; }
	equal "$(fish_offers 'kerncast rep')" "replay report "
	equal "$(fish_offers 'kerncast run --mea')" "--measure "
	equal "$(fish_offers 'kerncast run --measure=')" "--measure=adaptive --measure=all --measure=kernels --measure=off "
	equal "$(fish_offers 'kerncast report -b m')" "model "
	contains " $(fish_offers 'kerncast predict --device rtx409')" " rtx4090 "
	contains " $(fish_offers 'kerncast run -q --output x.db bas')" " bash "
	contains " $(fish_offers 'kerncast report kern')" " kerncast.fish "
	equal "$(fish_offers 'kerncast run ls kerncast.f')" "kerncast.fish "
	"$lab" --completion fish >>kerncast.fish
	fish -n kerncast.fish
	equal "$(fish_offers 'kerncast-lab ')" "basis experiment "
	equal "$(fish_offers 'kerncast-lab experiment fig')" "figures "
	equal "$(fish_offers 'kerncast-lab basis --kno')" "--known "
	equal "$(fish_offers 'kerncast rep')" "replay report "
}
