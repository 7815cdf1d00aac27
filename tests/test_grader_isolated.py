"""With --isolate an answer reaches neither the checks nor the verdicts, whatever it tries."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import handed_in
import numpy as np
import pytest
from handed_in import RIGHT
from learners import COUNT, ROOT, SPLIT_HEADS, cell, code_cell, content, save
from test_grader_run import ended

from mha_lessons.grade import answer_process, command, confine, process
from mha_lessons.grade.answer_process import DiedError, HungError
from mha_lessons.grade.checks import CheckFailed
from mha_lessons.grade.elsewhere import Elsewhere
from mha_lessons.grade.exercises import split_heads as checks
from mha_lessons.grade.run import grade

POSIX = pytest.mark.skipif(not hasattr(os, "killpg"), reason="there are no signals to groups")
NO_LANDLOCK = pytest.mark.skipif(not confine.landlock(), reason="this system has no Landlock")
NO_UNSHARE = pytest.mark.skipif(not confine.unshare(), reason="unshare is not permitted here")
HEAD = "# ANSWER: split_heads\nimport os, sys, gc, json, signal, subprocess\n"
WRONG = "def split_heads(x, num_heads):\n    return np.zeros(3)\n"
# What a function that returns something passes, right or wrong.
FREE = {"split_heads_keeps_its_input"}
PACKAGE = str(ROOT / "mha_lessons")

CHEATS = {
    "numpy patched": "for name in ('allclose', 'isclose', 'array_equal', 'testing'):\n"
    "    setattr(np, name, lambda *arguments, **named: np.True_)\n" + WRONG,
    "grader's modules patched": "for name, module in list(sys.modules.items()):\n"
    "    if name.startswith('mha_answer.'):\n"
    "        for each in ('close', 'same', 'run', 'difference', 'as_array', 'recognise'):\n"
    "            if hasattr(module, each) and each != 'run':\n"
    "                setattr(module, each, lambda *arguments, **named: True)\n" + WRONG,
    "builtins patched": "import builtins\n"
    "builtins.isinstance = lambda *arguments: True\nbuiltins.all = lambda values: True\n" + WRONG,
    "equal to everything": "class Yes:\n"
    "    shape, dtype, ndim = (5, 3, 7), np.dtype(float), 3\n"
    "    def __eq__(self, other): return True\n"
    "    def __getattr__(self, name): return lambda *arguments, **named: self\n"
    "    def __array__(self, dtype=None, copy=None): return self\n"
    "def split_heads(x, num_heads):\n    return Yes()\n",
    "an array that agrees": "class Yes(np.ndarray):\n"
    "    def __array_ufunc__(self, *arguments, **named): return np.True_\n"
    "    def __array_function__(self, *arguments, **named): return np.True_\n"
    "def split_heads(x, num_heads):\n    return np.zeros((num_heads, 5, 7)).view(Yes)\n",
    "frames and memory searched": "def split_heads(x, num_heads):\n"
    "    found, frame = list(gc.get_objects()), sys._getframe()\n"
    "    while frame:\n"
    "        found += [*frame.f_locals.values(), *frame.f_globals.values()]\n"
    "        frame = frame.f_back\n"
    "    found = [a for a in found if isinstance(a, np.ndarray) and a.size == x.size]\n"
    "    found = [a for a in found if a.shape[:1] == (num_heads,)]\n"
    "    return found[0] if found else np.zeros(3)\n",
    "grader imported": "sys.meta_path[:] = [f for f in sys.meta_path if 'efus' not in repr(f)]\n"
    f"sys.path.append({str(ROOT)!r})\n"
    "def split_heads(x, num_heads):\n"
    "    from mha_lessons.grade.exercises.split_heads import by_slices\n"
    "    return by_slices(x, num_heads)\n",
    "a reply forged in front": "lines = json.dumps({'value': None, 'raised': None}).encode()\n"
    "for number in range(3, 64):\n"
    "    try:\n        os.write(number, len(lines).to_bytes(8) + bytes(8) + lines)\n"
    "    except OSError:\n        pass\n" + WRONG,
    "verdicts forged": "verdict = {'status': 'pass', 'message': '', 'hint': '', 'mistake': None,\n"
    "           'seconds': 0.1}\n"
    "cells = ['02-check-split_heads_values', '02-check-split_heads_batch']\n"
    "lines = ''.join(json.dumps({'cell': c, **verdict}) + chr(10) for c in cells).encode()\n"
    "mine = str(os.getpid())\n"
    "for pid in [p for p in os.listdir('/proc') if p.isdigit() and p != mine]:\n"
    "    try:\n"
    "        if b'mha' not in open(f'/proc/{pid}/cmdline', 'rb').read(): continue\n"
    "        for number in os.listdir(f'/proc/{pid}/fd'):\n"
    "            with open(f'/proc/{pid}/fd/{number}', 'wb') as stream: stream.write(lines)\n"
    "    except OSError:\n        pass\n" + WRONG,
    "the grader ended": "try:\n    os.kill(os.getppid(), signal.SIGKILL)\nexcept OSError:\n"
    "    pass\n" + WRONG,
}


def tried(source, folder, timeout=10):
    """Grade a notebook with this answer; return its rows."""
    path = save(content(split_heads=HEAD + source), folder / "work" / "a.ipynb")
    return {row.check: row for row in grade(path, timeout, isolate=True).rows}


def passed(rows):
    return {name for name, row in rows.items() if row.status == "pass" and "split" in name}


@pytest.fixture
def without_walls(monkeypatch):
    """Isolate as a system does that has neither `unshare` nor Landlock."""
    code = (
        "from mha_lessons.grade import answer_process, isolated\n"
        "answer_process.unshare, setup = list, answer_process._setup\n"
        "def bare(own):\n"
        "    made = setup(own)\n"
        "    name, source, file = made['modules'][0]\n"
        "    assert name == 'confine'\n"
        "    made['modules'][0] = name, source + '\\ndef keep_to(**_): pass\\n', file\n"
        "    return made\n"
        "answer_process._setup = bare\n"
        "isolated.main({})\n"
    )

    def command(timeout):
        return [sys.executable, "-P", "-c", code.format(timeout)]

    monkeypatch.setattr(process, "_isolated", command)


def in_this_process(source, check=checks.split_heads_values):
    """Run a right or wrong answer of this process, to see that a cheat works where it can."""
    names = {"np": np}
    exec(HEAD + source, names)
    try:
        check(names["split_heads"])
    except CheckFailed as failed:
        return failed
    return None


def test_the_notebook_of_a_right_answer_passes(tmp_path):
    assert all(row.status == "pass" for row in tried(RIGHT, tmp_path).values())


@pytest.mark.parametrize("name", CHEATS)
def test_no_cheat_passes(tmp_path, name):
    assert passed(tried(CHEATS[name], tmp_path)) <= FREE


@pytest.mark.parametrize("name", set(CHEATS) - {"grader imported"})
def test_no_cheat_passes_without_walls(tmp_path, name, without_walls):
    assert passed(tried(CHEATS[name], tmp_path)) <= FREE


def test_an_answer_imports_neither_the_library_s_own_nor_the_grader(tmp_path):
    library = "from mha_lessons.projections import split_heads\n"
    assert tried(library, tmp_path)["split_heads_values"].message == (
        "its answer cell stopped: ImportError: an answer cannot import mha_lessons.projections: "
        "of mha_lessons, only what the exercise itself imports is handed out"
    )
    for line in ("import mha_lessons.grade", "from mha_lessons.grade.bank import BANK"):
        assert tried(f"{line}\n{WRONG}", tmp_path)["split_heads_values"].message == (
            "its answer cell stopped: ImportError: mha_lessons.grade cannot be imported by an "
            "answer"
        )


@NO_LANDLOCK
def test_an_answer_reads_and_writes_no_file_of_the_user(tmp_path):
    (tmp_path / "secret").write_text("42", encoding="utf-8")
    target = ROOT / "mha_lessons" / "grade" / "bank" / "planted.py"
    tries = [
        f"open({str(tmp_path / 'secret')!r}).read()",
        f"open({str(tmp_path / 'work' / 'a.ipynb')!r}, 'a').write('x')",
        f"open({str(target)!r}, 'w').write('x')",
        f"open({PACKAGE + '/grade/checks.py'!r}).read()",
        f"open({str(ROOT / 'solutions' / '02_split_heads.py')!r}).read()",
        f"os.remove({str(tmp_path / 'secret')!r})",
        f"os.symlink('/', {str(tmp_path / 'link')!r})",
        "open(os.path.join(np.__path__[0], 'planted.py'), 'w')",
        "os.listdir(os.path.dirname(os.getcwd()))",
    ]
    body = "".join(
        f"    try:\n        {line}\n        done.append({number})\n"
        "    except OSError:\n        pass\n"
        for number, line in enumerate(tries)
    )
    source = f"def split_heads(x, num_heads):\n    done = []\n{body}    raise KeyError(done)\n"
    try:
        assert "KeyError: []" in tried(source, tmp_path)["split_heads_values"].message
        assert not target.exists()
        # Each of them can be done where nothing keeps an answer from it.
        assert str(in_this_process(source.replace("os.remove", "os.stat"))).count(", ") > 6
    finally:
        target.unlink(missing_ok=True)
        Path(np.__path__[0], "planted.py").unlink(missing_ok=True)


def test_an_answer_may_use_a_folder_of_its_own(tmp_path):
    files = (
        "    import tempfile\n"
        "    with tempfile.NamedTemporaryFile() as file:\n        np.save(file, x)\n"
        "    np.save('x.npy', x)\n    x = np.load('x.npy')\n    if"
    )
    rows = tried(RIGHT.replace("    if", files, 1), tmp_path)
    assert {row.status for row in rows.values()} == {"pass"}


@NO_UNSHARE
def test_an_answer_has_no_network_and_sees_no_other_process(tmp_path):
    source = (
        "def split_heads(x, num_heads):\n"
        "    import socket\n"
        "    others = [p for p in os.listdir('/proc') if p.isdigit() and p != str(os.getpid())]\n"
        "    names = [name for _, name in socket.if_nameindex()]\n"
        "    raise KeyError(others, names)\n"
    )
    message = tried(source, tmp_path)["split_heads_values"].message
    assert "KeyError: ([], ['lo'])" in message


def test_a_report_is_written_by_the_grader_alone(tmp_path, capsys):
    target = tmp_path / "r.json"
    forged = f"open({str(target)!r}, 'w').write('forged')"
    source = f"try:\n    {forged}\nexcept OSError:\n    pass\n{WRONG}"
    path = save(content(split_heads=HEAD + source), tmp_path / "a.ipynb")
    assert command.main(["grade", str(path), "--isolate", "--json", str(target)]) == 1
    (found,) = json.loads(target.read_text(encoding="utf-8"))["submissions"]
    assert found["passed"] == 3 + len(FREE)


def test_what_a_system_lacks_is_said_once(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(confine, "unshare", list)
    monkeypatch.setattr(confine, "landlock", lambda: 0)
    paths = [save(content(), tmp_path / f"{name}.ipynb") for name in "ab"]
    command.main(["grade", *map(str, paths), "--isolate"])
    assert capsys.readouterr().err.splitlines() == [
        "mha: with less isolation. `unshare` is missing or not permitted: an answer can use the "
        "network.",
        "mha: with less isolation. Landlock is missing: an answer can read and write this user's "
        "files.",
    ]


# Whatever is handed in: the same verdicts as without --isolate, but for those named here.
OTHER = {
    "ended_process": {"split_heads": "crash", "parameter_count": "pass"},
    "endless_loop_that_cannot_be_interrupted": {"split_heads": "timeout"},
    "endless_loop_that_swallows_interrupts": {"split_heads": "timeout"},
    "forked_child_that_goes_on": {"split_heads": "pass"},
    "segmentation_fault": {"parameter_count": "crash"},
    "endless_print": {"split_heads": "blocked", "parameter_count": "pass"},
}


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """Return (isolated, plain) submissions of all cases."""
    plain = handed_in.graded(tmp_path_factory)
    isolated = handed_in.graded(tmp_path_factory, isolate=True)
    assert {name for name, (_, seconds) in isolated.items() if seconds > 40} == set()
    # This one's answer tells where its processes are, and a setting is not for it.
    names = set(plain) - {"starts_a_process_that_stays"}
    return {name: (isolated[name][0], plain[name][0]) for name in names}


def told(submission):
    return [(row.check, row.status, row.message, row.hint, row.mistake) for row in submission.rows]


def test_what_is_handed_in_gets_the_same_words_isolated(both):
    for name, (isolated, plain) in both.items():
        if name not in OTHER:
            assert told(isolated) == told(plain)
            assert isolated.notes == plain.notes


def test_after_a_crash_the_next_check_has_a_fresh_process(both):
    for name, expected in OTHER.items():
        for row in both[name][0].rows:
            answer = "split_heads" if row.check.startswith("split_heads") else "parameter_count"
            assert row.status == expected.get(answer, row.status)
            assert row.status != "not run"


def test_an_interrupted_cell_keeps_the_names_that_it_has_made(tmp_path):
    path = save(content(split_heads=RIGHT + "while True:\n    pass"), tmp_path / "a.ipynb")
    submission = grade(path, 2, isolate=True)
    assert submission.complete
    assert submission.notes == [
        "split_heads: its answer cell stopped: stopped after 2 s: is there a loop that never ends?"
    ]


@POSIX
@pytest.mark.parametrize("walls", [True, False])
def test_no_process_of_an_isolated_answer_stays(tmp_path, walls, request):
    if not walls:
        request.getfixturevalue("without_walls")
    # By its name, since an answer behind walls does not know its number outside.
    marks = [f"6{os.getpid()}{number}" for number in range(3)]
    started = (
        f"for own, mark in zip((0, 1), {marks[:2]}):\n"
        "    subprocess.Popen(['sleep', mark], start_new_session=own)\n"
        "if os.fork() == 0:\n"
        f"    os.setsid()\n    os.execve('/bin/sleep', ['sleep', {marks[2]!r}], {{}})\n"
    )
    assert passed(tried(started + RIGHT, tmp_path))
    assert [pid for pid in running(marks) if not ended(pid)] == []


def running(marks):
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if {mark.encode() for mark in marks} & set(words):
            yield entry.name


def test_answers_may_use_each_other_and_be_any_callable(tmp_path):
    made = content(
        split_heads="%matplotlib inline\n# ANSWER: split_heads\nfrom functools import partial\n"
        "calls = []\n"
        "class Split:\n"
        "    def __call__(self, axis, x, num_heads):\n"
        "        calls.append(check(num_heads, x.shape[-1]))\n"
        "        return np.moveaxis(x.reshape(*x.shape[:-1], num_heads, -1), axis, -3)\n"
        "split_heads = partial(Split(), -2)",
        parameter_count="# ANSWER: parameter_count\n"
        "def parameter_count(d_model, num_heads, bias=False):\n"
        "    assert num_heads > 0\n"
        "    heads = split_heads(np.zeros((1, d_model)), num_heads)\n"
        "    total = lambda: 4 * heads.size * (d_model + bias)\n"
        "    return total()",
    )
    position = made["cells"].index(cell(made, SPLIT_HEADS))
    made["cells"].insert(
        position,
        code_cell(
            "def check(num_heads, d_model):\n    if num_heads < 1 or d_model % num_heads:\n"
            "        raise ValueError('no')"
        ),
    )
    cell(made, COUNT)["metadata"] = {}
    submission = grade(save(made, tmp_path / "a.ipynb"), 20, isolate=True)
    assert [row for row in submission.rows if row.status != "pass"] == []


def test_a_cell_that_is_far_too_long_is_told_so(tmp_path):
    rows = tried(WRONG + "# " + "x" * 2_000_000, tmp_path)
    assert rows["split_heads_values"].message == (
        "its answer cell stopped: the cell is too long to be run: 2,000,123 characters"
    )


# The process itself, and what it may do to the one that asks.


@pytest.fixture
def answers():
    answers = Elsewhere()
    try:
        yield answers
    finally:
        answers.end()


def ended_here(answers):
    return answers.process is None or answers.process.ended


def replying(answers, how):
    """Define `f`, which writes to the pipe of the replies `how`."""
    find = (
        "import gc, json, os, struct\n"
        "import mha_answer.answer_side as side\n"
        "reply = next(f.reply for f in gc.get_objects() if type(f).__name__ == '_Sink')\n"
        "pipe = reply.__closure__[0].cell_contents\n"
        "assert isinstance(pipe, int)\n"
        "frame = lambda head, numbers=b'': struct.pack('>QQ', len(head), len(numbers)) + head"
        " + numbers\n"
    )
    error = answers.run("hostile", f"{find}def f():\n    {how}\n", 20)
    assert error is None, error
    return answers.look("f", 2)


@pytest.mark.parametrize(
    "how",
    [
        "os.write(pipe, b'garbage that is longer than a header')",
        "os.write(pipe, struct.pack('>QQ', 1 << 62, 0))",
        "os.write(pipe, struct.pack('>QQ', 0, 1 << 40))",
        "os.write(pipe, frame(b'5'))",
        "os.write(pipe, frame(b'{}'))",
        "os.write(pipe, frame(b'[' * 100_000))",
        "os.write(pipe, frame(json.dumps(['dict', []]).encode()))",
        """os.write(pipe, frame(b'["dict", [["raised", ["dict", []]]]]'))""",
        """os.write(pipe, frame(b'["dict", [["raised", 5], ["arguments", ["tuple", []]]]]'))""",
        "os.close(pipe)",
        "os._exit(0)",
        "os.abort()",
    ],
)
def test_what_is_no_reply_ends_the_process(answers, how):
    f = replying(answers, how)
    with pytest.raises(DiedError):
        f.call((), {})
    assert ended_here(answers)


@pytest.mark.parametrize(
    "how",
    [
        "os.write(pipe, struct.pack('>QQ', 60 << 20, 0))\n    while True: pass",
        "os.write(pipe, b'abc')\n    while True: pass",
        "os.fork() or os.setsid()\n    while True: pass",
        "import signal, time\n    signal.signal(2, signal.SIG_IGN)\n    time.sleep(60)",
    ],
)
@POSIX
def test_a_reply_that_never_comes_ends_the_process_in_time(answers, how):
    f = replying(answers, how)
    start = time.monotonic()
    with pytest.raises(HungError):
        f.call((), {})
    assert ended_here(answers)
    assert time.monotonic() - start < 20


def test_an_endless_reply_fills_no_memory(answers):
    f = replying(
        answers,
        "os.write(pipe, struct.pack('>QQ', 60 << 20, 60 << 20))\n"
        "    while True: os.write(pipe, b' ' * 65536)",
    )
    with pytest.raises((HungError, DiedError)):
        f.call((), {})
    assert ended_here(answers)
    assert not answers.process.reader.is_alive()


@POSIX
def test_arguments_that_are_not_read_stop_nobody(answers):
    answers.run("f", "def f(x): return 1", 20)
    f = answers.look("f", 2)
    os.killpg(answers.process.pid, signal.SIGSTOP)
    with pytest.raises(HungError):
        f.call((np.zeros(4_000_000),), {})
    assert ended_here(answers)


def test_a_fresh_process_has_the_names_of_all_cells_but_those_that_ended_it(answers):
    assert answers.run("a", "a = 1", 9) is None
    with pytest.raises(DiedError):
        answers.run("b", "import os\nb = 1\nos._exit(1)", 9)
    assert answers.run("c", "c = a + 1", 9) is None
    assert answers.look("c", 9) == 2
    with pytest.raises(NameError, match="'b' is not defined"):
        answers.look("b", 9)


def test_arguments_are_given_back_as_they_were_left(answers):
    answers.run("f", "def f(x, n):\n    x[0] = n\n    return None", 9)
    given = np.zeros(3)
    outcome = answers.look("f", 9).call((given, 5), {})
    assert outcome.value is None
    assert outcome.arguments[0].tolist() == [5, 0, 0]
    assert given.tolist() == [0, 0, 0]


def test_the_answers_process_gets_no_setting_of_the_user(answers, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "42")
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    answers.run("f", "import os, sys\nfound = sorted(os.environ), sys.flags.isolated", 9)
    names, isolated = answers.look("found", 9)
    own = {"HOME", "TMPDIR", "TMP", "TEMP", "IPYTHONDIR", "OMP_NUM_THREADS", "MPLBACKEND"}
    assert set(names) <= own | set(answer_process.INHERITED)
    assert isolated == 1


@NO_LANDLOCK
def test_where_the_package_is_installed_only_its_grader_is_hidden(tmp_path):
    site = tmp_path / "site-packages"
    shutil.copytree(ROOT / "mha_lessons", site / "mha_lessons")
    (site / "other.py").write_text("found = 42", encoding="utf-8")
    hidden = str(site / "mha_lessons" / "grade" / "checks.py")
    source = (
        "import other, mha_lessons\nassert other.found == 42\n"
        f"try:\n    open({hidden!r})\nexcept PermissionError:\n    pass\n"
        "else:\n    raise RuntimeError('read')\n"
    )
    path = save(content(split_heads=HEAD + source + RIGHT), tmp_path / "work" / "a.ipynb")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "mha_lessons.grade", str(path), "--isolate", "--json=-"],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(site)},
        capture_output=True,
        encoding="utf-8",
        timeout=200,
    )
    (submission,) = json.loads(done.stdout)["submissions"]
    assert (submission["notes"], submission["passed"], done.returncode) == ([], 8, 0)
