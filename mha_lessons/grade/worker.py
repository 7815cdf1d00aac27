"""The process that runs nbval on one notebook: ``python -m mha_lessons.grade.worker``.

It reports on its standard output, which `process` reads. The answers run in a kernel, a child of
this process, and have no way to write there: they inherit another standard output.
"""

import os
import sys

import pytest

from . import nbval_plugin


def main(arguments):
    """Run pytest with `arguments`; its own words go to standard error."""
    verdicts = os.dup(1)  # a duplicate is not inherited
    os.dup2(2, 1)
    with open(verdicts, "w", encoding="utf-8") as nbval_plugin.verdicts:
        return pytest.main(arguments, plugins=[nbval_plugin])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
