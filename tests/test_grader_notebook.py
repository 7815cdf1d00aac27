"""A notebook is read however it was saved, and recognised whatever it is called."""

import json
import os
import re

import pytest
from learners import COUNT, SPLIT_HEADS, cell, code_cell, content, save

from mha_lessons.grade.notebook import (
    NotGradableError,
    exercises,
    for_learners,
    parse,
    read,
    recognise,
    reference,
)
from mha_lessons.grade.splice import answers, checks, splice


def answer_of(path, name="split_heads"):
    notebook = read(path)
    return next(cell.source for cell in notebook.code if cell.answer == name)


def spliced(made):
    notebook, missing, notes = splice(parse(made), reference("02_split_heads"))
    return {cell["id"]: cell["source"] for cell in notebook["cells"]}, missing, notes


@pytest.mark.parametrize("form", [{}, {"bom": True}, {"newline": "\r\n"}])
def test_a_byte_order_mark_and_crlf_are_tolerated(tmp_path, form):
    source = "# ANSWER: split_heads\r\ndef split_heads(x, num_heads):\r\n    return 'é'\r\n"
    path = save(content(split_heads=source), tmp_path / "ünïcode name.ipynb", **form)
    assert answer_of(path) == source.replace("\r\n", "\n")


def test_source_may_be_a_list_of_lines(tmp_path):
    path = save(content(split_heads=["# ANSWER: split_heads\n", "x = 1"]), tmp_path / "a.ipynb")
    assert answer_of(path) == "# ANSWER: split_heads\nx = 1"


def test_format_3_is_read(tmp_path):
    cells = [
        {"cell_type": "code", "input": cell["source"], "language": "python", "outputs": []}
        for cell in content()["cells"]
        if cell["cell_type"] == "code"
    ]
    old = {"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""}}
    path = save(old | {"worksheets": [{"cells": cells}]}, tmp_path / "old.ipynb")
    assert recognise(read(path)) == "02_split_heads"
    assert "np.swapaxes" in answer_of(path)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", r"must be JSON, and f\.ipynb is broken, line 1\. Open it in Jupyter and save"),
        (b'{"cells": [}', r"must be JSON, and f\.ipynb is broken, line 1\."),
        (b"[" * 100_000, r"must be JSON, and f\.ipynb is broken"),
        (b"\xff\xfe{\x00}\x00", r"must be UTF-8 text, and f\.ipynb is not\. Save it again"),
        (b'{"a": 1,\n<<<<<<< mine\n"b": 2}', r"has merge markers \(<<<<<<<\) in it\. Keep one"),
        (b"[]", r"is JSON, but not a notebook: it has no list of cells\. Give a file"),
        (b"{}", "is JSON, but not a notebook"),
        (b'{"cells": 5}', "is JSON, but not a notebook"),
        (b'{"cells": [5]}', "is JSON, but not a notebook"),
        (b'{"worksheets": 5}', "is JSON, but not a notebook"),
        (b'{"worksheets": [{}]}', "is JSON, but not a notebook"),
    ],
)
def test_a_file_that_is_no_notebook_gets_one_sentence(tmp_path, data, words):
    path = tmp_path / "f.ipynb"
    path.write_bytes(data)
    with pytest.raises(NotGradableError) as caught:
        read(path)
    assert re.search(words, str(caught.value))
    assert "\n" not in str(caught.value)


def test_a_folder_is_not_read_as_a_file(tmp_path):
    with pytest.raises(NotGradableError, match=r"cannot be read: .*\. Check the path\."):
        read(tmp_path)


@pytest.mark.parametrize(
    "odd",
    [
        {"cell_type": "code"},
        {"cell_type": 5, "source": {"a": 1}, "id": 7, "metadata": None},
        {"source": [1, "# ANSWER: x"], "cell_type": "code", "metadata": {"id": []}},
    ],
)
def test_odd_cells_are_no_obstacle(odd):
    made = content()
    made["cells"].insert(0, odd)
    assert recognise(parse(made)) == "02_split_heads"


@pytest.mark.parametrize("metadata", [None, {}, {"mha": 5}, {"mha": {"exercise": ["x"]}}])
def test_the_exercise_is_recognised_without_metadata(metadata):
    made = content("06_traps")
    made["metadata"] = metadata
    assert recognise(parse(made)) == "06_traps"
    for each in made["cells"]:  # as in Colab, or with every mark lost
        each["metadata"] = {"id": each.pop("id")}
        each["source"] = each["source"].replace("# ANSWER:", "#")
    assert recognise(parse(made)) == "06_traps"


def test_metadata_win_over_everything_else():
    made = content("06_traps")
    made["metadata"]["mha"]["exercise"] = "02_split_heads"
    assert recognise(parse(made)) == "02_split_heads"


def test_a_file_of_another_kind_is_no_notebook(tmp_path):
    for data in (b"mine", b"\xff\xfe", b"[]"):
        (tmp_path / "notes.txt").write_bytes(data)
        with pytest.raises(NotGradableError, match=r"notes\.txt is no notebook\. Give a file"):
            read(tmp_path / "notes.txt")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs")
def test_a_fifo_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "x.ipynb")
    with pytest.raises(NotGradableError, match="cannot be read: it is a folder or a device"):
        read(tmp_path / "x.ipynb")


def test_a_notebook_without_traces_is_no_exercise():
    assert recognise(parse({"cells": [code_cell("x = 1", id="a")]})) is None


def test_answers_are_found_by_mark_then_by_id_then_by_name():
    made = content()
    by_mark, by_id = cell(made, SPLIT_HEADS), cell(made, COUNT)
    by_mark["id"] = by_id["id"]  # ids may be repeated
    by_id["source"] = "parameter_count = lambda d_model, num_heads, bias=False: 1"
    sources, missing, _ = spliced(made)
    assert sources[SPLIT_HEADS] == by_mark["source"]
    assert sources[COUNT] == by_id["source"]
    del by_id["id"]
    sources, missing, _ = spliced(made)
    assert sources[COUNT] == by_id["source"]
    assert missing == {}


def test_a_written_answer_counts_though_a_stub_stands_behind_it():
    made = content()
    stub = cell(content(folder="exercises"), SPLIT_HEADS)
    made["cells"].append(stub)
    sources, _, notes = spliced(made)
    assert sources[SPLIT_HEADS] == cell(made, SPLIT_HEADS)["source"]
    assert notes == []


def test_nothing_of_the_checks_comes_from_the_learner():
    made = content()
    for each in made["cells"]:
        if each.get("id", "").startswith("02-check"):
            each["source"] = "print('mine')"
    sources, _, _ = spliced(made)
    called = [
        source.splitlines()[-1]
        for identity, source in sources.items()
        if identity.startswith("02-check")
    ]
    expected = checks(reference("02_split_heads"))
    assert called == [f"_mha_check.{check}({answer})" for _, check, answer in expected]
    assert not any("mine" in source for source in sources.values())


@pytest.mark.parametrize("name", exercises())
def test_the_reference_is_whole(name):
    content_ = reference(name)
    assert [a for _, a in answers(content_)] == list(dict.fromkeys(a for *_, a in checks(content_)))
    by_id = {cell["id"]: cell for cell in content_["cells"]}
    assert len(by_id) == len(content_["cells"])
    for identity, check, _ in checks(content_):
        # nbval compares nothing for a cell without a count and an output.
        assert by_id[identity]["execution_count"] > 0
        assert by_id[identity]["outputs"][0]["text"] == [f"ok: {check}\n"]
    assert not any("mha-lessons @" in "".join(cell["source"]) for cell in content_["cells"])


def test_learners_get_no_outputs():
    made = for_learners(reference("06_traps"))
    code = [cell for cell in made["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert "ok: " not in json.dumps(made)
