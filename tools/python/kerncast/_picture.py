"""A run as a picture in a notebook: no script, no address, and every text escaped, as names of kernels may be anything."""
import html
import math

POINTS = 2000  # drawn at most, evenly chosen
SIDE, EDGE, WITHIN = 320, 44, 0.2  # pixels; |predicted / measured - 1| of the two lines
COLOURS = {"first_seen": "#c44", "new_size": "#c90", "repeated": "#27c"}
WORDS = {"first_seen": "first seen", "new_size": "new size", "repeated": "repeated"}
UNITS = ((1, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s"))


def escape(text):
    """For an element's text: signs that mean something to HTML, and control characters and marks of direction, which
    could make it read as another text."""
    shown = "".join(sign if sign.isprintable() else f"\\u{ord(sign):04x}" for sign in str(text))
    return html.escape(shown, quote=True)


def sentence(text):
    return f"<p>{escape(text)}</p>"


def _is_duration(value):
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _pairs(points):
    """(predicted, measured, novelty) of launches that have both, in nanoseconds."""
    return [(p, m, n) for p, m, n in zip(points["predicted"], points["measured"], points["novelty"])
            if _is_duration(p) and _is_duration(m)]


def _label(ns):
    size, unit = max((u for u in UNITS if ns >= u[0]), default=UNITS[0])
    return f"{ns / size:g} {unit}"


class _Scale:
    """Logarithmic, whole decades."""

    def __init__(self, pairs):
        both = [value for pair in pairs for value in pair[:2]]
        self.low = math.floor(math.log10(min(both)))
        self.high = max(math.ceil(math.log10(max(both))), self.low + 1)

    def at(self, ns):
        share = (math.log10(ns) - self.low) / (self.high - self.low)
        return min(max(share, 0.0), 1.0) * SIDE

    def decades(self):
        return [10.0 ** power for power in range(self.low, self.high + 1)]


def _line(x1, y1, x2, y2, style):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {style}/>'


def _ratio(scale, ratio):
    """The line on which predicted = ratio * measured, cut to the frame."""
    low, high = 10.0 ** scale.low, 10.0 ** scale.high
    first, last = max(low, low / ratio), min(high, high / ratio)
    dash = "" if ratio == 1 else ' stroke-dasharray="4 3"'
    return _line(scale.at(first), SIDE - scale.at(first * ratio), scale.at(last), SIDE - scale.at(last * ratio),
                 f'stroke="#888"{dash}')


def _drawing(pairs):
    scale = _Scale(pairs)
    parts = [f'<rect width="{SIDE}" height="{SIDE}" fill="none" stroke="#888"/>']
    for decade in scale.decades():
        at = scale.at(decade)
        parts += [_line(at, 0, at, SIDE, 'stroke="#888" stroke-opacity="0.25"'),
                  _line(0, SIDE - at, SIDE, SIDE - at, 'stroke="#888" stroke-opacity="0.25"'),
                  f'<text x="{at:.1f}" y="{SIDE + 13}" text-anchor="middle">{_label(decade)}</text>',
                  f'<text x="-4" y="{SIDE - at + 4:.1f}" text-anchor="end">{_label(decade)}</text>']
    parts += [_ratio(scale, ratio) for ratio in (1 - WITHIN, 1, 1 + WITHIN)]
    for predicted, measured, novelty in pairs:
        parts.append(f'<circle cx="{scale.at(measured):.1f}" cy="{SIDE - scale.at(predicted):.1f}" r="2" '
                     f'fill="{COLOURS.get(novelty, "#777")}" fill-opacity="0.6"/>')
    for i, (novelty, colour) in enumerate(COLOURS.items()):
        parts.append(f'<text x="8" y="{16 + 14 * i}" fill="{colour}">{WORDS[novelty]}</text>')
    parts.append(f'<text x="{SIDE / 2}" y="{SIDE + 30}" text-anchor="middle">measured</text>')
    parts.append(f'<text transform="translate(-{EDGE + 2} {SIDE / 2}) rotate(-90)" text-anchor="middle">predicted</text>')
    return "".join(parts)


def page(run, about, launches, points):
    """About a run: its command line, how many launches, and each one's predicted against its measured duration."""
    pairs = _pairs(points)
    command = about["command_line"][0] if about["command_line"] else ""
    simulated = bool(about["simulated"] and about["simulated"][0])
    title = f"run {escape(run)}: {escape(command)}" if run is not None else "nothing was recorded"
    said = f"{escape(launches or 0)} launches, {len(pairs)} of them shown: predicted and measured"
    if simulated:
        said = "SIMULATED: these times come from a stand-in device, not from a GPU. " + said
    if not pairs:
        return f"<p><b>{title}</b><br>{said}</p>"
    margin = EDGE + 24
    return (f"<p><b>{title}</b><br>{said}</p>"
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{SIDE + 2 * margin}" height="{SIDE + margin}" role="img" '
            f'aria-label="predicted against measured durations" font-family="sans-serif" font-size="10" fill="#777">'
            f'<g transform="translate({margin} 10)">{_drawing(pairs)}</g></svg>')
