"""Multi-head attention: one equation, written several times over, and exercises to learn it.

`equation`, `vectorized` and `module` are rungs of one ladder: each offers ``softmax``,
``attention_weights``, ``attention`` and ``multi_head_attention`` with the same arguments.
Import the rung you want to read, as in ``from mha_lessons import equation``.
"""

__version__ = "0.1.0"
