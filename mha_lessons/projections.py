"""The learnable matrices W_Q, W_K, W_V and W_O, and the split and merge of heads.

Head i owns the columns i * d_k to (i + 1) * d_k of each projected array.
"""

from dataclasses import dataclass, fields

import numpy as np
from jaxtyping import Float

from mha_lessons import checks


@dataclass(frozen=True)
class Projections:
    """The projections of one multi-head layer, named and shaped as in the paper.

    Parameters
    ----------
    W_Q : (num_heads, d_model, d_k)
        W_Q[i] is the paper's W_i^Q.
    W_K : (num_kv_heads, d_model, d_k)
        The paper has num_kv_heads = num_heads. With fewer, each key and value head serves
        num_heads / num_kv_heads consecutive query heads (grouped queries; one: multi-query).
    W_V : (num_kv_heads, d_model, d_v)
    W_O : (num_heads * d_v, d_model)
        Its row block i mixes the output of head i into the result.
    b_Q : (num_heads, d_k), optional
        Biases are zero unless given. The paper has none.
    b_K : (num_kv_heads, d_k), optional
    b_V : (num_kv_heads, d_v), optional
    b_O : (d_model,), optional

    Raises
    ------
    TypeError
        When an array is not floating point.
    ValueError
        When the shapes do not fit together.

    References
    ----------
    Vaswani et al. 2017, section 3.2.2; for fewer key and value heads, Ainslie et al. 2023,
    section 2.2.
    """

    W_Q: Float[np.ndarray, "h d_model d_k"]
    W_K: Float[np.ndarray, "h_kv d_model d_k"]
    W_V: Float[np.ndarray, "h_kv d_model d_v"]
    W_O: Float[np.ndarray, "h*d_v d_model"]
    b_Q: Float[np.ndarray, "h d_k"] | None = None
    b_K: Float[np.ndarray, "h_kv d_k"] | None = None
    b_V: Float[np.ndarray, "h_kv d_v"] | None = None
    b_O: Float[np.ndarray, " d_model"] | None = None

    def __post_init__(self):
        for field in fields(self):
            if getattr(self, field.name) is not None:
                object.__setattr__(self, field.name, np.asarray(getattr(self, field.name)))
        if self.W_Q.ndim != 3 or self.W_V.ndim != 3:
            raise ValueError(
                f"W_Q, W_K and W_V must be (num_heads, d_model, d_k): got W_Q {self.W_Q.shape} and "
                f"W_V {self.W_V.shape}. Stack one matrix per head."
            )
        num_heads, d_model, d_k = self.W_Q.shape
        num_kv_heads, _, d_v = self.W_V.shape
        checks.shares(num_heads, num_kv_heads)
        shapes = {
            "W_Q": (num_heads, d_model, d_k),
            "W_K": (num_kv_heads, d_model, d_k),
            "W_V": (num_kv_heads, d_model, d_v),
            "W_O": (num_heads * d_v, d_model),
            "b_Q": (num_heads, d_k),
            "b_K": (num_kv_heads, d_k),
            "b_V": (num_kv_heads, d_v),
            "b_O": (d_model,),
        }
        for name, shape in shapes.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, np.zeros(shape, dtype=self.W_Q.dtype))
            if getattr(self, name).shape != shape:
                raise ValueError(
                    f"{name} must be {shape} beside W_Q {self.W_Q.shape} and W_V "
                    f"{self.W_V.shape}: got {getattr(self, name).shape}. Give every projection "
                    f"the same num_heads and d_model."
                )
        checks.floating(**{name: getattr(self, name) for name in shapes})

    @property
    def num_heads(self) -> int:
        """Number of heads, h."""
        return self.W_Q.shape[0]

    @property
    def num_kv_heads(self) -> int:
        """Number of key and value heads."""
        return self.W_K.shape[0]

    @property
    def d_model(self) -> int:
        """Width of the layer's input and result."""
        return self.W_Q.shape[1]

    @property
    def d_k(self) -> int:
        """Width of one head's queries and keys."""
        return self.W_Q.shape[2]

    @property
    def d_v(self) -> int:
        """Width of one head's values."""
        return self.W_V.shape[2]


def random(
    d_model: int,
    num_heads: int,
    d_k: int | None = None,
    d_v: int | None = None,
    *,
    num_kv_heads: int | None = None,
    bias: bool = False,
    seed: int | None = None,
) -> Projections:
    """Draw the projections of a new layer from a normal distribution.

    Entries have standard deviation 1 / sqrt(rows), so that a unit-variance input gives
    unit-variance queries, keys and values.

    Parameters
    ----------
    d_model, num_heads : int
    d_k, d_v : int, optional
        Head widths; d_model / num_heads and d_k unless given.
    num_kv_heads : int, optional
        `num_heads` unless given.
    bias : bool
        Draw biases too, instead of leaving them zero.
    seed : int, optional
        The same seed gives the same projections.

    Returns
    -------
    Projections, float64

    Raises
    ------
    ValueError
        When `num_heads` does not divide `d_model` and `d_k` is not given, or a size is not
        positive.
    """
    d_k = checks.divides(num_heads, d_model) if d_k is None else d_k
    d_v = d_k if d_v is None else d_v
    num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
    checks.layer_sizes(d_model, num_heads, num_kv_heads, d_k, d_v)
    rng = np.random.default_rng(seed)

    def matrix(*shape):
        return rng.standard_normal(shape) / np.sqrt(shape[-2])

    W_Q, W_K = matrix(num_heads, d_model, d_k), matrix(num_kv_heads, d_model, d_k)
    W_V, W_O = matrix(num_kv_heads, d_model, d_v), matrix(num_heads * d_v, d_model)
    if not bias:
        return Projections(W_Q, W_K, W_V, W_O)
    b_Q, b_K = rng.standard_normal((num_heads, d_k)), rng.standard_normal((num_kv_heads, d_k))
    b_V, b_O = rng.standard_normal((num_kv_heads, d_v)), rng.standard_normal(d_model)
    return Projections(W_Q, W_K, W_V, W_O, b_Q, b_K, b_V, b_O)


def split_heads(x, num_heads: int):
    """Cut the columns of a projected array into heads.

    out[..., i, t, k] = x[..., t, i * d_k + k]

    Parameters
    ----------
    x : (..., T, num_heads * d_k), NumPy array or torch tensor
    num_heads : int

    Returns
    -------
    (..., num_heads, T, d_k), a view where the library can give one

    Raises
    ------
    ValueError
        When `num_heads` does not divide the width of `x`.
    """
    d_k = checks.divides(num_heads, x.shape[-1])
    return x.reshape(*x.shape[:-1], num_heads, d_k).swapaxes(-3, -2)


def merge_heads(heads):
    """Lay the heads side by side along the features: Concat(head_1, ..., head_h).

    out[..., t, i * d_v + v] = heads[..., i, t, v]

    Parameters
    ----------
    heads : (..., num_heads, T, d_v), NumPy array or torch tensor

    Returns
    -------
    (..., T, num_heads * d_v)

    Raises
    ------
    ValueError
        When there is no head axis.
    """
    if heads.ndim < 3:
        raise ValueError(
            f"heads must be (..., num_heads, T, d_v): got shape {tuple(heads.shape)}. "
            f"Stack the heads on the axis before the positions."
        )
    *batch, num_heads, T, d_v = heads.shape
    return heads.swapaxes(-3, -2).reshape(*batch, T, num_heads * d_v)
