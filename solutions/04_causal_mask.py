# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Exercise 4: Masks
#
# You will write two masks, and attention that cannot see the future:
#
# 1. `causal_mask` hides what comes later.
# 2. `padding_mask` hides what is not there.
# 3. `causal_attention` attends with the first of them.
#
# A mask is boolean everywhere in this course, with `True` = may attend.
# A query that may attend to nothing gets zeros.
#
# Write your answer in each cell that begins with `# ANSWER:`, and keep that line.
# Then run the check cells below it.
# A check prints `ok`, or says what is not right yet.
# To grade the whole notebook, save it.
# Then run `mha grade` in a terminal, or `%load_ext mha_lessons` and `%grade` in a new cell.

# %%
import numpy as np

from mha_lessons.grade.exercises import causal_mask as check
from mha_lessons.vectorized import attention

# %% [markdown]
# ## 1. Hide what comes later
#
# **Difficulty:** 2 of 5. **Time:** 15 minutes.
#
# **Why this matters.**
# A model that writes text predicts the next token.
# In training the whole text is there, and the model must not read what it is to predict.
# If it sees one step too far, it copies the answer. When it writes, there is none to copy.
#
# **Your task.**
# Write `causal_mask(T, S=None)`.
#
# - It returns a boolean array of shape `(T, S)`: `mask[t, s]` is `True` if query $t$ may read
#   key $s$. Without `S`, there are as many keys as queries.
# - The last query stands at the last key, and the queries stand one after another.
#   So query $t$ stands at key $t + S - T$, and reads this key and all before it.
# - With `S > T` the queries are the newest tokens: a cache holds the `S - T` keys before them.
#   For example, `causal_mask(2, 5)`, with `1` for `True`:
#
#   |         | key 0 | key 1 | key 2 | key 3 | key 4 |
#   |---------|-------|-------|-------|-------|-------|
#   | query 0 | 1     | 1     | 1     | 1     | 0     |
#   | query 1 | 1     | 1     | 1     | 1     | 1     |
#
# - With `S < T` the rule is the same. The first `T - S` queries stand before every key.
#
# <details><summary>Hint 1: the plain case</summary>
#
# With `S == T`, query $t$ reads the keys $s \le t$: a lower triangle, the diagonal included.
# `np.tril` makes one, and so does a comparison of two ranges of numbers.
#
# <details><summary>Hint 2: the comparison</summary>
#
# `np.arange(T)[:, None]` is a column of queries and `np.arange(S)` a row of keys.
# `<=` between them gives all pairs at once, as truth values.
#
# <details><summary>Hint 3: the shift</summary>
#
# Query $t$ stands at key $t + S - T$. Compare the keys with that.
# `np.tril` and `np.tri` take the same shift as `k`.
#
# </details>
# </details>
# </details>


# %%
# ANSWER: causal_mask
def causal_mask(T, S=None):
    """Make a boolean mask (T, S), True = may attend, aligned to the last query."""
    ### BEGIN SOLUTION
    S = T if S is None else S
    position = np.arange(T)[:, None] + S - T  # (T, 1), where each query stands among the keys
    # A comparison gives truth values. np.tri would give 0.0 and 1.0.
    return np.arange(S) <= position  # (T, S)
    ### END SOLUTION


# %% [markdown]
# As many keys as queries:

# %%
check.causal_mask_square(causal_mask)

# %% [markdown]
# More keys than queries:

# %%
check.causal_mask_cache(causal_mask)

# %% [markdown]
# Fewer keys than queries:

# %%
check.causal_mask_short(causal_mask)

# %% [markdown]
# Truth values, not numbers:

# %%
check.causal_mask_boolean(causal_mask)

# %% [markdown]
# ## 2. Hide what is not there
#
# **Difficulty:** 2 of 5. **Time:** 10 minutes.
#
# **Why this matters.**
# The sequences of a batch have different lengths, and an array has one.
# So the short ones are filled up, with numbers that mean nothing.
# If they can be read, the output for a sentence depends on its neighbours in the batch.
#
# **Your task.**
# Write `padding_mask(lengths, S)`.
#
# - `lengths` is an array of `B` integers: sequence $b$ has `lengths[b]` real tokens, and then
#   padding. A length may be anything from 0 to `S`.
# - It returns a boolean array of shape `(B, 1, 1, S)`: `True` for the real keys.
#   The two axes of length 1 are stretched over the heads and the queries.
# - Keys are hidden, and not queries. The output of a padded query is computed and then ignored.
#
# <details><summary>Hint 1: one sequence</summary>
#
# Keys are counted from 0, so the real ones are $s < $ `lengths[b]`.
#
# <details><summary>Hint 2: all sequences at once</summary>
#
# `lengths[:, None]` is a column. Compare `np.arange(S)` with it: that is `(B, S)`.
#
# <details><summary>Hint 3: the shape</summary>
#
# `[:, None, None, :]` puts two axes of length 1 in the middle.
#
# </details>
# </details>
# </details>


# %%
# ANSWER: padding_mask
def padding_mask(lengths, S):
    """Make a boolean mask (B, 1, 1, S), True = may attend, that hides the padding."""
    ### BEGIN SOLUTION
    real = np.arange(S) < lengths[:, None]  # (B, S)
    # Against scores (B, h, T, S), a mask (B, S) would be taken for one of queries and keys.
    return real[:, None, None, :]  # (B, 1, 1, S)
    ### END SOLUTION


# %% [markdown]
# Every key of every sequence:

# %%
check.padding_mask_values(padding_mask)

# %% [markdown]
# A sequence without tokens, and one without padding:

# %%
check.padding_mask_ends(padding_mask)

# %% [markdown]
# Truth values, not numbers:

# %%
check.padding_mask_boolean(padding_mask)

# %% [markdown]
# ## 3. Attend without seeing the future
#
# **Difficulty:** 2 of 5. **Time:** 10 minutes.
#
# **Why this matters.**
# To find out whether a model can see the future, you change the future and look at the past.
# You can do the same with any model.
# A check below does it with your function.
#
# **Your task.**
# Write `causal_attention(Q, K, V)`: $\text{softmax}(Q K^\top / \sqrt{d_k}) \, V$, where each query
# reads its own position and what came before.
#
# - `Q` is `(..., T, d_k)`, `K` is `(..., S, d_k)`, `V` is `(..., S, d_v)`, and the result is
#   `(..., T, d_v)`.
# - With `S > T` the last query stands at the last key, as in task 1.
# - With `S < T` the first `T - S` queries may attend to nothing, and get zeros.
#   Not `nan`, and not a plain average.
# - What stands at a later key reaches no output: its weight is exactly 0.
# - Leave the inputs as they are.
#
# `attention(Q, K, V, mask)` of the library is imported above.
# You may use it, or your own from exercise 1.
#
# <details><summary>Hint 1: which mask?</summary>
#
# The one of task 1. It has to fit: how many queries and keys are there?
#
# <details><summary>Hint 2: the sizes</summary>
#
# Count axes from the end, since there may be batch and heads in front: `T = Q.shape[-2]` and
# `S = K.shape[-2]`.
#
# </details>
# </details>


# %%
# ANSWER: causal_attention
def causal_attention(Q, K, V):
    """Let each query average the values up to its own position: out (..., T, d_v)."""
    ### BEGIN SOLUTION
    T, S = Q.shape[-2], K.shape[-2]
    # The mask (T, S) is the same for every sequence and head, and is stretched over them.
    return attention(Q, K, V, causal_mask(T, S))  # (..., T, d_v)
    ### END SOLUTION


# %% [markdown]
# Every output:

# %%
check.causal_attention_values(causal_attention)

# %% [markdown]
# The future is changed, and the past stays:

# %%
check.causal_attention_no_leak(causal_attention)

# %% [markdown]
# More keys than queries:

# %%
check.causal_attention_cache(causal_attention)

# %% [markdown]
# Queries that may attend to nothing:

# %%
check.causal_attention_blank_row(causal_attention)

# %% [markdown]
# Batch and heads in front:

# %%
check.causal_attention_batch(causal_attention)

# %% [markdown]
# Scores far from zero:

# %%
check.causal_attention_large(causal_attention)

# %% [markdown]
# The arrays of the caller are not changed:

# %%
check.causal_attention_keeps_its_input(causal_attention)
