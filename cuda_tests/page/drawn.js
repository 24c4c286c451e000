'use strict';
/*
 * What the page must draw from made.json: run in the page itself, by page_drawn.bats. All that is expected was worked out
 * by hand from the numbers in made.json. The places of what is drawn are read as a person reads them: by the labels of the
 * axes.
 */
const made = JSON.parse(document.getElementById('data').textContent), data = new Data(made), checks = {};

/* Each check is a list of [got, wanted]; lists of text and numbers, these alike within 1 %. */
const alike = (got, wanted) => typeof wanted === 'number' ? Math.abs(got - wanted) <= 0.01 * Math.abs(wanted) + 1e-9
	: Array.isArray(wanted) ? Array.isArray(got) && got.length === wanted.length && wanted.every((one, i) => alike(got[i], one)) : got === wanted;

function told(name) {
	const cases = checks[name](), wrong = cases.filter(([got, wanted]) => !alike(got, wanted));

	return [`${cases.length} compared`, ...wrong.map(([got, wanted]) => `${JSON.stringify(got)} is not ${JSON.stringify(wanted)}`)].join('; ');
}

document.querySelectorAll('.folded').forEach(part => part.open = true); /* what is folded away has no place */

const all = (selector, in_) => [...(in_ || document).querySelectorAll(selector)];
const texts = (selector, in_) => all(selector, in_).map(part => part.textContent.trim());
const rowsOf = table => all('tbody tr', table).map(row => texts('td', row).join(' | ').trim());
const barsOf = table => all('td.bar', table).map(cell => cell.style.getPropertyValue('--share'));
const table = (section, i) => all(`#${section} table`)[i];

/* --- numbers */

checks.numbers = () => [
	[[0, 0.25, 12.345, 99.96, 999.4].map(showTime), ['0 ns', '0 ns', '12 ns', '100 ns', '999 ns']],
	[[999.5, 1234, 99960, 123456, 999499].map(showTime), ['1.00 µs', '1.23 µs', '100 µs', '123 µs', '999 µs']],
	[[999500, 1e6, 999499e3, 999500e3, 12345678e6].map(showTime), ['1.00 ms', '1.00 ms', '999 ms', '1.00 s', '12346 s']],
	[[null, undefined, NaN].map(showTime), ['-', '-', '-']],
	[[99, 100, 123.4, -1500].map(showTime), ['99 ns', '100 ns', '123 ns', '-1.50 µs']],
	[[0, 0.5, 0.994, 0.999, 0.9995, 99.94, 99.95, 99.96, 1234.4, -0.5, null].map(showPercent),
		['0.0 %', '0.50 %', '0.99 %', '1.00 %', '1.0 %', '99.9 %', '100 %', '100 %', '1,234 %', '-0.50 %', '-']],
	[[98.25, 98.35, 98.75, 0.375].map(showPercent), ['98.2 %', '98.3 %', '98.8 %', '0.38 %']], /* 98.35 is a little less in binary */
	[[1e-7, 0.0000123, 0.0001, 0.0125, 0.5, null].map(showChance), ['< 1e-6', '1.2e-05', '0.0001', '0.013', '0.5', '-']],
	[[0, 136.4e9, 9.994e9, 1e10, null].map(showRate), ['0.00 GB/s', '136.4 GB/s', '9.99 GB/s', '10.0 GB/s', '-']],
	[[9.99e12, 1e13, 410.06e12, null].map(showOperations), ['9990.0 GFLOP/s', '10.0 TFLOP/s', '410.1 TFLOP/s', '-']],
	[[0.712, 1, 9.996, 12.34, 1234].map(showRatio), ['0.71', '1.00', '10.0', '12.3', '1234']],
	[[0, 999, 1000, 1234567, 2.6, null].map(showCount), ['0', '999', '1,000', '1,234,567', '3', '-']],
	[[0, 1023, 1024, 1536, 1048576, 1024 ** 4, 2048 * 1024 ** 4].map(showBytes),
		['0 B', '1023 B', '1.0 KiB', '1.5 KiB', '1.0 MiB', '1.0 TiB', '2.0 PiB']],
	[[counted(1, 'kernel'), counted(0, 'kernel'), counted(2, 'copy', 'copies')], ['1 kernel', '0 kernels', '2 copies']],
	[[partOf(3, 3, 'row'), partOf(2, 3, 'row'), partOf(2, 3, 'row', 'evenly drawn')], ['3 rows', '2 of 3 rows', '2 of 3 rows, evenly drawn']],
	[[0, 0.25, 0.5, 0.9, 1].map(share => quantile([0, 4, 5, 10, 20], share)), [0, 4, 5, 16, 20]],
	[[String(quantile([], 0.5)), quantile([7], 0.9)], ['NaN', 7]],
	[[data.shortOf(1), data.shortOf(-1, 'the device'), data.shortOf(0)], ['beta_of_forty_and_one_letters_that_is_cut', 'the device', 'alpha']],
	[Data.prototype.shortOf.call({names: ['x'.repeat(49)]}, 0), 'x'.repeat(24) + '…' + 'x'.repeat(23)],
	[[0, 5, 6, 7, -1].map(kernel => data.colourOf(kernel)), ['k0', 'k5', 'k6', 'k7', 'others']],
	[[data.nameOf(0), data.nameOf(-1)], ['alpha', 'a kernel that the table does not list']],
	[[3, 11, 5, 0].map(stream => data.streamOf(stream)), ['default', 's11', 'stream row 5', 'stream not known']],
	[[-1, 0, 1].map(ns => signed(showTime, ns)), ['-1 ns', '+0 ns', '+1 ns']],
];

const ticks = (scale, ...range) => scale(...range, 0, 100, String).ticks.map(([value, text]) => +text === value ? value : NaN);

checks.scales = () => [
	[ticks(linearScale, 0, 10), [0, 2, 4, 6, 8, 10]],
	[ticks(linearScale, 0, 100), [0, 20, 40, 60, 80, 100]],
	[ticks(linearScale, 0, 5), [0, 1, 2, 3, 4, 5]],
	[ticks(linearScale, 0, 24), [0, 5, 10, 15, 20]],
	[ticks(linearScale, 0, 30), [0, 10, 20, 30]],
	[ticks(linearScale, 150, 650), [200, 300, 400, 500, 600]],
	[ticks(linearScale, 7, 7), [7]],
	[ticks(linearScale, 0, 45), [0, 10, 20, 30, 40]],
	[ticks(logScale, 10, 10), [10]],
	[ticks(logScale, 2, 9.5), [2, 2.5, 3, 4, 5, 6, 8]],
	[ticks(logScale, 1, 1000), [1, 10, 100, 1000]],
	[ticks(logScale, 5, 200), [5, 10, 20, 50, 100, 200]],
	[ticks(logScale, 0.95, 2.2), [1, 1.2, 1.5, 2]],
	[ticks(logScale, 1, 1e8), [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8]],
	[ticks(logScale, 1, 1e9), [1, 100, 1e4, 1e6, 1e8]],
	[[0, 25, 50].map(linearScale(0, 50, 10, 110, String)), [10, 60, 110]],
	[[1, 10, 100].map(logScale(1, 100, 300, 100, String)), [300, 200, 100]],
	[[linearScale(3, 3, 10, 110, String)(3), logScale(3, 3, 10, 110, String)(3)], [10, 10]],
	[[rangeOf([3, 5], 1), rangeOf([3, 5], 4), rangeOf([0, 1], 1)], [[3, 5], [4, 8], [1, 2]]],
	[medians([1, 2, 3, 4, 5].map(n => [0, n, 100 + n, 100]), 2), [[2, 2], [5, 4.5]]],
	[medians([[0, 6, 100, 100]], 40), [[6, 0.01]]],
	[[9, 10, 11].map(n => texts('summary', element('div', {}, foldedTable([{title: 'n', value: row => row}], Array(n).fill(1)))).join()),
		['', '', '1 more']],
	[sortRows([2, null, 10, 1], {value: row => row}, true).map(String), ['10', '2', '1', 'null']],
	[sortRows(['b', null, 'a'], {value: row => row}, false).map(String), ['a', 'b', 'null']],
	[barsOf(element('div', {}, plainTable([{title: '', value: row => row, bar: row => row}], [2, 1, 0.125, 0, -1, NaN]))),
		['100.0%', '100.0%', '12.5%', '0.0%', '0.0%', '0.0%']],
];

/* --- texts and tables */

checks.top = () => [
	[[document.title, ...texts('h1')], ['kerncast: train --fast', 'train --fast']],
	[texts('.simulated'), ['SIMULATED: some of these times come from a stand-in device, not from a GPU.']],
	[texts('.about'), ['runs 3 to 4 · 2026-01-01 00:01:01 UTC · A100 · 3 processes · made.db',
		'Filter: kernel matches "^s"; stream 3, 11; at least 1.50 µs: 1,000 of 4,000 launches']],
	[texts('.card > b'), ['1,000 launches of 9 kernels', '300 µs lost, 27.9 % of the 1.07 ms that could be judged', 'median error 6.2 %']],
	[texts('.card > p'), ['The GPU was busy 75.0 % of 2.00 ms. The kernels took 1.20 ms, 50.0 % of it alpha.', 'Most of it: overlapped (240 µs, 8 launches).',
		'84.0 % within 20 %; weighted by time 7.5 %; of 12 seen for the first time, median 45.5 %.']],
	[texts('nav'), ['Timeline of the streams · Kernels · What was slow · Steps · What changed · What ran · Classes and limits · How accurate · Ledger']],
	[texts('footer'), ['kerncast 0.0. This page asks the network for nothing.']],
];

checks.ran = () => [
	[rowsOf(table('ran', 0)), ['GPU 0, A100 | 2.00 ms | 75.0 % | 40.0 % | 20.0 % | 5.0 % | 15.0 % | 25.0 % | 5.0 %', 'GPU 1, A100 | 0 ns | - | - | - | - | - | - | -']],
	[barsOf(table('ran', 0)).slice(0, 8), ['75.0%', '40.0%', '20.0%', '5.0%', '15.0%', '25.0%', '5.0%', '0.0%']],
	[rowsOf(table('ran', 1)), ['rank 0 (pid 41) | GPU 0 | 2.00 ms | 75.0 % | 40.0 % | 20.0 % | 5.0 % | 15.0 % | 25.0 %', 'pid 42 | GPU 1 | 10 ns | - | - | - | - | - | -']],
	[rowsOf(table('ran', 2)).slice(0, 2), ['s11 | 1.00 µs | 25.0 % | 0.0 % | 75.0 % | 0.70 %', 's12 | 1.00 µs | - | - | - | -']],
	[[rowsOf(table('ran', 2)).length, ...rowsOf(table('ran', 3)).map(row => row.split(' ')[0])], [10, 's21', 's22']],
	[rowsOf(table('ran', 4)), ['HtoD | 250 | 1000.0 MiB | 42.3 ms | 24.8 GB/s', 'memset | 1 | 64 B | 0 ns | -']],
	[rowsOf(table('ran', 5)), ['host was late | 1,200 | 400 µs | 80.0 % | launched late', 'launching | 2 | 100 µs | 20.0 % | launched in time']],
	[rowsOf(table('ran', 6)), ['90.0 µs | 1.50 µs | host was late | 80.0 µs | - | GPU 0 | rank 0 (pid 41) | 43 | cuLaunchKernel | <alpha> | s11 | HtoD | s12']],
	[rowsOf(table('ran', 7)), ['train --fast | 0 | node1 | GPU 0, GPU 1 | 41 | exit | 990 | 2.50 s', 'pid 42 | - |  |  | 42 | not known | 10 | -']],
	[texts('#ran .note'), ['12 of 40 streams, those with most time.', 'Communication is hidden while another kernel computes; a copy does not hide it.', '2 of 3 processes.']],
	[texts('#ran summary'), ['2 more']],
];

checks.slow = () => [
	[texts('#slow > p'), ['300 µs lost, 27.9 % of the 1.07 ms that could be judged, in 12 of 809 launches.', 'Compared with runs 1, 2 and with itself. ' +
		'1 earlier run on another device is left out. 2 earlier runs have too many launches for this page. What a launch should take is ' +
		'the median of others like it that ran alone.', 'drift: its clock was lower', 'Kernels at the same time as others, 9 launches: one after the other they would have taken up to 800 µs, together they took 650 µs (150 µs saved).', '40 launches (10.0 % of the time) have too few others like them. 1 launch (0.50 % of the ' +
		'time) were overlapped as all others like them, so what that costs is not known.']],
	[rowsOf(table('slow', 1)), ['240 µs | 8 | overlapped | longer than alone: other kernels ran at the same time',
		'60.0 µs | 3 | drift | the kernel was faster in another part of this run', '0 ns | 1 | a new size | the kernel was given more work than before']],
	[barsOf(table('slow', 1)), ['100.0%', '25.0%', '0.0%']],
	[rowsOf(table('slow', 0)), ['20.0 µs | 90.0 µs | 100 µs | +25.0 % | 6 | all | GPU 3 | rank 1 (pid 41) | 3 others',
		'5.00 µs | 0 ns | 55.0 µs | +10.0 % | 3 | 2 |  | pid 42 | the only other one; which of the two is as it should be is not known']],
	[barsOf(table('slow', 0)), ['100.0%', '25.0%']],
	[rowsOf(table('slow', 2)), ['200 µs | 500 µs | 6 | overlapped (rank 1, node7 (pid 41), rank 2, node7 (pid 43)) | delta |', '60.0 µs | 90.0 µs | 3 | drift | alpha |',
		'40.0 µs | 41.0 µs | 2 | overlapped (pid 41, 42) | gamma | alpha 30.0 µs, zeta 10.0 µs']],
	[rowsOf(slowKernels({causes: [{why: 'c', kernels: [{...made.slow.causes[0].kernels[0], beside: [1, 2, 3, 4].map(n => ({name: `k${n}`, lost_ns: n}))}]}]}))[0]
		.split(' | ').pop(), 'k1 1 ns, k2 2 ns, and 2 more'],
	[barsOf(table('slow', 2)), ['100.0%', '30.0%', '20.0%']],
	[rowsOf(table('slow', 3)), ['50.0 µs | 80.0 µs | 30.0 µs | 1.50 ms | 3 | overlapped | rank 1, node7 (pid 41) | GPU 3 | drift 10.0 µs | delta',
		'20.0 µs | 30.0 µs | 10.0 µs | 0 ns | - | drift | pid 42 |  |  | alpha']],
	[rowsOf(table('slow', 4)), ['200 µs | 90.0 µs | 40.0 % | 1,200 | overlapped | rank 1, node7 (pid 41)', '50.0 µs | 0 ns | - | 3 |  | pid 42']],
	[barsOf(table('slow', 4)), ['100.0%', '25.0%']],
	[rowsOf(slowKernels({causes: [{cause: 'drift', kernels: Array.from({length: 30}, (_, i) => ({...made.slow.causes[0].kernels[0], lost_ns: i}))}]}))
		.map(row => row.split(' ')[0]), Array.from({length: 20}, (_, i) => String(29 - i))],
	[[[], [4]].map(runs => comparedWith({earlier_runs: runs, earlier_runs_on_other_devices: 2, earlier_too_large: 1})),
		['Compared with itself alone: what is slower than before is not known. 2 earlier runs on another device are left out. 1 earlier run has too many launches for this page.',
			'Compared with run 4 and with itself. 2 earlier runs on another device are left out. 1 earlier run has too many launches for this page.']],
];

/* Two ranks side by side, of which neither is longer in step 2; one folded. */
checks.steps = () => {
	const choice = document.querySelector('#steps select'), side = table('steps', 0), chosen = value => (choice.value = value, choice.dispatchEvent(new Event('change')), rowsOf(table('steps', 0)));
	const one = stepsSection(new Data({...made, steps: {...made.steps, of: 3, steps_are: 'told', rows: made.steps.rows.slice(0, 3)}}));

	return [
		[all('th', side).map(head => head.textContent), ['step', 'most on', 'rank 0', 'pid 42']],
		[rowsOf(side), ['1 ▲ | pid 42 | 1.00 ms | 2.00 ms', '2 |  | 1.50 ms | 1.50 ms', '3 |  | - | -']],
		[barsOf(side), ['50.0%', '100.0%', '75.0%', '75.0%', '0.0%', '0.0%']],
		[all('option', choice).map(option => option.textContent), ['time', 'kernels', 'busy', 'predicted', 'off']],
		[chosen('1'), ['1 | rank 0 | 500 µs | 250 µs', '2 ▲ | pid 42 | 500 µs | 1.00 ms', '3 | rank 0 | 100 µs | -']],
		[chosen('4'), ['1 | rank 0 | +10.0 % | -', '2 | rank 0 | -10.0 % | -', '3 |  | - | -']],
		[chosen('0').length, 3],
		[texts('#steps > p.note'), ['The first 5 of 9 steps. Time: on the host, from its start to its end; kernels, busy and exposed: of what was launched in it. ' +
			'Steps are not told, but found by what repeats.']],
		[rowsOf(one), ['1 | 1.00 ms | 500 µs | 400 µs | 550 µs | +10.0 %', '2 ▲ | 1.50 ms | 500 µs | 400 µs | 450 µs | -10.0 %', '3 | - | 100 µs | 90.0 µs | - | -']],
		[barsOf(one), ['66.7%', '100.0%', '0.0%']],
		[[one.querySelector('details').className, all('.note', one)[0].textContent.includes('Steps are')], ['folded', false]],
		[rankNames(['a (pid 1)', 'a (pid 2)']), ['a (pid 1)', 'a (pid 2)']],
		[stepsSection(new Data({...made, steps: null})), null],
	];
};

/* Means per step, as counts where they are whole; what a step took; what was in none. */
checks.per_step = () => {
	const steps = {old: {steps: 12, steps_are: 'told', outside_launches: 1, outside_ns: 2000}, new: {steps: 1, steps_are: 'found', outside_launches: 0, outside_ns: 0},
		rows: [{of: 'GPU idle', old_ns: 1000000, new_ns: 1500000, difference_ns: 500000, change: 50}]};
	const shown = changed(new Data({...made, diff: {...made.diff, per: 'step', steps: steps}}));

	return [
		[all('p', shown)[0].textContent.slice(0, 40), 'Measured time of all kernels per step: 8'],
		[all('p.note', shown)[1].textContent, '12 steps before, 1 step (not told, but found by what repeats) now; in no step, and not compared: 1 launch (2.00 µs) before, 0 launches (0 ns) now.'],
		[all('th', all('table', shown)[1]).map(head => head.textContent), ['difference', 'change', 'before', 'now', 'of a step']],
		[rowsOf(all('table', shown)[1]), ['+500 µs | +50.0 % | 1.00 ms | 1.50 ms | GPU idle']],
		[[1234, 18.5, 0.25].map(showMean), ['1,234', '18.5', '0.25']],
	];
};

checks.changed = () => [
	[texts('#changed > p'), ['Measured time of all kernels: 800 µs before, 1.20 ms now, +400 µs (+50.0 %).',
		'Before: runs 1, 2, on average; now: run 3. All launches are compared, those that do not match the filter, too.']],
	[rowsOf(table('changed', 0)), ['+450 µs | delta | slower | 10 | 12 | 50.0 µs | 500 µs |  |',
		'-90.0 µs | eta | in place of another | 9 | 0 | 90.0 µs | 0 ns | theta | rank 1',
		'+30.0 µs | 3 other kernels | smaller | - | - | - | - |  |', '+10.0 µs | 2 other kernels | below the limits, or by chance | - | - | - | - |  |']],
	[barsOf(table('changed', 0)), ['100.0%', '20.0%', '6.7%', '2.2%']],
	[rowsOf(table('changed', 1)), ['delta | 22 | 5.00 µs | 41.7 µs | +733 % | +440 µs | 1e-05', 'eta | 1 | 10.0 µs | 9.50 µs | -5.0 % | -110 µs | 0.013']],
	[barsOf(table('changed', 1)), ['100.0%', '25.0%']],
	[texts('#changed caption')[1], 'Kernels that changed by more than 2.0 % and 200 ns per launch (false discovery rate: 5.0 %); 2 of 4 kernels, those that lost most time'],
	[changesTable({...made.diff, changes: []}).textContent, 'No kernel changed by more than 2.0 % and 200 ns per launch.'],
];

checks.accuracy = () => [
	[texts('#accuracy caption'), ['Errors: |predicted − measured| / measured, of 850 launches that were predicted and measured; median and p90 within 1 % of them',
		'Concurrency of matched launches: predicted, and what was measured']],
	[rowsOf(table('accuracy', 0)), ['all | 850 | 6.2 % | 7.5 % | 31.0 % | 84.0 % | 1.05 | 11.0 %', 'first seen | 12 | 45.5 % | 50.0 % | 90.0 % | 25.0 % | 0.71 | 60.0 %',
		'new size | 0 | - | - | - | - | - | -', 'repeated | 838 | 0.50 % | 7.0 % | 30.0 % | 85.0 % | 1.06 | 10.0 %', 'solo | 800 | 5.0 % | - | - | - | - | -',
		'overlapped | 50 | 14.0 % | - | - | - | - | -', 'by earlier launches | 30 | 13.0 % | - | - | - | - | -', 'by later launches | 20 | 15.0 % | - | - | - | - | -']],
	[barsOf(table('accuracy', 0)).slice(0, 4), ['84.0%', '25.0%', '0.0%', '85.0%']],
	[rowsOf(table('accuracy', 1)), ['alone | 800 | 2 | 3 | 4', 'together | 0 | 21 | 0 | 0', 'one after the other | 0 | 0 | 0 | 20']],
];

checks.limits = () => [
	[rowsOf(table('classes', 0)), ['matrix product | 800 µs | 66.7 % | 600 | 1.33 µs', 'other | 400 µs | 33.3 % | 8 | 50.0 µs']],
	[barsOf(table('classes', 0)), ['100.0%', '50.0%']],
	[rowsOf(table('classes', 1)), ['alpha | 480 µs | 80.0 % | 12.3 GFLOP/s | 2.00 GB/s | 93.2 % | device memory']],
	[texts('#classes .note'), ["How near the limits: the work of 40.0 % of the kernels' time is known, from their code."]],
	[classes(new Data({...made, report: {...made.report, classes: [made.report.classes[0]], kernels: []}})), null],
];

checks.kernels = () => [
	[rowsOf(table('kernels', 0)).slice(0, 3), ['alpha | 50.0 % | 600 | 1.00 µs | 1.05 µs | 5.0 % | 6.0 % | 90.0 % | 1.05 | matrix product |',
		'beta_of_forty_and_one_letters_that_is_cut | 25.0 % | 1,200 | 12.3 µs | - | - | - | - | - | other | few, odd', 'gamma | 8.0 % | 3 | 2 ns | 2 ns | 1.0 % | - | - | - | other |']],
	[barsOf(table('kernels', 0)), ['100.0%', '50.0%', '16.0%', '14.0%', '8.0%', '6.0%', '4.0%', '2.0%']],
	[texts('#kernels output'), ['8 of 9 kernels, those with most time.']],
	[all('#kernels th').map(head => head.getAttribute('aria-sort')).slice(0, 3), ['none', 'descending', 'none']],
];

/* Of 30 rows 20 are shown, all if they are asked for or some are searched for; of 22 all. A long name on one line, and whole. */
checks.folded = () => {
	const searched = n => searchTable([{title: 'n', value: row => row}], Array.from({length: n}, (_, i) => i + 1), 'rows', {by: 0, name: row => `r${row}`, one: 'row'});
	const many = searched(30), button = all('button', many).pop(), seen = () => [rowsOf(many).length, button.hidden];
	const typed = words => (many.querySelector('input').value = words, many.querySelector('input').dispatchEvent(new Event('input')), seen());
	const letters = 'abcdefghijklmnopqrstuvwxyz'.repeat(2), opened = nameElement(letters), gaps = [{process: 'p', gpu: 'g', call: '', next: 'n'}];

	return [
		[rowsOf(many)[0], '30'],
		[[button.textContent, ...seen()], ['all 30 rows', 20, false]],
		[typed('R2'), [11, true]], /* 2, and 20 to 29 */
		[typed(''), [20, false]],
		[(button.click(), seen()), [30, true]],
		[[all('button', searched(22)).pop().hidden, rowsOf(searched(22)).length], [true, 22]],
		[texts('code', opened), ['abcdefghijklmnopqrstuvwx…defghijklmnopqrstuvwxyz', letters]], /* 24 and 23 of 52 */
		/* Of 20 columns 10 are the beginning; the first two differ in their 17th letter. */
		[[...shortForms(['template<float, A, one>_long_', 'template<float, B, one>_long_', 'template<float, B, two>_long_', 'short', 'short'], 20)],
			[['template<float, A, one>_long_', 'template<f…, A, one…'], ['template<float, B, one>_long_', 'template<f…, B, one…'],
				['template<float, B, two>_long_', 'template<f…wo>_long_'], ['short', 'short']]],
		[new Set(shortForms(Array.from({length: 8}, (_, i) => `${'a'.repeat(12)}${i & 1}${'b'.repeat(12)}${i >> 1 & 1}${'c'.repeat(12)}${i >> 2}${'d'.repeat(12)}`), 20)
			.values()).size, 8],
		/* As distinct_test.c of tools/output. */
		[['void at::native::f<c10::Half>(int)', 'void at::native::(anonymous namespace)::g<at::native::(anonymous namespace)::E>(c10::BFloat16*, int)',
			'std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type vllm::norm<c10::BFloat16, 8>(c10::BFloat16*)',
			'void f<at::native::g()::{lambda(int)#1}>(float (*)(int))', 'void mine::std::f<nostd::x, boat::native::y>(int)',
			'void at::native::v<4, at::native::A<float>, std::array<char*, 3ul> >(int)', 'rank 1 (pid 2001)', 'f((('].map(plainName),
		['f<Half>', 'g<E>', 'vllm::norm<BFloat16, 8>', 'f<g()::{lambda(int)#1}>', 'mine::std::f<nostd::x, boat::native::y>', 'v<4, A<float> >',
			'rank 1 (pid 2001)', 'f(((']],
		[[...shortForms(['void ns::overloaded(int, float)', 'void ns::overloaded(int, long)', 'void ns::longer_name(int)'], 19).values()],
			['void ns::…t, float)', 'void ns::…nt, long)', 'ns::longer_name']],
		[[shortened('abcdef', 5), shortened('abcde', 5), nameElement('x'.repeat(48)).localName], ['ab…ef', 'abcde', 'code']],
		[gapColumns(new Data({...made, report: {...made.report, processes: [{}], devices: [{}]}}), gaps).filter(column => column.text).map(column => column.key), ['next']],
		[gapColumns(data, gaps).filter(column => column.text).map(column => column.key), ['gpu', 'process', 'next']],
		[all('section > .folded').map(part => part.parentElement.id), ['accuracy', 'ledger']],
	];
};

/* A click on a head sorts by it: numbers from the largest on, words from the first on, and a second one the other way. */
checks.sorting = () => {
	const made_ = searchTable([{title: 'name', text: true, value: row => row[0]}, {title: 'number', value: row => row[1]}], [['a', 1], ['c', 3], ['b', 2]],
		'rows', {by: 1, name: row => row[0], one: 'row', note: 'all of them'}), seen = () => texts('td.text', made_).join('');
	const click = i => (all('th button', made_)[i].click(), seen()), search = made_.querySelector('input');
	const typed = text => (search.value = text, search.dispatchEvent(new Event('input')), `${seen()} ${made_.querySelector('output').textContent}`);

	return [
		[[seen(), click(1), click(1), click(0), click(0), click(1)], ['cba', 'abc', 'cba', 'abc', 'cba', 'cba']],
		[all('th', made_).map(head => head.getAttribute('aria-sort')), ['none', 'descending']],
		[['B', 'z', ''].map(typed), ['b 1 of 3 rows', ' 0 of 3 rows', 'cba all of them']],
	];
};

/* Where there is one of what are several, nothing, or all of a list. */
checks.little = () => {
	const report = made.report, of = (changes, page) => new Data({...made, ...page, report: {...report, ...changes}});
	const textOf = (...parts) => element('div', {}, ...parts).textContent, idle = {...report.activity.devices[0], span_ns: 0};
	const diff = {...made.diff, old_source: {runs: [1]}, counts: {contributors: 1, changes: 2}, contributors: [{...made.diff.contributors[0], difference_ns: 10}],
		other_contributors: {kernels: 0, difference_ns: 0}, sums: {...made.diff.sums, difference_ns: 10}};

	return [
		[data.partText({rows: [], shown: 9, of: 9}), '9 launches, 0 of them predicted and measured'],
		[data.partText({rows: [made.drawn.rows[0]], shown: 1, of: 1}), '1 launch'],
		[textOf(ranAnswer(of({measured_ns: 0, activity: {...report.activity, devices: [idle]}}))), '1,000 launches of 9 kernelsNothing was measured.'],
		[textOf(ranAnswer(of({kernels: [], activity: null}))), '1,000 launches of 9 kernelsThe kernels took 1.20 ms.'],
		[textOf(slowAnswer(of({}, {slow: {...made.slow, causes: made.slow.causes.slice(2)}}))), '300 µs lost, 27.9 % of the 1.07 ms that could be judgedNo launch took much longer than others like it.'],
		[textOf(slowAnswer(of({}, {slow: {...made.slow, causes: [{...made.slow.causes[2], lost_ns: 1}]}}))), '300 µs lost, 27.9 % of the 1.07 ms that could be judgedMost of it: a new size (1 ns, 1 launch).'],
		[textOf(slowAnswer(of({}, {slow: {left_out: 'why'}}))), 'not looked atwhy'],
		[textOf(accurateAnswer(of({accuracy: {n: 0}}))), 'nothing to compareNo launch was predicted and measured.'],
		[textOf(accurateAnswer(of({accuracy: {n: 0}, ledger: {measured: 0}}))), 'nothing to compareNo launch was measured.'],
		[textOf(accurateAnswer(of({first_seen: {n: 0}}))), 'median error 6.2 %84.0 % within 20 %; weighted by time 7.5 %.'],
		[texts('.about', pageTop(of({runs: {first: 4, last: 4}, filter: null}, {counts: {...made.counts, processes: {shown: 1, of: 1}}}))),
			['run 4 · 2026-01-01 00:01:01 UTC · A100 · made.db']],
		[texts('td.text', timeUse(of({activity: {...report.activity, devices: [report.activity.devices[0]], streams: []}}))[0]), ['A100']],
		[texts('td.text', timeUse(of({}))[0]), ['GPU 0, A100', 'GPU 1, A100']],
		[[part({shown: 3, of: 3}, 'stream'), part({shown: 2, of: 3}, 'stream')], ['', '2 of 3 streams, those with most time.']],
		[texts('.note', ran(of({}, {counts: {...made.counts, processes: {shown: 2, of: 2}}})))[2], ''],
		[rowsOf(ran(of({processes: [{...report.processes[0], rank: null}]}))).slice(-1), ['train --fast | 41 | exit | 990 | 2.50 s']],
		[texts('p', changed(of({filter: null}, {diff: diff}))).slice(1), ['Before: run 1; now: run 3.']],
		[texts('caption', changesTable(diff))[0].includes(';'), false],
		[texts('td:last-child', changesTable({...diff, changes: [0.0001, 0.00014, 0.00009].map(p => ({...made.diff.changes[0], p: p}))})), ['0.0001', '0.00014', '9e-05']],
		[rowsOf(contributorsTable({...diff, counts: {contributors: 3}, sums: {difference_ns: 13}}))[1].split(' | ')[0], '+3 ns'],
		[barsOf(kernels(of({kernels: report.kernels.map((kernel, i) => ({...kernel, time_share: [0.5, 0.25, null][Math.min(i, 2)]}))}))).slice(0, 3), ['100.0%', '50.0%', '0.0%']],
		[[reasons({odd_one: 1, none: 0}), reasons({})], [' (1 odd one)', '']],
		[rowsOf(ledger(of({ledger: {...report.ledger, not_asked: 0, adds_up: false}}))).some(row => row.startsWith('not asked')), false],
		[texts('.warning', ledger(of({ledger: {...report.ledger, adds_up: false}}))),
			['The counts do not add up: the database is damaged, or kerncast is wrong.', 'warning LOST records were lost (2 times)']],
	];
};

checks.ledger = () => [
	[rowsOf(table('ledger', 0)), ['launches | 1,000 | = 900 predicted + 100 unpredictable (60 no code, 40 odd name)',
		'predicted | 900 | = 850 matched + 30 unmeasured + 20 awaited (30 buffer full)', 'CUPTI records | 870 | = 870 measured + 0 unmatched',
		'transfers | 50 | = 45 measured + 5 unmeasured', 'failed calls | 2 |', 'dropped launches | 1 |', 'dropped records | 0 |', 'not asked for | 7 | (7 after)',
		'launch calls captured into graphs | 5 |', 'graph launches | 6 |']],
	[texts('#ledger p'), ['The counts add up.']],
	[texts('#ledger li'), ['warning LOST records were lost (2 times)', 'note ONCE said once']],
];

/* --- figures */

const UNITS = {ns: 1, 'µs': 1e3, ms: 1e6, s: 1e9};

function valueOf(label) {
	const [, number, unit] = /^([\d.,]+) ?(.*)$/.exec(label);

	return parseFloat(number.replace(/,/g, '')) * (UNITS[unit] || 1);
}

/* What a place along an axis means: between its first and its last label, in steps or by powers. */
function reading(svg, side, isLog) {
	const ofLine = {x: /^M([\d.]+) [\d.]+V/, y: /^M[\d.]+ ([\d.]+)H/}[side], marks = [];

	for (const line of all('.axes > path', svg)) {
		const place = ofLine.exec(line.getAttribute('d'));

		if (place)
			marks.push([+place[1], valueOf(line.nextSibling.textContent)]);
	}
	const of = value => isLog ? Math.log(value) : value, [at, first] = marks[0], [to, last] = marks[marks.length - 1];
	const read = place => of(first) + (place - at) * (of(last) - of(first)) / (to - at);

	return place => isLog ? Math.exp(read(place)) : read(place);
}

/* Pairs of places in a path, and what they mean. */
function pairs(path, x, y) {
	return [...path.getAttribute('d').matchAll(/[ML]([\d.-]+) ([\d.-]+)/g)].map(([, left, top]) => [x(+left), y(+top)]);
}

const figureOf = title => all('figure').find(figure => figure.textContent.startsWith(title));
const captionOf = title => figureOf(title).querySelector('figcaption').textContent;

function drawnIn(title, selectors, isLog) {
	const svg = all('svg', figureOf(title)).pop(), x = reading(svg, 'x', isLog[0]), y = reading(svg, 'y', isLog[1]);

	return selectors.map(selector => pairs(svg.querySelector(selector), x, y));
}

const labels = title => texts('.axes text:not(.title)', all('svg', figureOf(title)).pop());
const PART = '9 of 20,000 launches, evenly drawn, 7 of them predicted and measured';

/* The tip, where one points so far beside what is drawn there. */
function tipAt(title, value, beside) {
	const svg = all('svg', figureOf(title)).pop(), box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
	const [left, top] = value(svg);

	svg.dispatchEvent(new MouseEvent('mousemove', {clientX: box.left + (left + beside) * scale, clientY: box.top + top * scale}));
	const ring = svg.querySelector('.ring'), around = alike([+ring.getAttribute('cx'), +ring.getAttribute('cy')], [left, top]);

	return tip.hidden ? [] : [...all('*', tip).map(line => line.textContent), around && ring.getAttribute('visibility') === 'visible' ? 'in a ring' : 'no ring'];
}

const dotOf = (selector, i) => svg => pairs(svg.querySelector(selector), place => place, place => place)[i];

checks.predicted = () => [
	[captionOf('Predicted'), `Predicted against measured. ${PART}; lines: the same, and 0.8 and 1.2 times as long.`],
	[labels('Predicted'), ['1.00 µs', '10.0 µs', '100 µs', '1.00 µs', '10.0 µs', '100 µs']],
	[drawnIn('Predicted', ['.first', '.sized', '.again'].map(kind => 'svg > .dots' + kind), [true, true]), [[[10000, 12000]], [[100000, 80000]],
		[[10000, 9000], [10000, 10500], [10000, 10000], [100000, 120000], [1000, 960]]]],
	[drawnIn('Predicted', ['.same', '.limit', '.limit ~ .limit'], [true, true]),
		[[[960, 960], [120000, 120000]], [[960, 768], [120000, 96000]], [[960, 1152], [120000, 144000]]]],
	[tipAt('Predicted', dotOf('.first', 0), -4), ['alpha', 'predicted 12.0 µs, measured 10.0 µs, error 20.0 %', 'first seen, alone, at 0 ns', 'in a ring']],
	[tipAt('Predicted', dotOf('.sized', 0), 13)[0], data.nameOf(1)],
	[tipAt('Predicted', dotOf('.sized', 0), 15), []],
];

checks.errors = () => [
	[captionOf('Error over'), `Error over time. ${PART}, by their launch from the start of the run; the line is the median of each of them. Errors below 0.01 % are on the axis.`],
	[labels('Error over'), ['0 ns', '200 µs', '400 µs', '600 µs', '0.01 %', '0.1 %', '1 %', '10 %']],
	[drawnIn('Error over', ['.first', '.sized', '.again', '.median'].map(kind => 'svg > ' + kind), [false, true]), [[[0, 20]], [[4e5, 20]],
		[[1e5, 10], [2e5, 5], [3e5, 0.01], [5e5, 20], [6e5, 4]], [[0, 20], [1e5, 10], [2e5, 5], [3e5, 0.01], [4e5, 20], [5e5, 20], [6e5, 4]]]],
	[labelsOf(drawErrors(data, [-200, 200].map(us => [0, us, 110, 100, 90, 120, 2, 1]))).slice(0, 5), ['-200 µs', '-100 µs', '0 ns', '100 µs', '200 µs']],
	[pairs(all('.line.median', drawErrors(data, Array.from({length: 80}, (_, i) => [0, i, 110, 100, 90, 120, 2, 1]))).pop(), x => x, y => y).length, 40],
	[[79, 80].map(n => drawErrors(data, Array.from({length: n}, (_, i) => [0, i, 110, 100, 90, 120, 2, 1])).textContent.match(/median of ([^.]*) of/)[1]),
		['each', 'each fortieth part']],
	[all('path.again', drawErrors(data, Array.from({length: 3001}, (_, i) => [0, i, 110, 100, 90, 120, 2, 1]))).pop().classList.contains('many'), true],
	[all('path.again', drawErrors(data, Array.from({length: 3000}, (_, i) => [0, i, 110, 100, 90, 120, 2, 1]))).pop().classList.contains('many'), false],
];

/* From and to of boxes, by the axis below them. */
function boxesOf(title, isLog) {
	const svg = all('svg', figureOf(title)).pop(), x = reading(svg, 'x', isLog);

	return all('rect', svg).map(box => [x(+box.getAttribute('x')), x(+box.getAttribute('x') + +box.getAttribute('width')), box.classList[1]]);
}

function linesOf(title, kind, isLog) {
	const svg = all('svg', figureOf(title)).pop(), x = reading(svg, 'x', isLog);

	return all(kind, svg).map(line => line.getAttribute('d').match(/(?<=[MH])[\d.]+/g).map(place => x(+place)));
}

checks.classes = () => [
	[captionOf('Error by'), `Error by what was known. ${PART}: the median, half of them in the box, 8 of 10 on the line.`],
	[texts('.value', figureOf('Error by')), ['median 20.0 %, 1 launch', 'median 20.0 %, 1 launch', 'median 5.0 %, 5 launches']],
	[boxesOf('Error by', true)[2], [4, 10, 'again']],
	[linesOf('Error by', '.whisker', true), [[20, 20], [20, 20], [1.6, 16]]],
	[linesOf('Error by', '.middle', true), [[20], [20], [5]]],
	[labels('Error by'), ['0.01 %', '0.1 %', '1 %', '10 %']],
	[captionOf('Coverage'), `Coverage of the 90 % intervals. ${PART}: 90 % of the measured times should lie inside.`],
	[texts('.value', figureOf('Coverage')), ['100 % inside, 1 launch', '0.0 % inside, 1 launch', '60.0 % inside, 5 launches']],
	[boxesOf('Coverage', false), [[0, 100, 'inside'], [0, 100, 'above'], [0, 20, 'below'], [20, 80, 'inside'], [80, 100, 'above']]],
	[linesOf('Coverage', '.wanted', false), [[90], [90], [90]]],
	[labels('Coverage'), ['0 %', '20 %', '40 %', '60 %', '80 %', '100 %']],
	[[drawKnown, drawCoverage].map(draw => texts('.faint', draw(data, [[0, 0, 110, 100, 90, 120, 2, 1]]))), [['none', 'none'], ['none', 'none']]],
];

const circles = figure => {
	const svg = all('svg', figure).pop(), x = reading(svg, 'x', true), y = reading(svg, 'y', true);

	return all('.bubble', svg).map(circle => ['cx', 'cy', 'r'].map(name => +circle.getAttribute(name))).map(([left, top, r]) => [x(left), y(top), r]);
};

checks.lambdas = () => [
	[captionOf('λ').endsWith('over its last one; from the first 1,500 values that were published.'), true],
	[labels('λ'), ['1', '10', '100', '0.50', '1.00', '2.00']],
	[drawnIn('λ', ['.k0', '.k1'].map(kind => 'svg > .line' + kind), [true, true]), [[[1, 0.5], [2, 2], [3, 1]], [[1, 0.75], [101, 1]]]],
	[drawnIn('λ', ['.same'], [true, true])[0].map(([, ratio]) => ratio), [1, 1]],
	[tipAt('λ', dotOf('svg > .line.k1', 1), 0), ['alpha', 'λ 4.00 after 500 measurements, at 5.00 ms', 'model shape', 'in a ring']],
	[tipAt('λ', dotOf('svg > .line.k0', 1), 0), ['the device', 'λ 2.00 after 2 measurements, at 1.00 ms', 'model device', 'in a ring']],
	[texts('.legend span', figureOf('λ')), ['the device', 'alpha']],
	[[0, 1].map(last => texts('.legend span', drawLambdas(data, {read: 1, lines: [made.lambda.lines[1], {...made.lambda.lines[0], points: [[0, 1, 2], [0, 1, last]]}]})).length),
		[1, 2]],
	/* A value of 0 has no place among powers: it is not what the axis begins with. */
	[labelsOf(drawLambdas(data, {read: 1, lines: [{kernel: 0, level: 'l', values: 3, points: [[0, 1, 0], [1, 2, 1], [2, 3, 2]]}]})).slice(-5), ['0.50', '0.60', '0.80', '1.00', '1.20']],
	[labelsOf(drawLambdas(data, {read: 1, lines: [{kernel: 0, level: 'l', values: 1, points: [[0, 1, 2]]}]})), ['1', '2', '5', '10', '0.80', '1.00', '1.20']],
];

function labelsOf(figure) {
	return texts('.axes text:not(.title)', all('svg', figure).pop());
}

checks.slowdowns = () => [
	[captionOf('Slowdown'), 'Slowdown, predicted against measured. 2 drawn launches that were overlapped and whose time alone was known. Mean error of all 50: 12.5 %.'],
	[labels('Slowdown'), ['1.00', '1.20', '1.50', '2.00', '1.00', '1.20', '1.50', '2.00']],
	[circles(figureOf('Slowdown')), [[2, 1.5, 2], [1.25, 1.2, 2]]],
	[drawnIn('Slowdown', ['.same', '.limit', '.limit ~ .limit'], [true, true]), [[[1, 1], [2, 2]], [[1, 0.95], [2, 1.6]], [[1, 1.2], [2, 2.2]]]],
	[circles(slowdownFigure(data, [])), [[1.5, 1.25, 12], [1, 2, 14]]],
	[slowdownPlaces(data, [[0, 1, 1, 1, 1, 0.5], [0, 1, 1, 1, 0, 1], [0, 1, 1, 1, 1, 0]]).length, 1],
	[slowdownPlaces(data, made.slowdowns)[0].lines(), ['gamma', 'slowdown: predicted 1.25, measured 1.50, means of 900 launches',
		'predicted to run together; overlapped by earlier launches']],
	[[[0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 0], [0, 0, null, 1]].map(isMatched), [true, false, false, false]],
	[launchLines(data, made.drawn.rows[5])[2], 'repeated, overlapped by later launches, at 500 µs'],
];

/* --- the timeline */

function timelineOf() {
	const made_ = new Timeline(data, made.windows.filter(part => part.rows.length));

	document.body.append(made_.element());
	made_.range = () => [made_.from, made_.to];
	made_.key = key => {
		made_.svg.dispatchEvent(new KeyboardEvent('keydown', {key: key}));
		return made_.range();
	};
	return made_;
}

/* Row, kind, from and to of all slices. */
function slicesOf(timeline) {
	const x = reading(timeline.svg, 'x', false);

	return all('.slice', timeline.svg).map(slice => [slice.dataset.row, slice.classList[1], slice.classList[2],
		x(+slice.getAttribute('x')), x(+slice.getAttribute('x') + +slice.getAttribute('width'))]);
}

/* The stream beside whose name a slice is, and whether what was predicted is above. */
function lanesOf(timeline) {
	const names = all('.names text', timeline.svg);

	return all('.slice', timeline.svg).map(slice => {
		const top = +slice.getAttribute('y'), bottom = top + +slice.getAttribute('height'), of = name => +name.getAttribute('y');
		const near = [...names].sort((a, b) => Math.abs(of(a) - (top + bottom) / 2) - Math.abs(of(b) - (top + bottom) / 2))[0];

		return `${slice.dataset.row} ${near.textContent} ${bottom <= of(near) ? 'above' : top >= of(near) - 8 ? 'below' : 'across'}`;
	});
}

const FIRST = 'alpha; launch 1, s11, launched at 500 ns, first seen; predicted 2.00 µs, measured 2.50 µs, error 20.0 %; began 500 ns later than predicted';
const SECOND = 'theta; launch 2, default, launched at 600 ns, repeated; predicted 2.00 µs, measured 2.50 µs, error 20.0 %; began 500 ns earlier than predicted';
const THIRD = 'copy or memset, 2.0 KiB; launch 3, default, launched at 700 ns; predicted -, measured 2.00 µs';

checks.timeline = () => {
	const t = timelineOf(), after = key => (t.key(key), t.chosen.textContent), said = t.about.textContent;

	return [
		[said, '2 launches and 1 copy of process 41, from 1.50 µs on, counted from the start of the run. In each stream, predicted (light) is above measured.'],
		[texts('.axes text', t.svg), ['0 ns', '2.00 µs', '4.00 µs', '6.00 µs', '8.00 µs', '10.0 µs']],
		[texts('.names text', t.svg), ['default', 's11']],
		[slicesOf(t), [['0', 'predicted', 'k0', 1000, 3000], ['0', 'measured', 'k0', 1500, 4000], ['1', 'predicted', 'k7', 5000, 7000],
			['1', 'measured', 'k7', 4500, 7000], ['2', 'measured', 'copy', 8000, 10000]]],
		[lanesOf(t), ['0 s11 above', '0 s11 below', '1 default above', '1 default below', '2 default below']],
		[t.chosen.textContent, 'Point at a launch, or select one with n and p.'],
		[['n', 'n', 'n', 'n', 'p', 'p', 'p'].map(after), [FIRST, SECOND, THIRD, THIRD, SECOND, FIRST, FIRST]],
		[all('.selected', t.svg).map(slice => slice.dataset.row), ['0', '0']],
		[['+', 'ArrowRight', 'ArrowLeft', '=', '-', '-', 'ArrowUp', 'ArrowUp', 'ArrowDown'].map(key => t.key(key)), [[2500, 7500], [3750, 8750], [2500, 7500],
			[3750, 6250], [2500, 7500], [0, 10000], [2500, 7500], [3750, 6250], [2500, 7500]]],
		[['ArrowUp', 'Home'].map(key => t.key(key)), [[3750, 6250], [0, 10000]]],
		[(t.show(2000, 4500), slicesOf(t)), [['0', 'predicted', 'k0', 2000, 3000], ['0', 'measured', 'k0', 2000, 4000], ['1', 'measured', 'k7', 4500, 4500]]],
		[(t.show(3000, 4000), slicesOf(t).map(slice => slice[1])), ['predicted', 'measured']],
		[(t.show(8000, 9000), t.select(0), t.range()), [1000, 2000]],
		[(t.show(4500, 5500), t.select(1), t.range()), [4500, 5500]],
		[(t.show(3500, 4500), t.select(1), t.range()), [3500, 4500]],
		[(t.show(5000, 5001), t.range()), [5000, 5200]],
		[(t.show(9000, 12000), t.range()), [7000, 10000]],
		[(t.show(-500, 500), t.range()), [0, 1000]],
		[(t.open(1), [t.about.textContent.split(',')[0], ...slicesOf(t).map(slice => slice[2])]), ['1 launch and 0 copies', 'k1']],
		[after('n'), `${data.nameOf(1)}; launch 77, default, launched at 100 ns, new size; predicted 1.00 µs, measured -`],
		[(t.show(900, 1100), t.select(0), t.range()), [300, 500]],
		[[0, 100, 600].map(ns => sliceLines(data, [3, 0, 100, 200, ns + 100, ns + 100, 0, 1, 0, null])[3]),
			['began 0 ns later than predicted', 'began 100 ns later than predicted', 'began 600 ns later than predicted']],
		[[[100, 200, 100, 200], [100, 100, 100, 200], [100, 200, 100, 100], [100, 102, 100, 101]].map(times => sliceLines(data, [3, 0, ...times, 0, 1, 0, null])[2]),
			['predicted 100 ns, measured 100 ns, error 0.0 %', 'predicted 0 ns, measured 100 ns, error 100 %', 'predicted 100 ns, measured 0 ns',
				'predicted 2 ns, measured 1 ns, error 100 %']],
		[texts('#timeline .legend span'), ['alpha', data.shortOf(1), 'gamma', 'delta', 'epsilon', 'zeta', 'eta', 'theta', 'others', 'copies']],
		[[1, 2].map(n => new Timeline(data, Array(n).fill(made.windows[0])).element().querySelectorAll('select').length), [0, 1]],
		[texts('option', t.choice), ['the first launches', 'the last launch']],
	];
};

/* A time as a place of the window; the events of a pointer there. */
function placeOf(timeline, ns) {
	const box = timeline.svg.getBoundingClientRect(), scale = box.width / timeline.svg.viewBox.baseVal.width;

	return {clientX: box.left + timeline.x(ns) * scale, clientY: box.top + 5, bubbles: true, scale: scale};
}

checks.pointer = () => {
	const t = timelineOf();
	const wheel = (ns, by, held = true) => (t.svg.dispatchEvent(new WheelEvent('wheel', {...placeOf(t, ns), deltaY: by, ctrlKey: held})), t.range());
	const slice = all('.slice', t.svg)[0], on = type => slice.dispatchEvent(new PointerEvent(type, {...placeOf(t, 2000)}));
	const drag = (by, on_ = () => t.svg) => {
		const at = placeOf(t, 5000), send = (type, where, more) => on_().dispatchEvent(new PointerEvent(type, {...where, ...more}));

		send('pointerdown', at);
		send('pointermove', {...at, clientX: at.clientX + by * at.scale}, {buttons: 1});
		send('pointerup', at);
		return t.range();
	};

	return [
		[(on('pointermove'), all('*', tip).map(line => line.textContent).join('; ')), FIRST],
		[(on('pointerdown'), on('pointerup'), t.chosen.textContent), FIRST],
		[wheel(5000, -1), [1000, 9000]],
		[wheel(5000, 1), [0, 10000]],
		[wheel(2000, -1), [400, 8400]],
		[(t.show(4000, 6000), wheel(5000, 1)), [3750, 6250]],
		[(t.show(4000, 6000), wheel(5000, 0.5)), [3750, 6250]],
		[(document.activeElement.blur(), t.show(4000, 6000), wheel(5000, 1, false)), [4000, 6000]],
		[(t.svg.focus(), wheel(5000, 1, false)), [3750, 6250]],
		[[2.9, 3.1].map(by => (t.open(0), drag(by / placeOf(t, 0).scale, () => all('.slice', t.svg)[0]), t.selected)), [0, -1]], /* pixels */
		[(t.show(2500, 7500), drag(-100)), [3000, 8000]],
		[(t.show(2500, 7500), drag(100)), [2000, 7000]],
		[['zoom in', 'zoom out', 'later', 'earlier', 'show all'].map(title => (all(`button[title="${title}"]`).pop().click(), t.range())),
			[[3250, 5750], [2000, 7000], [3250, 8250], [2000, 7000], [0, 10000]]],
	];
};

/* --- where things stand */

checks.places = () => {
	const width = (showTip(['a', 'b'], {clientX: 100, clientY: 200}), tip.offsetWidth), height = tip.offsetHeight;
	const at = (x, y) => (showTip(['a', 'b'], {clientX: x, clientY: y}), [parseFloat(tip.style.left), parseFloat(tip.style.top)]);
	const boxes = all('figure > svg, .timeline').map(svg => [svg.getBoundingClientRect(), all('text', svg).map(text => text.getBoundingClientRect())]);
	const outside = boxes.flatMap(([frame, inner]) => inner.filter(box => box.left < frame.left - 1 || box.right > frame.right + 1 ||
		box.top < frame.top - 1 || box.bottom > frame.bottom + 1));
	const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3;
	const upon = boxes.flatMap(([, inner]) => inner.filter((box, i) => inner.some((other, k) => k > i && meet(box, other))));

	return [
		[at(100, 200), [114, 214]],
		[at(5000, 5000).map((place, i) => [window.innerWidth, window.innerHeight][i] - [width, height][i] - place), [8, 8]],
		[all('.legend svg').filter(key => key.firstChild.getBBox().width > 18 || key.firstChild.getBBox().x < 0 || key.firstChild.getBBox().y < 0 ||
			key.firstChild.getBBox().x + key.firstChild.getBBox().width > 18 || key.firstChild.getBBox().y + key.firstChild.getBBox().height > 10).length, 0],
		[at(-50, -50), [4, 4]],
		[outside.length, 0],
		[upon.length, 0],
	];
};
