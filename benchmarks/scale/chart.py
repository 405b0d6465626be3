"""Draws panels of bars side by side as one SVG, for the pages of the documentation.

It follows the reader's light or dark mode, and says in words what it shows.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from benchmarks.harness import shown

# All lengths are in pixels of a chart that is shown in full width.
WIDTH = 960
_MARGIN, _GAP = 24, 36
# Where bars begin and how high they may be, below the title and the legend of their panel.
_BASE, _TALLEST = 258, 150
# Below them: the first line of the footer, how far its lines are apart, and what fits into one.
_FOOTER, _FOOTER_LINE, _FOOTER_CHARS = 312, 18, 125
_BAR_MAX = 34
_ROUNDED = 2
# Room above the tallest bar for its value.
_HEADROOM = 1.08
# Fills and strokes by class, light and dark. No variables: some programs that show SVG lack them.
_COLOURS = {
    ".ground": ("fill: #ffffff; stroke: #d0d7de", "fill: #0d1117; stroke: #3d444d"),
    ".line": ("stroke: #8c959f", "stroke: #656c76"),
    ".aim": ("stroke: #1f2328", "stroke: #f0f6fc"),
    "text": ("fill: #1f2328", "fill: #f0f6fc"),
    ".muted": ("fill: #57606a", "fill: #9da7b3"),
    ".first": ("fill: #0a58ca", "fill: #6cb0ff"),
    ".second": ("fill: #c2620a", "fill: #f0a35e"),
    ".value": ("stroke: #ffffff", "stroke: #0d1117"),
}
_FONTS = """
text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif }
.title { font-size: 15px; font-weight: 600 }
.value { font-size: 12px; text-anchor: middle; paint-order: stroke; stroke-width: 3px }
.group { text-anchor: middle }
.aim { stroke-dasharray: 5 4 }
""".strip()
_CLASSES = ("first", "second")


@dataclass(frozen=True, slots=True)
class Panel:
    """Bars in groups, one of each series in each group.

    series: the name of at most two series, each with a value for every group, None where nothing
    was measured. aim: the value that was wanted, drawn as a line; aim_name says so in words.
    """

    title: str
    groups: Sequence[str]
    series: dict[str, Sequence[float | None]]
    aim: float | None = None
    aim_name: str = ""

    def in_words(self) -> str:
        """What the panel shows, as a sentence."""
        parts = []
        for index, group in enumerate(self.groups):
            values = [
                f"{name} {shown(row[index])}"
                for name, row in self.series.items()
                if row[index] is not None
            ]
            parts.append(f"{group}: {', '.join(values) or 'not measured'}")
        aim = f"; {self.aim_name}" if self.aim_name else ""
        return f"{self.title}. {'; '.join(parts)}{aim}."


def svg(title: str, panels: Sequence[Panel], footer: str) -> str:
    """The chart. The same panels give the same text."""
    words = " ".join(panel.in_words() for panel in panels)
    width = (WIDTH - 2 * _MARGIN - _GAP * (len(panels) - 1)) / len(panels)
    drawn = [
        line
        for index, panel in enumerate(panels)
        for line in _panel(panel, _MARGIN + index * (width + _GAP), width)
    ]
    feet = textwrap.wrap(footer, _FOOTER_CHARS)
    height = _FOOTER + _FOOTER_LINE * len(feet)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" role="img" aria-labelledby="title desc">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="desc">{escape(f"{words} {footer}")}</desc>',
        f"<style>\n{_FONTS}\n{_colours(0)}",
        f"@media (prefers-color-scheme: dark) {{\n{_colours(1)}\n}}\n</style>",
        f'<rect class="ground" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="6"/>',
        *drawn,
        *(_text(_MARGIN, _FOOTER + _FOOTER_LINE * n, foot, "muted") for n, foot in enumerate(feet)),
        "</svg>", "",
    ])  # fmt: skip


def _colours(mode: int) -> str:
    return "\n".join(f"{name} {{ {rules[mode]} }}" for name, rules in _COLOURS.items())


def _panel(panel: Panel, left: float, width: float) -> list[str]:
    values = [value or 0 for row in panel.series.values() for value in row]
    top = _HEADROOM * (max(*values, panel.aim or 0) or 1)
    group_width = width / len(panel.groups)
    bar = min(_BAR_MAX, group_width * 0.8 / len(panel.series))
    lines = [_text(left, 36, panel.title, "title"), *_legend(panel, left)]
    values_above = []  # drawn last, so that no line crosses them
    for index, group in enumerate(panel.groups):
        middle = left + (index + 0.5) * group_width
        lines.append(_text(middle, _BASE + 20, group, "group"))
        for place, row in enumerate(panel.series.values()):
            x = middle + (place - len(panel.series) / 2) * bar
            value = row[index]
            height = _height(value or 0, top)
            if value is not None:
                lines.append(
                    f'<rect class="{_CLASSES[place]}" x="{_n(x + 1)}" y="{_n(_BASE - height)}" '
                    f'width="{_n(bar - 2)}" height="{_n(height)}" rx="{_ROUNDED}"/>'
                )
            values_above.append(_text(x + bar / 2, _BASE - height - 5, shown(value), "value"))
    lines.append(_line(left, _BASE, width, "line"))
    if panel.aim is not None:
        lines.append(_line(left, _BASE - _height(panel.aim, top), width, "aim"))
    return lines + values_above


def _legend(panel: Panel, left: float) -> list[str]:
    """The series by their colours in a row, and the aim below them."""
    lines, x = [], left
    for name, shade in zip(panel.series, _CLASSES, strict=False):
        lines.append(f'<rect class="{shade}" x="{_n(x)}" y="50" width="10" height="10"/>')
        lines.append(_text(x + 16, 60, name))
        x += 16 + 7.2 * len(name) + 14
    if panel.aim is not None:
        lines.append(_line(left, 76, 24, "aim"))
        lines.append(_text(left + 30, 80, panel.aim_name, "muted"))
    return lines


def _height(value: float, top: float) -> float:
    return _TALLEST * value / top


def _line(x: float, y: float, width: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{_n(x)}" y1="{_n(y)}" x2="{_n(x + width)}" y2="{_n(y)}"/>'


def _text(x: float, y: float, words: str, kind: str = "") -> str:
    shade = f' class="{kind}"' if kind else ""
    return f'<text{shade} x="{_n(x)}" y="{_n(y)}">{escape(words)}</text>'


def _n(length: float) -> str:
    """A length with a tenth of a pixel, so that the file stays small and the same everywhere."""
    assert math.isfinite(length), length
    return f"{length:.1f}".removesuffix(".0")
