"""Wrong answers to ``causal_mask(T, S=None)``."""

from functools import partial

import numpy as np

from ..mistakes import mistake

wrong = partial(mistake, "causal_mask")
SQUARE, CACHE = "causal_mask_square", "causal_mask_cache"
SHORT, BOOLEAN = "causal_mask_short", "causal_mask_boolean"


def right(T, S=None, ahead=0):
    """Make the mask as it should be, or with the diagonal shifted by `ahead`."""
    S = T if S is None else S
    return np.tri(T, S, S - T + ahead, dtype=bool)


@wrong(
    SQUARE,
    "the mask shows the future and hides the past",
    "Query t may read the keys s <= t: the lower triangle, np.tril.",
)
def upper(T, S=None):
    S = T if S is None else S
    return np.triu(np.ones((T, S), dtype=bool), k=S - T)


@wrong(
    SQUARE,
    "the mask is inverted: True marks what is hidden",
    "True = may attend. Use ~mask, or <= in place of >.",
)
def inverted(T, S=None):
    return ~right(T, S)


@wrong(
    SQUARE,
    "a query may not read its own position",
    "Query t reads itself too: s <= t, not s < t.",
)
def itself_hidden(T, S=None):
    return right(T, S, -1)


@wrong(
    SQUARE,
    "a query sees one token ahead",
    "The diagonal is the last that may be read: s <= t, not s <= t + 1.",
)
def one_ahead(T, S=None):
    return right(T, S, 1)


@wrong(
    SQUARE,
    "every query reads every key",
    "Hide the keys after the query: np.tril, or a comparison of positions.",
)
def everything_visible(T, S=None):
    return np.ones((T, T if S is None else S), dtype=bool)


@wrong(
    SQUARE,
    "a query reads its own position only",
    "It reads what came before, too: s <= t, not s == t.",
)
def itself_only(T, S=None):
    return right(T, S) & ~right(T, S, -1)


@wrong(
    SQUARE,
    "a query reads itself and one key before it",
    "It reads all that came before: s <= t.",
)
def window_of_two(T, S=None):
    return right(T, S) & ~right(T, S, -2)


@wrong(
    SQUARE,
    "the positions run backwards: the first query reads everything",
    "The first query reads the first key, and each next one reads one more.",
)
def backwards(T, S=None):
    return right(T, S)[::-1]


@wrong(
    SQUARE,
    "the mask holds 0 and -inf, for adding to the scores",
    "Return truth values: True = may attend.",
)
def for_adding(T, S=None):
    return np.where(right(T, S), 0, -np.inf)


@wrong(
    SQUARE,
    "0 times infinity is nan: a triangle was multiplied by -inf",
    "No infinity is needed: return truth values, True = may attend.",
)
def zero_times_infinity(T, S=None):
    return (1 - right(T, S)) * -np.inf


@wrong(
    SQUARE,
    "the mask has axes in front that nobody asked for",
    "Return (T, S): it is stretched over batch and heads by itself.",
)
def axes_in_front(T, S=None):
    return right(T, S)[None, None]


@wrong(
    SQUARE,
    "the number of keys that each query may read is returned, not which they are",
    "Return (T, S) truth values, one for each pair of a query and a key.",
)
def counts(T, S=None):
    return right(T, S).sum(axis=-1)


@wrong(
    SQUARE,
    "S = None is not replaced by T",
    "Begin with `if S is None: S = T`.",
)
def default_not_replaced(T, S=None):
    return np.arange(S) <= np.arange(T)[:, None] + (S - T)


@wrong(
    CACHE,
    "the first query is aligned with the first key, and the last should be with the last",
    "With S > T the queries are the newest: query t stands at position t + S - T.",
)
def aligned_to_the_first(T, S=None):
    return np.tri(T, T if S is None else S, dtype=bool)


@wrong(
    CACHE,
    "the mask is (T, T), and S is not used",
    "A column is a key: the mask has S columns.",
)
def square_always(T, S=None):
    return right(T)


@wrong(
    CACHE,
    "rows and columns are swapped: the mask is (S, T)",
    "A row is a query and a column is a key: (T, S).",
)
def sizes_swapped(T, S=None):
    S = T if S is None else S
    return np.tri(S, T, T - S, dtype=bool)


@wrong(
    CACHE,
    "the mask is shifted the wrong way",
    "The shift is S - T, not T - S: with more keys, a query reads more.",
)
def shifted_back(T, S=None):
    S = T if S is None else S
    return np.tri(T, S, T - S, dtype=bool)


@wrong(
    CACHE,
    "the first S - T keys, those of the cache, are hidden",
    "They came before every query, so every query may read them.",
)
def cache_hidden(T, S=None):
    mask = right(T, S)
    if S is not None and S > T:
        mask[:, : S - T] = False
    return mask


@wrong(
    CACHE,
    "with a cache, every query reads every key",
    "A query of a longer step still must not read the queries after it.",
)
def open_with_a_cache(T, S=None):
    return right(T, S) | (S is not None and S > T)


@wrong(
    CACHE,
    "with a cache, a query sees one token ahead",
    "The shift is S - T: then the last query reads just up to the last key.",
)
def one_ahead_with_a_cache(T, S=None):
    return right(T, S, S is not None and S > T)


@wrong(
    CACHE,
    "with a cache, a query may not read its own position",
    "The shift is S - T: then the last query reads the last key too.",
)
def itself_hidden_with_a_cache(T, S=None):
    return right(T, S, -1 if S is not None and S > T else 0)


@wrong(
    SHORT,
    "with fewer keys than queries, the first query is aligned with the first key",
    "The rule is the same: s <= t + S - T. The first T - S queries may read nothing.",
)
def shift_not_below_zero(T, S=None):
    S = T if S is None else S
    return np.tri(T, S, max(S - T, 0), dtype=bool)


@wrong(
    SHORT,
    "with fewer keys than queries, the mask is shifted the wrong way",
    "The shift is S - T, and here it is below zero: keep its sign.",
)
def shift_without_its_sign(T, S=None):
    S = T if S is None else S
    return np.tri(T, S, abs(S - T), dtype=bool)


@wrong(
    SHORT,
    "fewer keys than queries are refused",
    "The rule holds for them too: the first T - S queries may read nothing.",
)
def short_refused(T, S=None):
    if S is not None and S < T:
        raise ValueError("there must be as many keys as queries, or more")
    return right(T, S)


@wrong(
    SHORT,
    "a query that may read nothing is shown the first key",
    "Its row is False: nothing came before it.",
)
def first_key_for_nothing(T, S=None):
    mask = right(T, S)
    mask[:, 0] = True
    return mask


@wrong(
    SHORT,
    "a query that may read nothing is shown everything",
    "Leave its row False: softmax and attention deal with such rows.",
)
def everything_for_nothing(T, S=None):
    mask = right(T, S)
    return mask | ~mask.any(axis=-1, keepdims=True)


@wrong(
    BOOLEAN,
    "the mask holds integers: 0 and 1 do not say which of them hides",
    "Return truth values: a comparison gives them, and so does dtype=bool or .astype(bool).",
)
def integers(T, S=None):
    return right(T, S).astype(int)


@wrong(
    BOOLEAN,
    "the mask holds the numbers 0.0 and 1.0, which np.tri and np.ones make",
    "Ask for truth values: np.tri(T, S, k, dtype=bool), or .astype(bool).",
)
def floats(T, S=None):
    return right(T, S).astype(float)
