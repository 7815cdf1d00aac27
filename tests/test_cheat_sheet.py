"""What the cheat sheet says in code and in formulas is what the library computes."""

import re
from math import inf, sqrt
from pathlib import Path

import numpy as np
import pytest

from mha_lessons import cost, masks, projections, vectorized

TEXT = (Path(__file__).resolve().parent.parent / "book" / "cheat_sheet.md").read_text("utf-8")
# Distinct primes, so that swapped axes cannot pass by luck.
B, T, S, H, D_MODEL, D_K, D_V = 2, 3, 5, 7, 11, 13, 17


def rows(heading):
    """Return the rows of the table under a heading, without its head."""
    text = re.search(rf"^## {heading}\n(.+?)(?=^## |\Z)", TEXT, re.DOTALL | re.MULTILINE)[1]
    lines = [line for line in text.split("\n") if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def run_recipe():
    """Execute the recipe on a layer, and return its names and what the library gives."""
    rng = np.random.default_rng(0)
    p = projections.random(D_MODEL, H, D_K, D_V, seed=0)
    x_q, x_kv = rng.standard_normal((B, T, D_MODEL)), rng.standard_normal((B, S, D_MODEL))
    mask = masks.combine(masks.causal(T, S), masks.padding([3, 5], S))
    wide = {f"wide_{n}": np.concatenate(list(getattr(p, f"W_{n}")), axis=1) for n in "QKV"}
    names = {
        **{"B": B, "T": T, "S": S, "h": H, "d_k": D_K, "d_v": D_V, "W_O": p.W_O},
        **{"x_q": x_q, "x_kv": x_kv, "mask": mask, "inf": inf, "sqrt": sqrt},
        **{"einsum": np.einsum, "where": np.where, "softmax": vectorized.softmax},
        **wide,
    }
    (recipe,) = re.findall(r"^```python\n(.+?)^```$", TEXT, re.DOTALL | re.MULTILINE)
    exec(recipe, names)
    return names, vectorized.multi_head_attention(x_q, x_kv, p, mask)


def test_the_recipe_is_the_layer():
    names, want = run_recipe()
    np.testing.assert_allclose(names["out"], want, rtol=1e-12, atol=1e-13)


def test_arrays_have_the_shapes_and_letters_that_the_table_gives():
    letters = {"b": B, "t": T, "s": S, "h": H, "m": D_MODEL, "k": D_K, "v": D_V}
    p = projections.random(D_MODEL, H, D_K, D_V, seed=0)
    arrays = {**run_recipe()[0], **{f"W_{n}": getattr(p, f"W_{n}") for n in "QKV"}}
    arrays["W_O"] = p.W_O.reshape(H, D_V, D_MODEL)
    seen = []
    for named, _, einsum in rows("Shapes"):
        of = re.findall(r"`(\w+)`", named)
        spelled = re.findall(r"`(\w+)`", einsum) * (1 if ", " in einsum else len(of))
        for name, word in zip(of, spelled, strict=True):
            assert arrays[name].shape == tuple(letters[letter] for letter in word), name
            seen.append(name)
    assert seen == "x_q x_kv W_Q W_K W_V Q K V scores weights heads W_O out".split()


LEDGER = {
    "W_Q, W_K, W_V": lambda z: sum(list(cost.projection_flops(z).values())[:3]),
    "W_O": lambda z: cost.projection_flops(z)["W_O"],
    "QKᵀ and weights·V": lambda z: sum(cost.score_flops(z).values()),
    "scores, weights": cost.score_elements,
    "stored parameters": cost.parameters,
    "free parameters": cost.effective_parameters,
    "KV cache, a layer": lambda z: cost.kv_cache_bytes(z, 1),
}


def test_the_ledger_on_the_sheet_lists_these():
    assert [row[0] for row in rows("Cost of a forward pass")] == list(LEDGER)


@pytest.mark.parametrize("row", rows("Cost of a forward pass"), ids=lambda row: row[0])
def test_a_line_of_the_ledger_is_what_the_library_counts(row):
    name, formula, grows = row
    python = formula.replace("·", "*").replace("²", "**2")
    counts = []
    for h in (1, 5):
        z = cost.Sizes(B=2, T=3, d_model=35, num_heads=h)
        counts.append(LEDGER[name](z))
        assert eval(python, {"B": 2, "T": 3, "d": 35, "h": h}) == counts[-1]
    assert grows.startswith("yes" if counts[1] > counts[0] else "no")
