"""Read a learner's result as an array, and compare it with what it should be."""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np

# By the type in which the answer was computed; the expected values are float64.
TOLERANCE = {"float16": 1e-2, "float32": 1e-5}


@dataclass(frozen=True)
class Other:
    """Stands for a value in another process that is no plain data; only its names come from there.

    Attributes
    ----------
    name : str
        Of its type.
    said : str
        What `kind` said of it there.
    """

    name: str
    said: str


def as_array(value, wanted="an array of numbers"):
    """Read `value` as an array of numbers: NumPy, torch, or nested lists of either.

    Python's fractions and decimals are numbers too. An error says what is `wanted`.

    Raises
    ------
    TypeError
        If it is none of these, or not rectangular.
    """
    try:
        array = np.asarray(_plain(value))
    except Exception:  # whatever the learner's object does when it is asked for its numbers
        array = np.asarray(None)
    if array.dtype.kind not in "biuf":
        advice = f"Return {wanted.replace('an array', 'one array')}."
        nested = (list, tuple, np.ndarray)
        if isinstance(value, (list, tuple)) and any(isinstance(part, nested) for part in value):
            advice = "Return one array in which all rows have the same length."
        raise TypeError(f"the result must be {wanted}: got {kind(value)}. {advice}")
    return array


def _plain(value):
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (Fraction, Decimal)):
        return float(value)
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        # NumPy has no bfloat16; float16 is the nearest with a tolerance of its own.
        return (value.half() if str(value.dtype) == "torch.bfloat16" else value).numpy()
    return value


def tolerance_of(array):
    """Return the tolerance that suits the type of `array`."""
    return TOLERANCE.get(str(array.dtype), 1e-9)


def close(got, expected, tolerance=None):
    """Tell whether two arrays agree in shape and, within `tolerance`, in value.

    Without one, it is that of the type of `got`.
    """
    expected = np.asarray(expected)
    return got.shape == expected.shape and bool(_near(got, expected, tolerance).all())


def _near(got, expected, tolerance):
    tolerance = tolerance_of(got) if tolerance is None else tolerance
    pair = got.astype(float), expected.astype(float)
    return np.isclose(*pair, rtol=tolerance, atol=tolerance, equal_nan=True)


def same(first, second, tolerance=None):
    """Tell whether two results are the same, None included; `tolerance` is as in `close`."""
    if first is None or second is None:
        return first is second
    try:
        return close(as_array(first), as_array(second), tolerance)
    except TypeError:
        return False


def kind(value):
    """Name a value briefly: its type, and its shape where it has one."""
    if isinstance(value, Other):
        return value.said
    try:
        return _kind(value)
    except Exception:  # whatever the learner's object does when it is looked at
        return _type_name(value)


def _kind(value):
    shape = getattr(value, "shape", None)
    name = _type_name(value)
    if shape is not None:
        dtype = getattr(value, "dtype", None)
        of = "" if dtype is None or getattr(dtype, "kind", "f") in "biuf" else f" of {dtype}"
        return f"{name} of shape {tuple(shape)}{of}"
    if isinstance(value, (list, tuple)):
        elements = {_type_name(part) for part in value}
        of = f" {elements.pop()}" if len(elements) == 1 else ""
        return f"a {name} of {len(value)}{of}"
    return f"{name} {value!r:.60}" if isinstance(value, (bool, int, float, str)) else name


def _type_name(value):
    return value.name if isinstance(value, Other) else type(value).__name__


def difference(got, expected, tolerance=None):
    """Say in one sentence how the array `got` differs from `expected`."""
    expected = np.asarray(expected)
    if got.shape != expected.shape:
        return f"the shape is {got.shape}, and should be {expected.shape}"
    missing = np.isnan(got.astype(float)).sum()
    if missing:
        return f"{missing} of {got.size} values are nan"
    wrong = ~_near(got, expected, tolerance)
    first = tuple(int(i) for i in np.argwhere(wrong)[0])
    where = "the result"
    if first:
        where = f"{wrong.sum()} of {wrong.size} values differ; the first, at {first},"
    return f"{where} is {_value(got[first], expected)}, and should be {_value(expected[first])}"


def _value(number, expected=None):
    truth = number if expected is None else expected
    if truth.dtype == bool and number in (0, 1):
        return str(bool(number))
    return f"{number:.6g}"
