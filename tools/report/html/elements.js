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

/* --- numbers */

const isKnown = value => value !== null && value !== undefined && !Number.isNaN(value);

function digits(value, count) { /* so many significant ones, no exponent */
	const whole = Math.abs(value) < 1 ? 1 : Math.floor(Math.log10(Math.abs(value))) + 1;

	return value.toFixed(Math.max(0, count - whole));
}

function grouped(text) {
	return text.replace(/\B(?=(\d{3})+(?!\d))/g, ',');
}

const showCount = value => isKnown(value) ? grouped(String(Math.round(value))) : '-';

function showTime(ns) {
	const size = Math.abs(ns);

	if (!isKnown(ns))
		return '-';
	if (size < 999.5)
		return digits(ns, size < 100 && ns % 1 ? 3 : 1) + ' ns';
	if (size < 999.5e3)
		return digits(ns / 1e3, 3) + ' µs';
	if (size < 999.5e6)
		return digits(ns / 1e6, 3) + ' ms';
	return grouped(digits(ns / 1e9, 3)) + ' s';
}

function showPercent(percent) {
	if (!isKnown(percent))
		return '-';
	if (percent !== 0 && Math.abs(percent) < 0.995)
		return percent.toFixed(2) + ' %';
	return (Math.abs(percent) < 99.95 ? percent.toFixed(1) : grouped(percent.toFixed(0))) + ' %';
}

const showRatio = value => isKnown(value) ? grouped(digits(value, 3)) : '-';

function showBytes(bytes) {
	const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
	let at = 0;

	for (; bytes >= 1024 && at + 1 < units.length; at++)
		bytes /= 1024;
	return (at ? bytes.toFixed(1) : bytes) + ' ' + units[at];
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
