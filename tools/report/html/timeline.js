/*
 * The timeline of a window: for each stream what was predicted above what was measured. It shows the time from
 * view.from to view.to, ns after the window's first moment, and is drawn again whenever that changes.
 */
const LANE = 15, BETWEEN = 9, NAMES = 96, LINE_WIDTH = 1100, SCALE = 24;
const LAST = LINE_WIDTH - 34; /* where the axis ends: the rest is for half of its last label */
/* Of a row of a window. */
const STREAM = 0, W_KERNEL = 1, P_FROM = 2, P_TO = 3, M_FROM = 4, M_TO = 5, W_LAUNCHED = 6, SEQUENCE = 7, W_NOVELTY = 8, BYTES = 9;

const isCopy = row => row[BYTES] !== null;
const lastOf = row => Math.max(row[P_TO], row[M_TO], row[W_LAUNCHED]);

function sliceLines(data, row) {
	const predicted = row[P_FROM] === null ? NaN : row[P_TO] - row[P_FROM], measured = row[M_FROM] === null ? NaN : row[M_TO] - row[M_FROM];
	const late = row[M_FROM] - row[P_FROM];

	return [isCopy(row) ? `copy or memset, ${showBytes(row[BYTES])}` : data.nameOf(row[W_KERNEL]),
		`launch ${showCount(row[SEQUENCE])}, ${data.streamOf(row[STREAM])}, launched at ${showTime(row[W_LAUNCHED])}` +
			(isCopy(row) || !isKnown(predicted) ? '' : `, ${NOVELTIES[row[W_NOVELTY]] ? NOVELTIES[row[W_NOVELTY]][0] : ''}`),
		`predicted ${showTime(predicted)}, measured ${showTime(measured)}` +
			(predicted >= 0 && measured > 0 ? `, error ${showPercent(100 * Math.abs(predicted - measured) / measured)}` : ''),
		isKnown(predicted) && isKnown(measured) ? `began ${showTime(Math.abs(late))} ${late < 0 ? 'earlier' : 'later'} than predicted` : ''];
}

class Timeline {
	constructor(data, windows) {
		this.data = data;
		this.windows = windows;
		this.svg = drawn('svg', {tabindex: 0, role: 'group', class: 'timeline', 'aria-label': 'Timeline of the streams. Plus and minus ' +
			'zoom, left and right move, n and p go to the next and previous launch, Home shows all'});
		this.about = element('p', {class: 'note'});
		this.chosen = element('output', {class: 'chosen', 'aria-live': 'polite'});
		this.choice = element('select', {'aria-label': 'part of the run'},
			windows.map((part, i) => element('option', {value: i}, part.title)));
		this.listen();
		this.open(0);
	}

	open(place) {
		this.window = this.windows[place];
		this.rows = this.window.rows;
		this.streams = [...new Set(this.rows.map(row => row[STREAM]))].sort((a, b) => a - b);
		this.laneOf = new Map(this.streams.map((stream, i) => [stream, i]));
		this.whole = rangeOf(this.rows.map(lastOf), 1)[1];
		this.height = SCALE + this.streams.length * (2 * LANE + BETWEEN);
		this.selected = -1;
		this.svg.setAttribute('viewBox', `0 0 ${LINE_WIDTH} ${this.height}`);
		const launches = this.rows.filter(row => !isCopy(row)).length;
		this.about.textContent = `${counted(launches, 'launch', 'launches')} and ${counted(this.rows.length - launches, 'copy', 'copies')}` +
			(this.window.process ? ` of ${this.window.process}` : isKnown(this.window.pid) ? ` of process ${this.window.pid}` : '') + `, from ${showTime(this.window.base_ns)} on, counted from the start of the run. ` +
			'In each stream, predicted (light) is above measured.';
		this.show(0, this.whole);
		this.tell(null);
	}

	show(from, to) {
		const least = 200, length = Math.max(least, Math.min(to - from, this.whole));

		this.from = Math.max(0, Math.min(from, this.whole - length));
		this.to = this.from + length;
		this.draw();
	}

	zoom(by, at) {
		const middle = at === undefined ? (this.from + this.to) / 2 : at;

		this.show(middle - (middle - this.from) * by, middle + (this.to - middle) * by);
	}

	move(share) {
		const by = share * (this.to - this.from);

		this.show(this.from + by, this.to + by);
	}

	placeOf(row, kind) {
		return SCALE + this.laneOf.get(row[STREAM]) * (2 * LANE + BETWEEN) + kind * LANE;
	}

	slice(row, index, kind) {
		const from = row[kind ? M_FROM : P_FROM], to = row[kind ? M_TO : P_TO];

		if (from === null || to < this.from || from > this.to)
			return null;
		const left = Math.max(NAMES, this.x(from)), right = Math.min(LAST, this.x(to));
		return drawn('rect', {class: `slice ${kind ? 'measured' : 'predicted'} ${isCopy(row) ? 'copy' : this.data.colourOf(row[W_KERNEL])}` +
			(index === this.selected ? ' selected' : ''), x: left.toFixed(2), y: this.placeOf(row, kind) + (kind ? 0 : 1),
			width: Math.max(0.7, right - left).toFixed(2), height: LANE - (kind ? 0 : 1), 'data-row': index});
	}

	draw() {
		this.x = linearScale(this.from, this.to, NAMES, LAST, showTime);
		const axis = drawn('g', {class: 'axes'}), names = drawn('g', {class: 'names'});

		for (const [ns, text] of this.x.ticks)
			add(axis, [drawn('path', {d: `M${this.x(ns).toFixed(1)} ${SCALE - 6}V${this.height}`}),
				drawn('text', {x: this.x(ns).toFixed(1), y: 12, 'text-anchor': 'middle'}, text)]);
		this.streams.forEach((stream, i) => add(names, [drawn('text', {x: NAMES - 8, y: SCALE + i * (2 * LANE + BETWEEN) + LANE + 4,
			'text-anchor': 'end'}, this.data.streamOf(stream))]));
		this.svg.replaceChildren(axis, names, ...this.rows.flatMap((row, i) => [this.slice(row, i, 0), this.slice(row, i, 1)])
			.filter(slice => slice));
	}

	select(index) {
		const row = this.rows[index];

		if (!row)
			return;
		const from = row[M_FROM] === null ? row[P_FROM] === null ? row[W_LAUNCHED] : row[P_FROM] : row[M_FROM];
		this.selected = index;
		if (from < this.from || from > this.to)
			this.show(from - (this.to - this.from) / 2, from + (this.to - this.from) / 2);
		else
			this.draw();
		this.tell(row);
	}

	tell(row) {
		this.chosen.textContent = row ? sliceLines(this.data, row).filter(line => line).join('; ') : 'Point at a launch, or select one with n and p.';
	}

	keys(event) {
		const does = {
			'+': () => this.zoom(0.5), '=': () => this.zoom(0.5), '-': () => this.zoom(2),
			'ArrowUp': () => this.zoom(0.5), 'ArrowDown': () => this.zoom(2),
			'ArrowLeft': () => this.move(-0.25), 'ArrowRight': () => this.move(0.25),
			'Home': () => this.show(0, this.whole), 'n': () => this.select(this.selected + 1),
			'p': () => this.select(Math.max(0, this.selected - 1)),
		}[event.key];

		if (!does || event.ctrlKey || event.metaKey || event.altKey)
			return;
		event.preventDefault();
		does();
	}

	timeAt(event) {
		const box = this.svg.getBoundingClientRect(), x = (event.clientX - box.left) * LINE_WIDTH / box.width;

		return this.from + (x - NAMES) * (this.to - this.from) / (LAST - NAMES);
	}

	listen() {
		const svg = this.svg;
		let held = null;

		this.choice.addEventListener('change', () => this.open(+this.choice.value));
		svg.addEventListener('keydown', event => this.keys(event));
		svg.addEventListener('wheel', event => {
			if (!event.ctrlKey && document.activeElement !== svg)
				return; /* the page scrolls */
			event.preventDefault();
			this.zoom(event.deltaY < 0 ? 0.8 : 1.25, this.timeAt(event));
		}, {passive: false});
		svg.addEventListener('pointerdown', event => {
			held = {at: event.clientX, from: this.from, moved: false};
		});
		svg.addEventListener('pointermove', event => {
			if (held && event.buttons) {
				const by = (event.clientX - held.at) * LINE_WIDTH / svg.getBoundingClientRect().width *
					(this.to - this.from) / (LAST - NAMES);

				held.moved = held.moved || Math.abs(event.clientX - held.at) > 3;
				hideTip();
				return this.show(held.from - by, held.from - by + this.to - this.from);
			}
			const row = event.target.dataset.row;
			return row === undefined ? hideTip() : showTip(sliceLines(this.data, this.rows[row]).filter(line => line), event);
		});
		svg.addEventListener('pointerup', event => {
			if (held && !held.moved && event.target.dataset.row !== undefined)
				this.select(+event.target.dataset.row);
			held = null;
		});
		svg.addEventListener('pointerleave', () => {
			held = null;
			hideTip();
		});
	}

	button(text, title, does) {
		const button = element('button', {type: 'button', title: title, 'aria-label': title}, text);

		button.addEventListener('click', does);
		return button;
	}

	element() {
		return element('div', {}, element('p', {class: 'controls'}, this.windows.length > 1 ? this.choice : null, ' ',
			this.button('+', 'zoom in', () => this.zoom(0.5)), ' ', this.button('−', 'zoom out', () => this.zoom(2)), ' ',
			this.button('←', 'earlier', () => this.move(-0.25)), ' ', this.button('→', 'later', () => this.move(0.25)), ' ',
			this.button('all', 'show all', () => this.show(0, this.whole)), ' ',
			element('span', {class: 'note'}, 'keys: + − ← → Home, n and p')), this.about, element('div', {class: 'wide lanes'}, this.svg),
			element('p', {}, this.chosen));
	}
}
