"""The prose is spelled right: every word stands in a dictionary, or in the project's own list."""

import functools
import gc
import os
import re
import warnings
from importlib.util import find_spec

import pytest
from built_book import ROOT
from prose import Paragraph, paragraphs, sources

WORDS = ROOT / "tests" / "data" / "words.txt"
# Words of letters, with an apostrophe inside. What holds a digit or an underscore is a name.
WORD = re.compile(r"(?<![\w.@/-])[A-Za-zÀ-ÖØ-öø-ÿ]+(?:['’][A-Za-zÀ-ÖØ-öø-ÿ]+)*(?![\w@/]|\.\w)")


@functools.cache
def own_words():
    """Return the project's list."""
    return WORDS.read_text(encoding="utf-8").splitlines()


@functools.cache
def dictionary():
    """Return the English dictionary that spylls ships."""
    if find_spec("spylls") is None:
        if os.environ.get("MHA_REQUIRE_PEERS") == "1":
            pytest.fail("MHA_REQUIRE_PEERS=1, but spylls is missing: make peers", pytrace=False)
        pytest.skip("spylls is missing: make peers")
    from spylls.hunspell import Dictionary

    (package,) = find_spec("spylls").submodule_search_locations
    with warnings.catch_warnings():
        # It leaves the closing of its two files to the garbage collector.
        warnings.simplefilter("ignore", ResourceWarning)
        words = Dictionary.from_files(f"{package}/hunspell/data/en/en_US")
        gc.collect()
    return words


@functools.cache
def is_english(word):
    return dictionary().lookup(word)


def unknown(paragraph):
    """Return the words that the dictionary does not know: small at a beginning, and owning none."""
    text = re.sub(r"https?://\S+|\S+@\S+", " ", paragraph.words).replace("’", "'")
    words = {word.removesuffix("'s") for word in WORD.findall(text) if not is_english(word)}
    return {word if word[1:] != word[1:].lower() else small(word) for word in words}


def small(word):
    """Return a word without the capital of a sentence's beginning, unless it is a name."""
    return word if word in own_words() else word.lower()


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_word_is_spelled_right(path):
    known = set(own_words())
    wrong = {word: p.text for p in paragraphs(path) for word in unknown(p) - known}
    assert not wrong, "Mend a word, or add it to tests/data/words.txt:\n" + "\n".join(
        f"{word}: {text[:120]}" for word, text in sorted(wrong.items())
    )


def test_own_words_are_sorted_and_all_of_them_used():
    words = own_words()
    assert words == sorted(set(words), key=lambda word: (word.lower(), word))
    used = set().union(*(unknown(p) for path in sources() for p in paragraphs(path)))
    assert sorted(set(words) - used) == []


def test_a_wrong_word_is_found():
    assert unknown(Paragraph(ROOT, "The atention of `atn` isn't $sofmax$ here.")) == {"atention"}
