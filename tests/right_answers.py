"""Right answers to the exercises in many styles: none of them may be rejected."""

import functools
import logging
import warnings

import numpy as np
from numpy.lib.stride_tricks import as_strided

RIGHT = {}


def right(answer):
    def keep(function):
        name = f"{answer}.{function.__name__}"
        assert name not in RIGHT
        RIGHT[name] = (answer, function)
        return function

    return keep


def refuse(d_model, num_heads):
    if num_heads < 1 or d_model % num_heads:
        raise ValueError(f"{num_heads} heads do not divide {d_model}")


# split_heads(x, num_heads)

split = right("split_heads")


@split
def reshape_and_transpose(x, num_heads):
    refuse(x.shape[-1], num_heads)
    axes = list(range(x.ndim - 2))
    heads = x.reshape(*x.shape[:-1], num_heads, -1)
    return heads.transpose(*axes, x.ndim - 1, x.ndim - 2, x.ndim)


@split
def split_and_stack(x, num_heads):
    if num_heads <= 0:
        raise ValueError
    return np.stack(np.split(x, num_heads, axis=-1), axis=-3)  # np.split raises ValueError itself


@split
def moveaxis(x, num_heads):
    refuse(x.shape[-1], num_heads)
    return np.moveaxis(x.reshape(*x.shape[:-1], num_heads, -1), -2, -3)


@split
def einsum(x, num_heads):
    refuse(x.shape[-1], num_heads)
    return np.einsum("...thk->...htk", x.reshape(*x.shape[:-1], num_heads, -1))


@split
def selection_matrices(x, num_heads):
    refuse(x.shape[-1], num_heads)
    return x[..., None, :, :] @ np.eye(x.shape[-1]).reshape(
        -1, num_heads, x.shape[-1] // num_heads
    ).swapaxes(0, 1)


@split
def loops(x, num_heads):
    *batch, T, d_model = x.shape
    refuse(d_model, num_heads)
    d_k = d_model // num_heads
    out = np.empty((*batch, num_heads, T, d_k))
    for i in range(num_heads):
        for t in range(T):
            for k in range(d_k):
                out[..., i, t, k] = x[..., t, i * d_k + k]
    return out


@split
def strides(x, num_heads):
    refuse(x.shape[-1], num_heads)
    *batch, T, d_model = x.shape
    *outer, row, item = x.strides
    d_k = d_model // num_heads
    return as_strided(x, (*batch, num_heads, T, d_k), (*outer, d_k * item, row, item))


@split
def nested_lists(x, num_heads):
    refuse(x.shape[-1], num_heads)
    return reshape_and_transpose(x, num_heads).tolist()


@split
def list_of_heads(x, num_heads):
    refuse(x.shape[-1], num_heads)
    if x.ndim > 2:
        return [list_of_heads(part, num_heads) for part in x]
    return np.split(x, num_heads, axis=1)


@split
def torch_view(x, num_heads):
    import torch

    refuse(x.shape[-1], num_heads)
    x = torch.as_tensor(x)
    return x.view(*x.shape[:-1], num_heads, -1).transpose(-2, -3)  # not contiguous


@split
def torch_chunks_with_gradient(x, num_heads):
    import torch

    refuse(x.shape[-1], num_heads)
    return torch.stack(torch.tensor(x, requires_grad=True).chunk(num_heads, dim=-1), dim=-3)


@split
def list_of_tensors(x, num_heads):

    refuse(x.shape[-1], num_heads)
    return list(torch_view(x, num_heads).unbind(0)) if x.ndim > 2 else torch_view(x, num_heads)


@split
def float32(x, num_heads):
    return moveaxis(x.astype(np.float32), num_heads)


@split
def fortran_order(x, num_heads):
    return np.asfortranarray(moveaxis(x, num_heads))


@split
def contiguous_copy(x, num_heads):
    return np.ascontiguousarray(moveaxis(np.array(x), num_heads))


@split
def numpy_matrix_subclass(x, num_heads):
    return np.ma.masked_array(moveaxis(x, num_heads))


class HeadsError(ValueError):
    """A learner's own error."""


@split
def own_error(x, num_heads):
    if num_heads < 1 or x.shape[-1] % num_heads:
        raise HeadsError(x.shape, num_heads)
    return moveaxis(x, num_heads)


@split
def assertion(x, num_heads):
    assert num_heads > 0, "heads?"
    assert x.shape[-1] % num_heads == 0
    return moveaxis(x, num_heads)


def _with_options(order, x, num_heads):
    refuse(x.shape[-1], num_heads)
    return np.moveaxis(x.reshape(*x.shape[:-1], num_heads, -1, order=order), -2, -3)


RIGHT["split_heads.partial"] = ("split_heads", functools.partial(_with_options, "C"))
RIGHT["split_heads.lambda"] = ("split_heads", lambda x, num_heads: moveaxis(x, num_heads))


class Splitter:
    def __call__(self, x, num_heads):
        return moveaxis(x, num_heads)

    def method(self, x, num_heads):
        return moveaxis(x, num_heads)


RIGHT["split_heads.callable_object"] = ("split_heads", Splitter())
RIGHT["split_heads.bound_method"] = ("split_heads", Splitter().method)


@split
def noisy(x, num_heads):
    print("x is", x, flush=True)
    warnings.warn("are you sure?", stacklevel=1)
    logging.getLogger("learner").warning("splitting")
    np.set_printoptions(precision=1)
    np.seterr(all="raise")
    np.random.seed(3)
    return moveaxis(x, num_heads)


# parameter_count(d_model, num_heads, bias=False)

count = right("parameter_count")


@count
def formula(d_model, num_heads, bias=False):
    refuse(d_model, num_heads)
    return 4 * d_model**2 + 4 * d_model * bias


@count
def head_by_head(d_model, num_heads, bias=False):
    refuse(d_model, num_heads)
    d_k = d_model // num_heads
    total = sum(3 * d_model * d_k for _ in range(num_heads)) + num_heads * d_k * d_model
    if bias:
        total += sum(3 * d_k for _ in range(num_heads)) + d_model
    return total


@count
def as_float(d_model, num_heads, bias=False):
    refuse(d_model, num_heads)
    return 4.0 * (d_model + (1 if bias else 0)) * (d_model / num_heads) * num_heads


@count
def numpy_integer(d_model, num_heads, bias=False):
    return np.int64(formula(d_model, num_heads, bias))


@count
def sizes_of_arrays(d_model, num_heads, bias=False):
    refuse(d_model, num_heads)
    size = sum(np.empty((d_model, d_model)).size for _ in "QKVO")
    return size + (sum(np.empty(d_model).size for _ in "QKVO") if bias else 0)


@count
def bias_by_keyword(d_model, num_heads, *, bias=False):
    return formula(d_model, num_heads, bias)


@count
def torch_layer(d_model, num_heads, bias=False):
    import torch

    # Its own check of the sizes is an assert; it does not look for zero.
    assert num_heads > 0
    layer = torch.nn.MultiheadAttention(d_model, num_heads, bias=bias)
    return sum(p.numel() for p in layer.parameters())


# same_weights_different_outputs(T, d)

twins = right("same_weights_different_outputs")


@twins
def values_shifted(T, d):
    Q, K, V = np.random.default_rng(1).random((3, T, d))
    return Q, K, V, Q, K, V + 1


@twins
def keys_shifted(T, d):
    # Adding one vector to every key adds one number to each row of scores: softmax ignores it.
    Q, K, V, W = np.random.default_rng(1).random((4, T, d))
    return Q, K, V, Q, K + 2.5, W


@twins
def uniform(T, d):
    zeros, V = np.zeros((T, d)), np.arange(T * d).reshape(T, d)
    return zeros, zeros, V, zeros, zeros, 10 * V


@twins
def as_lists(T, d):
    return [array.tolist() for array in values_shifted(T, d)]


@twins
def as_float32(T, d):
    return tuple(array.astype(np.float32) for array in keys_shifted(T, d))


@twins
def as_float16(T, d):
    return tuple(array.astype(np.float16) for array in values_shifted(T, d))


@twins
def rotated(T, d):
    Q, K, V, W = np.random.default_rng(1).random((4, T, d))
    rotation = np.linalg.qr(np.random.default_rng(2).random((d, d)))[0]
    return Q, K, V, Q @ rotation, K @ rotation, W + 1


@twins
def as_tensors(T, d):
    import torch

    Q, K, V = torch.randn(3, T, d).unbind()
    return Q, K, V, Q.clone(), K.clone(), -V + 3


# head_report(heads, W_O)

report = right("head_report")


@report
def terms(heads, W_O):
    d_v = heads.shape[-1]
    blocks = [W_O[i * d_v : (i + 1) * d_v] for i in range(len(heads))]
    return [bool(np.allclose(h @ w, 0, atol=1e-9)) for h, w in zip(heads, blocks, strict=True)]


@report
def removed_and_compared(heads, W_O):
    def output(heads):
        return np.concatenate(heads, axis=-1) @ W_O

    result = []
    for i in range(len(heads)):
        without = heads.copy()
        without[i] = 0
        result.append(np.allclose(output(without), output(heads), rtol=0, atol=1e-9))
    return np.array(result)


@report
def zeroed_and_put_back(heads, W_O):
    full, result = np.concatenate(heads, axis=-1) @ W_O, []
    for i in range(len(heads)):
        kept = heads[i].copy()
        heads[i] = 0
        result.append(np.abs(np.concatenate(heads, axis=-1) @ W_O - full).max() < 1e-9)
        heads[i] = kept
    return result


@report
def removed_with_its_rows(heads, W_O):
    d_v, full, result = heads.shape[-1], np.concatenate(heads, axis=-1) @ W_O, []
    for i in range(len(heads)):
        rows = np.delete(W_O, np.s_[i * d_v : (i + 1) * d_v], axis=0)
        rest = np.concatenate(np.delete(heads, i, axis=0), axis=-1) @ rows
        result.append(np.abs(rest - full).max() <= 1e-9)
    return result


@report
def ones_and_zeros(heads, W_O):
    return [int(flag) for flag in terms(heads, W_O)]


@report
def norms(heads, W_O):
    parts = np.einsum("htv,hvm->htm", heads, W_O.reshape(*heads.shape[::2], -1))
    return np.linalg.norm(parts, axis=(1, 2)) < 1e-9


@report
def as_tensor(heads, W_O):
    import torch

    heads, W_O = torch.as_tensor(heads), torch.as_tensor(W_O)
    return (heads @ W_O.view(heads.shape[0], heads.shape[2], -1)).abs().amax((1, 2)) < 1e-9
