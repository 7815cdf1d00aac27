"""`mha doctor` finds the usual broken set-ups, and says the remedy."""

import os
import shutil
import sys
from importlib import metadata
from pathlib import Path

import pytest

import mha_lessons
from mha_lessons.grade import doctor
from mha_lessons.grade import installed as software
from mha_lessons.grade.doctor import Finding
from mha_lessons.grade.notebook import NotGradableError


def one(findings):
    (finding,) = findings
    return finding


@pytest.fixture
def installed(monkeypatch):
    """Pretend that packages are installed in other versions, or, with None, not at all."""
    real = metadata.version

    def pretend(**versions):
        def version(name):
            if name not in versions:
                return real(name)
            if versions[name] is None:
                raise metadata.PackageNotFoundError(name)
            return versions[name]

        monkeypatch.setattr(metadata, "version", version)

    return pretend


def test_a_set_up_that_works_has_nothing_that_fails(mha, remembered, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, out, err = mha("doctor")
    assert (status, err) == (0, "")
    assert out.endswith("\nNothing fails.\n")
    marks = {line[:4].strip() for line in out.splitlines() if line[:1].strip()}
    assert marks <= {"ok", "warn", "Noth"}
    for words in [
        f"ok    Python {sys.version.split()[0]} ({sys.executable}); supported: >=3.11",
        f"ok    mha_lessons {mha_lessons.__version__} in ",
        f"ok    numpy {metadata.version('numpy')}; supported: >=2.0",
        f"ok    nbval {metadata.version('nbval')}; supported: >=0.11",
        f"ok    ipykernel {metadata.version('ipykernel')}",
        "GPU: ",
        "ok    Jupyter's kernel python3 starts ",
        "ok    A notebook's Python process starts, and answers are checked in it",
        "ok    No file in this folder takes the place of a module",
        f"ok    Your progress is remembered in {remembered}",
    ]:
        assert words in out


def test_a_failure_gives_status_1_and_a_remedy_below(mha, monkeypatch):
    found = [
        Finding("ok", "good"),
        Finding("fail", "bad", "Mend it."),
        Finding("warn", "hm", "Do."),
    ]
    monkeypatch.setattr(doctor, "findings", lambda: iter(found))
    status, out, _ = mha("doctor")
    assert status == 1
    assert out == (
        "ok    good\nfail  bad\n      Mend it.\nwarn  hm\n      Do.\n"
        "\nSomething fails: do what its second line says.\n"
    )


def test_only_a_terminal_gets_colours_and_only_without_no_color(mha, monkeypatch):
    monkeypatch.setattr(doctor, "findings", lambda: iter([Finding("fail", "bad", "Mend it.")]))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert mha("doctor")[1].startswith("\x1b[31mfail\x1b[0m  bad")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in mha("doctor")[1]


def test_a_python_that_is_too_old_fails(monkeypatch):
    monkeypatch.setattr(software.platform, "python_version", lambda: "3.10.4")
    finding = software.python()
    assert finding.status == "fail"
    assert finding.words.startswith("Python 3.10.4 (")
    assert finding.remedy == "Install a supported Python."


def test_a_package_out_of_range_or_missing_fails_with_the_command_that_mends_it(installed):
    installed(numpy="1.26.4", nbval=None, ipykernel=None)
    found = {f.words.split()[0]: f for f in software.packages() if f.status != "ok"}
    assert {name: f.status for name, f in found.items()} == {
        "numpy": "fail",
        "nbval": "fail",
        "ipykernel": "fail",
    }
    assert found["numpy"].words == "numpy 1.26.4; supported: >=2.0"
    assert found["numpy"].remedy == f'Run: "{sys.executable}" -m pip install "numpy>=2.0"'
    assert found["nbval"].words == "nbval is missing; supported: >=0.11"
    assert found["ipykernel"].remedy.endswith('-m pip install "ipykernel"')


def test_a_package_that_is_not_installed_or_mixed_is_warned_of(installed):
    installed(**{"mha-lessons": None})
    finding = software.package()
    assert finding.status == "warn"
    assert "not installed" in finding.words
    installed(**{"mha-lessons": "0.0.1"})
    finding = software.package()
    assert "and installed is 0.0.1" in finding.words
    assert finding.remedy.startswith("Two versions are mixed.")


def test_torch_is_wanted_by_no_exercise_and_must_work_where_it_is(installed, monkeypatch):
    installed(torch=None)
    assert one(software.torch()).words == "torch is not installed; no exercise needs it"
    installed(torch="2.1.0")
    said = "RuntimeError: Numpy is not available"
    monkeypatch.setattr(software, "python_runs", lambda *_: (False, said))
    version, finding = software.torch()
    assert (version.status, version.words) == ("fail", "torch 2.1.0; supported: >=2.5")
    assert (finding.status, finding.words) == ("fail", f"torch cannot be used: {said}")
    assert finding.remedy.endswith("-m pip install --force-reinstall torch")


@pytest.mark.parametrize(
    ("said", "driver", "status", "words"),
    [
        ('["H200", true]', True, "ok", "GPU: H200"),
        ("[false, false]", False, "ok", "GPU: none; everything in the course runs without"),
        ("[false, false]", True, "warn", "torch finds no device: perhaps it was built without"),
        ("[false, true]", True, "warn", "torch finds no device: perhaps the driver is too old"),
    ],
)
def test_a_gpu_that_torch_does_not_find_is_warned_of(monkeypatch, said, driver, status, words):
    monkeypatch.setattr(software, "python_runs", lambda *_: (True, said))
    monkeypatch.setattr(shutil, "which", lambda _: "there" if driver else None)
    finding = list(software.torch())[-1]
    assert finding.status == status
    assert words in finding.words
    assert bool(finding.remedy) == (status == "warn")


def test_triton_s_interpreter_is_tried_and_not_only_imported(installed, monkeypatch):
    assert "kernel.attention(" in software.TRITON
    installed(triton=None)
    assert software.triton().words.startswith("Triton is not installed;")
    installed(triton="3.2.0", numpy="2.4.6", torch="2.5")
    monkeypatch.setattr(software, "python_runs", lambda *_, **__: (False, "TypeError: only length"))
    finding = software.triton()
    assert finding.status == "warn"
    assert finding.words == (
        "Triton 3.2.0: its interpreter fails with NumPy 2.4.6: TypeError: only length"
    )
    assert finding.remedy.endswith("-m pip install -U triton")


def test_triton_s_interpreter_runs_with_our_pins():
    pytest.importorskip("triton")
    finding = software.triton()
    assert finding.status == "ok", finding.words
    assert finding.words.endswith("its interpreter runs")


def test_a_kernel_of_another_python_is_warned_of(monkeypatch, tmp_path):
    other = tmp_path / "python"
    other.touch()
    for said, status, words in [
        (f'"{other.as_posix()}"', "warn", f"and `mha` runs in {sys.executable}: another Python"),
        (f'"{(tmp_path / "gone" / "python").as_posix()}"', "warn", ", which is not there"),
        ('"python"', "ok", "starts python"),
    ]:
        monkeypatch.setattr(software, "python_runs", lambda _, said=said: (True, said))
        finding = software.jupyter()
        assert (finding.status, words in finding.words) == (status, True)
        assert ("-m ipykernel install --sys-prefix" in finding.remedy) == (status == "warn")
    monkeypatch.setattr(software, "python_runs", lambda _: (False, "NoSuchKernel: python3"))
    finding = software.jupyter()
    assert (finding.status, finding.words) == (
        "fail",
        "Jupyter's kernel python3: NoSuchKernel: python3",
    )


def test_a_temporary_folder_must_be_writable_and_have_room(monkeypatch, tmp_path):
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=2e6))
    finding = doctor._temporary_folder()
    assert finding.status == "warn"
    assert "0.0 GB are free" in finding.words
    monkeypatch.setattr(doctor.tempfile, "gettempdir", lambda: str(tmp_path / "gone"))
    finding = doctor._temporary_folder()
    assert finding.status == "fail"
    assert "The temporary folder cannot be written: No such file" in finding.words
    assert "set TMPDIR (on Windows: TEMP)" in finding.remedy


def test_a_grading_that_does_not_work_fails(monkeypatch):
    monkeypatch.setattr(doctor, "run", lambda *_: (None, "No module named ipykernel"))
    finding = doctor._grading()
    assert finding.status == "fail"
    assert finding.words.endswith("does not start: No module named ipykernel")
    monkeypatch.setattr(doctor, "run", lambda *_: ({}, ""))
    assert doctor._grading().words == "Checks do not run: no verdict came"

    def full(*_):
        raise NotGradableError("The temporary folder cannot be written (No space).")

    monkeypatch.setattr(doctor, "run", full)
    assert doctor._grading().remedy == "The temporary folder cannot be written (No space)."


def test_a_file_that_shadows_a_module_is_found(tmp_path):
    for name in ("numpy.py", "random.py", "answers.py", "torch.ipynb", "json"):
        (tmp_path / name).touch()
    (tmp_path / "torch").mkdir()  # a folder alone is no module in the way
    (tmp_path / "matplotlib").mkdir()
    (tmp_path / "matplotlib" / "__init__.py").touch()
    finding = doctor._shadows(tmp_path)
    assert finding.status == "warn"
    assert f"In {tmp_path}, matplotlib, numpy.py, random.py would take the place" in finding.words
    assert "Rename it" in finding.remedy
    assert doctor._shadows(doctor.PACKAGE_HOME).status == "ok"  # our own folder


def test_another_copy_of_the_package_on_the_path_is_found(tmp_path):
    (tmp_path / "mha_lessons").mkdir()
    assert doctor._others([*sys.path, str(tmp_path)]).status == "ok"
    (tmp_path / "mha_lessons" / "__init__.py").touch()
    finding = doctor._others([*sys.path, str(tmp_path)])
    assert finding.status == "warn"
    assert str(tmp_path / "mha_lessons") in finding.words
    assert "-m pip uninstall mha-lessons" in finding.remedy


def test_progress_that_cannot_be_kept_is_warned_of(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("MHA_STATE", str(tmp_path / "file" / "progress.json"))
    finding = doctor._memory()
    assert finding.status == "warn"
    assert "cannot be written" in finding.words
    assert "Grading works without." in finding.remedy


def test_a_python_that_hangs_dies_or_fails_is_told_apart(monkeypatch):
    assert software.python_runs("print(1); print(2)") == (True, "2")
    assert software.python_runs("raise SystemExit('no')") == (False, "no")
    if hasattr(os, "kill") and sys.platform != "win32":
        assert software.python_runs("import os; os.kill(os.getpid(), 9)") == (
            False,
            "it was ended by signal 9",
        )
    monkeypatch.setattr(software, "PATIENCE", 0.2)
    assert software.python_runs("import time; time.sleep(60)") == (
        False,
        "it did not end within 0.2 s",
    )


def test_the_package_itself_is_found_when_started_elsewhere(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    done, said = software.python_runs("import mha_lessons; print(mha_lessons.__file__)")
    assert done
    assert Path(said) == Path(mha_lessons.__file__)
