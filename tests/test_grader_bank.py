"""No wrong answer that we know is accepted, and no right one is rejected."""

import contextlib
import io

import numpy as np
import pytest
import right_answers_costs  # noqa: F401 - puts its answers into RIGHT, as do the others
import right_answers_layer  # noqa: F401
import right_answers_masks  # noqa: F401
import right_answers_one_head  # noqa: F401
from right_answers import RIGHT

from mha_lessons.grade import kill_matrix
from mha_lessons.grade.bank import BANK, head_report
from mha_lessons.grade.checks import CheckFailed
from mha_lessons.grade.quiz import TRAPS, group_of

CHECKS = kill_matrix.all_checks()
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
    assert len(WRONG) >= 480
    functions = {check.answer for check in CHECKS.values()} - {group_of(trap) for trap in TRAPS}
    assert {row.answer for row in WRONG.values()} == functions


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
    answers = {row.answer for row in BANK.values()}
    found = [kill for answer in answers for kill in kill_matrix.kills(answer, CHECKS)]
    assert {kill.rejects[0] for kill in found if len(kill.rejects) == 1} == set(CHECKS)


@pytest.mark.parametrize(("answer", "function"), RIGHT.values(), ids=RIGHT)
def test_a_right_answer_is_accepted_in_any_style(answer, function):
    for check in CHECKS.values():
        if check.answer == answer:
            assert failure(check, function) is None


def test_right_answers_are_many_for_each_function():
    answers = [answer for answer, _ in RIGHT.values()]
    assert len(answers) >= 165
    assert {answer: answers.count(answer) >= 6 for answer in answers} == dict.fromkeys(
        answers, True
    )


def inverted(x, num_heads):
    if num_heads < 1 or x.shape[-1] % num_heads == 0:
        raise ValueError("no")
    return x.reshape(*x.shape[:-1], num_heads, -1).swapaxes(-2, -3)


def remainder_reversed(x, num_heads):
    if num_heads < 1 or num_heads % x.shape[-1]:
        raise ValueError("no")
    return x.reshape(*x.shape[:-1], num_heads, -1).swapaxes(-2, -3)


def odd_refused(x, num_heads):
    if x.shape[-1] % 2:
        raise ValueError("no")
    return x.reshape(*x.shape[:-1], num_heads, -1).swapaxes(-2, -3)


def remainder_only(x, num_heads):
    if x.shape[-1] % num_heads:
        raise ValueError("no")
    return x.reshape(*x.shape[:-1], num_heads, -1).swapaxes(-2, -3)


def nothing_tested(x, num_heads):
    d_k = x.shape[-1] // num_heads
    return x.reshape(*x.shape[:-1], num_heads, d_k).swapaxes(-2, -3)


def two_axes_unpacked(x, num_heads):
    if num_heads < 1 or x.shape[-1] % num_heads:
        raise ValueError("no")
    *_, T, _ = x.shape
    return x.reshape(T, num_heads, -1).transpose(1, 0, 2)


def never_removable(heads, W_O):
    return [False] * len(heads)


def always_removable(heads, W_O):
    return [True] * len(heads)


@pytest.mark.parametrize(
    ("check", "wrong", "mistake"),
    [
        ("split_heads_values", inverted, "split_heads.fitting_sizes_refused"),
        ("split_heads_values", remainder_reversed, "split_heads.fitting_sizes_refused"),
        ("split_heads_values", odd_refused, "split_heads.fitting_sizes_refused"),
        ("split_heads_batch", inverted, None),
        ("split_heads_keeps_its_input", inverted, None),
        ("split_heads_refuses_no_heads", remainder_only, "split_heads.zero_not_tested"),
        ("split_heads_refuses_no_heads", nothing_tested, "split_heads.zero_not_tested"),
        ("split_heads_batch", two_axes_unpacked, None),
        ("head_report_zeros", never_removable, None),
        ("head_report_zeros", always_removable, None),
        ("head_report_cancelled_by_W_O", never_removable, None),
        ("head_report_cancelled_by_W_O", always_removable, None),
        ("head_report_one_at_a_time", always_removable, None),
    ],
)
def test_no_mistake_is_named_that_was_not_made(check, wrong, mistake):
    assert failure(CHECKS[check], wrong).mistake == mistake


def test_a_telling_mistake_is_named_by_every_check_that_sees_it():
    mixed = BANK["split_heads.tokens_mixed"]
    assert failure(CHECKS["split_heads_batch"], mixed.wrong).mistake == mixed.id


@pytest.mark.parametrize("tolerance", [0.01, 1e-4, 1e-6, 2e-7, 1e-8])
def test_a_head_that_adds_more_than_the_stated_1e_9_is_needed(tolerance):
    def report(heads, W_O):
        terms = head_report.contributions(heads, W_O)
        return np.abs(terms).max(axis=(1, 2)) < tolerance

    assert failure(CHECKS["head_report_small_is_not_zero"], report)


def test_twins_that_differ_are_rejected_in_every_type():
    def close_in(dtype):
        def twins(T, d):
            return [(np.random.default_rng(n).random((T, d)) / 20).astype(dtype) for n in range(6)]

        return twins

    for dtype in (np.float16, np.float32, np.float64):
        assert failure(CHECKS["twins_same_weights"], close_in(dtype))


def test_twins_that_are_the_same_are_accepted_in_every_type():
    def same_in(dtype):
        def twins(T, d):
            Q, K, V = np.random.default_rng(3).random((3, T, d)).astype(dtype)
            return Q, K, V, Q.copy(), K.copy(), V + 1

        return twins

    for dtype in (np.float16, np.float32, np.float64):
        assert failure(CHECKS["twins_same_weights"], same_in(dtype)) is None


def test_the_count_may_take_its_bias_by_keyword_only():
    def count(d_model, num_heads, *, bias=False):
        return 4 * d_model * (d_model + bias)

    assert failure(CHECKS["parameter_count_bias"], count) is None


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


class Agreeing(str):
    """A text that says yes to everything."""

    __hash__ = str.__hash__

    def __eq__(self, other):
        return True

    def strip(self):
        return self

    lower = strip


class Answering(dict):
    """A dictionary that knows every answer."""

    def get(self, key, default=None):
        return TRAPS[key].right


@pytest.mark.parametrize(
    ("given", "status", "words"),
    [
        ({}, "NotWritten", "not answered yet"),
        ({"T8": None}, "NotWritten", "not answered yet"),
        ({"T8": "d"}, "CheckFailed", "must be one of a, b, c: got str 'd'"),
        ({"T8": ["a"]}, "CheckFailed", "must be one of a, b, c: got a list of 1"),
        ({"T8": 1}, "CheckFailed", "must be one of a, b, c: got int 1"),
        ({"T8": Agreeing("a")}, "CheckFailed", "must be one of a, b, c: got Agreeing"),
        (Answering(T7="a"), "NotWritten", "not answered yet"),
        ({"T7": "a"}, "NotWritten", "not answered yet"),
        ({"t8": "a"}, "CheckFailed", 'there is no key "T8": found "t8"'),
        ({8: "a", "t7": "b"}, "CheckFailed", 'there is no key "T8": found int 8, "t7"'),
        (dict.fromkeys("abcd"), "CheckFailed", 'no key "T8": found "a", "b", "c", ...'),
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
