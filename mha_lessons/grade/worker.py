"""The process that runs nbval on one notebook: ``python -m mha_lessons.grade.worker``.

It reports on its standard output, which `process` reads, with the key that it is given on its
standard input. The answers run in a kernel, a child of this process, which inherits neither.
"""

import os
import sys

import pytest

from . import nbval_plugin
from .signed import Writer


def main(arguments):
    """Run pytest with `arguments`; its own words go to standard error."""
    verdicts = os.dup(1)  # a duplicate is not inherited
    os.dup2(2, 1)
    key = sys.stdin.buffer.read()
    with open(verdicts, "w", encoding="utf-8") as stream:
        nbval_plugin.verdicts = Writer(stream, key)
        return pytest.main(arguments, plugins=[nbval_plugin])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
