/*
 * What figures and tables ask for, from the JSON document in the page.
 */
const COLOURS = 10; /* of kernels, beside that of all others */
const CASES = ['alone', 'together', 'in the last wave', 'one after the other'];
const MESSAGE_COUNT = message => message.count > 1 ? ` (${showCount(message.count)} times)` : '';

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
		return kernel < 0 ? device : shortName(this.names[kernel]);
	}

	/* The class of a kernel's colour: those that took most time have one of their own. */
	colourOf(kernel) {
		return kernel >= 0 && kernel < COLOURS ? `k${kernel}` : 'others';
	}

	streamOf(stream) {
		return this.streams.get(stream) || (stream ? `stream row ${stream}` : 'stream not known');
	}
}
