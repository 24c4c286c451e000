/*
 * How accurate the predictions were.
 */
function accuracyTable(data) {
	const figures = data.figures, rows = [['all', 'accuracy'], ['first seen', 'first_seen'], ['new size', 'new_size'], ['repeated', 'repeated'],
		['solo', 'solo'], ['overlapped', 'overlapped'], ['  by earlier launches', 'behind'], ['  by later launches', 'overtaken']]
		.map(([name, key]) => ({name: name, accuracy: figures[key]}));

	return plainTable(fieldColumns('classes', {'accuracy.within_20': row => row.accuracy.within_20 / 100}).map((column, i) => i ? column : {...column, show: name => name}),
	rows, `Errors: |predicted − measured| / measured, of ${counted(figures.accuracy.n, 'launch', 'launches')} that were predicted and measured` +
		(figures.exact ? '' : '; median and p90 within 1 % of them'));
}

function slowdownFigure(data, matched) {
	const slowed = matched.filter(row => row.length > SLOWED_MEASURED), stated = data.figures.concurrency.slowdown;
	const about = stated.n ? ` Mean error of all ${showCount(stated.n)}: ${showPercent(stated.mape)}.` : '';

	if (slowed.length)
		return drawSlowdowns(slowed.map(row => ({predicted: row[SLOWED], measured: row[SLOWED_MEASURED], size: 2, lines: () =>
			[...launchLines(data, row), `slowdown: predicted ${showRatio(row[SLOWED])}, measured ${showRatio(row[SLOWED_MEASURED])}`]})),
		`${counted(slowed.length, 'drawn launch', 'drawn launches')} that were overlapped and whose time alone was known.${about}`);
	const places = slowdownPlaces(data, data.page.slowdowns || []);
	return places.length ? drawSlowdowns(places, `Each circle: the mean of a kernel's overlapped launches on a stream that were predicted alike; the larger, ` +
		`the more launches.${about}`) : null;
}

function concurrency(data) {
	const of = data.figures.concurrency, rows = ['alone', 'A', 'B', 'C'].map((key, i) => ({name: CASES[i], ...of[key]}))
		.filter(row => row.solo + row.behind + row.overtaken + row.unknown);
	const column = (title, key) => ({title: title, value: row => row[key], show: showCount});

	return rows.length ? plainTable([{title: 'predicted', text: true, value: row => row.name}, column('solo', 'solo'), column('overlapped by earlier', 'behind'),
		column('by later', 'overtaken'), column('not known', 'unknown')], rows, 'Concurrency of matched launches: predicted, and what was measured') : null;
}

function accuracy(data) {
	const page = data.page, matched = page.drawn.rows.filter(isMatched), lambda = page.lambda;

	if (!data.figures.accuracy.n)
		return section('accuracy', 'How accurate', element('p', {}, 'No launch was both predicted and measured: the ledger says why.'));
	return foldedSection('accuracy', 'How accurate', page.replayed ? element('p', {}, page.replayed.about) : null, accuracyTable(data),
		matched.length ? element('div', {class: 'figures'}, drawPredicted(data, matched), drawErrors(data, matched), drawKnown(data, matched),
			drawCoverage(data, matched), lambda && lambda.lines.length ? drawLambdas(data, lambda) : null, slowdownFigure(data, matched)) : null,
		concurrency(data));
}
