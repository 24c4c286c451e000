/* Another tool: it takes the ranges that are pushed and popped, and says at the end how many. COUNTING_SILENT: it does
 * nothing in them, and says nothing: what NVTX itself takes. */
#include <nvtx3/nvToolsExt.h>

#include <stdio.h>
#include <stdlib.h>

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t tables);

static _Atomic int pushed, popped;
static int silent;

static int push(const char *name)
{
	(void)name;
	return silent ? 0 : pushed++;
}

static int pop(void)
{
	return silent ? 0 : popped++;
}

__attribute__((destructor)) static void say(void)
{
	if (!silent)
		printf("counted: %d pushed, %d popped\n", pushed, popped);
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t tables)
{
	const NvtxExportTableCallbacks *callbacks = tables(NVTX_ETID_CALLBACKS);
	NvtxFunctionTable table;
	unsigned size;

	silent = getenv("COUNTING_SILENT") != NULL;
	if (!callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) || size <= NVTX_CBID_CORE_RangePop)
		return 0;
	*table[NVTX_CBID_CORE_RangePushA] = (NvtxFunctionPointer)push;
	*table[NVTX_CBID_CORE_RangePop] = (NvtxFunctionPointer)pop;
	return 1;
}
