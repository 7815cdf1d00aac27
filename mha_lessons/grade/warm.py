"""Grade in forks of a `preloaded` process, in a fraction of the time that a new process takes."""

import contextlib
import json
import os
import re
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from .confine import end_all_of
from .environment import environment_of

TORCH = re.compile(r"^\s*(?:import|from)\s+torch\b", re.M)
POSSIBLE = hasattr(os, "fork") and hasattr(socket, "send_fds")


class Warm:
    """Preloaded processes, started when they are needed: one without torch, one with it.

    Give it to `grade`. It may be used by several threads.
    """

    def __init__(self):
        self.processes, self.lock = {}, threading.Lock()

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.end()

    def load(self, torch=False):
        """Return the process that has, or has not, loaded torch; start it if need be."""
        with self.lock:
            preloaded = self.processes.get(torch)
            if preloaded is None or not preloaded.alive:
                if preloaded:
                    preloaded.end()
                preloaded = self.processes[torch] = _Preloaded(torch)
            return preloaded

    def start(self, content, arguments, folder, environment, log):
        """Start a grading in a fork; return it, or None where that is not possible."""
        torch = any(TORCH.search("".join(cell["source"])) for cell in content["cells"])
        with contextlib.suppress(OSError):
            return _Forked(self.load(torch), folder, environment, arguments, log)

    def end(self):
        """End the processes, and all that they started."""
        with self.lock:
            for process in self.processes.values():
                process.end()
            self.processes.clear()


class _Preloaded:
    def __init__(self, torch):
        self.lock = threading.Lock()
        self.asking, asked = socket.socketpair()
        self.folder = tempfile.TemporaryDirectory(prefix="mha-", ignore_cleanup_errors=True)
        name = ["torch"] if torch else []
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "mha_lessons.grade.preloaded", str(asked.fileno()), *name],
            cwd=self.folder.name,
            env=environment_of(Path(self.folder.name).resolve()),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[asked.fileno()],
            start_new_session=True,
        )
        asked.close()

    @property
    def alive(self):
        return self.process.poll() is None

    def ask(self, request, streams=()):
        """Send a request and files; return the reply. Raise OSError when there is none."""
        with self.lock:
            socket.send_fds(self.asking, [json.dumps(request).encode() + b"\n"], streams)
            reply = b""
            while not reply.endswith(b"\n"):
                piece = self.asking.recv(1 << 16)
                if not piece:
                    raise OSError("the preloaded process has ended")
                reply += piece
            return json.loads(reply)

    def end(self):
        self.asking.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
        self.process.kill()
        self.process.wait()
        end_all_of(os.path.realpath(self.folder.name))  # it may have ended before its forks
        self.folder.cleanup()


class _Forked:
    """One grading in a fork: what `process` needs of `subprocess.Popen`."""

    def __init__(self, preloaded, folder, environment, arguments, log):
        theirs_in, ours_in = os.pipe()
        ours_out, theirs_out = os.pipe()
        self.preloaded, self.written = preloaded, b""
        self.stdin, self.stdout = open(ours_in, "wb", 0), open(ours_out, "rb", 0)
        request = {"folder": str(folder), "environment": environment, "arguments": arguments}
        try:
            streams = (theirs_in, theirs_out, log.fileno())
            self.pid = preloaded.ask(request, streams)["pid"]
        except BaseException:
            self.stdin.close()
            self.stdout.close()
            raise
        finally:
            os.close(theirs_in)
            os.close(theirs_out)

    def communicate(self, key, timeout):
        """Give it its key; return what it writes. Raise `subprocess.TimeoutExpired` as Popen."""
        if not self.stdin.closed:
            with contextlib.suppress(BrokenPipeError):
                self.stdin.write(key)
            self.stdin.close()
        end = time.monotonic() + timeout
        while select.select([self.stdout], [], [], max(0, end - time.monotonic()))[0]:
            piece = self.stdout.read(1 << 16)
            if not piece:
                return self.written, None
            self.written += piece
        raise subprocess.TimeoutExpired("grading", timeout, output=self.written)

    def kill(self):
        """End it, and all that it started."""
        with contextlib.suppress(OSError):
            self.preloaded.ask({"end": self.pid})

    def wait(self):
        """Do nothing: `kill` has waited."""
