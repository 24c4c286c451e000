/*
 * What ran: where the time of GPUs, ranks and streams went, and the processes.
 */
const SHARES = Object.fromEntries(['busy', 'kernels', 'compute', 'communication_exposed', 'communication_hidden', 'copies_only', 'idle', 'idle_launch_bound']
	.map(name => [`${name}_share`, row => row[`${name}_share`] / 100]));

/* The process and the GPU are told where there are several. */
function gapColumns(data, gaps) {
	const one = [['process', data.report.processes], ['gpu', data.report.devices]].filter(([, all]) => all.length < 2).map(([key]) => key);

	return filledColumns(fieldColumns('gaps').filter(column => !one.includes(column.key)), gaps);
}

function timeUse(data) {
	const activity = data.report.activity, names = new Map(data.report.devices.map(device => [device.id, data.report.activity && data.report.activity.devices.length > 1 && device.gpu ? `${device.gpu}, ${device.name || 'unnamed GPU'}` : device.name]));

	if (!activity)
		return element('p', {class: 'note'}, 'Where the time of the GPU went is not shown: for more than 2,000,000 launches and copies, --exact reads all of them; with --measure=adaptive, not all are measured.');
	if (!activity.devices.length)
		return null;
	const table = (name, rows) => plainTable(fieldColumns(name, SHARES), rows);
	const devices = activity.devices.map(use => ({...use, name: names.get(use.device) || 'device not known'}));

	return [table('devices', devices), activity.processes.length > 1 ? foldedTable(fieldColumns('places', SHARES), activity.processes) : null,
		foldedTable(fieldColumns('streams', SHARES), activity.streams),
		element('p', {class: 'note'}, part(data.page.counts.stream_times, 'stream')),
		activity.devices.some(use => use.communication_ns) ? element('p', {class: 'note'},
			'Communication is hidden while another kernel computes; a copy does not hide it.') : null,
		activity.copies.length ? table('copies', activity.copies) : null,
		activity.gaps.length ? [table('idle_causes', activity.idle_causes), plainTable(gapColumns(data, activity.gaps), activity.gaps,
			'The longest gaps in which nothing ran on a GPU (at: since the start of the run)')] : null];
}

/* Which part of a list the page shows; nothing if all. */
function part(count, one) {
	return count.shown < count.of ? `${partOf(count.shown, count.of, one)}, those with most time.` : '';
}

function ran(data) {
	const shown = data.page.counts.processes, processes = foldedTable([
		{title: 'process', text: true, value: process => process.command_line || process.name},
		...(data.report.processes.some(process => process.rank !== null) ? [{title: 'rank', value: process => process.rank},
			{title: 'host', text: true, value: process => process.host || ''},
			{title: 'GPU', text: true, value: process => process.gpus.join(', ')}] : []),
		{title: 'pid', value: process => process.pid, show: String},
		{title: 'ended', text: true, value: process => process.ended || 'not known'},
		{title: 'launches', value: process => process.launches, show: showCount},
		{title: 'ran for', value: process => process.duration_ns, show: showTime}], data.report.processes);

	return section('ran', 'What ran', timeUse(data), processes, element('p', {class: 'note'}, shown.shown < shown.of
		? `${showCount(shown.shown)} of ${counted(shown.of, 'process', 'processes')}.` : ''));
}
