"""Masks: who may read whom.

One rule for the whole project. A mask is boolean, **True = may attend**, and broadcasts to the
scores (..., T, S): queries on the axis before the last, keys on the last. A query that may attend
to nothing gets zeros. A key that nobody may attend to may hold anything, NaN included.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

from mha_lessons import checks


def causal(T: int, S: int | None = None) -> Bool[np.ndarray, "T S"]:
    """Let each query read itself and what came before it.

    mask[t, s] = (s <= t + S - T)

    Parameters
    ----------
    T : int
        Number of queries.
    S : int, optional
        Number of keys, T unless given. With S > T the *last* query is aligned with the last key,
        as when a cache holds the S - T earlier positions. torch's ``is_causal=True`` aligns the
        first query with the first key instead.

    Returns
    -------
    (T, S) boolean, True = may attend

    Raises
    ------
    ValueError
        When a length is negative.

    References
    ----------
    Vaswani et al. 2017, section 3.2.3.
    """
    S = T if S is None else S
    if T < 0 or S < 0:
        raise ValueError(
            f"A causal mask needs lengths of 0 or more: got T={T}, S={S}. "
            f"Pass the number of queries and the number of keys."
        )
    return np.arange(S) <= np.arange(T)[:, None] + (S - T)


def padding(lengths: Int[np.ndarray, " B"] | Sequence[int], S: int) -> Bool[np.ndarray, "B 1 1 S"]:
    """Hide the keys behind the end of each sequence.

    mask[b, 0, 0, s] = (s < lengths[b])

    Padding hides keys, not queries: the rows of padded queries are computed and then ignored.

    Parameters
    ----------
    lengths : (B,) integers
        How many keys of each sequence are real.
    S : int
        Number of keys, padding included.

    Returns
    -------
    (B, 1, 1, S) boolean, True = may attend; it broadcasts over heads and queries

    Raises
    ------
    TypeError
        When `lengths` are not integers.
    ValueError
        When `lengths` is not one number per sequence, each from 0 to S.
    """
    lengths = np.asarray(lengths)
    if lengths.dtype.kind not in "iu":
        raise TypeError(
            f"lengths must be integers: got {lengths.dtype}. "
            f"Count the real tokens of each sequence; from a boolean keep, that is keep.sum(-1)."
        )
    if lengths.ndim != 1 or np.any(lengths < 0) or np.any(lengths > S):
        raise ValueError(
            f"lengths must be one number per sequence, each from 0 to S={S}: got "
            f"{lengths.tolist()}. Count only the keys that are there."
        )
    return (np.arange(S) < lengths[:, None])[:, None, None, :]


def combine(*masks: Bool[np.ndarray, "..."] | None) -> Bool[np.ndarray, "..."] | None:
    """Allow what every mask allows; None allows everything.

    Parameters
    ----------
    *masks : boolean arrays that broadcast against one another, or None

    Returns
    -------
    boolean array, or None when every mask is None

    Raises
    ------
    TypeError
        When a mask is not boolean.
    ValueError
        When the masks do not broadcast against one another.
    """
    given = [np.asarray(mask) for mask in masks if mask is not None]
    for mask in given:
        checks.boolean(mask)
    try:
        return np.logical_and.reduce(np.broadcast_arrays(*given)) if given else None
    except ValueError:
        raise ValueError(
            f"Masks that are combined must broadcast against one another: got shapes "
            f"{', '.join(str(mask.shape) for mask in given)}. "
            f"Put queries on the axis before the last and keys on the last."
        ) from None


def fit(mask: Bool[np.ndarray, "..."] | bool, scores_shape: tuple) -> Bool[np.ndarray, "..."]:
    """Broadcast a mask to the scores, read-only.

    Parameters
    ----------
    mask : boolean, broadcastable to `scores_shape`
    scores_shape : tuple, (..., T, S)

    Returns
    -------
    (..., T, S) boolean

    Raises
    ------
    TypeError
        When the mask is not boolean.
    ValueError
        When it does not broadcast.
    """
    mask = np.asarray(mask)
    checks.mask_fits(mask, scores_shape)
    return np.broadcast_to(mask, scores_shape)


def blank_unread(
    x: Float[np.ndarray, "*batch S d"], mask: Bool[np.ndarray, "*batch T S"]
) -> Float[np.ndarray, "*batch S d"]:
    """Zero the rows of K or V that no query may attend to.

    A weight of exactly 0 does not protect a sum from them: 0 * NaN is NaN.

    Parameters
    ----------
    x : (..., S, d)
        Keys or values.
    mask : (..., T, S) boolean, True = may attend

    Returns
    -------
    (..., S, d), a new array
    """
    read = mask.any(axis=-2)  # (..., S)
    return np.where(read[..., None], x, 0)
