"""The glossary is in order, and every term is linked from where a reader meets it."""

import re
from pathlib import Path

BOOK = Path(__file__).resolve().parent.parent / "book"
TEXT = (BOOK / "glossary.md").read_text(encoding="utf-8")
TERMS = re.findall(r"^(?![#`\s])(.+)$", TEXT, re.MULTILINE)
# What the course cannot be read without.
NEEDED = """attention, autoregressive, blank row, causal mask, dropout, einsum, FLOP, gauge freedom,
grouped-query attention, head, KV cache, logits, multi-query attention, online softmax,
padding mask, polarity, pruning, residual, sink, teacher forcing, temperature, ablation"""


def linked():
    """Return the terms that pages other than the glossary link to."""
    found = set()
    for page in BOOK.glob("*.md"):
        if page.name != "glossary.md":
            roles = re.findall(r"\{term\}`([^`]+)`", page.read_text(encoding="utf-8"))
            found |= {re.sub(r".*<(.+)>", r"\1", " ".join(role.split())) for role in roles}
    return found


def test_terms_stand_in_the_order_of_the_alphabet():
    assert sorted(TERMS, key=str.lower) == TERMS
    assert len(set(TERMS)) == len(TERMS)


def test_the_terms_of_the_field_are_there():
    assert [term for term in re.split(r",\s+", NEEDED) if term not in TERMS] == []


def test_every_term_is_linked_from_some_page_and_every_link_is_a_term():
    assert [term for term in TERMS if term not in linked()] == []
    assert sorted(linked() - set(TERMS)) == []


def test_every_term_is_explained():
    for term in TERMS:
        explanation = re.search(rf"^{re.escape(term)}\n  (.+)$", TEXT, re.MULTILINE)
        assert explanation, term
        assert explanation[1].endswith("."), term
