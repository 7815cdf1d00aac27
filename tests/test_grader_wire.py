"""Plain data goes to another process and back unchanged; whatever else comes is refused."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from mha_lessons.grade import wire
from mha_lessons.grade.compare import Other, as_array, kind
from mha_lessons.grade.wire import LENGTHS, NotPlainError, pack, unpack

NUMBERS = st.sampled_from(sorted(wire.DTYPES - {np.dtype("g").str, np.dtype("G").str}))
ARRAYS = NUMBERS.flatmap(
    lambda dtype: npst.arrays(dtype, npst.array_shapes(min_dims=0, max_dims=4, min_side=0))
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9)
PLAIN = st.recursive(
    SCALARS | ARRAYS,
    lambda part: st.lists(part) | st.tuples(part, part) | st.dictionaries(SCALARS, part),
    max_leaves=9,
)


def parts(data):
    head, numbers = LENGTHS.unpack(data[: LENGTHS.size])
    rest = data[LENGTHS.size :]
    assert len(rest) == head + numbers
    return rest[:head], rest[head:]


def there_and_back(value):
    return unpack(*parts(pack(value)))


def alike(a, b):
    if isinstance(a, (np.ndarray, np.generic)):
        same = type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape
        return same and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, dict):
        return alike(list(a.items()), list(b.items()))
    return type(a) is type(b) and (a == b or a != a)


@given(PLAIN)
def test_plain_data_arrives_unchanged(value):
    assert alike(value, there_and_back(value))


@given(ARRAYS, st.binary(max_size=60))
def test_bytes_that_are_no_plain_data_are_refused(array, noise):
    head, numbers = parts(pack(array))
    for pair in [(noise, b""), (head, numbers[:-1]), (head[:-1], numbers), (head + noise, b"")]:
        try:
            unpack(*pair)
        except NotPlainError:
            continue


@pytest.mark.parametrize(
    "tree",
    [
        [],
        ["set", [1]],
        ["list"],
        ["list", 5],
        ["dict", [[1]]],
        ["dict", [[["list", []], 1]]],  # no key
        ["other", "name"],
        ["other", 5, "said"],
        ["array", "<f8", [1], 0],  # its numbers are missing
        ["array", "<f8", [-1], 0],
        ["array", "<f8", [1.0], 0],
        ["array", "<f8", 1, 0],
        ["array", "<f8", [0], -8],
        ["array", "<f8", [0], None],
        ["array", "<f8", [1 << 62, 1 << 62], 0],
        ["array", "<f8", [0] * 40, 0],
        ["array", "|O", [0], 0],
        ["array", ["<f8"], [0], 0],
        ["array", "f8,f8", [0], 0],
        {"a": 1},
    ],
)
def test_what_pack_never_writes_is_refused(tree):
    with pytest.raises(NotPlainError):
        unpack(json.dumps(tree).encode(), b"")


def test_text_that_nests_without_end_is_refused():
    with pytest.raises(NotPlainError):
        unpack(b'["list", [' * 100_000, b"")


def test_a_number_too_long_to_be_read_is_refused():
    with pytest.raises(NotPlainError):
        unpack(b"9" * 10_000, b"")


def test_a_truth_value_is_true_or_false_whatever_its_byte_is():
    head = json.dumps(["array", "|b1", [3], 0]).encode()
    assert unpack(head, b"\x00\x02\xff").view(np.uint8).tolist() == [0, 1, 1]


class Odd:
    """An object of a learner's own."""

    shape = property(lambda self: 1 / 0)


class Mine(list):
    """A list of a learner's own."""


@pytest.mark.parametrize(
    "value",
    [
        len,
        {1, 2},
        (n for n in "ab"),
        np.array([1, None]),
        np.array(["a", "b"]),
        np.zeros(2, dtype="f8,f8"),
        10**5000,
        [len, {3}],
    ],
    ids=["function", "set", "generator", "objects", "texts", "records", "long", "list"],
)
def test_other_values_arrive_as_what_is_said_of_them(value):
    arrived = there_and_back(value)
    assert kind(arrived) == kind(value)
    with pytest.raises(TypeError) as there:
        as_array(value)
    with pytest.raises(TypeError) as here:
        as_array(arrived)
    assert str(here.value) == str(there.value)


def test_an_object_that_breaks_when_it_is_looked_at_arrives_by_its_name():
    assert there_and_back(Odd()) == Other("Odd", "Odd")


def test_types_of_a_learner_s_own_do_not_arrive():
    assert type(there_and_back(Mine([1]))) is list
    assert type(there_and_back(np.ma.masked_array([1]))) is np.ndarray


def test_a_list_that_holds_itself_ends():
    endless = []
    endless.append(endless)
    assert "Other" in repr(there_and_back(endless))


def test_what_is_too_large_arrives_by_its_name(monkeypatch):
    monkeypatch.setattr(wire, "NUMBERS_AT_MOST", 1200)
    monkeypatch.setattr(wire, "TEXT_AT_MOST", 1200)
    assert isinstance(there_and_back(np.zeros(151)), Other)
    assert isinstance(there_and_back([""] * 40), Other)
    assert there_and_back([0] * 40).shape == (40,)
    halves = there_and_back([np.zeros(100)] * 3)
    assert [type(half).__name__ for half in halves] == ["ndarray", "Other", "Other"]


def test_no_text_is_longer_than_what_is_read():
    assert len(pack(["\0" * 10_000] * 900)) < LENGTHS.size + wire.HEAD_AT_MOST


def test_tensors_arrive_as_arrays():
    torch = pytest.importorskip("torch")
    x = torch.arange(6.0, requires_grad=True).reshape(2, 3)
    assert there_and_back(x.T).tolist() == x.T.tolist()
    assert there_and_back([x, x.bfloat16()])[1].dtype == np.float16
    assert kind(there_and_back(x.to(torch.complex64))) == kind(x.to(torch.complex64))
