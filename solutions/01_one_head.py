# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Exercise 1: One head
#
# You will write one head of attention, in three functions:
#
# 1. `softmax` turns each row of scores into shares.
# 2. `attention_weights` says how much each query takes from each key.
# 3. `attention` averages the values with these weights.
#
# Write your answer in each cell that begins with `# ANSWER:`, and keep that line.
# Then run the check cells below it.
# A check prints `ok`, or says what is not right yet.
# To grade the whole notebook, save it.
# Then run `mha grade` in a terminal, or `%load_ext mha_lessons` and `%grade` in a new cell.

# %%
import numpy as np

from mha_lessons.grade.exercises import one_head as check

# %% [markdown]
# ## 1. Turn scores into shares
#
# **Difficulty:** 2 of 5. **Time:** 10 minutes.
#
# **Why this matters.**
# The softmax is where the keys compete: what one of them gains, the others of its row lose.
# Written as its equation says, it breaks as soon as a score reaches 710: `np.exp(710)` is `inf`.
# Tests with small numbers do not show it.
#
# **Your task.**
# Write `softmax(scores)`: $\text{softmax}(s)_j = \exp(s_j) / \sum_l \exp(s_l)$ for each row $s$.
#
# - `scores` has the shape `(..., T, S)`, and so has the result.
#   The dots stand for any number of batch axes, also none.
#   A row has one score for each of the `S` keys.
# - All numbers of the result are 0 or more, and each row sums to 1.
# - Scores may be large: $s = (1000, 1001)$ is a row like any other.
# - A score of `-inf` gets the weight 0. In no row are all scores `-inf`.
# - Leave `scores` as it is.
#
# <details><summary>Hint 1: which axis?</summary>
#
# A row lies along the last axis, whatever stands before it: `axis=-1`.
# `keepdims=True` keeps the axis, so that the sum of row $t$ meets row $t$ in the division.
#
# <details><summary>Hint 2: large scores</summary>
#
# `np.exp(1000)` is too large for a computer, and `inf / inf` is `nan`.
# What happens to the shares when you subtract the same number from all scores of a row?
#
# <details><summary>Hint 3: which number to subtract</summary>
#
# The shares stay the same, since the factor cancels.
# Take the largest score of each row.
# Then no exponent is above 0, and one of them is 0, so that the sum is at least 1.
#
# </details>
# </details>
# </details>


# %%
# ANSWER: softmax
def softmax(scores):
    """Turn each row of scores (..., T, S) into shares that sum to 1."""
    ### BEGIN SOLUTION
    # exp(s - c) / sum of exp(s - c) is the same for every c. With the row's largest score for c,
    # exp is at most 1, so nothing overflows, and the sum is at least 1, so nothing divides by 0.
    largest = scores.max(axis=-1, keepdims=True)  # (..., T, 1)
    exps = np.exp(scores - largest)  # (..., T, S); exp(-inf) is 0
    return exps / exps.sum(axis=-1, keepdims=True)  # (..., T, S)
    ### END SOLUTION


# %% [markdown]
# Each row is shared out:

# %%
check.softmax_values(softmax)

# %% [markdown]
# Batch axes stay in front, and change nothing:

# %%
check.softmax_batch(softmax)

# %% [markdown]
# Scores far from zero:

# %%
check.softmax_large(softmax)

# %% [markdown]
# A score of `-inf` gets nothing:

# %%
check.softmax_infinite(softmax)

# %% [markdown]
# The array of the caller is not changed:

# %%
check.softmax_keeps_its_input(softmax)

# %% [markdown]
# ## 2. Weigh every key for every query
#
# **Difficulty:** 3 of 5. **Time:** 20 minutes.
#
# **Why this matters.**
# Much can go wrong here without an error.
# A softmax over the wrong axis, a forgotten division, a mask that is read the wrong way:
# each gives numbers of the right shape, and they are other numbers.
# And there are queries that may read nothing: an empty sequence in a batch has only such.
#
# **Your task.**
# Write `attention_weights(Q, K, mask=None)`: $\text{softmax}(Q K^\top / \sqrt{d_k})$ over the keys.
#
# - `Q` has the shape `(..., T, d_k)` and `K` has `(..., S, d_k)`, with the same leading axes.
#   `T` and `S` may differ.
# - The result has the shape `(..., T, S)`. Row $t$ holds the weights of query $t$.
# - `mask` is `None` (every query reads every key) or boolean, with `True` = may attend.
#   It may lack leading axes of `(..., T, S)`, or have them with length 1.
# - A hidden key gets the weight 0, and the other keys of the row share everything.
# - **The blank-row rule:** a query that may attend to nothing gets zeros.
#   Not `nan`, and not a plain average.
# - The inputs may be float64, float32 or float16. Leave them as they are.
#
# You may use your `softmax`.
#
# <details><summary>Hint 1: the scores</summary>
#
# `K.T` reverses all axes, those of the batch too.
# `K.swapaxes(-1, -2)` swaps the last two, and `Q @ ...` does the product for each batch.
#
# <details><summary>Hint 2: the mask</summary>
#
# Hide before the softmax, so that the row still sums to 1.
# `np.where(mask, scores, -np.inf)` stretches the mask to the scores by itself.
#
# <details><summary>Hint 3: the blank row</summary>
#
# A row of `-inf` becomes 0 / 0 in the softmax, and a finite fill such as `-1e9` makes all its
# scores equal: a plain average.
# So find these rows: `~mask.any(axis=-1, keepdims=True)`.
# Let them pass the softmax with any finite scores, and set their weights to 0 afterwards.
#
# </details>
# </details>
# </details>


# %%
# ANSWER: attention_weights
def attention_weights(Q, K, mask=None):
    """Weigh the keys (..., S, d_k) for the queries (..., T, d_k): weights (..., T, S).

    mask: boolean, True = may attend. A query that may attend to nothing gets zeros.
    """
    ### BEGIN SOLUTION
    d_k = Q.shape[-1]
    scores = Q @ K.swapaxes(-1, -2) / np.sqrt(d_k)  # (..., T, S)
    if mask is None:
        return softmax(scores)
    # Before the softmax: what a hidden key would get goes to the others. -inf and not -1e9, since
    # no finite number is below every score.
    blank = ~mask.any(axis=-1, keepdims=True)  # (..., T, 1), True where nothing may be read
    weights = softmax(np.where(mask | blank, scores, -np.inf))  # (..., T, S)
    # A blank row went through the softmax unmasked, to spare it 0 / 0. Now it gets its zeros.
    return np.where(blank, 0, weights)
    ### END SOLUTION


# %% [markdown]
# Every weight, without a mask:

# %%
check.attention_weights_values(attention_weights)

# %% [markdown]
# As many queries as you like, for as many keys as you like:

# %%
check.attention_weights_sizes(attention_weights)

# %% [markdown]
# Batch and heads in front:

# %%
check.attention_weights_batch(attention_weights)

# %% [markdown]
# Scores far from zero:

# %%
check.attention_weights_large(attention_weights)

# %% [markdown]
# Hidden keys:

# %%
check.attention_weights_mask(attention_weights)

# %% [markdown]
# Masks with fewer axes than the scores:

# %%
check.attention_weights_mask_broadcast(attention_weights)

# %% [markdown]
# A query that may attend to nothing:

# %%
check.attention_weights_blank_row(attention_weights)

# %% [markdown]
# Inputs of lower precision:

# %%
check.attention_weights_types(attention_weights)

# %% [markdown]
# The arrays of the caller are not changed:

# %%
check.attention_weights_keeps_its_input(attention_weights)

# %% [markdown]
# ## 3. Average the values
#
# **Difficulty:** 1 of 5. **Time:** 5 minutes.
#
# **Why this matters.**
# The weights only say from where a query takes.
# What it takes are the values, and these may be of another width than queries and keys.
# With this function you have one whole head. A layer has several of them, side by side.
#
# **Your task.**
# Write `attention(Q, K, V, mask=None)`: the weights times the values.
#
# - `Q` is `(..., T, d_k)`, `K` is `(..., S, d_k)` and `V` is `(..., S, d_v)`.
# - The result is `(..., T, d_v)`. Row $t$ is what query $t$ receives.
# - `mask` is as in task 2.
# - **The blank-row rule:** a query that may attend to nothing receives zeros.
#   Not `nan`, and not a plain average.
# - Leave the inputs as they are.
#
# You may use your `attention_weights`.
#
# <details><summary>Hint 1: which product?</summary>
#
# Output $t$ is $\sum_s \text{weights}_{ts} V_s$.
# A sum over the inner axis of two arrays is a matrix product.
#
# <details><summary>Hint 2: which shapes?</summary>
#
# `(..., T, S) @ (..., S, d_v)` is `(..., T, d_v)`. Nothing is transposed.
#
# </details>
# </details>


# %%
# ANSWER: attention
def attention(Q, K, V, mask=None):
    """Average the values (..., S, d_v) for the queries: out (..., T, d_v).

    mask: boolean, True = may attend. A query that may attend to nothing gets zeros.
    """
    ### BEGIN SOLUTION
    # A blank row of weights is zeros, so its sum is zeros: the rule holds here by itself.
    return attention_weights(Q, K, mask) @ V  # (..., T, S) @ (..., S, d_v)
    ### END SOLUTION


# %% [markdown]
# Every output, without a mask:

# %%
check.attention_values(attention)

# %% [markdown]
# More keys or fewer, wider values or narrower ones:

# %%
check.attention_sizes(attention)

# %% [markdown]
# Batch and heads in front:

# %%
check.attention_batch(attention)

# %% [markdown]
# Scores far from zero:

# %%
check.attention_large(attention)

# %% [markdown]
# Hidden keys:

# %%
check.attention_mask(attention)

# %% [markdown]
# Masks with fewer axes than the scores:

# %%
check.attention_mask_broadcast(attention)

# %% [markdown]
# A query that may attend to nothing:

# %%
check.attention_blank_row(attention)

# %% [markdown]
# Inputs of lower precision:

# %%
check.attention_types(attention)

# %% [markdown]
# The arrays of the caller are not changed:

# %%
check.attention_keeps_its_input(attention)
