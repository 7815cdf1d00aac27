import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

# The arrays of the tests are small: a second thread costs more than it brings.
os.environ.setdefault("OMP_NUM_THREADS", "1")
