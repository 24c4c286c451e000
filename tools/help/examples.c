#include "tools/program.h"

const struct kc_example kc_examples_of_kerncast[] = {
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
	.output =
	    "…\n"
	    "Kernels by time: 188 ms in 2,396 launches\n"
	    "  kernel                                                             time   share  launches     mean\n"
	    "  cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>   26.9 ms  14.3 %        54   497 µs\n"
	    "  cudnn::cnn::wgrad_alg0_engine<f…28, 6, 7, 3, 3, 5, false, 512>  21.3 ms  11.3 %        50   425 µs\n"
	    "  cudnn::bn_bw_1C11_kernel_new<fl…, float, float2, 512, true, 1>  17.1 ms   9.1 %        83   206 µs\n"
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
		  "Time lost: 15.0 ms of 218 ms that could be judged (6.9 %), in 2,084 of 7,648 launches\n"
		  "Not judged: 920 launches, 229 ms of the 447 ms measured (51.3 %); the last lines say why.\n"
		  "\n"
		  "     lost  launches  cause          what it means\n"
		  "  13.8 ms     1,798  overlapped     longer than alone: other kernels ran at the same time\n"
		  "   981 µs       247  drift          the kernel was faster in another part of this run\n"
		  "   143 µs        27  not explained  no other cause was found\n"
		  "  35.0 µs        12  first launch   the kernel's first in its process: loading, cold caches\n"
		  "Kernels at the same time as others, 3,137 launches: one after the other they would have taken up to "
		  "254 ms, together they took 190 ms (63.7 ms saved)\n"
		  "…\n",
    },
    {
	.command = "pairs",
	.commands = "  kerncast pairs\n"
		    "  kerncast pairs --device v100 --top 3 trace.db\n",
	.output = "…\n"
		  "Two at a time, one after the other and together on two streams\n"
		  "  pair   in turn  together       to    gain      to  better    measured  gain then\n"
		  "  B + A  31.9 µs   19.7 µs  20.7 µs  35.0 %  38.2 %  together         0          -\n"
		  "    B needs load and store units (50.4 %), A device memory (47.3 %)\n"
		  "  A + A  24.8 µs   23.8 µs  24.8 µs   0.0 %   4.1 %  in turn          0          -\n"
		  "    A fills the GPU: only its tail overlaps\n"
		  "…\n",
    },
    {
	.command = "whatif",
	.commands = "  kerncast whatif --device v100\n"
		    "  kerncast whatif --device h100 --from a100 --csv trace.db\n",
	.output =
	    "…\n"
	    "On Tesla V100-SXM2-16GB; nine in ten lie in these ranges:\n"
	    "Kernels: 262 ms here; there 350 ms, 174 ms to 705 ms: slower\n"
	    "  without those that are not known there, which took 185 ms here\n"
	    "Run: 463 ms here; there not known\n"
	    "  with 94.2 ms in which no kernel ran, which is taken to stay as it is\n"
	    "\n"
	    "By what is known of the kernels there\n"
	    "   share    here  how it is known\n"
	    "  58.7 %  262 ms  by law, from another architecture\n"
	    "  41.3 %  185 ms  not known\n"
	    "\n"
	    "Kernels by time\n"
	    "  kernel                           launches   share     here    there     from       to  there it is\n"
	    "  ncclKernel_Send…MPLE_Sum_int8_t        42  29.2 %   131 ms        -        -        -  not known\n"
	    "    not known: it waits for other GPUs\n"
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
	.output =
	    "device                                          --device            cc  SMs   MHz  GB/s  GiB  KiB/SM\n"
	    "…\n"
	    "NVIDIA A100-SXM4-40GB                           a100               8.0  108  1410  1555   40     164\n"
	    "NVIDIA A100-SXM4-80GB                           a100-80gb          8.0  108  1410  2039   80     164\n"
	    "NVIDIA A100-PCIE-40GB                           a100-pcie          8.0  108  1410  1555   40     164\n"
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
	.command = "merge",
	.commands = "  kerncast merge bf16.db int8.db -o all.db\n",
	.output = "all.db: 2 databases, 2 new runs, 2 processes, 1,530 launches\n",
    },
    {
	.command = "learn",
	.commands = "  kerncast learn kerncast.db -o team.prior\n"
		    "  kerncast learn --list team.prior\n",
	.output =
	    "SIMULATED: these times come from a stand-in device, not from a GPU.\n"
	    "\n"
	    "team.prior: 6 kernels, 20 launch shapes, 2.5 KiB; checksum ca8950feeb4e8fd4\n"
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
		  "1,8,1,1,2,1\n"
		  "1,11,1,1,2,2\n",
    },
    {
	.command = "predict",
	.commands = "  kerncast predict -d h200 blocks=4096,threads=256,ld_global=2,st_global=1\n",
	.output =
	    "On NVIDIA H200, running alone, without launch overhead\n"
	    "\n"
	    "blocks=4096,threads=256,ld_global=2,st_global=1\n"
	    "  estimate: 4.35 µs; nine in ten such kernels take 2.26 µs to 8.37 µs\n"
	    "  limited by: device memory 2.85 µs, starting blocks 1.68 µs, latency 1.15 µs, an empty kernel 670 ns\n"
	    "  lower bound: 823 ns, little more than two thirds of an empty kernel\n"
	    "  model         from  to\n"
	    "  cycles     2.70 µs      from: memory latency fully hidden; to: not hidden\n"
	    "  boat hull  3.50 µs      class element ^ element -> element\n"
	    "  roofline   2.62 µs      from: all reads hit a cache; to: none does\n"
	    "  BSP is left out: its λ is learned from measurements of the kernel\n",
    },
    {
	.command = "slowdown",
	.commands = "  kerncast slowdown -d k40 blocks=110,threads=256 blocks=450,threads=256\n",
	.output =
	    "Tesla K40, placement spread: each kernel beside the one before it; slowdown by room on the SMs alone\n"
	    "\n"
	    "kernel                  case      slots  waves  limited  wave model  start  end  timeline\n"
	    "blocks=110,threads=256                       1\n"
	    "blocks=450,threads=256  together     10      4       45       11.25\n"
	    "…\n",
    },
    {
	.command = "import",
	.commands = "  kerncast import trace.csv.gz --device v100 -o trace.db\n",
	.output = "trace.csv.gz: 2,500 rows, 2,396 kernels, 1 process\n"
		  "trace.db: imported 2,396 kernels, 104 copies and memsets from 1 process\n",
    },
    {
	.command = "replay",
	.commands = "  kerncast replay trace.db\n"
		    "  kerncast replay --by kernel trace.db\n",
	.output = "trace.db, run 1: 2,396 launches replayed, 2,396 predicted; 107,844 launches per second\n"
		  "A measurement becomes known 10.0 ms after its launch has ended\n"
		  "\n"
		  "Errors: |predicted - measured| / measured, of launches that were predicted and measured\n"
		  "  launches    matched  median  by time     p90  within 20 %  pred/meas    mean\n"
		  "  all           2,183  0.19 %   24.1 %  67.1 %       76.5 %       1.01  20.4 %\n"
		  "  first seen      522  14.6 %   43.0 %  90.3 %       54.2 %       1.05  32.1 %\n"
		  "  new size        346  39.3 %   50.6 %   238 %       36.7 %       1.05  64.9 %\n"
		  "  repeated      1,315   0.0 %    5.3 %   5.5 %       95.7 %       0.99   4.0 %\n"
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
		  "    active lanes      99.6 % of a warp's lanes on average (divergence, partial warps)\n"
		  "  on NVIDIA H200, running alone, without launch overhead:\n"
		  "    estimate: 849 ns; nine in ten such kernels take 670 ns to 2.77 µs\n"
		  "    limited by: latency 169 ns, starting blocks 53 ns, an empty kernel 670 ns\n"
		  "…\n",
    },
    {
	.command = "tune",
	.commands = "  kerncast tune matmul.csv -d h100\n"
		    "  kerncast tune kerncast.db\n",
	.output =
	    "…\n"
	    "To be timed first\n"
	    "  line  expected    from       to  as good  limited by            occupancy  registers  local\n"
	    "  6       249 µs  201 µs   733 µs  yes      shared memory             100 %         32    0 B\n"
	    "    tile=32 coalesced=yes\n"
	    "  4       304 µs  209 µs   876 µs  yes      shared memory             100 %         32    0 B\n"
	    "    tile=16 coalesced=yes\n"
	    "…\n"
	    "As good as the first, within the error of the estimates: 2 of 6. Give what they took with --timed FILE.\n",
    },
    {0},
};
