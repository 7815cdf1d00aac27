"""Print the whole book into one PDF: cover, contents with page numbers, all chapters in order.

    make pdf

All pages become one, so that links between chapters stay links, and Chromium prints it twice: the
first time to learn on which page everything stands.
"""

import os
import re
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml
from bs4 import BeautifulSoup
from chromium import ROOT, SITE, chromium
from pypdf import PdfReader, PdfWriter
from pypdf.generic import Fit

PDF = ROOT / "_build" / "multi-head-attention.pdf"
NAMING = ("id", "for", "aria-labelledby", "aria-describedby")
MARGINS = {"top": "18mm", "bottom": "20mm", "left": "18mm", "right": "18mm"}
FOOTER = """
<div style="width: 100%; font: 8pt sans-serif; text-align: center; color: #333">
  <span class="pageNumber"></span>
</div>
"""
BOOK = """\
<!DOCTYPE html>
<html lang="en" data-theme="light">
<head>
<meta charset="utf-8">
<title>{title}</title>
{head}
<link rel="stylesheet" href="{static}/pdf.css">
</head>
<body>
<div class="bd-main"><div class="bd-content"><div class="bd-article-container">
<div class="bd-article">
<section class="mha-cover">
<img src="{static}/logo.svg" alt="">
<p class="mha-cover-title">{title}</p>
<p>{author}</p>
</section>
<nav class="mha-contents">
<h2>Contents</h2>
{contents}
</nav>
{chapters}
</div>
</div></div></div>
</body>
</html>
"""


def toc():
    """Return the parts of the book: `(caption, names of pages)`; the start page has no caption."""
    content = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    parts = [(part["caption"], [c["file"] for c in part["chapters"]]) for part in content["parts"]]
    return [("", [content["root"]]), *parts]


def slug(name):
    """Return the prefix of all ids of a page."""
    return name.replace("/", "-")


def chapter_of(name, names):
    """Return a page's article, its names made unique and its addresses fit for the one page."""
    soup = BeautifulSoup((SITE / f"{name}.html").read_text(encoding="utf-8"), "html.parser")
    article = soup.find("article", class_="bd-article")
    here = Path(name).parent
    for junk in article.select(".headerlink, script, .mha-on-screen, button"):
        junk.decompose()
    for tag in article.find_all(True):
        for key in NAMING:
            if key in tag.attrs:
                tag[key] = " ".join(f"{slug(name)}--{word}" for word in tag[key].split())
        if "src" in tag.attrs:
            tag["src"] = os.path.relpath(SITE / here / tag["src"], PDF.parent)
        if "href" in tag.attrs:
            follow(tag, name, names)
    for details in article.find_all("details"):
        details["open"] = ""
    article.name = "section"
    article["id"], article["class"] = slug(name), ["mha-chapter"]
    return article


def follow(link, name, names):
    """Point a link at the place in the one page; one that leads to no page becomes text."""
    parts = urlsplit(link["href"])
    if parts.scheme:
        return
    path = os.path.normpath(Path(name).parent / unquote(parts.path)) if parts.path else name
    page = path.removesuffix(".html")
    if page in names:
        link["href"] = f"#{slug(page)}" + (f"--{parts.fragment}" if parts.fragment else "")
    else:
        link.unwrap()


def contents(chapters, numbers):
    """Write the table of contents, with the page that each entry stands on."""
    lines = []
    for caption, articles in chapters:
        lines += [f"<p>{caption}</p>"] if caption else []
        lines.append("<ol>")
        for article in articles:
            lines.append(entry(article["id"], article.h1, numbers))
            parts = [entry(s["id"], s.h2, numbers) for s in sections(article)]
            lines.append("<ol>" + "".join(parts))
            lines.append("</ol></li>")
        lines.append("</ol>")
    return "\n".join(lines)


def sections(article):
    """Return the sections of a chapter, without those within them."""
    return [s for s in article.find_all("section") if s.h2 and s.h2.parent is s]


def entry(target, heading, numbers):
    """Write one line of the contents; the list item of a chapter is closed after its sections."""
    end = "" if heading.name == "h1" else "</li>"
    text = "".join(str(part) for part in heading.contents)
    page = numbers.get(target, "000")
    return f'<li><a href="#{target}"><span>{text}</span><i></i><b>{page}</b></a>{end}'


def write_page(chapters, numbers):
    """Write the one page, and return its path."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    first = (SITE / f"{chapters[1][1][0]['data-name']}.html").read_text(encoding="utf-8")
    styles = re.findall(r'<link [^>]*rel="stylesheet"[^>]*>', first)
    mathjax = re.findall(r"<script>window\.MathJax.*?</script>|<script [^>]*mathjax/.*?>", first)
    static = os.path.relpath(SITE / "_static", PDF.parent)
    head = "\n".join([*styles, *mathjax]).replace("../_static", static)
    page = PDF.with_suffix(".html")
    page.write_text(
        BOOK.format(
            title=config["title"],
            author=config["author"],
            static=static,
            head=head + ("</script>" if mathjax else ""),
            contents=contents(chapters, numbers),
            chapters="\n".join(str(article) for _, part in chapters for article in part),
        ),
        encoding="utf-8",
    )
    return page


def print_page(browser, path):
    """Print the one page into the PDF, and return the page number of every link's target."""
    page = browser.new_page()
    page.goto(path.as_uri())
    page.evaluate("window.MathJax?.startup?.promise ?? null")
    page.pdf(
        path=PDF,
        format="A4",
        margin=MARGINS,
        print_background=True,
        display_header_footer=True,
        header_template="<span></span>",
        footer_template=FOOTER,
        tagged=True,
    )
    page.close()
    reader = PdfReader(PDF)
    return {
        name.removeprefix("/"): reader.get_destination_page_number(target) + 1
        for name, target in reader.named_destinations.items()
    }


def add_outline(chapters):
    """Write the outline: Chromium's own says a heading twice where it breaks into lines."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    reader = PdfReader(PDF)
    places = {name.removeprefix("/"): place for name, place in reader.named_destinations.items()}
    writer = PdfWriter(clone_from=reader)
    writer.add_metadata({"/Title": config["title"], "/Author": config["author"]})

    def add(target, heading, parent):
        place = places[target]
        title = " ".join(heading.get_text().split())
        page = reader.get_destination_page_number(place)
        fit = Fit.xyz(None, place.top, None)
        return writer.add_outline_item(title=title, page_number=page, parent=parent, fit=fit)

    for _, articles in chapters:
        for article in articles:
            chapter = add(article["id"], article.h1, None)
            for section in sections(article):
                add(section["id"], section.h2, chapter)
    writer.write(PDF)


def main():
    """Write `_build/multi-head-attention.pdf`."""
    names = {name for _, part in toc() for name in part}
    with chromium() as browser:
        chapters = []
        for caption, part in toc():
            articles = [chapter_of(name, names) for name in part]
            for article, name in zip(articles, part, strict=True):
                article["data-name"] = name
            chapters.append((caption, articles))
        numbers = print_page(browser, write_page(chapters, {}))
        again = print_page(browser, write_page(chapters, numbers))
    if numbers != again:
        sys.exit("The page numbers moved between the two prints: the contents would be wrong.")
    add_outline(chapters)
    print(f"wrote {PDF.relative_to(ROOT)}: {len(PdfReader(PDF).pages)} pages")


if __name__ == "__main__":
    main()
