"""The course's static figures: arrays in, Figure out; nothing is computed here.

Every figure of weights is drawn from 0 to 1 on one scale, queries on rows and keys on columns.
The colours are those of ``static/palette.css``, which the pages and the live figures read too.
"""

import re
from functools import cache
from io import BytesIO
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure as MatplotlibFigure
from matplotlib.patches import FancyArrowPatch, Rectangle

PALETTE = Path(__file__).parent / "static" / "palette.css"
# Drawn at twice the size that a page shows, for screens with two dots a pixel.
STYLE = {
    "figure.dpi": 200,
    "figure.constrained_layout.use": True,
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "legend.frameon": False,
    "savefig.facecolor": "white",
}


class Figure(MatplotlibFigure):
    """A figure that shows itself as the result of a cell, without pyplot and its global state."""

    def _repr_png_(self):
        picture = BytesIO()
        self.savefig(picture, format="png")
        width, height = (self.get_size_inches() * self.dpi / 2).round().astype(int)
        return picture.getvalue(), {"width": int(width), "height": int(height)}


@cache
def colours() -> dict[str, str]:
    """Return the light theme's colours by name: ``query``, ``head-1``, ``weight-0``, ..."""
    first_block = PALETTE.read_text(encoding="utf-8").split("}")[0]
    return dict(re.findall(r"--mha-([\w-]+):\s*(#[0-9a-f]{6})", first_block))


def weight_maps(
    weights, queries, keys=None, *, mask=None, names=None, row_sums=False, digits=2, across=4
) -> Figure:
    """Draw one map of weights, or a grid with one map per head.

    Parameters
    ----------
    weights : (T, S) or (num_heads, T, S)
        From 0 to 1.
    queries, keys : list of str
        Labels of rows and columns; `keys` are the `queries` unless given.
    mask : boolean, broadcastable to `weights`, optional
        True = may attend. What is hidden is drawn hatched, without a number.
    names : list of str, optional
        One above each map; ``head 1``, ``head 2``, ... for several maps unless given.
    row_sums : bool
        Write the sum of each row on its right.
    digits : int
        Decimals of the numbers in the cells.
    across : int
        Maps side by side before a new line starts.

    Returns
    -------
    Figure
    """
    maps = np.asarray(weights, dtype=float)
    maps = maps[None] if maps.ndim == 2 else maps
    keys = queries if keys is None else keys
    if names is None:
        names = [f"head {i + 1}" for i in range(len(maps))] if len(maps) > 1 else [None]
    allowed = np.broadcast_to(True if mask is None else mask, maps.shape)
    across = min(across, len(maps))
    down = -(-len(maps) // across)
    cell = 0.52
    size = (across * (cell * len(keys) + 1.1), down * (cell * len(queries) + 0.9))
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=size)
        axes = figure.subplots(down, across, squeeze=False)
        for panel in axes.flat[len(maps) :]:
            panel.set_axis_off()
        for n, (panel, one, seen) in enumerate(zip(axes.flat, maps, allowed, strict=False)):
            _weight_map(panel, one, seen, digits)
            _label(panel, queries, keys, ylabel=n % across == 0)
            if names[n]:
                panel.set_title(names[n], fontsize=9)
            if row_sums:
                _row_sums(panel, one)
    return figure


def masked_softmax(scores, weights, tokens) -> Figure:
    """Draw masked scores, and beside them the weights that the softmax makes of them.

    Parameters
    ----------
    scores : (T, T)
        A hidden score is -inf; it is drawn hatched.
    weights : (T, T)
        From 0 to 1.
    tokens : list of str

    Returns
    -------
    Figure
    """
    scores, weights = np.asarray(scores, dtype=float), np.asarray(weights, dtype=float)
    seen = ~np.isneginf(scores)
    T = len(tokens)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(0.84 * T + 1.4, 0.42 * T + 0.9))
        left, right = figure.subplots(1, 2)
        left.imshow(np.zeros((T, T)), cmap="Greys", vmin=0, vmax=1)
        _hatch(left, seen)
        for (t, s), score in np.ndenumerate(scores):
            text = f"{score:.2f}" if seen[t, s] else "−∞"
            left.text(s, t, text, ha="center", va="center", fontsize=8)
        _weight_map(right, weights, seen, digits=2)
        _row_sums(right, weights)
        for panel, title in ((left, "scores"), (right, "weights")):
            _label(panel, tokens, tokens, ylabel=panel is left)
            panel.set_title(title, fontsize=9)
        right.set_yticks([])
    return figure


def one_query(query, keys, weights, values, output) -> Figure:
    """Draw how one query reads: a line to each key, as wide as its weight, and what comes out.

    Parameters
    ----------
    query : str
    keys : list of str, length S
    weights : (S,)
    values : (S, d_v)
    output : (d_v,)

    Returns
    -------
    Figure
    """
    c = colours()
    S = len(keys)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(5.4, 0.62 * S + 0.7))
        panel = figure.subplots()
        panel.set_xlim(-0.05, 5.4)
        panel.set_ylim(S - 0.4, -1.1)
        panel.set_axis_off()
        middle = (S - 1) / 2
        for x, text, colour in (
            (0.35, "query (reads)", c["query"]),
            (2.35, "key (is read)", c["key"]),
            (3.55, "value", c["value"]),
            (4.85, "output", c["output"]),
        ):
            panel.text(x, -0.85, text, ha="center", color=colour, fontsize=9)
        panel.text(0.35, middle, query, ha="center", va="center", color=c["query"], weight="bold")
        for s, (key, weight, value) in enumerate(zip(keys, weights, values, strict=True)):
            line = FancyArrowPatch(
                (0.75, middle),
                (2.0, s),
                connectionstyle="arc3,rad=0",
                arrowstyle="-",
                linewidth=0.4 + 9 * weight,
                color=c["query"],
                alpha=0.25 + 0.6 * weight,
            )
            panel.add_patch(line)
            panel.text(1.5, middle + (s - middle) * 0.62, f"{weight:.3f}", ha="center",
                       va="center", fontsize=8, bbox={"facecolor": "white", "edgecolor": "none",
                                                      "pad": 1})  # fmt: skip
            panel.text(2.35, s, key, ha="center", va="center", color=c["key"])
            panel.text(3.55, s, _numbers(value), ha="center", va="center", color=c["value"])
        panel.annotate(
            "", (4.45, middle), (4.1, middle), arrowprops={"arrowstyle": "->", "color": "0.3"}
        )
        panel.text(4.85, middle, _numbers(output), ha="center", va="center", color=c["output"],
                   weight="bold")  # fmt: skip
    return figure


def features_by_head(stages, heads_of, titles) -> Figure:
    """Draw integer matrices whose cells wear the colour of the head that owns them.

    Parameters
    ----------
    stages : list of (T, d) or (num_heads, T, d_k) integer arrays
    heads_of : list of integer arrays of the same shapes
        The head that owns each entry, counted from 0.
    titles : list of str

    Returns
    -------
    Figure
    """
    stages = [np.asarray(s) if np.ndim(s) == 3 else np.asarray(s)[None] for s in stages]
    owners = [np.asarray(o).reshape(s.shape) for o, s in zip(heads_of, stages, strict=True)]
    widths = [sum(block.shape[1] for block in s) + 0.6 * (len(s) - 1) for s in stages]
    tallest = max(s.shape[1] for s in stages)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(0.36 * max(widths) + 0.3, len(stages) * (0.36 * tallest + 0.75)))
        axes = figure.subplots(len(stages), squeeze=False)[:, 0]
        for panel, stage, owner, title in zip(axes, stages, owners, titles, strict=True):
            panel.set_xlim(-0.1, max(widths) + 0.1)
            panel.set_ylim(tallest + 0.1, -1.5)
            panel.set_aspect("equal")
            panel.set_axis_off()
            panel.text(0, -1.1 if len(stage) > 1 else -0.25, title, fontsize=8.5, weight="bold")
            left = 0.0
            for i, (block, block_owner) in enumerate(zip(stage, owner, strict=True)):
                if len(stage) > 1:
                    panel.text(left, -0.25, f"head {i + 1}", fontsize=8)
                for (t, d), number in np.ndenumerate(block):
                    colour = colours()[f"head-{block_owner[t, d] + 1}"]
                    panel.add_patch(
                        Rectangle((left + d, t), 1, 1, facecolor=colour, edgecolor="white")
                    )
                    panel.text(left + d + 0.5, t + 0.5, number, ha="center", va="center",
                               color="white", fontsize=8)  # fmt: skip
                left += block.shape[1] + 0.6
    return figure


def curves(x, lines, *, xlabel, ylabel, log_x=False, markers=True) -> Figure:
    """Draw lines over a common axis, each labelled at its end.

    Parameters
    ----------
    x : (n,)
    lines : dict of str to (n,)
        Drawn in the colours of head 1, head 2, ... and told apart by dash and marker too.
    xlabel, ylabel : str
    log_x : bool
        A logarithmic axis, base 2.
    markers : bool
        Mark the measured points.

    Returns
    -------
    Figure
    """
    looks = [("-", "o"), ("--", "s"), (":", "^"), ("-.", "D")]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(4.6, 2.6))
        panel = figure.subplots()
        for i, (name, y) in enumerate(lines.items()):
            dash, marker = looks[i % len(looks)]
            colour = colours()[f"head-{i + 1}"]
            panel.plot(x, y, dash, marker=marker if markers else "", markersize=4, color=colour,
                       label=name)  # fmt: skip
        if log_x:
            panel.set_xscale("log", base=2)
            panel.set_xticks(x, [str(n) for n in x])
        panel.set_xlabel(xlabel)
        panel.set_ylabel(ylabel)
        panel.legend()
    return figure


def contributions(parts, total, *, features=None) -> Figure:
    """Draw the contribution of each head to each feature of a result, stacked to the total.

    Parameters
    ----------
    parts : (num_heads, d_model)
    total : (d_model,)
        Marked with a black line across each stack.
    features : list of str, optional

    Returns
    -------
    Figure
    """
    parts, total = np.asarray(parts), np.asarray(total)
    positions = np.arange(parts.shape[1])
    hatches = ["", "///", "...", "xx", "\\\\\\", "++", "oo", "--"]
    with matplotlib.rc_context(STYLE | {"hatch.color": "white", "hatch.linewidth": 0.7}):
        figure = Figure(figsize=(0.55 * parts.shape[1] + 2.2, 2.4))
        panel = figure.subplots()
        up, down = np.zeros(parts.shape[1]), np.zeros(parts.shape[1])
        for i, part in enumerate(parts):
            base = np.where(part >= 0, up, down)
            panel.bar(positions, part, 0.7, base, color=colours()[f"head-{i + 1}"],
                      hatch=hatches[i % 8], label=f"head {i + 1}")  # fmt: skip
            up, down = up + np.maximum(part, 0), down + np.minimum(part, 0)
        panel.hlines(total, positions - 0.42, positions + 0.42, color="black", label="result")
        panel.axhline(0, color="0.4", linewidth=0.6)
        panel.set_xticks(positions, features or [str(j) for j in positions])
        panel.set_xlabel("feature of the result")
        figure.legend(loc="outside right center")
    return figure


def strips_and_maps(head_counts, *, d_model=8, positions=4, across=4) -> Figure:
    """Draw for each number of heads its queries, cut into strips, and its maps of weights.

    Parameters
    ----------
    head_counts : list of int
        Divisors of `d_model`, 8 at most.
    d_model, positions : int
        Cells in a line of queries, and rows of it.
    across : int
        Maps side by side before a new line starts.

    Returns
    -------
    Figure
    """
    gap = 0.5
    start = d_model + (max(head_counts) + 1) * gap  # where the maps begin
    right = start + min(across, max(head_counts)) * (positions + gap)
    lines = [-(-num_heads // across) for num_heads in head_counts]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(0.13 * right, 0.13 * ((positions + gap) * sum(lines) + 6)))
        axes = figure.subplots(len(lines), squeeze=False, height_ratios=[n + 0.5 for n in lines])
        for panel, num_heads, down in zip(axes[:, 0], head_counts, lines, strict=True):
            panel.set_xlim(-0.1, right)
            panel.set_ylim(down * (positions + gap), -2)
            panel.set_aspect("equal")
            panel.set_axis_off()
            name = f"{num_heads} heads" if num_heads > 1 else "1 head"
            panel.text(0, -0.6, f"queries: {positions * d_model} numbers", fontsize=8)
            panel.text(start, -0.6, f"weights of {name}: {num_heads * positions**2}", fontsize=8)
            d_k = d_model // num_heads
            for i in range(num_heads):
                strip = (i * (d_k + gap), 0, d_k)
                row, column = divmod(i, across)
                map_ = (start + column * (positions + gap), row * (positions + gap), positions)
                for left, top, width in (strip, map_):
                    for t, s in np.ndindex(positions, width):
                        cell = Rectangle(
                            (left + s, top + t), 1, 1, edgecolor="white", linewidth=0.5
                        )
                        cell.set_facecolor(colours()[f"head-{i + 1}"])
                        panel.add_patch(cell)
    return figure


def ratios(names, series, *, xlabel) -> Figure:
    """Draw horizontal bars that are compared with 1, a group for each name.

    Parameters
    ----------
    names : list of str, length n
    series : dict of str to (n,)
        One bar of each group, told apart by colour and hatch. Its number stands at its end.
    xlabel : str

    Returns
    -------
    Figure
    """
    hatches = ["", "///", "..."]
    places, thick = np.arange(len(names)), 0.8 / len(series)
    with matplotlib.rc_context(STYLE | {"hatch.color": "white", "hatch.linewidth": 0.7}):
        figure = Figure(figsize=(4.6, 0.2 * len(names) * (len(series) + 0.6) + 0.9))
        panel = figure.subplots()
        for i, (name, values) in enumerate(series.items()):
            at = places + (i - (len(series) - 1) / 2) * thick
            panel.barh(at, values, thick, color=colours()[f"head-{i + 1}"], hatch=hatches[i],
                       label=name)  # fmt: skip
            for y, value in zip(at, values, strict=True):
                label = panel.text(value, y, f" {value:.3g}", va="center", fontsize=7.5)
                label.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.5})
        panel.axvline(1, color="black", linewidth=0.8, linestyle="--", zorder=0)
        panel.set_yticks(places, names)
        panel.invert_yaxis()
        panel.tick_params(axis="y", length=0)
        panel.set_xlabel(xlabel)
        figure.legend(loc="outside upper right", ncols=len(series))
    return figure


def _weight_map(panel, weights, seen, digits):
    ends = [colours()["weight-0"], colours()["weight-1"]]
    panel.imshow(weights, cmap=LinearSegmentedColormap.from_list("weight", ends), vmin=0, vmax=1)
    _hatch(panel, seen)
    for (t, s), weight in np.ndenumerate(weights):
        if seen[t, s]:
            ink = "white" if weight > 0.5 else "black"
            panel.text(
                s, t, f"{weight:.{digits}f}", ha="center", va="center", color=ink, fontsize=8
            )


def _hatch(panel, seen):
    for t, s in np.argwhere(~seen):
        panel.add_patch(
            Rectangle((s - 0.5, t - 0.5), 1, 1, facecolor="0.94", edgecolor="0.8", hatch="////",
                      linewidth=0)
        )  # fmt: skip


def _label(panel, queries, keys, *, ylabel):
    slant = 40 if len("".join(keys)) > 5 * len(keys) else 0
    panel.set_xticks(range(len(keys)), keys, rotation=slant)
    panel.set_yticks(range(len(queries)), queries)
    panel.tick_params(length=0)
    panel.spines[:].set_visible(False)
    panel.set_xlabel("key (is read)", color=colours()["key"])
    if ylabel:
        panel.set_ylabel("query (reads)", color=colours()["query"])


def _row_sums(panel, weights):
    for t, total in enumerate(weights.sum(axis=-1)):
        panel.text(weights.shape[-1] - 0.35, t, f"sum {total:.2f}", va="center", fontsize=7.5)


def _numbers(vector):
    return "(" + ", ".join(f"{x:.4g}" for x in np.round(vector, 3)) + ")"
