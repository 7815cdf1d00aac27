"""Wrong answers to ``two_heads_by_hand()``."""

from functools import partial

import numpy as np

from ..mistakes import add, mistake

NAME = "two_heads_by_hand"
wrong = partial(mistake, NAME)
HEADS, OUTPUT = "two_heads_by_hand_heads", "two_heads_by_hand_output"
WEIGHTS = np.array([[0.8, 0.2], [0.25, 0.75]])
VALUES = np.array([[2.0, 6.0], [10.0, -2.0]])


def averaged(weights, values=VALUES):
    """Average the values of each head, and map the two results with W_O."""
    a, b = np.sum(weights * values, axis=-1)
    return a, b, 2 * a - b


for name, results, says, hint in [
    (
        "unweighted",
        averaged(np.full((2, 2), 0.5)),
        "both tokens count the same in each head",
        "Head 1 takes 0.8 of its first value and 0.2 of its second one.",
    ),
    (
        "tokens_swapped",
        averaged(WEIGHTS[:, ::-1]),
        "in each head the weights of the two tokens are swapped",
        "The first weight belongs to the first value: 0.8 * 2 + 0.2 * 6.",
    ),
    (
        "weights_of_the_other_head",
        averaged(WEIGHTS[::-1]),
        "each head uses the weights of the other one",
        "Head 1 weighs 0.8 and 0.2, and head 2 weighs 0.25 and 0.75.",
    ),
    (
        "weights_of_head_1_for_both",
        averaged(WEIGHTS[:1]),
        "head 2 uses the weights of head 1",
        "Each head has weights of its own. Those of head 2 are 0.25 and 0.75.",
    ),
    (
        "values_of_head_1_for_both",
        averaged(WEIGHTS, VALUES[:1]),
        "head 2 reads the values of head 1",
        "Each head has values of its own. Those of head 2 are 10 and -2.",
    ),
    (
        "weights_added_up_by_token",
        averaged(WEIGHTS.T),
        "the table of weights is read by columns",
        "A row of the table is a head: 0.8 and 0.2 belong together, and their sum is 1.",
    ),
    (
        "minus_lost",
        averaged(WEIGHTS, abs(VALUES)),
        "the minus of the value -2 is lost",
        "0.75 * -2 is -1.5.",
    ),
    (
        "sum_of_values",
        averaged(np.ones((2, 2))),
        "the values are added up without their weights",
        "Multiply each value with its weight first.",
    ),
    (
        "best_token_only",
        averaged(WEIGHTS > 0.5),
        "each head takes only the token with the larger weight",
        "The weights share: 0.8 of the one value, and 0.2 of the other.",
    ),
    (
        "softmax_again",
        averaged(np.exp(WEIGHTS) / np.exp(WEIGHTS).sum(axis=-1, keepdims=True)),
        "a softmax is taken of the weights",
        "They are weights already, and sum to 1: use them as they are.",
    ),
    (
        "divided_by_the_tokens",
        averaged(WEIGHTS / 2),
        "the weighted sum is divided by the number of tokens",
        "The weights sum to 1, so the weighted sum is an average already.",
    ),
    (
        "heads_swapped",
        (1.0, 2.8, 4.6),
        "the two heads are returned in the wrong order",
        "Return head_1 first: the one that weighs 0.8 and 0.2.",
    ),
    (
        "contributions_for_heads",
        (5.6, -1.0, 4.6),
        "what each head adds to the output is returned, and the heads are asked for",
        "A head is what stands before W_O: the average of its values.",
    ),
]:
    add(NAME, name, HEADS, says, hint, partial(tuple, [float(x) for x in results]))


@wrong(
    HEADS,
    "the weighted values of a head are not added up",
    "The output of a head is the sum: weight times value, over the tokens.",
)
def not_added_up():
    return *(WEIGHTS * VALUES), 4.6


@wrong(
    OUTPUT,
    "the output is still the pair of the two heads: W_O is left out",
    "W_O maps the pair to one number: 2 a - b.",
)
def W_O_left_out():
    return 2.8, 1.0, [2.8, 1.0]


for name, output, says, hint in [
    (
        "average",
        1.9,
        "the output is the average of the heads",
        "Heads do not vote: W_O is 2 a - b.",
    ),
    ("sum", 3.8, "the output is the sum of the heads", "W_O has factors: 2 and -1."),
    ("difference", 1.8, "the factor 2 is forgotten", "The output is 2 a - b."),
    ("factors_swapped", 0.8, "2 is the factor of the wrong head", "It is 2 a - b, not a - 2 b."),
    ("sign_wrong", -4.6, "the signs are turned round: b - 2 a", "It is 2 a - b."),
    ("reversed", -0.8, "a and b are swapped in 2 a - b", "a is head 1, and b is head 2."),
    ("minus_forgotten", 6.6, "the second head is added: 2 a + b", "Its row of W_O is -1."),
    ("brackets", 3.6, "2 (a - b) is not 2 a - b", "The factor 2 belongs to head 1 only."),
    ("rounded", 5.0, "the output is rounded", "Return all digits."),
    ("head_1_only", 5.6, "head 2 is left out of the output", "Take 1 times head 2 away."),
]:
    add(NAME, name, OUTPUT, says, hint, partial(tuple, (2.8, 1.0, output)))
