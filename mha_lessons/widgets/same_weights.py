"""Same weights, different outputs, live."""

import traitlets

from mha_lessons import same_weights
from mha_lessons.same_weights import EXAMPLES, Result
from mha_lessons.widgets.live_figure import LiveFigure, State, is_number, one_of, table

MOST_VALUE = 10


class SameWeights(LiveFigure, figure="same_weights"):
    """Change the values of two heads, and see that their weights stay.

    head_i = weights_i values_i, output = Concat(head_1, head_2) W_O = 2 head_1 - head_2

    Each head has one number per key as its values, so its output is one number per query. The
    numbers are made up (see `mha_lessons.same_weights`): an illustration, not a trained model.

    Parameters
    ----------
    example : "same", "uniform" or "on paper"
        Where the weights come from: from one Q and one K for both heads, from queries of zeros, or
        the two rows that chapter 3 works out on paper.
    values : two lists of numbers from -10 to 10, one per key
        Those of the example unless given. Another example keeps them where their number fits.

    Raises
    ------
    traitlets.TraitError
        When a value breaks one of these rules; the message says what to do.

    References
    ----------
    Chapter 3.

    Examples
    --------
    >>> from mha_lessons.widgets import SameWeights
    >>> figure = SameWeights(example="on paper")
    >>> figure.result.concat.round(12), figure.result.output.round(12)
    (array([[2.8, 1. ]]), array([4.6]))
    >>> figure.values = (2, 6), (-2, 10)
    >>> figure.result.output.round(12)
    array([-1.4])
    """

    STATE = ("example", "values")

    example = State("same").tag(sync=True)
    values = State().tag(sync=True)

    @property
    def result(self) -> Result:
        """What both heads make of their values, and what is equal between them."""
        return same_weights.compute(self.example, self.values)

    def _tables(self):
        queries, keys, weights, _ = EXAMPLES[self.example]
        result = self.result
        rows = []
        for i, head in enumerate(self.values):
            rows += [
                (f"head {i + 1}, {query}", [*weights[i, t], result.heads[i, t]])
                for t, query in enumerate(queries)
            ]
            rows.append((f"head {i + 1}, value", [*head, ""]))
        yield table(
            "Weights, values and outputs of two heads. Rows: query (reads), columns: key (is "
            "read). Made-up numbers, no trained model.",
            [*keys, "output"],
            rows,
        )
        yield table(
            "Concat (a, b) of both heads, and 2a - b, which stands for W_O.",
            ["a", "b", "2a − b"],
            ((q, [*result.concat[t], result.output[t]]) for t, q in enumerate(queries)),
        )

    def _data(self):
        return {"example": self.example}

    @traitlets.default("values")
    def _values_of_example(self):
        return _values_of(self.example)

    @traitlets.validate("example")
    def _check_example(self, proposal):
        return one_of(proposal.trait.name, proposal.value, EXAMPLES)

    @traitlets.validate("values")
    def _check_values(self, proposal):
        values, keys = proposal.value, EXAMPLES[one_of("example", self.example, EXAMPLES)].keys
        if not _are_rows(values, len(keys)):
            raise traitlets.TraitError(
                f"values must be two lists, one per head, with one number for each of the keys "
                f"{', '.join(keys)}: got {values!r}. Write [[2, 6, -2], [-4, 1, 8]] for three keys."
            )
        for value in (value for row in values for value in row):
            if not is_number(value) or abs(value) > MOST_VALUE:
                raise traitlets.TraitError(
                    f"values must be numbers from -{MOST_VALUE} to {MOST_VALUE}: got {value!r}. "
                    f"Use a smaller number: outputs grow with the values, weights don't."
                )
        return tuple(tuple(float(value) for value in row) for row in values)

    @traitlets.observe("example")
    def _keep_fitting(self, change):
        """Take the values of an example that has another number of keys."""
        if not _are_rows(self.values, len(EXAMPLES[self.example].keys)):
            self.values = _values_of(self.example)


def _values_of(example):
    return tuple(map(tuple, EXAMPLES[example].values.tolist()))


def _are_rows(values, S):
    return (
        isinstance(values, list | tuple)
        and len(values) == 2
        and all(isinstance(row, list | tuple) and len(row) == S for row in values)
    )
