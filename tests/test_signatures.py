"""The shapes that signatures state are the shapes that arrive."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def run_hooked(*arguments):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    hook = "--jaxtyping-packages=mha_lessons,beartype.beartype"
    return subprocess.run(
        [*command, hook, *map(str, arguments)], cwd=HERE.parent, capture_output=True, text=True
    )


def test_every_shape_in_a_signature_holds_while_the_rungs_run():
    # The tests of messages stay out: the hook would speak before our own errors do.
    done = run_hooked(HERE / "test_equation_by_hand.py", HERE / "test_rungs_agree.py")
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.parametrize("call", ["attention(x, x, x[:2])", "softmax(x.astype(int))"])
def test_the_hook_would_notice_a_wrong_shape(tmp_path, call):
    test = tmp_path / "test_wrong.py"
    test.write_text(
        "import numpy as np\n"
        "from mha_lessons.vectorized import attention, softmax\n"
        f"def test_wrong():\n    x = np.ones((3, 3))\n    {call}\n",
        encoding="utf-8",
    )
    done = run_hooked(test)
    assert done.returncode == 1
    assert "TypeCheckError" in done.stdout
