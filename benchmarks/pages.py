"""How soon a page of the built book can be read and used, in Chromium, without throttling.

make book && python -m benchmarks.pages [PAGE ...]

Medians of five visits, in milliseconds from the start of the navigation, with an empty cache:
`painted` is the first paint with content, `readable` is when the text is shown in its final
place, equations drawn, `interactive` is the end of the last task over 50 ms, or `readable` where
that is later. `MB` is what the page loads, uncompressed.
"""

import functools
import http.server
import statistics
import sys
import threading

import yaml

sys.path.insert(0, "tools")

from chromium import ROOT, SITE, chromium

VISITS = 5
WATCH = """
    window.lastTask = 0;
    new PerformanceObserver(list => {
        for (const task of list.getEntries()) window.lastTask = task.startTime + task.duration;
    }).observe({type: "longtask", buffered: true});
    document.addEventListener("DOMContentLoaded", () => {
        const html = document.documentElement;
        const look = () => {
            if (html.matches(".mha-typesetting")) requestAnimationFrame(look);
            else window.readable = performance.now();
        };
        look();
    });
"""
READ = """
() => ({
    painted: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0,
    readable: window.readable,
    interactive: Math.max(window.readable, window.lastTask),
    MB: ["navigation", "resource"].flatMap(type => performance.getEntriesByType(type))
        .reduce((sum, entry) => sum + entry.decodedBodySize, 0) / 1e6,
})
"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serve without a line per request."""

    def log_message(self, *arguments):
        """Say nothing."""


def visit(browser, url):
    """Open a page in a fresh profile and return its times."""
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    context.add_init_script(WATCH)
    page = context.new_page()
    page.goto(url, wait_until="load")
    page.wait_for_function("window.readable")
    page.wait_for_timeout(500)
    times = page.evaluate(READ)
    context.close()
    return times


def main(names):
    """Print a table of pages."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    pages = [toc["root"], *(c["file"] for part in toc["parts"] for c in part["chapters"])]
    handler = functools.partial(Quiet, directory=SITE)
    with (
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server,
        chromium() as browser,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(f"{'page':34}{'painted':>9}{'readable':>9}{'interactive':>12}{'MB':>6}")
        for name in names or pages:
            url = f"http://127.0.0.1:{server.server_port}/{name}.html"
            visits = [visit(browser, url) for _ in range(VISITS)]
            row = {key: statistics.median(v[key] for v in visits) for key in visits[0]}
            print(
                f"{name:34}{row['painted']:9.0f}{row['readable']:9.0f}{row['interactive']:12.0f}"
                f"{row['MB']:6.2f}"
            )
        server.shutdown()


if __name__ == "__main__":
    main(sys.argv[1:])
