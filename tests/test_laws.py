"""Every rung obeys every law, whatever the sizes and the numbers."""

import ladder
import laws
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

LIBRARY = ladder.load()


@st.composite
def cases(draw):
    """Sizes that differ, so that swapped axes cannot pass by luck; 1 among them now and then."""
    T, S, d_k, d_v, d_model = draw(st.permutations(range(1, 8)))[:5]
    B, num_kv_heads, group = (draw(st.integers(1, n)) for n in (3, 2, 3))
    return laws.Case(B, num_kv_heads, group, T, S, d_k, d_v, d_model, draw(st.integers(0, 2**16)))


@pytest.mark.parametrize(
    ("law", "subject"),
    [
        pytest.param(law, subject, id=f"{name}-{rung}")
        for kind in laws.LAWS
        for name, law in laws.LAWS[kind].items()
        for rung, subject in ladder.SUBJECTS[kind](LIBRARY).items()
    ],
)
@given(case=cases())
@settings(max_examples=15, deadline=None)
def test_the_law_holds(law, subject, case):
    law(subject, case)


@pytest.mark.parametrize("rung", ["module", "fused"])
def test_products_that_do_not_fit_into_float16_are_no_harm_if_the_scores_do(rung):
    # Q . K is 80000, and the largest float16 is 65504; divided by sqrt(4) it is 40000.
    Q, K = torch.tensor([[200.0, 200, 0, 0]]), torch.tensor([[200.0, 200, 0, 0], [1, 1, 1, 1]])
    out = ladder.torch_attentions(LIBRARY)[rung](Q.half(), K.half(), torch.eye(2).half())
    assert out.tolist() == [[1, 0]]
