"""The same four matrices under other libraries' names: read from and written to their state dicts.

A square matrix fits either way round, so shapes cannot tell one layout from another. The caller
says which layout a state has, its names must be exactly that layout's, and only then shapes count.
"""

from typing import NamedTuple

import numpy as np

from mha_lessons import checks
from mha_lessons.projections import Projections, merge_heads, split_heads


class Layout(NamedTuple):
    """Where one library keeps the projections of a layer."""

    qkv: tuple[str, ...]  # names up to "weight" and "bias": Q, K and V, or one for all three packed
    out: str  # the same for W_O
    linear: bool  # weights are (out, in), as in torch.nn.Linear; otherwise (in, out)
    biases: tuple[str, ...]  # which biases there may be, the library's default first
    grouped: bool = False  # num_kv_heads and d_k are free; otherwise d_k = d_model / num_heads
    beside: tuple[str, ...] = ()  # names in the same module that hold no projection


BERT = ("self.query.", "self.key.", "self.value."), "output.dense."
LLAMA = ("q_proj.", "k_proj.", "v_proj."), "o_proj."
NORM = ("output.LayerNorm.weight", "output.LayerNorm.bias")
BUFFERS = ("bias", "masked_bias", "rotary_emb.inv_freq")  # constants in older files

LAYOUTS = {
    "torch": Layout(("in_proj_",), "out_proj.", True, ("QKVO", "")),
    "bert": Layout(*BERT, True, ("QKVO",), beside=NORM),
    "gpt2": Layout(("c_attn.",), "c_proj.", False, ("QKVO",), beside=BUFFERS),
    "llama": Layout(*LLAMA, True, ("", "QKV", "QKVO"), grouped=True, beside=BUFFERS),
}

REFUSED = {  # what torch.nn.MultiheadAttention may have and Projections has no place for
    "bias_k": "add_bias_kv=True learns one more key and value. Projections has no place for them",
    "k_proj_weight": "kdim or vdim differs from embed_dim. Projections has one d_model for all",
}


def read(state, layout, *, num_heads, num_kv_heads=None, prefix="") -> Projections:
    """Take the projections of one layer out of another library's state dict.

    Parameters
    ----------
    state : mapping of names to NumPy arrays or torch tensors
        Of one attention module or of a whole model. Arrays are copied; tensors may be on any
        device and require gradients; bfloat16 becomes float32, which holds it exactly.
    layout : {"torch", "bert", "gpt2", "llama"}
        ``torch.nn.MultiheadAttention``, or the attention modules of `transformers`.
        What a state does not say is not noticed: torch's ``add_zero_attn``, and the rotary
        positions of "llama" and its relatives, which act after the projections.
    num_heads, num_kv_heads : int
        A state does not hold them: take them from the model's configuration. `num_kv_heads`,
        which only "llama" leaves free, is `num_heads` unless given.
    prefix : str
        Where the attention module stands: ``"encoder.layer.0.attention."`` in BERT,
        ``"h.0.attn."`` in GPT-2, ``"model.layers.0.self_attn."`` in Llama.

    Returns
    -------
    Projections

    Raises
    ------
    TypeError
        When an array is not floating point.
    ValueError
        When names are missing or unknown, or sizes do not fit.

    References
    ----------
    ``torch.nn.MultiheadAttention``; ``BertAttention``, ``GPT2Attention`` and ``LlamaAttention`` of
    `transformers`.
    """
    how = _known(layout)
    stored = {name: _array(x) for name, x in _select(state, layout, prefix).items()}
    checks.floating(**stored)
    num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads

    def in_out(name):  # a bias is one row
        return np.atleast_2d(stored[name].T if how.linear else stored[name])

    def heads(kind):
        parts = [in_out(name + kind) for name in how.qkv]
        parts = np.split(parts[0], 3, axis=-1) if len(parts) == 1 else parts
        counts = (num_heads, num_kv_heads, num_kv_heads)
        return [split_heads(x, n) for x, n in zip(parts, counts, strict=True)]

    try:
        checks.shares(num_heads, num_kv_heads)
        biased = how.qkv[0] + "bias" in stored
        biases = [b.squeeze(-2) for b in heads("bias")] if biased else [None] * 3
        W_O, b_O = in_out(how.out + "weight"), stored.get(how.out + "bias")
        return _fitting(Projections(*heads("weight"), W_O, *biases, b_O), layout)
    except ValueError as error:
        raise ValueError(
            f"Layout {layout!r}, with weights as {'(out, in)' if how.linear else '(in, out)'}, "
            f"must fit num_heads={num_heads} and num_kv_heads={num_kv_heads}: got "
            f"{', '.join(f'{name} {x.shape}' for name, x in stored.items())}. Take both numbers "
            f"from the model's configuration; transpose every weight if they lie the other way."
        ) from error


def write(p: Projections, layout, *, biases=None, prefix="") -> dict[str, np.ndarray]:
    """Lay projections out as another library's state dict: the inverse of `read`.

    Parameters
    ----------
    p : Projections
    layout : {"torch", "bert", "gpt2", "llama"}
    biases : {"QKVO", "QKV", ""}, optional
        Which biases to write; the library's default unless given: none for "llama", else all.
    prefix : str
        As in `read`.

    Returns
    -------
    dict of names to new arrays, in the library's order

    Raises
    ------
    ValueError
        When the layout cannot hold these sizes, or would lose a bias that is not zero.
    """
    how = _known(layout)
    biases = how.biases[0] if biases is None else biases
    lost = [f"b_{x}" for x in "QKVO" if x not in biases and getattr(p, f"b_{x}").any()]
    if lost or biases not in how.biases:
        raise ValueError(
            f"biases must name all that are not zero and be {' or '.join(map(repr, how.biases))} "
            f"in layout {layout!r}: got {biases!r}, which loses {_list(lost)}. Choose another."
        )
    _fitting(p, layout)
    W, b = [merge_heads(x) for x in (p.W_Q, p.W_K, p.W_V)], [p.b_Q, p.b_K, p.b_V]
    if len(how.qkv) == 1:
        W, b = [np.concatenate(W, axis=-1)], [np.concatenate(b)]
    state = {}
    for name, W_i, b_i in zip((*how.qkv, how.out), (*W, p.W_O), (*b, p.b_O), strict=True):
        state[name + "weight"] = W_i.T if how.linear else W_i
        state[name + "bias"] = b_i.reshape(-1)
    return {prefix + name: np.array(state[name], order="C") for name in _names(how, biases)}


def _known(layout):
    if layout in LAYOUTS:
        return LAYOUTS[layout]
    raise ValueError(f"layout must be one of {', '.join(LAYOUTS)}: got {layout!r}. Choose one.")


def _names(how, biases):
    biased = {"QKVO": (*how.qkv, how.out), "QKV": how.qkv, "": ()}[biases]
    kinds = {n: ("weight", "bias") if n in biased else ("weight",) for n in (*how.qkv, how.out)}
    return [name + kind for name in kinds for kind in kinds[name]]


def _array(x):
    if hasattr(x, "detach"):  # a torch tensor; no torch is needed to ask
        x = x.detach().cpu()
        x = (x.float() if "bfloat16" in str(x.dtype) else x).numpy()  # NumPy has no bfloat16
    return np.array(x)


def _fitting(p, layout):
    square = p.num_heads == p.num_kv_heads and p.num_heads * p.d_k == p.d_model
    if p.d_k != p.d_v or not (square or LAYOUTS[layout].grouped):
        raise ValueError(
            f"Layout {layout!r} has d_k = d_v, and all but 'llama' have d_k = d_model / num_heads "
            f"and num_kv_heads = num_heads: got d_model={p.d_model}, num_heads={p.num_heads}, "
            f"num_kv_heads={p.num_kv_heads}, d_k={p.d_k}, d_v={p.d_v}. "
            f"Choose a layout that has room, or zero heads instead of pruning them."
        )
    return p


def _select(state, layout, prefix):
    """Return what the layout names under `prefix`, or say what is missing and what this may be."""
    how = LAYOUTS[layout]
    here = {name.removeprefix(prefix): state[name] for name in state if name.startswith(prefix)}
    came = [name for name in here if name not in how.beside]
    # Of the sets of names that the layout may have, the one that comes nearest.
    names = min((_names(how, b) for b in how.biases), key=lambda names: len({*names} ^ {*came}))
    if {*names} == {*came}:
        return {name: here[name] for name in names}
    missing, unknown = [n for n in names if n not in here], [n for n in came if n not in names]
    places = list(_places(state))
    remedy = "Give exactly those: one more or less may change what the layer computes"
    if places and (layout, prefix) not in places:
        alike = " or ".join(f"layout={name!r}, prefix={at!r}" for name, at in places[:2])
        remedy = f"They look like {alike}{' and so on' if places[2:] else ''}"
    remedy = next((REFUSED[name] for name in unknown if name in REFUSED), remedy)
    raise ValueError(
        f"Layout {layout!r} with prefix {prefix!r} has the names {', '.join(names)}: "
        f"missing {_list(missing)}; unknown {_list(unknown)}. {remedy}."
    )


def _places(state):
    """Yield the layout and the prefix of every attention module whose names are in `state`."""
    for layout, how in LAYOUTS.items():
        first, *others = _names(how, "")
        for name in state:
            prefix = name.removesuffix(first)
            if f".{name}".endswith(f".{first}") and all(prefix + x in state for x in others):
                yield layout, prefix


def _list(names):
    return (", ".join(names[:6]) or "none") + (f" and {len(names) - 6} more" if names[6:] else "")
