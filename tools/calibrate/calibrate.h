/*
 * What `kerncast calibrate` runs on a device, and how much work it is. The
 * work runs in a process of its own with libkerncast.so preloaded, so that its
 * times are measured like any program's; the command reads them afterwards.
 */
#ifndef KC_CALIBRATE_H
#define KC_CALIBRATE_H

/* Kernels, in calibrate_code.c as PTX. */
#define KC_CALIBRATE_EMPTY "kerncast_empty"
#define KC_CALIBRATE_COPY "kerncast_copy"
#define KC_CALIBRATE_FMA "kerncast_fma" /* also launched back to back with one block, for the gap */
#define KC_CALIBRATE_SCATTER "kerncast_scatter"
#define KC_CALIBRATE_LINK "kerncast_link"
#define KC_CALIBRATE_GLOBAL "kerncast_chase_global"
#define KC_CALIBRATE_SHARED "kerncast_chase_shared"
extern const char kc_calibrate_code[];

#define KC_CALIBRATE_COPY_BYTES 64u    /* read and written by each thread */
#define KC_CALIBRATE_FMA_LOOPS 512u    /* per thread */
#define KC_CALIBRATE_FMA_EACH 64u      /* fused multiply-adds per loop */
#define KC_CALIBRATE_SCATTER_BYTES 32u /* read by each thread, in words that are far apart */
#define KC_CALIBRATE_GLOBAL_HOPS 1024u /* dependent loads */
#define KC_CALIBRATE_SHARED_HOPS 16384u
#define KC_CALIBRATE_REPEATS 100u /* launches of each kind */
#define KC_CALIBRATE_COPIES 10u   /* over the bus, each way */

/* What the work itself measures by the host's clock, whether or not the library measures. */
struct kc_calibrate_host {
	double launch_ns; /* a launch call */
	double kernel_ns; /* a kernel among kernels back to back */
};

/* Runs the work on device `ordinal`. timings: the file that gets the two host times; NULL: runs only the first
 * kernels, which suffice to see whether launches are measured here. Returns an exit status, after a message if it is
 * not 0. */
int kc_calibrate_work(int ordinal, const char *timings);

#endif
