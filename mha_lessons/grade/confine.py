"""What keeps somebody else's code to itself: limits, and walls where the system has them.

None of it is a border between two people: see `isolated`.
"""

import contextlib
import ctypes
import functools
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

MEMORY, FILE_SIZE = 8 << 30, 64 << 20  # bytes
UNSHARED = ("--user", "--map-current-user", "--net", "--ipc", "--pid", "--mount-proc")
# What programs read that are not Python's own files, and what they may write to.
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/nix", "/proc", "/sys")
SETTINGS = ("/etc/ld.so.cache", "/etc/localtime", "/etc/passwd", "/etc/nsswitch.conf")
DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/shm")
SET_DUMPABLE, SET_CHILD_SUBREAPER, SET_NO_NEW_PRIVILEGES = 4, 36, 38  # prctl
# Landlock; these calls have the same numbers on every processor.
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
EXECUTE, WRITE, READ, LIST = 1, 2, 4, 8
ON_FILES = EXECUTE | WRITE | READ | 1 << 14 | 1 << 15  # truncate, ioctl
RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}  # how many there are, by Landlock's version


def limit_resources():
    """Limit memory, file sizes and core dumps where the system can."""
    try:
        import resource
    except ImportError:  # Windows
        return
    limits = {"RLIMIT_DATA": MEMORY, "RLIMIT_FSIZE": FILE_SIZE, "RLIMIT_CORE": 0}
    for name, limit in limits.items():
        # RLIMIT_DATA and not RLIMIT_AS: CUDA reserves far more addresses than it uses.
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        if hard != resource.RLIM_INFINITY:
            limit = min(limit, hard)
        with contextlib.suppress(OSError, ValueError):  # macOS refuses some of them
            resource.setrlimit(kind, (limit, hard))


def close_to_others():
    """Close this process's memory and open files to the other processes of its user (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_DUMPABLE, 0, 0, 0, 0)


def adopt_orphans():
    """Stay the ancestor of all that this process starts, whatever ends in between (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_all_below(ancestor):
    """End all processes that `ancestor` started, and theirs (Linux)."""
    for _ in range(9):  # one may start another while we look
        found = _all_below(ancestor)
        for pid in found:
            with contextlib.suppress(OSError):  # gone
                os.kill(pid, signal.SIGKILL)
        if not found:
            return


def end_all_of(folder):
    """End the processes that have `folder` in their environment; tell whether it is possible."""
    if not os.path.exists("/proc/self/environ"):
        return False
    # Every process of a run inherits it, in whatever session it is; and nobody else has it.
    mark = os.fsencode(folder) + b"/"
    for _ in range(9):  # one may start another while we look
        found = 0
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # another user's, or gone
                if mark in (entry / "environ").read_bytes():
                    os.kill(int(entry.name), signal.SIGKILL)
                    found += 1
        if not found:
            break
    return True


def _all_below(ancestor):
    children, states = {}, {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            # After the name, which may hold spaces: state, parent.
            state, parent = (entry / "stat").read_bytes().rpartition(b") ")[2].split()[:2]
            children.setdefault(int(parent), []).append(int(entry.name))
            states[int(entry.name)] = state
    found = list(children.get(ancestor, []))
    for pid in found:
        found += children.get(pid, [])
    return [pid for pid in found if states[pid] != b"Z"]


@functools.cache
def unshare():
    """Return the command that runs another without a network, and ends all that it starts.

    Empty where the system has none, or does not permit it.
    """
    program = shutil.which("unshare")
    if not program:
        return []
    command = [program, *UNSHARED, "--fork", "--kill-child", "--"]
    tried = subprocess.run([*command, "true"], stdin=subprocess.DEVNULL, capture_output=True)
    return command if tried.returncode == 0 else []


def landlock():
    """Return the version of Landlock, which limits a process's files; 0 where there is none."""
    if sys.platform != "linux":
        return 0
    return max(0, _syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1)))


def missing_walls():
    """Say in a sentence each what this system does not keep an isolated answer from."""
    if sys.platform == "win32":
        return ["Windows sets no limits: an answer can use the network, all files and all memory."]
    missing = []
    if not unshare():
        missing.append("`unshare` is missing or not permitted: an answer can use the network.")
    if not landlock():
        missing.append("Landlock is missing: an answer can read and write this user's files.")
    return missing


def keep_to(readable, listed, hidden, own):
    """Let this process read only what is `readable`, and write only in its `own` folder (Linux).

    It reads no file in the folder `hidden`, wherever that is, and only names in the folder
    `listed`, as an import of the readable in it needs. It cannot connect to or listen on TCP
    either, nor send signals to other processes, where Landlock is new enough. There is no way back.
    """
    version = landlock()
    if not version:
        return
    every = (1 << RIGHTS.get(version, 16)) - 1
    # Files, TCP (bind, connect), other processes (abstract sockets, signals).
    handled = (ctypes.c_uint64 * 3)(every, 3, 3)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    rules = _syscall(CREATE_RULESET, handled, ctypes.c_size_t(size), ctypes.c_uint32(0))
    for path in (*readable, *SYSTEM, *SETTINGS):
        for kept in all_but(hidden, os.path.realpath(path)):
            _allow(rules, kept, EXECUTE | READ | LIST)
    _allow(rules, listed, LIST)
    for path in (own, *DEVICES, *Path("/dev").glob("nvidia*")):
        _allow(rules, path, every)
    ctypes.CDLL(None).prctl(SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    if _syscall(RESTRICT_SELF, ctypes.c_int(rules), ctypes.c_uint32(0)):
        raise OSError(ctypes.get_errno(), "Landlock does not take effect")
    os.close(rules)


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("rights", ctypes.c_uint64), ("folder", ctypes.c_int32))


def _allow(rules, path, rights):
    with contextlib.suppress(OSError):  # not on this system
        folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
        if not os.path.isdir(path):
            rights &= ON_FILES & ((1 << RIGHTS.get(landlock(), 16)) - 1)
        beneath = ctypes.byref(_Beneath(rights, folder))
        _syscall(ADD_RULE, ctypes.c_int(rules), ctypes.c_int(1), beneath, ctypes.c_uint32(0))
        os.close(folder)


def _syscall(number, *arguments):
    return ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(number), *arguments)


def all_but(hidden, path):
    """Return paths that hold together what is in the folder `path`, but for what is in `hidden`."""
    path, hidden = Path(path), Path(hidden)
    if path == hidden or hidden in path.parents:
        return []
    if path not in hidden.parents:
        return [str(path)]
    try:
        return [kept for entry in path.iterdir() for kept in all_but(hidden, entry)]
    except OSError:
        return []
