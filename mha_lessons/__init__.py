"""Multi-head attention: one equation, written several times over, and exercises to learn it.

`equation`, `vectorized`, `module`, `tiled` and `kernel` are the rungs of one ladder. The first
three offer ``softmax``, ``attention_weights``, ``attention`` and ``multi_head_attention`` with the
same arguments; the last two never form the weights and offer ``attention`` alone. Import the rung
that you want to read, as in ``from mha_lessons import equation``.
"""

__version__ = "0.1.0"


def load_ipython_extension(shell):
    """Give a notebook the magic `%grade`: this is what ``%load_ext mha_lessons`` calls."""
    from .grade import magic

    magic.load(shell)
