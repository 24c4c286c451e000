# Code that the process that launches it does not read: it ends too early, or has not the room. Where the code lies is in the
# database, and the next command reads it.
# Runs in real time.
load ../common

unread=$build/awkward/unread

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	module 1 >module.ptx
	module 2 >other.ptx
	{
		printf '.section .rodata\n.globl code, code_bytes\ncode: .incbin "module.ptx"\n.byte 0\n.balign 8\n'
		printf 'code_bytes: .quad %s\n.section .note.GNU-stack,"",@progbits\n' $(($(stat -c %s module.ptx) + 1))
	} >code.s
	gcc -shared -o libcode.so code.s
}

module() { # ADDITIONS: PTX of two kernels and 6 MB of comments, which is more than the library takes for code
	local name
	printf '.version 8.0\n.target sm_75\n.address_size 64\n'
	yes "// $(printf '%.0s-' {1..90})" | head -n 66000
	for name in k0 k1; do
		printf '.visible .entry %s(.param .u64 p0, .param .u32 p1)\n{\n.reg .f32 %%f<4>;\n' "$name"
		yes 'add.f32 %f1, %f2, %f3;' | head -n "$1"
		printf 'ret;\n}\n'
	done
}

records() { # FILE WORD...: a run that ends however it is told to
	rm -f kerncast.db*
	SIMCUDA_DEVICE=A100 timeout 60 "$kerncast" run -q -- "$unread" "$1" 2 "${@:2}" || true
}

is_killed() { # a run without anybody who imports its journal
	rm -f kerncast.db*
	SIMCUDA_DEVICE=A100 LD_PRELOAD=$library KERNCAST_DB=$PWD/kerncast.db timeout 60 "$unread" \
		"$BATS_FILE_TMPDIR/libcode.so" 2 killed 1000 || true
	equal "$(compgen -G 'kerncast.db.*.kcj' | wc -l)" 1 journals
}

codes() { # what became of the two kernels, first to last
	sql "SELECT group_concat(code || coalesce(' ' || cost_formula, ''), ', ') FROM (SELECT * FROM kernel ORDER BY mangled)"
}

reads() { # what the command says that it has read
	"$kerncast" report "$@" 2>&1 >report.out | grep -F "the code of" || true
}

both="read the code of 2 kernels that had not been read yet"
formula="read add = 1; control = 1"

@test "code that was not read is read by the next command, from a file and from a library" {
	local how
	cp "$BATS_FILE_TMPDIR/module.ptx" "$BATS_FILE_TMPDIR/libcode.so" .
	for how in "module.ptx path" ./libcode.so; do
		# shellcheck disable=SC2086 # two words
		records $how
		equal "$(codes)" "waits, waits" "$how: at the end"
		equal "$(reads)" "kerncast: $both"
		equal "$(codes)" "$formula, $formula" "$how: after a command"
		equal "$(reads)" ""
	done
}

@test "a killed process has noted where its code lies" {
	is_killed
	contains "$(reads)" "$both"
	equal "$(codes)" "$formula, $formula"
}

@test "a command finds the code after the database was moved, and kerncast recover reads it, too" {
	mkdir elsewhere
	records "$BATS_FILE_TMPDIR/libcode.so"
	mv kerncast.db elsewhere/moved.db
	contains "$(reads elsewhere/moved.db)" "$both"
	is_killed
	"$kerncast" recover >recover.out 2>&1
	contains "$(<recover.out)" "$both"
	equal "$(codes)" "$formula, $formula"
}

@test "a file that has changed since is not read until it is what it was" {
	cp "$BATS_FILE_TMPDIR/module.ptx" .
	records module.ptx path
	cp "$BATS_FILE_TMPDIR/other.ptx" module.ptx
	equal "$(reads)" ""
	rm module.ptx
	mkfifo module.ptx
	equal "$(timeout 20 "$kerncast" report 2>&1 >report.out)" "" "a FIFO"
	equal "$(codes)" "waits, waits"
	rm module.ptx
	cp "$BATS_FILE_TMPDIR/module.ptx" .
	equal "$(reads)" "kerncast: $both"
}

@test "the run after the command knows what that has read" {
	records "$BATS_FILE_TMPDIR/libcode.so"
	reads
	equal "$(sql "SELECT count(*) FROM engine_event WHERE process = 1 AND kind = 'formula'")" 0 "formulas in the first run"
	SIMCUDA_DEVICE=A100 timeout 60 "$kerncast" run -q -- "$unread" "$BATS_FILE_TMPDIR/libcode.so" 2
	equal "$(sql "SELECT count(*) FROM engine_event WHERE process = 2 AND kind = 'formula'")" 2 "formulas in the second"
	equal "$(sql "SELECT count(*) FROM work WHERE process = 2")" 2 "launch shapes that were counted"
	equal "$(codes)" "$formula, $formula"
}

@test "a run that begins without the past reads nothing from it, and takes nothing away" {
	records "$BATS_FILE_TMPDIR/libcode.so"
	reads
	SIMCUDA_DEVICE=A100 timeout 60 "$kerncast" run -q --fresh -- "$unread" "$BATS_FILE_TMPDIR/libcode.so" 2
	equal "$(sql "SELECT count(*) FROM engine_event WHERE process = 2 AND kind = 'formula'")" 0
	equal "$(codes)" "$formula, $formula"
}

@test "code in memory alone that is too large stays so" {
	records "$BATS_FILE_TMPDIR/libcode.so" copied
	equal "$(codes)" "too large, too large"
	equal "$(reads)" ""
	equal "$(codes)" "too large, too large"
}
