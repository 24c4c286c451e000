/*
 * Figures: axes, dots, lines. A scale maps values to places: scale(value), with scale.ticks, [value, text] each.
 */
const WIDTH = 560, HEIGHT = 330, LEFT = 62, RIGHT = 20, TOP = 10, BOTTOM = 42;
const ROUNDING = 1e-9; /* of sums and logarithms */
const NEAR = 14; /* a dot is pointed at from so far, in units of the figure */

function logScale(low, high, from, to, show) {
	const first = Math.log10(low), last = Math.log10(high), scale = value =>
		from + (to - from) * (Math.log10(value) - first) / (last - first || 1);
	const decades = Math.ceil(last) - Math.floor(first), step = Math.max(1, Math.ceil(decades / 8));

	scale.ticks = [];
	for (let at = Math.ceil(first - ROUNDING); at <= last + ROUNDING; at += step)
		scale.ticks.push([10 ** at, show(10 ** at)]);
	for (const steps of [[1, 2, 5], [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8]]) {
		if (scale.ticks.length > 2)
			break;
		scale.ticks = [];
		for (let at = Math.floor(first); at <= last; at++)
			scale.ticks.push(...steps.map(digit => digit * 10 ** at).filter(value => value >= low * 0.999 && value <= high * 1.001)
				.map(value => [value, show(value)]));
	}
	return scale;
}

function linearScale(low, high, from, to, show) {
	const rough = (high - low || 1) / 5, power = 10 ** Math.floor(Math.log10(rough));
	const step = power * [1, 2, 5, 10].find(digit => digit * power >= rough * (1 - ROUNDING));
	const scale = value => from + (to - from) * (value - low) / (high - low || 1);

	scale.ticks = [];
	for (let at = Math.ceil(low / step - ROUNDING); at * step <= high + step * ROUNDING; at++)
		scale.ticks.push([at * step, show(at * step)]);
	return scale;
}

function axes(x, y, xTitle, yTitle, height) {
	const bottom = (height || HEIGHT) - BOTTOM, group = drawn('g', {class: 'axes'});

	for (const [value, text] of x.ticks)
		add(group, [drawn('path', {d: `M${x(value).toFixed(1)} ${TOP}V${bottom}`}),
			drawn('text', {x: x(value).toFixed(1), y: bottom + 15, 'text-anchor': 'middle'}, text)]);
	for (const [value, text] of y.ticks)
		add(group, [drawn('path', {d: `M${LEFT} ${y(value).toFixed(1)}H${WIDTH - RIGHT}`}),
			drawn('text', {x: LEFT - 6, y: (y(value) + 3.5).toFixed(1), 'text-anchor': 'end'}, text)]);
	add(group, [drawn('text', {class: 'title', x: (LEFT + WIDTH - RIGHT) / 2, y: bottom + 34, 'text-anchor': 'middle'}, xTitle)]);
	if (yTitle)
		add(group, [drawn('text', {class: 'title', transform: `translate(12 ${(TOP + bottom) / 2}) rotate(-90)`,
			'text-anchor': 'middle'}, yTitle)]);
	return group;
}

/* One path for all dots of a kind: shape "dot", "square" or "triangle", which tell kinds apart without colour. */
function dotsPath(places, kind, shape) {
	const one = {dot: 'h0', square: 'h0', triangle: 'm-3 2.6h6l-3-5.4z'}[shape];

	return drawn('path', {class: `dots ${shape} ${kind}`,
		d: places.map(([x, y]) => `M${x.toFixed(1)} ${y.toFixed(1)}${one}`).join('')});
}

function linePath(places, kind) {
	return drawn('path', {class: 'line ' + kind,
		d: places.map(([x, y], i) => `${i ? 'L' : 'M'}${x.toFixed(1)} ${y.toFixed(1)}`).join('')});
}

/* entries: [text, kind, shape]; shape "line" and "box" too */
function legend(entries) {
	const keyOf = (kind, shape) => {
		const key = drawn('svg', {width: 18, height: 10, viewBox: '0 0 18 10', 'aria-hidden': 'true'});

		return add(key, [shape === 'line' ? linePath([[0, 5], [18, 5]], kind)
			: shape === 'box' ? drawn('rect', {class: 'box ' + kind, width: 14, height: 9, x: 1, y: 0.5})
			: dotsPath([[9, 5]], kind + ' sure', shape)]);
	};

	return element('p', {class: 'legend'}, entries.map(([text, kind, shape]) => element('span', {}, keyOf(kind, shape), text)));
}

/* places: [x, y, lines()]; the nearest one to the pointer shows its lines. */
function tipsFor(svg, places) {
	const ring = drawn('circle', {class: 'ring', r: 6, visibility: 'hidden'});

	svg.append(ring);
	svg.addEventListener('mousemove', event => {
		const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
		const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
		let nearest = null, least = NEAR * NEAR;

		for (const place of places) {
			const far = (place[0] - x) ** 2 + (place[1] - y) ** 2;

			if (far < least) {
				least = far;
				nearest = place;
			}
		}
		ring.setAttribute('visibility', nearest ? 'visible' : 'hidden');
		if (!nearest)
			return hideTip();
		ring.setAttribute('cx', nearest[0]);
		ring.setAttribute('cy', nearest[1]);
		return showTip(nearest[2](), event);
	});
	svg.addEventListener('mouseleave', () => {
		ring.setAttribute('visibility', 'hidden');
		hideTip();
	});
}

function figure(title, caption, parts, entries, height) {
	const svg = drawn('svg', {viewBox: `0 0 ${WIDTH} ${height || HEIGHT}`, role: 'img', 'aria-label': title});

	return {svg: add(svg, parts), figure: element('figure', {}, element('figcaption', {}, element('b', {}, title), ' ', caption),
		entries ? legend(entries) : null, svg)};
}

/* --- launches */

const NOVELTIES = [['first seen', 'first', 'triangle'], ['new size', 'sized', 'square'], ['repeated', 'again', 'dot']];
const OVERLAPS = ['overlap not known', 'alone', 'overlapped by earlier launches', 'overlapped by later launches'];
/* Of a row of drawn.rows. */
const KERNEL = 0, LAUNCHED = 1, PREDICTED = 2, MEASURED = 3, LOW = 4, HIGH = 5, NOVELTY = 6, OVERLAP = 7, SLOWED = 8,
	SLOWED_MEASURED = 9;

const errorOf = row => 100 * Math.abs(row[PREDICTED] - row[MEASURED]) / row[MEASURED];
const isMatched = row => row[PREDICTED] > 0 && row[MEASURED] > 0;

function launchLines(data, row) {
	return [data.nameOf(row[KERNEL]), `predicted ${showTime(row[PREDICTED])}, measured ${showTime(row[MEASURED])}, error ` +
		showPercent(errorOf(row)), `${NOVELTIES[row[NOVELTY]][0]}, ${OVERLAPS[row[OVERLAP]]}, at ${showTime(row[LAUNCHED] * 1e3)}`];
}

/* Reads better with the many repeated ones below the few others. */
function byNovelty(rows, place) {
	return [2, 1, 0].map(novelty => dotsPath(rows.filter(row => row[NOVELTY] === novelty).map(place),
		NOVELTIES[novelty][1] + (rows.length > 3000 ? ' many' : ''), NOVELTIES[novelty][2]));
}

function rangeOf(values, least) {
	let low = Infinity, high = -Infinity;

	for (const value of values) {
		low = Math.min(low, value);
		high = Math.max(high, value);
	}
	return [Math.max(low, least), Math.max(high, least * 2)];
}

function drawPredicted(data, rows) {
	const [low, high] = rangeOf(rows.flatMap(row => [row[PREDICTED], row[MEASURED]]), 1);
	const bottom = HEIGHT - BOTTOM, x = logScale(low * 0.8, high * 1.25, LEFT, WIDTH - RIGHT, showTime);
	const y = logScale(low * 0.8, high * 1.25, bottom, TOP, showTime);
	const place = row => [x(row[MEASURED]), y(row[PREDICTED])];
	const ratio = by => [low, high].map(ns => [x(ns), Math.min(bottom, Math.max(TOP, y(ns * by)))]);
	const made = figure('Predicted against measured.', `${data.drawnPart}; lines: the same, and 0.8 and 1.2 times as long.`,
		[axes(x, y, 'measured', 'predicted'), linePath(ratio(1), 'same'), linePath(ratio(0.8), 'limit'),
			linePath(ratio(1.2), 'limit'), byNovelty(rows, place)],
		NOVELTIES);

	tipsFor(made.svg, rows.map(row => [...place(row), () => launchLines(data, row)]));
	return made.figure;
}

const LEAST_ERROR = 0.01; /* percent: below it, dots are on the axis */

/* Medians of equal numbers of launches in the order of time. */
function medians(rows, count) {
	const each = Math.ceil(rows.length / count), out = [];

	for (let i = 0; i < rows.length; i += each) {
		const part = rows.slice(i, i + each), errors = part.map(errorOf).sort((a, b) => a - b);

		out.push([part[part.length >> 1][LAUNCHED], Math.max(LEAST_ERROR, quantile(errors, 0.5))]);
	}
	return out;
}

function drawErrors(data, rows) {
	const sorted = [...rows].sort((a, b) => a[LAUNCHED] - b[LAUNCHED]);
	const [, high] = rangeOf(rows.map(errorOf), 10), last = sorted[sorted.length - 1][LAUNCHED];
	const x = linearScale(Math.min(0, sorted[0][LAUNCHED]), last, LEFT, WIDTH - RIGHT, us => showTime(us * 1e3));
	const y = logScale(LEAST_ERROR, high * 1.3, HEIGHT - BOTTOM, TOP, percent => `${+percent.toPrecision(1)} %`);
	const place = row => [x(row[LAUNCHED]), y(Math.max(LEAST_ERROR, errorOf(row)))];
	const made = figure('Error over time.', `${data.drawnPart}, by their launch from the start of the run; the line is the median ` +
		`of ${sorted.length >= 80 ? 'each fortieth part' : 'each'} of them. Errors below ${LEAST_ERROR} % are on the axis.`,
		[axes(x, y, 'launched', 'error'), byNovelty(rows, place),
			linePath(medians(sorted, 40).map(([us, error]) => [x(us), y(error)]), 'median')],
		[...NOVELTIES, ['median', 'median', 'line']]);

	tipsFor(made.svg, rows.map(row => [...place(row), () => launchLines(data, row)]));
	return made.figure;
}

/* 10, 25, 50, 75 and 90 % of the errors by what was known */
function drawKnown(data, rows) {
	const height = 60 + 3 * 44, classes = NOVELTIES.map(([name, kind], novelty) => [name, kind,
		rows.filter(row => row[NOVELTY] === novelty).map(errorOf).sort((a, b) => a - b)]);
	const [, high] = rangeOf(classes.flatMap(([, , errors]) => errors.length ? [quantile(errors, 0.9)] : []), 10);
	const x = logScale(LEAST_ERROR, high * 1.3, LEFT + 24, WIDTH - RIGHT, percent => `${+percent.toPrecision(1)} %`);
	const parts = [axes(x, {ticks: []}, 'error', '', height)];

	classes.forEach(([name, kind, errors], i) => {
		const middle = TOP + 26 + i * 44, at = share => x(Math.max(LEAST_ERROR, quantile(errors, share))).toFixed(1);

		parts.push(drawn('text', {x: LEFT + 16, y: middle + 4, 'text-anchor': 'end'}, name));
		if (!errors.length)
			return parts.push(drawn('text', {class: 'faint', x: LEFT + 32, y: middle + 4}, 'none'));
		return parts.push(drawn('path', {class: 'whisker', d: `M${at(0.1)} ${middle}H${at(0.9)}`}),
			drawn('rect', {class: 'box ' + kind, x: at(0.25), y: middle - 9, height: 18,
				width: Math.max(1, at(0.75) - at(0.25)).toFixed(1)}),
			drawn('path', {class: 'middle', d: `M${at(0.5)} ${middle - 13}v26`}),
			drawn('text', {class: 'value', x: WIDTH - RIGHT, y: middle - 12, 'text-anchor': 'end'},
				`median ${showPercent(quantile(errors, 0.5))}, ${counted(errors.length, 'launch', 'launches')}`));
	});
	return figure('Error by what was known.', `${data.drawnPart}: the median, half of them in the box, 8 of 10 on the line.`, parts,
		null, height).figure;
}

function drawCoverage(data, rows) {
	const height = 60 + 3 * 40;
	const x = linearScale(0, 100, LEFT + 24, WIDTH - RIGHT, percent => `${percent} %`);
	const parts = [axes(x, {ticks: []}, 'share of launches', '', height)];

	NOVELTIES.forEach(([name], novelty) => {
		const some = rows.filter(row => row[NOVELTY] === novelty), top = TOP + 16 + novelty * 40;
		const below = some.filter(row => row[MEASURED] < row[LOW]).length, above = some.filter(row => row[MEASURED] > row[HIGH]).length;
		let at = 0;

		parts.push(drawn('text', {x: LEFT + 16, y: top + 13, 'text-anchor': 'end'}, name));
		if (!some.length)
			return parts.push(drawn('text', {class: 'faint', x: LEFT + 32, y: top + 13}, 'none'));
		for (const [kind, count] of [['below', below], ['inside', some.length - below - above], ['above', above]]) {
			const share = 100 * count / some.length;

			if (count)
				parts.push(drawn('rect', {class: 'box ' + kind, x: x(at).toFixed(1), y: top, height: 18,
					width: (x(at + share) - x(at)).toFixed(1)}));
			at += share;
		}
		return parts.push(drawn('path', {class: 'wanted', d: `M${x(90)} ${top - 3}v24`}), drawn('text', {class: 'value', x: WIDTH - RIGHT,
			y: top - 5, 'text-anchor': 'end'}, `${showPercent(100 * (some.length - below - above) / some.length)} inside, ${counted(some.length, 'launch', 'launches')}`));
	});
	return figure('Coverage of the 90 % intervals.', `${data.drawnPart}: 90 % of the measured times should lie inside.`, parts, [['shorter', 'below', 'box'], ['inside', 'inside', 'box'],
		['longer', 'above', 'box'], ['90 %', 'wanted', 'line']], height).figure;
}

/* --- λ and slowdown */

function drawLambdas(data, lambda) {
	const lines = lambda.lines.map(line => ({...line, last: line.points[line.points.length - 1][2]})).filter(line => line.last > 0);
	const ratios = lines.flatMap(line => line.points.map(point => point[2] / line.last)).filter(ratio => ratio > 0);
	const [low, high] = rangeOf(ratios, 1e-3), most = Math.max(...lines.map(line => line.values));
	const x = logScale(1, Math.max(most, 10), LEFT, WIDTH - RIGHT, showCount);
	const y = logScale(Math.min(low, 0.8) * 0.95, Math.max(high, 1.25) * 1.05, HEIGHT - BOTTOM, TOP, showRatio), places = [];
	const parts = [axes(x, y, 'published value, one after another', 'λ / its last value'), linePath([[LEFT, y(1)], [WIDTH - RIGHT, y(1)]], 'same')];

	lines.forEach((line, i) => {
		const at = line.points.map((point, k) => [x(1 + k * (line.values - 1) / Math.max(1, line.points.length - 1)),
			y(Math.max(low, point[2] / line.last)), () => [line.kernel < 0 ? 'the device' : data.nameOf(line.kernel),
				`λ ${showRatio(point[2])} after ${counted(point[1], 'measurement')}, at ${showTime(point[0] * 1e3)}`, `model ${line.level}`]]);

		parts.push(linePath(at, `k${i}`));
		places.push(...at);
	});

	const made = figure('λ settles.', `λ is the factor between the model and a kernel's measured time. For the kernels that took most time, the ` +
		`value that was published most often, over its last one; from the first ${counted(lambda.read, 'value')} that were published.`,
		parts, lines.map((line, i) => [data.shortOf(line.kernel, 'the device'), `k${i}`, 'line']));

	tipsFor(made.svg, places);
	return made.figure;
}

/* groups: [kernel, case, overlap, launches, predicted, measured] */
function slowdownPlaces(data, groups) {
	return groups.filter(group => group[4] > 0 && group[5] > 0).map(group => ({predicted: group[4], measured: group[5],
		size: Math.min(14, 2 + Math.sqrt(group[3]) / 3), lines: () => [data.nameOf(group[0]),
			`slowdown: predicted ${showRatio(group[4])}, measured ${showRatio(group[5])}, means of ${counted(group[3], 'launch', 'launches')}`,
			`predicted to run ${CASES[group[1]] || '?'}; ${OVERLAPS[group[2]] || '?'}`]}));
}

function drawSlowdowns(places, caption) {
	const [, high] = rangeOf(places.flatMap(place => [place.predicted, place.measured]), 1);
	const [low] = rangeOf(places.flatMap(place => [place.predicted, place.measured]), 0.1), bottom = HEIGHT - BOTTOM;
	const x = logScale(Math.min(low, 1) * 0.95, high * 1.1, LEFT, WIDTH - RIGHT, showRatio);
	const y = logScale(Math.min(low, 1) * 0.95, high * 1.1, bottom, TOP, showRatio);
	const ratio = by => [Math.min(low, 1), high].map(value => [x(value), Math.min(bottom, Math.max(TOP, y(value * by)))]);
	const made = figure('Slowdown, predicted against measured.', caption, [axes(x, y, 'measured slowdown', 'predicted'),
		linePath(ratio(1), 'same'), linePath(ratio(0.8), 'limit'), linePath(ratio(1.2), 'limit'),
		places.map(place => drawn('circle', {class: 'bubble', cx: x(place.measured).toFixed(1), cy: y(place.predicted).toFixed(1),
			r: place.size.toFixed(1)}))]);

	tipsFor(made.svg, places.map(place => [x(place.measured), y(place.predicted), place.lines]));
	return made.figure;
}
