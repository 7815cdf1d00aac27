"""What the reader has read and passed: kept in the browser only, exported, imported, erased."""

import json
import re

import live_page
import pytest
from built_book import pages, site
from live_page import SHIFTS

pytestmark = pytest.mark.browser

KEY = "mha-lessons-progress"
CHAPTER = "book/01_single_head"
QUIZZES = ["third-weight", "T14", "T12"]
NOT_YET, READ = "not yet", "✓ read"
BLOCKED = """Object.defineProperty(window, "localStorage", {
  get() { throw new DOMException("denied", "SecurityError"); } });"""


def address(name):
    return f"{site().as_uri()}/{name}.html"


def forget_chatter(page):
    page.heard[:] = [message for message in page.heard if not message.startswith("log:")]


def stored(page):
    return json.loads(page.evaluate(f"localStorage.getItem('{KEY}')") or "null")


def keep(page, **progress):
    """Store progress as another tab would."""
    page.evaluate(
        """([key, text]) => {
          localStorage.setItem(key, text);
          dispatchEvent(new StorageEvent("storage", { key }));
        }""",
        [KEY, json.dumps({"read": {}, "passed": {}, **progress})],
    )


def table(page):
    """Return the cells of each chapter's row by its first word: `{"1.": [read, passed]}`."""
    rows = page.locator("mha-progress tbody tr").all()
    return {row.inner_text().split()[0]: row.locator("td").all_inner_texts() for row in rows}


def pass_all(page):
    for form in page.locator("mha-quiz form").all():
        for radio in form.get_by_role("radio").all():
            radio.check()
            form.get_by_role("button").click()
            if "✓" in form.locator(".mha-passed").inner_text():
                break


def lay_table(folder, **more):
    """Write a page that holds the table of the book alone."""
    html = (site() / "book" / "index.html").read_text(encoding="utf-8")
    part = re.search(r"<mha-progress>.*?</mha-progress>", html, re.DOTALL)[0]
    return live_page.lay(folder / "page.html", ["live_figure", "progress"], part, **more)


def test_reading_and_passing_shows_on_the_first_page(open_page):
    page = open_page(address(pages()[0]))
    untouched = table(page)
    assert untouched["1."] == [NOT_YET, "0 of 3"]
    assert len(untouched) >= 4
    page.goto(address(CHAPTER))
    assert page.locator(".mha-count").inner_text() == "0 of 3"
    assert stored(page) is None
    pass_all(page)
    assert page.locator(".mha-count").inner_text() == "3 of 3"
    assert stored(page) == {"read": {}, "passed": dict.fromkeys(QUIZZES, True)}
    page.locator("mha-progress").scroll_into_view_if_needed()
    page.wait_for_function("document.querySelector('mha-progress input').checked")
    page.get_by_role("link", name="Your progress").click()
    assert page.url.endswith("#your-progress")
    page.wait_for_load_state()
    assert table(page) == {**untouched, "1.": [READ, "3 of 3"]}
    forget_chatter(page)


def test_top_of_a_page_is_not_its_end(open_page):
    page = open_page(address(CHAPTER))
    page.wait_for_timeout(500)
    assert not page.locator("mha-progress input").is_checked()
    assert stored(page) is None
    forget_chatter(page)


def test_reader_who_says_not_read_is_believed(open_page):
    page = open_page(address(CHAPTER))
    box = page.get_by_label("I have read this page")
    box.scroll_into_view_if_needed()
    page.wait_for_function("document.querySelector('mha-progress input').checked")
    box.focus()
    page.keyboard.press("Space")
    page.reload()
    box.scroll_into_view_if_needed()
    page.wait_for_timeout(500)
    assert not box.is_checked()
    assert stored(page)["read"] == {"01_single_head": False}
    page.goto(address(pages()[0]))
    assert table(page)["1."][0] == NOT_YET
    forget_chatter(page)


def test_export_then_erase_then_import_brings_it_back(open_page, tmp_path):
    page = open_page(lay_table(tmp_path))
    keep(page, read={"01_single_head": True}, passed={"T12": True, "row-sum": True})
    before = stored(page)
    status = page.get_by_role("status")

    with page.expect_download() as download:
        page.get_by_role("button", name="Export").press("Enter")
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    assert file.name == "mha-lessons-progress.json"
    assert json.loads(file.read_text()) == before
    assert "in the downloaded file" in status.inner_text()

    page.once("dialog", lambda dialog: dialog.dismiss())
    page.get_by_role("button", name="Erase").click()
    assert stored(page) == before
    asked = []
    page.once("dialog", lambda dialog: (asked.append(dialog.message), dialog.accept()))
    page.get_by_role("button", name="Erase").press("Enter")
    assert "can't be undone" in asked[0]
    assert stored(page) is None
    assert {cell for cells in table(page).values() for cell in cells} <= {
        NOT_YET,
        "0 of 3",
        "0 of 4",
    }

    page.locator("input[type=file]").set_input_files(file)
    page.get_by_text("Imported").wait_for()
    assert stored(page) == before
    assert table(page)["1."] == [READ, "1 of 3"]
    assert table(page)["4."] == [NOT_YET, "1 of 4"]


def test_import_button_opens_the_choice_of_a_file(open_page, tmp_path):
    page = open_page(lay_table(tmp_path))
    with page.expect_file_chooser():
        page.get_by_role("button", name="Import").press("Enter")


def test_import_adds_and_takes_nothing_away(open_page, tmp_path):
    page = open_page(lay_table(tmp_path))
    keep(page, read={"01_single_head": True, "04_causal_mask": False}, passed={"T12": True})
    file = tmp_path / "other.json"
    other = {"read": {"01_single_head": False, "04_causal_mask": True}, "passed": {"T14": True}}
    file.write_text(json.dumps(other))
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_text("Imported").wait_for()
    assert stored(page) == {
        "read": {"01_single_head": True, "04_causal_mask": True},
        "passed": {"T12": True, "T14": True},
    }


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("", "got an empty file"),
        ("no json", "got “no json”"),
        ("null", "got “null”"),
        pytest.param(
            json.dumps({"read": {}, "passed": {"x" * 6_000_000: True}}),
            "has at most 100000 characters: got 6000034. Choose",
            id="more than a browser stores",
        ),
        ('{"__proto__": {"read": {}, "passed": {}}}', "got “{"),
        ('{"read": {}}', 'got “{"read": {}}”'),
        ('{"read": {}, "passed": {"T1": "yes"}}', "got “{"),
        ('{"read": [], "passed": {}}', "got “{"),
    ],
)
def test_other_file_is_refused_with_advice(open_page, tmp_path, text, got):
    page = open_page(lay_table(tmp_path))
    keep(page, passed={"T12": True})
    file = tmp_path / "other.json"
    file.write_text(text)
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_text("A progress file ").wait_for()
    said = page.get_by_role("status").inner_text()
    assert got in said
    assert said.endswith("Choose a file that this page exported.")
    assert stored(page) == {"read": {}, "passed": {"T12": True}}


def test_spoilt_store_is_an_empty_one(open_page, tmp_path):
    page = open_page(lay_table(tmp_path), before=f"localStorage.setItem('{KEY}', 'spoilt')")
    assert table(page)["1."] == [NOT_YET, "0 of 3"]
    assert "Kept in this browser only" in page.locator(".mha-kept").inner_text()


def test_other_tab_shows_at_once(open_page, tmp_path):
    first = open_page(lay_table(tmp_path))
    second = first.context.new_page()
    second.goto(first.url)
    second.evaluate("mhaProgress.pass('T14')")
    first.get_by_text("1 of 3").wait_for()
    first.evaluate("mhaProgress.pass('T12')")
    second.get_by_text("2 of 3").wait_for()
    # The back button brings a page again that slept, and got no event.
    first.evaluate(
        """([key, text]) => {
          localStorage.setItem(key, text);
          dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }));
        }""",
        [KEY, json.dumps({"read": {}, "passed": {"T14": True}})],
    )
    assert table(first)["1."][1] == "1 of 3"


def test_browser_that_stores_nothing_is_no_obstacle(open_page, tmp_path):
    page = open_page(lay_table(tmp_path), before=BLOCKED)
    page.evaluate("mhaProgress.pass('T14')")
    page.evaluate("mhaProgress.pass('T12')")
    assert table(page)["1."] == [NOT_YET, "2 of 3"]
    assert "your progress ends with this page" in page.locator(".mha-kept").inner_text()
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Erase").click()
    assert table(page)["1."] == [NOT_YET, "0 of 3"]


@pytest.mark.parametrize("name", [pages()[0], CHAPTER])
@pytest.mark.parametrize("width", [1200, 390])
def test_nothing_moves_when_progress_is_filled_in(open_page, name, width):
    known = {"read": {"01_single_head": True}, "passed": dict.fromkeys(QUIZZES, True)}
    store = f"localStorage.setItem('{KEY}', '{json.dumps(known)}');"
    page = open_page(address(name), width=width, before=store + SHIFTS)
    live_page.wait_for_equations(page)
    page.wait_for_timeout(300)

    def boxes():
        return page.evaluate(
            "[...document.querySelectorAll('mha-progress, mha-progress tr')]"
            ".map((e) => e.clientHeight)"
        )

    before = boxes()
    assert "3 of 3" not in page.locator("mha-progress").inner_text()
    page.evaluate("window.startFigure()")
    assert "3 of 3" in page.locator("mha-progress").inner_text()
    assert boxes() == before
    assert before[0] > 40
    forget_chatter(page)


@pytest.mark.parametrize("name", [pages()[0], CHAPTER])
def test_without_scripts_nothing_dead_is_shown(open_page, name):
    page = open_page(address(name), java_script_enabled=False)
    assert page.locator("mha-progress").count() == 1
    assert page.locator("mha-progress :is(button, input, table):visible").count() == 0
    assert not page.locator("mha-progress").is_visible()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_table_stands_out_fits_and_is_easy_to_hit(open_page, width, dark):
    page = open_page(address(pages()[0]), width=width, dark=dark)
    contrasts = page.locator("mha-progress").evaluate(live_page.CONTRASTS)
    assert contrasts[0][0] >= 4.5, contrasts[0]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    heights = page.locator("mha-progress button").evaluate_all(
        "all => all.map(e => e.offsetHeight)"
    )
    assert len(heights) == 3
    assert min(heights) >= 44
    forget_chatter(page)
