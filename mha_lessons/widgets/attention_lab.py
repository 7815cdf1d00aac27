"""One attention head, live."""

import numpy as np
import traitlets
from jaxtyping import Float

from mha_lessons import toy
from mha_lessons.widgets.live_figure import LiveFigure, State, is_index, is_number, switch, table

MOST_TOKENS, MOST_EDIT = 8, 10
LOWEST_TEMPERATURE, HIGHEST_TEMPERATURE = 0.1, 10


class AttentionLab(LiveFigure, figure="attention_lab"):
    """Let one attention head run under the reader's hands.

    weights = softmax(Q K^T / sqrt(d_k) / temperature + edits), output = weights V

    In Jupyter the figure and this object share one state: what the reader changes by hand is what
    `scores`, `weights` and `output` then hold, and what is set here shows in the figure. On a
    static page the figure computes for itself, and without JavaScript a table of numbers stays.
    The numbers are made up (see `mha_lessons.toy`): an illustration, not a trained model.

    Parameters
    ----------
    tokens : list of 1 to 8 words, or one string of them
    temperature : float, 0.1 to 10
        Divides the scores.
    causal : bool
        Let each query read itself and earlier words only.
    edits : dict from (query, key) to a number from -10 to 10
        What to add to single scores. An edit stays while its cell exists.
    query, key : int
        The selected score.

    Raises
    ------
    traitlets.TraitError
        When a value breaks one of these rules; the message says what to do.

    References
    ----------
    Chapter 1.

    Examples
    --------
    >>> from mha_lessons.widgets import AttentionLab
    >>> lab = AttentionLab(tokens="the cat sat down", edits={(1, 2): 2.0})
    >>> lab.weights[1].round(2)
    array([0.07, 0.03, 0.9 , 0.  ])
    """

    STATE = ("tokens", "temperature", "causal", "edits", "query", "key")

    tokens = State(("the", "cat", "sat", "down")).tag(sync=True)
    temperature = State(1.0).tag(sync=True)
    causal = State(False).tag(sync=True)
    edits = State().tag(
        sync=True,
        to_json=lambda edits, _: [[*cell, amount] for cell, amount in edits.items()],
        from_json=lambda triples, _: {(i, j): amount for i, j, amount in triples},
    )
    query = State(1).tag(sync=True)
    key = State(2).tag(sync=True)

    @property
    def scores(self) -> Float[np.ndarray, "T T"]:
        """What softmax gets: (T, T), -inf where the causal mask hides a key."""
        return self._head().scores

    @property
    def weights(self) -> Float[np.ndarray, "T T"]:
        """What softmax makes of it: (T, T), rows are queries and sum to 1."""
        return self._head().weights

    @property
    def output(self) -> Float[np.ndarray, "T d_v"]:
        """One weighted sum of values per query: (T, d_v)."""
        return self._head().output

    def _tables(self):
        words, head = self.tokens, self._head()
        yield table(
            "Scores of one attention head before softmax. "
            "Rows: query (reads), columns: key (is read).",
            words,
            zip(words, head.scores, strict=True),
        )
        yield table(
            "Weights after softmax, their sum, and the output, a weighted sum of values "
            f"with {toy.D_V} features. Made-up numbers, no trained model.",
            [*words, "sum", *(f"output {v + 1}" for v in range(toy.D_V))],
            zip(
                words,
                np.column_stack([head.weights, head.weights.sum(-1), head.output]),
                strict=True,
            ),
        )

    def _data(self):
        return {"tokens": len(self.tokens)}

    def _head(self):
        return toy.attend(self.tokens, self.temperature, self.causal, self.edits)

    @traitlets.default("edits")
    def _no_edits(self):
        return {}

    @traitlets.validate("tokens")
    def _check_tokens(self, proposal):
        return words_of(proposal.value)

    @traitlets.validate("temperature")
    def _check_temperature(self, proposal):
        value = proposal.value
        if not is_number(value) or not LOWEST_TEMPERATURE <= value <= HIGHEST_TEMPERATURE:
            raise traitlets.TraitError(
                f"temperature divides the scores and must be a number from {LOWEST_TEMPERATURE} to "
                f"{HIGHEST_TEMPERATURE}: got {value!r}. Use 1 to leave the scores as they are."
            )
        return float(value)

    @traitlets.validate("causal")
    def _check_causal(self, proposal):
        return switch(proposal, "Use True to hide later words from each query.")

    @traitlets.validate("edits")
    def _check_edits(self, proposal):
        edits, T = proposal.value, len(words_of(self.tokens))
        if not isinstance(edits, dict):
            raise traitlets.TraitError(
                f"edits must be a dict from (query, key) to a number: got {edits!r}. "
                f"Write {{(1, 2): 0.5}} to add 0.5 to the score of query 1 and key 2."
            )
        for cell, amount in edits.items():
            if not (
                isinstance(cell, tuple) and len(cell) == 2 and all(is_index(i, T) for i in cell)
            ):
                raise traitlets.TraitError(
                    f"edits must name cells (query, key), both from 0 to {T - 1} for {T} tokens: "
                    f"got {cell!r}. Count words from 0."
                )
            if not is_number(amount) or abs(amount) > MOST_EDIT:
                raise traitlets.TraitError(
                    f"edits must add a number from -{MOST_EDIT} to {MOST_EDIT} to a score: "
                    f"got {amount!r} for {cell}. Use a smaller number: 5 is a factor of e^5 = 148."
                )
        return {(int(i), int(j)): float(amount) for (i, j), amount in edits.items() if amount}

    @traitlets.validate("query", "key")
    def _check_selection(self, proposal):
        T = len(words_of(self.tokens))
        if not is_index(proposal.value, T):
            raise traitlets.TraitError(
                f"{proposal.trait.name} must be the number of a word, from 0 to {T - 1} for "
                f"{T} tokens: got {proposal.value!r}. Count words from 0."
            )
        return int(proposal.value)

    @traitlets.observe("tokens")
    def _keep_inside(self, change):
        """Drop edits and selections whose cells have gone with the tokens."""
        T = len(self.tokens)
        self.edits = {cell: amount for cell, amount in self.edits.items() if max(cell) < T}
        self.query, self.key = min(self.query, T - 1), min(self.key, T - 1)


def words_of(tokens) -> tuple[str, ...]:
    """Return 1 to 8 words, given as such or as one string, or say that they must be."""
    words = tuple(tokens.split()) if isinstance(tokens, str) else tokens
    if not isinstance(words, list | tuple) or not 1 <= len(words) <= MOST_TOKENS:
        raise traitlets.TraitError(
            f"tokens must be 1 to {MOST_TOKENS} words: got {tokens!r}. "
            f"Pass a list such as ['the', 'cat'] or one string."
        )
    for word in words:
        if not isinstance(word, str) or word.split() != [word]:
            raise traitlets.TraitError(
                f"Every token must be one word without spaces: got {word!r}. "
                f"Split it, or join its parts with a hyphen."
            )
    return tuple(words)
