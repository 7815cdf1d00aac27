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
    kv_cache_bytes,
    merge_heads,
    multi_head_attention,
    padding_mask,
    parameter_count,
    projection_flops,
    quiz,
    score_elements,
    score_flops,
    softmax,
    split_heads,
    twins,
    two_heads_by_hand,
)

__all__ = [
    "BANK",
    "attention",
    "attention_weights",
    "causal_attention",
    "causal_mask",
    "head_report",
    "kv_cache_bytes",
    "merge_heads",
    "multi_head_attention",
    "padding_mask",
    "parameter_count",
    "projection_flops",
    "quiz",
    "score_elements",
    "score_flops",
    "softmax",
    "split_heads",
    "twins",
    "two_heads_by_hand",
]
