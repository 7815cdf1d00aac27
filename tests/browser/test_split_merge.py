"""The figure of split and merge in Chromium: NumPy's arrays, step by step, under any hand."""

import numpy as np
import pytest
from live_page import CHANGE, CONTRASTS, MODEL, NAMES, SHIFTS, assert_starts_in_place, chapter

from mha_lessons.widgets import SplitMerge

pytestmark = pytest.mark.browser
expect = pytest.importorskip("playwright.sync_api").expect

CHAPTER = "02_multi_head_split"
LARGE = {"T": 5, "d_model": 8, "num_heads": 2}


@pytest.fixture(params=["standalone", "chapter"])
def address(request, write_page):
    """A page with one figure in its first state: alone, and in the built book."""
    if request.param == "standalone":
        return write_page(SplitMerge())
    return chapter(CHAPTER)


class Figure:
    """A figure on a page, as a reader and as a test see it."""

    def __init__(self, page, nth=0):
        self.page = page
        self.host = page.locator("mha-split-merge").nth(nth)
        self.host.locator(".mha-live").wait_for()
        self.board = self.host.locator(".mha-board")
        self.current = self.host.locator("[aria-current=step]")
        self.back = self.host.get_by_text("← Back")
        self.next = self.host.get_by_text("Next →")
        self.T = self.host.get_by_label("T, positions")
        self.d_model = self.host.get_by_label("d_model, features")
        self.reads_before = self.host.get_by_label("Each head reads the position before")
        self.status = self.host.locator('[role="status"]')

    def choose(self, label):
        self.host.locator(".mha-option", has_text=label).click()

    def state(self):
        result = self.host.evaluate("figure => figure.result()")
        return {name: result[name] for name in SplitMerge.STATE}

    def shown(self):
        """Return the entries as they stand on the screen, with each cell's marks.

        By blocks, and within a block by rows: what the eye does.
        """
        self.page.wait_for_timeout(0 if self.still() else 700)
        return self.board.evaluate(
            """board => {
              const all = (selector) => [...board.querySelectorAll(selector)];
              const blocks = all(".mha-block").map((e) => e.getBoundingClientRect());
              const cells = all(".mha-entry").map((e) => {
                const box = e.getBoundingClientRect();
                const [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
                const block = blocks.findIndex((b) =>
                  b.left < x && x < b.right && b.top < y && y < b.bottom);
                return {
                  number: Number(e.firstChild.data), head: e.querySelector("small").textContent,
                  misplaced: e.classList.contains("mha-misplaced"),
                  block, x: Math.round(x), y: Math.round(y),
                };
              });
              return cells.sort((a, b) => a.block - b.block || a.y - b.y || a.x - b.x);
            }"""
        )

    def still(self):
        return self.page.evaluate("matchMedia('(prefers-reduced-motion: reduce)').matches")

    def assert_numpys_arrays(self):
        """Compare what stands on the screen, and what the script computed, with NumPy."""
        state = self.state()
        widget = SplitMerge(**state)
        result = self.host.evaluate("figure => figure.result()")
        for found, stage in zip(result["stages"], widget.stages, strict=True):
            assert (found["name"], found["move"]) == (stage.name, stage.move)
            assert tuple(found["axes"]) == stage.axes
            np.testing.assert_array_equal(np.array(found["array"]), stage.array)
            assert sum(found["misplaced"]) == widget.misplaced[stage.name]
        assert result["passes"] == widget.passes
        (stage,) = (stage for stage in widget.stages if stage.name == state["stage"])
        shown = self.shown()
        assert [cell["number"] for cell in shown] == stage.array.ravel().tolist()
        d_k = state["d_model"] // state["num_heads"]
        assert [cell["head"] for cell in shown] == [
            f"h{int(entry) % 10 // d_k + 1}" for entry in stage.array.ravel()
        ]
        assert sum(cell["misplaced"] for cell in shown) == widget.misplaced[stage.name]
        assert str(stage.array.shape) in self.host.locator(".mha-shape").inner_text()
        return stage


def test_every_step_shows_numpys_array(address, open_page):
    figure = Figure(open_page(address, reduced_motion="reduce"))
    names = []
    for at in range(6):
        names.append(figure.assert_numpys_arrays().name)
        assert figure.current.inner_text().startswith(str(at + 1))
        if at < 5:
            figure.next.click()
    assert names == ["projected", "reshaped", "split", "read", "swapped", "merged"]
    assert figure.next.get_attribute("aria-disabled") == "true"
    figure.back.click()
    assert figure.state()["stage"] == "swapped"


OVERHANG = """board => {
  const frame = board.getBoundingClientRect();
  const boxes = [...board.querySelectorAll(".mha-entry")].map((e) => e.getBoundingClientRect());
  return Math.max(...boxes.flatMap((box) => [frame.left - box.left, box.right - frame.right,
    frame.top - box.top, box.bottom - frame.bottom]));
}"""


@pytest.mark.parametrize("width", [1200, 390])
@pytest.mark.parametrize("sizes", [LARGE, {**LARGE, "num_heads": 1}, {**LARGE, "num_heads": 8}])
def test_any_size_and_mistake_fits_its_board(open_page, write_page, sizes, width):
    widget = SplitMerge(**sizes, reads_before=True)
    figure = Figure(open_page(write_page(widget), width=width, reduced_motion="reduce"))
    for mistake in ("nowhere", "at the split", "at the merge", "at both"):
        figure.choose(mistake)
        for step in figure.host.locator(".mha-steps button").all():
            step.click()
            figure.assert_numpys_arrays()
            assert figure.board.evaluate(OVERHANG) <= 1


def test_a_plain_reshape_shows_where_it_scrambles(address, open_page):
    figure = Figure(open_page(address, reduced_motion="reduce"))
    figure.choose("at the split")
    figure.next.click()
    assert figure.assert_numpys_arrays().name == "split"
    assert "12 of 18 entries are in the wrong place" in figure.host.inner_text()
    misplaced = [cell["number"] for cell in figure.shown() if cell["misplaced"]]
    assert misplaced == [2, 3, 4, 5, 10, 11, 14, 15, 20, 21, 22, 23]


def test_two_plain_reshapes_look_right_until_the_heads_read(address, open_page):
    figure = Figure(open_page(address, reduced_motion="reduce"))
    figure.choose("at both")
    for _ in range(3):
        figure.next.click()
    assert figure.assert_numpys_arrays().name == "merged"
    assert "All 18 entries are in the right place." in figure.host.inner_text()
    assert "Only the loop notices." in figure.host.inner_text()
    assert figure.host.locator(".mha-tests td").all_inner_texts() == [*["passes"] * 4, "fails"]
    figure.reads_before.check()
    figure.assert_numpys_arrays()
    assert "16 of 18 entries are in the wrong place" in figure.host.inner_text()


@pytest.mark.parametrize(("T", "num_heads", "word"), [(1, 3, "one position"), (3, 1, "one head")])
def test_the_figure_says_where_a_plain_reshape_is_right(open_page, write_page, T, num_heads, word):
    widget = SplitMerge(T=T, num_heads=num_heads, plain_reshape="split")
    figure = Figure(open_page(write_page(widget)))
    assert f"With {word} a plain reshape moves nothing: it is right." in figure.host.inner_text()


def test_only_heads_that_fit_can_be_chosen(address, open_page):
    figure = Figure(open_page(address, reduced_motion="reduce"))
    options = figure.host.locator(".mha-choice").first
    assert options.locator("input:disabled").evaluate_all("all => all.map((e) => e.value)") == [
        "4",
        "5",
    ]
    assert "h must divide d_model: 6 / 4 = 1.5 is not whole." in options.inner_text()
    assert options.locator("label").nth(4).get_attribute("title") == "6 / 5 = 1.2 is not whole"
    figure.d_model.fill("8")
    assert figure.state()["num_heads"] == 2
    assert "3 heads don't fit (8 / 3 = 2.67): h is 2 now." in options.inner_text()
    figure.assert_numpys_arrays()
    figure.d_model.fill("6")  # what the reader chose comes back
    assert figure.state()["num_heads"] == 3
    figure.d_model.fill("8")
    options.locator("label", has_text="4").click()
    assert figure.state()["num_heads"] == 4
    assert "h must divide d_model: 8 / 3 = 2.67 is not whole." in options.inner_text()


def test_keyboard_alone_does_everything(address, open_page):
    figure = Figure(open_page(address, reduced_motion="reduce"))
    press = figure.page.keyboard.press
    figure.T.focus()
    press("ArrowRight")
    press("Tab")
    press("ArrowLeft")
    press("ArrowRight")
    press("Tab")
    press("ArrowRight")  # from 3 over 4 and 5, which do not divide, to 6
    press("Tab")
    for _ in range(3):
        press("ArrowRight")
    press("Tab")
    press("Space")
    assert figure.state() == {
        "T": 4,
        "d_model": 6,
        "num_heads": 6,
        "plain_reshape": "both",
        "reads_before": True,
        "stage": "projected",
    }
    press("Tab")
    press("ArrowRight")
    press("ArrowRight")
    assert figure.state()["stage"] == "read"
    focused = figure.page.evaluate("document.activeElement.textContent")
    assert focused == figure.current.inner_text() == "3 heads"
    press("End")
    press("ArrowRight")  # the edge holds
    assert figure.state()["stage"] == "merged"
    press("Home")
    press("Tab")
    press("Tab")
    press("Enter")  # Next
    assert figure.state()["stage"] == "split"
    press("ArrowLeft")
    assert figure.state()["stage"] == "projected"
    figure.assert_numpys_arrays()


def test_page_gets_no_bare_keys(open_page, write_page):
    figure = Figure(open_page(write_page(SplitMerge()), width=390))
    figure.page.evaluate(
        "() => { window.keys = []; document.onkeydown = (e) => window.keys.push(e.key); }"
    )
    figure.current.focus()
    top = figure.page.evaluate("scrollY")
    for key in ("ArrowRight", "End", "Control+b"):
        figure.page.keyboard.press(key)
    figure.page.wait_for_timeout(200)
    assert figure.page.evaluate("window.keys") == ["Control", "b"]
    assert figure.page.evaluate("scrollY") == top


def test_a_step_that_a_plain_reshape_leaves_out_gives_the_next(open_page, write_page):
    figure = Figure(open_page(write_page(SplitMerge(stage="reshaped")), reduced_motion="reduce"))
    figure.choose("at the split")
    assert figure.assert_numpys_arrays().name == "split"
    assert figure.current.inner_text() == "2 plain reshape"


def test_changes_are_announced(open_page, write_page):
    figure = Figure(open_page(write_page(SplitMerge())))
    assert figure.status.inner_text() == ""
    figure.next.click()
    expect(figure.status).to_have_text(
        "Step 2 of 6, reshape: shape (T, h, d_k) = (3, 3, 2), "
        "all 18 entries are in the right place."
    )
    figure.choose("at the split")
    expect(figure.status).to_have_text(
        "Step 2 of 5, plain reshape: shape (h, T, d_k) = (3, 3, 2), "
        "12 of 18 entries are in the wrong place. The shape and a single position notice nothing."
    )


def test_everything_has_a_name_and_the_array_is_told(address, open_page):
    figure = Figure(open_page(address))
    figure.next.click()
    figure.next.click()
    assert [tag for tag, name in figure.host.evaluate(NAMES) if not name] == []
    assert figure.board.get_attribute("aria-label") == (
        "Head 1: 0 1; 10 11; 20 21. Head 2: 2 3; 12 13; 22 23. Head 3: 4 5; 14 15; 24 25."
    )


@pytest.mark.parametrize(("motion", "moves"), [("reduce", False), ("no-preference", True)])
def test_entries_move_only_where_motion_is_wanted(open_page, write_page, motion, moves):
    figure = Figure(open_page(write_page(SplitMerge(stage="reshaped")), reduced_motion=motion))
    ten = figure.board.locator(".mha-entry", has_text="10")
    before = ten.bounding_box()
    figure.next.click()
    started = ten.bounding_box()
    figure.page.wait_for_timeout(800)
    ended = ten.bounding_box()
    assert ended["x"] < before["x"] - 40  # from the block of position 1 to that of head 1
    assert (abs(started["x"] - ended["x"]) > 1) is moves


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_page_does_not_scroll_sideways(address, open_page, width, dark):
    page = open_page(address, width=width, dark=dark)
    figure = Figure(page)
    for d_model, T in ((1, 1), (7, 5), (8, 5)):
        figure.d_model.fill(str(d_model))
        figure.T.fill(str(T))
        for label in ("nowhere", "at both"):
            figure.choose(label)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert figure.host.evaluate("figure => figure.scrollWidth <= figure.clientWidth")


def test_touch_targets_are_large_enough(open_page, write_page):
    figure = Figure(open_page(write_page(SplitMerge(**LARGE)), width=390))
    sides = np.array(
        figure.host.locator("button, .mha-option, .mha-check, input[type=range]").evaluate_all(
            "all => all.map((e) => e.getBoundingClientRect()).map((b) => [b.width, b.height])"
        )
    )
    assert sides[:, 1].min() >= 44
    assert sides[:, 0].min() >= 40  # eight numbers of heads side by side


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_all_text_stands_out(open_page, write_page, dark):
    widget = SplitMerge(T=2, d_model=8, num_heads=8, plain_reshape="split", stage="split")
    figure = Figure(open_page(write_page(widget), dark=dark, reduced_motion="reduce"))
    contrasts = figure.host.evaluate(CONTRASTS)
    assert len(contrasts) > 60
    assert contrasts[0][0] >= 4.5, contrasts[0]


@pytest.mark.parametrize("sizes", [{}, LARGE])
@pytest.mark.parametrize("width", [1200, 656, 390])
def test_page_does_not_jump_when_the_figure_starts(open_page, write_page, width, sizes):
    page = open_page(write_page(SplitMerge(**sizes)), width=width, before=SHIFTS)
    assert_starts_in_place(page)


@pytest.mark.parametrize("width", [1200, 390])
def test_chapter_does_not_jump_when_its_figure_starts(open_page, width):
    assert_starts_in_place(open_page(chapter(CHAPTER), width=width, before=SHIFTS))


def test_without_scripts_the_tables_remain(open_page, write_page):
    page = open_page(write_page(SplitMerge()), width=390, java_script_enabled=False)
    assert page.locator("mha-split-merge caption").count() == 3
    text = page.locator("mha-split-merge").inner_text()
    assert "12 13" in text
    assert "(h, T, d_k) = (3, 3, 2)" in text
    assert page.locator("body").bounding_box()["width"] <= 390


def test_two_figures_do_not_interfere(open_page, write_page):
    page = open_page(write_page(SplitMerge(), SplitMerge(T=2)))
    first, second = Figure(page, 0), Figure(page, 1)
    before = second.state()
    first.choose("at both")
    first.next.click()
    assert second.state() == before
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids))


def test_notebook_and_figure_share_one_state(open_page, write_page):
    widget = SplitMerge()
    page = open_page(write_page())
    page.evaluate(MODEL, [widget._esm, widget.get_state(list(widget.STATE))])
    page.locator(".mha-option", has_text="at both").click()
    page.get_by_text("Next →").click()
    for sent in page.evaluate("model.sent"):  # figure -> kernel
        widget.set_state(sent)
    assert (widget.plain_reshape, widget.stage) == ("both", "split")

    widget.d_model = 8  # kernel -> figure
    page.evaluate(
        CHANGE,
        widget.get_state(list(widget.STATE)),
    )
    assert widget.num_heads == 2
    assert "(h, T, d_k) = (2, 3, 4)" in page.locator(".mha-shape").inner_text()
    page.evaluate("leave()")
    assert page.evaluate("model.heard()") == 0
