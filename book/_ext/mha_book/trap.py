"""The `trap` directive: a statement of the quiz and its right answer, read from the quiz."""

import quiz_items
from docutils import nodes
from sphinx.util.docutils import SphinxDirective


class Trap(SphinxDirective):
    """Show what ``{trap} T7`` states, and whether it is true."""

    required_arguments = 1

    def run(self):
        """Return the statement and its verdict as a box."""
        try:
            statement, verdict, reason = quiz_items.read(self.arguments[0])
        except ValueError as wrong:
            raise self.error(str(wrong)) from None
        self.env.note_dependency(str(quiz_items.SOURCE))
        answer = nodes.paragraph("", "", nodes.strong("", verdict), nodes.Text(reason))
        box = nodes.admonition("", nodes.title("", "True or false?"), classes=["mha-trap"])
        box += [nodes.paragraph("", "", nodes.Text(statement)), answer]
        return [box]


def setup(app):
    """Add the directive."""
    app.add_directive("trap", Trap)
