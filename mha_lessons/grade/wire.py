"""Plain data as bytes: what an answer in another process is given, and all that it may give back.

Numbers, text, lists, tuples, dictionaries and arrays of numbers. No pickle: reading one runs code.
What comes from there is not trusted: `unpack` takes exactly what `pack` makes, and no more of it
than the limits.
"""

import json
import math
import struct

import numpy as np

from .compare import Other, as_array, kind

LENGTHS = struct.Struct(">QQ")  # of the head, which is JSON, and of the numbers behind it
HEAD_AT_MOST, NUMBERS_AT_MOST = 64 << 20, 64 << 20  # bytes
TEXT_AT_MOST = HEAD_AT_MOST // 8  # characters; JSON may need six bytes for one
DEPTH_AT_MOST, NODE = 32, 32  # a part of a list counts as so many characters
DTYPES = {np.dtype(letter).str for letter in "?bBhHiIlLqQefdgFD"}


class NotPlainError(ValueError):
    """Bytes from another process that `pack` did not make."""


def pack(value):
    """Write `value` as bytes; what is no plain data becomes an `Other`."""
    packing = _Packing()
    head = json.dumps(packing.tree(value, 0)).encode()
    numbers = b"".join(packing.numbers)
    return LENGTHS.pack(len(head), len(numbers)) + head + numbers


class _Packing:
    def __init__(self):
        self.numbers, self.size, self.text = [], 0, 0

    def tree(self, value, depth):
        self.text += NODE
        if value is None or type(value) in (bool, float):
            return value
        if type(value) is int and value.bit_length() < 4000:  # json refuses longer ones
            return value
        if type(value) is str and self.text + len(value) < TEXT_AT_MOST:
            self.text += len(value)
            return value
        room = depth < DEPTH_AT_MOST and self.text + NODE * _length(value) < TEXT_AT_MOST
        if isinstance(value, (list, tuple)) and room:
            form = "list" if isinstance(value, list) else "tuple"
            return [form, [self.tree(part, depth + 1) for part in value]]
        if isinstance(value, dict) and room:
            pairs = dict.items(value)
            return ["dict", [[self.tree(part, depth + 1) for part in pair] for pair in pairs]]
        return self.array(value) or ["other", type(value).__name__[:100], kind(value)[:300]]

    def array(self, value):
        if isinstance(value, Other):
            return None
        if not isinstance(value, (np.ndarray, np.generic)):  # a tensor, or another kind of array
            try:
                value = as_array(value)
            except TypeError:
                return None
        dtype = value.dtype.newbyteorder("=")
        if dtype.str not in DTYPES or self.size + value.nbytes > NUMBERS_AT_MOST:
            return None
        form = "array" if isinstance(value, np.ndarray) else "scalar"
        self.numbers.append(np.asarray(value).astype(dtype).tobytes())
        self.size += value.nbytes
        return [form, dtype.str, list(value.shape), self.size - value.nbytes]


def _length(value):
    return len(value) if isinstance(value, (list, tuple, dict)) else 0


def unpack(head, numbers):
    """Read what `pack` wrote.

    Raises
    ------
    NotPlainError
        When it did not write that.
    """
    try:
        return _value(json.loads(head), numbers)
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
        raise NotPlainError(f"{type(error).__name__}: {error}") from None


def _value(tree, numbers):
    if tree is None or type(tree) in (bool, int, float, str):
        return tree
    form, *parts = tree if type(tree) is list else [None]
    if form in ("list", "tuple"):
        (items,) = parts
        values = [_value(item, numbers) for item in items]
        return values if form == "list" else tuple(values)
    if form == "dict":
        (pairs,) = parts
        return {_value(key, numbers): _value(value, numbers) for key, value in pairs}
    if form == "other":
        name, said = parts
        if type(name) is str and type(said) is str:
            return Other(name, said)
    if form in ("array", "scalar"):
        return _array(form, *parts, numbers)
    raise NotPlainError("no form of plain data")


def _array(form, dtype, shape, start, numbers):
    sizes = type(shape) is list and all(type(size) is int and size >= 0 for size in shape)
    if not sizes or len(shape) > DEPTH_AT_MOST or dtype not in DTYPES or type(start) is not int:
        raise NotPlainError("no array")
    count = math.prod(shape)
    if not 0 <= start <= len(numbers) - count * np.dtype(dtype).itemsize:
        raise NotPlainError("an array without its numbers")
    array = np.frombuffer(numbers, np.uint8 if dtype == "|b1" else dtype, count, start)
    # A truth value is 0 or 1; a byte may be anything.
    array = (array != 0 if dtype == "|b1" else array.copy()).reshape(shape)
    return array if form == "array" else array[()]
