"""Pages that are listened to: what they ask of other hosts, and what they say."""

import contextlib
import re

LOCAL = re.compile(r"(file|data|blob|about):|http://(127\.0\.0\.1|localhost)[:/]")
# Reports of the theme and of an extension on pages of the book.
CHATTER = re.compile(r"\[PST\]: (?:Changed to|Scrolled sidebar) |\[togglebutton\]: Adding ")


@contextlib.contextmanager
def watched(browser):
    """A factory of pages; `page.heard` and `page.outside` list what must be empty at the end."""
    contexts, heard, outside = [], [], []

    def route(route):
        if LOCAL.match(route.request.url):
            route.continue_()
        else:
            outside.append(route.request.url)
            route.abort()

    def hear(message):
        if not CHATTER.match(message.text):
            heard.append(f"{message.type}: {message.text}")

    def open_page(url, *, width=1200, dark=False, before=None, logs=False, **more):
        """Open `url`; `before` is a script to run first, `more` goes to browser.new_context."""
        phone = width < 500
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            # The theme follows it. An init script that stores the theme would now and then make
            # Chromium forget at a reload what the page has stored.
            color_scheme="dark" if dark else "light",
            has_touch=phone,
            is_mobile=phone,
            **more,
        )
        contexts.append(context)
        context.route("**/*", route)
        if before:
            context.add_init_script(before)
        page = context.new_page()
        page.heard, page.outside = heard, outside
        page.on("console", lambda m: None if logs and m.type == "log" else hear(m))
        page.on("pageerror", lambda error: heard.append(f"uncaught: {error}"))
        page.goto(url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not outside, f"the page asked for {outside}"
    assert not heard, f"the page said {heard}"
