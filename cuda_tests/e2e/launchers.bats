# Launchers themselves, where they are installed: mpiexec and torchrun, and workers that Python starts. What launchers tell by
# variables is tried in ranks.bats.
load common

demo=$build/demo-shared

# --- MPI

real_launcher() { # NAME COMMAND...
	local name=$1
	shift
	"$@" -n 3 "$kerncast" run "$demo" >/dev/null 2>run.err
	cat run.err
	equal "$(sql "SELECT group_concat(rank || ' ' || local_rank || ' ' || world_size, ', ') FROM (SELECT * FROM process ORDER BY rank)")" \
		"0 0 3, 1 1 3, 2 2 3" "$name"
	equal "$(sql "SELECT count(*) FROM run")" 1
	ledger_adds_up
}

@test "Open MPI's mpiexec: one run" {
	mpiexec --version 2>/dev/null | grep -q 'Open MPI\|OpenRTE' || skip "Open MPI is not installed (Debian: openmpi-bin)"
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
	real_launcher "Open MPI" mpiexec --oversubscribe
}

@test "MPICH's mpiexec: one run" {
	local mpich=${KC_MPICH:-mpiexec.hydra}
	command -v "$mpich" >/dev/null || skip "MPICH is not installed (PyPI: mpich; KC_MPICH names its mpiexec.hydra)"
	real_launcher MPICH "$mpich"
}

# --- torchrun

# Ranks, local ranks and GPUs of 4, one run and one job, as torchrun's agent has named it.
check_torchrun() { # DB
	equal "$(sql "SELECT group_concat(rank || ' ' || local_rank || ' ' || world_size || ' ' || ordinal, ', ') FROM
		(SELECT DISTINCT p.rank, p.local_rank, p.world_size, x.ordinal FROM process p JOIN launch l ON l.process = p.id
		JOIN process_device x ON x.process = p.id AND x.device = l.device ORDER BY rank)" "$1")" "0 0 4 0, 1 1 4 1, 2 2 4 2, 3 3 4 3"
	equal "$(sql "SELECT count(DISTINCT run) || ' ' || count(DISTINCT job) || ' ' || min(job GLOB 'torchrun ?*') FROM process" "$1")" "1 1 1" "runs and jobs"
	ledger_adds_up "$1"
}

@test "torchrun itself, ranks that meet by gloo: one run, within kerncast run and around it, and a killed rank is named" {
	local torchrun=${KC_TORCHRUN:-torchrun}
	command -v "$torchrun" >/dev/null || skip "no torchrun (PyTorch; KC_TORCHRUN names it)"
	cat >job.py <<-'END'
		import ctypes, os, signal, sys
		import torch
		import torch.distributed as dist
		PTX = b".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry step()\n{\nret;\n}\n\0"
		cuda = ctypes.CDLL("libcuda.so.1")
		def check(status):
		    assert status == 0, status
		device, context, module, kernel = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
		dist.init_process_group("gloo")
		rank = dist.get_rank()
		check(cuda.cuInit(0))
		check(cuda.cuDeviceGet(ctypes.byref(device), int(os.environ["LOCAL_RANK"])))
		check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
		check(cuda.cuCtxSetCurrent(context))
		check(cuda.cuModuleLoadData(ctypes.byref(module), PTX))
		check(cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"step"))
		for step in range(20):
		    check(cuda.cuLaunchKernel(kernel, 1 + rank, 1, 1, 32, 1, 1, 0, None, None, None))
		    check(cuda.cuCtxSynchronize())
		    total = torch.ones(1) * rank
		    dist.all_reduce(total)
		    assert total.item() == 6
		    if step == 9 and sys.argv[1:] == [str(rank)]:
		        os.kill(os.getpid(), signal.SIGKILL)
	END
	export SIMCUDA_DEVICE=A100,A100,A100,A100
	"$kerncast" run -o within.db "$torchrun" --standalone --nproc_per_node 4 job.py 2>within.err
	check_torchrun within.db
	equal "$(sql "SELECT count(*) FROM launch" within.db)" 80
	contains "$(<within.err)" "80 launches, 80 predicted, 80 measured and matched; 4 ranks"
	"$torchrun" --standalone --nproc_per_node 4 --no_python "$kerncast" run -o around.db python3 job.py 2>around.err
	check_torchrun around.db
	equal "$(grep -c '80 launches, .*; 4 ranks$' around.err)" 1 "summaries"
	keep killed "$kerncast" run -o killed.db "$torchrun" --standalone --nproc_per_node 4 job.py 2
	check_torchrun killed.db
	within "$(<killed.status)" 1 255 "torchrun's own status"
	# Others end by themselves, or by torchrun's SIGTERM before they do.
	contains "$(grep '^kerncast: killed: ' killed.err)" "rank 2 (pid $(sql "SELECT pid FROM process WHERE rank = 2" killed.db))"
	equal "$(sql "SELECT ended FROM process WHERE rank = 2" killed.db)" killed
	equal "$(sql "SELECT count(*) FROM launch l JOIN process p ON p.id = l.process WHERE p.rank = 2" killed.db)" 10
}

# --- workers of a server: Python's multiprocessing

check_workers() { # DB WHAT ENDED
	equal "$(sql "SELECT count(DISTINCT p.run) || ' ' || count(DISTINCT p.id) || ' ' || count(DISTINCT l.device) || ' ' || count(*)
		FROM process p JOIN launch l ON l.process = p.id" "$1")" "1 2 2 100" "runs, processes, devices, launches: $2"
	equal "$(sql "SELECT group_concat(DISTINCT ended) FROM process" "$1")" "$3" "how they ended: $2"
	equal "$(report '$.ledger.launches' "$1")" 100 "launches in the ledger: $2"
	ledger_adds_up "$1"
}

@test "workers that are spawned, forked or served, and end by themselves, by SIGTERM or by SIGKILL: one run, every launch" {
	local how end ended
	cat >server.py <<-'END'
		import ctypes, multiprocessing, sys
		PTX = b".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry step()\n{\nret;\n}\n\0"
		def check(status):
		    assert status == 0, status
		def work(rank, ready, stop):
		    cuda = ctypes.CDLL("libcuda.so.1")
		    device, context, module, kernel = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
		    check(cuda.cuInit(0))
		    check(cuda.cuDeviceGet(ctypes.byref(device), rank))
		    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
		    check(cuda.cuCtxSetCurrent(context))
		    check(cuda.cuModuleLoadData(ctypes.byref(module), PTX))
		    check(cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"step"))
		    for step in range(50):
		        check(cuda.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, None, None, None))
		        check(cuda.cuCtxSynchronize())
		    ready.wait()
		    stop.wait()
		if __name__ == "__main__":
		    start = multiprocessing.get_context(sys.argv[1])
		    ready, stop = start.Barrier(3), start.Event()
		    workers = [start.Process(target=work, args=(rank, ready, stop)) for rank in range(2)]
		    for worker in workers:
		        worker.start()
		    ready.wait()
		    for worker in workers:
		        {"stop": stop.set, "terminate": worker.terminate, "kill": worker.kill}[sys.argv[2]]()
		    for worker in workers:
		        worker.join()
	END
	export SIMCUDA_DEVICE=A100,A100
	for how in spawn fork forkserver; do
		for end in stop terminate kill; do
			ended=killed
			[[ $end != stop ]] || ended="exit"
			"$kerncast" run -o "$how-$end.db" python3 server.py $how $end 2>run.err
			check_workers "$how-$end.db" "$how, $end" $ended
			equal "$(grep -c 'kerncast: killed: pid ' run.err)" "$([[ $ended == exit ]]; echo $?)" "lines that name killed ones: $how, $end"
		done
	done
	LD_PRELOAD=$library KERNCAST_DB=$PWD/variables.db python3 server.py spawn kill
	"$kerncast" report variables.db >variables.out # takes in what the killed ones have left
	check_workers variables.db "with variables" killed
}
