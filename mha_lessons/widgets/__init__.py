"""Live figures: the numbers of the course under the reader's hands."""

from mha_lessons.widgets.attention_lab import AttentionLab
from mha_lessons.widgets.cost_ledger import CostLedger
from mha_lessons.widgets.live_figure import STATIC, LiveFigure
from mha_lessons.widgets.mask_painter import MaskPainter
from mha_lessons.widgets.same_weights import SameWeights
from mha_lessons.widgets.split_merge import SplitMerge

__all__ = [
    "STATIC",
    "AttentionLab",
    "CostLedger",
    "LiveFigure",
    "MaskPainter",
    "SameWeights",
    "SplitMerge",
]
