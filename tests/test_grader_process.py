"""What an answer does to the machinery that grades it earns nothing, and harms nobody else."""

import io
import json
import os
import subprocess
import sys
import time

import pytest
from learners import ROOT, content, save

from mha_lessons.grade import batch, command, process, run, signed
from mha_lessons.grade.environment import environment_of
from mha_lessons.grade.run import grade
from mha_lessons.grade.splice import checks

POSIX = pytest.mark.skipif(not hasattr(os, "killpg"), reason="there are no process groups")
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")

CELLS = [identity for identity, _, _ in checks(content())]
WRONG = "# ANSWER: split_heads\ndef split_heads(x, num_heads):\n    return x\n"
STOPPED = ("not run", "grading was stopped before this check")


def line(**changed):
    fields = {"status": "pass", "message": "", "hint": "", "mistake": None, "seconds": 0.1}
    return {"cell": CELLS[0], **fields, **changed}


KEY = b"a key"


def written(*lines, key=KEY):
    stream = io.StringIO()
    for each in lines:
        text = json.dumps(each)
        stream.write(f"{signed._signature(text.encode(), key)} {text}\n")
    return stream.getvalue().encode()


def test_a_verdict_is_read_as_it_was_written():
    kernel, verdicts = process.read(written({"kernel": 77}, line(seconds=2)), CELLS, KEY)
    fields = line(seconds=2)
    assert kernel == 77
    assert verdicts == {fields.pop("cell"): fields}


def test_the_first_verdict_on_a_cell_counts():
    lines = written({"kernel": 77}, line(status="fail"), line())
    assert process.read(lines, CELLS, KEY)[1][CELLS[0]]["status"] == "fail"


@pytest.mark.parametrize(
    "bad",
    [
        5,
        None,
        [],
        "pass",
        {"kernel": 5},
        {"cell": CELLS[0], "status": "pass"},
        line(bogus=1),
        line(cell="no such cell"),
        line(cell=[]),
        line(status="passed"),
        line(status=["pass"]),
        line(message=None),
        line(hint=5),
        line(mistake=5),
        line(seconds="0"),
        line(seconds=True),
        line(seconds=-1),
        line(seconds=float("nan")),
        line(seconds=float("inf")),
    ],
)
def test_a_line_that_is_no_verdict_is_left_out_and_the_others_stay(bad):
    _, verdicts = process.read(written({"kernel": 77}, bad, line(cell=CELLS[1])), CELLS, KEY)
    assert set(verdicts) == {CELLS[1]}


@pytest.mark.parametrize("bad", [b"", b"not json", b"\xff\xfe", b"[" * 100_000, b'{"cell": "'])
def test_bytes_that_are_no_json_are_left_out(bad):
    text = b"\n".join([written({"kernel": 77}), bad, written(line()), bad])
    assert set(process.read(text, CELLS, KEY)[1]) == {CELLS[0]}


@pytest.mark.parametrize("kernel", [-1, 0, 1, True, 7.0, "7", None, [7], {}])
def test_a_kernel_is_a_process_that_may_be_ended(kernel):
    assert process.read(written({"kernel": kernel}), CELLS, KEY)[0] is None


def test_what_is_not_signed_with_the_key_is_left_out():
    forged = written(line(), key=b"another key")
    plain = b"0" * 64 + b" " + json.dumps(line()).encode() + b"\n"
    moved = written(line()).replace(CELLS[0].encode(), CELLS[1].encode())
    text = written({"kernel": 77}) + forged + plain + moved
    assert process.read(text, CELLS, KEY) == (77, {})


def test_the_kernel_is_named_before_any_answer_ran():
    assert process.read(written(line(), {"kernel": 77}), CELLS, KEY)[0] is None
    assert process.read(written({"kernel": 77}, {"kernel": 99}), CELLS, KEY)[0] == 77


FORGED = f"""\
import json, os, signal
lines = "".join(
    json.dumps({line()!r} | {{"cell": cell}}) + chr(10) for cell in {CELLS!r}
)
for name in ["verdicts.jsonl", "log", *os.listdir(".")]:
    try:
        open(name, "a").write(lines)
    except OSError:
        pass
for number in range(1, 64):
    try:
        if number > 2 and os.path.realpath(f"/proc/self/fd/{{number}}").startswith("/proc"):
            continue  # a socket of the kernel: writing there only breaks this process
        os.write(number, lines.encode())
    except OSError:
        pass
"""


@pytest.mark.parametrize("ending", ["", "os.kill(os.getppid(), signal.SIGKILL)\n"])
@POSIX
def test_forged_verdicts_pass_nothing(tmp_path, ending):
    made = content(split_heads=FORGED + ending + WRONG, parameter_count=FORGED)
    submission = grade(save(made, tmp_path / "a.ipynb"), timeout=4)
    passed = {row.check for row in submission.rows if row.status == "pass"}
    # Without the parent's end, returning x as it is keeps the input as it was.
    assert passed == (set() if ending else {"split_heads_keeps_its_input"})


@POSIX
def test_no_foreign_process_is_ended(tmp_path):
    foreign = subprocess.Popen(["sleep", "600"], start_new_session=True)
    try:
        forged = f'open("verdicts.jsonl", "a").write(\'{{"kernel": {foreign.pid}}}\\n\')\n'
        grade(save(content(split_heads=forged + WRONG), tmp_path / "a.ipynb"), timeout=4)
        assert foreign.poll() is None
    finally:
        foreign.kill()
        foreign.wait()


def test_the_answers_have_no_way_to_the_worker_s_output(tmp_path):
    # The worker's own standard output is the pipe; a child of it must have another one.
    code = (
        "import os, subprocess, sys\n"
        "from mha_lessons.grade import worker\n"
        "worker.pytest.main = lambda arguments, plugins: subprocess.call(\n"
        "    [sys.executable, '-c', \"import os\\nfor n in range(3, 99):\\n"
        "    try: os.write(n, b'forged')\\n    except OSError: pass\\nprint('forged')\"])\n"
        "sys.stdin = open(os.devnull)\nworker.main([])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, close_fds=False)
    assert done.stdout == b""
    assert b"forged" in done.stderr


@LINUX
def test_a_run_that_is_given_up_is_ended_with_all_that_it_started(tmp_path):
    mark = {"JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime")}
    sleep = ["sleep", "600"]
    given_up = subprocess.Popen(sleep, env=mark, stdout=subprocess.PIPE)
    detached = subprocess.Popen(sleep, env=mark, start_new_session=True)
    other = subprocess.Popen(sleep, env={"JUPYTER_RUNTIME_DIR": f"{tmp_path}2/runtime"})
    try:
        process._end(given_up, None, tmp_path)
        assert (given_up.poll(), detached.wait(5), other.poll()) == (-9, -9, None)
    finally:
        other.kill()
        other.wait()


def test_a_run_that_does_not_start_is_tried_twice_and_passes_nothing(tmp_path, monkeypatch):
    tries = []

    def failing(timeout):
        tries.append(timeout)
        return [sys.executable, "-c", "raise SystemExit('no nbval here')"]

    monkeypatch.setattr(process, "_command", failing)
    submission = grade(save(content(), tmp_path / "a.ipynb"), timeout=2)
    assert [(row.status, row.message) for row in submission.rows] == [STOPPED] * 8
    assert submission.notes == [
        "The notebook's Python process did not start, in two tries. Close other programs and "
        "grade again; if it stays so, install ipykernel again. no nbval here"
    ]
    assert len(tries) == 2


def test_a_run_that_starts_at_the_second_try_is_graded(tmp_path, monkeypatch):
    tries = [None]

    def second(*arguments):
        return (tries.pop(), "") if tries else process.run(*arguments)

    monkeypatch.setattr(run, "run", second)
    assert grade(save(content(), tmp_path / "a.ipynb"), timeout=4).complete


def test_the_learner_s_folder_is_not_on_the_path(tmp_path, monkeypatch):
    path = os.pathsep.join([str(tmp_path), "relative", "", str(tmp_path / "library")])
    monkeypatch.setenv("PYTHONPATH", path)
    found = environment_of(tmp_path, beside=tmp_path)["PYTHONPATH"]
    assert found == os.pathsep.join([str(tmp_path / "library"), str(ROOT)])


def test_nothing_is_left_in_the_temporary_folder(tmp_path, monkeypatch):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(process.tempfile, "tempdir", str(temporary))
    monkeypatch.setenv("TMPDIR", str(temporary))
    made = content(split_heads=WRONG + "import os, tempfile\ntempfile.mkstemp()\nos._exit(0)")
    grade(save(made, tmp_path / "a.ipynb"), timeout=4)
    time.sleep(0.2)
    assert list(temporary.iterdir()) == []


def test_a_crash_of_the_grader_is_a_row_and_the_batch_goes_on(tmp_path, monkeypatch, capsys):
    for name in "abc":
        save(content(), tmp_path / "class" / f"{name}.ipynb")

    def crashing(path, *how):
        if path.stem == "b":
            raise KeyError("oops")
        return command.report.Submission(str(path), "02_split_heads", [])

    monkeypatch.setattr(batch, "grade", crashing)
    target = tmp_path / "r.json"
    assert command.main(["grade", str(tmp_path / "class"), "--json", str(target)]) == 1
    found = json.loads(target.read_text(encoding="utf-8"))["submissions"]
    assert [submission["exercise"] for submission in found] == [
        "02_split_heads",
        None,
        "02_split_heads",
    ]
    assert found[1]["rows"][0]["message"].endswith("Please report this: KeyError: 'oops'")


def test_reports_are_written_when_a_batch_is_broken_off(tmp_path, monkeypatch, capsys):
    for name in "ab":
        save(content(), tmp_path / "class" / f"{name}.ipynb")

    def broken_off(path, *how):
        if path.stem == "b":
            raise KeyboardInterrupt
        return command.report.Submission(str(path), "02_split_heads", [])

    monkeypatch.setattr(batch, "grade", broken_off)
    target = tmp_path / "r.csv"
    command.main(["grade", str(tmp_path / "class"), "--csv", str(target)])
    assert target.read_text(encoding="utf-8").startswith("file,")
