/*
 * What each step took: of one process a row each; of several, a column each, so that they stand side by side, with one
 * figure at a time. Of others than ranks, which do the same, it is folded away.
 */
const FOUND_STEPS = {found: 'not told, but found by what repeats', nested: 'not told: outer ones of nested repeats'};
const STEP_KEYS = ['time_ns', 'measured_ns', 'busy_ns', 'communication_exposed_ns', 'predicted_ns', 'predicted_off'];

/* Columns of what is known of some step, and, of times that may be 0, is not 0 in all. */
const stepColumns = rows => fieldColumns('steps').filter(column => STEP_KEYS.includes(column.key) && rows.some(row => column.value(row)));

/* The step with the most of the figure is marked, where it has more than all others. */
const numberColumn = longest => ({title: 'step', value: row => row.number, show: (number, row) => `${number}${row === longest ? ' ▲' : ''}`,
	about: '▲: the most'});

function longestOf(rows, value) {
	const sorted = rows.filter(row => value(row) > 0).sort((a, b) => value(b) - value(a));

	return sorted.length > 1 && value(sorted[0]) === value(sorted[1]) || !sorted.length ? null : sorted[0];
}

/* Without process ids, if they can be told apart all the same. */
function rankNames(names) {
	const short = names.map(name => name.replace(/ \(pid \d+\)$/, ''));

	return new Set(short).size === names.length ? short : names;
}

function stepsOfOne(rows) {
	const columns = stepColumns(rows), most = Math.max(...rows.map(row => row.time_ns));
	const barred = columns.map(column => column.key === 'time_ns' ? {...column, bar: row => row.time_ns / most} : column);

	return foldedTable([numberColumn(longestOf(rows, row => row.time_ns)), ...barred], rows);
}

/* A row for each step; a column for each rank, of what is chosen. */
function stepsOfRanks(steps) {
	const figures = stepColumns(steps.rows), names = rankNames(steps.processes), places = [...new Set(steps.rows.map(row => row.place))], made = element('div');
	const choice = element('select', {'aria-label': 'of each step'}, figures.map((column, i) => element('option', {value: i}, column.title)));
	const numbers = [...new Set(steps.rows.map(row => row.number))].sort((a, b) => a - b);
	const rows = numbers.map(number => ({number: number, of: new Map(steps.rows.filter(row => row.number === number).map(row => [row.place, row]))}));

	const fill = () => {
		const figure = figures[+choice.value], at = (row, place) => row.of.has(place) ? figure.value(row.of.get(place)) : NaN;
		const size = (row, place) => Math.abs(at(row, place)) || 0, most = Math.max(...rows.flatMap(row => places.map(place => size(row, place))));
		const longest = row => longestOf(places, place => size(row, place));

		made.replaceChildren(...foldedTable([numberColumn(longestOf(rows, row => Math.max(...places.map(place => size(row, place))))),
		{title: 'most on', text: true, value: row => longest(row) === null ? '' : names[longest(row)]},
		...places.map(place => ({title: names[place], value: row => at(row, place), show: figure.show, bar: row => size(row, place) / most}))], rows).filter(part => part));
	};

	choice.addEventListener('change', fill);
	fill();
	return [element('p', {class: 'controls'}, choice, element('span', {class: 'note'}, ' of each step')), made];
}

function stepsSection(data) {
	const steps = data.page.steps;

	if (!steps || !steps.rows.length)
		return null;
	const several = new Set(steps.rows.map(row => row.place)).size > 1;
	const note = element('p', {class: 'note'}, (steps.rows.length < steps.of ? `The first ${partOf(steps.rows.length, steps.of, 'step')}. ` : '') +
		'Time: on the host, from its start to its end; kernels, busy and exposed: of what was launched in it.' + (FOUND_STEPS[steps.steps_are] ? ` Steps are ${FOUND_STEPS[steps.steps_are]}.` : ''));

	const side_by_side = several && data.report.processes.some(process => process.rank !== null);

	return (side_by_side ? section : foldedSection)('steps', 'Steps', several ? stepsOfRanks(steps) : stepsOfOne(steps.rows), note);
}
