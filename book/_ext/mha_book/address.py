"""Which buttons the pages carry follows from the repository's address, and from nothing else."""

from urllib.parse import urlsplit

import repository
from sphinx.util import logging

log = logging.getLogger(__name__)

ADDRESS_OPTIONS = (
    "repository_url",
    "launch_buttons",
    "use_repository_button",
    "use_issues_button",
    "use_source_button",
)


def follow_address(app, config):
    """Keep the buttons that the address can serve."""
    options = config.html_theme_options
    url = options.get("repository_url", repository.PLACEHOLDER)
    if repository.is_placeholder(url):
        for option in ADDRESS_OPTIONS:
            options.pop(option, None)
        log.info(
            "The repository's address is not set, so the pages have no Colab, Binder or source"
            f" buttons. Set it with: {repository.HOW_TO_SET}"
        )
    elif urlsplit(url).hostname != "github.com":
        # Colab opens GitHub only, and the theme knows the file views of few hosts. The address
        # itself and Binder serve any Git host.
        options["launch_buttons"].pop("colab_url", None)
        options["use_source_button"] = False
        options["repository_provider"] = "github"


def setup(app):
    """Decide before the theme reads its options."""
    app.connect("config-inited", follow_address, priority=400)
