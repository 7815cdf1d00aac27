"""The live figure in Chromium: NumPy's numbers, under any hand, on any screen."""

import re

import numpy as np
import pytest
from live_page import CHANGE, CONTRASTS, HEARD, MODEL, SHIFTS, assert_starts_in_place, chapter

from mha_lessons import toy
from mha_lessons.widgets import AttentionLab, CostLedger, MaskPainter, SameWeights, SplitMerge
from mha_lessons.widgets.live_figure import fixed

pytestmark = pytest.mark.browser
expect = pytest.importorskip("playwright.sync_api").expect

CHAPTER = "01_single_head"
EIGHT = "the old man sees a small bird sing"
ALL = ("Q", "K", "V", "scores", "weights", "output")


@pytest.fixture(params=["standalone", "chapter"])
def address(request, write_page):
    """A page with one lab in its first state: alone, and in the built book."""
    if request.param == "standalone":
        return write_page(AttentionLab())
    return chapter(CHAPTER)


class Lab:
    """A lab on a page, as a reader and as a test see it."""

    def __init__(self, page, nth=0):
        self.page, self.nth = page, nth
        self.host = page.locator("mha-attention-lab").nth(nth)
        self.host.locator(".mha-live").wait_for()
        self.words = self.host.get_by_label("Words")
        self.temperature = self.host.get_by_label("Temperature")
        self.causal = self.host.get_by_label("Causal mask")
        self.reset = self.host.get_by_role("button", name="Reset")
        self.selected = self.host.locator('.mha-scores td[tabindex="0"]')

    def result(self):
        return self.host.evaluate("lab => lab.result()")

    def edits(self):
        return {(i, j): amount for i, j, amount in self.result()["edits"]}

    def assert_numpys_numbers(self):
        result = self.result()
        head = toy.attend(result["tokens"], result["temperature"], result["causal"], self.edits())
        for name in ALL:
            np.testing.assert_allclose(
                np.array(result[name]), getattr(head, name), rtol=0, atol=1e-12, err_msg=name
            )
        return head

    def texts(self, selector):
        return self.host.locator(selector).all_inner_texts()


def test_first_state_is_numpys(address, open_page):
    lab = Lab(open_page(address))
    lab.assert_numpys_numbers()
    assert lab.result()["tokens"] == ["the", "cat", "sat", "down"]


def test_every_edit_gives_numpys_numbers(address, open_page):
    lab = Lab(open_page(address))
    first = lab.result()

    lab.words.fill("größe macht müde Katzen sehr")
    lab.assert_numpys_numbers()
    assert lab.result()["tokens"] == "größe macht müde Katzen sehr".split()

    lab.temperature.focus()
    for _ in range(5):
        lab.page.keyboard.press("ArrowRight")
    lab.assert_numpys_numbers()
    assert lab.result()["temperature"] == 1.5

    lab.host.locator(".mha-scores td").nth(3 * 5 + 1).click()
    lab.host.get_by_role("button", name="Raise this score by 0.5").click(click_count=3)
    lab.assert_numpys_numbers()
    assert lab.edits() == {(3, 1): 1.5}

    lab.causal.check()
    head = lab.assert_numpys_numbers()
    assert np.isneginf(head.scores[0, 1])

    lab.host.get_by_role("button", name="Undo the edit of this score").click()
    lab.assert_numpys_numbers()
    assert lab.edits() == {}

    lab.reset.click()
    assert lab.result() == first


def test_cells_show_the_numbers(open_page, write_page):
    lab = Lab(open_page(write_page(AttentionLab(tokens=EIGHT, edits={(2, 1): 3.0}, query=2))))
    head = lab.assert_numpys_numbers()
    assert lab.texts(".mha-scores td") == [fixed(x) for x in head.scores.ravel()]
    assert lab.texts(".mha-weights td.mha-cell") == [fixed(x) for x in head.weights.ravel()]
    assert lab.texts(".mha-weights td.mha-sum") == ["1.00"] * 8
    assert lab.texts(".mha-sum-of-values tfoot .mha-number-cell") == [
        fixed(x) for x in head.output[2]
    ]
    products = head.weights[2][:, None] * head.V
    assert lab.texts(".mha-sum-of-values tbody .mha-output") == [fixed(x) for x in products.ravel()]


def test_one_score_is_worked_out(open_page, write_page):
    lab = Lab(open_page(write_page(AttentionLab(temperature=2, edits={(1, 2): 1.5}))))
    assert lab.texts(".mha-vectors td") == [
        *("−1", "1", "1", "−1", ""),
        *("−1", "0", "1", "−1", ""),
        *("1", "0", "1", "1", "sum 3"),
    ]
    exps = np.exp(lab.assert_numpys_numbers().scores[1])
    part, whole, weight = (fixed(x) for x in (exps[2], exps.sum(), exps[2] / exps.sum()))
    assert lab.texts(".mha-lines p") == [
        "score = 3 / √4 / 2.00 + 1.50 = 2.25",
        f"e2.25 = {part}, row sum {whole}",  # the exponent stands above the line
        f"weight = {part} / {whole} = {weight}",
    ]


def test_keyboard_alone_does_everything(address, open_page):
    lab = Lab(open_page(address))
    press = lab.page.keyboard.press

    def focused():
        return lab.page.evaluate("document.activeElement.getAttribute('aria-label')")

    lab.words.focus()
    press("Tab")
    press("ArrowLeft")
    assert lab.result()["temperature"] == 0.9
    press("Tab")
    press("Space")
    assert lab.result()["causal"] is True
    press("Tab")
    press("Enter")  # Reset
    assert (lab.result()["temperature"], lab.result()["causal"]) == (1, False)
    press("Tab")
    assert focused().startswith("query cat, key sat: score 1.50")
    press("ArrowDown")
    press("ArrowLeft")
    assert focused().startswith("query sat, key cat: score 1.00")
    press("+")
    press("+")
    press("-")
    assert lab.edits() == {(2, 1): 0.5}
    assert focused().startswith("query sat, key cat: score 1.50")
    assert focused().endswith("edited by + 0.50")
    press("0")
    assert lab.edits() == {}
    press("Home")
    press("ArrowUp")
    press("ArrowUp")
    press("ArrowUp")  # the edge holds
    press("End")
    assert focused().startswith("query the, key down")
    press("Tab")
    press("Enter")  # the button that lowers
    assert lab.edits() == {(0, 3): -0.5}
    lab.assert_numpys_numbers()


def test_page_gets_no_bare_keys(open_page, write_page):
    lab = Lab(open_page(write_page(AttentionLab())))
    lab.page.evaluate(
        "() => { window.keys = []; document.onkeydown = (e) => window.keys.push(e.key); }"
    )
    lab.selected.focus()
    for key in ("ArrowLeft", "+", "0", "Control+b"):
        lab.page.keyboard.press(key)
    assert lab.page.evaluate("window.keys") == ["Control", "b"]


def test_words_are_taken_as_they_are_typed(open_page, write_page):
    lab = Lab(open_page(write_page(AttentionLab(edits={(0, 1): 1.0, (3, 3): 2.0}, query=3))))
    lab.words.fill("")
    assert lab.result()["tokens"] == ["the", "cat", "sat", "down"]
    assert "at least one word" in lab.host.inner_text()
    lab.words.press_sequentially("a b")
    assert lab.result()["tokens"] == ["a", "b"]
    assert lab.page.evaluate("document.activeElement.type") == "text"
    assert lab.result()["query"] == 0  # the selection went with its word, when one was left
    assert lab.edits() == {}
    lab.words.fill(EIGHT + " again")
    assert lab.result()["tokens"] == EIGHT.split()
    assert "first 8 words" in lab.host.inner_text()
    lab.temperature.focus()
    assert lab.words.input_value() == EIGHT
    lab.assert_numpys_numbers()


def test_hidden_scores_cannot_be_edited(open_page, write_page):
    lab = Lab(open_page(write_page(AttentionLab(causal=True, query=0, key=2))))
    lab.selected.focus()
    lab.page.keyboard.press("+")
    assert lab.edits() == {}
    assert lab.selected.inner_text() == "−∞"
    assert "hidden by the causal mask" in lab.selected.get_attribute("aria-label")


def test_every_control_and_cell_has_a_name(address, open_page):
    lab = Lab(open_page(address))
    names = lab.host.locator("input, button, table, [role=img], [role=group]").evaluate_all(
        "all => all.map((e) => e.ariaLabel || e.labels?.[0]?.textContent || e.textContent)"
    )
    assert all(name.strip() for name in names)
    head, tokens = lab.assert_numpys_numbers(), lab.result()["tokens"]
    scores, weights = (np.vectorize(fixed)(x) for x in (head.scores, head.weights))
    labels = lab.host.locator(".mha-scores td").evaluate_all(
        "cells => cells.map((cell) => cell.ariaLabel)"
    )
    assert labels == [
        f"query {q}, key {k}: score {scores[i, j]}, weight {weights[i, j]}"
        for i, q in enumerate(tokens)
        for j, k in enumerate(tokens)
    ]
    assert lab.host.locator('[role="gridcell"][aria-selected="true"]').count() == 1


def test_changes_are_announced_and_moves_are_not(open_page, write_page):
    lab = Lab(open_page(write_page(AttentionLab())))
    status = lab.host.locator('[role="status"]')
    lab.selected.focus()
    lab.page.keyboard.press("ArrowLeft")
    assert status.inner_text() == ""
    lab.page.keyboard.press("+")
    expect(status).to_have_text("cat reads cat: score 0.50, weight 0.18.")
    lab.page.evaluate(HEARD)
    for _ in range(20):  # a key that is held is one change, and only one place speaks
        lab.page.keyboard.press("-")
    expect(status).to_have_text(re.compile("score −9.50, weight 0.00"))
    assert len(set(lab.page.evaluate("window.heard"))) == 1
    assert lab.texts(".mha-lines p")[2] == "weight = 7.5e−5 / 7.28 = 0.00"  # not 0.00 / 7.28


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_page_does_not_scroll_sideways(address, open_page, width, dark):
    page = open_page(address, width=width, dark=dark)
    lab = Lab(page)
    for words in ("cat", "the cat sat down", EIGHT, "Donaudampfschifffahrtsgesellschaft " * 8):
        lab.words.fill(words)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert lab.host.evaluate("lab => lab.scrollWidth <= lab.clientWidth")


@pytest.mark.parametrize("figure", [AttentionLab, CostLedger, MaskPainter, SameWeights, SplitMerge])
def test_text_of_twice_the_size_scrolls_within_the_figure(open_page, write_page, figure):
    page = open_page(write_page(figure()), width=390, forced_colors="active")
    chosen = page.locator(".mha-option:has(:checked), [aria-pressed=true], [aria-current]")
    for one in chosen.all():  # high contrast takes shadows away, and must not take the choice
        ground = "e => getComputedStyle(e).backgroundColor"
        assert one.evaluate(ground) != page.locator("body").evaluate(ground)
    page.add_style_tag(content="html { font-size: 200% }")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator(".mha-live").evaluate("e => e.scrollWidth > e.clientWidth")


def test_touch_targets_are_large_enough(open_page, write_page):
    lab = Lab(open_page(write_page(AttentionLab(tokens=EIGHT)), width=390))

    def smallest_side(selector):
        boxes = lab.host.locator(selector).evaluate_all(
            "all => all.map((e) => e.getBoundingClientRect()).map((b) => [b.width, b.height])"
        )
        return np.min(boxes)

    assert smallest_side("td.mha-cell") >= 24
    assert smallest_side("button, input[type=text], input[type=range], label.mha-check") >= 44


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_all_text_stands_out(address, open_page, dark):
    lab = Lab(open_page(address, dark=dark, reduced_motion="reduce"))
    for temperature in ("0.1", "1", "4"):  # from black on light through grey to white on dark
        lab.temperature.fill(temperature)
        contrasts = lab.host.evaluate(CONTRASTS)
        assert len(contrasts) > 80
        assert contrasts[0][0] >= 4.5, contrasts[0]
    lab.causal.check()
    assert lab.host.evaluate(CONTRASTS)[0][0] >= 4.5


def test_weights_use_both_ends_of_the_palettes_scale(open_page, write_page):
    lab = Lab(
        open_page(write_page(AttentionLab(tokens="a b", causal=True)), reduced_motion="reduce")
    )
    one, hidden = (
        lab.host.locator(".mha-weights td.mha-cell")
        .nth(n)
        .evaluate("cell => getComputedStyle(cell).backgroundColor")
        for n in (0, 1)
    )
    assert one == "rgb(8, 48, 107)"  # --mha-weight-1
    assert hidden == "rgba(0, 0, 0, 0)"


@pytest.mark.parametrize(("motion", "moves"), [("reduce", False), ("no-preference", True)])
def test_nothing_moves_where_motion_is_unwanted(open_page, write_page, motion, moves):
    lab = Lab(open_page(write_page(AttentionLab()), reduced_motion=motion))
    times = lab.host.evaluate(
        """lab => [...lab.querySelectorAll("*")].flatMap((e) => [null, "::before"].map((part) =>
          getComputedStyle(e, part))).map((style) => style.transitionDuration)"""
    )
    assert any(float(time.strip("s")) > 0 for each in times for time in each.split(",")) is moves


def test_two_labs_do_not_interfere(open_page, write_page):
    page = open_page(write_page(AttentionLab(), AttentionLab(tokens="one two three", query=0)))
    first, second = Lab(page, 0), Lab(page, 1)
    before = second.result()
    first.words.fill("a dog barked")
    first.selected.focus()
    page.keyboard.press("+")
    first.causal.check()
    assert second.result() == before
    first.assert_numpys_numbers()
    second.assert_numpys_numbers()
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("tokens", ["cat", "the cat sat down", EIGHT])
@pytest.mark.parametrize("width", [1200, 656, 390])
def test_page_does_not_jump_when_the_figure_starts(open_page, write_page, width, tokens):
    page = open_page(write_page(AttentionLab(tokens=tokens)), width=width, before=SHIFTS)
    assert_starts_in_place(page)


@pytest.mark.parametrize("width", [1200, 390])
def test_chapter_does_not_jump_when_its_figure_starts(open_page, width):
    assert_starts_in_place(open_page(chapter(CHAPTER), width=width, before=SHIFTS))


def test_without_scripts_the_tables_remain(open_page, write_page):
    page = open_page(write_page(AttentionLab()), java_script_enabled=False)
    assert page.locator("mha-attention-lab caption").count() == 2
    assert "0.54" in page.locator("mha-attention-lab").inner_text()


def test_notebook_and_figure_share_one_state(open_page, write_page):
    widget = AttentionLab()
    page = open_page(write_page(script=False))
    page.add_style_tag(content=widget._css)
    page.evaluate(
        MODEL,
        [
            widget._esm,
            widget.get_state(["tokens", "temperature", "causal", "edits", "query", "key"]),
        ],
    )
    # A notebook draws before it shows: the palette is not greys all the same.
    page.wait_for_function("""getComputedStyle(document.querySelector(".mha-weights td.mha-cell"))
      .backgroundColor === "rgb(144, 163, 190)" """)
    page.locator(".mha-scores td[tabindex='0']").focus()
    page.keyboard.press("+")
    for sent in page.evaluate("model.sent"):  # figure -> kernel
        widget.set_state(sent)
    assert widget.edits == {(1, 2): 0.5}
    cells = page.locator(".mha-weights td.mha-cell")
    assert cells.all_inner_texts() == [fixed(x) for x in widget.weights.ravel()]

    widget.tokens, widget.temperature = "a dog barked", 2  # kernel -> figure
    page.evaluate(CHANGE, widget.get_state(["tokens", "temperature", "edits", "query", "key"]))
    assert cells.all_inner_texts() == [fixed(x) for x in widget.weights.ravel()]
    page.evaluate("leave()")
    assert page.evaluate("model.heard()") == 0
