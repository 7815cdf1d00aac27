"""The wrong answers that we know, one module per answer.

Each has two jobs. The tests prove that its check rejects it. At grading time a learner whose
result equals its result, on the same arguments, is told its words.
"""

from ..mistakes import BANK
from . import (
    attention,
    attention_weights,
    causal_attention,
    causal_mask,
    head_report,
    padding_mask,
    parameter_count,
    quiz,
    softmax,
    split_heads,
    twins,
)

__all__ = [
    "BANK",
    "attention",
    "attention_weights",
    "causal_attention",
    "causal_mask",
    "head_report",
    "padding_mask",
    "parameter_count",
    "quiz",
    "softmax",
    "split_heads",
    "twins",
]
