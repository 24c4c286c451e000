/*
 * Images of code are unmapped as soon as the call that loads them has returned, as
 * CuPy, Triton and programs that use NVRTC do: reading one later is a crash.
 */
#include "driver.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define LAUNCHES 100 /* of each kind of load */

static const char ptx[] = ".version 7.0\n"
			  ".target sm_75\n"
			  ".address_size 64\n"
			  ".visible .entry add(.param .u64 x, .param .u32 n, .param .u32 d)\n"
			  "{\n"
			  "	.reg .pred %p<2>;\n"
			  "	.reg .b32 %r<8>;\n"
			  "	.reg .b64 %rd<5>;\n"
			  "	ld.param.u64 %rd1, [x];\n"
			  "	ld.param.u32 %r1, [n];\n"
			  "	ld.param.u32 %r2, [d];\n"
			  "	mov.u32 %r3, %ctaid.x;\n"
			  "	mov.u32 %r4, %ntid.x;\n"
			  "	mov.u32 %r5, %tid.x;\n"
			  "	mad.lo.s32 %r6, %r3, %r4, %r5;\n"
			  "	setp.ge.s32 %p1, %r6, %r1;\n"
			  "	@%p1 bra done;\n"
			  "	cvta.to.global.u64 %rd2, %rd1;\n"
			  "	mul.wide.s32 %rd3, %r6, 4;\n"
			  "	add.s64 %rd4, %rd2, %rd3;\n"
			  "	ld.global.u32 %r7, [%rd4];\n"
			  "	add.s32 %r7, %r7, %r2;\n"
			  "	st.global.u32 [%rd4], %r7;\n"
			  "done:\n"
			  "	ret;\n"
			  "}\n";

static void *image_new(const void *code, size_t bytes)
{
	void *image = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (image == MAP_FAILED)
		program_fail("no memory");
	memcpy(image, code, bytes);
	return image;
}

static long launch(CUfunction function, int launches)
{
	struct buffer buffer;

	buffer_make(&buffer);
	for (int i = 0; i < launches; i++) {
		int d = i % 7;
		void *args[] = {&buffer.device, &buffer.n, &d};

		CHECK(CALL_NTH(i, cuLaunchKernel)(function, 16, 1, 1, 256, 1, 1, 0, NULL, args, NULL));
		buffer.expected += d;
	}
	CHECK(CALL(cuStreamSynchronize)(NULL));
	buffer_finish(&buffer);
	return launches;
}

typedef CUresult load_function(CUmodule *module, const void *image);

static CUresult load_data(CUmodule *module, const void *image)
{
	return CALL(cuModuleLoadData)(module, image);
}

static CUresult load_data_ex(CUmodule *module, const void *image)
{
	return CALL(cuModuleLoadDataEx)(module, image, 0, NULL, NULL);
}

static CUresult load_fat_binary(CUmodule *module, const void *image)
{
	return CALL(cuModuleLoadFatBinary)(module, image);
}

static long module(load_function *load, const void *code, size_t bytes, int launches)
{
	void *image = image_new(code, bytes);
	CUfunction function;
	CUmodule module;
	long kernels;

	CHECK(load(&module, image));
	munmap(image, bytes);
	CHECK(CALL(cuModuleGetFunction)(&function, module, "add"));
	kernels = launch(function, launches);
	CHECK(CALL(cuModuleUnload)(module));
	return kernels;
}

static long library(const void *code, size_t bytes, int launches)
{
	void *image = image_new(code, bytes);
	CUlibrary library;
	CUkernel kernel;
	long kernels;

	CHECK(CALL(cuLibraryLoadData)(&library, image, NULL, NULL, 0, NULL, NULL, 0));
	munmap(image, bytes);
	CHECK(CALL(cuLibraryGetKernel)(&kernel, library, "add"));
	kernels = launch((CUfunction)kernel, launches);
	CHECK(CALL(cuLibraryUnload)(library));
	return kernels;
}

static long every_way(int launches)
{
	long kernels = 0;

	driver_enter();
	kernels += module(load_data, driver_image, driver_image_bytes, launches);
	kernels += module(load_data, ptx, sizeof(ptx), launches);
	kernels += module(load_data_ex, driver_image, driver_image_bytes, launches);
	kernels += module(load_data_ex, ptx, sizeof(ptx), launches);
	kernels += module(load_fat_binary, driver_image, driver_image_bytes, launches);
	kernels += library(driver_image, driver_image_bytes, launches);
	kernels += library(ptx, sizeof(ptx), launches);
	return kernels;
}

int main(int argc, char **argv)
{
	driver_start();
	return program_run(argc, argv, LAUNCHES, every_way);
}
