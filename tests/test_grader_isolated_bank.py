"""An answer in another process gets the verdict, words and hint that it gets in this one."""

import re

import answer_bank
import pytest
from right_answers import RIGHT
from test_grader_bank import CHECKS, CHOICES, WRONG, choices, failure

from mha_lessons.grade.elsewhere import Elsewhere

LIMIT = 60  # seconds; a busy machine loads torch slowly
# Only there is the bank's code a learner's, whose line is shown.
LINE = re.compile(r" \(at your line `.*`\)")


@pytest.fixture(scope="module")
def answers():
    answers = Elsewhere()
    try:
        assert answers.run("bank", answer_bank.cell(), LIMIT) is None
        yield answers
    finally:
        answers.end()


def isolated(answers, expression):
    assert answers.run("row", f"row = {expression}", LIMIT) is None
    answers.cells.pop()
    return lambda check: failure(check, answers.look("row", LIMIT))


def words(failed):
    return failed and (
        type(failed),
        LINE.sub("", failed.message),
        failed.hint,
        failed.mistake,
    )


@pytest.mark.parametrize("row", WRONG.values(), ids=WRONG)
def test_a_wrong_answer_gets_the_same_words_from_every_check(answers, row):
    judged = isolated(answers, f"BANK[{row.id!r}].wrong")
    for check in CHECKS.values():
        if check.answer == row.answer:
            assert words(judged(check)) == words(failure(check, row.wrong))


@pytest.mark.parametrize("row", CHOICES.values(), ids=CHOICES)
def test_a_wrong_choice_gets_the_same_words(answers, row):
    judged = isolated(answers, repr(choices(row)))
    assert words(judged(CHECKS[row.check])) == words(failure(CHECKS[row.check], choices(row)))


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_answer_is_accepted(answers, name):
    judged = isolated(answers, f"RIGHT[{name!r}][1]")
    for check in CHECKS.values():
        if check.answer == RIGHT[name][0]:
            assert judged(check) is None
