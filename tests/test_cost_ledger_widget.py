"""The cost ledger on the Python side: its counts, its static form, its rules."""

import doctest
from html.parser import HTMLParser

import pytest
import traitlets

from mha_lessons import cost
from mha_lessons.widgets import CostLedger, cost_ledger


def counts(ledger):
    return {entry.name: entry.here for entry in ledger.entries()}


def test_entries_are_the_librarys_counts():
    ledger = CostLedger(
        T=1009, d_model=6 * 13, num_heads=6, num_kv_heads=3, layers=7, bytes_per_element=4
    )
    sizes = cost.Sizes(1, 1009, 78, 6, num_kv_heads=3)
    flops = cost.projection_flops(sizes)
    assert counts(ledger) == {
        "projections to Q, K, V": flops["W_Q"] + flops["W_K"] + flops["W_V"],
        "projection W_O": flops["W_O"],
        "score products": sum(cost.score_flops(sizes).values()),
        "softmax, elements": cost.score_elements(sizes),
        "weights, if stored": cost.materialised_bytes(sizes, 4),
        "kept by a fused kernel": cost.tiled_bytes(sizes, 4),
        "cache of K and V": cost.kv_cache_bytes(sizes, 4, layers=7),
        "stored parameters": cost.parameters(sizes),
        "parameters that count": cost.effective_parameters(sizes),
    }
    assert ledger.crossover == cost.crossover_length(78, 6, 3)


def test_one_head_is_the_same_layer_with_one_head():
    ledger = CostLedger(T=101, d_model=78, num_heads=6, num_kv_heads=2)
    single = CostLedger(T=101, d_model=78, num_heads=1)
    assert {e.name: e.one_head for e in ledger.entries()} == counts(single)
    assert all(e.here == e.one_head for e in single.entries())


class _Rows(HTMLParser):
    """Reads the cells of each row of a table."""

    def __init__(self, html):
        super().__init__()
        self.rows, self._in_cell = [], False
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        if tag == "tr":
            self.rows.append([])
        self._in_cell = tag in ("td", "th")

    def handle_data(self, data):
        if self._in_cell:
            self.rows[-1].append(data)


def test_static_table_holds_the_counts_and_says_what_grows():
    ledger = CostLedger(num_kv_heads=2)
    _, *rows = _Rows(ledger.static_html()).rows
    for row, entry in zip(rows, ledger.entries(), strict=True):
        assert row[:4] == [entry.name, f"{entry.here:,}", f"{entry.one_head:,}", entry.unit]
    assert [row[4] for row in rows] == [
        *("shrinks", "equal", "equal", "grows", "grows", "grows", "shrinks", "shrinks", "grows")
    ]


def test_heads_with_keys_of_their_own_follow_the_heads():
    ledger = CostLedger()
    ledger.num_heads = 16
    assert ledger.sizes.num_kv_heads == 16
    ledger.num_kv_heads = 4
    assert ledger.sizes.num_kv_heads == 4


def test_width_and_heads_change_together():
    ledger = CostLedger()
    with ledger.hold_trait_notifications():
        ledger.d_model, ledger.num_heads = 500, 5
    assert ledger.sizes == cost.Sizes(1, 2048, 500, 5)


def test_refused_value_leaves_the_old_one():
    ledger = CostLedger()
    with pytest.raises(traitlets.TraitError):
        ledger.d_model = 500
    assert ledger.d_model == 512


def test_repr_builds_the_same_ledger():
    ledger = CostLedger(T=7, d_model=12, num_heads=6, num_kv_heads=3, layers=2)
    assert repr(eval(repr(ledger), {"CostLedger": CostLedger})) == repr(ledger)


def test_docstring_example_holds():
    result = doctest.testmod(cost_ledger)
    assert result.attempted
    assert not result.failed


@pytest.mark.parametrize(
    ("traits", "message"),
    [
        ({"T": 0}, "T must be a whole number from 1 to 131072: got 0. Beyond that"),
        ({"T": 2.5}, "T must be a whole number from 1 to 131072: got 2.5"),
        ({"T": "long"}, "T must be a whole number from 1 to 131072: got 'long'"),
        ({"d_model": 20000}, "d_model must be a whole number from 1 to 16384: got 20000"),
        ({"layers": True}, "layers must be a whole number from 1 to 200: got True"),
        (
            {"d_model": 500},
            "num_heads must divide d_model: got 8 and 500. Use one of 1, 2, 4, 5, 10",
        ),
        (
            {"num_heads": 7},
            "num_heads must divide d_model: got 7 and 512. Use one of .*hold_trait_notif",
        ),
        ({"num_heads": 0}, "num_heads must divide d_model: got 0 and 512"),
        (
            {"num_kv_heads": 3},
            "num_kv_heads must divide num_heads: got 3 and 8. Use one of 1, 2, 4",
        ),
        ({"num_heads": 4, "num_kv_heads": 8}, "num_kv_heads must divide num_heads: got 8 and 4"),
        ({"bytes_per_element": 3}, "must be 1, 2, 4 or 8: got 3. Use 2 for float16"),
        ({"bytes_per_element": "float16"}, "must be 1, 2, 4 or 8: got 'float16'. Use 2"),
    ],
)
def test_bad_traits_are_refused_with_advice(traits, message):
    with pytest.raises(traitlets.TraitError, match=message):
        CostLedger(**traits)
