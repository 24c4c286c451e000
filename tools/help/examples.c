#include "examples.h"

#include <stddef.h>
#include <string.h>

static const struct kc_example examples[] = {
    {
	.command = "run",
	.commands = "  kerncast run ./app\n"
		    "  kerncast run --after 10m --for 1m -o train.db ./train\n",
	.output = "kerncast: SIMULATED: these times come from a stand-in device, not from a GPU\n"
		  "kerncast: 2,000 launches, 2,000 predicted, 2,000 measured and matched\n"
		  "…\n"
		  "kerncast: recorded in kerncast.db; next: kerncast report\n",
    },
    {
	.command = "report",
	.commands = "  kerncast report trace.db\n"
		    "  kerncast report --html report.html trace.db\n",
	.output = "…\n"
		  "Kernels by time: 594 ms in 8,868 launches\n"
		  "  kernel                                         time   share  launches     mean\n"
		  "  void cudnn::detail::d…loat, int, int, int)  87.2 ms  14.7 %       180   484 µs\n"
		  "  void cudnn::bn_bw_1C1…float const*, float)  59.6 ms  10.0 %       264   226 µs\n"
		  "  void cudnn::cnn::wgra… int, int, int, int)  43.3 ms   7.3 %        90   481 µs\n"
		  "…\n",
    },
    {
	.command = "diff",
	.commands = "  kerncast diff bf16.db int8.db\n"
		    "  kerncast diff --baseline kernels.json --fail\n",
	.output = "…\n"
		  "Measured time of all kernels: OLD 4.43 ms, NEW 6.75 ms, 2.32 ms (52.4 %) more\n"
		  "  difference  why             launches       OLD      NEW  kernel\n"
		  "    +2.92 ms  other sizes     185 → 360   395 µs  3.32 ms  triton__0d1d2d3d\n"
		  "    other sizes +2.53 ms, more launches +374 µs\n"
		  "     -481 µs  replaced        60          661 µs   180 µs  triton__0d1d2d34d\n"
		  "    in place of ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_tn\n"
		  "…\n",
    },
    {
	.command = "slow",
	.commands = "  kerncast slow\n"
		    "  kerncast slow --sort time --top 5 trace.db\n",
	.output = "…\n"
		  "Time lost: 15.0 ms of 447 ms (3.3 %), in 2,084 of 8,568 measured launches\n"
		  "\n"
		  "     lost  launches  cause          what it means\n"
		  "  13.8 ms     1,798  overlapped     other kernels ran at the same time\n"
		  "   981 µs       247  drift          the kernel was faster in another part of this run\n"
		  "   143 µs        27  not explained  no other cause was found\n"
		  "  35.0 µs        12  first launch   the kernel's first in its process: loading, cold caches\n"
		  "…\n",
    },
    {
	.command = "doctor",
	.commands = "  kerncast doctor ./app\n",
	.output = "…\n"
		  "ok       LD_PRELOAD      works\n"
		  "ok       driver          CUDA 13.0\n"
		  "…\n"
		  "ok       journals        none left behind\n"
		  "…\n"
		  "Ready. Next: kerncast run ./app\n",
    },
    {
	.command = "devices",
	.commands = "  kerncast devices\n"
		    "  kerncast devices --json trace.db\n",
	.output = "device        --device        from        cc  SMs     clock     memory       size  shared/SM\n"
		  "…\n"
		  "NVIDIA…-40GB  a100            built in   8.0  108  1410 MHz  1555 GB/s   40.0 GiB  164.0 KiB\n"
		  "NVIDIA…-80GB  a100-80gb       built in   8.0  108  1410 MHz  2039 GB/s   80.0 GiB  164.0 KiB\n"
		  "NVIDIA H200   h200            built in   9.0  132  1980 MHz  4800 GB/s  141.0 GiB  228.0 KiB\n"
		  "…\n",
    },
    {
	.command = "recover",
	.commands = "  kerncast recover killed.db\n",
	.output = "./killed.db.15923-1410461.kcj: imported, pid 15923 (./app --rounds 100000), 120 launches\n",
    },
    {
	.command = "prune",
	.commands = "  kerncast prune --keep 2 --dry-run\n"
		    "  kerncast prune --keep 30d\n",
	.output = "run 1, ./app, 2,000 launches, about 360.7 KiB: would be removed\n",
    },
    {
	.command = "learn",
	.commands = "  kerncast learn kerncast.db -o team.prior\n"
		    "  kerncast learn --list team.prior\n",
	.output =
	    "SIMULATED: these times come from a stand-in device, not from a GPU.\n"
	    "\n"
	    "team.prior: 6 kernels, 20 launch shapes, no trees, 2.5 KiB; checksum ca8950feeb4e8fd4\n"
	    "\n"
	    "kernel                             GPU                              shapes  sizes  launches     mean\n"
	    "vector_add(int, … const*, float*)  Simulated NVIDIA A100-SXM4-40GB       2      1       250   409 µs\n"
	    "…\n",
    },
    {
	.command = "export",
	.commands = "  kerncast export --csv | head -n 3 | cut -d , -f 1-6\n"
		    "  kerncast export --chrome -o trace.json.gz\n",
	.output = "process,sequence,run,device,stream,kernel\n"
		  "3,26,3,1,11,1\n"
		  "3,29,3,1,12,2\n",
    },
    {
	.command = "predict",
	.commands = "  kerncast predict -d h200 blocks=4096,threads=256,ld_global=2,st_global=1\n",
	.output =
	    "On NVIDIA H200, running alone, without launch overhead\n"
	    "\n"
	    "blocks=4096,threads=256,ld_global=2,st_global=1\n"
	    "  estimate: 4.32 µs; nine in ten such kernels take 1.59 µs to 11.7 µs\n"
	    "  limited by: device memory 2.85 µs, starting blocks 1.68 µs, L2 cache 1.06 µs, an empty kernel 670 ns\n"
	    "  model         from  to\n"
	    "  cycles     2.70 µs      from: memory latency fully hidden; to: not hidden\n"
	    "  boat hull  3.50 µs      class element ^ element -> element\n"
	    "  roofline   2.62 µs      from: all reads hit a cache; to: none does\n",
    },
    {
	.command = "slowdown",
	.commands = "  kerncast slowdown -d k40 blocks=110,threads=256 blocks=450,threads=256\n",
	.output = "Tesla K40, placement spread: each kernel beside the one before it; slowdown by the wave model\n"
		  "\n"
		  "kernel         case      slots  waves  limited  wave model  start  end  timeline\n"
		  "block…110,th…                       1\n"
		  "block…450,th…  together     10      4       45       11.25\n"
		  "…\n",
    },
    {
	.command = "import",
	.commands = "  kerncast import trace.csv.gz --device v100 -o trace.db\n",
	.output = "trace.csv.gz: 9,258 rows, 8,868 kernels, 1 process\n"
		  "trace.db: imported 8,868 kernels, 390 copies and memsets from 1 process\n",
    },
    {
	.command = "replay",
	.commands = "  kerncast replay trace.db\n"
		    "  kerncast replay --by kernel trace.db\n",
	.output = "trace.db, run 1: 8,868 launches replayed, 8,868 predicted; 304,976 launches per second\n"
		  "A measurement becomes known 10.0 ms after its launch has ended\n"
		  "\n"
		  "Errors: |predicted - measured| / measured, of launches that were predicted and measured\n"
		  "  launches    matched  median  by time     p90  within 20 %  pred/meas    mean\n"
		  "  all           8,225   0.0 %    7.4 %   8.6 %       92.7 %       1.00   6.1 %\n"
		  "  first seen      509  14.3 %   34.2 %  99.7 %       54.4 %       1.06  30.0 %\n"
		  "  new size        342  37.0 %   48.5 %   181 %       40.4 %       1.05  59.2 %\n"
		  "  repeated      7,374   0.0 %    1.9 %   2.6 %       97.7 %       0.99   2.0 %\n"
		  "…\n",
    },
    {
	.command = "calibrate",
	.commands = "  kerncast calibrate\n",
	.output = "SIMULATED: these times come from a stand-in device, not from a GPU.\n"
		  "\n"
		  "Simulated NVIDIA A100-SXM4-40GB: medians of 100 launches each, stored in kerncast.db\n"
		  "  quantity               measured  meaning\n"
		  "  launch overhead         5.94 µs  from the launch call to the kernel's start on an idle device\n"
		  "  empty kernel             810 ns  its duration\n"
		  "…\n",
    },
    {
	.command = "explain",
	.commands = "  kerncast explain app -k saxpy --grid 8 --block 256 --args 2000,2,0,0 -d h200\n"
		    "  kerncast explain ./app\n",
	.output = "…\n"
		  "    global loads and stores  3.97 sectors per request (minimum 3.97): coalesced\n"
		  "    active lanes      99.6 % of a warp's lanes on average (divergence, partial\n"
		  "                      warps)\n"
		  "  on NVIDIA H200, running alone, without launch overhead:\n"
		  "    estimate: 905 ns; nine in ten such kernels take 670 ns to 2.46 µs\n"
		  "    limited by: latency 226 ns, an empty kernel 670 ns\n"
		  "…\n",
    },
    {
	.command = "basis",
	.commands = "  kerncast basis space times.csv\n"
		    "  kerncast basis predict --time 64=8us --time 512=5us --block 256 -d v100\n",
	.output = "4201 configurations, 211 of them timed\n"
		  "Same in every configuration: use_cmem=1 filter_height=15 filter_width=15\n"
		  "Best measured: 1.03 ms, block_size_x=32 block_size_y=1 tile_size_x=4 tile_size_y=4 read_only=0 "
		  "use_padding=0 use_shmem=0\n"
		  "Try next: predicted 993 µs (4.1 % less), block_size_x=64 block_size_y=1 tile_size_x=2 tile_size_y=4 "
		  "read_only=0 use_padding=0 use_shmem=0\n"
		  "…\n",
    },
    {
	.command = "experiment",
	.commands = "  kerncast experiment list\n"
		    "  kerncast experiment bsp --dir results\n",
	.output = "bsp         BSP with λ: matrix multiplication and maximum subarray over sizes\n"
		  "            Amaris, Cordeiro, Goldman, de Camargo, HiPC 2015\n"
		  "cycles      cycle model: matrix multiplication, list ranking, histogram within MAX and SUM\n"
		  "            Kothapalli, Mukherjee, Rehman, Patidar, Narayanan, Srinathan, HiPC 2009\n"
		  "…\n",
    },
};

const struct kc_example *kc_example_at(unsigned i)
{
	return i < sizeof(examples) / sizeof(*examples) ? examples + i : NULL;
}

const struct kc_example *kc_example_of(const char *command)
{
	const struct kc_example *example;

	for (unsigned i = 0; (example = kc_example_at(i)); i++) {
		if (strcmp(example->command, command) == 0)
			return example;
	}
	return NULL;
}
