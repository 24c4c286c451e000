# Where recording cannot begin, or not yet: nothing is left behind, and what is said is true.
# Runs in real time.
load ../common

program=$build/awkward/start

nothing_left() {
	equal "$(ls ./*.kcj 2>/dev/null)" "" "journals left"
	[[ ! -e kerncast.db ]] || equal "$(sql 'SELECT count(*) FROM process')" 0 "processes in the database"
}

@test "launches before cuInit fail as without the shim, and those after it are recorded" {
	keep plain "$program" early
	rm "$SIMCUDA_LOG"
	keep shimmed preloaded "$program" early
	same plain shimmed
	# CUDA_ERROR_NOT_INITIALIZED
	equal "$(<plain.out)" $'before cuInit: 3\ngraph before cuInit: 3' "results before cuInit"
	equal "$(counted launches)" 200 "launches"
	equal "$(sql 'SELECT count(*) FROM launch')" 200 "rows in launch"
	equal "$(sql 'SELECT count(*) FROM message')" 0 messages
	equal "$(ls ./*.kcj 2>/dev/null)" "" "journals left"
}

@test "no GPU: said once, as it is, and nothing is left" {
	export SIMCUDA_FAULT=no-device
	keep plain "$program" early
	keep shimmed preloaded "$program" early
	equal "$(<shimmed.status)" "$(<plain.status)" "exit status"
	diff plain.out shimmed.out
	equal "$(<shimmed.err)" "kerncast: the driver found no GPU: nothing is recorded" "standard error"
	nothing_left
}

# Those that recording begins with come first, then the one that waits for the end and the stand-in's.
@test "no thread can be made, or only so many: said, nothing is left, and CUPTI is the application's" {
	local from refused=0
	for from in {1..9}; do
		rm -f kerncast.db*
		keep plain "$program" thread "$from"
		rm "$SIMCUDA_LOG"
		keep shimmed preloaded "$program" thread "$from"
		equal "$(<shimmed.status)" 0 "exit status"
		diff plain.out shimmed.out
		equal "$(<shimmed.out)" "cuptiSubscribe: 0" "the application's own subscription"
		equal "$(counted launches)" 200 "launches that reached the driver"
		equal "$(wc -l <shimmed.err)" 1 "lines on standard error"
		if [[ $(<shimmed.err) == *"nothing is recorded"* ]]; then
			refused=$((refused + 1))
			equal "$from" "$refused" "a thread more"
			contains "$(<shimmed.err)" "thread"
			[[ $(<shimmed.err) != *journal* ]]
			nothing_left
		else
			contains "$(<shimmed.err)" "started its own profiler"
			equal "$(sql 'SELECT count(*) FROM launch')" 200 "rows in launch"
		fi
	done
	within "$refused" 2 8 "threads without which recording cannot begin"
}

@test "cuInit in a library that is being loaded, with the loader's lock held" {
	keep plain timeout 30 "$program" plugin "$build/awkward/init_plugin.so"
	rm "$SIMCUDA_LOG"
	keep shimmed preloaded timeout 30 "$program" plugin "$build/awkward/init_plugin.so"
	same plain shimmed
	equal "$(<plain.status)" 0 "exit status"
	equal "$(counted launches)" 200 "launches"
	equal "$(sql 'SELECT count(*) FROM launch WHERE measured_start_ns > 0')" 200 "measured rows"
	equal "$(sql 'SELECT count(*) FROM message')" 0 messages
}

@test "too little memory: said before any of it is taken, and nothing is left" {
	local limit least=0 refused=0 recorded=0
	for limit in $(seq 40000 6000 130000) $(seq 200000 40000 480000); do
		rm -f kerncast.db*
		# The loader itself needs room for the library, whatever it does then.
		(ulimit -v $((limit - 6000)); keep plain "$program")
		[[ $(<plain.status) == 0 ]] || continue
		((least)) || least=$limit
		(ulimit -v "$limit"; keep shimmed preloaded "$program")
		equal "$(<shimmed.status)" 0 "exit status with $limit KiB"
		if [[ $(<shimmed.err) == *"nothing is recorded"* ]]; then
			equal "$(<shimmed.err)" "kerncast: recording could not begin: nothing is recorded: 256 MiB of memory:\
 Cannot allocate memory" "what is said with $limit KiB"
			nothing_left
			refused=$((refused + 1))
		else
			# What it needs itself is not to become scarce.
			within "$limit" $((least + 200000)) 1000000 "KiB with which recording began"
			equal "$(<shimmed.err)" "" "what is said with $limit KiB"
			recorded=$((recorded + 1))
		fi
	done
	within "$refused" 1 20 "limits at which recording could not begin"
	within "$recorded" 1 20 "limits at which it could"
}

# The program denies itself the call before its first one to the driver.
@test "no memory can be mapped: calls reach the driver as without us" {
	local name
	for name in plain shimmed; do
		truncate -s 1M counts
		if [[ $name == plain ]]; then
			keep plain "$build/torture/work_driver" -d mmap:ENOSYS counts plain 1 50
		else
			keep shimmed preloaded "$build/torture/work_driver" -d mmap:ENOSYS counts plain 1 50
		fi
	done
	equal "$(<plain.status) $(<shimmed.status)" "0 0" "exit status without kerncast and with it"
	diff plain.out shimmed.out
	contains "$(<shimmed.err)" "kerncast: recording could not begin: nothing is recorded"
	nothing_left
}
