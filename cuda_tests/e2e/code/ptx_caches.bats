# Triton and PyTorch's inductor load machine code alone, and leave its PTX in a cache: NAME.ptx beside NAME.cubin.
load ../common

none="no PTX: a cubin by itself, as from a cache on disk"
compiles=$build/awkward/compiles

setup_file() {
	local nvcc
	nvcc=$("$BATS_TEST_DIRNAME/../../../scripts/find-cuda")/bin/nvcc
	cd "$BATS_FILE_TMPDIR" || return 1
	cat >compiled0.cu <<-'END'
		extern "C" __global__ void compiled0(const float *x, float *y, int n)
		{
			int i = blockIdx.x * blockDim.x + threadIdx.x;
			if (i < n)
				y[i] = x[i] * 2.0f + 1.0f;
		}
	END
	"$nvcc" -arch=sm_80 -cubin -o compiled0.cubin compiled0.cu
	"$nvcc" -arch=sm_80 -ptx -o compiled0.ptx compiled0.cu
}

kernel_in() { # FOLDER: as Triton leaves it
	mkdir -p "$1"
	cp "$BATS_FILE_TMPDIR/compiled0.cubin" "$BATS_FILE_TMPDIR/compiled0.ptx" "$1"
}

new_cache() {
	rm -rf cache
	kernel_in cache/3EMJXIMLV26AMSCS
	kernel=cache/3EMJXIMLV26AMSCS/compiled0
}

loads() { # HOW THE CODE IS LOADED, VARIABLE=VALUE...: what became of the kernel's code
	rm -f kerncast.db*
	env HOME="$PWD/nowhere" "${@:2}" timeout 60 "$kerncast" run -q -- "$compiles" - 80 "$1" \
		"$BATS_FILE_TMPDIR/compiled0.cubin" >loads.out || true
	equal "$(<loads.out)" "compiled0 $(stat -c %s "$BATS_FILE_TMPDIR/compiled0.cubin")" "what the program says" >&2
	sql 'SELECT code FROM kernel'
}

@test "PTX is found where Triton and inductor keep it" {
	new_cache
	kernel_in home/.triton/cache/AAAA
	kernel_in inductor/triton/0/AAAA
	equal "$(loads cubin)" "$none" "no cache"
	equal "$(loads cubin "HOME=$PWD/home")" read "in the home folder"
	equal "$(loads cubin "TORCHINDUCTOR_CACHE_DIR=$PWD/inductor")" read "inductor's"
	equal "$(loads path "TRITON_CACHE_DIR=$PWD/cache")" read "code that the driver reads from a file"
	equal "$(loads cubin "TRITON_CACHE_DIR=$PWD/cache")" read "Triton's"
	# For each thread with i < n, which is the 40,000 of them or one less: one multiplication and addition together, a
	# load and a store of 4 bytes each
	equal "$(per_thread 0)|$(per_thread 20)|$(per_thread 21)" "1|4|4" "fma, bytes loaded, stored"
	equal "$(loads cubin "TRITON_CACHE_DIR=$PWD/nowhere" "HOME=$PWD/home")" "$none" "another folder than the home's"
	equal "$(loads cubin "TRITON_CACHE_DIR=cache")" "$none" "not an absolute path"
	ln -s cache link
	equal "$(loads cubin "TRITON_CACHE_DIR=$PWD/link")" read "the folder that was named may be a link"
}

@test "KERNCAST_CACHES=off: nothing is looked for" {
	new_cache
	equal "$(loads cubin "TRITON_CACHE_DIR=$PWD/cache" KERNCAST_CACHES=off)" "$none" code
	rm -f kerncast.db*
	TRITON_CACHE_DIR=$PWD/cache "$kerncast" run -q --caches off -- "$compiles" - 80 cubin \
		"$BATS_FILE_TMPDIR/compiled0.cubin" >off.out || true
	equal "$(sql 'SELECT code FROM kernel')" "$none" "code with --caches off"
}

@test "what may not be the kernel's, or the user's alone, is left" {
	local change
	local changes=(
		'mv $kernel.ptx real.ptx; ln -s "$PWD/real.ptx" $kernel.ptx'
		'mv $kernel.cubin real.cubin; ln -s "$PWD/real.cubin" $kernel.cubin'
		'mv cache/3EMJXIMLV26AMSCS real; ln -s "$PWD/real" cache/3EMJXIMLV26AMSCS'
		'rm $kernel.ptx; mkfifo $kernel.ptx'
		'rm $kernel.cubin; mkfifo $kernel.cubin'
		'rm $kernel.ptx; mkdir $kernel.ptx'
		'chmod o+w $kernel.ptx'
		'chmod g+w $kernel.ptx'
		'chmod o+w $kernel.cubin'
		'chmod o+w cache/3EMJXIMLV26AMSCS'
		'chmod g+w cache'
		'printf x | dd of=$kernel.cubin bs=1 seek=1000 conv=notrunc status=none'
		'truncate -s -1 $kernel.cubin'
		'truncate -s +1 $kernel.cubin'
		'truncate -s 5M $kernel.ptx'
		'truncate -s 100G $kernel.cubin'
		'rm $kernel.ptx'
		': >$kernel.ptx'
		'sed -i "s/compiled0/compiled1/" $kernel.ptx'
		'sed -i "s/ld.param.b32.*param_2.*/mov.b32 %r1, 5;/; s/param_1,/param_1/; /param_2/d" $kernel.ptx'
	)
	for change in "${changes[@]}"; do
		rm -rf real*
		new_cache
		eval "$change"
		equal "$(loads cubin "TRITON_CACHE_DIR=$PWD/cache")" "$none" "$change"
	done
}

@test "files of another user are left" {
	needs_root
	new_cache
	chown 1 "$kernel.ptx"
	equal "$(loads cubin "TRITON_CACHE_DIR=$PWD/cache")" "$none" PTX
	new_cache
	chown 1 cache
	equal "$(loads cubin "TRITON_CACHE_DIR=$PWD/cache")" "$none" "the folder"
}

@test "what is no PTX is refused, and hurts nobody" {
	new_cache
	head -c 100000 /dev/urandom >"$kernel.ptx"
	contains "$(loads cubin "TRITON_CACHE_DIR=$PWD/cache")" "refused: "
	ledger_adds_up
}

@test "of a large cache a part is looked at" {
	local folders
	mkdir -p cache
	(cd cache && mkdir {1..6000})
	mapfile -t folders < <(ls -U -a cache)
	equal "${#folders[@]}" 6002 "entries"
	kernel_in "cache/${folders[5000]}"
	equal "$(loads cubin "TRITON_CACHE_DIR=$PWD/cache")" "$none" "beyond what is looked at"
	kernel_in "cache/${folders[40]}"
	equal "$(loads cubin "TRITON_CACHE_DIR=$PWD/cache")" read "one of the first"
}

@test "a cache on a slow file system is searched to its end" {
	new_cache
	equal "$(loads cubin "TRITON_CACHE_DIR=$PWD/cache" "SLOW_FOLDER=$PWD/cache" \
		"LD_PRELOAD=$build/awkward/slow_folders.so" KERNCAST_WAIT_FOR_CODE=10s)" read
}

again() { # a run that finds no cache: how many formulas it had
	env HOME="$PWD/nowhere" timeout 60 "$kerncast" run -q -- "$compiles" - 80 cubin "$BATS_FILE_TMPDIR/compiled0.cubin" \
		>again.out || true
	sql "SELECT count(*) FROM engine_event WHERE kind = 'formula' AND process = (SELECT max(id) FROM process)"
}

@test "PTX that was found is remembered for a run that does not find it" {
	new_cache
	equal "$(loads cubin "TRITON_CACHE_DIR=$PWD/cache")" read
	rm -r cache
	equal "$(again)" 1
	equal "$(sql "SELECT count(*) FROM work WHERE process = 2")" "$(sql "SELECT count(*) FROM work WHERE process = 1")"
	equal "$(again)" 1 "once more"
	equal "$(sql 'SELECT code FROM kernel')" read
	sql "UPDATE kernel SET code_hash = code_hash + 1"
	equal "$(again)" 0 "for other machine code"
	equal "$(sql "SELECT code FROM kernel ORDER BY id DESC LIMIT 1")" "$none"
}

remember() { # FILE: this text, as a block of LZ4 without references
	local n left
	n=$(stat -c %s "$1")
	{
		printf '\xf0'
		for ((left = n - 15; left >= 255; left -= 255)); do
			printf '\xff'
		done
		# shellcheck disable=SC2059 # the format is the byte
		printf "\\x$(printf %02x $left)"
		cat "$1"
	} >packed
	sql "UPDATE kernel_text SET bytes = $n, text = readfile('packed')"
}

@test "a text of the database is believed for a kernel with the same parameters alone" {
	new_cache
	equal "$(loads cubin "TRITON_CACHE_DIR=$PWD/cache")" read
	remember "$kernel.ptx"
	equal "$(again)" 1 "the text itself"
	sed 's/\.param \.u32 compiled0_param_2/.param .align 8 .b8 compiled0_param_2[4000]/' "$kernel.ptx" >larger
	contains "$(<larger)" "[4000]"
	remember larger
	equal "$(again)" 0 "a larger parameter"
	sed 's/compiled0(/compiled1(/' "$kernel.ptx" >other
	remember other
	equal "$(again)" 0 "another kernel"
	head -c 400 "$kernel.ptx" >part
	remember part
	equal "$(again)" 0 "a part"
	remember "$kernel.ptx"
	sql "UPDATE kernel_text SET bytes = bytes + 1"
	equal "$(again)" 0 "another length"
	sql "UPDATE kernel_text SET bytes = -1, text = zeroblob(1000000)"
	equal "$(again)" 0 "zeros"
	sql "DELETE FROM kernel_text; INSERT INTO kernel_text VALUES(1, 'x', 'y', 'z')"
	equal "$(again)" 0 "words"
}
