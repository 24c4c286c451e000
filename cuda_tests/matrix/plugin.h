/* A library with kernels in it, compiled twice: PLUGIN 1 and 2 have different code under the same names. */
#ifndef PLUGIN_H
#define PLUGIN_H

typedef long plugin_run_function(int launches);

#ifdef __cplusplus
extern "C" plugin_run_function plugin_run;
#endif

#endif
