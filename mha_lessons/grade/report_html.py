"""What grading found, as an HTML table for a notebook: hints are folded away."""

from html import escape

# On both themes at 4.5:1 or more; the word says the same.
COLOURS = {"pass": "#1a7f37", "todo": "#6e7781"}
OTHER = "#cf222e"
STYLE = """\
<style>
table.mha-verdicts { border-collapse: collapse; max-width: 60rem }
table.mha-verdicts caption { caption-side: top; text-align: start; font-weight: 600 }
table.mha-verdicts :is(td, th) { padding: 4px 12px 4px 0 }
/* Jupyter's own rule for the cells of tables is stronger. */
table.mha-verdicts :is(td, th) { text-align: start !important; vertical-align: top !important }
table.mha-verdicts th { font-weight: 400; font-family: monospace; overflow-wrap: anywhere }
.mha-verdicts .mha-status { border-radius: 4px; padding: 0 6px; color: #fff; white-space: nowrap }
.mha-verdicts summary { cursor: pointer }
</style>"""


def as_html(submission):
    """Write the table of one submission."""
    s = submission
    caption = f"{s.exercise or 'not graded'}: {s.passed} of {len(s.rows)} checks passed"
    rows = "\n".join(map(_row, s.rows))
    notes = "".join(f"<p>{_text(note)}</p>\n" for note in s.notes)
    return (
        f"{STYLE}\n{notes}<table class='mha-verdicts'>\n<caption>{_text(caption)}</caption>\n"
        f"<tbody>\n{rows}\n</tbody>\n</table>\n"
    )


def _row(row):
    said = _text(row.message)
    if row.hint:
        said += f"<details><summary>Hint</summary>{_text(row.hint)}</details>"
    colour = COLOURS.get(row.status, OTHER)
    status = f"<span class='mha-status' style='background: {colour}'>{_text(row.status)}</span>"
    return f"<tr><td>{status}</td><th scope='row'>{_text(row.check)}</th><td>{said}</td></tr>"


def _text(text):
    # A dollar in an element of its own begins no formula.
    return escape(text).replace("$", "<span>$</span>")
