# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Exercise 3: Concat and project
#
# You will finish the layer, in three functions:
#
# 1. `merge_heads` lays the outputs of all heads side by side.
# 2. `multi_head_attention` is the whole layer, from its inputs to its output.
# 3. `two_heads_by_hand` computes a layer of two heads that is small enough for paper.
#
# Write your answer in each cell that begins with `# ANSWER:`, and keep that line.
# Then run the check cells below it.
# A check prints `ok`, or says what is not right yet.
# To grade the whole notebook, save it.
# Then run `mha grade` in a terminal, or `%load_ext mha_lessons` and `%grade` in a new cell.

# %%
import numpy as np

from mha_lessons.grade.exercises import concat_and_project as check
from mha_lessons.projections import split_heads
from mha_lessons.vectorized import attention

# %% [markdown]
# ## 1. Merge the heads
#
# **Difficulty:** 2 of 5. **Time:** 10 minutes.
#
# **Why this matters.**
# After attention each head holds an output of its own, and the next step needs one row per token.
# The outputs are laid side by side, so that nothing is lost: this is the Concat of the equation.
# A plain reshape gives the right shape, raises no error, and mixes the tokens.
#
# **Your task.**
# Write `merge_heads(heads)`.
#
# - `heads` has the shape `(..., num_heads, T, d_v)`.
#   The dots stand for any number of batch axes, also none.
# - The result has the shape `(..., T, num_heads * d_v)`.
#   The columns from $i \cdot d_v$ up to $(i+1) \cdot d_v$ of row $t$ are what head $i$ says of
#   token $t$.
#
# <details><summary>Hint 1: what did the split do?</summary>
#
# `split_heads` made two steps: a reshape, then a swap of two axes.
# To undo two steps, undo the last one first.
#
# <details><summary>Hint 2: which axes?</summary>
#
# Count from the end: heads are axis -3, tokens axis -2, features axis -1.
# Swap the first two of these. Now the axes to be joined stand next to each other, at the end.
#
# <details><summary>Hint 3: the batch axes</summary>
#
# `*batch, T, num_heads, d_v = swapped.shape` puts all leading axes into the list `batch`.
# `swapped.reshape(*batch, T, num_heads * d_v)` keeps them.
#
# </details>
# </details>
# </details>


# %%
# ANSWER: merge_heads
def merge_heads(heads):
    """Lay heads (..., num_heads, T, d_v) side by side: (..., T, num_heads * d_v)."""
    ### BEGIN SOLUTION
    # A reshape reads numbers in the order of their axes. With heads before tokens it would read
    # all tokens of head 0 first; a row needs one token of all heads.
    swapped = np.swapaxes(heads, -3, -2)  # (..., T, num_heads, d_v)
    *batch, T, num_heads, d_v = swapped.shape
    return swapped.reshape(*batch, T, num_heads * d_v)  # (..., T, num_heads * d_v)
    ### END SOLUTION


# %% [markdown]
# Every number must be in its place:

# %%
check.merge_heads_values(merge_heads)

# %% [markdown]
# Batch axes stay in front, any number of them:

# %%
check.merge_heads_batch(merge_heads)

# %% [markdown]
# ## 2. The whole layer
#
# **Difficulty:** 4 of 5. **Time:** 25 minutes.
#
# **Why this matters.**
# This is the equation of the course, in one function.
# Each of its steps can go wrong without an error: the shapes still fit, and the numbers are other
# numbers.
# Split and merge with a plain reshape, and even a test of the shape, of one token, or of causality
# passes.
#
# **Your task.**
# Write `multi_head_attention(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None)`.
#
# - `x_q` asks, and has the shape `(..., T, d_model)`. `x_kv` is read: `(..., S, d_model)`.
#   In self-attention both are the same array.
# - The four projections have the shape `(d_model, d_model)`.
#   The queries are `x_q @ W_Q`; keys and values are `x_kv @ W_K` and `x_kv @ W_V`. No biases.
# - Head $i$ owns the columns $i \cdot d_k$ up to $(i+1) \cdot d_k$ of each of these products, with
#   `d_k = d_model // num_heads`. Its scores are divided by $\sqrt{d_k}$.
# - The result is $\text{Concat}(\text{head}_1, \dots, \text{head}_h) \, W_O$, of shape
#   `(..., T, d_model)`. Nothing else is added to it.
# - `mask` is `None` or boolean, with `True` = may attend.
#   It fits the scores `(..., num_heads, T, S)`: it may lack leading axes, or have them with
#   length 1.
# - **The blank-row rule:** in each head, a query that may attend to nothing gets zeros.
#   Not `nan`, and not a plain average.
# - Raise `ValueError` (a failing `assert` counts too) when `num_heads` does not divide `d_model`,
#   and when `num_heads` is below 1.
# - Leave the inputs as they are.
#
# `split_heads(x, num_heads)` and `attention(Q, K, V, mask)` of the library are imported above.
# You may use them, or your own from the exercises 1 and 2.
#
# <details><summary>Hint 1: which steps, in which order?</summary>
#
# Project, split, attend, merge, project.
# The split comes after the first projections: each head reads all of `x_q`, through its own
# columns of `W_Q`.
#
# <details><summary>Hint 2: which shapes?</summary>
#
# `x_q @ W_Q` is `(..., T, d_model)`, and split it is `(..., num_heads, T, d_k)`.
# The heads then are one more batch axis: one call of `attention` serves all of them, and divides
# by the root of the width that it sees, which is `d_k`.
#
# <details><summary>Hint 3: the mask</summary>
#
# With all heads in one array, the scores have the shape that the mask is made for: pass it on as
# it is.
# In a loop over heads, head $i$ takes its own part of a mask with an axis of heads:
# `mask[..., i, :, :]`.
#
# </details>
# </details>
# </details>


# %%
# ANSWER: multi_head_attention
def multi_head_attention(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None):
    """Let num_heads heads read x_kv (..., S, d_model) for x_q (..., T, d_model).

    mask: boolean, True = may attend. In each head, a query that may attend to nothing gets zeros.
    """
    ### BEGIN SOLUTION
    # One product makes the queries of all heads. `split_heads` refuses sizes that do not fit.
    Q = split_heads(x_q @ W_Q, num_heads)  # (..., h, T, d_k)
    K = split_heads(x_kv @ W_K, num_heads)  # (..., h, S, d_k)
    V = split_heads(x_kv @ W_V, num_heads)  # (..., h, S, d_k)
    # For `attention` heads are a batch axis like others. It divides by sqrt(d_k), and keeps the
    # blank-row rule in each head.
    heads = attention(Q, K, V, mask)  # (..., h, T, d_k)
    # Rows i*d_k to (i+1)*d_k of W_O meet head i only: this product is a sum over heads.
    return merge_heads(heads) @ W_O  # (..., T, d_model)
    ### END SOLUTION


# %% [markdown]
# Self-attention, with several heads and with one:

# %%
check.multi_head_attention_values(multi_head_attention)

# %% [markdown]
# Another sequence is read:

# %%
check.multi_head_attention_cross(multi_head_attention)

# %% [markdown]
# Batch axes stay in front:

# %%
check.multi_head_attention_batch(multi_head_attention)

# %% [markdown]
# A mask for all heads:

# %%
check.multi_head_attention_mask(multi_head_attention)

# %% [markdown]
# A mask with axes for heads and batch:

# %%
check.multi_head_attention_mask_by_head(multi_head_attention)

# %% [markdown]
# A query that may attend to nothing:

# %%
check.multi_head_attention_blank_row(multi_head_attention)

# %% [markdown]
# Scores far from zero:

# %%
check.multi_head_attention_large(multi_head_attention)

# %% [markdown]
# A width that the heads cannot share is refused:

# %%
check.multi_head_attention_refuses_uneven(multi_head_attention)

# %% [markdown]
# The arrays of the caller are not changed:

# %%
check.multi_head_attention_keeps_its_input(multi_head_attention)

# %% [markdown]
# ## 3. Two heads by hand
#
# **Difficulty:** 1 of 5. **Time:** 5 minutes.
#
# **Why this matters.**
# With numbers that fit on paper you see each step.
# You also see that the heads do not vote: $W_O$ gives each of them a factor of its own.
#
# **Your task.**
# Write `two_heads_by_hand()`. One query reads two tokens, with two heads and $d_v = 1$:
#
# |        | weight of token 0 | weight of token 1 | value of token 0 | value of token 1 |
# |--------|-------------------|-------------------|------------------|------------------|
# | head 1 | 0.8               | 0.2               | 2                | 6                |
# | head 2 | 0.25              | 0.75              | 10               | -2               |
#
# With $a$ for the output of head 1 and $b$ for that of head 2, $W_O$ is the map $2a - b$.
#
# - Return three numbers: `head_1`, `head_2` and `output`.
# - Let Python compute them from the table.
#
# <details><summary>Hint 1: one head</summary>
#
# The output of a head is the average of its values with its weights:
# first weight times first value, plus second weight times second value.
#
# <details><summary>Hint 2: the output</summary>
#
# As a matrix, $W_O$ has two rows, one for each head, and one column: 2 above, -1 below.
# The pair $(a, b)$ times this matrix is $2a - b$.
#
# </details>
# </details>


# %%
# ANSWER: two_heads_by_hand
def two_heads_by_hand():
    """Compute (head_1, head_2, output) of the table above."""
    ### BEGIN SOLUTION
    weights = np.array([[0.8, 0.2], [0.25, 0.75]])  # (h, S)
    values = np.array([[2.0, 6.0], [10.0, -2.0]])  # (h, S), since d_v is 1
    W_O = np.array([2.0, -1.0])  # (h * d_v,), since the output is one number
    # Each head averages its own values with its own weights: 1.6 + 1.2, and 2.5 - 1.5.
    head_1, head_2 = (weights * values).sum(axis=-1)
    # Concat is the pair. The minus is no error: a head may count against another one.
    output = np.array([head_1, head_2]) @ W_O
    return head_1, head_2, output
    ### END SOLUTION


# %% [markdown]
# The two heads:

# %%
check.two_heads_by_hand_heads(two_heads_by_hand)

# %% [markdown]
# What becomes of them:

# %%
check.two_heads_by_hand_output(two_heads_by_hand)
