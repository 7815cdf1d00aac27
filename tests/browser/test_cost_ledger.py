"""The cost ledger in Chromium: the counts of mha_lessons.cost, under any hand."""

import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from live_page import CHANGE, CONTRASTS, MODEL, NAMES, SHIFTS, assert_starts_in_place, chapter

from mha_lessons import cost
from mha_lessons.widgets import CostLedger
from mha_lessons.widgets.cost_ledger import BYTES, DEEPEST, LONGEST, WIDEST

pytestmark = pytest.mark.browser
expect = pytest.importorskip("playwright.sync_api").expect

CHAPTER = "05_compute_cost"
COMPUTE = "state => mhaCostLedger.compute(state)"
LARGEST = {"T": LONGEST, "d_model": WIDEST, "num_heads": WIDEST, "layers": DEEPEST}


class Ledger:
    """A ledger on a page, as a reader and as a test see it."""

    def __init__(self, page):
        self.page = page
        self.host = page.locator("mha-cost-ledger")
        self.host.locator(".mha-live").wait_for()
        self.status = self.host.locator('[role="status"]')

    def field(self, name):
        return self.host.get_by_role("spinbutton", name=name, exact=True)

    def list(self, name):
        return self.host.get_by_role("combobox", name=name, exact=True)

    def slider(self, name):
        return self.host.get_by_role("slider", name=name, exact=True)

    def state(self):
        result = self.host.evaluate("ledger => ledger.result()")
        return {name: result[name] for name in CostLedger.STATE}

    def assert_the_librarys_counts(self):
        result = self.host.evaluate("ledger => ledger.result()")
        twin = CostLedger(**self.state())
        assert_equal(result, twin)
        return twin

    def text(self):
        return re.sub(r"[\u00a0\u202f]", " ", self.host.inner_text())


def assert_equal(result, twin):
    """Compare the counts of a result with the widget's, exactly."""
    assert list(result["here"].items()) == [(e.name, e.here) for e in twin.entries()]
    assert list(result["one"].items()) == [(e.name, e.one_head) for e in twin.entries()]
    assert result["crossover"] == twin.crossover


@st.composite
def sizes(draw):
    """Sizes that the figure offers: each number of heads divides what it must."""

    def divisor(n):
        return draw(st.sampled_from([part for part in range(1, n + 1) if n % part == 0]))

    d_model = draw(st.integers(1, 1024) | st.sampled_from([4096, 12288, WIDEST]))
    num_heads = divisor(d_model)
    return {
        "T": draw(st.integers(1, LONGEST)),
        "d_model": d_model,
        "num_heads": num_heads,
        "num_kv_heads": draw(st.none() | st.just(divisor(num_heads))),
        "layers": draw(st.integers(1, DEEPEST)),
        "bytes_per_element": draw(st.sampled_from(BYTES)),
    }


@pytest.fixture
def ledger(open_page, write_page):
    return Ledger(open_page(write_page(CostLedger())))


def test_first_state_is_the_pythons(ledger):
    ledger.assert_the_librarys_counts()
    assert ledger.state() == {name: getattr(CostLedger(), name) for name in CostLedger.STATE}


def test_element_without_config_is_the_default_widget(ledger):
    first = ledger.state()
    ledger.host.evaluate("host => host.replaceWith(document.createElement('mha-cost-ledger'))")
    assert ledger.state() == first


def test_any_sizes_give_the_librarys_counts_exactly(ledger):
    @settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
    @given(sizes())
    def check(state):
        assert_equal(ledger.page.evaluate(COMPUTE, state), CostLedger(**state))

    check()


def test_largest_sizes_are_still_exact(ledger):
    state = {**LARGEST, "num_kv_heads": None, "bytes_per_element": 8}
    result = ledger.page.evaluate(COMPUTE, state)
    assert_equal(result, CostLedger(**state))
    assert max(result["here"].values()) < 2**53


def test_every_control_gives_the_librarys_counts(ledger):
    first = ledger.state()
    ledger.field("T, length").fill("1000")
    ledger.field("T, length").press("Enter")
    ledger.field("d_model").fill("768")
    ledger.field("d_model").press("Tab")
    ledger.list("h, heads").select_option("12")
    ledger.list("Key/value heads").select_option("4")
    ledger.field("Layers").fill("13")
    ledger.field("Layers").press("Enter")
    ledger.list("Bytes").select_option("4")
    assert list(ledger.state().values()) == [1000, 768, 12, 4, 13, 4]
    ledger.assert_the_librarys_counts()

    for name in ("T, length", "d_model", "h, heads", "Key/value heads", "Layers", "Bytes"):
        before = ledger.state()
        ledger.slider(name).press("ArrowLeft")
        assert ledger.state() != before, name
        ledger.assert_the_librarys_counts()
    ledger.host.get_by_role("button", name="Reset").click()
    assert ledger.state() == first


def test_sliders_reach_every_stop_and_start_from_the_nearest(ledger):
    ledger.slider("T, length").press("End")
    assert ledger.state()["T"] == LONGEST
    ledger.slider("T, length").press("Home")
    assert ledger.state()["T"] == 1
    ledger.field("T, length").fill("3000")
    ledger.field("T, length").press("Enter")
    ledger.slider("T, length").press("ArrowRight")
    assert ledger.state()["T"] == 4096


def test_only_divisors_are_offered_and_the_figure_says_why(ledger):
    def offered(name):
        return [int(n) for n in ledger.list(name).locator("option").all_inner_texts()]

    assert offered("h, heads") == [2**n for n in range(10)]
    assert offered("Key/value heads") == [1, 2, 4, 8]
    assert "h must divide d_model, so that d_k is whole" in ledger.text()
    ledger.field("d_model").fill("500")
    ledger.field("d_model").press("Enter")
    assert offered("h, heads") == [1, 2, 4, 5, 10, 20, 25, 50, 100, 125, 250, 500]
    assert offered("Key/value heads") == [1, 5]
    assert ledger.state()["num_heads"] == 5
    assert "8 heads do not divide d_model = 500, so there are 5 heads now." in ledger.text()
    expect(ledger.status).to_have_text(re.compile("^8 heads do not divide d_model = 500"))
    ledger.list("h, heads").select_option("10")
    ledger.list("Key/value heads").select_option("2")
    ledger.list("h, heads").select_option("25")
    assert ledger.state()["num_kv_heads"] == 1
    assert "2 key and value heads do not divide 25" in ledger.text()
    ledger.assert_the_librarys_counts()


def test_keys_of_their_own_follow_the_heads(ledger):
    ledger.slider("h, heads").press("ArrowRight")
    assert (ledger.state()["num_heads"], ledger.state()["num_kv_heads"]) == (16, None)
    assert ledger.list("Key/value heads").input_value() == "16"
    ledger.slider("Key/value heads").press("ArrowLeft")
    assert ledger.state()["num_kv_heads"] == 8
    assert "each serves 2 heads" in ledger.text()
    ledger.slider("Key/value heads").press("End")
    assert ledger.state()["num_kv_heads"] is None


@pytest.mark.parametrize("typed", ["0", "-3", "2.5", "131073", ""])
def test_impossible_length_is_refused_with_the_rule(ledger, typed):
    field = ledger.field("T, length")
    field.fill(typed)
    field.press("Enter")
    assert ledger.state()["T"] == 2048
    assert field.get_attribute("aria-invalid") == "true"
    assert "A whole number from 1 to 131 072, please." in ledger.text()
    field.press("Tab")
    assert field.input_value() == "2048"
    assert field.get_attribute("aria-invalid") is None
    assert "A whole number from 1 to 131 072, please." in ledger.text()  # whoever left sees it too
    assert ledger.host.locator("[aria-live]", has_text="please").count() == 1
    field.fill("999936")
    field.press("Shift+Tab")
    field.focus()
    field.fill("100")
    field.press("Enter")
    assert "please" not in ledger.text()


def verdicts(ledger):
    """Map each row's name to its verdict."""
    bodies = ledger.host.locator(".mha-ledger tbody[data-verdict]")
    return dict(
        bodies.evaluate_all(
            "all => all.map((b) => [b.querySelector('.mha-entry').textContent,"
            " b.querySelector('.mha-compared').textContent.replaceAll('\\u00a0', ' ')])"
        )
    )


def test_rows_say_in_words_which_are_equal_and_which_grow(ledger):
    assert verdicts(ledger) == {
        "projections to Q, K, V": "= equal",
        "projection W_O": "= equal",
        "score products": "= equal",
        "softmax, elements": "▲ grows, × 8",
        "weights, if stored": "▲ grows, × 8",
        "kept by a fused kernel": "▲ grows, × 1.03",
        "cache of K and V": "= equal",
        "stored parameters": "= equal",
        "parameters that count": "▲ grows, × 1.88",
    }
    equal = "projections to Q, K, V; projection W_O; score products; cache of K and V"
    assert f"Equal: {equal}" in ledger.text()
    ledger.list("Key/value heads").select_option("2")
    assert verdicts(ledger)["cache of K and V"] == "▼ shrinks, × 0.25"
    assert "Smaller: projections to Q, K, V; cache of K and V; stored parameters" in ledger.text()
    ledger.list("h, heads").select_option("1")
    assert set(verdicts(ledger).values()) == {"= equal"}


def test_numbers_and_bars_are_those_of_the_library(ledger):
    ledger.list("Key/value heads").select_option("2")
    twin = ledger.assert_the_librarys_counts()
    numbers = ledger.host.locator(".mha-ledger tbody[data-verdict] .mha-count").all_inner_texts()
    expected = [n for e in twin.entries() for n in (e.here, e.one_head)]
    assert [int(re.sub(r"\s", "", text)) for text in numbers] == expected
    widths = ledger.host.locator(".mha-ledger tbody[data-verdict] .mha-length").evaluate_all(
        "bars => bars.map((b) => parseFloat(b.style.width))"
    )
    shares = [100 * n / max(e.here, e.one_head) for e in twin.entries() for n in e[2:]]
    np.testing.assert_allclose(widths, shares, atol=0.005 + 1e-9)


def test_crossover_is_where_the_score_products_overtake(ledger):
    assert "d_model (1 + h_kv/h) = 1 024, the crossover" in ledger.text()
    assert "At T = 2 048 the score products cost 2.00 times as much" in ledger.text()
    ledger.field("T, length").fill("1024")
    ledger.field("T, length").press("Enter")
    assert "At T = 1 024 the score products cost 1.00 times" in ledger.text()
    result = ledger.host.evaluate("ledger => ledger.result()")["here"]
    projections = result["projections to Q, K, V"] + result["projection W_O"]
    assert projections == result["score products"]
    assert cost.crossover_length(512, 8) == 1024
    expect(ledger.status).to_have_text(re.compile("At T = 1.024 .* 1.00 times"))  # what is new
    ledger.slider("Layers").press("ArrowRight")
    expect(ledger.status).to_have_text(re.compile(r"^cache of K and V: [\d.]+.M bytes\.$"))


def test_no_count_is_rounded_away(ledger):
    for name, value in (("d_model", "16384"), ("T, length", "1")):
        ledger.field(name).fill(value)
        ledger.field(name).press("Enter")
    ledger.list("h, heads").select_option("16384")
    ledger.list("Key/value heads").select_option("1")
    assert verdicts(ledger)["cache of K and V"] == "▼ shrinks, × 0.000061"
    assert "cost 0.000061 times as much" in ledger.text()
    ledger.field("T, length").fill("707")
    ledger.field("T, length").press("Enter")
    ledger.list("h, heads").select_option("2")
    assert "1.00 M elements" in ledger.text().replace("\u00a0", " ")  # 999 698, not 1000 k


def test_keyboard_reaches_every_control(ledger):
    ledger.field("T, length").focus()
    names = []
    for _ in range(12):
        names.append(
            ledger.page.evaluate(
                "document.activeElement.ariaLabel || document.activeElement.labels?.[0].textContent"
            )
        )
        ledger.page.keyboard.press("Tab")
    fields = ("T, length", "d_model", "h, heads", "Key/value heads", "Layers", "Bytes")
    assert names == [name for name in fields for _ in range(2)]
    assert ledger.page.evaluate("document.activeElement.textContent") == "Reset"


def test_page_gets_no_bare_keys(ledger):
    ledger.page.evaluate(
        "() => { window.keys = []; document.onkeydown = (e) => window.keys.push(e.key); }"
    )
    ledger.slider("T, length").focus()
    for key in ("ArrowLeft", "Home", "Control+b"):
        ledger.page.keyboard.press(key)
    assert ledger.page.evaluate("window.keys") == ["Control", "b"]


def test_every_control_has_a_name(ledger):
    assert all(name for _, name in ledger.host.evaluate(NAMES))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390, 340])
def test_page_does_not_scroll_sideways(open_page, write_page, width, dark):
    for figure in (CostLedger(), CostLedger(**LARGEST, bytes_per_element=8)):
        page = open_page(write_page(figure), width=width, dark=dark)
        ledger = Ledger(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        overflowing = ledger.host.evaluate(
            """host => [...host.querySelectorAll("td, th, p, button, label, .mha-field")]
              .filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.outerHTML)"""
        )
        assert overflowing == []


def test_touch_targets_are_large_enough(open_page, write_page):
    ledger = Ledger(open_page(write_page(CostLedger()), width=390))
    boxes = ledger.host.locator("button, input, select").evaluate_all(
        "all => all.map((e) => e.getBoundingClientRect()).map((b) => [b.width, b.height])"
    )
    assert np.min(boxes) >= 44


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_all_text_stands_out(open_page, write_page, dark):
    ledger = Ledger(open_page(write_page(CostLedger()), dark=dark, reduced_motion="reduce"))
    contrasts = ledger.host.evaluate(CONTRASTS)
    assert len(contrasts) > 80
    assert contrasts[0][0] >= 4.5, contrasts[0]


@pytest.mark.parametrize("width", [1200, 700, 500, 390])
def test_page_does_not_jump_when_the_figure_starts(open_page, write_page, width):
    page = open_page(write_page(CostLedger()), width=width, before=SHIFTS)
    assert_starts_in_place(page)


@pytest.mark.parametrize("width", [1200, 390])
def test_chapter_holds_the_figure_without_jump_or_sideways_scroll(open_page, width):
    page = open_page(chapter(CHAPTER), width=width, before=SHIFTS)
    assert_starts_in_place(page)
    Ledger(page).assert_the_librarys_counts()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_without_scripts_the_table_remains(open_page, write_page):
    page = open_page(write_page(CostLedger()), java_script_enabled=False, width=390)
    assert page.locator("mha-cost-ledger caption").count() == 1
    assert "8,589,934,592" in page.locator("mha-cost-ledger").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_notebook_and_figure_share_one_state(open_page, write_page):
    widget = CostLedger()
    page = open_page(write_page(script=False))
    page.evaluate(MODEL, [widget._esm, widget.get_state(list(widget.STATE))])
    field = page.get_by_role("spinbutton", name="d_model")
    field.fill("500")
    field.press("Enter")
    for sent in page.evaluate("model.sent"):  # figure -> kernel
        widget.set_state(sent)
    assert (widget.d_model, widget.num_heads) == (500, 5)

    widget.num_kv_heads = 1  # kernel -> figure
    page.evaluate(CHANGE, widget.get_state(["num_kv_heads"]))
    numbers = page.locator(".mha-ledger tbody[data-verdict] .mha-count").all_inner_texts()
    assert [int(re.sub(r"\s", "", n)) for n in numbers[::2]] == [e.here for e in widget.entries()]
    page.evaluate("leave()")
    assert page.evaluate("model.heard()") == 0
