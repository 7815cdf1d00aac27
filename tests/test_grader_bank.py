"""No wrong answer that we know is accepted, and no right one is rejected."""

import contextlib
import io

import numpy as np
import pytest
from right_answers import RIGHT

from mha_lessons.grade.bank import BANK
from mha_lessons.grade.checks import CheckFailed
from mha_lessons.grade.exercises import split_heads, traps
from mha_lessons.grade.quiz import TRAPS, group_of

CHECKS = {
    name: check
    for module in (split_heads, traps)
    for name, check in vars(module).items()
    if hasattr(check, "answer")
}
WRONG = {identity: row for identity, row in BANK.items() if callable(row.wrong)}
CHOICES = {identity: row for identity, row in BANK.items() if not callable(row.wrong)}


def failure(check, answer):
    """Return the `CheckFailed` of a check, or None where it passes."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            check(answer)
        except CheckFailed as failed:
            return failed
    assert printed.getvalue() == f"ok: {check.__name__}\n"
    return None


def choices(row):
    return {row.check: row.wrong}


def test_the_bank_is_wide():
    assert len(WRONG) >= 60
    assert {row.answer for row in WRONG.values()} == {
        "split_heads",
        "parameter_count",
        "same_weights_different_outputs",
        "head_report",
    }


@pytest.mark.parametrize("row", WRONG.values(), ids=WRONG)
def test_a_wrong_answer_is_rejected_by_its_check_as_its_mistake(row):
    failed = failure(CHECKS[row.check], row.wrong)
    assert failed is not None
    assert (failed.mistake, failed.message, failed.hint) == (row.id, row.says, row.hint)


@pytest.mark.parametrize("row", CHOICES.values(), ids=CHOICES)
def test_a_wrong_choice_gets_its_own_explanation(row):
    failed = failure(CHECKS[row.check], choices(row))
    assert (failed.mistake, failed.message) == (row.id, row.says)


def test_every_check_is_the_only_one_that_catches_some_wrong_answer():
    needed = set()
    for row in BANK.values():
        answer = row.wrong if callable(row.wrong) else choices(row)
        rivals = {name: check for name, check in CHECKS.items() if check.answer == row.answer}
        caught = [
            name
            for name, check in rivals.items()
            # An item that is not answered is todo, which says nothing about this choice.
            if callable(answer) or name in answer
            if failure(check, answer)
        ]
        if len(caught) == 1:
            needed.update(caught)
    assert needed == set(CHECKS)


@pytest.mark.parametrize(("answer", "function"), RIGHT.values(), ids=RIGHT)
def test_a_right_answer_is_accepted_in_any_style(answer, function):
    for check in CHECKS.values():
        if check.answer == answer:
            assert failure(check, function) is None


def test_right_answers_are_many_for_each_function():
    answers = [answer for answer, _ in RIGHT.values()]
    assert len(answers) >= 40
    assert {answer: answers.count(answer) >= 6 for answer in answers} == dict.fromkeys(
        answers, True
    )


def test_no_known_mistake_is_taken_for_another_one_of_its_answer():
    # The same words for two mistakes would make one of them unreachable.
    said = [(row.answer, row.check, row.says) for row in BANK.values()]
    assert len(said) == len(set(said))


@pytest.mark.parametrize("trap", TRAPS.values(), ids=TRAPS)
def test_each_statement_has_one_right_choice_and_explains_the_others(trap):
    assert set(trap.explanations) == set(trap.choices) - {trap.right}
    assert failure(CHECKS[trap.id], {trap.id: f" {trap.right.upper()} "}) is None
    assert all(text.startswith(("True", "False")) for text in trap.choices.values())


def test_all_traps_are_asked_and_cannot_be_guessed():
    assert list(TRAPS) == [f"T{number}" for number in range(1, 21)]
    true = sum(trap.choices[trap.right].startswith("True") for trap in TRAPS.values())
    assert 8 <= true <= 12
    letters = [trap.right for trap in TRAPS.values()]
    assert all(5 <= letters.count(letter) <= 8 for letter in "abc")


@pytest.mark.parametrize(
    ("given", "status", "words"),
    [
        ({}, "NotWritten", "not answered yet"),
        ({"T8": None}, "NotWritten", "not answered yet"),
        ({"T8": "d"}, "CheckFailed", "must be one of a, b, c: got str 'd'"),
        ({"T8": ["a"]}, "CheckFailed", "must be one of a, b, c: got a list of 1"),
        ("a", "CheckFailed", "traps_6_to_10 must be a dictionary: got str 'a'"),
    ],
)
def test_a_choice_that_is_none_is_told_so(given, status, words):
    failed = failure(CHECKS["T8"], given)
    assert type(failed).__name__ == status
    assert words in failed.message


def test_the_groups_of_the_quiz_hold_five_traps_each():
    assert [group_of(f"T{n}") for n in (1, 5, 6, 20)] == [
        "traps_1_to_5",
        "traps_1_to_5",
        "traps_6_to_10",
        "traps_16_to_20",
    ]


def test_statement_T4_is_decided_by_numpy():
    with pytest.raises(ValueError, match="cannot reshape"):
        np.zeros((3, 512)).reshape(3, 10, 51)


def test_statement_T15_is_decided_by_numpy():
    T, num_heads, d_k = 2, 3, 5
    x = np.arange(T * num_heads * d_k).reshape(T, num_heads * d_k)
    mixed = x.reshape(num_heads, T, d_k)
    heads = x.reshape(T, num_heads, d_k).swapaxes(0, 1)
    assert not np.array_equal(mixed, heads)
    assert {*map(tuple, mixed[0])} != {*map(tuple, heads[0])}
