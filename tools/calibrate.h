/*
 * What `kerncast calibrate` runs on a device, and how much work it is. The
 * work runs in a process of its own with libkerncast.so preloaded, so that its
 * times are measured like any program's; the command reads them afterwards.
 */
#ifndef KC_CALIBRATE_H
#define KC_CALIBRATE_H

#define KC_CALIBRATE_EMPTY "kerncast_empty"
#define KC_CALIBRATE_COPY "kerncast_copy"
#define KC_CALIBRATE_FMA "kerncast_fma" /* in a grid of one block: back to back, for the gap */

#define KC_CALIBRATE_COPY_BYTES 64u /* each thread reads and writes */
#define KC_CALIBRATE_FMA_LOOPS 512u /* of each thread */
#define KC_CALIBRATE_FMA_EACH 64u   /* fused multiply-adds a loop */
#define KC_CALIBRATE_REPEATS 100u   /* launches of each kind */

/* Runs the work on device `ordinal`. Returns an exit status, after a message where it is not 0. */
int kc_calibrate_work(int ordinal);

#endif
