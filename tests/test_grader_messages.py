"""The words that a learner reads are true, and say no more than is known."""

from types import SimpleNamespace

import numpy as np
import pytest

from mha_lessons.grade import nbval_plugin
from mha_lessons.grade.checks import CheckFailed, check
from mha_lessons.grade.compare import as_array, difference
from mha_lessons.grade.exercises import split_heads as split


@check("double")
def double_values(answer):
    answer.must_equal(np.array([2.0, 6.0]), np.array([1.0, 3.0]), hint="Multiply by 2.")


@check("double")
def double_refuses(answer):
    answer.must_refuse(0, hint="Raise ValueError.")


def failed(check, answer):
    with pytest.raises(CheckFailed) as caught:
        check(answer)
    return caught.value


def from_error(ename, evalue, source=""):
    return nbval_plugin._from_error(SimpleNamespace(ename=ename, evalue=evalue), source)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.array([2, None]), r"got ndarray of shape \(2,\) of object\. Return one array of num"),
        (np.array(["2", "6"]), r"got ndarray of shape \(2,\) of <U1\. Return one array of numbers"),
        (["2", "6"], r"got a list of 2 str\. Return one array of numbers\."),
        ([[2], [6, 10]], r"a list of 2 list\. Return one array in which all rows have the"),
        ("2, 6", r"got str '2, 6'\. Return one array of numbers\."),
    ],
)
def test_what_is_no_array_of_numbers_is_named_by_its_elements(value, words):
    with pytest.raises(TypeError, match=words):
        as_array(value)


def test_truth_values_are_written_as_such():
    expected = np.array([False, True])
    assert difference(np.array([0, 0]), expected) == (
        "1 of 2 values differ; the first, at (1,), is False, and should be True"
    )
    assert difference(np.array([0, 2.5]), expected).endswith("is 2.5, and should be True")


def test_rounded_numbers_are_seen_where_they_must_not_be_rounded():
    def halves(x, num_heads):
        return split.by_slices(x, num_heads).astype(np.float16)

    assert failed(split.split_heads_values, halves).mistake == "split_heads.rounded"
    assert failed(split.split_heads_batch, halves).mistake == "split_heads.rounded"


def test_a_small_error_is_found_where_equality_is_asked_for():
    def shifted(x, num_heads):
        return split.by_slices(x, num_heads) * (1 + 1e-12)

    assert "values differ" in failed(split.split_heads_values, shifted).message


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda x: missing_name, ""),  # noqa: F821
        (lambda x: x.missing, ""),
        (lambda: 3, ""),
        (lambda x: 1 // x, "Raise ValueError."),
        (lambda x: x, "Raise ValueError."),
    ],
)
def test_the_hint_is_left_out_where_it_does_not_fit(answer, hint):
    assert failed(double_refuses, answer).hint == hint


def test_a_wrong_value_after_a_change_of_the_input_is_told_of_the_change():
    def in_place(x):
        x += 1
        return x

    assert "changed the array that it was given" in failed(double_values, in_place).hint
    assert failed(double_values, lambda x: x + 1).hint == "Multiply by 2."


def test_the_line_that_is_quoted_is_the_learner_s():
    def inside_numpy(x):
        return np.stack([x, x[:1]])

    message = failed(double_values, inside_numpy).message
    assert message.endswith("(at your line `return np.stack([x, x[:1]])`)")


def test_python_says_what_was_not_closed():
    said = from_error("SyntaxError", "incomplete input (12.py, line 3)", "f = 3\nx = (1,\n")
    assert said["message"] == "SyntaxError: '(' was never closed (line 2)"


def test_the_words_of_ipython_stay_where_python_cannot_read_the_cell():
    said = from_error("SyntaxError", "incomplete input (12.py, line 2)", "%time 1\nx = (1,\n")
    assert said["message"] == "SyntaxError: incomplete input (line 2)"


def test_an_interrupt_has_words():
    said = from_error("KeyboardInterrupt", "")
    assert said["message"] == "your code was interrupted, or raised KeyboardInterrupt"


def test_no_control_character_reaches_the_terminal():
    assert from_error("ValueError", "\x1b[2Ja\r\nb\x07")["message"] == "ValueError: [2Ja b"


def test_a_flood_of_prints_is_not_called_a_loop():
    kernel = SimpleNamespace(printed=nbval_plugin.PRINTED_AT_MOST + 1)
    option = SimpleNamespace(nbval_cell_timeout=2)
    item = SimpleNamespace(
        parent=SimpleNamespace(timed_out=True, kernel=kernel),
        config=SimpleNamespace(option=option),
    )
    call = SimpleNamespace(excinfo=None)
    flood = nbval_plugin._verdict(item, call)
    assert (flood["status"], "printed too much" in flood["message"]) == ("crash", True)
    kernel.printed = 0
    assert "is there a loop" in nbval_plugin._verdict(item, call)["message"]
