/*
 * The page, from the JSON document in it. Parts of which the document has nothing are left out, or say why.
 */
const CASES = ['alone', 'together', 'in the last wave', 'one after the other'];
const MESSAGE_COUNT = message => message.count > 1 ? ` (${showCount(message.count)} times)` : '';

/* What figures and tables ask for. */
class Data {
	constructor(page) {
		this.page = page;
		this.report = page.report;
		this.names = this.report.kernels.map(kernel => kernel.name);
		this.streams = new Map([...this.report.streams, ...(this.report.activity ? this.report.activity.streams : [])]
			.map(stream => [stream.id, stream.name]));
		this.figures = page.replayed ? page.replayed.report : this.report;
		this.drawnPart = this.partText(page.drawn);
	}

	partText(part) {
		const matched = part.rows.filter(isMatched).length, drawn = part.shown < part.of
			? `${showCount(part.shown)} of ${counted(part.of, 'launch', 'launches')}, evenly drawn` : counted(part.of, 'launch', 'launches');

		return drawn + (matched < part.shown ? `, ${showCount(matched)} of them predicted and measured` : '');
	}

	nameOf(kernel) {
		return kernel < 0 ? 'a kernel that the table does not list' : this.names[kernel];
	}

	shortOf(kernel, device) {
		const name = kernel < 0 ? device : this.names[kernel];

		return name.length > 40 ? name.slice(0, 24) + '…' + name.slice(-15) : name;
	}

	/* The kernels that took most time have colours of their own; 6: all others. */
	colourOf(kernel) {
		return kernel >= 0 ? Math.min(kernel, 6) : 6;
	}

	streamOf(stream) {
		return this.streams.get(stream) || (stream ? `stream row ${stream}` : 'stream not known');
	}
}

/* --- the top */

const commandLines = report => [...new Set(report.processes.map(process => process.command_line).filter(line => line))];

/* The processes of a trace have names, not command lines. */
function titleOf(data) {
	const lines = commandLines(data.report), isTrace = data.report.processes.every(process => process.ended === 'imported');

	return lines.length && !isTrace ? lines[0] : data.page.anonymous ? runsText(data.report) : data.report.database;
}

function startOf(report) {
	const started = Math.min(...report.processes.map(process => process.started_unix_ns).filter(ns => ns));

	return Number.isFinite(started) ? new Date(started / 1e6).toISOString().replace('T', ' ').slice(0, 19) + ' UTC' : '';
}

function runsText(report) {
	return report.runs.first === report.runs.last ? `run ${report.runs.first}` : `runs ${report.runs.first} to ${report.runs.last}`;
}

function filterText(filter) {
	const said = [];

	if (!filter)
		return null;
	for (const [key, text] of [['kernel', 'kernel matches '], ['exclude', 'kernel does not match ']]) {
		if (filter[key])
			said.push(text + JSON.stringify(filter[key]));
	}
	for (const [key, text] of [['streams', 'stream '], ['processes', 'process '], ['ranks', 'rank '], ['devices', 'GPU ']]) {
		if (filter[key])
			said.push(text + [].concat(filter[key]).join(', '));
	}
	for (const [key, text] of [['since_ns', 'from '], ['until_ns', 'before '], ['min_ns', 'at least ']]) {
		if (filter[key])
			said.push(text + showTime(filter[key]));
	}
	return `Filter: ${said.join('; ')}: ${showCount(filter.launches)} of ${counted(filter.of_launches, 'launch', 'launches')}`;
}

function ranAnswer(data) {
	const report = data.report, use = report.activity && report.activity.devices[0];
	const busy = use && use.span_ns ? `The GPU was busy ${showPercent(100 * use.busy_ns / use.span_ns)} of ${showTime(use.span_ns)}. ` : '';
	const first = report.kernels[0];

	return [element('b', {}, counted(report.ledger.launches, 'launch', 'launches'), ' of ', counted(data.page.counts.kernels.of, 'kernel')),
		element('p', {}, busy, report.measured_ns ? `The kernels took ${showTime(report.measured_ns)}` : 'Nothing was measured',
			report.measured_ns && first ? [', ', showPercent(first.time_share), ' of it ', element('code', {}, data.shortOf(0)), '.'] : '.')];
}

const lostShare = slow => slow.judged.launches ? showPercent(slow.lost.share) + (slow.judged.launches < slow.measured.launches
	? ` of the ${showTime(slow.judged.ns)} that could be judged` : '') : 'nothing could be judged';

function slowAnswer(data) {
	const slow = data.page.slow;

	if (slow.left_out)
		return [element('b', {}, 'not looked at'), element('p', {}, slow.left_out)];
	const causes = slow.causes.filter(cause => cause.lost_ns > 0).sort((a, b) => b.lost_ns - a.lost_ns);
	return [element('b', {}, `${showTime(slow.lost.ns)} lost, ${lostShare(slow)}`),
		element('p', {}, causes.length ? `Most of it: ${causes[0].why} (${showTime(causes[0].lost_ns)}, ` +
			`${counted(causes[0].launches, 'launch', 'launches')}).` : 'No launch took much longer than others like it.')];
}

function accurateAnswer(data) {
	const all = data.figures.accuracy, first = data.figures.first_seen;

	if (!all.n)
		return [element('b', {}, 'nothing to compare'), element('p', {}, data.report.ledger.measured ? 'No launch was predicted and measured.'
			: 'No launch was measured.')];
	return [element('b', {}, `median error ${showPercent(all.median)}`),
		element('p', {}, `${showPercent(all.within_20)} within 20 %; weighted by time ${showPercent(all.mape_time_weighted)}` +
			(first.n ? `; of ${showCount(first.n)} seen for the first time, median ${showPercent(first.median)}.` : '.'),
			data.page.replayed ? ' Predictions are those of a replay.' : '')];
}

function pageTop(data) {
	const report = data.report, processes = data.page.counts.processes.of, gpus = [...new Set(report.devices.map(device => device.name))].join(', ');
	const card = (title, href, content) => element('div', {class: 'card'}, element('h2', {}, element('a', {href: href}, title)), content);

	return element('header', {},
		report.simulated ? element('p', {class: 'simulated', role: 'alert'}, element('b', {}, 'SIMULATED: '),
			`${report.processes.every(process => process.simulated) ? '' : 'some of '}these times come from a stand-in device, not from a GPU.`) : null,
		element('h1', {}, titleOf(data)), element('p', {class: 'about'}, [runsText(report), startOf(report), gpus,
			processes > 1 ? counted(processes, 'process', 'processes') : '', report.database].filter(text => text).join(' · ')),
		report.filter ? element('p', {class: 'about'}, filterText(report.filter)) : null,
		element('div', {class: 'cards'}, card('What ran', '#ran', ranAnswer(data)), card('What was slow', '#slow', slowAnswer(data)),
			card('How accurate', '#accuracy', accurateAnswer(data))));
}

/* --- what ran */

const SHARES = Object.fromEntries(['busy', 'kernels', 'compute', 'communication_exposed', 'communication_hidden', 'copies_only', 'idle', 'idle_launch_bound']
	.map(name => [`${name}_share`, row => row[`${name}_share`] / 100]));

function timeUse(data) {
	const activity = data.report.activity, names = new Map(data.report.devices.map(device => [device.id, data.report.activity && data.report.activity.devices.length > 1 && device.gpu ? `${device.gpu}, ${device.name}` : device.name]));

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
		activity.gaps.length ? [table('idle_causes', activity.idle_causes), plainTable(fieldColumns('gaps'), activity.gaps,
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

/* --- what was slow, and what changed */

function slowKernels(slow) {
	const rows = slow.causes.flatMap(cause => cause.kernels.map(kernel => ({...kernel, cause: cause.why})))
		.sort((a, b) => b.lost_ns - a.lost_ns).slice(0, 20), most = rows.length && rows[0].lost_ns;
	const listed = (rows, key) => rows.map(row => row[key]).join(', ');
	const whose = of => of.every(process => process.name) ? listed(of, 'name') : 'pid ' + listed(of, 'pid');
	const cause = row => row.cause + (row.processes.length ? ` (${whose(row.processes)})` : '');
	const beside = row => row.beside.map(other => `${other.name} ${showTime(other.lost_ns)}`).join(', ');

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

	return plainTable([...columns.slice(0, -1), ...places, {title: 'also', text: true, value: also}, ...columns.slice(-1)], slow.launches,
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
		{title: 'kernel', text: true, value: row => row.name, show: name => element('code', {}, name)},
		{title: 'why', text: true, value: row => DIFF_WHYS[row.why] || row.why},
		{title: 'launches before', value: row => row.old_launches, show: showCount}, {title: 'now', value: row => row.new_launches, show: showCount},
		{title: 'time before', value: row => row.old_total_ns, show: showTime}, {title: 'now', value: row => row.new_total_ns, show: showTime},
		{title: 'in place of', text: true, value: row => row.replaced, show: name => name || ''},
		{title: 'process', text: true, value: row => row.process, show: name => name || ''}], rows.concat(rest),
	'What makes the difference, the largest part first; it is all of them together');
}

function changed(data) {
	const diff = data.page.diff;

	if (!diff)
		return null;
	const sums = diff.sums;

	return section('changed', 'What changed', element('p', {}, `Measured time of all kernels: ${showTime(sums.old_ns)} before, ${showTime(sums.new_ns)} now, ` +
		`${signed(showTime, sums.difference_ns)} (${signed(showPercent, sums.change)}).`),
	element('p', {class: 'note'}, `Before: run${diff.old_source.runs.length > 1 ? 's' : ''} ${diff.old_source.runs.join(', ')}` +
		(diff.old_source.runs.length > 1 ? ', on average' : '') + `; now: run ${diff.new_source.runs.join(', ')}.` +
		(data.report.filter ? ' All launches are compared, those that do not match the filter, too.' : '')),
	contributorsTable(diff), changesTable(diff));
}

/* --- how accurate */

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
	return section('accuracy', 'How accurate', page.replayed ? element('p', {}, page.replayed.about) : null, accuracyTable(data),
		matched.length ? element('div', {class: 'figures'}, drawPredicted(data, matched), drawErrors(data, matched), drawKnown(data, matched),
			drawCoverage(data, matched), lambda && lambda.lines.length ? drawLambdas(data, lambda) : null, slowdownFigure(data, matched)) : null,
		concurrency(data));
}

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
	return section('kernels', 'Kernels', searchTable([...fieldColumns('kernels', {time_share: row => row.time_share / most}),
		{title: 'why', text: true, value: row => row.why.join(', '), show: text => text, about: 'why predictions may be wrong'}],
	rows, 'kernels', {by: 1, name: row => `${row.name} ${row.class}`, one: 'kernel', note: part(data.page.counts.kernels, 'kernel')}));
}

/* --- timeline, ledger, messages */

function timeline(data) {
	const windows = data.page.windows.filter(part => part.rows.length);

	return windows.length ? section('timeline', 'Timeline of the streams', new Timeline(data, windows).element(),
		legend(data.names.slice(0, 6).map((name, i) => [data.shortOf(i), 'k' + i, 'box']).concat([['others', 'k6', 'box'], ['copies', 'copy', 'box']]))) : null;
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

	return section('ledger', 'Ledger', plainTable([{title: 'what', text: true, value: row => row.name}, {title: 'count', value: row => row.count, show: showCount},
		{title: 'adds up', text: true, value: row => row.text, show: text => text}], rows),
	element('p', {class: l.adds_up ? 'note' : 'warning'}, l.adds_up ? 'The counts add up.' : 'The counts do not add up: the database is damaged, or kerncast is wrong.'),
	data.report.messages.length ? element('ul', {class: 'messages'}, data.report.messages.map(message => element('li', {class: message.severity},
		element('b', {}, message.severity), ' ', element('code', {}, message.code), ' ', message.text, MESSAGE_COUNT(message)))) : null);
}

function contents() {
	const links = [...document.querySelectorAll('main section')].map(part => element('a', {href: '#' + part.id}, part.querySelector('h2').textContent));

	return element('nav', {'aria-label': 'contents'}, links.flatMap((link, i) => i ? [' · ', link] : [link]));
}

function draw() {
	const page = JSON.parse(document.getElementById('data').textContent), data = new Data(page), main = document.getElementById('page');

	document.title = `kerncast: ${titleOf(data)}`;
	add(main, [pageTop(data), ran(data), slowSection(data), changed(data), accuracy(data), timeline(data), classes(data), kernels(data), ledger(data),
		element('footer', {}, `kerncast ${page.version}. This page asks the network for nothing.` + (page.anonymous ?
			' Names of kernels are hashed; paths, command lines and texts of messages are left out.' : ''))]);
	main.querySelector('header').append(contents());
	document.body.append(tip);
}

draw();
