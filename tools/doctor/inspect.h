/*
 * What a program is before it runs: can a library be preloaded into it, and
 * how does it reach CUDA? A struct kc_inspection is filled from the file alone;
 * for a script it describes the interpreter that will run it.
 */
#ifndef KC_INSPECT_H
#define KC_INSPECT_H

#include <limits.h>
#include <stddef.h>

enum kc_preload { /* can libkerncast.so be preloaded? */
		  KC_PRELOAD_YES,
		  KC_PRELOAD_STATIC,     /* no dynamic loader in it */
		  KC_PRELOAD_PRIVILEGED, /* setuid, setgid or file capabilities: the loader ignores LD_PRELOAD */
		  KC_PRELOAD_FOREIGN,    /* 32-bit, or another processor's */
		  KC_PRELOAD_MUSL,       /* another C library's loader */
		  KC_PRELOAD_UNKNOWN,    /* not readable or not ELF: the kernel will report it */
};

enum kc_cuda_link { /* how the file itself reaches CUDA */
		    KC_CUDA_NONE = 0,
		    KC_CUDA_DRIVER = 1,         /* linked with libcuda */
		    KC_CUDA_RUNTIME_SHARED = 2, /* linked with libcudart.so */
		    KC_CUDA_RUNTIME_STATIC = 4, /* has device code and no libcudart.so */
};

struct kc_inspection {
	char path[PATH_MAX];   /* the file that was asked for, found in PATH */
	char binary[PATH_MAX]; /* the ELF file: path, or the interpreter of a script */
	int found;             /* 0: no such program */
	int executable;        /* readable by us */
	int script;
	enum kc_preload preload;
	unsigned cuda;      /* enum kc_cuda_link, or-ed */
	int sees_driver;    /* reaches CUDA through another library (cuBLAS, cuDNN, …) */
	char reason[192];   /* why preload is not KC_PRELOAD_YES */
	char cure[160];     /* what to do about it */
	char sanitizer[64]; /* libasan.so.8, …: must be loaded before any other library */
};

/* Finds command as execvp() does and reads it. Returns 0; -ENOENT where there
 * is none, -EACCES where it is not executable (what is known is filled in). */
int kc_inspect(const char *command, struct kc_inspection *out);

/* The value of LD_PRELOAD that adds library to existing (NULL: none) after sanitizer (may be ""), which comes first
 * unless existing has it. A library that existing has is not added again. 0; -EINVAL: its path has a blank or a
 * colon, which LD_PRELOAD cannot express; -ERANGE. */
int kc_preload_value(const char *existing, const char *library, const char *sanitizer, char *out, size_t size);

#endif
