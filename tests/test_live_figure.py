"""The live figure on the Python side: its numbers, its static form, its rules."""

import doctest
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pytest
import traitlets

from mha_lessons import masks, toy, vectorized
from mha_lessons.widgets import (
    STATIC,
    AttentionLab,
    CostLedger,
    MaskPainter,
    SameWeights,
    SplitMerge,
    attention_lab,
)

SCRIPT = STATIC / "attention_lab.js"
SHARED = STATIC / "live_figure.js"
WORDS = "größe macht müde Katzen 'satt' \"sehr\" <b>schnell</b>".split()


class _Static(HTMLParser):
    """Reads the configuration and the table cells of a static lab."""

    def __init__(self, html):
        super().__init__()
        self.config, self.tags, self.tables, self._in_cell = None, [], [], False
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag == "mha-attention-lab":
            self.config = json.loads(dict(attributes)["config"])
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        self._in_cell = tag in ("td", "th")

    def handle_data(self, data):
        if self._in_cell:
            self.tables[-1][-1].append(data)


def _numbers(table):
    texts = [[cell.replace("−", "-").replace("∞", "inf") for cell in row[1:]] for row in table[1:]]
    return np.array(texts, dtype=float)


def test_toy_head_is_the_librarys_attention():
    Q, K, V, _, weights, output = toy.attend("the cat sat down today".split(), causal=True)
    mask = masks.causal(5)
    np.testing.assert_allclose(weights, vectorized.attention_weights(Q, K, mask), rtol=1e-14)
    np.testing.assert_allclose(output, vectorized.attention(Q, K, V, mask), rtol=1e-14)


def test_toy_numbers_are_small_integers():
    head = toy.attend("the cat sat down and a dog barked".split())
    for name in "QKV":
        entries = getattr(head, name)
        assert np.all(entries == np.round(entries))
        assert np.all(np.abs(entries) <= 2)


def test_toy_numbers_are_these_on_every_machine():
    Q, _, V, scores, *_ = toy.attend("the cat sat down".split())
    np.testing.assert_array_equal(
        Q, [[-2, 0, -1, 0], [-1, 1, 1, -1], [-1, 1, 1, 1], [0, -2, -1, -2]]
    )
    np.testing.assert_array_equal(V, [[0, 1, 0], [-1, -1, 2], [1, -1, 2], [-2, 1, -1]])
    np.testing.assert_array_equal(scores[1], [1, 0, 1.5, -2.5])


def test_equal_words_get_equal_numbers():
    head = toy.attend("cat sees cat".split())
    np.testing.assert_array_equal(head.output[0], head.output[2])


def test_temperature_divides_and_edits_add():
    plain = toy.attend(["the", "cat", "sat"])
    other = toy.attend(["the", "cat", "sat"], temperature=2.5, edits={(1, 2): -1.5})
    expected = plain.scores / 2.5
    expected[1, 2] -= 1.5
    np.testing.assert_allclose(other.scores, expected, rtol=1e-15)


def test_causal_hides_later_words():
    head = toy.attend("the cat sat".split(), causal=True)
    assert np.all(np.isneginf(head.scores[np.triu_indices(3, 1)]))
    assert np.all(head.weights[np.triu_indices(3, 1)] == 0)


def test_widget_computes_from_its_present_state():
    lab = AttentionLab()
    lab.tokens, lab.temperature, lab.causal = "the old cat sat".split(), 0.5, True
    lab.edits = {(3, 1): 2}
    head = toy.attend(["the", "old", "cat", "sat"], 0.5, True, {(3, 1): 2.0})
    np.testing.assert_array_equal(lab.scores, head.scores)
    np.testing.assert_array_equal(lab.weights, head.weights)
    np.testing.assert_array_equal(lab.output, head.output)


def test_static_tables_are_numpys_numbers():
    lab = AttentionLab(tokens=WORDS, causal=True, temperature=1.5, edits={(2, 1): 3.0})
    scores, weights = map(_numbers, _Static(lab.static_html()).tables)
    np.testing.assert_allclose(scores, lab.scores, atol=0.005 + 1e-12)
    shown = np.column_stack([lab.weights, lab.weights.sum(-1), lab.output])
    np.testing.assert_allclose(weights, shown, atol=0.005 + 1e-12)


def test_static_config_survives_quotes_umlauts_and_tags():
    hostile = [*WORDS[:6], "</mha-attention-lab><script>alert(1)</script>"]
    html = _Static(AttentionLab(tokens=hostile).static_html())
    assert html.config["tokens"] == hostile
    assert "script" not in html.tags
    assert html.tables[0][0] == hostile  # the corner cell is empty


def test_static_config_holds_the_whole_state():
    lab = AttentionLab(tokens="a b c", temperature=2, edits={(2, 0): 1}, query=2, key=0)
    assert _Static(lab.static_html()).config == {
        "tokens": ["a", "b", "c"],
        "temperature": 2.0,
        "causal": False,
        "edits": [[2, 0, 1.0]],
        "query": 2,
        "key": 0,
    }


def test_two_labs_of_one_state_print_the_same():
    first, second = (AttentionLab()._repr_mimebundle_()[0] for _ in range(2))
    for kind in ("text/plain", "text/html"):
        assert first[kind] == second[kind]
    assert not re.search(r"0x[0-9a-f]+|[0-9a-f]{32}", first["text/plain"] + first["text/html"])
    assert "application/vnd.jupyter.widget-view+json" in first


def test_repr_builds_the_same_lab():
    lab = AttentionLab(tokens="a b", edits={(1, 0): 2}, query=0, key=1)
    assert repr(eval(repr(lab), {"AttentionLab": AttentionLab})) == repr(lab)


def test_docstring_example_holds():
    result = doctest.testmod(attention_lab)
    assert result.attempted
    assert not result.failed


def test_figure_and_docstring_say_that_nothing_is_trained():
    assert "pseudo-random" in toy.__doc__
    assert "not a trained model" in AttentionLab.__doc__
    assert "no trained model" in AttentionLab().static_html()
    assert "pseudo-random embeddings" in SCRIPT.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", sorted(STATIC.iterdir()), ids=lambda path: path.name)
def test_script_and_styles_name_no_address(path):
    text = path.read_text(encoding="utf-8")
    assert re.findall(r"(?i)https?:|@import|url\(", text) == []


@pytest.mark.parametrize("path", sorted(STATIC.glob("*.js")), ids=lambda path: path.name)
def test_script_is_classic_and_evaluates_no_text(path):
    text = path.read_text(encoding="utf-8")
    assert re.findall(r"(?m)^\s*(import|export)\b|\beval\(|new Function|innerHTML", text) == []


@pytest.mark.parametrize("path", sorted(STATIC.glob("*.css")), ids=lambda path: path.name)
def test_class_names_carry_the_prefix(path):
    styles = path.read_text(encoding="utf-8")
    names = set(
        re.findall(r"\.([a-z_][\w-]*)(?=[^{}]*\{)", re.sub(r"/\*.*?\*/", "", styles, flags=re.S))
    )
    from_book_and_hosts = {"bd-content", "cell_output", "text_html"}
    assert all(name.startswith("mha-") for name in names - from_book_and_hosts)


def test_widget_carries_the_palette_for_dark_notebooks():
    assert 'html[data-theme="dark"], body[data-jp-theme-light="false"]' in AttentionLab._css
    assert "--mha-weight-1" in AttentionLab._css


def test_edits_and_selection_stay_inside_when_tokens_go():
    lab = AttentionLab(tokens="a b c d", edits={(1, 1): 1, (3, 0): 2}, query=3, key=2)
    lab.tokens = "a b"
    assert (lab.edits, lab.query, lab.key) == ({(1, 1): 1.0}, 1, 1)


def test_edits_travel_as_triples():
    lab = AttentionLab(edits={(1, 2): 0.5})
    assert lab.get_state("edits") == {"edits": [[1, 2, 0.5]]}
    lab.set_state({"edits": [[0, 3, -1.5]]})
    assert lab.edits == {(0, 3): -1.5}


def test_labs_share_no_state():
    first, second = AttentionLab(), AttentionLab()
    first.edits[0, 0] = 1.0
    assert second.edits == {}
    assert AttentionLab().edits == {}


@pytest.mark.parametrize(
    ("traits", "message"),
    [
        ({"tokens": []}, r"tokens must be 1 to 8 words: got \[\]. Pass a list"),
        ({"tokens": "a " * 9}, "tokens must be 1 to 8 words: got 'a a a a a a a a a '"),
        ({"tokens": 3}, "tokens must be 1 to 8 words: got 3"),
        ({"tokens": ["two words"]}, "one word without spaces: got 'two words'. Split it"),
        ({"tokens": ["a", ""]}, "one word without spaces: got ''"),
        ({"temperature": 0}, "a number from 0.1 to 10: got 0. Use 1"),
        ({"temperature": float("nan")}, "a number from 0.1 to 10: got nan"),
        ({"temperature": "hot"}, "a number from 0.1 to 10: got 'hot'"),
        ({"causal": 1}, "causal must be True or False: got 1. Use True"),
        ({"edits": [1]}, r"edits must be a dict from \(query, key\) to a number: got \[1\]. Write"),
        ({"edits": {(0, 4): 1}}, r"both from 0 to 3 for 4 tokens: got \(0, 4\). Count words"),
        ({"edits": {"01": 1}}, "both from 0 to 3 for 4 tokens: got '01'"),
        ({"edits": {(0, 1): 11}}, r"from -10 to 10 to a score: got 11 for \(0, 1\). Use a smaller"),
        ({"query": 4}, "query must be the number of a word, from 0 to 3 for 4 tokens: got 4"),
        ({"key": -1}, "key must be the number of a word, from 0 to 3 for 4 tokens: got -1"),
    ],
)
def test_bad_traits_are_refused_with_advice(traits, message):
    with pytest.raises(traitlets.TraitError, match=message):
        AttentionLab(**traits)


@pytest.mark.parametrize("figure", [AttentionLab, CostLedger, MaskPainter, SameWeights, SplitMerge])
def test_every_trait_refuses_what_is_no_value_of_it(figure):
    fine = {("num_kv_heads", "None"), ("edits", "{}"), ("tokens", "x\u00a0y")}
    for name in figure.STATE:
        old = figure()
        for value in (None, 10**400, float("inf"), "x\u00a0y", np.array([1, 2]), [[10**400]], {}):
            if (name, str(value)) in fine:
                continue
            with pytest.raises(traitlets.TraitError, match=r"must[\s\S]*: got[\s\S]*\. [A-Z]"):
                setattr(old, name, value)
        assert repr(old) == repr(figure())
    with pytest.raises(traitlets.TraitError, match="from -10 to 10 to a score"):
        AttentionLab(edits={(0, 0): 10**400})


def test_refused_value_leaves_the_old_one():
    lab = AttentionLab()
    with pytest.raises(traitlets.TraitError):
        lab.temperature = -1
    assert lab.temperature == 1.0


@pytest.mark.skipif(not shutil.which("node"), reason="Node.js is not installed (optional)")
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("temperature", [0.1, 1.0, 2.7])
def test_script_computes_numpys_numbers(temperature, causal):
    edits = {(2, 0): 3.5, (6, 5): -10.0}
    state = {
        "tokens": WORDS,
        "temperature": temperature,
        "causal": causal,
        "edits": [[*cell, amount] for cell, amount in edits.items()],
    }
    program = (
        f"require({json.dumps(str(SHARED))}); require({json.dumps(str(SCRIPT))});"
        f"console.log(JSON.stringify(mhaAttentionLab.attend({json.dumps(state)})))"
    )
    printed = subprocess.run(
        ["node", "-e", program], check=True, capture_output=True, encoding="utf-8"
    ).stdout
    script, head = json.loads(printed), toy.attend(WORDS, temperature, causal, edits)
    for name in ("Q", "K", "V", "scores", "weights", "output"):
        found = np.array(script[name], dtype=float)  # JSON has no -inf: null becomes NaN
        expected = np.where(np.isneginf(getattr(head, name)), np.nan, getattr(head, name))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12, err_msg=name)
