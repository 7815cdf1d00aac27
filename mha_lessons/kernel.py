"""Rung 5: the tiles of `tiled` as GPU kernels in Triton, forward and backward.

Each program of the forward kernel keeps a tile of queries on the chip and lets the keys and values
pass by, tile after tile. For one query, with m the largest score so far and l the sum so far:

    m'  = max(m, max over the tile of scores)
    l'  = exp(m - m') l   + sum over the tile of exp(scores - m')
    out = exp(m - m') out + exp(scores - m') V[tile]

and at the end out / l. Besides its result, forward keeps one number per query, the logarithm of
the sum of the exponentials: lse = m + log l. From it, backward makes the weights again, tile by
tile, instead of having stored them:

    weights  = exp(scores - lse)
    dV       = weights^T dO
    d_scores = weights * (dO V^T - delta)    with delta = dO . out, a number per query
    dQ       = d_scores   K / sqrt(d_k)
    dK       = d_scores^T Q / sqrt(d_k)

`attention` is all that this rung offers; never forming the weights is its point.

References
----------
Milakov and Gimelshein 2018, algorithm 3 (one pass over the row); Dao et al. 2022, algorithm 1 (in
tiles, with the values); Dao 2024, section 3.1 (one division at the end; lse alone for backward).
"""

from math import inf, sqrt

import torch
from jaxtyping import Float
from torch import Tensor

from mha_lessons import checks
from mha_lessons.torch_masks import Mask

try:
    import triton
    import triton.language as tl
except ImportError as missing:
    raise ImportError(
        "mha_lessons.kernel needs Triton, which is not installed. On Linux with an NVIDIA GPU, "
        "run: pip install triton. Elsewhere use mha_lessons.module.attention or "
        "mha_lessons.fused.attention: they compute the same."
    ) from missing

WIDEST = 256
MOST_PROGRAMS = 65535
INF = tl.constexpr(inf)


def available(device: torch.device | str) -> bool:
    """Say whether `attention` runs compiled, and so fast, on a device.

    Parameters
    ----------
    device : torch.device or str

    Returns
    -------
    bool
        True on a GPU that Triton supports: compute capability 8.0 or more. False on a CPU, where
        only Triton's interpreter runs the kernels, which is right but slow.
    """
    device = torch.device(device)
    if device.type != "cuda" or not torch.cuda.is_available() or _interpreted():
        return False
    return torch.cuda.get_device_capability(device) >= (8, 0)


def attention(
    Q: Float[Tensor, "B h T d_k"],
    K: Float[Tensor, "B h_kv S d_k"],
    V: Float[Tensor, "B h_kv S d_v"],
    mask: Mask | None = None,
    *,
    causal: bool = False,
    dropout: float = 0.0,
) -> Float[Tensor, "B h T d_v"]:
    """Average the values, weighted by how well each key answers the query, in tiles on a GPU.

    Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V

    Sums are float32 whatever the inputs are, and run in the same order every time. Any strides
    will do: no input is copied. A width that is not a power of two is padded on the chip only.

    Parameters
    ----------
    Q : (B, h, T, d_k)
        float16, bfloat16 or float32, like K and V.
    K : (B, h_kv, S, d_k)
        h_kv may be a divisor of h: consecutive query heads then share a key and value head.
    V : (B, h_kv, S, d_v)
    mask : boolean, broadcastable to (B, 1, 1, S), optional
        True = may attend. It hides keys, as padding does. A NumPy mask is taken too.
    causal : bool
        Hide the future as well, with the last query aligned to the last key: query t reads the
        keys s <= t + S - T. torch's ``is_causal=True`` aligns the first ones instead.
    dropout : float
        0 is all that the kernel offers; the argument is there for `module.MultiHeadAttention`.

    Returns
    -------
    (B, h, T, d_v)
        Zeros, with zero gradient, where a query may attend to nothing. Hidden keys are not even
        loaded, so that NaN there reaches neither the result nor a gradient.

    Raises
    ------
    TypeError
        When a dtype is none of the three, dtypes differ, or the mask is not boolean.
    ValueError
        When shapes do not fit, a head is wider than 256, the mask hides more than keys, devices
        differ, or `dropout` is not 0.
    RuntimeError
        When the tensors are on a CPU and Triton's interpreter is off, and when a gradient of a
        gradient is asked for.

    References
    ----------
    Vaswani et al. 2017, section 3.2.1, equation 1; Dao 2024, algorithms 1 and 2.
    """
    _check(Q, K, V, dropout)
    return _Attention.apply(Q, K, V, _readable(mask, K), causal)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, Q, K, V, readable, causal):
        B, h, T, _ = Q.shape
        out = Q.new_empty(B, h, T, V.shape[-1])
        lse = Q.new_empty(B, h, T, dtype=torch.float32)
        sizes, plan = _sizes(Q, K), _plan(Q, V, causal)
        arrays = map(_in_memory, (Q, K, V, readable, out, lse))
        with torch.cuda.device_of(Q):  # Triton launches on the current GPU
            _forward[triton.cdiv(T, plan["OWN"]), h, B](*arrays, sizes, **plan)
        ctx.save_for_backward(Q, K, V, readable, out, lse)
        ctx.causal = causal
        return out

    @staticmethod
    def backward(ctx, dO):
        if torch.is_grad_enabled():  # as it is here under create_graph=True alone
            raise RuntimeError(
                "The kernel has no gradient of a gradient: got create_graph=True. Use "
                "mha_lessons.module.attention."
            )
        Q, K, V, readable, out, lse = ctx.saved_tensors
        B, h, T, _ = Q.shape
        h_kv, S = K.shape[1:3]
        delta = torch.empty_like(lse)
        dQ, dK, dV = (x.new_empty(x.shape) for x in (Q, K, V))
        sizes, plan = _sizes(Q, K), _plan(Q, V, ctx.causal)
        by_queries = (triton.cdiv(T, plan["OWN"]), h, B)
        by_keys = (triton.cdiv(S, plan["OWN"]), h_kv, B)
        given = [_in_memory(x) for x in (Q, K, V, readable, dO, lse, delta)]
        with torch.cuda.device_of(Q):
            _delta[by_queries](*map(_in_memory, (out, dO, delta)), sizes, **plan)
            if ctx.needs_input_grad[0]:
                _backward_Q[by_queries](*given, _in_memory(dQ), sizes, **plan)
            if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
                _backward_KV[by_keys](*given, _in_memory(dK), _in_memory(dV), sizes, **plan)
        return dQ, dK, dV, None, None


# The kernels. A program owns the tile of OWN rows that stays on the chip; PASSING rows pass by at
# a time. An array in memory, X_at, is (pointer, strides, width, width of its tiles). In products,
# "ieee" keeps float32 exact; the default would first round the factors to 10 bits.


@triton.jit
def _forward(Q_at, K_at, V_at, readable_at, out_at, lse_at, sizes,
             OWN: tl.constexpr, PASSING: tl.constexpr, CAUSAL: tl.constexpr):  # fmt: skip
    T, S, scale, group = sizes
    start, head, sample = tl.program_id(0) * OWN, tl.program_id(1), tl.program_id(2)
    queries = start + tl.arange(0, OWN)
    Q = _load(Q_at, sample, head, start, queries < T)  # (OWN, d_k)
    largest = tl.full((OWN,), -INF, tl.float32)  # m
    sums = tl.zeros((OWN,), tl.float32)  # l
    out = tl.zeros((OWN, out_at[3]), tl.float32)
    whole, end = _keys_read_by(start, T, S, readable_at, OWN, PASSING, CAUSAL)
    for ragged in tl.static_range(2):  # first the tiles of keys that every query reads whole
        for s in range(whole if ragged else 0, end if ragged else whole, PASSING):
            keys = s + tl.arange(0, PASSING)
            read = _read(readable_at, sample, keys, S)
            K = _load(K_at, sample, head // group, s, read)  # (PASSING, d_k)
            V = _load(V_at, sample, head // group, s, read)  # (PASSING, d_v)
            scores = tl.dot(Q, K.T, input_precision="ieee") * scale  # (OWN, PASSING)
            if ragged:
                visible = _visible(queries[:, None], keys[None, :], read[None, :], T, S, CAUSAL)
                scores = tl.where(visible, scores, -INF)
            new = tl.maximum(largest, tl.max(scores, 1))  # m'
            finite = tl.where(new == -INF, 0.0, new)
            shrink, exps = tl.exp(largest - finite), tl.exp(scores - finite[:, None])
            sums = shrink * sums + tl.sum(exps, 1)
            out = shrink[:, None] * out + tl.dot(exps.to(V.dtype), V, input_precision="ieee")
            largest = new
    blank = sums == 0
    sums = tl.where(blank, 1.0, sums)
    _store(out_at, sample, head, start, queries < T, out / sums[:, None])
    # A query without keys keeps inf, so that backward finds the weights exp(scores - inf) = 0.
    lse = tl.where(blank, INF, largest + tl.log(sums))
    tl.store(_head(lse_at, sample, head) + queries, lse, mask=queries < T)


@triton.jit
def _delta(out_at, dO_at, delta_at, sizes,
           OWN: tl.constexpr, PASSING: tl.constexpr, CAUSAL: tl.constexpr):  # fmt: skip
    start, head, sample = tl.program_id(0) * OWN, tl.program_id(1), tl.program_id(2)
    queries = start + tl.arange(0, OWN)
    real = queries < sizes[0]
    out = _load(out_at, sample, head, start, real).to(tl.float32)  # (OWN, d_v)
    dO = _load(dO_at, sample, head, start, real).to(tl.float32)  # (OWN, d_v)
    tl.store(_head(delta_at, sample, head) + queries, tl.sum(dO * out, 1), mask=real)


@triton.jit
def _backward_Q(Q_at, K_at, V_at, readable_at, dO_at, lse_at, delta_at, dQ_at, sizes,
                OWN: tl.constexpr, PASSING: tl.constexpr, CAUSAL: tl.constexpr):  # fmt: skip
    T, S, scale, group = sizes
    start, head, sample = tl.program_id(0) * OWN, tl.program_id(1), tl.program_id(2)
    queries = start + tl.arange(0, OWN)
    Q = _load(Q_at, sample, head, start, queries < T)  # (OWN, d_k)
    dO = _load(dO_at, sample, head, start, queries < T)  # (OWN, d_v)
    lse = tl.load(_head(lse_at, sample, head) + queries, mask=queries < T, other=INF)
    delta = tl.load(_head(delta_at, sample, head) + queries, mask=queries < T, other=0.0)
    dQ = tl.zeros((OWN, dQ_at[3]), tl.float32)
    whole, end = _keys_read_by(start, T, S, readable_at, OWN, PASSING, CAUSAL)
    for ragged in tl.static_range(2):
        for s in range(whole if ragged else 0, end if ragged else whole, PASSING):
            keys = s + tl.arange(0, PASSING)
            read = _read(readable_at, sample, keys, S)
            K = _load(K_at, sample, head // group, s, read)  # (PASSING, d_k)
            V = _load(V_at, sample, head // group, s, read)  # (PASSING, d_v)
            scores = tl.dot(Q, K.T, input_precision="ieee") * scale  # (OWN, PASSING)
            if ragged:
                visible = _visible(queries[:, None], keys[None, :], read[None, :], T, S, CAUSAL)
                scores = tl.where(visible, scores, -INF)
            weights = tl.exp(scores - lse[:, None])
            d_weights = tl.dot(dO, V.T, input_precision="ieee")
            d_scores = weights * (d_weights - delta[:, None])
            dQ += tl.dot(d_scores.to(K.dtype), K, input_precision="ieee")
    _store(dQ_at, sample, head, start, queries < T, dQ * scale)


@triton.jit
def _backward_KV(Q_at, K_at, V_at, readable_at, dO_at, lse_at, delta_at, dK_at, dV_at, sizes,
                 OWN: tl.constexpr, PASSING: tl.constexpr, CAUSAL: tl.constexpr):  # fmt: skip
    # Here keys stay and queries pass by. Scores and weights lie transposed, (OWN keys, PASSING
    # queries), so that sums over queries are plain products.
    T, S, scale, group = sizes
    start, head_kv, sample = tl.program_id(0) * OWN, tl.program_id(1), tl.program_id(2)
    keys = start + tl.arange(0, OWN)
    read = _read(readable_at, sample, keys, S)
    K = _load(K_at, sample, head_kv, start, read)  # (OWN, d_k)
    V = _load(V_at, sample, head_kv, start, read)  # (OWN, d_v)
    dK = tl.zeros((OWN, dK_at[3]), tl.float32)
    dV = tl.zeros((OWN, dV_at[3]), tl.float32)
    begin, whole = _queries_that_read(start, T, S, readable_at, OWN, PASSING, CAUSAL)
    for member in range(group):  # every query head that shares these keys adds its part
        head = head_kv * group + member
        for ragged in tl.static_range(2):
            for t in range(begin if ragged else whole, whole if ragged else T, PASSING):
                queries = t + tl.arange(0, PASSING)
                Q = _load(Q_at, sample, head, t, queries < T)  # (PASSING, d_k)
                dO = _load(dO_at, sample, head, t, queries < T)  # (PASSING, d_v)
                lse = tl.load(_head(lse_at, sample, head) + queries, mask=queries < T, other=INF)
                delta = tl.load(
                    _head(delta_at, sample, head) + queries, mask=queries < T, other=0.0
                )
                scores = tl.dot(K, Q.T, input_precision="ieee") * scale  # (OWN, PASSING)
                if ragged:
                    visible = _visible(queries[None, :], keys[:, None], read[:, None], T, S, CAUSAL)
                    scores = tl.where(visible, scores, -INF)
                weights = tl.exp(scores - lse[None, :])
                d_weights = tl.dot(V, dO.T, input_precision="ieee")
                d_scores = weights * (d_weights - delta[None, :])
                dV += tl.dot(weights.to(dO.dtype), dO, input_precision="ieee")
                dK += tl.dot(d_scores.to(Q.dtype), Q, input_precision="ieee")
    _store(dK_at, sample, head_kv, start, keys < S, dK * scale)
    _store(dV_at, sample, head_kv, start, keys < S, dV)


# Who reads whom.


@triton.jit
def _visible(queries, keys, read, T, S, CAUSAL: tl.constexpr):
    if CAUSAL:
        read = read & (keys <= queries + (S - T))
    return read


@triton.jit
def _read(readable_at, sample, keys, S):
    """Say which keys exist and are not hidden."""
    read = keys < S
    if readable_at[0] is not None:
        pointers = _head(readable_at, sample, 0) + keys * readable_at[1][2]
        read = tl.load(pointers, mask=read, other=False)
    return read


@triton.jit
def _keys_read_by(start, T, S, readable_at, OWN, PASSING: tl.constexpr, CAUSAL: tl.constexpr):
    """Return `whole`, below which the tile reads every key, and `end`, from which it reads none."""
    whole, end = S // PASSING * PASSING, S
    if CAUSAL:
        first_reads = tl.maximum(0, start + 1 + S - T)  # so many keys
        whole = tl.minimum(whole, first_reads // PASSING * PASSING)
        end = tl.minimum(end, start + OWN + S - T)
    if readable_at[0] is not None:
        whole = 0
    return whole, end


@triton.jit
def _queries_that_read(start, T, S, readable_at, OWN, PASSING: tl.constexpr, CAUSAL: tl.constexpr):
    """Return `begin`, before which no query reads the tile, and `whole`, from which each does."""
    begin, whole = 0, 0
    if CAUSAL:
        begin = tl.maximum(0, start + T - S) // PASSING * PASSING
        whole = tl.cdiv(tl.maximum(0, start + OWN - 1 + T - S), PASSING) * PASSING
    if readable_at[0] is not None:
        whole = T
    return begin, tl.where(start + OWN > S, T, tl.minimum(whole, T))


# Memory.


@triton.jit
def _head(at, sample, head):
    # In 64 bits, like every offset but those inside a tile: long sequences outgrow 32.
    return at[0] + tl.cast(sample, tl.int64) * at[1][0] + tl.cast(head, tl.int64) * at[1][1]


@triton.jit
def _tile(at, sample, head, start, real):
    """Point at rows start, start + 1, ... of one head; say which entries are there."""
    row, column = at[1][2], at[1][3]
    rows, columns = tl.arange(0, real.shape[0])[:, None], tl.arange(0, at[3])[None, :]
    pointers = _head(at, sample, head) + tl.cast(start, tl.int64) * row
    return pointers + rows * row + columns * column, real[:, None] & (columns < at[2])


@triton.jit
def _load(at, sample, head, start, real):
    """Load rows of one head: zeros, whatever memory holds, where `real` is False."""
    pointers, there = _tile(at, sample, head, start, real)
    return tl.load(pointers, mask=there, other=0.0)


@triton.jit
def _store(at, sample, head, start, real, values):
    pointers, there = _tile(at, sample, head, start, real)
    tl.store(pointers, values.to(at[0].dtype.element_ty), mask=there)


# What the host decides.


def _in_memory(x):
    """Describe an array to a kernel, which is compiled for each width that it meets."""
    if x is None:
        return None, None
    width = x.shape[-1] if x.ndim == 4 else 1  # otherwise rows of one number
    tile_width = max(16, triton.next_power_of_2(width))  # as tl.dot takes them
    return x, x.stride(), tl.constexpr(width), tl.constexpr(tile_width)


def _sizes(Q, K):
    (h, T, d_k), (h_kv, S) = Q.shape[1:], K.shape[1:3]
    return T, S, 1 / sqrt(d_k), h // max(1, h_kv)


def _plan(Q, V, causal):
    """Choose how many rows a program owns and how many pass by: the wider, the fewer fit."""
    width = max(Q.shape[-1], V.shape[-1])
    if Q.dtype == torch.float32:  # tensor cores would round: plain products need more registers
        own, passing = (64, 16) if width <= 64 else (32, 16) if width <= 128 else (16, 16)
    else:
        own, passing = (128, 64) if width <= 64 else (128, 32) if width <= 128 else (64, 16)
    return {
        "OWN": own,
        "PASSING": passing,
        "CAUSAL": bool(causal),
        "num_warps": 8,
        "num_stages": 3 if width <= 64 else 2,  # how many passing tiles are under way at once
        "enable_fp_fusion": True,  # a * b + c in one rounding; unsaid, Triton 3.9 warns
    }


def _interpreted():
    """Say whether Triton was told, before it was imported, to interpret kernels."""
    return not isinstance(_forward, triton.JITFunction)


def _check(Q, K, V, dropout):
    for name, x in (("Q", Q), ("K", K), ("V", V)):
        if x.ndim != 4:
            raise ValueError(
                f"{name} must have four axes, (B, heads, positions, width): got shape "
                f"{tuple(x.shape)}. Add the missing ones, as in {name}[None]."
            )
    checks.attention_inputs(Q, K, V, grouped=True)
    if Q.dtype not in (torch.float16, torch.bfloat16, torch.float32):
        raise TypeError(
            f"The kernel takes float16, bfloat16 and float32: got {Q.dtype}. "
            f"Convert to one of them, or use mha_lessons.module.attention."
        )
    if Q.dtype == torch.bfloat16 and _interpreted():
        raise TypeError(
            "Triton's interpreter cannot multiply bfloat16: got it for Q, K and V. Convert to "
            "float32, or use a GPU."
        )
    if max(Q.shape[-1], V.shape[-1]) > WIDEST:
        raise ValueError(
            f"The kernel takes heads of a width up to {WIDEST}, whose tiles fit on the chip: got "
            f"d_k={Q.shape[-1]} and d_v={V.shape[-1]}. Use more and narrower heads, or "
            f"mha_lessons.module.attention."
        )
    if max(Q.shape[:2]) > MOST_PROGRAMS:
        raise ValueError(
            f"The kernel takes at most {MOST_PROGRAMS} samples, and as many heads, which is what a "
            f"GPU launches along one axis: got Q {tuple(Q.shape)}. Split the batch."
        )
    if dropout:
        raise ValueError(
            f"The kernel has no dropout: got dropout={dropout}. Set it to 0, or use "
            f"mha_lessons.module.attention or mha_lessons.fused.attention."
        )
    if Q.device.type != "cuda" and not _interpreted():
        raise RuntimeError(
            f"The kernel runs on a GPU: got tensors on {Q.device}. Move them to one, or use "
            f"mha_lessons.module.attention. (To try the kernel on a CPU, slowly, set the "
            f"environment variable TRITON_INTERPRET=1 before Python starts.)"
        )


def _readable(mask, K):
    """Turn a mask that hides keys into (B, 1, S), without a copy for every sample."""
    if mask is None:
        return None
    (B, _, S, _), device = K.shape, K.device
    if not isinstance(mask, Tensor):
        mask = torch.tensor(mask, device=device)
    checks.boolean(mask)
    checks.same_device(device, mask=mask)
    try:
        return mask.expand(B, 1, 1, S)[:, 0]  # (B, 1, S)
    except RuntimeError:
        raise ValueError(
            f"The kernel takes a mask that hides keys, broadcastable to (B, 1, 1, S): got a mask "
            f"{tuple(mask.shape)} for {(B, 1, 1, S)}. For the causal one pass causal=True; with "
            f"any other use mha_lessons.module.attention."
        ) from None
