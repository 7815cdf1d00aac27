"""The environment in which notebooks are graded: the user's, but for what would disturb."""

import os
from pathlib import Path

PACKAGE_HOME = Path(__file__).resolve().parent.parent.parent


def environment_of(folder, beside=None):
    """Return the environment of a run in `folder`, without what would change its verdicts.

    `beside` is a folder that must not be on Python's path.
    """
    left_out = ("PYTHONSTARTUP", "PYTHONWARNINGS", "PYTEST", "JUPYTER", "IPYTHON")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    path = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(p)]
    path = [p for p in path if Path(p).resolve() != beside]
    if PACKAGE_HOME.name not in ("site-packages", "dist-packages"):
        path.append(str(PACKAGE_HOME))
    temporary = dict.fromkeys(("TMPDIR", "TMP", "TEMP"), str(folder / "tmp"))
    return (
        kept
        | temporary
        | {
            "PYTHONPATH": os.pathsep.join(path),
            "PYTHONUTF8": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
            "JUPYTER_CONFIG_DIR": str(folder / "jupyter"),
            "IPYTHONDIR": str(folder / "ipython"),
            "MPLBACKEND": "agg",
            "OMP_NUM_THREADS": "1",  # the arrays are small, and a class may be graded in parallel
        }
    )
