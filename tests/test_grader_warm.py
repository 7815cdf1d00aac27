"""A grading in a fork of a preloaded process says what a grading in a new process says."""

import os
import signal
import time

import handed_in
import pytest
from learners import content, save

from mha_lessons.grade import warm as warm_module
from mha_lessons.grade.run import grade
from mha_lessons.grade.warm import POSSIBLE, Warm

pytestmark = pytest.mark.skipif(not POSSIBLE, reason="this system has no fork")
USES_TORCH = (
    "# ANSWER: split_heads\nimport torch\n"
    "def split_heads(x, num_heads):\n"
    "    if num_heads < 1: raise ValueError('no')\n"
    "    x = torch.as_tensor(x).unflatten(-1, (num_heads, -1))\n"
    "    return x.transpose(-2, -3)\n"
)
WRONG = "# ANSWER: split_heads\ndef split_heads(x, num_heads):\n    return x\n"


@pytest.fixture
def warm():
    with Warm() as warm:
        yield warm


def told(submission):
    return [(row.check, row.status, row.message, row.hint, row.mistake) for row in submission.rows]


def test_what_is_handed_in_gets_the_same_words_in_a_fork(tmp_path_factory):
    plain = handed_in.graded(tmp_path_factory)
    with Warm() as warm:
        forked = handed_in.graded(tmp_path_factory, warm=warm)
        assert len(warm.processes) == 1  # it lived through all of them
    for name in plain:
        assert told(forked[name][0]) == told(plain[name][0])
        assert forked[name][0].notes == plain[name][0].notes


def test_torch_is_loaded_once_and_only_when_it_is_asked_for(tmp_path, warm):
    assert grade(save(content(), tmp_path / "a.ipynb"), warm=warm).complete
    assert set(warm.processes) == {False}
    path = save(content(split_heads=USES_TORCH), tmp_path / "b.ipynb")
    rows = grade(path, 60, warm=warm).rows
    assert [row.check for row in rows if row.status != "pass"] == ["split_heads_refuses_uneven"]
    assert set(warm.processes) == {False, True}


def test_two_forks_share_no_state(tmp_path, warm):
    leaves = "import builtins, os, sys\nsys.left = builtins.left = os.environ['LEFT'] = 'x'\n"
    finds = (
        "import sys\nassert not hasattr(sys, 'left') and 'LEFT' not in __import__('os').environ\n"
    )
    for source in (leaves, finds):
        path = save(content(split_heads=source + handed_in.RIGHT), tmp_path / "a.ipynb")
        submission = grade(path, warm=warm)
        assert submission.complete
        assert submission.notes == []


def test_two_forks_draw_different_random_numbers(tmp_path, warm):
    source = "# ANSWER: split_heads\ndef split_heads(x, num_heads):\n    raise KeyError({})\n"
    for draw in ("np.random.rand()", "__import__('random').random()"):
        path = save(content(split_heads=source.format(draw)), tmp_path / "a.ipynb")
        first, second = (grade(path, warm=warm).rows[0].message for _ in range(2))
        assert "KeyError: 0." in first
        assert first != second


def test_the_kernel_of_a_fork_has_neither_the_key_nor_the_verdicts(tmp_path, warm):
    source = (
        "import gc, os, sys\n"
        "from mha_lessons.grade import nbval_plugin, signed\n"
        "pipes = [os.readlink(f'/proc/self/fd/{n}') for n in (0, 1, 2)]\n"
        "assert pipes == ['/dev/null'] * 3, pipes\n"
        "assert nbval_plugin.verdicts is None\n"
        "assert not [o for o in gc.get_objects() if isinstance(o, signed.Writer)]\n"
    )
    path = save(content(split_heads=source + handed_in.RIGHT), tmp_path / "a.ipynb")
    submission = grade(path, warm=warm)
    assert (submission.complete, submission.notes) == (True, [])


def test_a_preloaded_process_that_has_ended_is_replaced(tmp_path, warm):
    path = save(content(split_heads=WRONG), tmp_path / "a.ipynb")
    first = warm.load().process
    first.kill()
    first.wait()
    assert grade(path, warm=warm).passed == 4
    assert warm.load().process.pid != first.pid


def test_an_answer_that_ends_the_preloaded_process_passes_nothing(tmp_path, warm):
    warm.load()
    attack = f"import os, signal\nos.kill({warm.load().process.pid}, signal.SIGKILL)\n"
    path = save(content(split_heads=attack + WRONG), tmp_path / "a.ipynb")
    assert "split_heads_values" not in passed(grade(path, 4, warm=warm))
    path = save(content(), tmp_path / "b.ipynb")
    assert grade(path, warm=warm).complete


def passed(submission):
    return {row.check for row in submission.rows if row.status == "pass"}


def test_where_no_fork_can_be_made_the_grading_is_cold(tmp_path, warm, monkeypatch):
    def refused(*arguments):
        raise OSError("no")

    monkeypatch.setattr(warm_module._Preloaded, "ask", refused)
    assert grade(save(content(), tmp_path / "a.ipynb"), warm=warm).complete


def test_no_process_stays_when_a_warm_ends(tmp_path):
    with Warm() as warm:
        process = warm.load()
        folder = os.path.realpath(process.folder.name)
        assert grade(save(content(), tmp_path / "a.ipynb"), warm=warm).complete
    assert not os.path.exists(folder)
    assert process.process.returncode is not None


@pytest.mark.skipif(not os.path.exists("/proc"), reason="there is no /proc")
def test_no_process_stays_when_the_one_that_asks_is_killed(tmp_path):
    path = save(content(split_heads=WRONG.replace("return x", "while True: pass")), tmp_path / "a")
    pid = os.fork()
    if pid == 0:
        try:
            with Warm() as warm:
                grade(path, 600, warm=warm)
        finally:
            os._exit(0)
    descendants = []
    end = time.monotonic() + 60
    while len(descendants) < 3 and time.monotonic() < end:  # preloaded, pytest, kernel
        time.sleep(0.5)
        descendants = below(pid)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert len(descendants) == 3
    end = time.monotonic() + 30
    while any(os.path.exists(f"/proc/{each}") for each in descendants):
        assert time.monotonic() < end
        time.sleep(0.1)


def below(ancestor):
    from mha_lessons.grade.confine import _all_below

    return _all_below(ancestor)
