"""Read a learner's result as an array, and compare it with what it should be."""

import numpy as np

# By the type in which the answer was computed; the expected values are float64.
TOLERANCE = {"float16": 1e-2, "float32": 1e-5}


def as_array(value):
    """Read `value` as an array of numbers: NumPy, torch, or nested lists of either.

    Raises
    ------
    TypeError
        If it is none of these, or not rectangular.
    """
    try:
        array = np.asarray(_without_tensors(value))
    except Exception:  # whatever the learner's object does when it is asked for its numbers
        array = np.asarray(None)
    if array.dtype.kind not in "biuf":
        raise TypeError(
            f"the result must be an array of numbers: got {kind(value)}. "
            "Return one array in which all rows have the same length."
        )
    return array


def _without_tensors(value):
    if isinstance(value, (list, tuple)):
        return [_without_tensors(item) for item in value]
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        # NumPy has no bfloat16; float16 is the nearest with a tolerance of its own.
        return (value.half() if str(value.dtype) == "torch.bfloat16" else value).numpy()
    return value


def close(got, expected):
    """Tell whether two arrays agree in shape and, within the tolerance of `got`, in value."""
    expected = np.asarray(expected)
    if got.shape != expected.shape:
        return False
    tolerance = TOLERANCE.get(str(got.dtype), 1e-9)
    return np.allclose(
        got.astype(float), expected.astype(float), rtol=tolerance, atol=tolerance, equal_nan=True
    )


def same(first, second):
    """Tell whether two results are the same, None included."""
    if first is None or second is None:
        return first is second
    try:
        return close(as_array(first), as_array(second))
    except TypeError:
        return False


def kind(value):
    """Name a value briefly: its type, and its shape where it has one."""
    shape = getattr(value, "shape", None)
    name = type(value).__name__
    if shape is not None:
        return f"{name} of shape {tuple(shape)}"
    if isinstance(value, (list, tuple)):
        return f"a {name} of {len(value)}"
    return f"{name} {value!r:.60}" if isinstance(value, (bool, int, float, str)) else name


def difference(got, expected):
    """Say in one sentence how the array `got` differs from `expected`."""
    expected = np.asarray(expected)
    if got.shape != expected.shape:
        return f"the shape is {got.shape}, and should be {expected.shape}"
    if np.isnan(got.astype(float)).any():
        return f"{np.isnan(got).sum()} of {got.size} values are nan"
    wrong = ~np.isclose(got.astype(float), expected.astype(float), rtol=1e-9, atol=1e-9)
    first = tuple(int(i) for i in np.argwhere(wrong)[0])
    where = "the result"
    if first:
        where = f"{wrong.sum()} of {wrong.size} values differ; the first, at {first},"
    return f"{where} is {got[first]:.6g}, and should be {expected[first]:.6g}"
