#include "device.h"
#include "predictor/math/letters.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

/*
 * Series by name, the first that fits decides. A word of a series is one of the
 * name, in small letters; # is a digit, * the rest of a word, and a blank nothing
 * or what stands between two words. Source: NVIDIA, "CUDA GPU compute capability"
 * and "Legacy CUDA GPU compute capability"; Wikipedia, "CUDA", for chips of one name.
 */
static const struct {
	const char *series;
	uint8_t cc_major, cc_minor;
} all_series[] = {
    /* workstations: their numbers are GeForce ones, too */
    {"rtx pro*", 12, 0},
    {"blackwell", 12, 0},
    {"rtx #* ada", 8, 9},
    {"rtx #* sff ada", 8, 9},
    {"rtx a#*", 8, 6},
    {"quadro rtx*", 7, 5},
    {"quadro gp100", 6, 0},
    {"quadro gv100", 7, 0},
    {"quadro k620*", 5, 0},
    {"quadro k1200*", 5, 0},
    {"quadro k2200*", 5, 0},
    {"quadro k5200", 3, 5},
    {"quadro k6000", 3, 5},
    {"quadro k510m", 3, 5},
    {"quadro k610m", 3, 5},
    {"quadro k#*", 3, 0},
    {"quadro m1#*", 5, 0},
    {"quadro m2000m", 5, 0},
    {"quadro m5##m", 5, 0},
    {"quadro m520", 5, 0},
    {"quadro m5##*", 5, 2},
    {"quadro m6000*", 5, 2},
    {"quadro m6##*", 5, 0},
    {"quadro m#*", 5, 2},
    {"quadro p#*", 6, 1},
    {"quadro t#*", 7, 5},
    {"nvs 510", 3, 0},
    {"nvs 810", 5, 0},
    {"jetson t#*", 11, 0},
    {"t1000*", 7, 5},
    {"t1200*", 7, 5},
    {"t400*", 7, 5},
    {"t500*", 7, 5},
    {"t550*", 7, 5},
    {"t600*", 7, 5},
    /* GeForce and Titan */
    {"rtx 50##*", 12, 0},
    {"rtx 40##*", 8, 9},
    {"rtx 30##*", 8, 6},
    {"rtx 2050*", 8, 6},
    {"rtx 20##*", 7, 5},
    {"titan rtx", 7, 5},
    {"titan v", 7, 0},
    {"titan xp", 6, 1},
    {"gtx titan x", 5, 2},
    {"titan x", 6, 1},
    {"titan*", 3, 5},
    {"gtx 16##*", 7, 5},
    {"gtx 10##*", 6, 1},
    {"gt 10##*", 6, 1},
    {"gtx 950m*", 5, 0},
    {"gtx 960m*", 5, 0},
    {"gtx 9##*", 5, 2},
    {"gtx 85#m*", 5, 0},
    {"gtx 86#m*", 5, 0},
    {"gtx 8##m*", 3, 0},
    {"gtx 745*", 5, 0},
    {"gtx 75#*", 5, 0},
    {"gtx 780m*", 3, 0},
    {"gtx 780*", 3, 5},
    {"gtx 7##*", 3, 0},
    {"gtx 6##*", 3, 0},
    {"gt 71#*", 3, 5},
    {"gt 72#*", 3, 5},
    {"gt 73#*", 3, 5},
    {"gt 7##*", 3, 0},
    {"gt 6##*", 3, 0},
    {"geforce 91#m*", 3, 5},
    {"geforce 92#m*", 3, 5},
    {"geforce 93#m*", 5, 0},
    {"geforce 94#m*", 5, 0},
    {"geforce 83#m*", 5, 0},
    {"geforce 84#m*", 5, 0},
    {"mx11#", 5, 0},
    {"mx13#", 5, 0},
    {"mx1##", 6, 1},
    {"mx2##", 6, 1},
    {"mx3##", 6, 1},
    {"mx4##", 7, 5},
    {"mx55#", 7, 5},
    {"mx57#", 8, 6},
    /* data centres */
    {"tesla k10*", 3, 0},
    {"grid k*", 3, 0},
    {"k80*", 3, 7},
    {"tesla k#*", 3, 5},
    {"tesla m10", 5, 0},
    {"tesla m4*", 5, 2},
    {"tesla m6*", 5, 2},
    {"p100*", 6, 0},
    {"gp100", 6, 0},
    {"tesla p#*", 6, 1},
    {"p10#", 6, 1},
    {"v100*", 7, 0},
    {"gv100*", 7, 0},
    {"t4g", 7, 5},
    {"a100*", 8, 0},
    {"a800*", 8, 0},
    {"a30*", 8, 0},
    {"pg509", 8, 0},
    {"a2", 8, 6},
    {"a10*", 8, 6},
    {"a16*", 8, 6},
    {"a40*", 8, 6},
    {"l2", 8, 9},
    {"l4", 8, 9},
    {"l20", 8, 9},
    {"l40*", 8, 9},
    {"gh200*", 9, 0},
    {"h100*", 9, 0},
    {"h200*", 9, 0},
    {"h800*", 9, 0},
    {"h20", 9, 0},
    {"b100*", 10, 0},
    {"b200*", 10, 0},
    {"gb200*", 10, 0},
    {"b300*", 10, 3},
    {"gb300*", 10, 3},
    {"gb10", 12, 1},
    /* Jetson and DRIVE */
    {"thor", 11, 0},
    {"orin*", 8, 7},
    {"xavier*", 7, 2},
    {"tegra x2", 6, 2},
    {"tx2*", 6, 2},
    {"tegra x1", 5, 3},
    {"tx1*", 5, 3},
    {"jetson nano", 5, 3},
    {"tegra k1", 3, 2},
    {"tk1", 3, 2},
};

/* Whether the name continues with the series, from the start of a word. */
static int goes_on_with(const char *name, const char *series)
{
	for (; *series; series++) {
		if (*series == ' ') {
			while (*name && !kc_is_letter_or_digit(*name))
				name++;
		} else if (*series == '*') {
			while (kc_is_letter_or_digit(*name))
				name++;
		} else if (*series == '#' ? !kc_is_digit(*name) : kc_lower(*name) != *series) {
			return 0;
		} else {
			name++;
		}
	}
	return !kc_is_letter_or_digit(*name);
}

static int has(const char *name, const char *series)
{
	for (const char *at = name; *at; at++) {
		int begins = kc_is_letter_or_digit(*at) && (at == name || !kc_is_letter_or_digit(at[-1]));

		if (begins && goes_on_with(at, series))
			return 1;
	}
	return 0;
}

int kc_device_capability_of(const char *name, uint32_t *cc_major, uint32_t *cc_minor)
{
	for (size_t i = 0; i < sizeof(all_series) / sizeof(all_series[0]); i++) {
		if (!has(name, all_series[i].series))
			continue;
		*cc_major = all_series[i].cc_major;
		*cc_minor = all_series[i].cc_minor;
		return 0;
	}
	return -ENOENT;
}
