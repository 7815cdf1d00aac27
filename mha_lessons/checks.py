"""What every rung asks of its arguments, with errors that name the rule, the values, the remedy.

Everything here looks at shapes and dtypes only, so NumPy arrays and torch tensors are served alike.
"""


def divides(num_heads, d_model):
    """Return d_k = d_model / num_heads.

    Raises
    ------
    ValueError
        When `num_heads` is not a positive number that divides `d_model`.
    """
    if num_heads < 1 or d_model < 1:
        raise ValueError(
            f"num_heads and d_model must be positive: got num_heads={num_heads}, "
            f"d_model={d_model}. Use at least one head."
        )
    if d_model % num_heads:
        choices = [h for h in range(1, d_model + 1) if d_model % h == 0]
        below = max(h for h in choices if h < num_heads) if num_heads > 1 else 1
        above = min((h for h in choices if h > num_heads), default=d_model)
        raise ValueError(
            f"num_heads must divide d_model: got d_model={d_model} and num_heads={num_heads}, "
            f"which leaves {d_model % num_heads} columns over. "
            f"Choose a divisor such as {below} or {above}, or give d_k yourself."
        )
    return d_model // num_heads


def shares(num_heads, num_kv_heads):
    """Return how many consecutive query heads share one key and value head.

    Raises
    ------
    ValueError
        When `num_kv_heads` is not a positive number that divides `num_heads`.
    """
    if num_kv_heads < 1 or num_heads < 1 or num_heads % num_kv_heads:
        raise ValueError(
            f"num_kv_heads must divide num_heads: got num_heads={num_heads} and "
            f"num_kv_heads={num_kv_heads}. Give each key and value head the same number of "
            f"query heads."
        )
    return num_heads // num_kv_heads


def layer_sizes(d_model, num_heads, num_kv_heads, d_k, d_v):
    """Refuse the sizes of a layer that cannot be.

    Raises
    ------
    ValueError
        When a size is not positive, or `num_kv_heads` does not divide `num_heads`.
    """
    if min(d_model, num_heads, num_kv_heads, d_k, d_v) < 1:
        raise ValueError(
            f"Sizes must be positive: got d_model={d_model}, num_heads={num_heads}, d_k={d_k}, "
            f"d_v={d_v}, num_kv_heads={num_kv_heads}. Use at least one head of one feature."
        )
    shares(num_heads, num_kv_heads)


def probability(**values):
    """Refuse a number that is no probability below 1.

    Raises
    ------
    ValueError
        When a value is not in [0, 1).
    """
    for name, p in values.items():
        if not 0 <= p < 1:
            raise ValueError(f"{name} must be at least 0 and below 1: got {p}. Use 0 for none.")


def floating(**arrays):
    """Refuse arrays that are not floating point.

    Raises
    ------
    TypeError
        When an array has an integer, boolean or complex dtype.
    """
    for name, x in arrays.items():
        if "float" not in str(x.dtype):
            raise TypeError(
                f"{name} must be floating point: got {x.dtype}. "
                f"Convert it first, for example to float64."
            )


def same_device(device, **tensors):
    """Refuse tensors that lie on another device; NumPy arrays lie on none.

    Raises
    ------
    ValueError
        When a tensor is on a device other than `device`.
    """
    for name, x in tensors.items():
        if getattr(x, "device", None) != device:
            raise ValueError(
                f"All tensors must be on one device: got {name} on {x.device} beside {device}. "
                f"Move it with .to({str(device)!r})."
            )


def same_dtype(dtype, **arrays):
    """Refuse inputs of another dtype than the layer's projections.

    Raises
    ------
    TypeError
        When the dtype of an array is not `dtype`.
    """
    for name, x in arrays.items():
        if x.dtype != dtype:
            raise TypeError(
                f"{name} must have the dtype of the layer's projections: got {x.dtype} for "
                f"{dtype}. Convert one of them, or run under torch.autocast."
            )


def attention_inputs(Q, K, V=None, *, grouped=False):
    """Refuse queries, keys and values that do not fit together.

    Parameters
    ----------
    Q : (..., T, d_k)
    K : (..., S, d_k)
    V : (..., S, d_v), optional
    grouped : bool
        Let the head axis of K and V, the third from the end, be a divisor of Q's.

    Returns
    -------
    int
        How many consecutive query heads share one key and value head; 1 unless `grouped`.

    Raises
    ------
    TypeError
        When one of them is not floating point, or their dtypes differ.
    ValueError
        When ranks, leading axes, d_k, the number of keys or the devices differ.
    """
    named = {"Q": Q, "K": K} | ({} if V is None else {"V": V})
    floating(**named)
    for name, x in named.items():
        if x.dtype != Q.dtype:
            raise TypeError(
                f"Q, K and V must share a dtype: got Q {Q.dtype} and {name} {x.dtype}. "
                f"Convert {name} first."
            )
    same_device(getattr(Q, "device", None), **named)
    for name, x in named.items():
        if x.ndim < 2:
            raise ValueError(
                f"{name} must have a position axis and a feature axis: got shape {tuple(x.shape)}. "
                f"Add the missing axis; one vector is {name}[None, :]."
            )
        if not (tuple(x.shape[:-2]) == tuple(Q.shape[:-2]) or (grouped and _share_heads(Q, x))):
            raise ValueError(
                f"Q and {name} must share their leading axes: got Q {tuple(Q.shape)} and "
                f"{name} {tuple(x.shape)}. Give both the same batch and heads"
                + ("; the heads of K and V may also divide those of Q." if grouped else ".")
            )
    if Q.shape[-1] != K.shape[-1]:
        raise ValueError(
            f"Q and K must share d_k: got Q {tuple(Q.shape)} and K {tuple(K.shape)}. "
            f"Project both to the same width."
        )
    if Q.shape[-1] == 0:
        raise ValueError(
            f"d_k must be at least 1: got Q {tuple(Q.shape)}. Give each head one feature or more."
        )
    if V is not None and V.shape[-2] != K.shape[-2]:
        raise ValueError(
            f"K and V must have one row per key: got K {tuple(K.shape)} and V {tuple(V.shape)}. "
            f"Project both from the same x_kv."
        )
    if V is not None and tuple(V.shape[:-2]) != tuple(K.shape[:-2]):
        raise ValueError(
            f"K and V must share their heads: got K {tuple(K.shape)} and V {tuple(V.shape)}. "
            f"Project both from the same x_kv."
        )
    return Q.shape[-3] // K.shape[-3] if Q.ndim > 2 and K.shape[-3] else 1


def _share_heads(Q, K):
    same_batch = Q.ndim == K.ndim > 2 and tuple(Q.shape[:-3]) == tuple(K.shape[:-3])
    return same_batch and K.shape[-3] > 0 and Q.shape[-3] % K.shape[-3] == 0


def boolean(mask):
    """Refuse a mask that is not boolean: 0 and 1 do not say which of them hides.

    Raises
    ------
    TypeError
        When the dtype of `mask` is not boolean.
    """
    if str(mask.dtype) not in ("bool", "torch.bool"):
        raise TypeError(
            f"A mask must be boolean, True = may attend: got {mask.dtype}. "
            f"Write `mask == 1` if 1 means may attend, `mask == 0` if 1 means hidden."
        )


def mask_fits(mask, scores_shape):
    """Refuse a mask that is not boolean or does not broadcast to the scores.

    Parameters
    ----------
    mask : boolean, True = may attend
    scores_shape : tuple, (..., T, S)

    Raises
    ------
    TypeError
        When the mask is not boolean.
    ValueError
        When the mask does not broadcast to `scores_shape`.
    """
    boolean(mask)
    shape, wanted = tuple(mask.shape), tuple(scores_shape)
    fits = len(shape) <= len(wanted) and all(
        m in (1, n) for m, n in zip(reversed(shape), reversed(wanted), strict=False)
    )
    if not fits:
        raise ValueError(
            f"A mask must broadcast to (..., T, S): got a mask {shape} for scores {wanted}. "
            f"Put queries on the axis before the last and keys on the last."
        )


def layer_inputs(x_q, x_kv, d_model):
    """Refuse inputs of a whole layer that do not fit it.

    Parameters
    ----------
    x_q : (..., T, d_model)
    x_kv : (..., S, d_model)
    d_model : int

    Raises
    ------
    TypeError
        When one of them is not floating point.
    ValueError
        When a width is not `d_model` or the leading axes differ.
    """
    floating(x_q=x_q, x_kv=x_kv)
    for name, x in (("x_q", x_q), ("x_kv", x_kv)):
        if x.ndim < 2 or x.shape[-1] != d_model:
            raise ValueError(
                f"{name} must be (..., positions, d_model) with d_model={d_model}: got shape "
                f"{tuple(x.shape)}. The last axis holds the features that W_Q, W_K and W_V read."
            )
    if tuple(x_q.shape[:-2]) != tuple(x_kv.shape[:-2]):
        raise ValueError(
            f"x_q and x_kv must share their leading axes: got x_q {tuple(x_q.shape)} and x_kv "
            f"{tuple(x_kv.shape)}. Give both the same batch."
        )
