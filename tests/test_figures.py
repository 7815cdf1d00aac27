"""Figures show what they are given, on one scale, in colours that everybody can read."""

import re
from itertools import product

import numpy as np
import pytest

from mha_lessons import figures

MAP = np.array([[0.25, 0.75, 0.0], [0.5, 0.25, 0.25]])


def texts(panel):
    return [text.get_text() for text in panel.texts]


def test_weights_are_always_drawn_from_zero_to_one():
    figure = figures.weight_maps(np.stack([MAP, MAP / 2]), ["a", "b"], ["c", "d", "e"])
    assert [panel.images[0].get_clim() for panel in figure.axes] == [(0, 1), (0, 1)]


def test_rows_are_queries_and_columns_are_keys():
    (panel,) = figures.weight_maps(MAP, ["a", "b"], ["c", "d", "e"]).axes
    assert panel.get_ylabel() == "query (reads)"
    assert panel.get_xlabel() == "key (is read)"
    assert [label.get_text() for label in panel.get_yticklabels()] == ["a", "b"]
    assert [label.get_text() for label in panel.get_xticklabels()] == ["c", "d", "e"]
    np.testing.assert_array_equal(panel.images[0].get_array(), MAP)


def test_every_cell_and_every_row_sum_is_written_out():
    (panel,) = figures.weight_maps(MAP, ["a", "b"], list("cde"), row_sums=True).axes
    assert texts(panel) == [
        *("0.25", "0.75", "0.00", "0.50", "0.25", "0.25"),
        *("sum 1.00", "sum 1.00"),
    ]


def test_several_heads_are_a_grid_of_maps_and_never_their_mean():
    figure = figures.weight_maps(np.stack([MAP] * 3), ["a", "b"], list("cde"), across=2)
    shown = [panel for panel in figure.axes if panel.images]
    assert [panel.get_title() for panel in shown] == ["head 1", "head 2", "head 3"]


def test_what_a_mask_hides_is_hatched_and_has_no_number():
    mask = MAP > 0
    (panel,) = figures.weight_maps(MAP, ["a", "b"], list("cde"), mask=mask, row_sums=True).axes
    assert texts(panel) == ["0.25", "0.75", "0.50", "0.25", "0.25", "sum 1.00", "sum 1.00"]
    (patch,) = panel.patches
    assert patch.get_hatch()
    assert patch.get_xy() == (1.5, -0.5)  # query 0, key 2


def test_one_mask_is_drawn_into_every_head():
    figure = figures.weight_maps(np.stack([MAP] * 3), list("ab"), list("cde"), mask=MAP > 0)
    assert [len(panel.patches) for panel in figure.axes] == [1, 1, 1]


def test_masked_scores_and_their_weights_hide_the_same_cells():
    scores, weights = np.array([[1.5, -np.inf], [0, 0]]), np.array([[1.0, 0], [0.5, 0.5]])
    left, right = figures.masked_softmax(scores, weights, ["a", "b"]).axes
    assert texts(left) == ["1.50", "−∞", "0.00", "0.00"]
    assert texts(right) == ["1.00", "0.50", "0.50", "sum 1.00", "sum 1.00"]
    assert [[p.get_xy() for p in panel.patches] for panel in (left, right)] == [[(0.5, -0.5)]] * 2


def test_a_reading_query_shows_weights_values_and_output():
    weights, values = np.array([0.125, 0.875]), np.array([[1.0, 0], [0, 4]])
    (panel,) = figures.one_query("q", ["a", "b"], weights, values, weights @ values).axes
    assert {"q", "a", "b", "0.125", "0.875", "(1, 0)", "(0, 4)", "(0.125, 3.5)"} <= set(
        texts(panel)
    )


def test_every_feature_wears_the_colour_of_its_head():
    stage = np.arange(12).reshape(2, 2, 3)
    owner = np.array([[[0, 0, 1]] * 2, [[1, 0, 0]] * 2])
    (panel,) = figures.features_by_head([stage], [owner], ["stage"]).axes
    drawn = [patch.get_facecolor() for patch in panel.patches]
    assert len(drawn) == 12
    assert len(set(drawn)) == 2
    assert drawn[0] == drawn[1] != drawn[2]


def test_contributions_stack_to_the_total():
    parts = np.array([[1.0, -2.0], [3.0, 5.0]])
    figure = figures.contributions(parts, parts.sum(axis=0))
    bars = [(bar.get_y(), bar.get_height()) for bar in figure.axes[0].patches]
    assert bars == [(0, 1), (0, -2), (1, 3), (0, 5)]


def test_strips_keep_their_total_width_and_maps_multiply():
    drawn = {}
    for panel, num_heads in zip(
        figures.strips_and_maps([1, 4], across=3).axes, [1, 4], strict=True
    ):
        _, label = panel.texts
        start = label.get_position()[0]  # the maps begin below it
        of_maps = [patch.get_x() >= start for patch in panel.patches]
        drawn[num_heads] = of_maps.count(False), of_maps.count(True)
        assert len({patch.get_facecolor() for patch in panel.patches}) == num_heads
        assert len({(patch.get_x(), patch.get_y()) for patch in panel.patches}) == len(of_maps)
        assert label.get_text().endswith(f": {of_maps.count(True)}")
    assert drawn == {1: (4 * 8, 4 * 4), 4: (4 * 8, 4 * 4 * 4)}


def test_ratios_are_bars_that_end_where_their_number_says():
    (panel,) = figures.ratios(["a", "b"], {"one": [1, 8], "two": [0.25, 2]}, xlabel="times").axes
    assert [bar.get_width() for bar in panel.patches] == [1, 8, 0.25, 2]
    assert [text.get_text().strip() for text in panel.texts] == ["1", "8", "0.25", "2"]
    assert [text.get_position()[0] for text in panel.texts] == [1, 8, 0.25, 2]
    assert panel.patches[0].get_hatch() != panel.patches[2].get_hatch()
    assert panel.get_ylim()[0] > panel.get_ylim()[1]  # the first name stands on top


def test_lines_differ_by_more_than_colour():
    lines = figures.curves([1, 2], {"a": [1, 2], "b": [2, 1]}, xlabel="x", ylabel="y").axes[0].lines
    assert lines[0].get_linestyle() != lines[1].get_linestyle()
    assert lines[0].get_marker() != lines[1].get_marker()


def test_a_figure_is_the_result_of_a_cell_as_it_stands():
    from IPython.core.formatters import DisplayFormatter

    figure = figures.weight_maps(MAP, ["a", "b"], list("cde"))
    data, metadata = DisplayFormatter().format(figure)
    assert data["image/png"].startswith(b"\x89PNG")
    # Drawn with two dots a pixel.
    width, height = figure.get_size_inches() * 100
    assert metadata["image/png"] == {"width": round(width), "height": round(height)}


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, two):
    bright, dark = sorted([luminance(one), luminance(two)], reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def themes():
    light, dark = (
        dict(re.findall(r"--mha-([\w-]+):\s*(#[0-9a-f]{6})", block))
        for block in figures.PALETTE.read_text(encoding="utf-8").split("}")[:2]
    )
    return {"light": (light, "#ffffff"), "dark": (dark, "#14181e")}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_in_any_colour_of_the_palette_reaches_wcag_aa(theme):
    palette, ground = themes()[theme]
    inks = {name: colour for name, colour in palette.items() if not name.startswith("weight")}
    assert {"query", "key", "value", "output", "head-8"} <= set(inks)
    assert {name: c for name, c in inks.items() if contrast(c, ground) < 4.5} == {}


def test_both_themes_colour_the_same_things():
    light, dark = (set(palette) for palette, _ in themes().values())
    assert {name for name in light if not name.startswith("weight")} == set(dark)


def test_heads_have_eight_different_colours():
    colours = [figures.colours()[f"head-{i}"] for i in range(1, 9)]
    assert all(one != two for (i, one), (j, two) in product(enumerate(colours), repeat=2) if i < j)
