import os
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

# The arrays of the tests are small: a second thread costs more than it brings.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Triton must know before anything imports it, torch.compile included. A GPU has nvidia-smi.
if shutil.which("nvidia-smi") is None:
    os.environ.setdefault("TRITON_INTERPRET", "1")


def pytest_collection_modifyitems(items):
    """Skip the tests that need CUDA where there is none, with that reason."""
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if marked:
        import torch

        if not torch.cuda.is_available():
            for item in marked:
                item.add_marker(pytest.mark.skip(reason="needs CUDA, and torch finds none"))
