"""Wrong answers to ``multi_head_attention(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None)``.

Some wrong answers to ``attention`` make one here too, with the same words.
"""

from functools import partial
from math import sqrt

import numpy as np

from ..mistakes import BANK, add, mistake
from . import attention, split_heads
from .attention_weights import scores_of, softmax, weigh
from .merge_heads import right as merge

NAME = "multi_head_attention"
wrong = partial(mistake, NAME)
VALUES, CROSS, BATCH, MASK, BY_HEAD, REFUSES, INPUT = (
    f"{NAME}_{name}"
    for name in (
        *("values", "cross", "batch", "mask", "mask_by_head"),
        *("refuses_uneven", "keeps_its_input"),
    )
)
ARGUMENTS = ("x_q", "x_kv", "W_Q", "W_K", "W_V", "W_O")
split = split_heads.right


def project(x_q, x_kv, W_Q, W_K, W_V, num_heads, cut=split):
    """Make Q, K and V by head."""
    return [cut(x, num_heads) for x in (x_q @ W_Q, x_kv @ W_K, x_kv @ W_V)]


def layer(cut=split, attend=attention.right, join=merge):
    """Make a layer of its steps, one of which may be wrong."""

    def multi_head_attention(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None):
        Q, K, V = project(x_q, x_kv, W_Q, W_K, W_V, num_heads, cut)
        return join(attend(Q, K, V, mask)) @ W_O

    return multi_head_attention


right = layer()


def instead(**taken):
    """Make a layer that is right but takes, in place of some arguments, others."""

    def multi_head_attention(*given, mask=None):
        named = dict(zip(ARGUMENTS, given, strict=False))
        chosen = [named[taken.get(name, name)] for name in ARGUMENTS]
        return right(*chosen, given[-1], mask)

    return multi_head_attention


def transposed(*names):
    """Make a layer that is right but transposes some of its projections."""

    def multi_head_attention(*given, mask=None):
        named = zip(ARGUMENTS, given, strict=False)
        return right(*(W.T if name in names else W for name, W in named), given[-1], mask)

    return multi_head_attention


def heads_first(mix):
    """Make a layer that adds up one term for each head, as `mix` makes it of heads and blocks."""

    def multi_head_attention(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None):
        heads = attention.right(*project(x_q, x_kv, W_Q, W_K, W_V, num_heads), mask)
        blocks = W_O.reshape(num_heads, -1, W_O.shape[-1])  # (h, d_v, d_model)
        return mix(heads, blocks)

    return multi_head_attention


# What is wrong with the heads


def interleaved(x, num_heads):
    """Deal the columns out to the heads in turn."""
    split_heads.refuse(x, num_heads)
    x = x.reshape(*x.shape[:-1], -1, num_heads)
    return np.moveaxis(x, -1, -3)


def cut_without_swap(x, num_heads):
    """Cut rows of the wrong length, as a plain reshape does."""
    *batch, T, d_model = x.shape
    return x.reshape(*batch, num_heads, T, d_model // num_heads)


def join_without_swap(heads):
    """Join the heads by a plain reshape."""
    *batch, num_heads, T, d_v = heads.shape
    return heads.reshape(*batch, T, num_heads * d_v)


@wrong(
    VALUES,
    "there is one big head: the projections are not split",
    "Split Q, K and V into num_heads heads before they attend.",
)
def one_big_head(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None):
    split_heads.refuse(x_q, num_heads)
    if mask is not None and mask.ndim > 2:
        mask = mask[..., 0, :, :]
    return attention.right(x_q @ W_Q, x_kv @ W_K, x_kv @ W_V, mask) @ W_O


@wrong(
    VALUES,
    "each head gets a slice of x, and it should get a slice of the projections",
    "Every head reads all of x: project first, then split the d_model columns of x @ W_Q.",
)
def input_split(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None):
    d_k = x_q.shape[-1] // num_heads
    heads = []
    for i in range(num_heads):
        own = slice(i * d_k, (i + 1) * d_k)
        Q, K, V = (x[..., own] @ W[own, own] for x, W in [(x_q, W_Q), (x_kv, W_K), (x_kv, W_V)])
        heads.append(Q @ K.swapaxes(-1, -2))
        heads[-1] = weigh(heads[-1] / sqrt(d_k), None if mask is None else _of(mask, i)) @ V
    return np.concatenate(heads, axis=-1) @ W_O


def _of(mask, i):
    """Return the mask of head i."""
    return mask if mask.ndim < 3 else mask[..., i % mask.shape[-3], :, :]


@wrong(
    VALUES,
    "every head equals head 0",
    "Head i has its own columns of each projection, from i*d_k to (i+1)*d_k.",
)
def first_head_everywhere(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None):
    Q, K, V = (
        np.repeat(x[..., :1, :, :], num_heads, axis=-3)
        for x in project(x_q, x_kv, W_Q, W_K, W_V, num_heads)
    )
    return merge(attention.right(Q, K, V, mask)) @ W_O


@wrong(
    VALUES,
    "all heads use the weights of head 0",
    "Each head compares its own queries with its own keys.",
)
def weights_of_the_first_head(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None):
    Q, K, V = project(x_q, x_kv, W_Q, W_K, W_V, num_heads)
    return merge(attention.right(Q[..., :1, :, :], K[..., :1, :, :], V, mask)) @ W_O


@wrong(
    VALUES,
    "the softmax runs over the heads, and should run over the keys",
    "In each head, the weights of a query sum to 1 over the keys: the last axis of the scores.",
)
def heads_compete(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None):
    Q, K, V = project(x_q, x_kv, W_Q, W_K, W_V, num_heads)
    scores = scores_of(Q, K)
    weights = softmax(scores if mask is None else np.where(mask, scores, -np.inf), axis=-3)
    return merge(weights @ V) @ W_O


@wrong(
    VALUES,
    "the weights are averaged over the heads, and each head should use its own",
    "Each head weighs its values with its own weights.",
)
def weights_averaged(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None):
    Q, K, V = project(x_q, x_kv, W_Q, W_K, W_V, num_heads)
    return merge(weigh(scores_of(Q, K), mask).mean(axis=-3, keepdims=True) @ V) @ W_O


@wrong(
    VALUES,
    "the number of heads is fixed to 2",
    "Use the argument num_heads wherever you wrote a number.",
)
def always_two(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None):
    return right(x_q, x_kv, W_Q, W_K, W_V, W_O, 2, mask)


@wrong(
    VALUES,
    "num_heads and d_k are mixed up",
    "num_heads is the number of heads; each has d_k = d_model // num_heads columns.",
)
def width_for_number(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None):
    return right(x_q, x_kv, W_Q, W_K, W_V, W_O, x_q.shape[-1] // num_heads, mask)


@wrong(
    VALUES,
    "heads attend to heads inside each token: the split is not followed by the swap of axes",
    "Tokens attend to tokens: (..., num_heads, T, d_k), so swap the axes of T and num_heads.",
)
def heads_attend_to_heads(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None):
    Q, K, V = (
        x.swapaxes(-2, -3) for x in project(x_q, x_kv, W_Q, W_K, W_V, num_heads)
    )  # (..., T, h, d_k)
    heads = softmax(scores_of(Q, K)) @ V
    return heads.reshape(*heads.shape[:-2], -1) @ W_O


def scaled_by(divisor):
    """Attend with another divisor than sqrt(d_k)."""
    return lambda Q, K, V, mask=None: weigh(Q @ K.swapaxes(-1, -2) / divisor(Q), mask) @ V


for name, check, made, says, hint in [
    (
        "plain_reshape_twice",
        VALUES,
        layer(cut=cut_without_swap, join=join_without_swap),
        "heads are cut and joined by a plain reshape, which mixes tokens: the shapes fit all along",
        "Swap the axes of heads and tokens: after the reshape that splits, before the one that "
        "merges.",
    ),
    (
        "plain_reshape_at_the_split",
        VALUES,
        layer(cut=cut_without_swap),
        "the heads are cut by a plain reshape, which mixes tokens",
        "Reshape to (..., T, num_heads, d_k), then swap the axes of T and num_heads.",
    ),
    (
        "plain_reshape_at_the_merge",
        VALUES,
        layer(join=join_without_swap),
        "the heads are joined by a plain reshape, which mixes tokens",
        "Swap the axes of heads and tokens before the reshape, as merge_heads does.",
    ),
    (
        "columns_dealt",
        VALUES,
        layer(cut=interleaved),
        "the columns of the projections are dealt out to the heads in turn, as cards are",
        "Head i owns neighbours: the columns i*d_k to (i+1)*d_k.",
    ),
    (
        "heads_reversed",
        VALUES,
        layer(join=lambda heads: merge(heads[..., ::-1, :, :])),
        "the heads are merged in the reverse order, so each meets the rows of another one in W_O",
        "Head 0 gives the first d_v columns.",
    ),
    (
        "tokens_averaged",
        VALUES,
        layer(join=lambda heads: merge(heads).mean(axis=-2)),
        "the tokens are averaged away",
        "The result has one row for each query.",
    ),
    (
        "scaled_by_d_model",
        VALUES,
        layer(attend=scaled_by(lambda Q: sqrt(Q.shape[-1] * Q.shape[-3]))),
        "the scores are divided by sqrt(d_model)",
        "Each head compares d_k = d_model // num_heads features: divide by sqrt(d_k).",
    ),
    (
        "scaled_by_heads",
        VALUES,
        layer(attend=scaled_by(lambda Q: sqrt(Q.shape[-3]))),
        "the scores are divided by the root of the number of heads",
        "Divide by sqrt(d_k), with d_k = d_model // num_heads.",
    ),
    (
        "heads_averaged",
        VALUES,
        heads_first(lambda heads, blocks: heads.mean(axis=-3) @ blocks.mean(axis=0)),
        "the heads are averaged before W_O",
        "Concatenate them: W_O has num_heads * d_v rows, and each head meets its own d_v of them.",
    ),
    (
        "heads_added_up",
        VALUES,
        heads_first(lambda heads, blocks: heads.sum(axis=-3) @ blocks[0]),
        "the heads are added up, and all meet the first rows of W_O",
        "Head i meets the rows i*d_v to (i+1)*d_v of W_O. Concatenate first, and that is so.",
    ),
    (
        "blocks_averaged",
        VALUES,
        heads_first(lambda heads, blocks: (heads @ blocks).mean(axis=-3)),
        "the contributions of the heads are averaged, and should be added",
        "Concat times W_O is the sum of head_i @ W_O[i*d_v : (i+1)*d_v].",
    ),
    (
        "contributions_returned",
        VALUES,
        heads_first(lambda heads, blocks: heads @ blocks),
        "what each head adds is returned, and not the sum",
        "Add the contributions over the axis of heads; or merge the heads, then multiply with W_O.",
    ),
    (
        "heads_returned",
        VALUES,
        heads_first(lambda heads, blocks: heads),
        "the heads are returned: two steps are left",
        "Merge them, and multiply with W_O.",
    ),
    (
        "W_O_missing_for_one_head",
        VALUES,
        heads_first(
            lambda heads, blocks: (
                merge(heads) if len(blocks) == 1 else merge(heads) @ np.concatenate(blocks)
            )
        ),
        "with one head, W_O is left out",
        "One head could do without, if W_V did its work. But W_O is given: use it always.",
    ),
    (
        "W_O_missing",
        VALUES,
        heads_first(lambda heads, blocks: merge(heads)),
        "W_O is not used: the merged heads are returned",
        "Multiply the merged heads with W_O.",
    ),
    (
        "W_O_transposed",
        VALUES,
        transposed("W_O"),
        "W_O is transposed",
        "Here rows of W_O are concatenated features: merged @ W_O. (torch stores the transpose.)",
    ),
    (
        "all_transposed",
        VALUES,
        transposed("W_Q", "W_K", "W_V", "W_O"),
        "all projections are transposed, as torch stores them",
        "Here it is x @ W, without a transpose.",
    ),
    (
        "inputs_transposed",
        VALUES,
        transposed("W_Q", "W_K", "W_V"),
        "W_Q, W_K and W_V are transposed",
        "It is x @ W_Q, without a transpose.",
    ),
    (
        "values_from_W_K",
        VALUES,
        instead(W_V="W_K"),
        "the values are made with W_K",
        "V = x_kv @ W_V.",
    ),
    (
        "keys_from_W_Q",
        VALUES,
        instead(W_K="W_Q"),
        "the keys are made with W_Q",
        "K = x_kv @ W_K.",
    ),
    (
        "queries_and_keys_swapped",
        VALUES,
        instead(W_Q="W_K", W_K="W_Q"),
        "W_Q and W_K are swapped",
        "Q = x_q @ W_Q and K = x_kv @ W_K.",
    ),
    (
        "keys_and_values_swapped",
        VALUES,
        instead(W_K="W_V", W_V="W_K"),
        "W_K and W_V are swapped",
        "K = x_kv @ W_K is compared with the queries, and V = x_kv @ W_V is averaged.",
    ),
    (
        "memory_not_read",
        CROSS,
        instead(x_kv="x_q"),
        "x_kv is not used: keys and values come from x_q",
        "K = x_kv @ W_K and V = x_kv @ W_V.",
    ),
    (
        "queries_from_memory",
        CROSS,
        instead(x_q="x_kv"),
        "x_q is not used: the queries come from x_kv",
        "Q = x_q @ W_Q.",
    ),
    (
        "inputs_swapped",
        CROSS,
        instead(x_q="x_kv", x_kv="x_q"),
        "x_q and x_kv are swapped",
        "x_q asks, and x_kv is read: there is one row of the result for each row of x_q.",
    ),
]:
    add(NAME, name, check, says, hint, made)


@wrong(
    VALUES,
    "the values are x itself, and W_V is not used",
    "V = x_kv @ W_V.",
)
def values_not_projected(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None):
    return right(x_q, x_kv, W_Q, W_K, np.eye(len(W_V)), W_O, num_heads, mask)


@wrong(
    VALUES,
    "the input is added to the result",
    "A residual connection belongs outside: return the attention output only.",
)
def residual_added(x_q, *rest, mask=None):
    return right(x_q, *rest, mask) + x_q


@wrong(
    VALUES,
    "two results are returned, and only the output is asked for",
    "End with `return merged @ W_O`.",
)
def weights_too(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None):
    Q, K, _ = project(x_q, x_kv, W_Q, W_K, W_V, num_heads)
    weights = weigh(scores_of(Q, K), mask)
    return right(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask), weights


@wrong(
    VALUES,
    "later tokens are hidden, and no mask was given",
    "Without a mask every query reads every key. The causal mask comes in exercise 4.",
)
def causal_unasked(*given, mask=None):
    x_q, x_kv = given[:2]
    T, S = x_q.shape[-2], x_kv.shape[-2]
    return right(*given, np.tri(T, S, S - T, dtype=bool) if mask is None else mask)


@wrong(
    CROSS,
    "the values come from x_q",
    "What is read is x_kv: V = x_kv @ W_V.",
)
def values_from_the_asking(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None):
    Q, K, _ = project(x_q, x_kv, W_Q, W_K, W_V, num_heads)
    return merge(attention.right(Q, K, split(x_q @ W_V, num_heads), mask)) @ W_O


@wrong(
    CROSS,
    "x_kv is expected to be as long as x_q",
    "Take the number of queries from x_q, and the number of keys from x_kv.",
)
def one_length(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None):
    split_heads.refuse(x_q, num_heads)
    *batch, T, d_model = x_q.shape
    Q, K, V = (
        x.reshape(*batch, T, num_heads, d_model // num_heads).swapaxes(-2, -3)
        for x in (x_q @ W_Q, x_kv @ W_K, x_kv @ W_V)
    )
    return merge(attention.right(Q, K, V, mask)) @ W_O


@wrong(
    CROSS,
    "the axis of tokens is lost when there is only one query",
    "Do not squeeze: with T = 1 the result is (..., 1, d_model).",
)
def one_query_squeezed(*given, mask=None):
    return np.squeeze(right(*given, mask))


# Leading axes


def _two_axes(x, num_heads):
    split_heads.refuse(x, num_heads)
    T, d_model = x.shape
    return x.reshape(T, num_heads, d_model // num_heads).transpose(1, 0, 2)


def _three_axes(x, num_heads):
    split_heads.refuse(x, num_heads)
    B, T, d_model = x.shape
    return x.reshape(B, T, num_heads, d_model // num_heads).transpose(0, 2, 1, 3)


def _batch_cut_in(x, num_heads):
    """Split as if the batch were heads: view(B * h, T, d_k) without the swap before it."""
    heads = split(x, num_heads)
    if x.ndim == 2:
        return heads
    return x.reshape(heads.shape)


for name, check, cut, says, hint in [
    (
        "two_axes_only",
        BATCH,
        _two_axes,
        "leading batch axes are not accepted",
        "Count axes from the end: *batch, T, d_model = x.shape.",
    ),
    (
        "three_axes_expected",
        VALUES,
        _three_axes,
        "one batch axis is expected, and none was given",
        "There may be any number of leading axes, also none: *batch, T, d_model = x.shape.",
    ),
    (
        "one_batch_axis_at_most",
        BATCH,
        lambda x, num_heads: (_two_axes if x.ndim == 2 else _three_axes)(x, num_heads),
        "one batch axis at most is expected",
        "Keep all leading axes, also two of them: *batch, T, d_model = x.shape.",
    ),
    (
        "batch_mixed_with_heads",
        BATCH,
        _batch_cut_in,
        "with a batch axis in front, tokens and heads are not swapped, and their numbers are mixed",
        "Swap the axes of T and num_heads after the reshape, whatever stands before them.",
    ),
]:
    add(NAME, name, check, says, hint, layer(cut=cut))


@wrong(
    BATCH,
    "the heads of each sequence are joined along the batch",
    "Go through the axis of heads, -3. np.concatenate goes through the first axis.",
)
def batch_concatenated(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None):
    heads = attention.right(*project(x_q, x_kv, W_Q, W_K, W_V, num_heads), mask)
    return np.concatenate(heads, axis=-1) @ W_O


# Masks


def on_mask(change):
    """Make a layer that is right but for what `change` does with the mask."""

    def multi_head_attention(*given, mask=None):
        return right(*given, None if mask is None else change(mask, given[-1]))

    return multi_head_attention


for name, check, change, says, hint in [
    (
        "mask_of_the_first_head_only",
        MASK,
        lambda mask, h: (
            np.stack([mask] + [np.ones_like(mask)] * (h - 1)) if mask.ndim < 3 else mask
        ),
        "only the first head is masked",
        "The mask holds for every head: scores (..., num_heads, T, S) stretch it.",
    ),
    (
        # In a loop over heads, the whole mask for each head comes to the same.
        "heads_of_the_mask_taken_for_a_batch",
        BY_HEAD,
        lambda mask, h: mask[:, None] if mask.ndim == 3 else mask,
        "the axis of heads of the mask is taken for one of the batch",
        "A mask of three axes is (num_heads, T, S): head i uses mask[..., i, :, :].",
    ),
    (
        "mask_of_head_0_for_all",
        BY_HEAD,
        lambda mask, h: mask if mask.ndim < 3 else mask[..., :1, :, :],
        "all heads use the mask of the first one",
        "A mask with an axis of heads has an entry for each: use all of it.",
    ),
    (
        "hidden_by_any_head",
        BY_HEAD,
        lambda mask, h: mask if mask.ndim < 3 else mask.all(axis=-3, keepdims=True),
        "a key is hidden from every head when the mask hides it from one",
        "Do not reduce the mask over its heads: each head has its own.",
    ),
    (
        "mask_of_the_first_sequence",
        BY_HEAD,
        lambda mask, h: mask if mask.ndim < 4 else mask[:1],
        "all sequences use the mask of the first",
        "A mask with a batch axis has an entry for each sequence: use all of it.",
    ),
]:
    add(NAME, name, check, says, hint, on_mask(change))


# Sizes that no layer has, and what belongs to the caller


@wrong(
    REFUSES,
    "columns that are left over are dropped in silence",
    "Raise ValueError when d_model % num_heads is not 0.",
)
def columns_dropped(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None):
    if num_heads < 1:
        raise ValueError("there must be a head")
    width = num_heads * (len(W_Q) // num_heads)
    cut = (W[:, :width] for W in (W_Q, W_K, W_V))
    Q, K, V = project(x_q, x_kv, *cut, num_heads)
    return merge(attention.right(Q, K, V, mask)) @ W_O[:width]


@wrong(
    REFUSES,
    "None is returned where num_heads does not divide d_model",
    "Raise ValueError: then the mistake is seen where it is made.",
)
def none_for_uneven(*given, mask=None):
    if given[-1] < 1 or given[0].shape[-1] % given[-1]:
        return None
    return right(*given, mask)


@wrong(
    REFUSES,
    "num_heads = 0 is not tested: the division by it fails",
    "Test num_heads < 1 before you divide, and raise ValueError.",
)
def zero_not_tested(*given, mask=None):
    if given[-1] > 0 or given[0].shape[-1] % given[-1]:
        return right(*given, mask)
    raise ValueError("there must be a head")


@wrong(
    INPUT,
    "the caller's x_q is overwritten with its projection",
    "Q = x_q @ W_Q makes a new array, and x_q @= W_Q changes the caller's.",
)
def projected_in_place(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None):
    if x_q is x_kv:
        x_q = x_q.copy()
    x_q @= W_Q
    return right(x_q, x_kv, np.eye(len(W_Q)), W_K, W_V, W_O, num_heads, mask)


def in_the_layer(attend):
    """Let the heads of a layer attend as a wrong answer does."""
    return layer(attend=lambda Q, K, V, mask=None: attend(Q, K, V, mask))


def averaged_in_one_head(*given, mask=None):
    """Average all values where one head may read nothing, and clear what no head may read."""
    out = average_for_nothing(*given, mask=mask)
    if mask is None:
        return out
    blank = ~np.any(mask, axis=-1)  # (..., h, T)
    rows = blank if mask.ndim < 3 else blank.all(axis=-2)
    return np.where(rows[..., None], 0, out)


average_for_nothing = in_the_layer(BANK["attention.average_for_nothing"].wrong)
add(
    NAME,
    "blank_in_one_head",
    f"{NAME}_blank_row",
    "zeros are written where no head may read, and one head that may read nothing averages",
    "Set the weights of a blank row to 0 in each head, before the heads are merged.",
    averaged_in_one_head,
)

nan_for_nothing = in_the_layer(BANK["attention.nan_for_nothing"].wrong)
add(
    NAME,
    "nan_cleared_at_the_end",
    f"{NAME}_blank_row",
    "a query that is blank in one head gets zeros in all: what the other heads add is lost",
    "Set the weights of a blank row to 0 in each head: then the other heads keep what they add.",
    lambda *given, mask=None: np.nan_to_num(nan_for_nothing(*given, mask=mask)),
)

TAKEN_OVER = {
    "values": ("unscaled", "multiplied", "root_missing", "scaled_by_tokens", "columns"),
    "mask": (
        "mask_ignored",
        "inverted",
        "masked_after",
        "score_of_zero",
        "fill_of_minus_100",
    ),
    "mask_by_head": ("full_shape_only", "padding_hides_queries"),
    "blank_row": ("average_for_nothing", "nan_for_nothing", "mask_dropped_for_nothing"),
    "large": ("overflow", "largest_of_all"),
    "keeps_its_input": ("mask_inverted_in_place",),
}

attention.take_over(NAME, TAKEN_OVER, in_the_layer)
