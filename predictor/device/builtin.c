#include "device.h"

#include "capability.h"

#include <stddef.h>
#include <stdlib.h>

/*
 * The built-in devices. SMs, clock (boost, of one GPU where a board has several),
 * transfer rate and width of the memory, its size, L2; 0: not published. The
 * rest is that of the compute capability.
 *
 * L2 follows from the width of the memory bus, but for Ada, Blackwell and HBM: 64 KiB per 32 bits in GK104 to GK107,
 * 128 in GK110, 256 in GM20x, GP10x and TU11x, 512 in GM107, TU10x and GA10x, by the architectures' white papers and
 * reviews.
 */
#define SHEETS "NVIDIA: data sheets, architecture white papers"
#define LIST "Wikipedia: List of Nvidia graphics processing units, 2026-09-27; TechPowerUp: GPU database"
#define CATALOG "TechPowerUp: GPU database; NVIDIA: data sheets"
#define QUERY "deviceQuery of NVIDIA's CUDA samples on such a device; NVIDIA: data sheets"

/* Transfers per second: two per cycle of the clock that drivers report. */
#define CHIP(origin, alias_, capability, name_, sms, mhz, transfers_mhz, bus, gib, l2_kib)                             \
	{                                                                                                              \
		.alias = (alias_), .source = (origin), .device = {                                                     \
			capability,                                                                                    \
			.name = (name_),                                                                               \
			.sm_count = (sms),                                                                             \
			.clock_khz = (uint32_t)((mhz)*1000),                                                           \
			.memory_clock_khz = (uint32_t)((transfers_mhz)*500),                                           \
			.memory_bus_bits = (bus),                                                                      \
			.memory_bytes_per_s = (uint64_t)((transfers_mhz)*500) * 2000 * ((bus) / 8),                    \
			.memory_bytes = (gib)*GIB,                                                                     \
			.l2_bytes = (l2_kib)*KIB,                                                                      \
		}                                                                                                      \
	}

struct chip {
	const char *alias, *source;
	struct kc_device device;
};

static const struct chip chips[] = {
    /* Kepler: GK104, GK106, GK107 are 3.0, GK110 and GK208 3.5, GK210 3.7 */
    CHIP(LIST, "gt640", CC_3_0, "GeForce GT 640", 2, 902, 1782, 128, 2, 256),
    CHIP(LIST, "gt740", CC_3_0, "GeForce GT 740", 2, 993, 5012, 128, 1, 256),
    CHIP(LIST, "gtx650", CC_3_0, "GeForce GTX 650", 2, 1058, 5000, 128, 1, 256),
    CHIP(LIST, "gtx650ti", CC_3_0, "GeForce GTX 650 Ti", 4, 928, 5400, 128, 1, 256),
    CHIP(LIST, "gtx650ti-boost", CC_3_0, "GeForce GTX 650 Ti BOOST", 4, 1032, 6008, 192, 2, 384),
    CHIP(LIST, "gtx660", CC_3_0, "GeForce GTX 660", 5, 1032, 6008, 192, 2, 384),
    CHIP(LIST, "gtx660ti", CC_3_0, "GeForce GTX 660 Ti", 7, 980, 6008, 192, 2, 384),
    CHIP(LIST, "gtx670", CC_3_0, "GeForce GTX 670", 7, 980, 6008, 256, 2, 512),
    CHIP(SHEETS, "gtx680", CC_3_0, "GeForce GTX 680", 8, 1058.5, 6008, 256, 2, 512),
    CHIP(LIST, "gtx690", CC_3_0, "GeForce GTX 690", 8, 1019, 6008, 256, 2, 512),
    CHIP(LIST, "gtx760", CC_3_0, "GeForce GTX 760", 6, 1032, 6008, 256, 2, 512),
    CHIP(LIST, "gtx770", CC_3_0, "GeForce GTX 770", 8, 1085, 7012, 256, 2, 512),
    CHIP(LIST, "quadro-k2000", CC_3_0, "Quadro K2000", 2, 954, 4000, 128, 0, 256),
    CHIP(LIST, "quadro-k4000", CC_3_0, "Quadro K4000", 4, 810.5, 5616, 192, 0, 384),
    CHIP(LIST, "quadro-k4200", CC_3_0, "Quadro K4200", 7, 780, 5400, 256, 0, 512),
    CHIP(LIST, "quadro-k5000", CC_3_0, "Quadro K5000", 8, 706, 5400, 256, 0, 512),
    CHIP(LIST, "gt720", CC_3_5, "GeForce GT 720", 1, 797, 1600, 64, 1, 512),
    CHIP(LIST, "gtx780", CC_3_5, "GeForce GTX 780", 12, 902, 6008, 384, 3, 1536),
    CHIP(LIST, "gtx780ti", CC_3_5, "GeForce GTX 780 Ti", 15, 928, 7012, 384, 3, 1536),
    CHIP(SHEETS, "titan", CC_3_5, "GeForce GTX TITAN", 14, 875.5, 6008, 384, 6, 1536),
    CHIP(LIST, "titan-black", CC_3_5, "GeForce GTX TITAN Black", 15, 980, 7000, 384, 6, 1536),
    CHIP(LIST, "titan-z", CC_3_5, "GeForce GTX TITAN Z", 15, 876, 7000, 384, 6, 1536),
    CHIP(LIST, "quadro-k5200", CC_3_5, "Quadro K5200", 12, 650, 6000, 256, 0, 1024),
    CHIP(LIST, "quadro-k6000", CC_3_5, "Quadro K6000", 15, 901.5, 6008, 384, 0, 1536),
    CHIP(SHEETS, "k20", CC_3_5, "Tesla K20", 13, 705.5, 5200, 320, 5, 1280),
    CHIP(SHEETS, "k40", CC_3_5, "Tesla K40", 15, 745, 6008, 384, 12, 1536),
    CHIP(LIST, "k80", CC_3_7, "Tesla K80", 13, 875, 5000, 384, 12, 1536),
    /* Maxwell: GM107 and GM108 are 5.0, GM200, GM204, GM206 5.2, GM20B 5.3 */
    CHIP(LIST, "gtx745", CC_5_0, "GeForce GTX 745", 3, 1033, 1800, 128, 4, 2048),
    CHIP(LIST, "gtx750ti", CC_5_0, "GeForce GTX 750 Ti", 5, 1085, 5400, 128, 2, 2048),
    CHIP(LIST, "quadro-k620", CC_5_0, "Quadro K620", 3, 1000, 1800, 128, 0, 2048),
    CHIP(LIST, "quadro-k1200", CC_5_0, "Quadro K1200", 4, 954, 5012, 128, 0, 2048),
    CHIP(LIST, "quadro-k2200", CC_5_0, "Quadro K2200", 5, 1046, 5012, 128, 0, 2048),
    CHIP(SHEETS, "gtx950", CC_5_2, "GeForce GTX 950", 6, 1188, 6610, 128, 2, 1024),
    CHIP(LIST, "gtx960", CC_5_2, "GeForce GTX 960", 8, 1178, 7012, 128, 2, 1024),
    CHIP(SHEETS, "gtx970", CC_5_2, "GeForce GTX 970", 13, 1177.5, 7010, 256, 4, 1792),
    CHIP(SHEETS, "gtx980", CC_5_2, "GeForce GTX 980", 16, 1215.5, 7010, 256, 4, 2048),
    CHIP(LIST, "gtx980ti", CC_5_2, "GeForce GTX 980 Ti", 22, 1076, 7012, 384, 6, 3072),
    CHIP(SHEETS, "titanx", CC_5_2, "GeForce GTX TITAN X", 24, 1075.5, 7010, 384, 12, 3072),
    CHIP(LIST, "quadro-m2000", CC_5_2, "Quadro M2000", 6, 796, 6612, 128, 0, 1024),
    CHIP(LIST, "quadro-m4000", CC_5_2, "Quadro M4000", 13, 773, 6012, 256, 0, 2048),
    CHIP(LIST, "quadro-m5000", CC_5_2, "Quadro M5000", 16, 861, 6612, 256, 0, 2048),
    CHIP(LIST, "quadro-m6000", CC_5_2, "Quadro M6000", 24, 988, 6612, 384, 0, 3072),
    CHIP(LIST, "m4", CC_5_2, "Tesla M4", 8, 1072, 5500, 128, 4, 1024),
    CHIP(LIST, "m6", CC_5_2, "Tesla M6", 12, 1051, 4600, 256, 8, 2048),
    CHIP(LIST, "m40", CC_5_2, "Tesla M40", 24, 1114, 6008, 384, 12, 3072),
    CHIP(LIST, "m40-24gb", CC_5_2, "Tesla M40 24GB", 24, 1114, 6008, 384, 24, 3072),
    CHIP(LIST, "m60", CC_5_2, "Tesla M60", 16, 1178, 5000, 256, 8, 2048),
    CHIP(QUERY, "jetson-nano", CC_5_3, "Jetson Nano", 1, 921.6, 3200, 64, 4, 256),
    CHIP(CATALOG, "tx1", CC_5_3, "Jetson TX1", 2, 1000, 3200, 64, 4, 256),
    /* Pascal: GP100 is 6.0, GP102 to GP108 6.1, GP10B 6.2 */
    CHIP(SHEETS, "p100", CC_6_0, "Tesla P100-SXM2-16GB", 56, 1480.5, 1430, 4096, 16, 4096),
    CHIP(LIST, "p100-pcie", CC_6_0, "Tesla P100-PCIE-16GB", 56, 1303, 1430, 4096, 16, 4096),
    CHIP(LIST, "p100-pcie-12gb", CC_6_0, "Tesla P100-PCIE-12GB", 56, 1303, 1430, 3072, 12, 0),
    CHIP(LIST, "gp100", CC_6_0, "Quadro GP100", 56, 1442, 1406, 4096, 16, 4096),
    CHIP(LIST, "gtx1050ti", CC_6_1, "GeForce GTX 1050 Ti", 6, 1392, 7008, 128, 4, 1024),
    CHIP(LIST, "gtx1060-3gb", CC_6_1, "GeForce GTX 1060 3GB", 9, 1708, 8008, 192, 3, 1536),
    CHIP(LIST, "gtx1060", CC_6_1, "GeForce GTX 1060 6GB", 10, 1708, 8008, 192, 6, 1536),
    CHIP(LIST, "gtx1070", CC_6_1, "GeForce GTX 1070", 15, 1683, 8008, 256, 8, 2048),
    CHIP(LIST, "gtx1070ti", CC_6_1, "GeForce GTX 1070 Ti", 19, 1683, 8008, 256, 8, 2048),
    CHIP(CATALOG, "gtx1080", CC_6_1, "GeForce GTX 1080", 20, 1733, 10010, 256, 8, 2048),
    CHIP(SHEETS, "gtx1080ti", CC_6_1, "GeForce GTX 1080 Ti", 28, 1582, 11010, 352, 11, 2816),
    CHIP(LIST, "titanx-pascal", CC_6_1, "TITAN X (Pascal)", 28, 1531, 10008, 384, 12, 3072),
    CHIP(LIST, "titanxp", CC_6_1, "TITAN Xp", 30, 1582, 11408, 384, 12, 3072),
    CHIP(LIST, "quadro-p400", CC_6_1, "Quadro P400", 2, 1252, 4012, 64, 0, 512),
    CHIP(LIST, "quadro-p600", CC_6_1, "Quadro P600", 3, 1557, 4012, 128, 0, 1024),
    CHIP(LIST, "quadro-p620", CC_6_1, "Quadro P620", 4, 1354, 4012, 128, 0, 1024),
    CHIP(LIST, "quadro-p2200", CC_6_1, "Quadro P2200", 10, 1493, 10008, 160, 0, 1280),
    CHIP(LIST, "quadro-p4000", CC_6_1, "Quadro P4000", 14, 1480, 7604, 256, 0, 2048),
    CHIP(LIST, "quadro-p5000", CC_6_1, "Quadro P5000", 20, 1733, 9008, 256, 0, 2048),
    CHIP(LIST, "quadro-p6000", CC_6_1, "Quadro P6000", 30, 1645, 9008, 384, 0, 3072),
    CHIP(LIST, "p4", CC_6_1, "Tesla P4", 20, 1063, 6000, 256, 8, 2048),
    CHIP(LIST, "p6", CC_6_1, "Tesla P6", 16, 1506, 6006, 256, 16, 2048),
    CHIP(LIST, "p40", CC_6_1, "Tesla P40", 30, 1531, 7200, 384, 24, 3072),
    CHIP(CATALOG, "tx2", CC_6_2, "Jetson TX2", 2, 1465, 3732, 128, 0, 512),
    /* Volta: GV100 is 7.0, GV10B 7.2 */
    CHIP(SHEETS, "v100", CC_7_0, "Tesla V100-SXM2-16GB", 80, 1530, 1754, 4096, 16, 6144),
    CHIP(SHEETS, "v100-32gb", CC_7_0, "Tesla V100-SXM2-32GB", 80, 1530, 1754, 4096, 32, 6144),
    CHIP(LIST, "v100-pcie", CC_7_0, "Tesla V100-PCIE-16GB", 80, 1370, 1754, 4096, 16, 6144),
    CHIP(LIST, "v100-pcie-32gb", CC_7_0, "Tesla V100-PCIE-32GB", 80, 1370, 1754, 4096, 32, 6144),
    CHIP(CATALOG, "v100s", CC_7_0, "Tesla V100S-PCIE-32GB", 80, 1597, 2214, 4096, 32, 6144),
    CHIP(LIST, "titanv", CC_7_0, "NVIDIA TITAN V", 80, 1455, 1696, 3072, 12, 0),
    CHIP(LIST, "gv100", CC_7_0, "Quadro GV100", 80, 1627, 1696, 4096, 0, 6144),
    CHIP(QUERY, "xavier-nx", CC_7_2, "Jetson Xavier NX", 6, 1109, 3732, 128, 8, 512),
    CHIP(QUERY, "agx-xavier", CC_7_2, "Jetson AGX Xavier", 8, 1377, 4266, 256, 32, 512),
    /* Turing */
    CHIP(SHEETS, "t4", CC_7_5, "Tesla T4", 40, 1590, 10002, 256, 16, 4096),
    CHIP(LIST, "t400", CC_7_5, "NVIDIA T400", 6, 1425, 10000, 64, 0, 1024),
    CHIP(LIST, "t600", CC_7_5, "NVIDIA T600", 10, 1335, 10000, 128, 4, 1024),
    CHIP(LIST, "t1000", CC_7_5, "NVIDIA T1000", 14, 1395, 10000, 128, 0, 1024),
    CHIP(LIST, "gtx1630", CC_7_5, "NVIDIA GeForce GTX 1630", 8, 1785, 12000, 64, 4, 1024),
    CHIP(LIST, "gtx1650", CC_7_5, "GeForce GTX 1650", 14, 1590, 12000, 128, 4, 0),
    CHIP(LIST, "gtx1650super", CC_7_5, "GeForce GTX 1650 SUPER", 20, 1725, 12000, 128, 4, 1024),
    CHIP(LIST, "gtx1660", CC_7_5, "GeForce GTX 1660", 22, 1785, 8004, 192, 6, 1536),
    CHIP(LIST, "gtx1660super", CC_7_5, "GeForce GTX 1660 SUPER", 22, 1785, 14000, 192, 6, 1536),
    CHIP(LIST, "gtx1660ti", CC_7_5, "GeForce GTX 1660 Ti", 24, 1770, 12000, 192, 6, 1536),
    CHIP(CATALOG, "rtx2060", CC_7_5, "GeForce RTX 2060", 30, 1680, 14000, 192, 6, 3072),
    CHIP(LIST, "rtx2060super", CC_7_5, "GeForce RTX 2060 SUPER", 34, 1650, 14000, 256, 8, 4096),
    CHIP(LIST, "rtx2070", CC_7_5, "GeForce RTX 2070", 36, 1620, 14000, 256, 8, 4096),
    CHIP(LIST, "rtx2070super", CC_7_5, "GeForce RTX 2070 SUPER", 40, 1770, 14000, 256, 8, 4096),
    CHIP(LIST, "rtx2080", CC_7_5, "GeForce RTX 2080", 46, 1710, 14000, 256, 8, 4096),
    CHIP(LIST, "rtx2080super", CC_7_5, "GeForce RTX 2080 SUPER", 48, 1815, 15496, 256, 8, 4096),
    CHIP(SHEETS, "rtx2080ti", CC_7_5, "GeForce RTX 2080 Ti", 68, 1545, 14000, 352, 11, 5632),
    CHIP(SHEETS, "titanrtx", CC_7_5, "TITAN RTX", 72, 1770, 14002, 384, 24, 6144),
    CHIP(LIST, "quadro-rtx4000", CC_7_5, "Quadro RTX 4000", 36, 1545, 13000, 256, 8, 4096),
    CHIP(LIST, "quadro-rtx5000", CC_7_5, "Quadro RTX 5000", 48, 1815, 14000, 256, 0, 4096),
    CHIP(LIST, "quadro-rtx6000", CC_7_5, "Quadro RTX 6000", 72, 1770, 14000, 384, 24, 6144),
    CHIP(LIST, "quadro-rtx8000", CC_7_5, "Quadro RTX 8000", 72, 1770, 14000, 384, 0, 6144),
    /* Ampere: GA100 is 8.0, GA102 to GA107 8.6, GA10B 8.7 */
    CHIP(LIST, "a30", CC_8_0, "NVIDIA A30", 56, 1440, 2430, 3072, 24, 24576),
    CHIP(SHEETS, "a100", CC_8_0, "NVIDIA A100-SXM4-40GB", 108, 1410, 2430, 5120, 40, 40960),
    CHIP(SHEETS, "a100-80gb", CC_8_0, "NVIDIA A100-SXM4-80GB", 108, 1410, 3186, 5120, 80, 40960),
    CHIP(LIST, "a100-pcie", CC_8_0, "NVIDIA A100-PCIE-40GB", 108, 1410, 2430, 5120, 40, 40960),
    CHIP(SHEETS, "a100-pcie-80gb", CC_8_0, "NVIDIA A100 80GB PCIe", 108, 1410, 3024, 5120, 80, 40960),
    CHIP(SHEETS, "pg509-210", CC_8_0, "NVIDIA PG509-210", 108, 1410, 3186, 5120, 80, 40960),
    CHIP(SHEETS, "a800", CC_8_0, "NVIDIA A800-SXM4-80GB", 108, 1410, 3186, 5120, 80, 40960),
    CHIP(SHEETS, "a800-pcie", CC_8_0, "NVIDIA A800 80GB PCIe", 108, 1410, 3024, 5120, 80, 40960),
    CHIP(LIST, "a2", CC_8_6, "NVIDIA A2", 10, 1770, 12500, 128, 16, 2048),
    CHIP(LIST, "a10", CC_8_6, "NVIDIA A10", 72, 1695, 12500, 384, 24, 6144),
    CHIP(QUERY, "a10g", CC_8_6, "NVIDIA A10G", 80, 1695, 12500, 384, 24, 6144),
    CHIP(LIST, "a40", CC_8_6, "NVIDIA A40", 84, 1740, 14496, 384, 48, 6144),
    CHIP(LIST, "a400", CC_8_6, "NVIDIA RTX A400", 6, 1762, 12000, 64, 0, 1024),
    CHIP(LIST, "a1000", CC_8_6, "NVIDIA RTX A1000", 18, 1462, 12000, 128, 0, 2048),
    CHIP(LIST, "a2000", CC_8_6, "NVIDIA RTX A2000", 26, 1200, 12000, 192, 6, 3072),
    CHIP(SHEETS, "a4000", CC_8_6, "NVIDIA RTX A4000", 48, 1560, 14002, 256, 16, 4096),
    CHIP(LIST, "a4500", CC_8_6, "NVIDIA RTX A4500", 56, 1650, 16000, 320, 20, 5120),
    CHIP(LIST, "a5000", CC_8_6, "NVIDIA RTX A5000", 64, 1695, 16000, 384, 24, 6144),
    CHIP(LIST, "a5500", CC_8_6, "NVIDIA RTX A5500", 80, 1665, 16000, 384, 0, 6144),
    CHIP(SHEETS, "a6000", CC_8_6, "NVIDIA RTX A6000", 84, 1800, 16002, 384, 48, 6144),
    CHIP(LIST, "rtx3050", CC_8_6, "NVIDIA GeForce RTX 3050", 20, 1777, 14000, 128, 8, 2048),
    CHIP(LIST, "rtx3060", CC_8_6, "NVIDIA GeForce RTX 3060", 28, 1777, 15000, 192, 12, 3072),
    CHIP(LIST, "rtx3060ti", CC_8_6, "NVIDIA GeForce RTX 3060 Ti", 38, 1665, 14000, 256, 8, 4096),
    CHIP(LIST, "rtx3070", CC_8_6, "NVIDIA GeForce RTX 3070", 46, 1725, 14000, 256, 8, 4096),
    CHIP(LIST, "rtx3070ti", CC_8_6, "NVIDIA GeForce RTX 3070 Ti", 48, 1770, 19008, 256, 8, 4096),
    CHIP(LIST, "rtx3080", CC_8_6, "NVIDIA GeForce RTX 3080", 68, 1710, 19008, 320, 10, 5120),
    CHIP(LIST, "rtx3080ti", CC_8_6, "NVIDIA GeForce RTX 3080 Ti", 80, 1665, 19008, 384, 12, 6144),
    CHIP(SHEETS, "rtx3090", CC_8_6, "NVIDIA GeForce RTX 3090", 82, 1695, 19502, 384, 24, 6144),
    CHIP(LIST, "rtx3090ti", CC_8_6, "NVIDIA GeForce RTX 3090 Ti", 84, 1860, 21008, 384, 24, 6144),
    CHIP(LIST, "rtx3050ti-laptop", CC_8_6, "NVIDIA GeForce RTX 3050 Ti Laptop GPU", 20, 1695, 12000, 128, 0, 2048),
    CHIP(SHEETS, "rtx3060-laptop", CC_8_6, "NVIDIA GeForce RTX 3060 Laptop GPU", 30, 1702, 14002, 192, 6, 3072),
    CHIP(LIST, "rtx3070-laptop", CC_8_6, "NVIDIA GeForce RTX 3070 Laptop GPU", 40, 1720, 14000, 256, 0, 4096),
    CHIP(LIST, "rtx3070ti-laptop", CC_8_6, "NVIDIA GeForce RTX 3070 Ti Laptop GPU", 46, 1485, 14000, 256, 0, 4096),
    CHIP(LIST, "rtx3080-laptop", CC_8_6, "NVIDIA GeForce RTX 3080 Laptop GPU", 48, 1810, 14000, 256, 0, 4096),
    CHIP(LIST, "rtx3080ti-laptop", CC_8_6, "NVIDIA GeForce RTX 3080 Ti Laptop GPU", 58, 1590, 16000, 256, 0, 4096),
    CHIP(QUERY, "orin-nano", CC_8_7, "Jetson Orin Nano 8GB", 8, 625, 4250, 128, 8, 2048),
    CHIP(CATALOG, "orin-nano-super", CC_8_7, "Jetson Orin Nano Super", 8, 1020, 6400, 128, 8, 2048),
    CHIP(QUERY, "orin-nx", CC_8_7, "Jetson Orin NX 16GB", 8, 918, 6400, 128, 16, 2048),
    CHIP(QUERY, "agx-orin", CC_8_7, "Jetson AGX Orin 64GB", 16, 1300, 6400, 256, 64, 4096),
    /* Ada */
    CHIP(LIST, "l4", CC_8_9, "NVIDIA L4", 58, 2040, 12500, 192, 24, 49152),
    CHIP(CATALOG, "l20", CC_8_9, "NVIDIA L20", 92, 2520, 18000, 384, 48, 98304),
    CHIP(LIST, "l40", CC_8_9, "NVIDIA L40", 142, 2490, 18000, 384, 48, 98304),
    CHIP(SHEETS, "l40s", CC_8_9, "NVIDIA L40S", 142, 2520, 18002, 384, 48, 98304),
    CHIP(LIST, "rtx2000-ada", CC_8_9, "NVIDIA RTX 2000 Ada Generation", 22, 2130, 14000, 128, 0, 0),
    CHIP(LIST, "rtx4000-ada-sff", CC_8_9, "NVIDIA RTX 4000 SFF Ada Generation", 48, 1560, 14000, 160, 0, 0),
    CHIP(LIST, "rtx4000-ada", CC_8_9, "NVIDIA RTX 4000 Ada Generation", 48, 2175, 18000, 160, 20, 49152),
    CHIP(LIST, "rtx4500-ada", CC_8_9, "NVIDIA RTX 4500 Ada Generation", 60, 2580, 18000, 192, 0, 0),
    CHIP(LIST, "rtx5000-ada", CC_8_9, "NVIDIA RTX 5000 Ada Generation", 100, 2550, 18000, 256, 32, 73728),
    CHIP(LIST, "rtx5880-ada", CC_8_9, "NVIDIA RTX 5880 Ada Generation", 110, 2460, 20000, 384, 0, 0),
    CHIP(LIST, "rtx6000-ada", CC_8_9, "NVIDIA RTX 6000 Ada Generation", 142, 2505, 20000, 384, 48, 98304),
    CHIP(LIST, "rtx4060", CC_8_9, "NVIDIA GeForce RTX 4060", 24, 2460, 17000, 128, 8, 24576),
    CHIP(LIST, "rtx4060ti", CC_8_9, "NVIDIA GeForce RTX 4060 Ti", 34, 2535, 18000, 128, 8, 32768),
    CHIP(LIST, "rtx4070", CC_8_9, "NVIDIA GeForce RTX 4070", 46, 2475, 21008, 192, 12, 36864),
    CHIP(LIST, "rtx4070super", CC_8_9, "NVIDIA GeForce RTX 4070 SUPER", 56, 2475, 21008, 192, 12, 49152),
    CHIP(LIST, "rtx4070ti", CC_8_9, "NVIDIA GeForce RTX 4070 Ti", 60, 2610, 21008, 192, 12, 49152),
    CHIP(LIST, "rtx4070ti-super", CC_8_9, "NVIDIA GeForce RTX 4070 Ti SUPER", 66, 2610, 21008, 256, 16, 49152),
    CHIP(LIST, "rtx4080", CC_8_9, "NVIDIA GeForce RTX 4080", 76, 2505, 22400, 256, 16, 65536),
    CHIP(LIST, "rtx4080super", CC_8_9, "NVIDIA GeForce RTX 4080 SUPER", 80, 2550, 23008, 256, 16, 65536),
    CHIP(SHEETS, "rtx4090", CC_8_9, "NVIDIA GeForce RTX 4090", 128, 2520, 21002, 384, 24, 73728),
    CHIP(LIST, "rtx4090d", CC_8_9, "NVIDIA GeForce RTX 4090 D", 114, 2520, 21000, 384, 24, 0),
    CHIP(LIST, "rtx4050-laptop", CC_8_9, "NVIDIA GeForce RTX 4050 Laptop GPU", 20, 2370, 16000, 96, 0, 0),
    CHIP(LIST, "rtx4060-laptop", CC_8_9, "NVIDIA GeForce RTX 4060 Laptop GPU", 24, 2370, 16000, 128, 0, 0),
    CHIP(LIST, "rtx4070-laptop", CC_8_9, "NVIDIA GeForce RTX 4070 Laptop GPU", 36, 2175, 16000, 128, 0, 0),
    CHIP(LIST, "rtx4080-laptop", CC_8_9, "NVIDIA GeForce RTX 4080 Laptop GPU", 58, 2280, 18000, 192, 0, 0),
    CHIP(CATALOG, "rtx4090-laptop", CC_8_9, "NVIDIA GeForce RTX 4090 Laptop GPU", 76, 2040, 18000, 256, 16, 65536),
    /* Hopper */
    CHIP(SHEETS, "h100", CC_9_0, "NVIDIA H100 80GB HBM3", 132, 1980, 5238, 5120, 80, 51200),
    CHIP(SHEETS, "h100-pcie", CC_9_0, "NVIDIA H100 PCIe", 114, 1755, 3186, 5120, 80, 51200),
    CHIP(CATALOG, "h100-nvl", CC_9_0, "NVIDIA H100 NVL", 132, 1785, 5238, 6016, 94, 51200),
    CHIP(SHEETS, "h200", CC_9_0, "NVIDIA H200", 132, 1980, 6250, 6144, 141, 51200),
    CHIP(LIST, "h200-nvl", CC_9_0, "NVIDIA H200 NVL", 132, 1785, 6250, 6144, 141, 51200),
    CHIP(LIST, "h800", CC_9_0, "NVIDIA H800", 132, 1755, 5250, 5120, 80, 51200),
    CHIP(QUERY, "h20", CC_9_0, "NVIDIA H20", 78, 1980, 5208, 6144, 96, 0),
    CHIP(QUERY, "gh200", CC_9_0, "NVIDIA GH200 480GB", 132, 1980, 5238, 6144, 96, 61440),
    /* Blackwell: GB100 is 10.0, GB110 10.3, Thor 11.0 (10.1 before CUDA 13), GB202 to GB207 12.0, GB10 12.1 */
    CHIP(SHEETS, "b200", CC_10_0, "NVIDIA B200", 148, 1965, 7520, 8192, 180, 129024),
    CHIP(CATALOG, "gb200", CC_10_0, "NVIDIA GB200", 152, 2056, 7812.5, 8192, 0, 0),
    CHIP(LIST, "b300", CC_10_3, "NVIDIA B300 SXM6 AC", 148, 2032, 7812.5, 8192, 288, 0),
    CHIP(QUERY, "thor", CC_11_0, "NVIDIA Thor", 20, 1575, 8532, 256, 128, 32768),
    CHIP(LIST, "rtx5050", CC_12_0, "NVIDIA GeForce RTX 5050", 20, 2572, 20000, 128, 8, 0),
    CHIP(LIST, "rtx5060", CC_12_0, "NVIDIA GeForce RTX 5060", 30, 2497, 28000, 128, 8, 32768),
    CHIP(LIST, "rtx5060ti", CC_12_0, "NVIDIA GeForce RTX 5060 Ti", 36, 2572, 28000, 128, 16, 32768),
    CHIP(LIST, "rtx5070", CC_12_0, "NVIDIA GeForce RTX 5070", 48, 2512, 28000, 192, 12, 0),
    CHIP(LIST, "rtx5070ti", CC_12_0, "NVIDIA GeForce RTX 5070 Ti", 70, 2452, 28000, 256, 16, 0),
    CHIP(LIST, "rtx5080", CC_12_0, "NVIDIA GeForce RTX 5080", 84, 2617, 30000, 256, 16, 65536),
    CHIP(SHEETS, "rtx5090", CC_12_0, "NVIDIA GeForce RTX 5090", 170, 2407, 28002, 512, 32, 98304),
    CHIP(LIST, "rtx5090d", CC_12_0, "NVIDIA GeForce RTX 5090 D", 170, 2407, 28000, 512, 32, 98304),
    CHIP(LIST, "rtx-pro2000", CC_12_0, "NVIDIA RTX PRO 2000 Blackwell", 34, 1957, 18000, 128, 16, 0),
    CHIP(LIST, "rtx-pro4000", CC_12_0, "NVIDIA RTX PRO 4000 Blackwell", 70, 2617, 28000, 192, 24, 0),
    CHIP(LIST, "rtx-pro4000-sff", CC_12_0, "NVIDIA RTX PRO 4000 Blackwell SFF Edition", 70, 1342, 18000, 192, 24, 0),
    CHIP(LIST, "rtx-pro4500", CC_12_0, "NVIDIA RTX PRO 4500 Blackwell", 82, 2617, 28000, 256, 32, 65536),
    CHIP(LIST, "rtx-pro5000", CC_12_0, "NVIDIA RTX PRO 5000 Blackwell", 110, 2617, 28000, 384, 48, 0),
    CHIP(LIST, "rtx-pro6000", CC_12_0, "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 188, 2617, 28000, 512, 96,
	 131072),
    CHIP(LIST, "rtx-pro6000-mq", CC_12_0, "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", 188, 2288, 28000,
	 512, 96, 131072),
    CHIP(CATALOG, "rtx-pro6000-se", CC_12_0, "NVIDIA RTX PRO 6000 Blackwell Server Edition", 188, 2617, 24953, 512, 96,
	 131072),
    CHIP(QUERY, "gb10", CC_12_1, "NVIDIA GB10", 48, 2418, 8532, 256, 128, 24576),
};

enum { CHIPS = sizeof(chips) / sizeof(chips[0]) };

const struct kc_device *kc_device_builtin_at(unsigned i)
{
	return i < CHIPS ? &chips[i].device : NULL;
}

const char *kc_device_builtin_alias(unsigned i)
{
	return i < CHIPS ? chips[i].alias : NULL;
}

const char *kc_device_builtin_source(unsigned i)
{
	return i < CHIPS ? chips[i].source : NULL;
}

static int is_of(const struct kc_device *device, uint32_t cc_major, uint32_t cc_minor)
{
	return device->cc_major == cc_major && device->cc_minor == cc_minor;
}

static int is_not_newer(const struct kc_device *device, uint32_t cc_major, uint32_t cc_minor)
{
	return device->cc_major < cc_major || (device->cc_major == cc_major && device->cc_minor <= cc_minor);
}

/* Of the devices of this capability, how many have fewer SMs, or as many and stand before it. */
static unsigned rank_of(const struct kc_device *device)
{
	unsigned rank = 0;

	for (unsigned i = 0; i < CHIPS; i++) {
		const struct kc_device *other = &chips[i].device;

		rank += is_of(other, device->cc_major, device->cc_minor) &&
			(other->sm_count < device->sm_count || (other->sm_count == device->sm_count && other < device));
	}
	return rank;
}

const struct kc_device *kc_device_builtin_like(uint32_t cc_major, uint32_t cc_minor)
{
	const struct kc_device *nearest = &chips[0].device;
	unsigned count = 0;

	for (unsigned i = 0; i < CHIPS; i++) {
		const struct kc_device *d = &chips[i].device;

		if (is_not_newer(d, cc_major, cc_minor) && is_not_newer(nearest, d->cc_major, d->cc_minor))
			nearest = d;
	}
	for (unsigned i = 0; i < CHIPS; i++)
		count += (unsigned)is_of(&chips[i].device, nearest->cc_major, nearest->cc_minor);
	for (unsigned i = 0; i < CHIPS; i++) {
		const struct kc_device *d = &chips[i].device;

		if (is_of(d, nearest->cc_major, nearest->cc_minor) && rank_of(d) == count / 2)
			return d;
	}
	return nearest;
}
