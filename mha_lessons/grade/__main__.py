"""``python -m mha_lessons.grade FILE`` does what ``mha grade FILE`` does."""

import sys

# `python -m` puts the folder it was started in first on the path. A learner's file there must not
# take the place of a standard module; the package itself is found already.
if not sys.flags.safe_path:
    del sys.path[0]

from mha_lessons.grade.command import main

sys.exit(main(["grade", *sys.argv[1:]]))
