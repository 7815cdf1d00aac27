"""Quizzes: what they refuse, what they show, and that the book's have no gap."""

import doctest
import re
from html.parser import HTMLParser

import nbformat
import numpy as np
import pytest
from test_chapters import chapters, every_chapter

from mha_lessons import quiz
from mha_lessons.grade.quiz import TRAPS
from mha_lessons.quiz import RIGHT, WRONG, Quiz

TWO = [(4, "Too few."), (7, "")]


class Shown(HTMLParser):
    """What a quiz says to a reader without scripts: question, and (choice, answer, is right)."""

    def __init__(self, html):
        super().__init__()
        self.texts, self.rights, self.inside = {"p": [], "summary": []}, [], None
        self.feed(html)
        question, *answers = self.texts["p"]
        self.question = question
        self.items = list(zip(self.texts["summary"], answers, self.rights, strict=True))

    def handle_starttag(self, tag, attributes):
        if tag in self.texts:
            self.inside = tag
            self.texts[tag].append("")
        if tag == "li":
            self.rights.append("data-right" in dict(attributes))

    def handle_endtag(self, tag):
        self.inside = None if tag == self.inside else self.inside

    def handle_data(self, data):
        if self.inside:
            self.texts[self.inside][-1] += data


def shown(notebook):
    """Yield the quizzes that a stored notebook holds, as HTML."""
    for cell in nbformat.read(notebook, 4).cells:
        for output in cell.get("outputs", ()):
            html = output.get("data", {}).get("text/html", "")
            if html.startswith("<mha-quiz"):
                yield html


def names(html):
    return re.findall(r'<mha-quiz name="([^"]+)"', html)


def assert_answers_everything(html):
    items = Shown(html).items
    assert sum(is_right for *_, is_right in items) == 1
    for choice, answer, is_right in items:
        assert choice.strip()
        assert answer.startswith(RIGHT if is_right else WRONG)
        assert is_right or len(answer.removeprefix(WRONG).split()) >= 4, (choice, answer)


@every_chapter
def test_a_chapter_has_two_to_four_quizzes_and_each_wrong_choice_its_explanation(chapter):
    found = list(shown(chapter.with_suffix(".ipynb")))
    assert 2 <= len(found) <= 4
    for html in found:
        assert_answers_everything(html)


@every_chapter
def test_a_chapter_has_a_quiz_whose_answer_is_computed(chapter):
    text = chapter.read_text(encoding="utf-8").split("\n## Quiz\n")[1].split("\n## ")[0]
    answers = re.findall(r"^    right=(.+),$", text, re.MULTILINE)
    assert answers
    assert all(re.search(r"[a-z_]\w*[.(\[]|\d [*/+-] ", answer) for answer in answers), answers


def test_a_name_stands_once_in_the_book():
    every = [
        name
        for chapter in chapters()
        for html in shown(chapter.with_suffix(".ipynb"))
        for name in names(html)
    ]
    assert len(every) == len(set(every)) > 0


@pytest.mark.parametrize("name", TRAPS)
def test_trap_is_the_item_of_the_exercise(name):
    trap, page = TRAPS[name], Shown(Quiz.trap(name)._repr_html_())
    assert page.question == trap.statement.replace("`", "")
    assert [choice for choice, *_ in page.items] == list(trap.choices.values())
    (right,) = [choice for choice, _, is_right in page.items if is_right]
    assert right == trap.choices[trap.right]
    said = [
        answer.removeprefix(WRONG).strip() for _, answer, is_right in page.items if not is_right
    ]
    assert said == list(trap.explanations.values())
    assert_answers_everything(Quiz.trap(name)._repr_html_())


def test_numbers_are_shown_as_a_reader_writes_them():
    values = [np.int64(-3), np.float64(0.1) + 0.2, 2.0, np.float32(0.5), 1 / 3, -0.0, 1536]
    made = Quiz("numbers", "Which?", [(value, "No.") for value in values], right=0.3)
    assert [choice.text for choice in made.choices] == "−3 0.3 2 0.5 0.3333 0 1536".split()
    assert [choice.is_right for choice in made.choices].index(True) == 1


def test_texts_are_shown_as_texts_and_backticks_as_code():
    made = Quiz("a", "Is `a < b` <b>bold</b>?", [("`x & y`", "No."), ("yes", "")], right="yes")
    html = made._repr_html_()
    assert "<code>a &lt; b</code> &lt;b&gt;bold&lt;/b&gt;?" in html
    assert "<summary><code>x &amp; y</code></summary>" in html


def test_plain_text_gives_no_answer_away():
    assert repr(Quiz("a", "How many?", TWO, right=7)) == "Quiz a: How many?\n- 4\n- 7"


def test_docstring_example_holds():
    result = doctest.testmod(quiz)
    assert result.attempted
    assert not result.failed


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"name": "two words"}, ValueError, "letters, digits and hyphens.*got 'two words'. Choose"),
        ({"name": 3}, ValueError, "letters, digits and hyphens.*got 3. Choose"),
        ({"question": " "}, ValueError, "needs a question.*the question of 'a' is ' '. Write"),
        ({"choices": TWO[1:]}, ValueError, r"two choices or more.*'a' got \[\(7, ''\)\]. Write"),
        ({"choices": [4, 7]}, ValueError, r"each with its explanation: 'a' got \[4, 7\]. Write"),
        ({"choices": [*TWO, (7.0, "")]}, ValueError, "must differ: 'a' shows '7' twice. Change"),
        ({"choices": [(4, ""), (7, "")]}, ValueError, "the explanation of '4' of 'a' is ''. Write"),
        ({"choices": [(4, "No."), (7, None)]}, ValueError, "explanation of '7' of 'a' is None"),
        (
            {"right": 8},
            ValueError,
            "one of the choices: 'a' got '8', and the choices 4, 7. Correct",
        ),
        ({"right": 7.1}, ValueError, "one of the choices: 'a' got '7.1'"),
        ({"right": np.nan}, ValueError, "finite number: 'a' got nan. Look at its computation"),
        ({"right": True}, TypeError, "a text or a number: 'a' got True. Pass one"),
        ({"choices": [*TWO, ("", "No.")]}, TypeError, "a text or a number: 'a' got ''"),
        ({"right": np.array([7])}, TypeError, r"a number: 'a' got array\(\[7\]\). Pass one"),
    ],
)
def test_bad_quiz_is_refused_with_advice(change, error, message):
    given = {"name": "a", "question": "How many?", "choices": TWO, "right": 7, **change}
    with pytest.raises(error, match=message):
        Quiz(**given)


def test_unknown_trap_is_refused():
    with pytest.raises(ValueError, match="Traps are T1 to T20: got 'T21'"):
        Quiz.trap("T21")
