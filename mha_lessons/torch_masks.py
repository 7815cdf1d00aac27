"""The mask rule of `masks`, for torch: boolean, True = may attend.

`attention`, its fused form and the cache share these three functions; none of them is a rung.
"""

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mha_lessons import checks

Mask = Bool[Tensor, "..."] | Bool[np.ndarray, "..."]


def causal(T: int, S: int, device=None) -> Bool[Tensor, "T S"]:
    """Make `masks.causal` on a device: the last query is aligned with the last key."""
    return torch.ones(T, S, dtype=torch.bool, device=device).tril(S - T)


def visible(mask: Mask | None, scores_shape: tuple, *, causal_too: bool, device) -> Mask | None:
    """Combine a mask and causality.

    Parameters
    ----------
    mask : boolean, broadcastable to `scores_shape`, or None
    scores_shape : tuple, (..., T, S)
    causal_too : bool
        Hide the future as well.
    device : torch.device

    Returns
    -------
    boolean tensor of at least two axes, broadcastable to `scores_shape`; None if nothing is hidden

    Raises
    ------
    TypeError
        When the mask is not boolean.
    ValueError
        When it does not broadcast, or lies on another device.
    """
    T, S = scores_shape[-2:]
    if mask is not None:
        if not isinstance(mask, Tensor):
            mask = torch.from_numpy(np.array(mask)).to(device)
        checks.mask_fits(mask, scores_shape)
        checks.same_device(device, mask=mask)
        mask = mask.reshape((1,) * (2 - mask.ndim) + tuple(mask.shape))
    if causal_too and (T, S) != (1, max(S, 1)):  # a single query reads all keys
        past = causal(T, S, device)
        mask = past if mask is None else mask & past
    return mask


def blank_unread(
    x: Float[Tensor, "*batch S d"], mask: Bool[Tensor, "..."]
) -> Float[Tensor, "*batch S d"]:
    """Zero the rows of K or V that no query may attend to.

    A weight of exactly 0 does not protect a sum, nor its gradient, from them: 0 * NaN is NaN.

    Parameters
    ----------
    x : (..., S, d)
    mask : boolean, broadcastable to (..., T, S)
    """
    return x.masked_fill(~mask.any(dim=-2)[..., None], 0)
