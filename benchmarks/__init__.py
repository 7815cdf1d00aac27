"""Time the rungs against their peers, side by side: ``python -m benchmarks``."""
