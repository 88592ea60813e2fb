# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""Plots as plain SVG, readable on light and dark."""

import html
import math

WIDTH = 720
COLOURS = ["#d9480f", "#1971c2", "#2f9e44", "#9c36b5", "#e67700", "#495057", "#0b7285"]
STYLE = (
    "<style>text{font:13px system-ui,sans-serif;fill:#212529}.title{font-weight:600;font-size:15px}"
    ".grid{stroke:#dee2e6}.small{font-size:11px;fill:#495057}</style>")


def text(x, y, words, kind="", anchor="start"):
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(words)}</text>'


def page(height, parts):
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}">{STYLE}'
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>' + "\n".join(parts) + "</svg>\n")


def decades(values):
    """The whole powers of ten around the values."""
    return math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)) + 1e-9)


def tick(exponent):
    return f"{10 ** exponent:g}" if exponent < 5 else f"10^{exponent}"


def bars(title, unit, rows):
    """Horizontal bars on a logarithmic scale; `rows` are (label, value)."""
    low, high = decades([value for _, value in rows])
    low = low if low < high else high - 1
    left, right, step = 250, 90, 26
    place = lambda value: left + (WIDTH - left - right) * (math.log10(value) - low) / (high - low)
    height = 60 + step * len(rows) + 24
    parts = [text(12, 24, title, "title"), text(12, 42, f"{unit}, logarithmic", "small")]
    for exponent in range(low, high + 1):
        x = place(10.0 ** exponent)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="52" y2="{height - 22}"/>')
        parts.append(text(x, height - 6, tick(exponent), "small", "middle"))
    for index, (label, value) in enumerate(rows):
        y = 58 + step * index
        colour = COLOURS[0] if label.startswith("timerd") else COLOURS[1]
        parts.append(text(left - 8, y + 14, label, anchor="end"))
        parts.append(
            f'<rect x="{left}" y="{y}" width="{max(2, place(value) - left):.1f}" height="18" '
            f'fill="{colour}"/>')
        parts.append(text(max(left + 2, place(value)) + 6, y + 14, f"{value:.3g}"))
    return page(height, parts)


def lines(title, x_unit, y_unit, series):
    """Lines on two logarithmic scales; `series` are (label, [(x, y)])."""
    xs = [x for _, points in series for x, _ in points]
    ys = [y for _, points in series for _, y in points]
    (x_low, x_high), (y_low, y_high) = decades(xs), decades(ys)
    left, top, right, bottom, height = 60, 56, 220, 44, 380
    at_x = lambda x: left + (WIDTH - left - right) * (math.log10(x) - x_low) / max(1, x_high - x_low)
    at_y = lambda y: height - bottom - (height - top - bottom) * (math.log10(y) - y_low) / max(1, y_high - y_low)
    parts = [text(12, 24, title, "title"), text(12, 42, y_unit, "small")]
    for exponent in range(x_low, x_high + 1):
        x = at_x(10.0 ** exponent)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{height - bottom}"/>')
        parts.append(text(x, height - bottom + 16, tick(exponent), "small", "middle"))
    for exponent in range(y_low, y_high + 1):
        y = at_y(10.0 ** exponent)
        parts.append(f'<line class="grid" x1="{left}" x2="{WIDTH - right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(text(left - 6, y + 4, tick(exponent), "small", "end"))
    parts.append(text((left + WIDTH - right) / 2, height - 8, x_unit, "small", "middle"))
    last_y = -math.inf
    for index, (label, points) in enumerate(sorted(series, key=lambda row: -row[1][-1][1])):
        colour = COLOURS[0] if label == "timerd" else COLOURS[1 + index % (len(COLOURS) - 1)]
        path = " ".join(f"{at_x(x):.1f},{at_y(y):.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{at_x(x):.1f}" cy="{at_y(y):.1f}" r="3" fill="{colour}"/>' for x, y in points]
        last_y = max(at_y(points[-1][1]) + 4, last_y + 16)
        parts.append(
            f'<text x="{at_x(points[-1][0]) + 10:.1f}" y="{last_y:.1f}" style="fill:{colour}">'
            f"{html.escape(label)}</text>")
    return page(height, parts)
