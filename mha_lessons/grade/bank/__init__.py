"""The wrong answers that we know, one module per answer.

Each has two jobs. The tests prove that its check rejects it. At grading time a learner whose
result equals its result, on the same arguments, is told its words.
"""

from ..mistakes import BANK
from . import head_report, parameter_count, quiz, split_heads, twins

__all__ = ["BANK", "head_report", "parameter_count", "quiz", "split_heads", "twins"]
