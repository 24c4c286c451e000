/*
 * The top of the page: the three answers, and what they are of.
 */
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
