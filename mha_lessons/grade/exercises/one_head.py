"""The checks of exercise 01: softmax, the attention weights, and attention."""

import numpy as np

from .. import attending
from ..checks import check

WEIGHTS_HINT = "The weights are softmax(Q @ K^T / sqrt(d_k)), and each row sums to 1 over the keys."
ATTENTION_HINT = "The output is weights @ V: row t averages the values with the weights of query t."


# softmax(scores)


def must_be_softmax(answer, scores, hint):
    """Fail unless the answer turns `scores` into their softmax."""
    attending.must_attend(answer, scores, hint=hint)


@check("softmax")
def softmax_values(answer):
    """Each row becomes exp(s_j) / sum of exp(s_l): positive, with the sum 1."""
    hint = "Each row: np.exp of its scores, divided by their sum."
    for T, S in [(5, 5), (3, 7), (1, 5), (5, 1)]:
        must_be_softmax(answer, attending.heads(T, S, S)[0], hint)


@check("softmax")
def softmax_batch(answer):
    """Leading axes, any number of them, stay, and each row is one by itself."""
    hint = "Sum over the last axis: axis=-1, keepdims=True. All leading axes stay."
    for batch in [(2,), (2, 3)]:
        must_be_softmax(answer, attending.heads(5, 7, 7, batch=batch)[0], hint)


@check("softmax")
def softmax_large(answer):
    """Scores far from zero do not overflow, nor do rows that are far from one another."""
    whole = np.random.default_rng(seed=1).integers(-3, 3, (4, 5)).astype(float)
    shifted = whole + np.array([[1000], [-1000], [0], [3000]])
    for scores in shifted, np.array([[1500.0, -1500, 1499, 0, 0], [0, 1, 2, 1, 0]]):
        must_be_softmax(answer, scores, attending.LARGE_HINT)


@check("softmax")
def softmax_infinite(answer):
    """A score of -inf gets the weight 0: that is how a key is hidden."""
    scores = attending.heads(5, 7, 7)[0]
    scores[[0, 0, 3], [1, 6, 0]] = -np.inf
    hint = "np.exp(-np.inf) is 0, so -inf needs no special treatment."
    must_be_softmax(answer, scores, hint)


@check("softmax")
def softmax_keeps_its_input(answer):
    """The caller's scores stay as they were."""
    hint = "scores = scores - largest makes a new array, and scores -= largest does not."
    answer.must_keep_its_arguments(attending.heads(5, 7, 7)[0], hint=hint)


# attention_weights(Q, K, mask=None)


@check("attention_weights")
def attention_weights_values(answer):
    """The weights are softmax(Q K^T / sqrt(d_k)), over the keys."""
    attending.right_values(answer, WEIGHTS_HINT)


@check("attention_weights")
def attention_weights_sizes(answer):
    """There may be more keys than queries, or fewer, or one."""
    attending.any_sizes(
        answer, "The weights of {T} queries (T) for {S} keys (S) have the shape ({T}, {S})."
    )


@check("attention_weights")
def attention_weights_batch(answer):
    """Leading axes, such as batch and heads, stay in front."""
    attending.leading_axes(answer)


@check("attention_weights")
def attention_weights_large(answer):
    """Scores far from zero do not overflow, and what is hidden stays hidden."""
    attending.large_scores(answer)


@check("attention_weights")
def attention_weights_mask(answer):
    """A hidden key gets the weight 0, and the others share what it had."""
    attending.keys_hidden(answer)


@check("attention_weights")
def attention_weights_mask_broadcast(answer):
    """A mask may lack leading axes, or have them with the length 1."""
    attending.stretched_masks(answer)


@check("attention_weights")
def attention_weights_blank_row(answer):
    """A query that may attend to nothing gets zeros."""
    attending.blank_rows(answer)


@check("attention_weights")
def attention_weights_types(answer):
    """Inputs of lower precision are taken too."""
    attending.narrow_types(answer)


@check("attention_weights")
def attention_weights_keeps_its_input(answer):
    """The caller's queries, keys and mask stay as they were."""
    attending.inputs_kept(answer, mask=attending.some_keys(5, 7))


# attention(Q, K, V, mask=None)


@check("attention")
def attention_values(answer):
    """The output of query t is the average of the values with the weights of query t."""
    value = answer.must_return(*attending.heads(5, 5, 11))
    if isinstance(value, (tuple, list)) and len(value) == 2:
        answer.fail_as("weights_too")
    attending.right_values(answer, ATTENTION_HINT)


@check("attention")
def attention_sizes(answer):
    """Keys are as many as they like, and values as wide as they like."""
    attending.any_sizes(
        answer, "The output has a row for each of {T} queries, and the {d_v} columns of V."
    )


@check("attention")
def attention_batch(answer):
    """Leading axes, such as batch and heads, stay in front."""
    attending.leading_axes(answer)


@check("attention")
def attention_large(answer):
    """Scores far from zero do not overflow, and what is hidden stays hidden."""
    attending.large_scores(answer)


@check("attention")
def attention_mask(answer):
    """A hidden value does not reach the output."""
    attending.keys_hidden(answer)


@check("attention")
def attention_mask_broadcast(answer):
    """A mask may lack leading axes, or have them with the length 1."""
    attending.stretched_masks(answer)


@check("attention")
def attention_blank_row(answer):
    """A query that may attend to nothing gets zeros."""
    attending.blank_rows(answer)


@check("attention")
def attention_types(answer):
    """Inputs of lower precision are taken too."""
    attending.narrow_types(answer)


@check("attention")
def attention_keeps_its_input(answer):
    """The caller's queries, keys, values and mask stay as they were."""
    attending.inputs_kept(answer, mask=attending.some_keys(5, 7))
