"""The mask painter in Chromium: NumPy's numbers for every mask, under any hand."""

import re

import numpy as np
import pytest
from live_page import CHANGE, CONTRASTS, MODEL, NAMES, SHIFTS, assert_starts_in_place, chapter

from mha_lessons import masks, vectorized
from mha_lessons.widgets import MaskPainter
from mha_lessons.widgets.live_figure import fixed
from mha_lessons.widgets.mask_painter import PRESETS, preset

pytestmark = pytest.mark.browser
expect = pytest.importorskip("playwright.sync_api").expect

CHAPTER = "04_causal_mask"
EIGHT = "the old man sees a small bird sing"


class Painter:
    """A painter on a page, as a reader and as a test see it."""

    def __init__(self, page):
        self.page = page
        self.host = page.locator("mha-mask-painter")
        self.host.locator(".mha-live").wait_for()
        self.cells = self.host.locator(".mha-paint td")
        self.selected = self.host.locator('.mha-paint td[tabindex="0"]')
        self.verdict = self.host.locator(".mha-verdict")
        self.status = self.host.locator('[role="status"]')

    def button(self, name):
        return self.host.get_by_role("button", name=name, exact=True)

    def result(self):
        return self.host.evaluate("painter => painter.result()")

    def mask(self):
        return np.array(self.result()["mask"])

    def assert_numpys_numbers(self):
        """Compare every number with the widget's, which computes with NumPy."""
        result = self.result()
        twin = MaskPainter(tokens=result["tokens"], mask=result["mask"])
        expected = {"scores": twin.scores, **twin.ways()._asdict()}
        for name, numbers in expected.items():
            found = np.array(result[name], dtype=float)
            np.testing.assert_allclose(found, numbers, rtol=0, atol=1e-12, err_msg=name)
        np.testing.assert_array_equal(
            np.array(result["masked"]), np.where(twin.mask, twin.scores, -np.inf)
        )
        return twin

    def texts(self, selector):
        return self.host.locator(selector).all_inner_texts()


@pytest.fixture
def painter(open_page, write_page):
    return Painter(open_page(write_page(MaskPainter())))


def test_first_state_is_the_pythons(painter):
    twin = painter.assert_numpys_numbers()
    assert painter.result()["tokens"] == list(MaskPainter().tokens)
    np.testing.assert_array_equal(twin.mask, masks.causal(5))


def test_element_without_config_is_the_default_widget(painter):
    first = painter.result()
    painter.host.evaluate("host => host.replaceWith(document.createElement('mha-mask-painter'))")
    assert painter.result() == first


@pytest.mark.parametrize("tokens", ["cat", "a cat", "the cat sat down today", EIGHT])
def test_presets_are_the_librarys_masks(open_page, write_page, tokens):
    painter = Painter(open_page(write_page(MaskPainter(tokens=tokens))))
    S = len(tokens.split())
    assert painter.texts(".mha-presets button") == list(PRESETS)
    for name in PRESETS:
        painter.button(name).click()
        np.testing.assert_array_equal(painter.mask(), preset(name, S))
        painter.assert_numpys_numbers()
    if S > 2:  # shorter presets coincide
        assert painter.button("left padding").get_attribute("aria-pressed") == "true"
        assert painter.host.locator('[aria-pressed="true"]').count() == 1


def test_click_paints_one_pair(painter):
    painter.cells.nth(1 * 5 + 3).click()
    expected = masks.causal(5)
    expected[1, 3] = True
    np.testing.assert_array_equal(painter.mask(), expected)
    assert (painter.result()["query"], painter.result()["key"]) == (1, 3)
    painter.assert_numpys_numbers()
    assert painter.host.locator('[aria-pressed="true"]').count() == 0
    assert "a mask of your own" in painter.host.inner_text()
    painter.cells.nth(1 * 5 + 3).click()
    np.testing.assert_array_equal(painter.mask(), masks.causal(5))


def test_keyboard_alone_does_everything(painter):
    press = painter.page.keyboard.press

    def focused():
        return painter.page.evaluate("document.activeElement.getAttribute('aria-label')")

    painter.button("all").focus()
    press("Tab")
    press("Tab")
    press("Space")  # padding
    np.testing.assert_array_equal(painter.mask(), np.tile(np.arange(5) < 3, (5, 1)))
    for _ in range(4):
        press("Tab")
    assert focused() == "query cat, key sat: score 1.50, may attend"
    press("Space")
    assert focused() == "query cat, key sat: score 1.50, hidden"
    press("Enter")
    press("ArrowRight")
    press("Enter")
    assert focused() == "query cat, key down: score −2.50, may attend"
    assert painter.mask()[1].tolist() == [True, True, True, True, False]
    press("Home")
    press("End")
    press("ArrowDown")
    assert focused().startswith("query sat, key today")
    press("Tab")
    press("Enter")  # hide the row
    assert not painter.mask()[2].any()
    assert focused() == "show row: every key for the query sat"
    press("Enter")
    assert painter.mask()[2].all()
    press("Tab")
    press("Space")  # hide the key, then show it to all
    assert not painter.mask()[:, 4].any()
    press("Space")
    assert painter.mask()[:, 4].all()
    painter.assert_numpys_numbers()


def test_page_gets_no_bare_keys(painter):
    painter.page.evaluate(
        "() => { window.keys = []; document.onkeydown = (e) => window.keys.push(e.key); }"
    )
    painter.selected.focus()
    scrolled = painter.page.evaluate("scrollY")
    for key in ("ArrowDown", "Space", "Enter", "Control+b"):
        painter.page.keyboard.press(key)
    assert painter.page.evaluate("window.keys") == ["Control", "b"]
    assert painter.page.evaluate("scrollY") == scrolled


def test_cells_show_the_numbers(open_page, write_page):
    painter = Painter(open_page(write_page(MaskPainter(tokens=EIGHT, mask="both", query=6))))
    twin = painter.assert_numpys_numbers()
    masked = np.where(twin.mask, twin.scores, -np.inf)
    assert painter.texts(".mha-paint td") == [fixed(x) for x in masked.ravel()]
    shown = [
        fixed(w) if may else "0"
        for w, may in zip(twin.weights.ravel(), twin.mask.ravel(), strict=True)
    ]
    assert painter.texts(".mha-weights td.mha-cell") == shown
    assert painter.texts(".mha-weights td.mha-sum") == ["1.00"] * 8
    rows = [rows[6] for rows in twin.ways()]
    assert painter.texts(".mha-ways td.mha-sum") == [fixed(row.sum()) for row in rows]
    first = painter.texts(".mha-ways tbody tr:nth-child(1) td")
    assert first[:8] == [fixed(x) for x in twin.scores[6]]


def test_hidden_weights_after_softmax_do_not_sum_to_one(painter):
    painter.cells.nth(1 * 5 + 0).click()  # cat reads itself only
    twin = painter.assert_numpys_numbers()
    kept = vectorized.softmax(twin.scores)[1, 1]
    assert (
        f"leave a sum of {fixed(kept)}: the other {fixed(1 - kept)}" in painter.verdict.inner_text()
    )
    assert painter.texts(".mha-ways tbody tr td:last-child") == [
        *("", "≠ rule", "", "= rule", "= rule", "≠ rule")
    ]


def test_blank_row_gives_zeros_where_habits_give_nan_or_an_average(open_page, write_page):
    painter = Painter(open_page(write_page(MaskPainter(mask="left padding", query=1))))
    twin = painter.assert_numpys_numbers()
    assert not twin.weights[:2].any()
    assert painter.texts(".mha-weights td.mha-sum") == ["0", "0", "1.00", "1.00", "1.00"]
    assert "never NaN, never an average: the, cat." in painter.host.inner_text()
    assert painter.texts(".mha-ways td.mha-sum") == ["1.00", "0.00", "NaN", "1.00", "0.00"]
    assert "plain average, 0.20 for each key" in painter.verdict.inner_text()


def test_row_without_hidden_keys_is_the_same_in_all_ways(painter):
    painter.button("all").click()
    assert "Nothing is hidden from “cat”" in painter.verdict.inner_text()
    assert painter.texts(".mha-ways tbody tr td:last-child")[1:] == ["= rule", "", *["= rule"] * 3]


def test_changes_are_announced_and_moves_are_not(painter):
    painter.selected.focus()
    painter.page.keyboard.press("ArrowLeft")
    assert painter.status.inner_text() == ""
    painter.page.keyboard.press("Space")
    expect(painter.status).to_have_text("cat may not read cat: weight 0.00, row sum 1.00.")
    mask = painter.mask()
    painter.page.keyboard.down("Space")
    painter.page.keyboard.down("Space")  # repeats: nothing may flicker
    painter.page.keyboard.down("Space")
    painter.page.keyboard.up("Space")
    assert (painter.mask() != mask).sum() == 1
    painter.page.keyboard.press("Space")
    painter.button("padding").click()
    expect(painter.status).to_have_text(re.compile("^padding: the last 2 of 5 keys are padding"))
    painter.button("hide row").or_(painter.host.locator(".mha-buttons button").first).first.click()
    expect(painter.status).to_have_text(re.compile("row sum 0.00. Blank rows: cat.$"))


def test_every_control_has_a_name(painter):
    assert all(name for _, name in painter.host.evaluate(NAMES))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_page_does_not_scroll_sideways(open_page, write_page, width, dark):
    for tokens in ("cat", EIGHT, "Donaudampfschifffahrtsgesellschaft " * 8):
        page = open_page(write_page(MaskPainter(tokens=tokens)), width=width, dark=dark)
        painter = Painter(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert painter.host.evaluate("host => host.scrollWidth <= host.clientWidth")


def test_touch_targets_are_large_enough(open_page, write_page):
    painter = Painter(open_page(write_page(MaskPainter(tokens=EIGHT)), width=390))

    def smallest_side(selector):
        boxes = painter.host.locator(selector).evaluate_all(
            "all => all.map((e) => e.getBoundingClientRect()).map((b) => [b.width, b.height])"
        )
        return np.min(boxes)

    assert smallest_side("td.mha-cell") >= 24
    assert smallest_side("button") >= 44


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["causal", "left padding"])
def test_all_text_stands_out(open_page, write_page, name, dark):
    url = write_page(MaskPainter(mask=name, query=0))
    painter = Painter(open_page(url, dark=dark, reduced_motion="reduce"))
    contrasts = painter.host.evaluate(CONTRASTS)
    assert len(contrasts) > 80
    assert contrasts[0][0] >= 4.5, contrasts[0]


@pytest.mark.parametrize("tokens", ["a cat", "the cat sat down today", EIGHT])
@pytest.mark.parametrize("width", [1200, 700, 500, 390])
def test_page_does_not_jump_when_the_figure_starts(open_page, write_page, width, tokens):
    page = open_page(write_page(MaskPainter(tokens=tokens)), width=width, before=SHIFTS)
    assert_starts_in_place(page)


@pytest.mark.parametrize("width", [1200, 390])
def test_chapter_holds_the_figure_without_jump_or_sideways_scroll(open_page, width):
    page = open_page(chapter(CHAPTER), width=width, before=SHIFTS)
    assert_starts_in_place(page)
    Painter(page).assert_numpys_numbers()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_without_scripts_the_tables_remain(open_page, write_page):
    page = open_page(write_page(MaskPainter(mask="left padding")), java_script_enabled=False)
    assert page.locator("mha-mask-painter caption").count() == 3
    assert "NaN" in page.locator("mha-mask-painter").inner_text()


def test_notebook_and_figure_share_one_state(open_page, write_page):
    widget = MaskPainter()
    page = open_page(write_page(script=False))
    page.evaluate(MODEL, [widget._esm, widget.get_state(list(widget.STATE))])
    page.locator(".mha-paint td[tabindex='0']").focus()
    page.keyboard.press("Space")
    for sent in page.evaluate("model.sent"):  # figure -> kernel
        widget.set_state(sent)
    expected = masks.causal(5)
    expected[1, 2] = True
    np.testing.assert_array_equal(widget.mask, expected)

    widget.mask = masks.combine(masks.causal(5), masks.padding([4], 5))  # kernel -> figure
    page.evaluate(CHANGE, widget.get_state(["mask"]))
    sums = page.locator(".mha-ways td.mha-sum").all_inner_texts()
    assert sums == [fixed(rows[1].sum()) for rows in widget.ways()]
    # New words come alone first: the mask that the kernel has by then is shown at once.
    widget.tokens, widget.query = "the old man sees a small bird", 6
    page.evaluate(CHANGE, widget.get_state(["tokens", "mask", "query"]))
    widget.tokens = "a b c"
    page.evaluate("model.set('tokens', ['a', 'b', 'c'])")
    cells = page.locator(".mha-weights td.mha-cell.mha-hidden")
    assert cells.count() == (~widget.mask).sum() == 3
    page.evaluate("leave()")
    assert page.evaluate("model.heard()") == 0
