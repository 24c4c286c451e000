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
#define KC_CALIBRATE_FMA "kerncast_fma" /* in a grid of one block: back to back, for the gap */
#define KC_CALIBRATE_SCATTER "kerncast_scatter"
#define KC_CALIBRATE_LINK "kerncast_link"
#define KC_CALIBRATE_GLOBAL "kerncast_chase_global"
#define KC_CALIBRATE_SHARED "kerncast_chase_shared"
extern const char kc_calibrate_code[];

#define KC_CALIBRATE_COPY_BYTES 64u    /* each thread reads and writes */
#define KC_CALIBRATE_FMA_LOOPS 512u    /* of each thread */
#define KC_CALIBRATE_FMA_EACH 64u      /* fused multiply-adds a loop */
#define KC_CALIBRATE_SCATTER_BYTES 32u /* each thread reads, in words that lie apart */
#define KC_CALIBRATE_GLOBAL_HOPS 1024u /* loads, one after the other */
#define KC_CALIBRATE_SHARED_HOPS 16384u
#define KC_CALIBRATE_REPEATS 100u /* launches of each kind */
#define KC_CALIBRATE_COPIES 10u   /* over the bus, each way */

/* What the work times itself, by the host's clock, with the library measuring or not. */
struct kc_calibrate_host {
	double launch_ns; /* a launch call */
	double kernel_ns; /* a kernel among others back to back */
};

/*
 * Runs the work on device `ordinal`. timings: a file for the host's times, two numbers; NULL: only the first kernels,
 * which suffice to see whether launches are measured here. Returns an exit status, after a message where it is not 0.
 */
int kc_calibrate_work(int ordinal, const char *timings);

#endif
