/*
 * The page, from the JSON document in it. Parts of which the document has nothing are left out, or say why.
 */
/* --- classes of kernels, and how near the limits they come */

function classTable(data) {
	const rows = data.report.classes.filter(row => row.measured);

	return rows.length < 2 ? null : plainTable(fieldColumns('by_class', {time_share: row => row.time_share / rows[0].time_share}), rows);
}

/* What tells the work of these kernels. */
function toldBy(kernels) {
	const from = kernels.map(kernel => kernel.work.from);

	return [['code', 'their code'], ['operator', 'the operators that launched them']]
		.filter(([one]) => from.some(each => each.includes(one))).map(([, words]) => words).join(' or ');
}

/* Of kernels whose work is known. */
function limitTable(data) {
	const rows = data.report.kernels.filter(kernel => kernel.work);

	return rows.length ? [foldedTable(fieldColumns('limits'), rows), element('p', {class: 'note'},
		`How near the limits: the work of ${showPercent(data.report.work_known)} of the kernels' time is known, from ${toldBy(rows)}.`)] : null;
}

function classes(data) {
	const tables = [classTable(data), limitTable(data)];

	return tables.some(table => table) ? section('classes', 'Classes and limits', ...tables) : null;
}

/* --- kernels */

function kernels(data) {
	const rows = data.figures.kernels, most = Math.max(...rows.map(row => row.time_share));

	if (!rows.length)
		return null;
	const columns = filledColumns([...fieldColumns('kernels', {time_share: row => row.time_share / most}),
		{title: 'why', text: true, value: row => row.why.join(', '), show: text => text, about: 'why predictions may be wrong'}], rows);

	return section('kernels', 'Kernels', searchTable(columns, rows, 'kernels', {by: 1, name: row => `${row.name} ${row.class}`, one: 'kernel', note: part(data.page.counts.kernels, 'kernel')}));
}

/* --- timeline, ledger, messages */

function timeline(data) {
	const windows = data.page.windows.filter(part => part.rows.length);

	return windows.length ? section('timeline', 'Timeline of the streams', new Timeline(data, windows).element(),
		legend(data.names.slice(0, COLOURS).map((name, i) => [data.shortOf(i), data.colourOf(i), 'box']).concat([['others', 'others', 'box'], ['copies', 'copy', 'box']]))) : null;
}

function reasons(of) {
	const said = Object.entries(of).filter(([, count]) => count > 0).map(([name, count]) => `${showCount(count)} ${name.replace(/_/g, ' ')}`);

	return said.length ? ` (${said.join(', ')})` : '';
}

function ledger(data) {
	const l = data.report.ledger, terms = (...list) => list.filter(([count], i) => i < 2 || count).map(([count, text]) => `${showCount(count)} ${text}`).join(' + ');
	const rows = [
		['launches', l.launches, '= ' + terms([l.predicted, 'predicted'], [l.unpredictable, 'unpredictable']) + reasons(l.unpredictable_reasons)],
		['predicted', l.predicted, '= ' + terms([l.matched, 'matched'], [l.unmeasured, 'unmeasured'], [l.awaited, 'awaited']) + reasons(l.unmeasured_reasons)],
		['CUPTI records', l.records, '= ' + terms([l.measured, 'measured'], [l.unmatched, 'unmatched'], [l.records_awaited, 'awaited'])],
		['transfers', l.transfers, '= ' + terms([l.transfers_measured, 'measured'], [l.transfers - l.transfers_measured, 'unmeasured'])],
		['failed calls', l.failed, ''], ['dropped launches', l.dropped, ''], ['dropped records', l.records_dropped, ''],
		['not asked for', l.not_asked, reasons(l.not_asked_reasons)], ['launched while the process ended', l.after_end, ''],
		['launch calls captured into graphs', l.captured, ''], ['graph launches', l.graph_launches, '']]
		.filter(([, count], i) => i < 7 || count).map(([name, count, text]) => ({name: name, count: count, text: text}));

	return foldedSection('ledger', 'Ledger', plainTable([{title: 'what', text: true, value: row => row.name}, {title: 'count', value: row => row.count, show: showCount},
		{title: 'adds up', text: true, value: row => row.text, show: text => text}], rows),
	element('p', {class: l.adds_up ? 'note' : 'warning'}, l.adds_up ? 'The counts add up.' : 'The counts do not add up: the database is damaged, or kerncast is wrong.'),
	data.report.messages.length ? element('ul', {class: 'messages'}, data.report.messages.map(message => element('li', {class: message.severity},
		element('b', {}, message.severity), ' ', element('code', {}, message.code), ' ', message.text, MESSAGE_COUNT(message)))) : null);
}

function contents() {
	const links = [...document.querySelectorAll('main section')].map(part => element('a', {href: '#' + part.id}, part.querySelector('h2').textContent));

	return element('nav', {'aria-label': 'contents'}, links.flatMap((link, i) => i ? [' · ', link] : [link]));
}

/* What is folded is open where a link leads to it, and on paper. */
function unfold() {
	const open = folded => folded.forEach(details => details.open = true);
	const toTarget = () => open([...document.querySelectorAll('.folded')].filter(details => `#${details.parentElement.id}` === location.hash));

	window.addEventListener('hashchange', toTarget);
	window.addEventListener('beforeprint', () => open(document.querySelectorAll('.folded')));
	toTarget();
}

function draw() {
	const page = JSON.parse(document.getElementById('data').textContent), data = new Data(page), main = document.getElementById('page');

	nameForms = shortForms(data.names, NAME_COLUMNS);
	document.title = `kerncast: ${titleOf(data)}`;
	add(main, [pageTop(data), timeline(data), kernels(data), slowSection(data), stepsSection(data), changed(data), ran(data), classes(data), accuracy(data), ledger(data),
		element('footer', {}, `kerncast ${page.version}. This page asks the network for nothing.` + (page.anonymous ?
			' Names of kernels are hashed; paths, command lines and texts of messages are left out.' : ''))]);
	main.querySelector('header').append(contents());
	document.body.append(tip);
	unfold();
}

draw();
