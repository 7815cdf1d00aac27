"""Split and merge, live."""

import traitlets

from mha_lessons import split_and_merge
from mha_lessons.split_and_merge import PLAIN_RESHAPES, Stage
from mha_lessons.widgets.live_figure import LiveFigure, State, is_index, one_of, switch, table

MOST_T, MOST_D_MODEL = 5, 8
# What a plain reshape leaves out, and the stage that stands in its place.
INSTEAD = {
    "nowhere": {},
    "split": {"reshaped": "split"},
    "merge": {"swapped": "merged"},
    "both": {"reshaped": "split", "swapped": "merged"},
}
STAGES = ("projected", "reshaped", "split", "read", "swapped", "merged")


class SplitMerge(LiveFigure, figure="split_merge"):
    """Follow numbered features through split and merge, by the right moves or a plain reshape.

    split: (T, d_model) -> (T, h, d_k) -> (h, T, d_k), merge: back the same way

    The tens digit of an entry is its position, the ones digit its column. The figure counts the
    entries that stand in the wrong place, and says which tests the layer would pass all the same.

    Parameters
    ----------
    T : int, 1 to 5
    d_model : int, 1 to 8
    num_heads : int that divides d_model
    plain_reshape : "nowhere", "split", "merge" or "both"
        Where one reshape to the wanted shape stands instead of the right moves.
    reads_before : bool
        Let each head read the position before, with attention under a mask; otherwise the heads
        hand on what they got.
    stage : "projected", "reshaped", "split", "read", "swapped" or "merged"
        The array that is shown. A stage that a plain reshape leaves out gives the next one.

    Raises
    ------
    traitlets.TraitError
        When a value breaks one of these rules; the message says what to do.

    References
    ----------
    Chapter 2.

    Examples
    --------
    >>> from mha_lessons.widgets import SplitMerge
    >>> figure = SplitMerge(plain_reshape="both", reads_before=True)
    >>> figure.misplaced
    {'projected': 0, 'split': 12, 'read': 12, 'merged': 16}
    >>> figure.passes["round trip"], figure.passes["loop"]
    (True, False)
    """

    STATE = ("T", "d_model", "num_heads", "plain_reshape", "reads_before", "stage")

    T = State(3).tag(sync=True)
    d_model = State(6).tag(sync=True)
    num_heads = State(3).tag(sync=True)
    plain_reshape = State("nowhere").tag(sync=True)
    reads_before = State(False).tag(sync=True)
    stage = State("projected").tag(sync=True)

    @property
    def stages(self) -> list[Stage]:
        """Every array from x to the merged heads."""
        return self._journey(self.plain_reshape)

    @property
    def misplaced(self) -> dict[str, int]:
        """How many entries of each stage stand in the wrong place."""
        marks = split_and_merge.misplaced(self.stages, self._journey("nowhere"))
        return {name: int(wrong.sum()) for name, wrong in marks.items()}

    @property
    def passes(self) -> dict[str, bool]:
        """Which tests the layer would pass: see `mha_lessons.split_and_merge.passes`."""
        return split_and_merge.passes(self.T, self.d_model, self.num_heads, self.plain_reshape)

    def _journey(self, plain_reshape):
        x = split_and_merge.numbered(self.T, self.d_model)
        if not self.reads_before:
            return split_and_merge.journey(x, self.num_heads, plain_reshape)
        read = split_and_merge.attend(split_and_merge.position_before(self.T))
        return split_and_merge.journey(x, self.num_heads, plain_reshape, read)

    def _tables(self):
        stages, wrong = self.stages, self.misplaced
        heads = {stage.name: stage.array for stage in stages}["split"].astype(int)  # (h, T, d_k)
        yield table(
            "Numbered features after the split. Rows: head, columns: position. Tens digit of an "
            "entry: its position, ones digit: its column.",
            map(str, range(self.T)),
            ((f"head {i + 1}", (" ".join(map(str, row)) for row in head))
             for i, head in enumerate(heads)),
        )  # fmt: skip
        yield table(
            "Each step through split and merge: the shape that it gives, and how many entries "
            "then stand in the wrong place.",
            ["shape", "wrong"],
            (
                (
                    stage.move,
                    (
                        f"({', '.join(stage.axes)}) = {stage.array.shape}",
                        f"{wrong[stage.name]} of {stage.array.size}",
                    ),
                )
                for stage in stages
            ),
        )
        yield table(
            "Tests that a layer with this split and merge passes.",
            self.passes,
            [("result", ("passes" if passed else "fails" for passed in self.passes.values()))],
        )

    def _data(self):
        return {"rows": "many" if max(self.T, self.num_heads) > 3 else "few"}

    @traitlets.validate("T", "d_model")
    def _check_size(self, proposal):
        return _size(proposal.trait.name, proposal.value)

    @traitlets.validate("num_heads")
    def _check_num_heads(self, proposal):
        h, d_model = proposal.value, _size("d_model", self.d_model)
        if not is_index(h, d_model + 1) or h not in _divisors(d_model):
            fits = ", ".join(map(str, _divisors(d_model)))
            raise traitlets.TraitError(
                f"num_heads must divide d_model: got num_heads {h!r} and d_model {d_model}. "
                f"Each head gets d_model / num_heads features: use one of {fits}."
            )
        return int(h)

    @traitlets.validate("plain_reshape")
    def _check_plain_reshape(self, proposal):
        return one_of("plain_reshape", proposal.value, PLAIN_RESHAPES)

    @traitlets.validate("reads_before")
    def _check_reads_before(self, proposal):
        return switch(proposal, "Use True to let each head read the position before.")

    @traitlets.validate("stage")
    def _check_stage(self, proposal):
        stage = one_of("stage", proposal.value, STAGES)
        instead = INSTEAD[one_of("plain_reshape", self.plain_reshape, PLAIN_RESHAPES)]
        return instead.get(stage, stage)

    @traitlets.observe("d_model", "plain_reshape")
    def _keep_fitting(self, change):
        """Keep a number of heads that fits, and a stage that this way has."""
        if self.d_model % self.num_heads:
            self.num_heads = max(h for h in _divisors(self.d_model) if h <= self.num_heads)
        self.stage = INSTEAD[self.plain_reshape].get(self.stage, self.stage)


def _divisors(d_model):
    return [h for h in range(1, d_model + 1) if d_model % h == 0]


def _size(name, value):
    most = {"T": MOST_T, "d_model": MOST_D_MODEL}[name]
    if not is_index(value, most + 1) or value == 0:
        raise traitlets.TraitError(
            f"{name} must be a whole number from 1 to {most}: got {value!r}. "
            f"Use a small size: every entry is drawn."
        )
    return int(value)
