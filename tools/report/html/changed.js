/*
 * What changed since earlier runs.
 */
function changesTable(diff) {
	const most = Math.max(...diff.changes.map(row => Math.abs(row.lost_ns)));

	return diff.changes.length ? plainTable(fieldColumns('changes', {lost_ns: row => Math.abs(row.lost_ns) / most}), diff.changes,
	`Kernels that changed by more than ${showPercent(diff.over)} and ${showTime(diff.floor_ns)} per launch (false discovery rate: ${showPercent(diff.false_discoveries)})` +
		(diff.counts.changes > diff.changes.length ? `; ${partOf(diff.changes.length, diff.counts.changes, 'kernel')}, those that lost most time` : ''))
		: element('p', {}, `No kernel changed by more than ${showPercent(diff.over)} and ${showTime(diff.floor_ns)} per launch.`);
}

const DIFF_WHYS = {
	slower: 'slower', faster: 'faster', more_launches: 'launched more often', fewer_launches: 'launched less often', other_sizes: 'other sizes',
	other_positions: 'after other kernels', overlap: 'overlapped more or less often', new: 'new', gone: 'gone', replaced: 'in place of another',
	too_few: 'too few launches to tell', unclear: 'may be chance', slower_process: 'all kernels of a process slower',
	slower_overlapped: 'slower only when overlapped', faster_process: 'all kernels of a process faster', waiting: 'others wait for a process',
};

/* Rows that add up to the difference. */
function contributorsTable(diff) {
	const rows = diff.contributors, of = diff.counts.contributors, others = diff.other_contributors;
	const most = Math.max(...rows.map(row => Math.abs(row.difference_ns))), sum = rows.reduce((ns, row) => ns + row.difference_ns, 0);
	const rest = [[of - rows.length, diff.sums.difference_ns - sum - others.difference_ns, 'other kernel', 'smaller'],
		[others.kernels, others.difference_ns, 'other kernel', 'below the limits, or by chance']]
		.filter(([n]) => n).map(([n, ns, what, why]) => ({name: counted(n, what), difference_ns: ns, why: why}));

	return plainTable([{title: 'difference', value: row => row.difference_ns, show: ns => signed(showTime, ns), bar: row => Math.abs(row.difference_ns) / most},
		{title: 'kernel', text: true, value: row => row.name, show: nameElement},
		{title: 'why', text: true, value: row => DIFF_WHYS[row.why] || row.why},
		{title: 'launches before', value: row => row.old_launches, show: showMean}, {title: 'now', value: row => row.new_launches, show: showMean},
		{title: 'time before', value: row => row.old_total_ns, show: showTime}, {title: 'now', value: row => row.new_total_ns, show: showTime},
		{title: 'in place of', text: true, value: row => row.replaced, show: name => name || ''},
		{title: 'process', text: true, value: row => row.process, show: name => name || ''}], rows.concat(rest),
	'What makes the difference, the largest part first; it is all of them together');
}

/* What a step took, where steps are compared. */
function stepsTable(diff) {
	const steps = diff.steps, outside = of => `${counted(of.outside_launches, 'launch', 'launches')} (${showTime(of.outside_ns)})`;
	const numbers = of => counted(of.steps, 'step') + (FOUND_STEPS[of.steps_are] ? ` (${FOUND_STEPS[of.steps_are]})` : '');

	return steps && [element('p', {class: 'note'}, `${numbers(steps.old)} before, ${numbers(steps.new)} now` + (steps.old.outside_launches || steps.new.outside_launches
		? `; in no step, and not compared: ${outside(steps.old)} before, ${outside(steps.new)} now.` : '.')),
	plainTable(fieldColumns('diff_steps').map(column => ({...column, title: {OLD: 'before', NEW: 'now'}[column.title] || column.title})), steps.rows, 'What a step took, on average')];
}

function changed(data) {
	const diff = data.page.diff;

	if (!diff)
		return null;
	const sums = diff.sums;

	return section('changed', 'What changed', element('p', {}, `Measured time of all kernels${diff.per === 'step' ? ' per step' : ''}: ${showTime(sums.old_ns)} before, ${showTime(sums.new_ns)} now, ` +
		`${signed(showTime, sums.difference_ns)} (${signed(showPercent, sums.change)}).`),
	element('p', {class: 'note'}, `Before: run${diff.old_source.runs.length > 1 ? 's' : ''} ${diff.old_source.runs.join(', ')}` +
		(diff.old_source.runs.length > 1 ? ', on average' : '') + `; now: run ${diff.new_source.runs.join(', ')}.` +
		(data.report.filter ? ' All launches are compared, those that do not match the filter, too.' : '')),
	contributorsTable(diff), stepsTable(diff), changesTable(diff));
}
