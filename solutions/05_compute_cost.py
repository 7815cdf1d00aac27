# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Exercise 5: What a layer costs
#
# You will count, in four short functions, what a layer of attention computes and keeps:
#
# 1. `projection_flops`: the work of the four projections.
# 2. `score_flops`: the work of the two products with scores and weights.
# 3. `score_elements`: how many scores there are.
# 4. `kv_cache_bytes`: the memory of the keys and values that are kept while text is written.
#
# **How FLOPs are counted here.**
# One product of matrices, $(m, k)$ times $(k, n)$, counts as $2 \, m \, n \, k$:
# each of its $m \cdot n$ results is a sum of $k$ products, and a multiplication and an addition are
# two operations.
# Count the forward pass, without biases.
# What a mask hides is computed all the same, so nothing is subtracted for it.
# Softmax, scaling and copies are not counted.
#
# Sizes always fit: $h$, the number of heads, divides `d_model`.
# All heads have the width $d_k = d_v = d_{\text{model}} / h$.
#
# Write your answer in each cell that begins with `# ANSWER:`, and keep that line.
# Then run the check cells below it.
# A check prints `ok`, or says what is not right yet.
# To grade the whole notebook, save it.
# Then run `mha grade` in a terminal, or `%load_ext mha_lessons` and `%grade` in a new cell.

# %%
from mha_lessons.grade.exercises import compute_cost as check

# %% [markdown]
# ## 1. The work of the projections
#
# **Difficulty:** 2 of 5. **Time:** 5 minutes.
#
# **Why this matters.**
# For short texts most of the work of a layer is here.
# The number of heads is not among the arguments: think why.
#
# **Your task.**
# Write `projection_flops(B, T, d_model)`: the FLOPs of the products with $W_Q$, $W_K$, $W_V$ and
# $W_O$, together.
#
# - There are `B` sequences of `T` tokens each. It is self-attention: the same tokens ask and are
#   read.
# - Each projection, all heads together, is `(d_model, d_model)`.
#
# <details><summary>Hint 1: one projection</summary>
#
# All tokens of all sequences are rows of one matrix with `d_model` columns.
# It is multiplied with a matrix `(d_model, d_model)`.
#
# <details><summary>Hint 2: the numbers m, k and n</summary>
#
# `m` is `B * T`, and both `k` and `n` are `d_model`. Now there are four such products.
#
# </details>
# </details>


# %%
# ANSWER: projection_flops
def projection_flops(B, T, d_model):
    """Count the FLOPs of x W_Q, x W_K, x W_V and of the merged heads times W_O."""
    ### BEGIN SOLUTION
    # (B T, d_model) times (d_model, d_model). With heads in mind, W_Q is (d_model, h d_k), and
    # h d_k is d_model for every h: that is why h is no argument.
    one = 2 * (B * T) * d_model * d_model
    return 4 * one  # W_O too: the merged heads are (B T, d_model)
    ### END SOLUTION


# %% [markdown]
# Any sizes:

# %%
check.projection_flops_values(projection_flops)

# %% [markdown]
# ## 2. The work of scores and averages
#
# **Difficulty:** 2 of 5. **Time:** 10 minutes.
#
# **Why this matters.**
# This part grows with the square of the length, and is what makes long texts expensive.
# Many readers expect that more heads make it larger, too.
#
# **Your task.**
# Write `score_flops(B, T, S, d_model)`: the FLOPs of $Q K^\top$ and of the weights times $V$,
# together, over all heads.
#
# - There are `B` sequences, each with `T` queries and `S` keys.
# - The projections are not counted here: $Q$, $K$ and $V$ are there already.
#
# <details><summary>Hint 1: one head</summary>
#
# One head multiplies `(T, d_k)` with `(d_k, S)`, and its weights `(T, S)` with `(S, d_v)`.
#
# <details><summary>Hint 2: all heads</summary>
#
# There are $h$ such pairs of products in each sequence, and $h \cdot d_k$ is `d_model`.
# What happens to $h$?
#
# </details>
# </details>


# %%
# ANSWER: score_flops
def score_flops(B, T, S, d_model):
    """Count the FLOPs of Q K^T and of weights times V, over all heads."""
    ### BEGIN SOLUTION
    # One head: 2 T S d_k for the scores, and 2 T d_v S for the averages. Times h heads, and
    # h d_k = h d_v = d_model: as many heads more, as much narrower each.
    scores = 2 * T * S * d_model
    averages = 2 * T * d_model * S
    return B * (scores + averages)  # sequences do not meet: B stands once
    ### END SOLUTION


# %% [markdown]
# As many keys as queries:

# %%
check.score_flops_self(score_flops)

# %% [markdown]
# More keys, or fewer:

# %%
check.score_flops_cross(score_flops)

# %% [markdown]
# ## 3. The number of scores
#
# **Difficulty:** 1 of 5. **Time:** 5 minutes.
#
# **Why this matters.**
# "Eight heads cost the same as one" is true of the products, and not of everything.
# The softmax looks at every score.
#
# **Your task.**
# Write `score_elements(B, T, S, num_heads)`: how many scores a layer makes, before any mask.
#
# - There are `B` sequences, each with `T` queries and `S` keys.
#
# <details><summary>Hint 1: one head</summary>
#
# How many numbers does $Q K^\top$ of one head have, in one sequence?
#
# <details><summary>Hint 2: is the map of a narrow head smaller?</summary>
#
# A head with few features still compares each query with each key.
#
# </details>
# </details>


# %%
# ANSWER: score_elements
def score_elements(B, T, S, num_heads):
    """Count the scores of a layer: one for each query, key, head and sequence."""
    ### BEGIN SOLUTION
    # The features were summed over, so d_k does not stand here. Each head has a whole map: this
    # does grow with the number of heads, and so does the softmax.
    return B * num_heads * T * S
    ### END SOLUTION


# %% [markdown]
# As many keys as queries:

# %%
check.score_elements_self(score_elements)

# %% [markdown]
# More keys, or fewer:

# %%
check.score_elements_cross(score_elements)

# %% [markdown]
# ## 4. The bytes of the cache
#
# **Difficulty:** 3 of 5. **Time:** 10 minutes.
#
# **Why this matters.**
# A model that writes text keeps the keys and values of all tokens so far, in every layer.
# For long texts this cache decides how many readers one machine can serve.
# Heads can share keys and values to make it smaller: `num_kv_heads` of them serve `num_heads`
# query heads.
#
# **Your task.**
# Write `kv_cache_bytes(S, d_model, num_heads, num_kv_heads, bytes_per_element, layers)`.
#
# - Count the bytes of keys **and** values, of one sequence with `S` tokens, in all layers.
# - Every head is `d_model / num_heads` wide, one of keys or values too.
# - `num_kv_heads` divides `num_heads`. Where both are equal, every head has keys and values of its
#   own.
# - A number has `bytes_per_element` bytes: 2 in 16 bit.
#
# <details><summary>Hint 1: one token, one head</summary>
#
# For one token, one head of one layer keeps a key and a value, each `d_model / num_heads` numbers
# wide.
#
# <details><summary>Hint 2: which heads?</summary>
#
# Queries are not kept: a query is used once. So only the heads of keys and values count,
# and `num_heads` is needed for the width alone.
#
# </details>
# </details>


# %%
# ANSWER: kv_cache_bytes
def kv_cache_bytes(S, d_model, num_heads, num_kv_heads, bytes_per_element, layers):
    """Count the bytes of the keys and values of S tokens, in all layers."""
    ### BEGIN SOLUTION
    # Sharing makes heads of keys and values fewer, not narrower: each still has to fit queries of
    # the width d_k.
    d_k = d_model // num_heads
    one_layer = 2 * S * num_kv_heads * d_k  # K and V
    return layers * one_layer * bytes_per_element
    ### END SOLUTION


# %% [markdown]
# Every head has keys and values of its own:

# %%
check.kv_cache_bytes_own_heads(kv_cache_bytes)

# %% [markdown]
# Heads share keys and values:

# %%
check.kv_cache_bytes_shared_heads(kv_cache_bytes)
