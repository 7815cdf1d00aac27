"""In another process an answer can import what its exercise hands out, and nothing else of ours."""

import pytest

from mha_lessons.grade.elsewhere import Elsewhere

LIMIT = 60  # seconds
GIVEN = (
    "import numpy as np\n"
    "from mha_lessons.projections import split_heads\n"
    "from mha_lessons.vectorized import attention\n"
)


@pytest.fixture(scope="module")
def answers():
    answers = Elsewhere()
    try:
        assert answers.run("given", GIVEN, LIMIT, given=True) is None
        yield answers
    finally:
        answers.end()


def raised(answers, source):
    error = answers.run("own", source, LIMIT)
    answers.cells.pop()
    return error and f"{error.name}: {error.words}"


@pytest.mark.parametrize(
    "source",
    [
        "attention(*np.ones((3, 5, 7)))",
        "from mha_lessons.vectorized import attention as attend\nattend(*np.ones((3, 5, 7)))",
        "import mha_lessons.vectorized as library\nlibrary.attention(*np.ones((3, 5, 7)))",
        "from mha_lessons import projections\nprojections.split_heads(np.ones((5, 21)), 3)",
        "import mha_lessons",
        "import importlib.util\nassert importlib.util.find_spec('mha_lessons')",
    ],
)
def test_what_is_handed_out_may_be_used_and_imported_again(answers, source):
    assert raised(answers, source) is None


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("from mha_lessons.vectorized import softmax", "mha_lessons.vectorized.softmax"),
        ("import mha_lessons.vectorized as v\nv.attention_weights", "attention_weights"),
        ("import mha_lessons.masks", "mha_lessons.masks"),
        ("from mha_lessons import masks", "mha_lessons.masks"),
        ("import importlib\nimportlib.import_module('mha_lessons.masks')", "mha_lessons.masks"),
        ("import mha_lessons\nmha_lessons.layers", "mha_lessons.layers"),
    ],
)
def test_the_rest_of_the_library_is_refused_in_a_sentence(answers, source, name):
    words = raised(answers, source)
    assert words.startswith("ImportError: an answer cannot import mha_lessons.")
    assert f"{name}: of mha_lessons, only what the exercise itself imports is handed out" in words


def test_the_grader_is_refused_in_words_of_its_own(answers):
    words = "ImportError: mha_lessons.grade cannot be imported by an answer"
    assert raised(answers, "import mha_lessons.grade.bank") == words


def test_nothing_is_handed_out_where_the_exercise_imports_nothing():
    answers = Elsewhere()
    try:
        assert answers.run("given", "import numpy as np", LIMIT, given=True) is None
        error = answers.run("own", "from mha_lessons.vectorized import attention", LIMIT)
    finally:
        answers.end()
    assert error.words.startswith("an answer cannot import mha_lessons.vectorized: ")


def test_a_process_that_is_started_again_hands_out_the_same(answers):
    answers.process.end()
    assert raised(answers, "attention(*np.ones((3, 5, 7)))") is None
    assert raised(answers, "from mha_lessons.vectorized import softmax").startswith("ImportError")
