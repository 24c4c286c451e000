#include "contention.h"

#include "predictor/math/compare.h"

#include <math.h>
#include <string.h>

/* Chosen on recorded runs of eight pipelines on the simulated device. */
#define LEAST_ERROR 0.01f    /* log time: no forecast is trusted to be better */
#define FIRST_ERROR 0.3f     /* log time: of a cell after its first measurement */
#define FIRST_APART 1.0f     /* log time: the same, of the device's cells, where one kernel stands for all */
#define CLIP 0.5f            /* of a cell's mean error: makes a running mean nearly a median */
#define MEMORY 40.0f         /* measurements */
#define ERROR_MEMORY 20.0f   /* measurements */
#define LAW_GAIN 0.05f       /* of the law's error, per measurement */
#define LAW_LEAST_LOAD 0.05f /* squared; slowdown beside less load is noise */
#define LARGEST_SENSITIVITY 16.0f
#define LARGEST_LOG 7.0f /* of time over solo */

struct mean_slowdown {
	float log_slowdown, weight;
};

static struct mean_slowdown unpack(uint64_t word)
{
	struct mean_slowdown cell;

	memcpy(&cell, &word, sizeof(cell));
	return cell;
}

static struct mean_slowdown read_cell(const uint64_t *word)
{
	return unpack(__atomic_load_n(word, __ATOMIC_RELAXED));
}

static void write_cell(uint64_t *word, struct mean_slowdown cell)
{
	uint64_t bits;

	memcpy(&bits, &cell, sizeof(bits));
	__atomic_store_n(word, bits, __ATOMIC_RELAXED);
}

void kc_contention_init(struct kc_contention *c, struct kc_contention *parent)
{
	*c = (struct kc_contention){.parent = parent};
}

static float weight_of(float error)
{
	return 1 / (error * error * error);
}

void kc_contention_detach(struct kc_contention *c)
{
	c->parent = NULL;
	for (uint32_t i = 0; i < KC_CONTENTION_CELLS; i++) {
		struct mean_slowdown cell = unpack(c->cells[i]);

		cell.weight = 0;
		write_cell(&c->cells[i], cell);
	}
}

void kc_contention_attach(struct kc_contention *c, struct kc_contention *parent)
{
	c->parent = parent;
	for (uint32_t i = 0; i < KC_CONTENTION_CELLS; i++) {
		struct mean_slowdown cell = unpack(c->cells[i]);

		if (!c->counts[i])
			continue;
		cell.weight = weight_of(kc__greater(c->errors[i], LEAST_ERROR));
		write_cell(&c->cells[i], cell);
	}
}

struct kc_load kc_load_of(const struct kc_device *device, const struct kc_work *work, double bytes, int64_t solo_ns)
{
	struct kc_load load = {{[KC_LOAD_ISSUE] = work->issue}};
	double rate = kc_device_bandwidth(device) * 1e-9 * (double)solo_ns;

	if (!(bytes > 0))
		return load;
	if (rate > 0)
		load.of[KC_LOAD_MEMORY] = (float)fmin(bytes / rate, 1);
	if (device->l2_bytes)
		load.of[KC_LOAD_L2] = (float)fmin(bytes / device->l2_bytes, 1);
	return load;
}

void kc_load_add_overlap(struct kc_load *met, const struct kc_load *other, int64_t overlap_ns, int64_t own_ns)
{
	float share = own_ns > 0 ? (float)overlap_ns / (float)own_ns : 0;

	for (int i = 0; i < KC_LOAD_TERMS; i++)
		met->of[i] += share * other->of[i];
}

#define PACKED_ROOM 4096.0f
#define PACKED_ROOM_MAX 0xffffffu
#define PACKED_LOAD 32.0f

/* Room and the loads side by side. */
typedef float four __attribute__((vector_size(16)));
typedef int32_t four_units __attribute__((vector_size(16)));

static inline four_units selected(four_units mask, four a, four b)
{
	return ((four_units)a & mask) | ((four_units)b & ~mask);
}

/* Each rounded to its nearest unit. Every maximum is below 2^24: exact. Bits 0 to 23 room, 24 to 47 loads, 48 to 51
 * crowd, 52 to 55 streams; what earlier versions packed has more behind them. */
__attribute__((hot)) uint64_t kc_expected_contention_pack(const struct kc_expected_contention *meeting)
{
	static const four unit = {PACKED_ROOM, PACKED_LOAD, PACKED_LOAD, PACKED_LOAD};
	static const four most = {PACKED_ROOM_MAX, UINT8_MAX, UINT8_MAX, UINT8_MAX};
	four scaled = {meeting->room, meeting->load.of[0], meeting->load.of[1], meeting->load.of[2]};
	four_units units;

	scaled = scaled * unit + 0.5f;
	scaled = (four)((four_units)scaled & (scaled > 0));
	units = __builtin_convertvector((four)selected(scaled < most, scaled, most), four_units);
	return (uint32_t)units[0] | (uint64_t)(uint32_t)(units[1] | units[2] << 8 | units[3] << 16) << 24 |
	       (uint64_t)(meeting->crowd & 0xf) << 48 | (uint64_t)(meeting->streams & 0xf) << 52;
}

struct kc_expected_contention kc_expected_contention_unpack(uint64_t packed)
{
	struct kc_expected_contention meeting = {.room = (float)(packed & PACKED_ROOM_MAX) / PACKED_ROOM,
						 .streams = packed >> 52 & 0xf,
						 .crowd = packed >> 48 & 0xf};

	for (int i = 0; i < KC_LOAD_TERMS; i++)
		meeting.load.of[i] = (float)(packed >> (24 + 8 * i) & 0xff) / PACKED_LOAD;
	meeting.room = meeting.room >= 1 ? meeting.room : 1;
	return meeting;
}

static uint32_t cell_of(uint32_t forecast, const struct kc_expected_contention *meeting)
{
	switch (forecast) {
	case KC_FORECAST_LOAD:
		return 2 * KC_OVERLAP_CELLS + meeting->crowd % KC_LOAD_CLASSES;
	case KC_FORECAST_STREAMS:
		return 2 * KC_OVERLAP_CELLS + KC_LOAD_CLASSES + meeting->streams % KC_STREAM_CLASSES;
	default:
		return (meeting->room > 1 || meeting->crowd ? KC_OVERLAP_CELLS : 0) + forecast;
	}
}

static float law_of(const struct kc_contention *c, const struct kc_load *load)
{
	struct mean_slowdown first = read_cell(&c->law[0]), second = read_cell(&c->law[1]);

	return 1 + first.log_slowdown * load->of[KC_LOAD_ISSUE] + first.weight * load->of[KC_LOAD_MEMORY] +
	       second.log_slowdown * load->of[KC_LOAD_L2];
}

/* The launch shape's node, or the device's while the shape has no measurement. */
static const struct kc_contention *first_with_data(const struct kc_contention *c,
						   const struct kc_expected_contention *meeting)
{
	uint32_t shape = cell_of(KC_FORECAST_SHAPE, meeting);

	while (c && !__atomic_load_n(&c->cells[shape], __ATOMIC_RELAXED))
		c = c->parent;
	return c;
}

/* Most launches run alone: no logarithm for them. */
static float log_of(float slowdown)
{
	return slowdown == 1 ? 0 : logf(slowdown);
}

/* The first two forecasts are computed, the others are what their cell remembers. */
static float forecast_log(uint32_t forecast, const struct mean_slowdown *cell,
			  const struct kc_expected_contention *meeting, float law)
{
	if (forecast == KC_FORECAST_ROOM)
		return log_of(meeting->room);
	return forecast == KC_FORECAST_LAW ? log_of(law) : cell->log_slowdown;
}

__attribute__((hot)) float kc_contention_slowdown(const struct kc_contention *c,
						  const struct kc_expected_contention *meeting)
{
	float sum = 0, weights = 0, law;

	c = first_with_data(c, meeting);
	if (!c)
		return meeting->room;
	law = law_of(c, &meeting->load);
	for (uint32_t forecast = 0; forecast < KC_FORECASTS; forecast++) {
		struct mean_slowdown cell = read_cell(&c->cells[cell_of(forecast, meeting)]);

		if (!(cell.weight > 0))
			continue;
		sum += cell.weight * forecast_log(forecast, &cell, meeting, law);
		weights += cell.weight;
	}
	sum = weights > 0 ? sum / weights : log_of(meeting->room);
	return sum > 0 ? expf(kc__lesser(sum, LARGEST_LOG)) : 1;
}

static float clip(float value, float limit)
{
	return kc__lesser(kc__greater(value, -limit), limit);
}

static float first_error(const struct kc_contention *c, int has_memory)
{
	return has_memory && !c->parent ? FIRST_APART : FIRST_ERROR;
}

static void learn_cell(struct kc_contention *c, uint32_t i, float predicted, float log_slowdown, int has_memory)
{
	struct mean_slowdown cell = unpack(c->cells[i]);
	uint8_t *count = &c->counts[i];
	float mean_error = *count ? c->errors[i] : first_error(c, has_memory);
	float error = log_slowdown - predicted;

	if (!*count && has_memory)
		error = log_slowdown;
	*count += *count < UINT8_MAX;
	if (has_memory) {
		float limit = *count == 1 ? LARGEST_LOG : CLIP * mean_error + LEAST_ERROR;

		cell.log_slowdown += clip(error, limit) * kc__greater(1 / MEMORY, 1 / (float)*count);
	}
	if (*count > 1 || !has_memory)
		mean_error += (fabsf(error) - mean_error) * kc__greater(1 / ERROR_MEMORY, 1 / ((float)*count + 1));
	c->errors[i] = kc__greater(mean_error, LEAST_ERROR);
	cell.weight = weight_of(c->errors[i]);
	write_cell(&c->cells[i], cell);
}

/* Normalised least mean squares: each term is corrected by its share of the load. */
static void learn_law(struct kc_contention *c, const struct kc_load *met, float slowdown)
{
	struct mean_slowdown first = unpack(c->law[0]), second = unpack(c->law[1]);
	float *const terms[KC_LOAD_TERMS] = {&first.log_slowdown, &first.weight, &second.log_slowdown};
	float power = 0, error = slowdown - law_of(c, met);

	for (int i = 0; i < KC_LOAD_TERMS; i++)
		power += met->of[i] * met->of[i];
	for (int i = 0; i < KC_LOAD_TERMS; i++) {
		*terms[i] += LAW_GAIN * error * met->of[i] / kc__greater(power, LAW_LEAST_LOAD);
		*terms[i] = kc__lesser(kc__greater(*terms[i], 0), LARGEST_SENSITIVITY);
	}
	write_cell(&c->law[0], first);
	write_cell(&c->law[1], second);
}

/* Solo time is still being learned. When it changes, what was measured stays true: the slowdowns are converted to the
 * new solo time. The cells of the first two forecasts hold no slowdown. */
static void rebase_on_solo(struct kc_contention *c, float log_solo)
{
	float by = log_solo - c->log_solo;
	int first = c->log_solo == 0;

	c->log_solo = log_solo;
	if (first || !c->parent || by == 0)
		return;
	for (uint32_t i = 0; i < KC_CONTENTION_CELLS; i++) {
		struct mean_slowdown cell = unpack(c->cells[i]);

		if (!c->counts[i])
			continue;
		cell.log_slowdown -= by;
		write_cell(&c->cells[i], cell);
	}
}

void kc_contention_learn(struct kc_contention *c, const struct kc_expected_contention *meeting,
			 const struct kc_load *met, int64_t solo_ns, int64_t measured_ns)
{
	float slowdown, log_slowdown;

	if (solo_ns <= 0 || measured_ns <= 0)
		return;
	slowdown = (float)((double)measured_ns / (double)solo_ns);
	log_slowdown = clip(logf(slowdown), LARGEST_LOG);
	for (; c; c = c->parent) {
		float law = law_of(c, &meeting->load);

		rebase_on_solo(c, logf((float)solo_ns));
		for (uint32_t forecast = 0; forecast < KC_FORECASTS; forecast++) {
			uint32_t i = cell_of(forecast, meeting);
			struct mean_slowdown cell = unpack(c->cells[i]);

			learn_cell(c, i, forecast_log(forecast, &cell, meeting, law), log_slowdown,
				   forecast > KC_FORECAST_LAW);
		}
		learn_law(c, met, slowdown);
	}
}
