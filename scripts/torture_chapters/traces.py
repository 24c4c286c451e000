"""Sound traces of each kind that `kerncast import` reads, short."""

import gzip
import json
import os
import sqlite3

TRACES = os.path.join(
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "cuda_tests", "traces"
)
ROWS = 120  # of a file: enough for every kind of row
EVENTS = 90

NSYS = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE TARGET_INFO_GPU (id INTEGER NOT NULL, name TEXT, totalMemory INTEGER, memoryBandwidth INTEGER, clockRate INTEGER,
    smCount INTEGER, maxRegistersPerBlock INTEGER, maxShmemPerBlock INTEGER, maxShmemPerSm INTEGER, maxRegistersPerSm INTEGER,
    threadsPerWarp INTEGER, asyncEngines INTEGER, maxWarpsPerSm INTEGER, maxBlocksPerSm INTEGER, maxThreadsPerBlock INTEGER,
    computeMajor INTEGER, computeMinor INTEGER);
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL, uuid TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER,
    nameId INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
    streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL,
    mangledName INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL,
    blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL,
    dynamicSharedMemory INTEGER NOT NULL, graphNodeId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
    streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
    streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, value INTEGER NOT NULL, bytes INTEGER NOT NULL);
INSERT INTO StringIds VALUES (1, 'void gemm<float>(int)'), (2, 'gemm'), (3, 'relu'), (9, 'cudaLaunchKernel_v7000');
INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA A100-SXM4-40GB', 42297786368, 1555200000000, 1410000000, 108, 65536, 49152, 167936,
    65536, 32, 3, 64, 32, 1024, 8, 0);
INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, 100, '');
WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT i * 1000, i * 1000 + 50, (1 << 56) + (100 << 24) + 101, i, 9 FROM n;
WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT i * 1000 + 100, i * 1000 + 700, 0, 7 + i % 2, i, (1 << 56) + (100 << 24),
    1 + 2 * (i % 2), 2 + i % 2, NULL, 32, i % 5 + 1, 2, 1, 128, 1, 1, 512, 0, NULL FROM n;
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (3000, 3100, 0, 7, 900, (1 << 56) + (100 << 24), 4096, 1);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (3400, 3410, 0, 7, 901, (1 << 56) + (100 << 24), 0, 64);
"""


def lines(path, count):
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8", errors="replace") as file:
        return [line for line, _ in zip(file, range(count))]


def csv_trace(*names):
    return "".join(lines(os.path.join(TRACES, "traces", *names), ROWS)).encode()


def kineto():
    path = os.path.join(TRACES, "raw", "kineto_resnet50_autograd_nw0.json.gz")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        document = json.load(file)
    document["traceEvents"] = document["traceEvents"][:EVENTS]
    document["deviceProperties"] = [
        {
            "id": 0,
            "name": "NVIDIA H100",
            "totalGlobalMem": 101997215744,
            "computeMajor": 9,
            "computeMinor": 0,
            "maxThreadsPerBlock": 1024,
            "maxThreadsPerMultiprocessor": 2048,
            "regsPerBlock": 65536,
            "warpSize": 32,
            "sharedMemPerBlock": 49152,
            "numSms": 114,
            "regsPerMultiprocessor": 65536,
            "sharedMemPerMultiprocessor": 233472,
        }
    ]
    return json.dumps(document, indent=0).encode()


def nsys(path):
    connection = sqlite3.connect(path)
    connection.executescript(NSYS)
    connection.close()


def sound_traces(folder):
    """{kind: paths}"""
    made = {
        "csv": [
            csv_trace("block_sweeps", "gtx950.csv.gz"),
            csv_trace("pytorch", "hta_df_index_v100.csv.gz"),
            csv_trace("two_streams", "mem_mem_matched.csv.gz"),
        ],
        "nvprof": [
            "".join(lines(os.path.join(TRACES, "raw", name), ROWS)).encode()
            for name in ("nvprof_k40_matmul.csv", "nvprof_two_streams_trace_100000.csv")
        ],
        "json": [kineto()],
    }
    paths = {"nsys": [os.path.join(folder, "nsys0.sqlite")]}
    nsys(paths["nsys"][0])
    for kind, contents in made.items():
        paths[kind] = [os.path.join(folder, f"{kind}{i}.trace") for i in range(len(contents))]
        for path, content in zip(paths[kind], contents):
            with open(path, "wb") as file:
                file.write(content)
    return paths
