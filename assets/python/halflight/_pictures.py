"""Small pictures for notebooks, as SVG: no script, and no package is needed.

Ink is `currentColor`, so they are as dark or as light as the page around them.
"""

from __future__ import annotations

import html
import math
from typing import NamedTuple, Optional, Sequence

__all__ = ["Bar", "Curve", "bars", "curves"]

_WIDTH, _NAMES, _NUMBERS, _ROW = 660, 190, 130, 24
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")


class Bar(NamedTuple):
    name: str
    value: float
    #: Half the length of its whisker.
    deviation: float = 0.0


class Curve(NamedTuple):
    name: str
    #: One for each place on the axis; None where there is none.
    values: Sequence[Optional[float]]


def bars(title: str, rows: Sequence[Bar]) -> str:
    """A bar with a whisker for each row, from 0 to the largest."""
    most = max((row.value + row.deviation for row in rows), default=0.0)
    scale = (_WIDTH - _NAMES - _NUMBERS) / most if most > 0 else 0.0
    drawn = []
    for at, row in enumerate(rows):
        top = 28 + at * _ROW
        end, reach = _NAMES + scale * row.value, scale * row.deviation
        middle = top + 7
        drawn.append(_text(_NAMES - 8, top + 11, row.name, "end"))
        drawn.append(
            f'<rect x="{_NAMES}" y="{top}" width="{max(end - _NAMES, 0):.1f}" height="14" '
            f'fill="{_COLOURS[0]}" fill-opacity="0.7"/>'
        )
        drawn.append(_line(max(end - reach, _NAMES), middle, end + reach, middle))
        number = f"{row.value:.4f}" + (f" ± {row.deviation:.4f}" if row.deviation else "")
        drawn.append(_text(end + reach + 6, top + 11, number))
    return _picture(title, 28 + len(rows) * _ROW, drawn)


def curves(title: str, places: Sequence[float], rows: Sequence[Curve], line_at: float) -> str:
    """A curve for each row over places on a logarithmic axis, and a dashed line at a height."""
    known = [value for row in rows for value in row.values if value is not None]
    low, high = min([line_at, *known]), max([line_at, *known])
    pad = 0.05 * (high - low) or 0.1
    low, high = low - pad, high + pad
    left, right, top, bottom = 50, _WIDTH - 250, 30, 250
    first, last = math.log(min(places)), math.log(max(places))

    def x(place: float) -> float:
        share = (math.log(place) - first) / (last - first) if last > first else 0.5
        return left + 10 + share * (right - left - 20)

    def y(value: float) -> float:
        return bottom - (value - low) / (high - low) * (bottom - top)

    drawn = [_line(left, top, left, bottom), _line(left, bottom, right, bottom)]
    drawn += [_text(x(place), bottom + 16, f"{place:g}", "middle") for place in places]
    drawn += [_text(left - 6, y(value) + 4, f"{value:.2f}", "end") for value in (low, high)]
    drawn.append(_line(left, y(line_at), right, y(line_at), ' stroke-dasharray="4 3"'))
    for at, row in enumerate(rows):
        colour = _COLOURS[at % len(_COLOURS)]
        points = [(x(p), y(v)) for p, v in zip(places, row.values) if v is not None]
        path = " ".join(f"{across:.1f},{down:.1f}" for across, down in points)
        dash = ' stroke-dasharray="6 3"' if at >= len(_COLOURS) else ""
        drawn.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>'
        )
        drawn += [
            f'<circle cx="{across:.1f}" cy="{down:.1f}" r="3" fill="{colour}"/>'
            for across, down in points
        ]
        key = top + 6 + at * 18
        drawn.append(
            f'<line x1="{right + 12}" y1="{key}" x2="{right + 32}" y2="{key}" stroke="{colour}" '
            f'stroke-width="2"{dash}/>'
        )
        drawn.append(_text(right + 38, key + 4, row.name))
    return _picture(title, max(bottom + 24, top + 18 * len(rows) + 6), drawn)


def _text(x: float, y: float, words: str, anchor: str = "start") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(words)}</text>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, more: str = "") -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        f'stroke="currentColor"{more}/>'
    )


def _picture(title: str, height: float, drawn: Sequence[str]) -> str:
    words = html.escape(title)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:.0f}" '
        f'width="{_WIDTH}" role="img" aria-label="{words}" font-family="sans-serif" '
        f'font-size="12" fill="currentColor">{_text(0, 14, title)}{"".join(drawn)}</svg>'
    )
