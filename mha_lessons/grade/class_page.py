"""A class on one page: HTML in one file, without scripts, and with nothing loaded from elsewhere.

Names of files and messages are other people's words: each is escaped, and the page's own policy
lets nothing in it run or load.
"""

import html
import os
import re
from pathlib import Path

from . import summary
from .report import printable, together

PALETTE = Path(__file__).resolve().parent.parent / "static" / "palette.css"
DARK = re.compile(r'html\[data-theme="dark"\] \{(.*?)\}', re.S)
STYLE = """
:root { --ground: #ffffff; --text: #1d1d1f; --line: #c9c9cf; color-scheme: light dark; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #16171a; --text: #e8e8ea; --line: #46474d; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem 1.25rem 4rem; max-inline-size: 70rem;
  background: var(--ground); color: var(--text); font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.2; }
h2 { font-size: 1.25rem; margin-block: 2.5rem 0.5rem; }
h3 { font-size: 1rem; margin-block: 1.5rem 0.25rem; }
a { color: var(--mha-accent); }
.wide { overflow-x: auto; }
.wide:focus-visible { outline: 2px solid var(--mha-accent); outline-offset: 2px; }
table { border-collapse: collapse; inline-size: 100%; }
th, td { padding: 0.35rem 0.75rem 0.35rem 0; border-block-end: 1px solid var(--line);
  text-align: start; vertical-align: top; overflow-wrap: anywhere; }
thead th { vertical-align: bottom; white-space: nowrap; overflow-wrap: normal; }
tbody th { font-weight: 400; }
.number { text-align: end; font-variant-numeric: tabular-nums; white-space: nowrap;
  overflow-wrap: normal; }
.exercise { white-space: nowrap; }
.name { min-inline-size: 9rem; }
.words { min-inline-size: 14rem; }
.bars { inline-size: 30%; }
@media (max-width: 40rem) { .bars { display: none; } }
.bar { block-size: 0.8rem; margin-block-start: 0.35rem; background: var(--mha-accent);
  print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.passed { background: var(--mha-value); }
.id { font-family: ui-monospace, monospace; font-size: 0.875rem; color: var(--mha-hidden); }
ul { margin: 0; padding-inline-start: 1.25rem; }
"""
HEAD = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<main>
<h1>{title}</h1>
"""


def as_html(submissions):
    """Write the page: mistakes, exercises, checks, and every submission."""
    complete = sum(s.complete for s in submissions)
    title = f"{len(submissions)} notebooks, {complete} complete"
    names = _short([s.file for s in submissions])
    parts = [
        HEAD.format(title=title, style=_style()),
        _not_graded(summary.not_graded(submissions), names),
        _stumbles(summary.stumbles(submissions), len(submissions)),
        _exercises(summary.exercises(submissions)),
        _submissions(submissions, names),
        "</main>\n</body>\n</html>\n",
    ]
    return "".join(parts)


def _style():
    palette = PALETTE.read_text(encoding="utf-8")
    dark = DARK.search(palette)[1]
    light = DARK.sub("", palette)
    return f"{light}@media (prefers-color-scheme: dark) {{ :root {{{dark}}} }}\n{STYLE}"


def _short(files):
    """Return each file's name without the folder that all of them share."""
    try:
        folder = os.path.commonpath([os.path.dirname(os.path.abspath(file)) for file in files])
    except ValueError:  # none, or on two drives
        return {file: file for file in files}
    return {file: os.path.relpath(os.path.abspath(file), folder) for file in files}


def _text(words):
    return html.escape(printable(str(words)))


def _not_graded(files, names):
    if not files:
        return ""
    rows = "".join(
        f'<tr><th scope="row" class="name">{_text(names[file])}</th>'
        f'<td class="words">{_text(reason)}</td></tr>\n'
        for file, reason in files
    )
    note = f"<p>{len(files)} of the files got no verdict. Look at them by hand.</p>\n"
    heads = '<th scope="col">File</th><th scope="col">Why</th>'
    return _section("not-graded", "Not graded", note + _table("not-graded", heads, rows))


def _stumbles(found, total):
    if not found:
        return _section("mistakes", "Mistakes", "<p>No check found any.</p>\n")
    most = found[0].count
    rows = []
    for s in found:
        name = s.mistake or f"{s.check}: no mistake that we know"
        rows.append(
            f'<tr><th scope="row" class="words">{_text(s.message)}<br>'
            f'<span class="id">{_text(s.exercise)}, {_text(name)}</span></th>'
            f'<td class="number">{s.count}</td>{_bar(s.count / most)}</tr>\n'
        )
    note = (
        f"<p>In how many of the {total} notebooks. A notebook counts once, whatever the number of "
        "checks that saw the mistake.</p>\n"
    )
    heads = (
        '<th scope="col">What is wrong</th><th scope="col" class="number">Notebooks</th>'
        '<td class="bars"></td>'
    )
    return _section("mistakes", "Mistakes", note + _table("mistakes", heads, "".join(rows)))


def _exercises(found):
    rows = "".join(
        f'<tr><th scope="row"><a href="#{_text(e.name)}">{_text(e.name)}</a></th>'
        f"{_rate(e.complete, e.handed_in)}</tr>\n"
        for e in found
    )
    heads = _rate_heads("Exercise", "Complete")
    parts = [_section("exercises", "Exercises", _table("exercises", heads, rows))] if found else []
    for e in found:
        rows = "".join(
            f'<tr><th scope="row">{_text(check)}</th>{_rate(counts["pass"], e.handed_in)}'
            f'<td class="words">{_text(summary.statuses(counts))}</td></tr>\n'
            for check, counts in e.checks.items()
        )
        heads = _rate_heads("Check", "Passed") + '<th scope="col">Others</th>'
        parts.append(
            _section(_text(e.name), f"Checks of {_text(e.name)}", _table(e.name, heads, rows))
        )
    return "".join(parts)


def _submissions(submissions, names):
    rows = []
    for s in submissions:
        missed = [row for row in s.rows if row.status != "pass"]
        words = "".join(
            f"<li>{_text(', '.join(checks))}<br>{_text(row.status)}: {_text(row.message)}</li>"
            for checks, row in together(missed)
        )
        words += "".join(f"<li>Note: {_text(note)}</li>" for note in s.notes)
        rows.append(
            f'<tr><th scope="row" class="name">{_text(names[s.file])}</th>'
            f'<td class="exercise">{_text(s.exercise or "not graded")}</td>'
            f'<td class="number">{s.passed} of {len(s.rows)}</td>'
            f'<td class="words">{f"<ul>{words}</ul>" if words else "complete"}</td></tr>\n'
        )
    heads = (
        '<th scope="col">File</th><th scope="col">Exercise</th>'
        '<th scope="col" class="number">Passed</th><th scope="col">What did not</th>'
    )
    table = _table("submissions", heads, "".join(rows))
    return _section("submissions", "Submissions", table)


def _section(name, heading, content):
    return (
        f'<section aria-labelledby="{name}">\n<h2 id="{name}">{heading}</h2>\n{content}</section>\n'
    )


def _table(name, heads, rows):
    # It may be wider than the screen: then it scrolls, also by keyboard.
    return (
        f'<div class="wide" role="region" aria-labelledby="{_text(name)}" tabindex="0">\n<table>\n'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n"
    )


def _rate_heads(what, passed):
    return (
        f'<th scope="col">{what}</th><th scope="col" class="number">{passed}</th>'
        '<th scope="col" class="number">Rate</th><td class="bars"></td>'
    )


def _rate(part, total):
    rate = part / total
    return (
        f'<td class="number">{part} of {total}</td><td class="number">{rate:.0%}</td>'
        f"{_bar(rate, 'bar passed')}"
    )


def _bar(share, kind="bar"):
    """Draw what the numbers beside it say."""
    width = f"inline-size: {share:.1%}"
    return f'<td class="bars" aria-hidden="true"><div class="{kind}" style="{width}"></div></td>'
