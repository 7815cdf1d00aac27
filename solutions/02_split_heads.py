# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Exercise 2: Split the heads
#
# You will write two functions:
#
# 1. `split_heads` cuts a projected array into heads.
# 2. `parameter_count` counts the numbers that one layer stores.
#
# Write your answer in each cell that begins with `# ANSWER:`, and keep that line.
# Then run the check cells below it.
# A check prints `ok`, or says what is not right yet.
# To grade the whole notebook, save it.
# Then run `mha grade` in a terminal, or `%load_ext mha_lessons` and `%grade` in a new cell.

# %%
import numpy as np

from mha_lessons.grade.exercises import split_heads as check

# %% [markdown]
# ## 1. Split an array into heads
#
# **Difficulty:** 2 of 5. **Time:** 10 minutes.
#
# **Why this matters.**
# A layer computes the queries of all heads with one matrix product.
# The result has `d_model` columns.
# Head $i$ owns $d_k$ neighbours of them: the columns from $i \cdot d_k$ up to $(i+1) \cdot d_k$.
# To attend, each head needs an array of its own.
# A wrong split has the right shape, raises no error, and trains to a worse model.
#
# **Your task.**
# Write `split_heads(x, num_heads)`.
#
# - `x` has the shape `(..., T, d_model)`. The dots stand for any number of batch axes, also none.
# - The result has the shape `(..., num_heads, T, d_k)` with `d_k = d_model // num_heads`.
# - Raise `ValueError` (a failing `assert` counts too) when `num_heads` does not divide `d_model`,
#   and when `num_heads` is below 1.
# - Leave `x` as it is.
#
# <details><summary>Hint 1: which operation?</summary>
#
# A reshape can cut the last axis into two: `d_model` becomes `(num_heads, d_k)`.
# After that, each token has its heads, and you want each head to have its tokens.
#
# <details><summary>Hint 2: which axes?</summary>
#
# After the reshape to `(..., T, num_heads, d_k)`, swap the axes of `T` and `num_heads`.
# Count from the end: they are the axes -3 and -2.
#
# <details><summary>Hint 3: the batch axes</summary>
#
# `*batch, T, d_model = x.shape` puts all leading axes into the list `batch`.
# `x.reshape(*batch, T, num_heads, d_k)` keeps them.
#
# </details>
# </details>
# </details>


# %%
# ANSWER: split_heads
def split_heads(x, num_heads):
    """Split x (..., T, d_model) into heads (..., num_heads, T, d_k)."""
    ### BEGIN SOLUTION
    *batch, T, d_model = x.shape
    if num_heads < 1 or d_model % num_heads:
        raise ValueError(
            f"num_heads must divide d_model: got {num_heads} heads and d_model {d_model}."
        )
    heads = x.reshape(*batch, T, num_heads, d_model // num_heads)  # (..., T, num_heads, d_k)
    return np.swapaxes(heads, -3, -2)  # (..., num_heads, T, d_k)
    ### END SOLUTION


# %% [markdown]
# Every number must be in its place:

# %%
check.split_heads_values(split_heads)

# %% [markdown]
# Batch axes stay in front, any number of them:

# %%
check.split_heads_batch(split_heads)

# %% [markdown]
# A width that the heads cannot share is refused:

# %%
check.split_heads_refuses_uneven(split_heads)

# %% [markdown]
# So are zero heads, and a negative number of them:

# %%
check.split_heads_refuses_no_heads(split_heads)

# %% [markdown]
# The array of the caller is not changed:

# %%
check.split_heads_keeps_its_input(split_heads)

# %% [markdown]
# ## 2. Count the parameters
#
# **Difficulty:** 2 of 5. **Time:** 5 minutes.
#
# **Why this matters.**
# Many readers expect that more heads need more parameters.
# Count them, and you know.
#
# **Your task.**
# Write `parameter_count(d_model, num_heads, bias=False)`.
#
# - Count the numbers in the four projections $W_Q$, $W_K$, $W_V$ and $W_O$, all heads together.
#   The heads have $d_k = d_v = d_{\text{model}} / h$.
# - With `bias=True`, each of the four projections also has a bias vector:
#   one number per output feature.
# - Raise `ValueError` (a failing `assert` counts too) when `num_heads` does not divide `d_model`,
#   and when `num_heads` is below 1.
#
# <details><summary>Hint 1: one head</summary>
#
# The query projection of one head has `d_model` rows and `d_k` columns.
#
# <details><summary>Hint 2: all heads</summary>
#
# There are `num_heads` of them: `num_heads * d_k` columns together.
# You know this product.
#
# </details>
# </details>


# %%
# ANSWER: parameter_count
def parameter_count(d_model, num_heads, bias=False):
    """Count the numbers in W_Q, W_K, W_V and W_O, and in their biases."""
    ### BEGIN SOLUTION
    if num_heads < 1 or d_model % num_heads:
        raise ValueError(
            f"num_heads must divide d_model: got {num_heads} heads and d_model {d_model}."
        )
    d_k = d_model // num_heads
    one_projection = d_model * num_heads * d_k  # W_O has as many: num_heads * d_k rows
    one_bias = d_model if bias else 0
    return 4 * (one_projection + one_bias)
    ### END SOLUTION


# %% [markdown]
# Four projections, whatever the number of heads:

# %%
check.parameter_count_projections(parameter_count)

# %% [markdown]
# The bias vectors, when they are there:

# %%
check.parameter_count_bias(parameter_count)

# %% [markdown]
# Sizes that no layer can have are refused:

# %%
check.parameter_count_refuses_uneven(parameter_count)
