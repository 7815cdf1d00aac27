"""The `library` directive: a function of the library, read from the library."""

from pathlib import Path

import library_code
from docutils import nodes
from sphinx.util.docutils import SphinxDirective


class Library(SphinxDirective):
    """Show the code of ``{library} vectorized.attention`` without its docstring."""

    required_arguments = 1

    def run(self):
        """Return the code as a highlighted block."""
        name = self.arguments[0]
        try:
            code = library_code.code_of(name)
        except ValueError as wrong:
            raise self.error(str(wrong)) from None
        self.env.note_dependency(str(library_code.module_path(name)))
        block = nodes.literal_block(code, code, language="python")
        file = Path("mha_lessons", library_code.module_path(name).name)
        caption = nodes.caption("", "", nodes.literal("", file.as_posix()))
        return [
            nodes.container(
                "", caption, block, classes=["literal-block-wrapper"], literal_block=True
            )
        ]


def setup(app):
    """Add the directive."""
    app.add_directive("library", Library)
