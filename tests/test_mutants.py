"""The laws can fail: each mutant of the library breaks those that its line names."""

import sys

import ladder
import laws
import mutants
import numpy as np
import pytest
from mutants import MUTANTS

# T < S and T > S, one head per group and several, with and without a shared key and value head.
CASES = [
    laws.Case(2, 2, 3, T=3, S=5, d_k=4, d_v=7, d_model=6, seed=0),
    laws.Case(3, 1, 2, T=5, S=2, d_k=3, d_v=4, d_model=7, seed=1),
    laws.Case(2, 3, 1, T=4, S=7, d_k=2, d_v=3, d_model=5, seed=2),
]
KIND_OF = {name: kind for kind in laws.LAWS for name in laws.LAWS[kind]}


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """Return a function that imports a changed copy of the library."""
    monkeypatch.syspath_prepend(tmp_path)
    name = "mutant"

    def load(*changes):
        mutants.write_copy(tmp_path, name, changes)
        return ladder.load(name)

    yield load
    for module in [module for module in sys.modules if module.split(".")[0] == name]:
        del sys.modules[module]


def breaks(law, subject):
    """Say whether the law fails; a mutant that stops with another error is no wrong answer."""
    for case in CASES:
        try:
            with np.errstate(all="ignore"):  # a mutant may overflow on its way to a wrong answer
                law(subject, case)
        except AssertionError:
            return True
    return False


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.name for mutant in MUTANTS])
def test_the_laws_notice(mutant, copy):
    library = copy((mutant.file, mutant.old, mutant.new))
    for name in mutant.killed_by:
        subject = ladder.SUBJECTS[KIND_OF[name]](library)[mutant.rung]
        assert breaks(laws.LAWS[KIND_OF[name]][name], subject), f"{name} survived"


def test_every_law_kills_some_mutant():
    assert {name for mutant in MUTANTS for name in mutant.killed_by} == set(KIND_OF)


def test_an_unchanged_copy_obeys_every_law(copy):
    library = copy()
    for name, kind in KIND_OF.items():
        for rung, subject in ladder.SUBJECTS[kind](library).items():
            assert not breaks(laws.LAWS[kind][name], subject), f"{name} fails on {rung}"


def test_a_copy_imports_nothing_of_the_library_itself(copy):
    library = copy()
    assert {module.__package__ for module in vars(library).values()} == {"mutant"}
    assert library.vectorized.masks is library.masks
    assert library.module.fused is library.fused


def test_a_mutant_whose_text_is_gone_is_refused(copy):
    with pytest.raises(AssertionError, match=r"masks\.py has 0 times: no such line"):
        copy(("masks", "no such line", ""))


def test_names_of_mutants_differ():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
