"""A quiz in Chromium: on the keyboard alone, each choice with its reason, no jump, no noise."""

import live_page
import numpy as np
import pytest
from live_page import CONTRASTS, NAMES, SHIFTS

from mha_lessons.grade.quiz import TRAPS
from mha_lessons.quiz import RIGHT, WRONG, Quiz

pytestmark = pytest.mark.browser

LONG = "Attention reads " * 12


@pytest.fixture
def write_quizzes(tmp_path):
    """A factory of pages: write_quizzes(*quizzes) -> address."""

    def write(*quizzes):
        body = "".join(quiz._repr_html_() for quiz in quizzes)
        return live_page.lay(tmp_path / "page.html", ["live_figure", "progress", "quiz"], body)

    return write


def quiz():
    choices = [
        (512, "Too wide."),
        (512 // 8, "So it is."),
        (8, f"The `heads`. {LONG}"),
        (LONG, "No."),
    ]
    return Quiz("width", "How wide is a head of `q`?", choices, right=64)


def said(page):
    return page.locator('[role="status"]').first.inner_text()


def focused(page):
    return page.evaluate("(document.activeElement.labels?.[0] ?? document.activeElement).innerText")


def test_keyboard_alone_answers_wrong_then_right(open_page, write_quizzes):
    page = open_page(write_quizzes(quiz()))
    press = page.keyboard.press
    press("Tab")
    assert focused(page) == "512"
    press("Enter")  # nothing is chosen yet
    assert said(page) == "Choose an answer first."
    press("Space")
    press("Enter")
    assert said(page) == f"{WRONG} Too wide. Try again: choose another answer."
    press("ArrowDown")
    assert (focused(page), said(page)) == ("64", "")
    press("Tab")
    assert focused(page) == "Check"
    press("Space")
    assert said(page) == f"{RIGHT} So it is."
    assert page.locator(".mha-passed").inner_text() == "✓ passed"
    assert page.url.endswith("page.html")  # the form was not sent


@pytest.mark.parametrize("name", TRAPS)
def test_every_choice_says_what_is_wrong_with_it(open_page, write_quizzes, name):
    trap = TRAPS[name]
    page = open_page(write_quizzes(Quiz.trap(name)))
    assert page.locator("legend").inner_text() == trap.statement
    # The right one last: until then nothing is passed.
    for letter in sorted(trap.choices, key=lambda letter: letter == trap.right):
        page.get_by_label(trap.choices[letter], exact=True).check()
        assert page.locator(".mha-passed").inner_text() == ""
        page.get_by_role("button", name="Check").click()
        if letter == trap.right:
            assert said(page) == RIGHT
        else:
            assert said(page).startswith(f"{WRONG} {trap.explanations[letter]} Try again")
    assert page.locator(".mha-passed").inner_text() == "✓ passed"


def test_two_quizzes_keep_apart(open_page, write_quizzes):
    page = open_page(write_quizzes(Quiz.trap("T1"), Quiz.trap("T1"), Quiz.trap("T2")))
    forms = page.locator("mha-quiz form")
    for form, choice in ((forms.nth(0), 1), (forms.nth(1), 0), (forms.nth(2), 2)):
        form.get_by_role("radio").nth(choice).check()
    forms.nth(0).get_by_role("button").click()
    assert [form.get_by_role("radio").count() for form in forms.all()] == [3, 3, 3]
    assert forms.get_by_role("radio", checked=True).count() == 3
    assert page.locator("[role=status]").all_inner_texts() == [RIGHT, "", ""]
    # The same question twice is one quiz to the reader.
    assert page.locator(".mha-passed").all_inner_texts() == ["✓ passed", "✓ passed", ""]


def test_passed_quiz_is_still_passed_on_the_next_visit(open_page, write_quizzes):
    page = open_page(write_quizzes(quiz()))
    page.get_by_label("64").check()
    page.keyboard.press("Enter")
    page.reload()
    assert page.locator(".mha-passed").inner_text() == "✓ passed"
    assert page.get_by_role("radio", checked=True).count() == 0


def test_quiz_works_where_no_progress_is_kept(open_page, tmp_path):
    body = quiz()._repr_html_()
    page = open_page(live_page.lay(tmp_path / "page.html", ["live_figure", "quiz"], body))
    page.get_by_label("64").check()
    page.keyboard.press("Enter")
    assert said(page) == f"{RIGHT} So it is."


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_text_stands_out_fits_and_is_easy_to_hit(open_page, write_quizzes, width, dark):
    page = open_page(write_quizzes(quiz()), width=width, dark=dark)
    for choice in ("8", "64"):
        page.get_by_label(choice, exact=True).check()
        page.get_by_role("button").click()
        contrasts = page.locator("mha-quiz").evaluate(CONTRASTS)
        assert len(contrasts) > 6
        assert contrasts[0][0] >= 4.5, contrasts[0]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    boxes = page.locator("mha-quiz :is(label, button)").evaluate_all(
        "all => all.map((e) => e.getBoundingClientRect()).map((b) => [b.width, b.height])"
    )
    assert np.min(boxes) >= 44
    assert all(name for _, name in page.locator("mha-quiz").evaluate(NAMES))


@pytest.mark.parametrize("width", [1200, 390])
def test_page_does_not_jump_when_the_form_comes(open_page, write_quizzes, width):
    page = open_page(write_quizzes(quiz(), Quiz.trap("T15")), width=width, before=SHIFTS)

    def places():
        return page.evaluate(
            "[...document.querySelectorAll('legend, .mha-live > p, summary, label, main > p')]"
            ".map((e) => e.getBoundingClientRect().top + scrollY)"
        )

    assert page.locator("form").count() == 0
    before = places()
    page.evaluate("window.startFigure()")
    page.locator("form").nth(1).wait_for()
    np.testing.assert_allclose(places(), before, atol=1)
    assert page.evaluate("window.shift") < 0.01


def test_without_scripts_each_choice_unfolds_its_reason(open_page, write_quizzes):
    page = open_page(write_quizzes(quiz()), java_script_enabled=False)
    assert page.locator("input, button").count() == 0
    for choice, reason in (("512", f"{WRONG} Too wide."), ("64", f"{RIGHT} So it is.")):
        answer = page.get_by_text(reason)
        assert not answer.is_visible()
        page.locator("summary", has_text=choice).first.click()
        assert answer.is_visible()


@pytest.mark.parametrize("script", [True, False])
def test_paper_shows_the_choices_and_no_answer(open_page, write_quizzes, script):
    page = open_page(write_quizzes(quiz()), java_script_enabled=script)
    if script:
        page.get_by_label("64").check()
        page.get_by_role("button").click()
    else:
        page.locator("summary").nth(1).click()
    page.emulate_media(media="print")
    text = page.locator("mha-quiz").inner_text()
    assert all(word in text for word in ("How wide", "512", "64"))
    assert "So it is" not in text
    assert "passed" not in text
    assert page.locator("mha-quiz :is(input, button):visible").count() == 0
