"""The built site is whole, and needs nothing but itself."""

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest
from built_book import ROOT, pages, site

# What each page must still say, whoever edits it.
SAYS = {
    "book/index": ["a course on one equation", "Chapters", "Your progress"],
    "book/01_single_head": ["Why divide by the square root", "Check", "Traps", "Summary"],
    "book/02_multi_head_split": ["The heads must fit", "10 heads", "Check", "Traps", "Summary"],
    "book/03_concat_and_project": ["sum over heads", "2.8", "Check", "Traps", "Summary"],
    "book/04_causal_mask": ["One mask for all heads", "blank row", "Check", "Traps", "Summary"],
    "book/05_compute_cost": ["The whole ledger", "1966080", "Check", "Traps", "Summary"],
    "book/exercises": ["mha start", "mha grade"],
    "exercises/01_one_head": ["# ANSWER: attention_weights", "The blank-row rule"],
    "exercises/02_split_heads": ["# ANSWER: split_heads", "NotImplementedError"],
    "exercises/03_concat_and_project": ["# ANSWER: merge_heads", "The blank-row rule"],
    "exercises/04_causal_mask": ["# ANSWER: causal_mask", "newest tokens"],
    "exercises/05_compute_cost": ["# ANSWER: kv_cache_bytes", "How FLOPs are counted here"],
    "exercises/06_traps": ["# ANSWER: same_weights_different_outputs", "NotImplementedError"],
    "book/grading_yourself": ["%load_ext mha_lessons", "mha hint 02", "mha doctor", "Colab"],
    "book/grading_a_class": ["--isolate", "no border between two people", "An exam"],
    "book/write_an_exercise": ["### BEGIN SOLUTION", "tokens_mixed", "The bank"],
    "book/kill_matrix": ["tokens_mixed", "does not reject and name: 0.", "split_heads_batch"],
    "book/symptoms": ["My output is NaN", "The loss is too good", "Remedy"],
    "book/traps": ["T1: Heads have labelled roles", "T20: Dropout left on", "True or false?"],
    "book/ladder": ["def attention", "_forward", "They agree"],
    "book/cheat_sheet": ["Five mistakes", "may attend", "QKᵀ"],
    "book/notation": ["d_model", "num_heads", "may attend", "embed_dim", "key_dim"],
    "book/glossary": ["concat", "cross-attention", "d_k"],
    "book/references": ["Vaswani", "Attention is all you need"],
}
LOADING = {"script", "img", "iframe", "source", "video", "audio", "object", "embed"}
LOADING_RELS = {"stylesheet", "preload", "icon", "modulepreload", "manifest", "prefetch"}


@dataclass
class Page(HTMLParser):
    """What a page names, links to, loads, shows and says."""

    ids: Counter = field(default_factory=Counter)
    headings: Counter = field(default_factory=Counter)
    metas: dict = field(default_factory=dict)
    links: list = field(default_factory=list)
    loads: list = field(default_factory=list)
    images: list = field(default_factory=list)
    styles: str = ""
    text: str = ""

    def __post_init__(self):
        super().__init__()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids.update([attributes["id"]] if "id" in attributes else [])
        self.headings.update([tag] if re.fullmatch("h[1-6]", tag) else [])
        if tag == "meta" and "content" in attributes:
            name = attributes.get("name") or attributes.get("property")
            self.metas[name] = attributes["content"]
        self.styles += attributes.get("style") or ""
        address = attributes.get("href") or attributes.get("src") or attributes.get("data")
        if tag == "img":
            self.images.append(attributes)
        if address is None:
            return
        self.links.append(address)
        rels = set((attributes.get("rel") or "").split())
        if tag in LOADING or (tag == "link" and rels & LOADING_RELS):
            self.loads.append(address)

    def handle_data(self, data):
        if self.cdata_elem == "style":
            self.styles += data
        elif self.cdata_elem is None:
            self.text += data


@cache
def site_pages():
    """Parse every page of the site once."""
    parsed = {}
    for path in sorted(site().rglob("*.html")):
        if "_static" not in path.parts:
            parsed[path] = Page()
            parsed[path].feed(path.read_text(encoding="utf-8"))
    return parsed


def is_remote(address):
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme in ("http", "https", "ws", "wss")


def test_strict_build_succeeds_and_every_page_of_the_contents_is_there():
    assert [name for name in pages() if not (site() / f"{name}.html").exists()] == []


def test_every_page_of_the_contents_has_its_key_strings_here():
    assert set(SAYS) == set(pages())


@pytest.mark.parametrize("name", SAYS)
def test_page_says_what_it_must(name):
    text = " ".join(site_pages()[site() / f"{name}.html"].text.split())
    assert [words for words in SAYS[name] if words not in text] == []


def test_every_local_link_and_fragment_resolves():
    broken = []
    for path, page in site_pages().items():
        for link in page.links:
            parts = urlsplit(link)
            if is_remote(link) or parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = site_pages().get(target)
            if not target.exists() or (
                known and parts.fragment and unquote(parts.fragment) not in known.ids
            ):
                broken.append(f"{path.relative_to(site())}: {link}")
    assert broken == []


def test_no_id_stands_twice_on_a_page():
    twice = [
        f"{path.relative_to(site())}: {name}"
        for path, page in site_pages().items()
        for name, count in page.ids.items()
        if count > 1
    ]
    assert twice == []


def test_every_page_has_one_title():
    counts = {path: page.headings["h1"] for path, page in site_pages().items()}
    counts.pop(site() / "index.html")  # it leads to the first page
    assert {path for path, count in counts.items() if count != 1} == set()


def test_every_page_says_in_a_sentence_or_two_what_it_is_about():
    said = {}
    for name in pages():
        metas = site_pages()[site() / f"{name}.html"].metas
        said[name] = metas["description"]
        assert metas["og:description"] == said[name]
        assert metas["og:title"]
        assert 50 <= len(said[name]) <= 200, name
        assert not re.search(r"[\\$]|\{\w+\}", said[name]), name
    assert len(set(said.values())) == len(said)


def test_no_page_loads_anything_from_another_host():
    loads = [
        f"{path.relative_to(site())}: {address}"
        for path, page in site_pages().items()
        for address in page.loads
        if is_remote(address)
    ]
    assert loads == []


def test_no_style_loads_anything_from_another_host():
    styles = {path: path.read_text(encoding="utf-8") for path in site().rglob("*.css")}
    styles |= {path: page.styles for path, page in site_pages().items()}
    remote = re.compile(r"""(?:url\(|@import)\s*['"]?\s*(?:https?:)?//[^\s'")]*""")
    loads = [
        f"{path}: {match[0]}" for path, css in styles.items() for match in remote.finditer(css)
    ]
    assert loads == []


def test_every_image_has_a_text():
    silent = [
        f"{path.relative_to(site())}: {image.get('src')}"
        for path, page in site_pages().items()
        for image in page.images
        if not (image.get("alt") or "").strip()
    ]
    assert silent == []


def test_live_figures_are_loaded_where_they_stand_and_nowhere_else():
    scripts = {path.name for path in (ROOT / "mha_lessons" / "static").glob("*.js")}
    for path, page in site_pages().items():
        loaded = [n for n in (a.split("?")[0].split("/")[-1] for a in page.loads) if n in scripts]
        tags = set(re.findall(r"<mha-([a-z-]+)", path.read_text(encoding="utf-8")))
        wanted = sorted(f"{tag.replace('-', '_')}.js" for tag in tags)
        assert loaded == (["live_figure.js", *wanted] if wanted else []), path


def test_heavy_scripts_of_the_theme_are_left_out():
    for path, page in site_pages().items():
        assert not any("fontawesome.js" in address or "thebe" in address for address in page.loads)
        assert "application/vnd.jupyter.widget" not in path.read_text(encoding="utf-8")


def test_no_page_tells_where_it_was_built():
    telling = [p for p in site_pages() if str(ROOT) in p.read_text(encoding="utf-8")]
    assert telling == []


@pytest.mark.parametrize("name", [name for name in pages() if (ROOT / f"{name}.ipynb").exists()])
def test_notebook_pages_offer_the_notebook_and_the_package(name):
    page = site_pages()[site() / f"{name}.html"]
    notebook = ROOT / f"{name}.ipynb"
    (wheel,) = (site() / "notebooks").glob("*.whl")
    (link,) = {link for link in page.links if re.fullmatch(r"../notebooks/.*\.ipynb", link)}
    offered = (site() / name).parent / link
    assert f"../notebooks/{wheel.name}" in page.links
    assert offered.read_bytes() == notebook.read_bytes()
