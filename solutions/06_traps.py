# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Exercise 6: The traps
#
# Many sentences about attention sound right and are not.
# In this notebook you build two counterexamples, and then you judge twenty sentences.
#
# Write your answer in each cell that begins with `# ANSWER:`, and keep that line.
# Then run the check cells below it.
# A check prints `ok`, or says what is not right yet.
# To grade the whole notebook, save it.
# Then run `mha grade` in a terminal, or `%load_ext mha_lessons` and `%grade` in a new cell.

# %%
import numpy as np

from mha_lessons.grade.exercises import traps as check

# %% [markdown]
# ## 1. The same weights, different outputs
#
# **Difficulty:** 2 of 5. **Time:** 10 minutes.
#
# **Why this matters.**
# A picture of attention weights shows where a head looks.
# It does not show what the head takes from there.
# Two heads can have the same picture, and do different things.
#
# **Your task.**
# Write `same_weights_different_outputs(T, d)`.
# It returns six arrays `Q1, K1, V1, Q2, K2, V2` for two heads, each of shape `(T, d)`.
#
# - The attention weights of the two heads are identical.
# - Their outputs differ by more than 0.01 in at least one number.
#
# The checks compute $\text{softmax}(Q K^\top / \sqrt{d}) \, V$ for each head.
#
# <details><summary>Hint 1: what decides the weights?</summary>
#
# Look at the equation: the weights come from `Q` and `K` only.
#
# <details><summary>Hint 2: what is left?</summary>
#
# `V` is left.
# Give the second head other values, not the same values in another order.
#
# </details>
# </details>


# %%
# ANSWER: same_weights_different_outputs
def same_weights_different_outputs(T, d):
    """Return Q1, K1, V1, Q2, K2, V2, each (T, d)."""
    ### BEGIN SOLUTION
    rng = np.random.default_rng(seed=0)
    Q, K, V = rng.standard_normal((3, T, d))
    return Q, K, V, Q, K, V + 1
    ### END SOLUTION


# %% [markdown]
# Six arrays of the right shape:

# %%
check.twins_shapes(same_weights_different_outputs)

# %% [markdown]
# The same attention weights:

# %%
check.twins_same_weights(same_weights_different_outputs)

# %% [markdown]
# Different outputs:

# %%
check.twins_different_outputs(same_weights_different_outputs)

# %% [markdown]
# ## 2. Which heads could be removed?
#
# **Difficulty:** 3 of 5. **Time:** 15 minutes.
#
# **Why this matters.**
# A head can have a clear pattern of attention and still add nothing to the output of its layer.
# What a head adds is seen only after its rows of $W_O$.
#
# **Your task.**
# Write `head_report(heads, W_O)`.
#
# - `heads` has the shape `(num_heads, T, d_v)`: the output of each head.
# - `W_O` has the shape `(num_heads * d_v, d_model)`.
#   Head $i$ meets the rows from $i \cdot d_v$ up to $(i+1) \cdot d_v$.
# - Return `num_heads` values, each `True` or `False`.
#   Entry $i$ is `True` if the output of the layer stays the same, for every token,
#   when head $i$ alone is removed.
# - To remove a head means to take its term out of the sum $\sum_i \text{head}_i W_O^i$.
# - A computer rounds. Take numbers below $10^{-9}$ for zero.
# - Leave `heads` and `W_O` as they are.
#
# <details><summary>Hint 1: what does one head add?</summary>
#
# $\text{Concat}(\text{head}_1, \dots, \text{head}_h) \, W_O = \sum_i \text{head}_i W_O^i$.
# Removing head $i$ removes one term.
#
# <details><summary>Hint 2: when does nothing change?</summary>
#
# The output stays the same if the term is zero.
# This can happen although `heads[i]` and its rows of `W_O` are not zero: look at the product.
#
# <details><summary>Hint 3: in code</summary>
#
# `heads[i] @ W_O[i * d_v : (i + 1) * d_v]` is the term of head `i`.
# Compare all its numbers with zero: `np.allclose(..., 0, atol=1e-9)`.
#
# </details>
# </details>
# </details>


# %%
# ANSWER: head_report
def head_report(heads, W_O):
    """Tell for each head whether the output stays the same without it."""
    ### BEGIN SOLUTION
    num_heads, _, d_v = heads.shape
    terms = heads @ W_O.reshape(num_heads, d_v, -1)  # (num_heads, T, d_model)
    return np.abs(terms).max(axis=(1, 2)) < 1e-9
    ### END SOLUTION


# %% [markdown]
# A head that is zero, and a head whose rows of $W_O$ are zero:

# %%
check.head_report_zeros(head_report)

# %% [markdown]
# A head that $W_O$ sends to zero, though neither of them is zero:

# %%
check.head_report_cancelled_by_W_O(head_report)

# %% [markdown]
# Heads that are equal or opposite are both needed, since one is removed at a time:

# %%
check.head_report_one_at_a_time(head_report)

# %% [markdown]
# A small term is not zero:

# %%
check.head_report_small_is_not_zero(head_report)

# %% [markdown]
# The arrays of the caller are not changed:

# %%
check.head_report_keeps_its_input(head_report)

# %% [markdown]
# ## 3. Twenty statements
#
# **Difficulty:** 3 of 5. **Time:** 30 minutes.
#
# **Why this matters.**
# Each statement belongs to one trap of this course.
# To know that a sentence is false is half of it: you should also know why.
#
# **Your task.**
# For each statement choose one letter, for example `"T1": "a"`.
# Exactly one choice has the right verdict and the right reason.
# The layer is $\text{Concat}(\text{head}_1, \dots, \text{head}_h) \, W_O$.
# Masks are boolean, with `True` = may attend.
#
# <details><summary>Hint 1: how to decide</summary>
#
# Do not trust the sound of a sentence.
# Take small sizes, and compute both sides.
#
# <details><summary>Hint 2: where to look</summary>
#
# A wrong choice gets its own explanation when you run the check.
#
# </details>
# </details>

# %% [markdown]
# ### Statements T1 to T5
#
# {{ quiz T1 T2 T3 T4 T5 }}

# %%
# ANSWER: traps_1_to_5
traps_1_to_5 = {
    "T1": "b",
    "T2": "a",
    "T3": "c",
    "T4": "a",
    "T5": "c",
}

# %%
check.T1(traps_1_to_5)

# %%
check.T2(traps_1_to_5)

# %%
check.T3(traps_1_to_5)

# %%
check.T4(traps_1_to_5)

# %%
check.T5(traps_1_to_5)

# %% [markdown]
# ### Statements T6 to T10
#
# {{ quiz T6 T7 T8 T9 T10 }}

# %%
# ANSWER: traps_6_to_10
traps_6_to_10 = {
    "T6": "b",
    "T7": "c",
    "T8": "a",
    "T9": "c",
    "T10": "b",
}

# %%
check.T6(traps_6_to_10)

# %%
check.T7(traps_6_to_10)

# %%
check.T8(traps_6_to_10)

# %%
check.T9(traps_6_to_10)

# %%
check.T10(traps_6_to_10)

# %% [markdown]
# ### Statements T11 to T15
#
# {{ quiz T11 T12 T13 T14 T15 }}

# %%
# ANSWER: traps_11_to_15
traps_11_to_15 = {
    "T11": "a",
    "T12": "b",
    "T13": "a",
    "T14": "c",
    "T15": "b",
}

# %%
check.T11(traps_11_to_15)

# %%
check.T12(traps_11_to_15)

# %%
check.T13(traps_11_to_15)

# %%
check.T14(traps_11_to_15)

# %%
check.T15(traps_11_to_15)

# %% [markdown]
# ### Statements T16 to T20
#
# {{ quiz T16 T17 T18 T19 T20 }}

# %%
# ANSWER: traps_16_to_20
traps_16_to_20 = {
    "T16": "c",
    "T17": "a",
    "T18": "b",
    "T19": "b",
    "T20": "c",
}

# %%
check.T16(traps_16_to_20)

# %%
check.T17(traps_16_to_20)

# %%
check.T18(traps_16_to_20)

# %%
check.T19(traps_16_to_20)

# %%
check.T20(traps_16_to_20)
