"""What other programs read of a page: its description, its card, its one address.

Cards, addresses and the map of the site have to be absolute, so they wait for the project's
address.
"""

import hashlib
import html
import re
from pathlib import Path

import repository
import social_card
from docutils import nodes
from markupsafe import Markup

CARDS = "_cards"
SHORTEST, LONGEST = 50, 200
REDIRECT = """\
<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>{title}</title>
    <meta http-equiv="refresh" content="0; url={start}">
  </head>
  <body><p><a href="{start}">{title}</a></p></body>
</html>
"""
SITEMAP = """\
<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
{urls}</urlset>
"""
ROBOTS = """\
User-agent: *
Allow: /
Sitemap: {base}sitemap.xml
"""


def follow_address(app, config):
    """Tell Sphinx where the site will stand: it writes the canonical links itself."""
    url = config.html_theme_options.get("repository_url", repository.PLACEHOLDER)
    config.html_baseurl = repository.site_url(url) or ""


def description_of(doctree):
    """Return what a page is about, in its own words.

    A chapter says what you will be able to do; another page begins with it.
    """
    for term in doctree.findall(nodes.definition_list_item):
        if term[0].astext() == "You will":
            return shorten(f"You will {words(term[-1])}")
    title = next(doctree.findall(nodes.title), nodes.title()).astext()
    for paragraph in doctree.findall(nodes.paragraph):
        if isinstance(paragraph.parent, nodes.section) and not any(paragraph.findall(nodes.math)):
            text = words(paragraph)
            return shorten(text if len(text) >= SHORTEST else f"{title}. {text.rstrip(':')}.")
    return shorten(f"{title}: {', '.join(term.astext() for term in doctree.findall(nodes.term))}")


def words(node):
    """Return a node's text on one line."""
    return " ".join(node.astext().split())


def shorten(text):
    """Return the sentences of `text` that fit, or as much of the first as does."""
    if len(text) <= LONGEST:
        return text
    sentences = re.findall(r".+?[.?!](?=\s|$)\s*", text[:LONGEST])
    return "".join(sentences).strip() or text[: LONGEST - 1].rsplit(" ", 1)[0].rstrip(",;:") + "…"


def describe(app, pagename, templatename, context, doctree):
    """Add the page's description, and what a link to it shows elsewhere."""
    if doctree is None:
        return
    course = app.config.html_title
    title = html.unescape(Markup(context["title"]).striptags())
    about = {
        "og:title": title,
        "og:description": description_of(doctree),
        "og:type": "website",
        "og:site_name": course,
    }
    base = app.config.html_baseurl
    if base:
        card = write_card(app, title, course)
        about |= {
            "og:url": context["pageurl"],
            "og:image": f"{base}{CARDS}/{card}",
            "og:image:width": str(social_card.WIDTH),
            "og:image:height": str(social_card.HEIGHT),
            "og:image:alt": f"{title}: maps of attention weights of four heads",
        }
    tags = [f'<meta name="description" content="{html.escape(about["og:description"])}" />']
    if base:
        tags.append('<meta name="twitter:card" content="summary_large_image" />')
    tags += [f'<meta property="{k}" content="{html.escape(v)}" />' for k, v in about.items()]
    context["metatags"] = "\n".join([context.get("metatags", ""), *tags])


def write_card(app, title, course):
    """Draw a page's card where it is missing, and return its name."""
    drawn_by = Path(social_card.__file__).read_bytes()
    name = hashlib.sha256(drawn_by + f"{title}\0{course}".encode()).hexdigest()[:16] + ".png"
    card = Path(app.outdir, CARDS, name)
    if not card.exists():
        card.parent.mkdir(parents=True, exist_ok=True)
        card.write_bytes(social_card.draw(title, course))
    return name


def write_map(app, exception):
    """Write the page that leads to the first one, and for search engines the list of all."""
    if exception or app.builder.format != "html":
        return
    out, base = Path(app.outdir), app.config.html_baseurl
    start = f"{app.config.root_doc}.html"
    redirect = REDIRECT.format(title=html.escape(app.config.html_title), start=start)
    (out / "index.html").write_text(redirect, encoding="utf-8")
    for name in ("sitemap.xml", "robots.txt"):
        (out / name).unlink(missing_ok=True)
    if base:
        urls = "".join(
            f"  <url><loc>{html.escape(base + app.builder.get_target_uri(name))}</loc></url>\n"
            for name in sorted(app.env.found_docs)
        )
        (out / "sitemap.xml").write_text(SITEMAP.format(urls=urls), encoding="utf-8")
        (out / "robots.txt").write_text(ROBOTS.format(base=base), encoding="utf-8")


def setup(app):
    """Connect after the address has decided, and before a redirect is written elsewhere."""
    app.connect("config-inited", follow_address, priority=390)
    app.connect("html-page-context", describe)
    app.connect("build-finished", write_map, priority=100)
