/* What drawn.js checks of the page's colours. */
/* Colours of kernels, of the sheet's light and dark scheme: linear RGB, as a reader sees it who lacks one kind of cones (Machado,
 * Oliveira and Fernandes, 2009, severity 1), in CIELAB; and the contrast of WCAG 2 with the back. */
const EYES = [[[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
	[[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
	[[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]]];
const linearOf = hex => [1, 3, 5].map(at => parseInt(hex.slice(at, at + 2), 16) / 255).map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
const times = (rows, vector) => rows.map(row => row.reduce((sum, part, i) => sum + part * vector[i], 0));
const luminanceOf = hex => times([[0.2126, 0.7152, 0.0722]], linearOf(hex))[0];
const contrastOf = (a, b) => (Math.max(luminanceOf(a), luminanceOf(b)) + 0.05) / (Math.min(luminanceOf(a), luminanceOf(b)) + 0.05);

function labOf(linear) {
	const [x, y, z] = times([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]], linear).map((part, i) =>
		part / [0.95047, 1, 1.08883][i]).map(part => part > 0.008856 ? Math.cbrt(part) : 7.787 * part + 16 / 116);

	return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

const seenApart = (a, b) => Math.min(...EYES.map(eye => Math.hypot(...[a, b].map(hex => labOf(times(eye, linearOf(hex)).map(part => Math.min(Math.max(part, 0), 1))))
	.reduce((one, other) => one.map((part, i) => part - other[i])))));

checks.colours = () => {
	const rules = document.styleSheets[0].cssRules, schemes = [rules[0].style, rules[1].cssRules[0].style];

	return [
		/* By their definitions: white and black are at distance 100, with a contrast of 21. */
		[[Math.round(seenApart('#ffffff', '#000000')), Math.round(contrastOf('#ffffff', '#000000'))], [100, 21]],
		...schemes.map(style => {
			const of = name => style.getPropertyValue(name).trim(), kernels = Array.from({length: COLOURS}, (_, i) => of(`--k${i}`)).concat([of('--others')]);
			const pairs = kernels.flatMap((one, i) => kernels.slice(0, i).map(other => seenApart(one, other)));

			return [[pairs.length, Math.min(...pairs) > 17, Math.min(...kernels.map(one => contrastOf(one, of('--back')))) >= 3], [55, true, true]];
		}),
		[[made.report.kernels.length - 1, -1, COLOURS].map(kernel => new Data(made).colourOf(kernel)), ['k7', 'others', 'others']],
	];
};
