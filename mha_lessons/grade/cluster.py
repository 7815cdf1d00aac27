"""Grade on a Dask cluster: notebooks go out as bytes, and plain data comes back.

Dask gives the work of a worker that is lost to another one. So a notebook may be graded a second
time; its verdicts are taken once. Whoever reaches a scheduler can run code on its workers: keep
it in a network that you trust, or use TLS, as Dask's documentation tells.
"""

import os
import tempfile
from pathlib import Path

from .batch import grade_or_say_why
from .report import Submission, as_plain
from .report_files import WrongCallError
from .version import lessons

INSTALL = "pip install 'mha-lessons[cluster]'"
SECONDS_TO_ANSWER = 10


class OtherVersionError(Exception):
    """A worker's mha_lessons is not the one that sent the work."""


def grade_all(address, files, timeout=10, isolate=False, journal=None):
    """Grade `files` on the workers of the scheduler at `address`, as `batch.grade_all` does.

    Raises
    ------
    WrongCallError
        When Dask is not installed, the scheduler does not answer, has no workers, or one of them
        has another version of this package.
    """
    with _connect(address) as client:
        yield from _grade_all(client, files, timeout, isolate, journal)


def _connect(address):
    try:
        from distributed import Client
    except ImportError:
        raise WrongCallError(
            f"--scheduler needs Dask, and it is not installed. Install it with: {INSTALL}"
        ) from None
    try:
        client = Client(address, timeout=SECONDS_TO_ANSWER, set_as_default=False)
    except (OSError, ValueError) as error:  # ValueError: no address of a kind that Dask knows
        said = str(error).split("\n")[0] or type(error).__name__
        raise WrongCallError(
            f"No Dask scheduler answers at {address} ({said}). Start one with "
            "`dask scheduler`, or give the address that it shows."
        ) from None
    try:
        _check_workers(client, address)
    except BaseException:
        client.close()
        raise
    return client


def _check_workers(client, address):
    workers = client.scheduler_info(n_workers=-1)["workers"]
    if not workers:
        raise WrongCallError(
            f"The scheduler at {address} has no workers. Start one with: dask worker {address}"
        )
    try:
        theirs = client.run(_fingerprint, on_error="return")
    except Exception as error:
        theirs = dict.fromkeys(workers, error)
    others = [worker for worker, found in theirs.items() if found != lessons()]
    if others:
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        raise WrongCallError(
            "All workers must have the mha_lessons that is installed here: "
            f"{others[0]}{more} has another one, or none. Install the same version there."
        )


def _fingerprint():
    """Return what `lessons` says on a worker; Dask calls this there."""
    return lessons()


def _grade_all(client, files, timeout, isolate, journal):
    from distributed import as_completed

    found, sent, keys = {}, {}, {}
    for number, file in enumerate(files):
        known = journal and journal.find(file)
        content = None if known else _content(file)
        if content is None:  # known, or to be said why not
            found[number] = known or grade_or_say_why(file, timeout, isolate)
            continue
        keys[number] = journal and journal.key(file)
        how = Path(file).name, content, timeout, isolate, lessons()
        future = client.submit(_grade_here, *how, pure=False, retries=2)
        sent[future] = number
    try:
        arriving = as_completed(list(sent), loop=client.loop)
        yield from _in_order(files, found, arriving, sent, keys, journal)
    finally:
        client.cancel(list(sent))


def _content(file):
    try:
        return Path(file).read_bytes() if os.path.isfile(file) else None
    except OSError:
        return None


def _in_order(files, found, arriving, sent, keys, journal):
    following = 0
    while following < len(files):
        while following in found:
            yield found.pop(following)
            following += 1
        if following < len(files):
            future = next(arriving)
            number = sent[future]
            found[number] = _taken(future, files[number])
            if journal:
                journal.keep(files[number], keys[number], found[number])


def _taken(future, file):
    try:
        return Submission.from_plain(future.result() | {"file": str(file)})
    except OtherVersionError as error:
        reason = str(error)
    except Exception as error:  # its worker was lost again and again, say
        said = " ".join(f"{type(error).__name__}: {error}".split())
        reason = f"the cluster could not grade this notebook: {said[:300]}"
    return Submission.unreadable(file, reason)


def _grade_here(name, content, timeout, isolate, version):
    """Grade the bytes of a notebook; Dask calls this on a worker."""
    if version != lessons():  # it came after the others were asked
        raise OtherVersionError(
            "a worker that came later has another version of mha_lessons: install the same there"
        )
    with tempfile.TemporaryDirectory(prefix="mha-", ignore_cleanup_errors=True) as folder:
        file = Path(folder, name)
        file.write_bytes(content)
        return as_plain(grade_or_say_why(file, timeout, isolate))
