"""The book's kill matrix is what happens, and the page is made of it."""

import json
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from built_book import ROOT, site

from mha_lessons.grade import kill_matrix
from mha_lessons.grade.bank import BANK
from mha_lessons.grade.checks import CheckFailed, check

CHECKS = kill_matrix.all_checks()


def test_every_check_that_was_written_is_called_by_its_exercise_and_is_there():
    modules = {sys.modules[check.__module__] for check in CHECKS.values()}
    files = ROOT.glob("mha_lessons/grade/exercises/[!_]*.py")
    assert {Path(module.__file__) for module in modules} == set(files)
    written = {
        name for module in modules for name, f in vars(module).items() if hasattr(f, "answer")
    }
    assert set(CHECKS) == written
    assert next(iter(CHECKS)) == "softmax_values"  # as the course goes


@pytest.mark.parametrize("answer", ["split_heads", "traps_1_to_5"])
def test_each_row_is_rejected_and_named_by_its_check(answer):
    found = kill_matrix.kills(answer, CHECKS)
    assert [kill.row for kill in found] == [row for row in BANK.values() if row.answer == answer]
    for kill in found:
        assert kill.row.check in kill.names
        assert set(kill.names) <= set(kill.rejects)


def test_a_check_that_accepts_or_names_something_else_is_told_apart():
    @check("split_heads")
    def accepts(answer):
        pass

    @check("split_heads")
    def rejects(answer):
        raise CheckFailed("no", "", "split_heads.another")

    @check("split_heads")
    def names(answer):
        answer.fail_as("tokens_mixed")

    rivals = {"accepts": accepts, "rejects": rejects, "names": names}
    found = kill_matrix.kills("split_heads", rivals | {"of_another": CHECKS["T1"]})
    (kill,) = [kill for kill in found if kill.row.id == "split_heads.tokens_mixed"]
    assert (kill.rejects, kill.names) == (("rejects", "names"), ("names",))


def test_the_matrix_is_computed_again_when_the_grader_changes(tmp_path, monkeypatch):
    sys.path.insert(0, str(ROOT / "book" / "_ext"))
    from mha_book import kill_matrix as directive

    calls = []
    few = {"split_heads_values": CHECKS["split_heads_values"]}
    monkeypatch.setattr(kill_matrix, "all_checks", lambda: calls.append(1) or few)
    source = tmp_path / "check.py"
    source.write_text("one", encoding="utf-8")
    monkeypatch.setattr(directive, "sources", lambda: [source])
    kept = tmp_path / "build" / "kill_matrix.json"
    first = directive.outcomes(kept)
    assert first[0]["id"].startswith("split_heads.")
    assert json.loads(json.dumps(first)) == directive.outcomes(kept)
    assert len(calls) == 1
    source.write_text("two", encoding="utf-8")
    directive.outcomes(kept)
    assert len(calls) == 2


class Entries(HTMLParser):
    """The entries of the page's lists, as text."""

    def __init__(self, html):
        super().__init__()
        self.terms, self.texts, self.inside = [], [], None
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        if tag in ("dt", "dd"):
            self.inside = self.terms if tag == "dt" else self.texts
            self.inside.append("")

    def handle_endtag(self, tag):
        if tag in ("dt", "dd"):
            self.inside = None

    def handle_data(self, data):
        if self.inside is not None:
            self.inside[-1] += data


def test_the_page_holds_every_wrong_answer_and_the_check_that_names_it():
    page = (site() / "book" / "kill_matrix.html").read_text(encoding="utf-8")
    page = page.replace("\u2019", "'")
    entries = Entries(page)
    shown = list(zip(entries.terms, entries.texts, strict=True))
    assert len(shown) == len(BANK)
    for row in BANK.values():
        term = f"{row.id.split('.', 1)[1]}: {row.says}"
        texts = [text.strip() for t, text in shown if t == term]
        named = [text.split(";")[0].removeprefix("named by ") for text in texts]
        assert row.check in ", ".join(named).split(", ")
    assert f"{len(BANK)} wrong answers, {len(CHECKS)} checks." in page
