/* Imports an export of Nsight Systems that somebody has changed, into a fresh database. The input: see
 * database_fuzzing.h. */
#include "store/database/upkeep/database_fuzzing.h"
#include "tools/command_fuzzing.h"

/* As far as import_sqlite.c reads it. */
static const char rows[] =
    "CREATE TABLE StringIds(id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
    "CREATE TABLE TARGET_INFO_GPU(id, name, smCount, computeMajor, computeMinor, clockRate, memoryBandwidth, "
    "totalMemory,"
    " l2CacheSize, threadsPerWarp, asyncEngines, maxWarpsPerSm, maxBlocksPerSm, maxThreadsPerBlock,"
    " maxRegistersPerBlock, maxRegistersPerSm, maxShmemPerBlock, maxShmemPerBlockOptin, maxShmemPerSm);"
    "CREATE TABLE TARGET_INFO_CUDA_DEVICE(gpuId, cudaId, pid);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, globalTid, correlationId);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, streamId, correlationId, globalPid, demangledName,"
    " registersPerThread, gridX, gridY, gridZ, blockX, blockY, blockZ, staticSharedMemory, dynamicSharedMemory,"
    " graphNodeId);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start, end, deviceId, streamId, correlationId, globalPid, bytes, "
    "copyKind);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(start, end, deviceId, streamId, correlationId, globalPid, bytes);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start);"
    "INSERT INTO StringIds VALUES (1, 'void gemm<float>(int)'), (2, 'relu');"
    "INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA A100-SXM4-40GB', 108, 8, 0, 1410000000, 1555200000000, 42297786368,"
    " 41943040, 32, 3, 64, 32, 1024, 65536, 65536, 49152, 166912, 167936);"
    "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, 100);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (900, (100 << 24) + 101, 7), (1900, (100 << 24) + 102, 8);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 2500, 0, 7, 7, 100 << 24, 1, 40, 100, 1, 1, 256, 1, 1, 512, "
    "0,"
    " NULL), (2000, 2600, 0, 13, 8, 100 << 24, 2, 20, 4, 5, 6, 32, 2, 1, 0, 1024, (6 << 32) + 4);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (3000, 3100, 0, 7, 9, 100 << 24, 4096, 1);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (3400, 3410, 0, 7, 10, 100 << 24, 64);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (1)";

static struct kc_fuzz_database sound;
static struct kc_fuzz_file empty;
static struct kc_fuzz_path database, trace;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	database = kc_fuzz_path("k.db");
	trace = kc_fuzz_path("trace.sqlite");
	empty = kc_fuzz_empty_database(database.text);
	kc_fuzz_prepare(trace.text, rows);
	kc_fuzz_know_database(trace.text, &sound);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	const char *const arguments[] = {"import", trace.text, "-o", database.text, NULL};
	struct kc_fuzz_input input = {bytes, length};

	kc_fuzz_put_database(database.text, empty);
	kc_fuzz_changed_database(trace.text, &sound, &input);
	kc_fuzz_command(&kc_command_import, arguments);
	return 0;
}
