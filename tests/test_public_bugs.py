"""What public bug reports were about is right here, on every rung where the case has a meaning."""

import json
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import ladder
import numpy as np
import pytest
import torch

from mha_lessons import layouts, module, projections
from mha_lessons.cache import KVCache
from mha_lessons.projections import Projections, split_heads

CASES = json.loads((Path(__file__).parent / "data/attention_cases.json").read_text("utf-8"))
RUNGS = ladder.load()
# float64 on both sides, summed in another order.
CLOSE = {"rtol": 1e-12, "atol": 1e-12}


def check(f, arguments, want, **tolerance):
    got = f(*arguments)
    assert np.shape(got) == np.shape(want)
    np.testing.assert_allclose(got, want, **(CLOSE | tolerance))


def refuse(f, arguments, error, words):
    with pytest.raises(error, match=words):
        f(*arguments)


def arrays(case, *names):
    return [np.array(case["inputs"][name], dtype=float) for name in names]


def wanted(case, name):
    return np.array(case["expect"][name], dtype=float)


def visible(case, B, T, S):
    """Combine all that the case hides into one mask, or None."""
    given, params, s = case["inputs"], case["params"], np.arange(S)
    parts = []
    if "keep" in given:
        parts.append(np.array(given["keep"]))
    if "key_keep" in given:
        parts.append(np.array(given["key_keep"])[:, None, None, :])
    if "causal" in params:
        offset = np.broadcast_to(params["causal"], (B,))[:, None, None, None]
        parts.append(s <= np.arange(T)[:, None] + offset)
    if "valid_kv" in params:
        parts.append(s < np.array(params["valid_kv"])[:, None, None, None])
    return RUNGS.masks.combine(*parts)


# Each op yields the ways to do it: a name, and a call that fails if the result is wrong.


def sdpa(case):
    Q, K, V = arrays(case, "q", "k", "v")
    (B, _, T, _), S = Q.shape, K.shape[-2]
    mask, out = visible(case, B, T, S), wanted(case, "out")
    for name, attention in ladder.attentions(RUNGS).items():
        yield name, partial(check, attention, (Q, K, V, mask), out)
    if case["params"] == {"causal": S - T}:
        for name, attention in ladder.causal_attentions(RUNGS).items():
            yield f"{name}, causal", partial(check, attention, (Q, K, V), out)
    for name, weigh in ladder.weighings(RUNGS).items():
        yield f"{name}, weights", partial(check, weigh, (Q, K, mask), wanted(case, "weights"))
    if "float16" in case["features"]:
        yield from in_smaller_dtypes(Q, K, V, mask, out)
    if "strided inputs" in case["features"]:
        yield from strided(Q, K, V, mask, out)
    if "valid_kv" in case["params"]:
        for name, attention in ladder.torch_attentions(RUNGS).items():
            yield f"{name}, cache", partial(check, static_cache, (case, attention), out)


def in_smaller_dtypes(Q, K, V, mask, out):
    def run(attention, dtype):
        return attention(*(torch.from_numpy(x).to(dtype) for x in (Q, K, V)), mask).double()

    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        # The keys, log 2 and log 3, are rounded, then the scores: some units of rounding.
        eps = {"rtol": 4 * torch.finfo(dtype).eps}
        for name, attention in ladder.torch_attentions(RUNGS).items():
            yield f"{name}, {dtype}", partial(check, run, (attention, dtype), out, **eps)
    for name in ("equation", "vectorized", "tiled"):
        attention = ladder.attentions(RUNGS)[name]
        for dtype in (np.float16, np.float32):
            small, eps = [x.astype(dtype) for x in (Q, K, V)], 4 * np.finfo(dtype).eps
            yield (
                f"{name}, {dtype.__name__}",
                partial(check, attention, (*small, mask), out, rtol=eps),
            )


def strided(Q, K, V, mask, out):
    def permuted(x):
        return x.transpose(-3, -2).contiguous().transpose(-3, -2)

    def every_second(x):
        return torch.stack([x, torch.full_like(x, torch.nan)], dim=-1).flatten(-2)[..., ::2]

    def expanded(x):
        return x.expand(5, *x.shape[1:])

    def run(attention, how):
        Q_, K_, V_ = (how(torch.from_numpy(x)) for x in (Q, K, V))
        return attention(Q_, K_, V_, mask)

    for how in (permuted, every_second, expanded):
        assert not how(torch.from_numpy(Q)).is_contiguous()
        want = np.broadcast_to(out, (5, *out.shape[1:])) if how is expanded else out
        for name, attention in ladder.torch_attentions(RUNGS).items():
            yield f"{name}, {how.__name__}", partial(check, run, (attention, how), want)
    for name, attention in list(ladder.attentions(RUNGS).items())[:4]:
        views = [every_second(torch.from_numpy(x)).numpy() for x in (Q, K, V)]
        yield f"{name}, every_second", partial(check, attention, (*views, mask), out)


def static_cache(case, attention):
    Q, K, V = (torch.from_numpy(x) for x in arrays(case, "q", "k", "v"))
    filled = torch.tensor(case["params"]["valid_kv"])
    K, V, mask, causal = ladder.continue_cache(K, V, filled, Q.shape[-2])
    return attention(Q, K, V, mask, causal=causal)


def layer_of(case):
    """Return the inputs, projections and mask of a layer; its keys and values read one array."""
    x_q, x_kv, x_v = arrays(case, "xq", "xk", "xv")
    np.testing.assert_array_equal(x_kv, x_v)
    given, h = case["inputs"], case["params"]["num_heads"]
    counts = h, case["params"].get("num_kv_heads", h), case["params"].get("num_kv_heads", h)
    W = [split_heads(W.T, n) for W, n in zip(arrays(case, "wq", "wk", "wv"), counts, strict=True)]
    (W_O,) = arrays(case, "wo")
    b = [None] * 4
    if "bq" in given:
        *b, b_O = arrays(case, "bq", "bk", "bv", "bo")
        b = [*(x.reshape(n, -1) for x, n in zip(b, counts, strict=True)), b_O]
    mask = visible(case, *x_q.shape[:2], x_kv.shape[1])
    return x_q, x_kv, Projections(*W, W_O.T, *b), mask


def mha(case):
    x_q, x_kv, p, mask = layer_of(case)
    out, weights, mean = (wanted(case, name) for name in ("out", "weights", "weights_avg"))
    for name, layer in ladder.layers(RUNGS).items():
        yield name, partial(check, layer, (x_q, x_kv, p, mask), out)
    padding = visible(case | {"params": {}}, *x_q.shape[:2], x_kv.shape[1])
    arguments = torch.from_numpy(x_q), torch.from_numpy(x_kv), padding

    def build(attend, **options):
        layer = module.MultiHeadAttention.from_projections(p, attend=attend, **options)
        return layer.requires_grad_(False)

    def run(attend):
        return build(attend)(*arguments, causal="causal" in case["params"])

    def weigh(average):
        each = build("own").weights(*arguments, causal="causal" in case["params"])
        return each.mean(dim=1) if average else each

    def switch(attend, times):
        layer = build(attend, dropout=0.9)
        for _ in range(times):
            layer.train().eval()
        return layer(*arguments, causal="causal" in case["params"])

    for attend in ("own", "fused"):
        yield f"MultiHeadAttention, {attend}", partial(check, run, (attend,), out)
    yield "MultiHeadAttention, weights", partial(check, weigh, (False,), weights)
    yield "MultiHeadAttention, mean weights", partial(check, weigh, (True,), mean)
    if "dropout" in case["features"]:
        for attend in ("own", "fused"):
            for times in (1, 2):
                name = f"MultiHeadAttention, {attend}, evaluation {times}"
                yield name, partial(check, switch, (attend, times), out)


def grad(case):
    Q, K, V, coef = arrays(case, "q", "k", "v", "coef")
    mask = visible(case, Q.shape[0], Q.shape[-2], K.shape[-2])

    def gradient(attention, i):
        inputs = [torch.tensor(x, requires_grad=True) for x in (Q, K, V)]
        out = attention(*inputs, mask)
        return torch.autograd.grad((out * torch.from_numpy(coef)).sum(), inputs)[i]

    for name, attention in ladder.torch_attentions(RUNGS).items():
        for i, x in enumerate(("dq", "dk", "dv")):
            # Central differences with step 1e-5 are good to about 1e-10.
            yield (
                f"{name}, {x}",
                partial(check, gradient, (attention, i), wanted(case, x), atol=1e-9, rtol=1e-8),
            )


def decode(case):
    Q, K, V = (torch.from_numpy(x) for x in arrays(case, "q", "k", "v"))
    B, h, S, d_k = K.shape

    def run(attention, chunks):
        cache, out = KVCache(B, h, S, d_k, V.shape[-1], dtype=Q.dtype), []
        for new in zip(*(x.split(chunks, dim=2) for x in (Q, K, V)), strict=True):
            *seen, mask, causal = cache.extend(*new[1:])
            out.append(attention(new[0], *seen, mask, causal=causal))
        return torch.cat(out, dim=2)

    for name, attention in ladder.torch_attentions(RUNGS).items():
        for chunks in case["params"]["chunkings"]:
            yield (
                f"{name}, {chunks}",
                partial(check, run, (attention, chunks), wanted(case, "out")),
            )


def raises(case):
    what, params = case["params"]["what"], case["params"]
    sizes = params["embed_dim"], params["num_heads"]
    if what == "mha_init":
        words = "num_heads must divide d_model: got d_model=10 and num_heads=3"
        for make in (module.MultiHeadAttention, projections.random):
            yield make.__name__, partial(refuse, make, sizes, ValueError, words)
        return
    x_q, x_k, x_v = arrays(case, "xq", "xk", "xv")
    if what == "mha_forward":  # a layer takes one x_kv, so only attention can be asked for this
        mask, error, words = None, ValueError, "K and V must have one row per key"
    else:
        mask, error, words = np.array(case["inputs"]["int_mask"]), TypeError, "must be boolean"
        layer = projections.random(*sizes, seed=0)
        for name, f in ladder.layers(RUNGS).items():
            yield f"{name}, layer", partial(refuse, f, (x_q, x_k, layer, mask), error, words)
    for name, attention in ladder.attentions(RUNGS).items():
        yield name, partial(refuse, attention, (x_q, x_k, x_v, mask), error, words)


def empty(case):
    Q, K = (np.ones(case["params"][name]) for name in ("q", "k"))
    want = np.zeros(case["expect"]["shape"])
    for name, attention in ladder.attentions(RUNGS).items():
        yield name, partial(check, attention, (Q, K, K), want)
    for name, attention in ladder.causal_attentions(RUNGS).items():
        yield f"{name}, causal", partial(check, attention, (Q, K, K), want)


def load(case):
    state = {name: np.array(x) for name, x in case["inputs"]["state"].items()}
    p = layouts.read(state, case["params"]["format"], num_heads=case["params"]["num_heads"])
    (x,) = arrays(case, "x")
    mask = visible(case, *x.shape[:2], x.shape[1])
    for name, layer in ladder.layers(RUNGS).items():
        yield name, partial(check, layer, (x, x, p, mask), wanted(case, "out"))


OPS = {f.__name__: f for f in (sdpa, mha, grad, decode, raises, load)} | {"property": empty}


def ways(cases):
    """Return each case in each way, named after both."""
    named = [(case, *way) for case in cases for way in OPS[case["op"]](case)]
    return [pytest.param(case, call, id=f"{case['id']}-{name}") for case, name, call in named]


TO_REFUSE = [case for case in CASES if case["op"] == "raises"]
TO_COMPUTE = [case for case in CASES if case["op"] != "raises"]


@contextmanager
def saying_why(case):
    try:
        yield
    except BaseException as failure:
        failure.add_note(f"{case['why']} Reported in {', '.join(case['reports'])}.")
        raise


@pytest.mark.parametrize(("case", "way"), ways(TO_COMPUTE))
def test_what_was_reported_is_right_here(case, way):
    with saying_why(case):
        way()


@pytest.mark.parametrize(("case", "way"), ways(TO_REFUSE))
def test_what_cannot_be_meant_is_refused(case, way):
    with saying_why(case):
        way()


def test_no_case_is_left_out():
    run = {param.values[0]["id"] for param in ways(CASES)}
    assert run == {case["id"] for case in CASES}
    assert len(run) == 36


def test_a_failure_says_why_the_case_matters():
    case = CASES[0]
    with pytest.raises(AssertionError) as failure, saying_why(case):
        check(lambda: [1.0], (), [2.0])
    assert case["why"] in failure.value.__notes__[0]
