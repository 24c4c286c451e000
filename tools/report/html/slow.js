/*
 * What was slow.
 */
function slowKernels(slow) {
	const rows = slow.causes.flatMap(cause => cause.kernels.map(kernel => ({...kernel, cause: cause.why})))
		.sort((a, b) => b.lost_ns - a.lost_ns).slice(0, 20), most = rows.length && rows[0].lost_ns;
	const listed = (rows, key) => rows.map(row => row[key]).join(', ');
	const whose = of => of.every(process => process.name) ? listed(of, 'name') : 'pid ' + listed(of, 'pid');
	const cause = row => row.cause + (row.processes.length ? ` (${whose(row.processes)})` : '');
	const beside = row => row.beside.slice(0, 2).map(other => `${shortName(other.name)} ${showTime(other.lost_ns)}`).join(', ') +
		(row.beside.length > 2 ? `, and ${row.beside.length - 2} more` : '');

	const [lost, took, launches, kernel] = fieldColumns('slow_kernels', {lost_ns: row => row.lost_ns / most});

	return plainTable([lost, took, launches, {title: 'cause', text: true, value: cause}, kernel, {title: 'lost beside', text: true, value: beside}], rows,
	'By kernel: the time that its slow launches lost, and that they took');
}

function overlapped(slow) {
	const {launches, alone_ns, together_ns, saved_ns: saved} = slow.overlapped;

	return launches ? element('p', {class: 'note'}, `Kernels at the same time as others, ${counted(launches, 'launch', 'launches')}: one after the other they would have taken ` +
		`${slow.judged.launches < slow.measured.launches ? 'up to ' : ''}${showTime(alone_ns)}, together they took ${showTime(together_ns)} ` +
		`(${showTime(Math.abs(saved))} ${saved < 0 ? 'lost' : 'saved'}).`) : null;
}

function stragglers(slow) {
	const most = Math.max(...slow.processes.map(row => row.lost_ns), 1);
	const than = row => row.others === 1 ? 'the only other one; which of the two is as it should be is not known' : counted(row.others, 'other one', 'others');

	return slow.processes.length ? plainTable([...fieldColumns('stragglers', {lost_ns: row => row.lost_ns / most}),
		{title: 'slower than', text: true, value: than}], slow.processes.map(row => ({...row, name: row.name || 'pid ' + row.pid})),
	'Stragglers: ranks or GPUs that are slower than others at the same, and what others waited for them in collectives') : null;
}

/* several: processes or GPUs. */
function slowLaunches(slow, several) {
	const also = row => Object.entries(row.causes).filter(([cause]) => cause !== row.cause)
		.map(([cause, ns]) => `${slow.causes.find(one => one.cause === cause).why} ${showTime(ns)}`).join(', ');

	const columns = fieldColumns('slow_launches');

	const places = several ? [{title: 'rank or process', text: true, value: row => row.process_name || `pid ${row.pid}`},
		{title: 'GPU', text: true, value: row => row.gpu || ''}] : [];

	return plainTable(filledColumns([...columns.slice(0, -1), ...places, {title: 'also', text: true, value: also}, ...columns.slice(-1)], slow.launches), slow.launches,
	'The launches that lost most, up to 3 of a kernel and cause (at: since the first launch of the run began)');
}

function slowRanks(slow) {
	const most = Math.max(...slow.ranks.map(row => row.lost_ns), 1);

	return slow.ranks.length > 1 ? plainTable(fieldColumns('slow_ranks', {lost_ns: row => row.lost_ns / most}),
		slow.ranks.map(row => ({...row, name: row.name || 'pid ' + row.pid})),
		'By rank or process, those that lost most: what their launches lost of what could be judged, and others waited for them') : null;
}

function comparedWith(slow) {
	const other = slow.earlier_runs_on_other_devices, large = slow.earlier_too_large;

	return (slow.earlier_runs.length ? `Compared with run${slow.earlier_runs.length > 1 ? 's' : ''} ${slow.earlier_runs.join(', ')} and with itself.`
		: 'Compared with itself alone: what is slower than before is not known.') + (other ? ` ${counted(other, 'earlier run')} on another device ` +
		`${other > 1 ? 'are' : 'is'} left out.` : '') + (large ? ` ${counted(large, 'earlier run')} ${large > 1 ? 'have' : 'has'} too many launches for this page.` : '');
}

function slowSection(data) {
	const slow = data.page.slow;

	if (slow.left_out)
		return section('slow', 'What was slow', element('p', {class: 'note'}, slow.left_out));
	const causes = slow.causes.filter(cause => cause.launches).sort((a, b) => b.lost_ns - a.lost_ns), most = causes.length && causes[0].lost_ns;
	const unknown = [[slow.unknown, 'have too few others like them'], [slow.never_alone, 'were overlapped as all others like them, so what that costs is not known']]
		.filter(([sum]) => sum.launches).map(([sum, what]) => `${counted(sum.launches, 'launch', 'launches')} (${showPercent(sum.share)} of the time) ${what}.`);

	return section('slow', 'What was slow', element('p', {}, causes.length ? `${showTime(slow.lost.ns)} lost, ` +
		`${lostShare(slow)}, in ${showCount(slow.lost.launches)} of ${counted(slow.judged.launches, 'launch', 'launches')}.`
		: `None of ${counted(slow.judged.launches, 'launch', 'launches')} that could be judged took much longer than it should.`),
	element('p', {class: 'note'}, comparedWith(slow), ' What a launch should take is the median of others like it that ran alone.'),
	causes.length ? [stragglers(slow), plainTable(fieldColumns('slow_causes', {lost_ns: cause => cause.lost_ns / most}), causes),
		causes.filter(cause => cause.gpu && cause.gpu.why).map(cause => element('p', {class: 'note'}, `drift: ${cause.gpu.why}`))] : null,
	overlapped(slow), causes.length ? [slowKernels(slow), slowLaunches(slow, data.report.processes.length > 1 || data.report.devices.length > 1), slowRanks(slow)] : null,
	unknown.length ? element('p', {class: 'note'}, unknown.join(' ')) : null);
}
