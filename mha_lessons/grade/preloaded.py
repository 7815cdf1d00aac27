"""A process that has loaded what a grading needs, and forks for each: `warm` starts it and asks.

A fork has everything at once, where a new process would load it for a second. This process itself
runs nothing: an IPython shell or a thread in it would make the forked kernels hang.
"""

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path

import ipykernel.kernelapp
import jupyter_client.blocking
import jupyter_client.connect
import nbval.kernel
import numpy as np

from . import exercises, worker
from .confine import adopt_orphans, end_all_below, limit_resources

# What pytest, the kernel and IPython would load later, each time; none of it need exist.
LATER = (
    *("ipykernel.debugger", "ipykernel.ipkernel", "tornado.platform.asyncio", "encodings.idna"),
    *("IPython.core.completerlib", "IPython.core.debugger", "IPython.core.logger"),
    *("IPython.core.oinspect", "IPython.extensions.storemagic", "IPython.utils.wildcard"),
    *("faulthandler", "pdb", "readline", "xml.etree.ElementTree", "nbformat.validator"),
    *("_pytest.assertion.rewrite", "_pytest.faulthandler", "_pytest.helpconfig"),
    *("_pytest.junitxml", "_pytest.pastebin", "_pytest.runner", "_pytest.setuponly"),
    *("_pytest.setupplan", "_pytest.skipping", "_pytest.terminal", "_pytest.threadexception"),
    *("_pytest.tracemalloc", "_pytest.unittest", "_pytest.unraisableexception"),
    "_pytest.warnings",
)
KERNEL = (
    "--IPKernelApp.log_level=50",
    "--HistoryManager.enabled=False",
    "--IPKernelApp.capture_fd_output=False",  # as a kernel has it that pytest starts
)
IPC_AT_MOST = 90  # characters of a path; systems allow about 100
START_LIMIT = 60  # seconds
Kernels = ipykernel.kernelapp.IPKernelApp


class ForkedKernel:
    """What nbval asks of a kernel's manager, for a kernel that is a fork of this process."""

    kernel_spec = None

    def __init__(self, pid):
        self.pid, self.ended = pid, False
        self.provisioner = self

    def is_alive(self):
        """Tell whether the kernel runs."""
        if not self.ended:
            self.ended = os.waitpid(self.pid, os.WNOHANG)[0] != 0
        return not self.ended

    def interrupt_kernel(self):
        """Stop what the kernel does."""
        if self.is_alive():
            os.kill(self.pid, signal.SIGINT)

    def shutdown_kernel(self, now=True):
        """End the kernel, and what is in its group."""
        if self.is_alive():
            os.killpg(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.ended = True


def main(number, torch=False):
    """Serve the socket with this `number` until the other end is closed."""
    adopt_orphans()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for who asks
    checks = pkgutil.iter_modules(exercises.__path__, f"{exercises.__name__}.")
    for name in (*LATER, *(module.name for module in checks), *(["torch"] if torch else [])):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()
    asked = socket.socket(fileno=number)
    while True:
        request, streams = _receive(asked)
        if not request:
            break
        if "end" in request:
            _end(request["end"])
            asked.sendall(b"{}\n")
            continue
        pid = os.fork()
        if pid == 0:
            asked.close()
            _grade(streams, **request)
        for stream in streams:
            os.close(stream)
        asked.sendall(json.dumps({"pid": pid}).encode() + b"\n")
    end_all_below(os.getpid())


def _receive(asked):
    """Return one request, and the files that came with it."""
    text, streams, _, _ = socket.recv_fds(asked, 1 << 16, 3)
    while text and not text.endswith(b"\n"):
        more = asked.recv(1 << 16)
        text = text + more if more else b""
    return text and json.loads(text), streams


def _end(pid):
    end_all_below(pid)
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(OSError):
        os.waitpid(pid, 0)
    # Orphans of what was ended are children of this process now.
    with contextlib.suppress(OSError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _grade(streams, folder, environment, arguments):
    """Grade in this fork, as `worker` does in a process of its own; never return."""
    try:
        os.setsid()
        adopt_orphans()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os.chdir(folder)
        left_out = _paths(os.environ) - _paths(environment)
        sys.path[:] = [entry for entry in sys.path if entry not in left_out]
        os.environ.clear()
        os.environ.update(environment)
        tempfile.tempdir = None
        limit_resources()
        np.random.seed()
        kernel, client = _kernel(Path(environment["JUPYTER_RUNTIME_DIR"]))
        nbval.kernel.start_new_kernel = lambda **options: (kernel, client())
        worker.main(arguments)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
    finally:
        end_all_below(os.getpid())
        os._exit(0)


def _paths(environment):
    return {path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path}


def _kernel(folder):
    """Fork a kernel, before the key is read; return its manager, and what makes its client."""
    folder.mkdir(parents=True, exist_ok=True)
    file, address = str(folder / "kernel.json"), str(folder / "k")
    over = {"transport": "ipc", "ip": address} if len(address) < IPC_AT_MOST else {}
    jupyter_client.connect.write_connection_file(file, **over)
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):  # the key, the verdicts, the log
                os.dup2(nothing, stream)
            Kernels.launch_instance(argv=["-f", file, *KERNEL])
        finally:
            os._exit(1)

    def client():
        made = jupyter_client.blocking.BlockingKernelClient(connection_file=file)
        made.load_connection_file()
        # Until the sockets are there: a first try that fails is repeated after 0.1 s only.
        end = time.monotonic() + START_LIMIT
        ports = (made.shell_port, made.iopub_port, made.control_port)
        while over and time.monotonic() < end and kernel.is_alive():
            if all(os.path.exists(f"{address}-{port}") for port in ports):
                break
            time.sleep(0.002)
        made.start_channels(stdin=False, hb=False)
        return made

    kernel = ForkedKernel(pid)
    return kernel, client


if __name__ == "__main__":
    main(int(sys.argv[1]), "torch" in sys.argv)
