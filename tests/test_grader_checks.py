"""The runner of the checks is friendly, quiet, and not to be upset."""

import datetime
import re
import sys
import warnings

import numpy as np
import pytest

from mha_lessons.grade.checks import CheckFailed, NotWritten, check
from mha_lessons.grade.exercises import split_heads as split
from mha_lessons.grade.exercises import traps


@check("double")
def double_values(answer):
    answer.must_equal(np.array([2.0, 6.0, 10.0]), np.array([1.0, 3.0, 5.0]), hint="Multiply by 2.")


@check("double")
def double_refuses_text(answer):
    answer.must_refuse("text", hint="Raise ValueError.")


@check("double")
def double_keeps_its_input(answer):
    answer.must_keep_its_arguments(np.array([1.0, 3.0, 5.0]), hint="Work on a copy.")


@check("double")
def double_returns(answer):
    answer.must_return(np.array([1.0, 3.0, 5.0]))


def stub(x):
    raise NotImplementedError("double is not written yet")


class Unreadable:
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("not for you")


class BadError(Exception):
    def __str__(self):
        raise RuntimeError("no words")


def raises(error):
    def function(x):
        raise error

    return function


def test_a_passed_check_prints_one_fixed_line(capsys):
    double_values(lambda x: 2 * x)
    assert capsys.readouterr() == ("ok: double_values\n", "")


def test_a_failure_shows_two_lines_in_place_of_a_traceback():
    with pytest.raises(CheckFailed) as caught:
        split.split_heads_values(lambda x, num_heads: x.reshape(num_heads, len(x), -1))
    shown = caught.value._render_traceback_()
    assert shown == [
        "not yet: split_heads_values: numbers of different tokens are mixed in one row",
        "hint: Reshape to (..., T, num_heads, d_k) first. Then swap the axes of T and num_heads.",
    ]
    assert str(caught.value).splitlines() == [*shown, "mistake: split_heads.tokens_mixed"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda x: 2 * x + [0, 0, 1], r"1 of 3 values differ; the first, at \(2,\), is 11, and"),
        (lambda x: (2 * x)[:2], r"the shape is \(2,\), and should be \(3,\)"),
        (lambda x: 2 * x * np.nan, "3 of 3 values are nan"),
        (lambda x: None, "your function returned None"),
        (lambda x: print(2 * x), "your function returned None"),
        (lambda x: "2, 6, 10", "must be an array of numbers: got str '2, 6, 10'"),
        (lambda x: [[2], [6, 10]], "must be an array of numbers: got a list of 2"),
        (lambda x: {2, 6, 10}, "must be an array of numbers: got set"),
        (lambda x: (2 * v for v in x), "must be an array of numbers: got generator"),
        (lambda x: 2j * x, r"must be an array of numbers: got ndarray of shape \(3,\)"),
        (lambda x: 10**5000, "must be an array of numbers: got int. "),
        (lambda x: Unreadable(), "must be an array of numbers: got Unreadable"),
        (lambda x: np.array([2, None, 3]), "must be an array of numbers"),
        (lambda: 3, "your code raised TypeError: .* positional argument"),
        (lambda x: x.missing, "your code raised AttributeError: .*missing.*at your line `"),
        (lambda x: sys.exit(0), r"raised SystemExit: it called exit\(\)"),
        (lambda x: stub_recursion(x), "raised RecursionError"),
        (raises(BadError()), "your code raised BadError"),
        (raises(GeneratorExit()), "your code raised GeneratorExit"),
        (raises(NotImplementedError), "not written yet"),
        (stub, "not written yet"),
        (5, "double must be a function: got int 5"),
        (np.ones(3), r"double must be a function: got ndarray of shape \(3,\)"),
    ],
)
def test_any_wrong_value_gives_one_sentence(answer, words):
    with pytest.raises(CheckFailed) as caught:
        double_values(answer)
    assert re.search(words, caught.value.message)
    assert "\n" not in caught.value.message


def stub_recursion(x):
    return stub_recursion(x)


def test_an_unwritten_answer_is_todo_in_every_check():
    for each in (double_values, double_refuses_text, double_keeps_its_input, double_returns):
        with pytest.raises(NotWritten):
            each(stub)


def test_a_missing_operation_is_not_an_unwritten_answer():
    # As torch does for an operation that it lacks: the error comes from C, not from a `raise`.
    with pytest.raises(CheckFailed, match="your code raised NotImplementedError") as caught:
        double_values(lambda x: datetime.tzinfo().utcoffset(None))
    assert type(caught.value) is CheckFailed


@pytest.mark.parametrize(
    "error", [ValueError("mine"), AssertionError(), UnicodeDecodeError("a", b"", 0, 1, "b")]
)
def test_a_refusal_may_be_any_value_error_or_an_assert(error, capsys):
    double_refuses_text(raises(error))
    assert capsys.readouterr().out == "ok: double_refuses_text\n"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (raises(TypeError("no")), "must raise ValueError, and it raised TypeError: no"),
        (lambda x: None, "must raise ValueError, and it returned NoneType"),
        (
            lambda x: np.zeros((2, 3)),
            r"must raise ValueError, and it returned ndarray of shape \(2, 3\)",
        ),
        (lambda x: ValueError("returned"), "must raise ValueError, and it returned ValueError"),
    ],
)
def test_anything_else_is_no_refusal(answer, words):
    with pytest.raises(CheckFailed, match=words):
        double_refuses_text(answer)


def test_a_changed_input_is_seen():
    def in_place(x):
        x *= 2
        return x

    with pytest.raises(CheckFailed, match="your code changed the array that it was given"):
        double_keeps_its_input(in_place)


def test_a_check_of_the_input_needs_a_result():
    with pytest.raises(CheckFailed, match="returned None"):
        double_keeps_its_input(lambda x: None)


def test_noise_stays_inside_a_check(capsys):
    def noisy(x):
        print("x", x)
        print("x", x, file=sys.stderr)
        warnings.warn("hm", stacklevel=1)
        np.set_printoptions(precision=1)
        np.seterr(all="raise")
        return 2 * x

    options, errors = np.get_printoptions(), np.geterr()
    double_values(noisy)
    assert capsys.readouterr() == ("ok: double_values\n", "")
    assert (np.get_printoptions(), np.geterr()) == (options, errors)


def test_an_interrupt_is_not_swallowed():
    with pytest.raises(KeyboardInterrupt):
        double_values(raises(KeyboardInterrupt()))


def test_messages_are_one_line_and_short():
    with pytest.raises(CheckFailed) as caught:
        double_values(raises(RuntimeError("a\x1b[31m\n" + "b" * 5000)))
    assert re.fullmatch(r"[ -~]{1,300}", caught.value.message)


@pytest.mark.parametrize(("dtype", "error", "accepted"), [
    (np.float64, 1e-10, True),
    (np.float64, 1e-7, False),
    (np.float32, 1e-6, True),
    (np.float32, 1e-3, False),
    (np.float16, 1e-3, True),
    (np.float16, 1e-1, False),
    (np.int64, 1e-10, True),
])  # fmt: skip
def test_the_tolerance_follows_the_dtype(dtype, error, accepted):
    def answer(x):
        return (2 * x * (1 + error)).round(0 if dtype == np.int64 else 12).astype(dtype)

    try:
        double_values(answer)
    except CheckFailed:
        assert not accepted
    else:
        assert accepted


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda T, d: np.zeros((6, T, d)), "return the six arrays .* got ndarray of shape"),
        (lambda T, d: 5, "return the six arrays .* got int 5"),
        (lambda T, d: [np.zeros((T, d))] * 5, "return the six arrays .* got a list of 5"),
        (lambda T, d: [np.zeros((T, d))] * 5 + ["V"], "must be an array of numbers: got str 'V'"),
        (lambda T, d: [np.zeros((T, d + 1))] * 6, r"the shapes are \[\(5, 4\)\], and should all"),
        (lambda T, d: [np.zeros((T + d,))] * 6, r"the shapes are \[\(8,\)\], and should all"),
    ],
)
def test_twins_of_other_shapes_are_told_so(answer, words):
    with pytest.raises(CheckFailed) as caught:
        traps.twins_shapes(answer)
    assert re.search(words, caught.value.message)


@pytest.mark.parametrize("check_", [traps.twins_same_weights, traps.twins_different_outputs])
@pytest.mark.parametrize(
    "shapes",
    [
        [(5, 3), (4, 2), (5, 3)] * 2,
        [(5,), (5,), (5,)] * 2,
        [(5, 3), (5, 3), (4, 3)] * 2,
        [(5, 3)] * 3 + [(4, 3)] * 3,
        [()] * 6,
        [(0, 3)] * 6,
    ],
)
def test_twins_that_do_not_fit_never_crash_a_check(check_, shapes):
    rng = np.random.default_rng(3)
    with pytest.raises(CheckFailed):
        check_(lambda T, d: [rng.random(shape) for shape in shapes])


@check("scale")
def scale_values(answer):
    answer.must_equal(np.array([2.0, 6.0]), np.array([1.0, 3.0]), by=np.array([2.0]), hint="Times.")


@check("scale")
def scale_roughly(answer):
    answer.must_equal(np.array([2.0, 6.0]), np.array([1.0, 3.0]), by=2.0, at_least=1e-3)


@check("scale")
def scale_keeps_its_inputs(answer):
    answer.must_keep_its_arguments(np.array([1.0, 3.0]), by=np.array([2.0]))


def test_what_is_passed_by_name_is_a_copy_and_watched():
    def emptied(x, by):
        out = x * by
        by[...] = 0
        return out

    scale_values(emptied)
    scale_values(emptied)
    with pytest.raises(CheckFailed, match="changed the array that it was given"):
        scale_keeps_its_inputs(emptied)
    with pytest.raises(CheckFailed) as caught:
        scale_values(lambda x, by: emptied(x + 1, by))
    assert "also changed the array" in caught.value.hint


@pytest.mark.parametrize(("dtype", "error", "accepted"), [
    (np.float64, 1e-4, True),
    (np.float64, 1e-2, False),
    (np.float16, 4e-3, True),
])  # fmt: skip
def test_a_check_may_allow_more_than_the_type_of_the_result_does(dtype, error, accepted):
    try:
        scale_roughly(lambda x, by: (x * by * (1 + error)).astype(dtype))
    except CheckFailed:
        assert not accepted
    else:
        assert accepted


def test_a_result_that_differs_from_call_to_call_is_told_so():
    calls = []

    def counts(x):
        calls.append(x)
        return x * 0 + len(calls)

    with pytest.raises(CheckFailed) as caught:
        double_values(counts)
    assert caught.value.hint.startswith("Two calls with the same arguments gave different results")
