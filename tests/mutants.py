"""Wrong versions of the library: mistakes that people make, each with the law that notices."""

from pathlib import Path
from typing import NamedTuple

import mha_lessons

SOURCE = Path(mha_lessons.__file__).parent


class Mutant(NamedTuple):
    """One change to one file, the rung where it shows, and the laws that must fail there."""

    name: str
    file: str
    old: str
    new: str
    rung: str
    killed_by: tuple[str, ...]


def write_copy(folder, package, changes=()):
    """Copy the library's modules into `folder` under another name, with changes (file, old, new).

    A text that does not stand in the source exactly once is refused: then the source has moved on,
    and the mutant must follow.
    """
    home = folder / package
    home.mkdir()
    for path in SOURCE.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        for file, old, new in changes:
            if file == path.stem:
                assert text.count(old) == 1, f"{file}.py has {text.count(old)} times: {old}"
                text = text.replace(old, new)
        (home / path.name).write_text(text.replace("mha_lessons", package), encoding="utf-8")


MUTANTS = [
    # The scores
    Mutant(
        "scale by sqrt(d_model)",
        "vectorized",
        "scores = Q @ K.swapaxes(-2, -1) / sqrt(d_k)",
        "scores = Q @ K.swapaxes(-2, -1) / sqrt(d_k * Q.shape[-3])",
        "vectorized",
        ("log_weights_are_dot_products_over_sqrt_d_k",),
    ),
    Mutant(
        "no scale",
        "module",
        "scores = (Q / sqrt(Q.shape[-1])) @ K.transpose(-2, -1)",
        "scores = Q @ K.transpose(-2, -1)",
        "module",
        ("log_weights_are_dot_products_over_sqrt_d_k", "one_head_of_full_width_is_plain_attention"),
    ),
    Mutant(
        "cosine instead of dot product",
        "vectorized",
        "scores = Q @ K.swapaxes(-2, -1) / sqrt(d_k)",
        "Q, K = (x / np.linalg.norm(x, axis=-1, keepdims=True) for x in (Q, K))\n"
        "    scores = Q @ K.swapaxes(-2, -1)",
        "vectorized",
        (
            "a_vector_added_to_all_keys_changes_nothing",
            "b_K_has_no_effect",
            "heat_gives_the_mean_and_cold_the_best_key",
        ),
    ),
    # The softmax
    Mutant(
        "softmax over the queries",
        "vectorized",
        "    return softmax(scores)",
        "    return softmax(scores.swapaxes(-2, -1)).swapaxes(-2, -1)",
        "vectorized",
        (
            "weights_are_shares_of_what_may_be_read",
            "every_sample_head_and_query_attends_alone",
            "a_vector_added_to_all_values_is_added_to_the_output",
        ),
    ),
    Mutant(
        "no maximum subtracted",
        "vectorized",
        "np.exp(scores - np.where(largest == -np.inf, 0, largest))",
        "np.exp(scores)",
        "vectorized",
        (
            "a_constant_added_to_a_row_changes_nothing",
            "a_vector_added_to_all_keys_changes_nothing",
        ),
    ),
    Mutant(
        "the maximum of everything subtracted, not of the row",
        "vectorized",
        "largest = scores.max(axis=-1, keepdims=True, initial=-np.inf)",
        "largest = scores.max(initial=-np.inf)",
        "vectorized",
        (
            "a_constant_added_to_a_row_changes_nothing",
            "heat_gives_the_mean_and_cold_the_best_key",
        ),
    ),
    Mutant(
        "a softmax that sums exponentials and never divides",
        "vectorized",
        "return exps / np.where(sums == 0, 1, sums)",
        "return exps",
        "vectorized",
        ("scores_of_minus_infinity_weigh_nothing", "outputs_lie_in_the_hull_of_the_values"),
    ),
    Mutant(
        "the output scaled as the scores are",
        "vectorized",
        "return weights @ V",
        "return weights @ V / sqrt(V.shape[-1])",
        "vectorized",
        ("values_enter_linearly", "a_vector_added_to_all_values_is_added_to_the_output"),
    ),
    # The mask
    Mutant(
        "mask inverted",
        "vectorized",
        "np.where(mask, scores, -np.inf)",
        "np.where(mask, -np.inf, scores)",
        "vectorized",
        ("weights_are_shares_of_what_may_be_read", "each_query_reads_the_keys_up_to_its_own"),
    ),
    Mutant(
        "mask after the softmax",
        "vectorized",
        "        scores = np.where(mask, scores, -np.inf)\n    return softmax(scores)",
        "        return softmax(scores) * mask\n    return softmax(scores)",
        "vectorized",
        ("weights_are_shares_of_what_may_be_read", "the_future_cannot_matter"),
    ),
    Mutant(
        "hidden scores of -1e9",
        "module",
        "scores.masked_fill(~mask, -inf)",
        "scores.masked_fill(~mask, -1e9)",
        "module",
        (
            "a_query_that_may_read_nothing_gets_zeros",
            "a_query_that_may_read_nothing_gets_b_O",
            "no_gradient_reaches_hidden_keys_or_comes_from_blank_queries",
        ),
    ),
    Mutant(
        "-1e9 added to hidden scores",
        "vectorized",
        "scores = np.where(mask, scores, -np.inf)",
        "scores = scores + np.where(mask, 0, -1e9)",
        "vectorized",
        ("hidden_keys_cannot_matter", "the_future_cannot_matter"),
    ),
    Mutant(
        "V not blanked",
        "vectorized",
        "V = masks.blank_unread(V, masks.fit(mask, weights.shape))",
        "V = V",
        "vectorized",
        ("keys_that_nobody_reads_may_hold_anything",),
    ),
    Mutant(
        "K not blanked",
        "module",
        "        K = blank_unread(K, mask)\n",
        "        K = K\n",
        "module",
        ("garbage_that_nobody_reads_does_not_reach_a_gradient",),
    ),
    Mutant(
        "blank rows of the fused path left as they come",
        "fused",
        "return out.masked_fill(blank, 0)",
        "return out",
        "fused",
        ("a_query_that_may_read_nothing_gets_zeros",),
    ),
    Mutant(
        "the oracle multiplies hidden values by 0",
        "equation",
        "for s in range(S) if mask[*b, t, s])",
        "for s in range(S))",
        "equation",
        ("keys_that_nobody_reads_may_hold_anything",),
    ),
    # The future
    Mutant(
        "causal shifted by one",
        "masks",
        "np.arange(S) <= np.arange(T)[:, None] + (S - T)",
        "np.arange(S) < np.arange(T)[:, None] + (S - T)",
        "vectorized",
        ("each_query_reads_the_keys_up_to_its_own",),
    ),
    Mutant(
        "one key of the future",
        "torch_masks",
        "tril(S - T)",
        "tril(S - T + 1)",
        "module",
        ("the_future_cannot_matter", "no_gradient_reaches_the_future"),
    ),
    Mutant(
        "causal aligned to the first key",
        "masks",
        " + (S - T)\n",
        "\n",
        "vectorized",
        ("each_query_reads_the_keys_up_to_its_own",),
    ),
    Mutant(
        "torch's own alignment taken over",
        "fused",
        "(not causal or T == S)",
        "True",
        "fused",
        ("each_query_reads_the_keys_up_to_its_own", "a_cache_in_any_chunks_changes_nothing"),
    ),
    Mutant(
        "tiles on the diagonal taken whole",
        "tiled",
        "s.stop - 1 > t.start + S - T",
        "s.start > t.start + S - T",
        "tiled by 2",
        ("each_query_reads_the_keys_up_to_its_own", "the_future_cannot_matter"),
    ),
    # The tiles
    Mutant(
        "online softmax without rescaling the output",
        "tiled",
        "shrink * out[..., t, :] + exps @ V_tile",
        "out[..., t, :] + exps @ V_tile",
        "tiled by 2",
        (
            "keys_come_in_any_order",
            "keys_given_twice_change_nothing",
            "outputs_lie_in_the_hull_of_the_values",
        ),
    ),
    Mutant(
        "online softmax without rescaling the sums",
        "tiled",
        "sums = shrink * sums + exps",
        "sums = sums + exps",
        "tiled by 2",
        ("a_vector_added_to_all_values_is_added_to_the_output", "keys_come_in_any_order"),
    ),
    Mutant(
        "the last tile counts twice",
        "tiled",
        "range(0, length, tile)]",
        "(*range(0, length, tile), max(length - tile, 0))]",
        "tiled by 2",
        ("keys_come_in_any_order",),
    ),
    # The heads
    Mutant(
        "merge by a plain reshape",
        "projections",
        "heads.swapaxes(-3, -2).reshape(*batch, T, num_heads * d_v)",
        "heads.reshape(*batch, T, num_heads * d_v)",
        "vectorized",
        ("concat_times_W_O_is_the_sum_over_heads", "tokens_without_mask_have_no_order"),
    ),
    Mutant(
        "split by a plain reshape",
        "projections",
        "x.reshape(*x.shape[:-1], num_heads, d_k).swapaxes(-3, -2)",
        "x.reshape(*x.shape[:-2], num_heads, -1, d_k)",
        "module",
        ("concat_times_W_O_is_the_sum_over_heads", "tokens_without_mask_have_no_order"),
    ),
    Mutant(
        "features of all heads interleaved",
        "projections",
        "x.reshape(*x.shape[:-1], num_heads, d_k).swapaxes(-3, -2)",
        "x.reshape(*x.shape[:-1], d_k, num_heads).swapaxes(-3, -1).swapaxes(-2, -1)",
        "module",
        ("heads_and_their_rows_of_W_O_move_together", "scales_and_rotations_cancel"),
    ),
    Mutant(
        "key and value heads tiled over query heads, NumPy",
        "vectorized",
        "np.repeat(x, p.num_heads // p.num_kv_heads, axis=-3)",
        "np.concatenate([x] * (p.num_heads // p.num_kv_heads), axis=-3)",
        "vectorized",
        ("shared_key_and_value_heads_are_repeated_projections",),
    ),
    Mutant(
        "key and value heads tiled over query heads, torch",
        "module",
        "V = V.repeat_interleave(group, dim=-3)",
        "V = torch.cat([V] * group, dim=-3)",
        "module",
        (
            "consecutive_query_heads_share_a_key_and_value_head",
            "the_weights_are_those_of_the_layer",
        ),
    ),
    # The biases
    Mutant(
        "b_O missing",
        "vectorized",
        "@ p.W_O + p.b_O",
        "@ p.W_O",
        "vectorized",
        ("a_query_that_may_read_nothing_gets_b_O",),
    ),
    Mutant(
        "b_Q missing",
        "vectorized",
        "x_q @ p.W_Q + p.b_Q[:, None]",
        "x_q @ p.W_Q",
        "vectorized",
        ("a_bias_is_the_weight_of_a_feature_that_is_always_one",),
    ),
    Mutant(
        "b_V missing",
        "vectorized",
        "x_kv @ p.W_V + p.b_V[:, None]",
        "x_kv @ p.W_V",
        "vectorized",
        ("b_V_adds_b_V_W_O_where_something_is_read",),
    ),
    Mutant(
        "b_K added to the scores, not to the keys",
        "vectorized",
        "scores = Q @ K.swapaxes(-2, -1) / sqrt(d_k)",
        "scores = (Q @ K.swapaxes(-2, -1) + K.sum(axis=-1)[..., None, :]) / sqrt(d_k)",
        "vectorized",
        ("only_dot_products_of_queries_and_keys_count", "scales_and_rotations_cancel"),
    ),
    # The module
    Mutant(
        "the cache written from its start again",
        "cache",
        "self.K[b, :, start:stop] =",
        "self.K[b, :, : stop - start] =",
        "module",
        ("a_cache_in_any_chunks_changes_nothing",),
    ),
    Mutant(
        "no mask when there is a cache",
        "cache",
        "return K, V, mask, True",
        "return K, V, mask, False",
        "fused",
        ("a_cache_in_any_chunks_changes_nothing",),
    ),
    Mutant(
        "cached positions not shifted",
        "cache",
        "own = first[:, None] + torch.arange(T)",
        "own = 0 * first[:, None] + torch.arange(T)",
        "module",
        ("sequences_of_different_lengths_go_on_alone",),
    ),
    Mutant(
        "dropout in evaluation",
        "module",
        "self.dropout if self.training else 0.0",
        "self.dropout",
        "module",
        ("evaluation_has_no_dropout",),
    ),
]
