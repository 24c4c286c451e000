'use strict';
/*
 * What all parts of the page use: elements, numbers as people read them, and the tip beside the pointer.
 * Text becomes text nodes only, whatever it says.
 */
const SVG = 'http://www.w3.org/2000/svg';

/* attributes: class, id, …; children: nodes and text, in lists or not; what is null is left out. */
function add(to, children) {
	for (const child of children.flat(Infinity)) {
		if (child !== null && child !== undefined && child !== '')
			to.append(child);
	}
	return to;
}

function element(name, attributes, ...children) {
	const made = document.createElement(name);

	for (const [key, value] of Object.entries(attributes || {}))
		made.setAttribute(key, value);
	return add(made, children);
}

function drawn(name, attributes, ...children) {
	const made = document.createElementNS(SVG, name);

	for (const [key, value] of Object.entries(attributes || {}))
		made.setAttribute(key, value);
	return add(made, children);
}

function section(id, title, ...children) {
	return element('section', {id: id, 'aria-labelledby': id + '-title'},
		element('h2', {id: id + '-title'}, title), ...children);
}

/* The same with all but its heading folded away. */
function foldedSection(id, title, ...children) {
	return element('section', {id: id, 'aria-labelledby': id + '-title'},
		element('details', {class: 'folded'}, element('summary', {}, element('h2', {id: id + '-title'}, title)), ...children));
}

/* --- names */

const NAME_COLUMNS = 48;

/* As the text of the command shortens: tools/output/format.c. */
function shortened(name, columns) {
	const tail = columns - 1 >> 1;

	return name.length > columns ? `${name.slice(0, columns - 1 - tail)}…${name.slice(-tail)}` : name;
}

/* What of a name tells it from others, as tools/output/names/plain_name.c. */
function plainName(name) {
	const brackets = (text, kinds) => (kinds[0].includes(text) ? 1 : 0) - (kinds[1].includes(text) ? 1 : 0);
	let end = name.length, begin = 0;

	if (name.endsWith(')')) {
		for (let at = name.length - 1, depth = 0; at > 0; at--) {
			depth += brackets(name[at], [')', '(']);
			if (!depth) {
				end = /[\w>]/.test(name[at - 1]) ? at : end;
				break;
			}
		}
	}
	if (end < name.length) {
		for (let at = end - 1, depth = 0; at >= 0 && !begin; at--) {
			begin = name[at] === ' ' && !depth ? at + 1 : 0;
			depth += brackets(name[at], [')>}]', '(<{[']);
		}
	}
	return name.slice(begin, end).replace(/, std::array<char\*, \d+ul>|\(anonymous namespace\)::/g, '')
		.replace(/(^|[^\w:])(?:at::native::|c10::|std::)+/g, '$1');
}

function firstDifference(a, b) {
	let at = 0;

	while (at < a.length && a[at] === b[at])
		at++;
	return at;
}

/* The beginning of a name, and what is around the place in it. */
function shortenedTo(name, place, columns) {
	const head = columns >> 1, rest = columns - head - 2, from = Math.max(head, Math.min(place - (rest >> 2), name.length - rest));

	return name.slice(0, head) + (from > head ? '…' : '') + name.slice(from, from + rest) + (from + rest < name.length ? '…' : '');
}

/* Short forms by name. Of names that would read alike, the place is shown in which each differs from those most like it,
 * and as much more as it takes. */
function shortForms(names, columns) {
	const alike = new Map(), forms = new Map(), taken = new Set(), plain = new Map(), whole = names.every(name => name.length <= columns);
	const apart = (name, others) => {
		const place = Math.max(...others.map(other => firstDifference(name, other)));
		let form, more = 0;

		do {
			form = shortenedTo(name, place, columns + more);
			more += 16;
		} while (taken.has(form));
		return form;
	};

	for (const name of new Set(names)) {
		const text = whole ? name : plainName(name);

		plain.set(text, [...plain.get(text) || [], name]);
	}
	/* Overloads have one plain name: they are told apart by all of theirs. */
	for (const [text, those] of plain) {
		for (const name of those) {
			const shown = those.length === 1 ? text : name, form = shortened(shown, columns);

			alike.set(form, [...alike.get(form) || [], [shown, name]]);
		}
	}
	for (const [form, those] of alike) {
		those.sort();
		those.forEach(([shown, name], i) => {
			forms.set(name, those.length === 1 ? form : apart(shown, [i - 1, i + 1].filter(k => those[k]).map(k => those[k][0])));
			taken.add(forms.get(name));
		});
	}
	return forms;
}

let nameForms = new Map(); /* of the kernels of the page */

const shortName = name => nameForms.get(name) || shortened(name, NAME_COLUMNS);

/* A long name on one line; the whole of it is there to be opened. */
function nameElement(name) {
	const whole = element('code', {}, name);

	return shortName(name) === name ? whole : element('details', {class: 'name', title: name},
		element('summary', {}, element('code', {}, shortName(name))), whole);
}

/* --- numbers */

const isKnown = value => value !== null && value !== undefined && !Number.isNaN(value);

/* The numbers below read as in the text of the command, to the last digit: tools/output/format.c. */

/* As printf() rounds: a tie, which toFixed() rounds up, to the even digit. */
function fixed(value, places) {
	const isTie = Math.abs(value * 2 ** (places + 1)) % 2 === 1, text = value.toFixed(places);

	return isTie && +text[text.length - 1] % 2 ? (value * (1 - 1e-9)).toFixed(places) : text;
}

const places = size => size < 9.995 ? 2 : size < 99.95 ? 1 : 0; /* of three digits, without an exponent */

function grouped(text) {
	return text.replace(/\B(?=(\d{3})+(?!\d))/g, ',');
}

const showCount = value => isKnown(value) ? grouped(String(Math.round(value))) : '-';

function showTime(ns) {
	const units = ['ns', 'µs', 'ms', 's'], size = Math.abs(ns);
	let at = 0;

	if (!isKnown(ns))
		return '-';
	for (; at < 3 && size / 1000 ** at >= 999.5; at++)
		;
	return `${fixed(ns / 1000 ** at, at ? places(size / 1000 ** at) : 0)} ${units[at]}`;
}

function showPercent(percent) {
	const size = Math.abs(percent);

	if (!isKnown(percent))
		return '-';
	if (size >= 999.5)
		return `${percent < 0 ? '-' : ''}${grouped(String(Math.floor(size + 0.5)))} %`;
	return `${fixed(percent, size >= 99.95 ? 0 : size >= 0.9995 || size === 0 ? 1 : 2)} %`;
}

const showRatio = value => isKnown(value) ? fixed(value, places(Math.abs(value))) : '-';

const showMean = value => Number.isInteger(value) ? showCount(value) : showRatio(value);

function showBytes(bytes) {
	const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
	let at = 0;

	if (!isKnown(bytes))
		return '-';
	for (; bytes >= 1023.95 && at + 1 < units.length; at++)
		bytes /= 1024;
	return `${fixed(bytes, at ? 1 : 0)} ${units[at]}`;
}

const showRate = bytes_per_s => isKnown(bytes_per_s) ? `${fixed(bytes_per_s / 1e9, bytes_per_s < 1e10 ? 2 : 1)} GB/s` : '-';

const showOperations = per_s => per_s < 1e13 ? showRate(per_s).replace('GB/s', 'GFLOP/s') : showRate(per_s / 1e3).replace('GB/s', 'TFLOP/s');

const signed = (show, value) => !isKnown(value) ? '-' : (value < 0 ? '-' : '+') + show(Math.abs(value));

/* How likely by chance: two digits. */
function showChance(p) {
	const [digits, power] = isKnown(p) ? p.toExponential(1).split('e') : [];

	if (!isKnown(p) || p < 1e-6)
		return isKnown(p) ? '< 1e-6' : '-';
	return power < -4 ? `${+digits}e-0${-power}` : String(+p.toPrecision(2));
}

/* "1 kernel", "2 kernels" */
function counted(count, one, many) {
	return showCount(count) + ' ' + (count === 1 ? one : many || one + 's');
}

/* "12,000 of 10,000,000 launches, evenly drawn", or how many there are where all are shown */
function partOf(shown, of, one, how) {
	return shown >= of ? counted(of, one) : `${showCount(shown)} of ${counted(of, one)}` + (how ? `, ${how}` : '');
}

function quantile(sorted, share) {
	const at = share * (sorted.length - 1), low = Math.floor(at);

	return sorted.length ? sorted[low] + (at - low) * (sorted[Math.min(low + 1, sorted.length - 1)] - sorted[low]) : NaN;
}

/* --- the tip */

const tip = element('div', {id: 'tip', hidden: ''});

/* lines: text; the first one is a heading */
function showTip(lines, event) {
	tip.replaceChildren(...lines.map((line, i) => element(i ? 'div' : 'b', {}, line)));
	tip.hidden = false;
	tip.style.left = Math.max(4, Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8)) + 'px';
	tip.style.top = Math.max(4, Math.min(event.clientY + 14, window.innerHeight - tip.offsetHeight - 8)) + 'px';
}

function hideTip() {
	tip.hidden = true;
}
