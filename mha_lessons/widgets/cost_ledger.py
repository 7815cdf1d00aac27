"""The ledger of one layer's sizes, beside that of one head."""

from typing import NamedTuple

import traitlets

from mha_lessons import cost
from mha_lessons.widgets.live_figure import LiveFigure, State, is_index, table

# Up to these sizes every count is exact in the figure too: JavaScript's integers end at 2^53.
LONGEST, WIDEST, DEEPEST = 131072, 16384, 200
BYTES = (1, 2, 4, 8)


class Entry(NamedTuple):
    """One row of the ledger: what it counts, for these sizes and for one head."""

    name: str
    unit: str
    here: int
    one_head: int


class CostLedger(LiveFigure, figure="cost_ledger"):
    """Let the sizes of a layer be changed, and show which costs its heads change.

    Every row of the ledger stands beside the same layer with one head of the same d_model. The
    sequence is one, T = S, and d_k = d_v = d_model / num_heads; the counts are those of
    `mha_lessons.cost`, for one layer, and the cache's for all layers.

    Parameters
    ----------
    T : int, 1 to 131072
        Queries, and keys.
    d_model : int, 1 to 16384
    num_heads : int
        A divisor of d_model.
    num_kv_heads : int, optional
        A divisor of num_heads, which it is unless given.
    layers : int, 1 to 200
    bytes_per_element : 1, 2, 4 or 8

    Raises
    ------
    traitlets.TraitError
        When a value breaks one of these rules; the message says what to do.

    References
    ----------
    Chapter 5.

    Examples
    --------
    >>> from mha_lessons.widgets import CostLedger
    >>> ledger = CostLedger(d_model=512, num_heads=8, T=1024)
    >>> [entry.name for entry in ledger.entries() if entry.here > entry.one_head]
    ['softmax, elements', 'weights, if stored', 'kept by a fused kernel', 'parameters that count']
    >>> ledger.crossover
    1024.0
    """

    STATE = ("T", "d_model", "num_heads", "num_kv_heads", "layers", "bytes_per_element")

    T = State(2048).tag(sync=True)
    d_model = State(512).tag(sync=True)
    num_heads = State(8).tag(sync=True)
    num_kv_heads = State(None).tag(sync=True)
    layers = State(6).tag(sync=True)
    bytes_per_element = State(2).tag(sync=True)

    @property
    def sizes(self) -> cost.Sizes:
        """The sizes, as `mha_lessons.cost` takes them."""
        return cost.Sizes(1, self.T, self.d_model, self.num_heads, num_kv_heads=self.num_kv_heads)

    @property
    def crossover(self) -> float:
        """The length T at which the score products cost as much as the projections."""
        return cost.crossover_length(self.d_model, self.num_heads, self.num_kv_heads)

    def entries(self) -> list[Entry]:
        """Count every row of the ledger, for these sizes and for one head."""
        here, one = self._count(self.sizes), self._count(cost.Sizes(1, self.T, self.d_model, 1))
        return [Entry(name, unit, here[name, unit], one[name, unit]) for name, unit in here]

    def _count(self, sizes):
        projections, scores = cost.projection_flops(sizes), cost.score_flops(sizes)
        b = self.bytes_per_element
        return {
            ("projections to Q, K, V", "FLOPs"): sum(projections.values()) - projections["W_O"],
            ("projection W_O", "FLOPs"): projections["W_O"],
            ("score products", "FLOPs"): sum(scores.values()),
            ("softmax, elements", "elements"): cost.score_elements(sizes),
            ("weights, if stored", "bytes"): cost.materialised_bytes(sizes, b),
            ("kept by a fused kernel", "bytes"): cost.tiled_bytes(sizes, b),
            ("cache of K and V", "bytes"): cost.kv_cache_bytes(sizes, b, layers=self.layers),
            ("stored parameters", "parameters"): cost.parameters(sizes),
            ("parameters that count", "parameters"): cost.effective_parameters(sizes),
        }

    def _tables(self):
        yield table(
            f"What a layer of {self.num_heads} heads costs, and one of a single head: "
            f"T = {self.T}, d_model = {self.d_model}, {self.sizes.num_kv_heads} key and value "
            f"heads, {self.bytes_per_element} bytes per element. The cache is that of "
            f"{self.layers} layers.",
            [f"{self.num_heads} heads", "one head", "unit", "more heads"],
            (
                (name, [f"{here:,}", f"{one:,}", unit, _compare(here, one)])
                for name, unit, here, one in self.entries()
            ),
        )

    @traitlets.validate("T", "d_model", "layers")
    def _check_length(self, proposal):
        most = {"T": LONGEST, "d_model": WIDEST, "layers": DEEPEST}[proposal.trait.name]
        if not is_index(proposal.value, most + 1) or proposal.value < 1:
            raise traitlets.TraitError(
                f"{proposal.trait.name} must be a whole number from 1 to {most}: "
                f"got {proposal.value!r}. Beyond that a browser cannot count exactly."
            )
        if proposal.trait.name == "d_model":
            _divides("num_heads", self.num_heads, "d_model", proposal.value)
        return int(proposal.value)

    @traitlets.validate("num_heads")
    def _check_heads(self, proposal):
        _divides("num_heads", proposal.value, "d_model", self.d_model)
        if self.num_kv_heads is not None:
            _divides("num_kv_heads", self.num_kv_heads, "num_heads", proposal.value)
        return int(proposal.value)

    @traitlets.validate("num_kv_heads")
    def _check_kv_heads(self, proposal):
        if proposal.value is None:
            return None
        _divides("num_kv_heads", proposal.value, "num_heads", self.num_heads)
        return int(proposal.value)

    @traitlets.validate("bytes_per_element")
    def _check_bytes(self, proposal):
        if not is_index(proposal.value, max(BYTES) + 1) or proposal.value not in BYTES:
            raise traitlets.TraitError(
                f"bytes_per_element must be 1, 2, 4 or 8: got {proposal.value!r}. "
                f"Use 2 for float16 and bfloat16, 4 for float32."
            )
        return int(proposal.value)


def _divides(part_name, part, whole_name, whole):
    """Refuse `part` unless it divides `whole`, whose own check says what is wrong with it."""
    if not is_index(whole, WIDEST + 1):
        return
    if not is_index(part, whole + 1) or part < 1 or whole % int(part):
        divisors = [n for n in range(1, whole + 1) if whole % n == 0]
        raise traitlets.TraitError(
            f"{part_name} must divide {whole_name}: got {part!r} and {whole}. "
            f"Use one of {', '.join(map(str, divisors))}; to change both, set them together, in "
            f"`with ledger.hold_trait_notifications():`."
        )


def _compare(here, one):
    return "equal" if here == one else "grows" if here > one else "shrinks"
