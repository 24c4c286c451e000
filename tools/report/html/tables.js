/*
 * Tables. A column is {title, value, show, text, bar, about}: value(row) is what it is sorted by; show(value, row) what it
 * reads; text: it holds words, not numbers; bar(row): a share 0 to 1 that is drawn behind it; about: what it means.
 */

/* What the command has columns for is told by itself: {key, head, unit, about} for each, by table. */
const FIELDS = JSON.parse(document.getElementById('fields').textContent);
const SHOWN = {
	text: text => text === null || text === undefined ? '' : text, name: nameElement, count: showCount, mean: showMean, id: id => isKnown(id) ? String(id) : '-',
	bytes: showBytes, rate: showRate, flops: showOperations, ns: showTime, signed_ns: ns => signed(showTime, ns), percent: showPercent,
	signed_percent: percent => signed(showPercent, percent), ratio: showRatio, p: showChance,
};

/* Without those in which no row has a text. */
function filledColumns(columns, rows) {
	return columns.filter(column => !column.text || rows.some(row => column.value(row)));
}

/* Columns of one of these tables; bars: by key. Keys of what is in an object of the row have a point. */
function fieldColumns(table, bars) {
	const valueOf = key => row => key.split('.').reduce((of, part) => of === null || of === undefined ? of : of[part], row);

	return FIELDS[table].map(field => ({key: field.key, title: field.head, text: ['text', 'name'].includes(field.unit), value: valueOf(field.key),
		show: SHOWN[field.unit], about: field.about, bar: (bars || {})[field.key]}));
}

const LINE = 24; /* texts of so many letters are not broken */

function cellOf(column, row) {
	const value = column.value(row), shown = column.show ? column.show(value, row) : isKnown(value) ? value : '-';
	const cell = element('td', {class: column.text ? 'text' : 'number'}, shown instanceof Node ? shown : String(shown));

	if (column.text && cell.textContent.length <= LINE)
		cell.classList.add('line');
	if (column.bar) {
		cell.classList.add('bar');
		cell.style.setProperty('--share', (100 * Math.max(0, Math.min(1, column.bar(row) || 0))).toFixed(1) + '%');
	}
	return cell;
}

const compareValues = (a, b) => typeof a === 'string' ? a.localeCompare(b) : a - b;

/* What is not known comes last, both ways. */
function sortRows(rows, column, down) {
	const known = rows.filter(row => isKnown(column.value(row)));

	known.sort((a, b) => (down ? -1 : 1) * compareValues(column.value(a), column.value(b)));
	return known.concat(rows.filter(row => !isKnown(column.value(row))));
}

function plainTable(columns, rows, caption) {
	const head = columns.map(column => element('th', {scope: 'col', class: column.text ? 'text' : 'number',
		...(column.about ? {title: column.about} : {})}, column.title));
	const body = rows.map(row => element('tr', {class: row.class || ''}, columns.map(column => cellOf(column, row))));

	return element('div', {class: 'wide'}, element('table', {}, caption ? element('caption', {}, caption) : null,
		element('thead', {}, element('tr', {}, head)), element('tbody', {}, body)));
}

const AT_FIRST = 10;

/* The same, the rows after the first ten folded away. */
function foldedTable(columns, rows) {
	const rest = rows.length - AT_FIRST;

	return [plainTable(columns, rows.slice(0, AT_FIRST)), rest > 0 ? element('details', {}, element('summary', {}, `${showCount(rest)} more`),
		plainTable(columns, rows.slice(AT_FIRST))) : null];
}

const SEARCHED_AT_FIRST = 20;

/* The same with heads that sort, and a field that searches the column of names. Of many rows the first are shown, until
 * all are asked for or some searched for. */
function searchTable(columns, rows, label, options) {
	const body = element('tbody'), made = new Map(rows.map(row => [row, null])), found = element('output', {class: 'note'});
	const search = element('input', {type: 'search', 'aria-label': 'search ' + label, placeholder: 'search', size: 28,
		spellcheck: 'false', autocomplete: 'off'});
	const heads = columns.map(column => element('th', {scope: 'col', class: column.text ? 'text' : 'number'},
		element('button', {type: 'button', ...(column.about ? {title: column.about} : {})}, column.title)));
	const whole = element('button', {type: 'button'}, `all ${counted(rows.length, options.one)}`);
	let by = options.by, down = true, at_first = rows.length > SEARCHED_AT_FIRST + 2 ? SEARCHED_AT_FIRST : rows.length;

	const rowOf = row => {
		if (!made.get(row))
			made.set(row, element('tr', {}, columns.map(column => cellOf(column, row))));
		return made.get(row);
	};
	const fill = () => {
		const words = search.value.toLowerCase().split(/\s+/).filter(word => word);
		const kept = rows.filter(row => words.every(word => options.name(row).toLowerCase().includes(word)));

		heads.forEach((head, i) => head.setAttribute('aria-sort', i !== by ? 'none' : down ? 'descending' : 'ascending'));
		body.replaceChildren(...sortRows(kept, columns[by], down).slice(0, words.length ? kept.length : at_first).map(rowOf));
		whole.hidden = words.length > 0 || at_first === rows.length;
		found.textContent = words.length ? `${showCount(kept.length)} of ${counted(rows.length, options.one)}`
			: options.note || '';
	};

	heads.forEach((head, i) => head.firstChild.addEventListener('click', () => {
		down = by === i ? !down : !columns[i].text;
		by = i;
		fill();
	}));
	search.addEventListener('input', fill);
	whole.addEventListener('click', () => {
		at_first = rows.length;
		fill();
	});
	fill();
	return element('div', {}, element('p', {class: 'controls'}, search, ' ', found),
		element('div', {class: 'wide'}, element('table', {class: 'sorted'}, element('thead', {}, element('tr', {}, heads)),
			body)), element('p', {class: 'controls'}, whole));
}
