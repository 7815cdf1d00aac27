"""The figure of equal weights in Chromium: values move outputs, and never weights."""

import numpy as np
import pytest
from live_page import CHANGE, CONTRASTS, MODEL, NAMES, SHIFTS, assert_starts_in_place, chapter

from mha_lessons import same_weights
from mha_lessons.widgets import SameWeights
from mha_lessons.widgets.live_figure import fixed

pytestmark = pytest.mark.browser
expect = pytest.importorskip("playwright.sync_api").expect

CHAPTER = "03_concat_and_project"


@pytest.fixture(params=["standalone", "chapter"])
def address(request, write_page):
    """A page with one figure in its first state: alone, and in the built book."""
    if request.param == "standalone":
        return write_page(SameWeights())
    return chapter(CHAPTER)


class Figure:
    """A figure on a page, as a reader and as a test see it."""

    def __init__(self, page, nth=0):
        self.page = page
        self.host = page.locator("mha-same-weights").nth(nth)
        self.host.locator(".mha-live").wait_for()
        self.complaint = self.host.locator(".mha-complaint")
        self.status = self.host.locator('[role="status"]')

    def value(self, head, key):
        return self.host.get_by_label(f"Head {head}, value of {key}", exact=True)

    def choose(self, label):
        self.host.locator(".mha-option", has_text=label).click()

    def press(self, name):
        self.host.get_by_role("button", name=name, exact=True).click()

    def values(self):
        return self.host.evaluate("figure => figure.result().values")

    def texts(self, selector):
        return self.host.locator(selector).all_inner_texts()

    def says(self):
        """Return what is equal of weights, values and outputs, and the sentence below."""
        equal = [text == "equal" for text in self.texts(".mha-equal p:first-child b")]
        return equal, self.host.locator(".mha-verdict").inner_text()

    def assert_numpys_numbers(self):
        """Compare what the script computed, and what stands on the screen, with NumPy."""
        found = self.host.evaluate("figure => figure.result()")
        expected = same_weights.compute(found["example"], found["values"])
        for name in ("weights", "heads", "concat", "output"):
            np.testing.assert_allclose(
                found[name], getattr(expected, name), rtol=0, atol=1e-12, err_msg=name
            )
        cells = [fixed(x) for x in expected.weights.ravel()]
        assert self.texts(".mha-weights td.mha-cell") == cells
        assert self.texts(".mha-weights td.mha-sum") == [fixed(x) for x in expected.heads.ravel()]
        assert self.texts(".mha-merged .mha-sum") == [fixed(x) for x in expected.output]
        assert self.says()[0] == [*expected[-3:]]
        return expected


def test_first_state_is_numpys(address, open_page):
    figure = Figure(open_page(address))
    figure.assert_numpys_numbers()
    assert figure.says() == (
        [True, False, False],
        "Same weights, different values: different outputs.",
    )


def test_values_move_outputs_and_no_weight(address, open_page):
    figure = Figure(open_page(address))
    maps = figure.host.locator(".mha-weights tbody")
    first = figure.assert_numpys_numbers()
    shades = [maps.nth(i).evaluate("e => e.querySelector('td').style.cssText") for i in (0, 1)]
    figure.value(2, "cat").fill("-9.5")
    figure.host.get_by_label("Raise head 1, value of the by 1").click(click_count=3)
    now = figure.assert_numpys_numbers()
    assert figure.values() == [[5, 6, -2], [-4, -9.5, 8]]
    np.testing.assert_array_equal(now.weights, first.weights)
    assert (now.heads != first.heads).all()
    assert shades == [
        maps.nth(i).evaluate("e => e.querySelector('td').style.cssText") for i in (0, 1)
    ]
    before = figure.texts(".mha-merged td:last-child")
    assert before == [fixed(x) for x in first.output]


def test_equal_weights_and_values_give_equal_outputs(address, open_page):
    figure = Figure(open_page(address))
    figure.press("Copy head 1 to 2")
    figure.assert_numpys_numbers()
    assert figure.says() == ([True] * 3, "Same weights and same values: same outputs.")
    figure.press("Reset")
    assert figure.values() == [[2, 6, -2], [-4, 1, 8]]


def test_even_weights_hide_the_order_of_the_values(address, open_page):
    figure = Figure(open_page(address))
    figure.choose("even")
    figure.assert_numpys_numbers()
    equal, sentence = figure.says()
    assert equal == [True, False, True]
    assert (
        sentence == "Even weights give the mean of the values: another order of them can't be seen."
    )
    figure.press("Reverse head 2")
    figure.assert_numpys_numbers()
    assert figure.says()[0] == [True, False, True]
    figure.value(2, "sat").fill("9")
    assert figure.says()[0] == [True, False, False]


def test_the_example_on_paper_is_chapter_3s(address, open_page):
    figure = Figure(open_page(address))
    figure.choose("on paper")
    figure.assert_numpys_numbers()
    assert figure.texts(".mha-weights td.mha-sum") == ["2.80", "1.00"]
    assert figure.texts(".mha-merged td") == ["2.80, 1.00", "4.60", "4.60"]
    figure.press("Reverse head 2")
    figure.assert_numpys_numbers()
    assert figure.texts(".mha-weights td.mha-cell") == ["0.80", "0.20", "0.25", "0.75"]
    assert figure.texts(".mha-merged td") == ["2.80, 7.00", "−1.40", "4.60"]


def test_keyboard_alone_does_everything(address, open_page):
    figure = Figure(open_page(address))
    press = figure.page.keyboard.press
    figure.host.locator(".mha-option input").first.focus()
    press("ArrowRight")
    press("ArrowRight")
    press("ArrowLeft")
    assert figure.host.evaluate("figure => figure.result().example") == "uniform"
    press("Tab")
    press("Enter")  # copy
    assert figure.values() == [[2, 6, -2]] * 2
    for _ in range(3):
        press("Tab")
    assert figure.page.evaluate("document.activeElement.ariaLabel") == "Head 1, value of the"
    press("ArrowUp")
    press("ArrowUp")
    press("ArrowDown")
    press("Tab")
    press("Space")  # lower by 1
    press("Tab")
    press("Enter")  # raise by 1
    press("Tab")
    figure.page.keyboard.type("-7")
    figure.assert_numpys_numbers()
    assert figure.values() == [[3, -7, -2], [2, 6, -2]]
    assert figure.page.evaluate("document.activeElement.ariaLabel") == "Head 1, value of cat"


@pytest.mark.parametrize("typed", ["11", "-10.1", "", "-", "0x5", "1e309", "😀"])
def test_a_wrong_value_is_refused_with_advice(open_page, write_page, typed):
    figure = Figure(open_page(write_page(SameWeights())))
    field = figure.value(1, "cat")
    field.fill("")
    field.press_sequentially(typed)
    assert field.get_attribute("aria-invalid") == "true"
    stays = {"11": "1", "-10.1": "−10", "0x5": "0", "1e309": "1"}.get(
        typed, "6"
    )  # the last good value on the way
    stays = stays.replace("−", "-")
    assert figure.complaint.inner_text() == (
        f"A value is a number from −10 to 10. {stays} stays until you type one."
    )
    figure.assert_numpys_numbers()
    field.blur()
    assert field.input_value() == stays
    assert figure.complaint.inner_text() == ""
    assert field.get_attribute("aria-invalid") is None


@pytest.mark.parametrize(
    ("typed", "value"),
    [("0,5", 0.5), ("−1.25", -1.25), ("-0", 0), ("1e-9", 0), ("3.1415926", 3.141593)],
)
def test_a_value_is_what_was_typed_in_any_language(open_page, write_page, typed, value):
    figure = Figure(open_page(write_page(SameWeights())))
    field = figure.value(1, "cat")
    field.fill("")
    field.press_sequentially(typed)
    assert figure.values()[0][1] == value
    figure.assert_numpys_numbers()
    field.press("ArrowUp")
    assert float(field.input_value()) == figure.values()[0][1] == pytest.approx(value + 1)


def test_steppers_stop_at_the_largest_value(open_page, write_page):
    figure = Figure(open_page(write_page(SameWeights(values=[[9.5, 10, -10], [1, 1, 1]]))))
    for label in ("Raise head 1, value of the", "Raise head 1, value of cat",
                  "Lower head 1, value of sat"):  # fmt: skip
        button = figure.host.get_by_label(f"{label} by 1")
        assert button.get_attribute("aria-disabled") == "true"
        button.click(force=True)
    assert figure.values()[0] == [9.5, 10, -10]


def test_page_gets_no_bare_keys(open_page, write_page):
    figure = Figure(open_page(write_page(SameWeights())))
    figure.page.evaluate(
        "() => { window.keys = []; document.onkeydown = (e) => window.keys.push(e.key); }"
    )
    figure.value(1, "cat").focus()
    for key in ("ArrowUp", "5", "Control+b"):
        figure.page.keyboard.press(key)
    assert figure.page.evaluate("window.keys") == ["Control", "b"]


def test_changes_are_announced(open_page, write_page):
    figure = Figure(open_page(write_page(SameWeights())))
    assert figure.status.inner_text() == ""
    figure.press("Copy head 1 to 2")
    expect(figure.status).to_have_text(
        "Same weights and same values: same outputs. "
        "Head 1: 2.36, −0.32, 2.00. Head 2: 2.36, −0.32, 2.00."
    )


def test_everything_has_a_name(address, open_page):
    figure = Figure(open_page(address))
    named = figure.host.evaluate(NAMES)
    assert [tag for tag, name in named if not name] == []
    assert {"Head 2, value of sat", "Lower head 2, value of sat by 1", "Values"} <= {
        name for _, name in named
    }


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_page_does_not_scroll_sideways(address, open_page, width, dark):
    page = open_page(address, width=width, dark=dark)
    figure = Figure(page)
    figure.value(1, "cat").fill("-9.876543")
    for label in ("one Q and K", "even", "on paper"):
        figure.choose(label)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert figure.host.evaluate("figure => figure.scrollWidth <= figure.clientWidth")


def test_touch_targets_are_large_enough(open_page, write_page):
    figure = Figure(open_page(write_page(SameWeights()), width=390))
    sides = np.array(
        figure.host.locator("button, .mha-option, input[type=number]").evaluate_all(
            "all => all.map((e) => e.getBoundingClientRect()).map((b) => [b.width, b.height])"
        )
    )
    assert sides[:, 1].min() >= 44
    assert sides[:, 0].min() >= 32  # six steppers side by side


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_all_text_stands_out(address, open_page, dark):
    figure = Figure(open_page(address, dark=dark, reduced_motion="reduce"))
    for label in ("one Q and K", "even", "on paper"):
        figure.choose(label)
        contrasts = figure.host.evaluate(CONTRASTS)
        assert len(contrasts) > 40
        assert contrasts[0][0] >= 4.5, contrasts[0]


@pytest.mark.parametrize("example", ["same", "on paper"])
@pytest.mark.parametrize("width", [1200, 656, 390])
def test_page_does_not_jump_when_the_figure_starts(open_page, write_page, width, example):
    page = open_page(write_page(SameWeights(example=example)), width=width, before=SHIFTS)
    assert_starts_in_place(page)


@pytest.mark.parametrize("width", [1200, 390])
def test_chapter_does_not_jump_when_its_figure_starts(open_page, width):
    assert_starts_in_place(open_page(chapter(CHAPTER), width=width, before=SHIFTS))


def test_without_scripts_the_tables_remain(open_page, write_page):
    page = open_page(write_page(SameWeights()), width=390, java_script_enabled=False)
    assert page.locator("mha-same-weights caption").count() == 2
    assert "2.36" in page.locator("mha-same-weights").inner_text()
    assert page.locator("body").bounding_box()["width"] <= 390


def test_two_figures_do_not_interfere(open_page, write_page):
    page = open_page(write_page(SameWeights(), SameWeights(example="on paper")))
    first, second = Figure(page, 0), Figure(page, 1)
    first.choose("even")
    first.press("Reverse head 2")
    assert second.host.evaluate("figure => figure.result().example") == "on paper"
    second.assert_numpys_numbers()
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids))


def test_notebook_and_figure_share_one_state(open_page, write_page):
    widget = SameWeights()
    page = open_page(write_page())
    page.evaluate(MODEL, [widget._esm, widget.get_state(list(widget.STATE))])
    page.locator(".mha-option", has_text="on paper").click()
    page.get_by_role("button", name="Reverse head 2").click()
    for sent in page.evaluate("model.sent"):  # figure -> kernel
        widget.set_state(sent)
    assert widget.values == ((2, 6), (-2, 10))
    assert page.locator(".mha-merged .mha-sum").all_inner_texts() == [
        fixed(x) for x in widget.result.output
    ]

    widget.example = "uniform"  # kernel -> figure
    page.evaluate(
        CHANGE,
        widget.get_state(list(widget.STATE)),
    )
    assert page.locator(".mha-weights td.mha-sum").all_inner_texts() == [
        fixed(x) for x in widget.result.heads.ravel()
    ]
    # A field that has the focus goes with its key, without an error.
    page.get_by_label("Head 1, value of sat", exact=True).focus()
    page.evaluate("model.set('example', 'on paper')")
    assert page.get_by_role("spinbutton").count() == 4
    page.evaluate("leave()")
    assert page.evaluate("model.heard()") == 0
