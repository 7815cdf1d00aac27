"""Hand an exercise out again, and keep what was written: ``mha reset``."""

import contextlib
import itertools
import json
import os
import tempfile

from .notebook import for_learners, reference
from .start import text_of


def reset(path, exercise):
    """Write the stub of `exercise` to `path`, and what was there to a backup beside it.

    Returns
    -------
    Path or None
        The backup; None when the file is what was handed out, and nothing was changed.

    Raises
    ------
    OSError
        When one of the two cannot be written; then the file is as it was.
    """
    stub = text_of(for_learners(reference(exercise)))
    work = path.read_bytes()
    with contextlib.suppress(ValueError):
        if json.loads(work) == json.loads(stub):
            return None
    backup = _keep(work, path)
    # Beside it, then renamed: there is a whole file at every moment.
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(stub)
        os.chmod(temporary, path.stat().st_mode)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    return backup


def _keep(work, path):
    """Write the backup under the first free number, so that it replaces no other."""
    for number in itertools.count(1):
        # Not .ipynb: a folder is graded with all of its notebooks.
        backup = path.with_name(f"{path.name}.backup-{number}")
        try:
            with open(backup, "xb") as file:
                file.write(work)
                file.flush()
                os.fsync(file.fileno())
        except FileExistsError:
            continue
        except OSError:  # half of it would look like a backup
            with contextlib.suppress(OSError):
                backup.unlink()
            raise
        return backup
