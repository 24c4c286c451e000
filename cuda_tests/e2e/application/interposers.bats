# Another preloaded library with a dlsym of its own, as those that share a GPU among programs have
# (awkward/libraries/interposer.c): it gets the calls that it gets without kerncast, and each launch is recorded once.
load ../common

awkward=$build/awkward
# Functions of the driver found by dlsym and by cuGetProcAddress; the latter alone; linked, which no dlsym can change.
finders=("$build/matrix/driver/resolved_driver_launch" "$build/matrix/sim/runtime_launch")
linked=$build/matrix/driver/linked_driver_launch

recorded() { # WHAT: every kernel executed, and every call of the interposer's
	equal "$(sql 'SELECT count(*) || "|" || count(measured_end_ns) FROM launch')" "$(counted kernels)|$(counted kernels)" \
		"launches and measured ones, $1"
	ledger_adds_up
}

there() { # PROGRAM: without kerncast the interposer had its calls, where dlsym leads to it
	equal "$(grep -c "cannot be preloaded" plain.err)" 0 "libraries that are missing"
	[[ $1 == "$linked" ]] || contains "$(<plain.out)" "interposer: "
}

beside() { # INTERPOSER PROGRAM
	local interposer=$1 order
	local program=("$2" --launches 100)
	keep plain env LD_PRELOAD="$interposer" "${program[@]}"
	there "$2"
	for order in "$interposer:$library" "$library:$interposer"; do
		rm -f kerncast.db* "$SIMCUDA_LOG"
		keep shimmed env KERNCAST_QUIET=1 KERNCAST_DB=kerncast.db LD_PRELOAD="$order" timeout 60 "${program[@]}"
		same plain shimmed
		recorded "$order $2"
	done
	for order in run "run --audit"; do
		rm -f kerncast.db* "$SIMCUDA_LOG"
		# shellcheck disable=SC2086 # two words
		keep shimmed env LD_PRELOAD="$interposer" timeout 60 "$kerncast" $order -q -- "${program[@]}"
		same plain shimmed
		recorded "$order, $interposer $2"
	done
}

@test "a dlsym without a version, as HAMi-core's, and one with glibc's versions, as nvshare's: in all orders" {
	local name program
	for name in interposer versioned_interposer; do
		for program in "${finders[@]}" "$linked"; do
			beside "$awkward/$name.so" "$program"
		done
	done
}

@test "it finds kerncast's functions in place of real ones, or calls them by linked names: no call goes in circles" {
	local name program
	for name in anywhere_interposer global_interposer linked_interposer; do
		for program in "${finders[@]}"; do
			beside "$awkward/$name.so" "$program"
		done
	done
}

@test "two of them, before and behind kerncast" {
	local one=$awkward/versioned_interposer.so two
	cp "$one" another.so
	for two in "$PWD/another.so" "$awkward/interposer.so" "$awkward/anywhere_interposer.so"; do
		keep plain env LD_PRELOAD="$one:$two" "${finders[0]}"
		there "${finders[0]}"
		rm -f kerncast.db* "$SIMCUDA_LOG"
		keep shimmed env KERNCAST_QUIET=1 KERNCAST_DB=kerncast.db LD_PRELOAD="$one:$library:$two" timeout 60 "${finders[0]}"
		same plain shimmed
		recorded "$two"
	done
}

@test "string functions that look for the real ones when they are first called" {
	local order
	for order in "$awkward/own_strings.so:$library" "$library:$awkward/own_strings.so"; do
		rm -f kerncast.db*
		keep plain env LD_PRELOAD="$awkward/own_strings.so" "${finders[0]}"
		equal "$(grep -c "cannot be preloaded" plain.err)" 0 "libraries that are missing"
		rm -f "$SIMCUDA_LOG"
		keep shimmed env KERNCAST_QUIET=1 KERNCAST_DB=kerncast.db LD_PRELOAD="$order" timeout 60 "${finders[0]}"
		same plain shimmed
		equal "$(<plain.status)" 0 "exit status"
		recorded "$order"
	done
}

# A program of before glibc 2.34 is bound to another version of dlsym.
@test "a look-up by either of glibc's versions is seen" {
	local version
	for version in GLIBC_2.34 GLIBC_2.2.5; do
		printf '__asm__(".symver dlsym, dlsym@%s");\n' "$version" >bound.c
		cat >>bound.c <<-'END'
			#include <dlfcn.h>
			#include <stdio.h>
			int main(void)
			{
				void *driver = dlopen("libcuda.so.1", RTLD_NOW), *found = driver ? dlsym(driver, "cuLaunchKernel") : NULL;
				Dl_info at;

				return !found || !dladdr(found, &at) || printf("%s\n", at.dli_fname) < 0;
			}
		END
		gcc -D_GNU_SOURCE bound.c -o bound -ldl
		equal "$(LD_PRELOAD=$library ./bound)" "$library" "whose function was found, $version"
	done
}

# Everything that the files need, at the same paths below ./root.
furnish() { # FILE...
	local file
	mkdir -p root/etc root/proc root/tmp
	for file in "$@" $(ldd "$@" 2>/dev/null | grep -o '/[^ ]*[^: ]' | sort -u); do
		[[ ! -e root$file ]] || continue
		mkdir -p "root${file%/*}"
		cp -L "$file" "root$file"
	done
}

@test "named in /etc/ld.so.preload: the same" {
	needs_root
	local inside=(unshare -pfm sh -c 'mount -t proc none root/proc && exec chroot root "$@"' sh) name program
	furnish "$(command -v env)" "$kerncast" "$library" "${finders[@]}" "$simcuda"/libcuda.so.1 "$simcuda"/libcupti.so.13 \
		"$awkward/interposer.so" "$awkward/versioned_interposer.so"
	unshare -pfm sh -c 'mount -t proc none root/proc' 2>/dev/null || skip "mounting is not permitted here"
	unset SIMCUDA_COSTS # a file
	export SIMCUDA_LOG=/tmp/simcuda.log
	for name in interposer versioned_interposer; do
		echo "$awkward/$name.so" >root/etc/ld.so.preload
		for program in "${finders[@]}"; do
			keep plain "${inside[@]}" "$program"
			find root/tmp -maxdepth 1 -type f -delete
			keep shimmed "${inside[@]}" "$kerncast" run -q -o /tmp/kerncast.db -- "$program"
			same plain shimmed
			contains "$(<plain.out)" "interposer: "
			cp root/tmp/kerncast.db* .
			SIMCUDA_LOG=root/tmp/simcuda.log recorded "$name $program"
			rm -f kerncast.db*
		done
	done
}
