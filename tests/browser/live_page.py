"""Live figures on a page of their own, and what a test asks of each of them."""

from built_book import site

from mha_lessons.widgets import STATIC

# A page as the book makes it, without the book.
HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>A lab</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<script>document.documentElement.dataset.theme =
  matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";</script>
<style>
  html { color-scheme: light dark; }
  html[data-theme="dark"] { background: #121212; color: #ced6dd; }
  body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.6 sans-serif; }
</style>
"""


def write(path, figures, script=True):
    """Write a page with these figures, their style sheets and their scripts; return its address."""
    names = ["live_figure", *dict.fromkeys(f._tag[4:].replace("-", "_") for f in figures)]
    return lay(path, names, "".join(figure.static_html() for figure in figures), script)


def lay(path, names, body, script=True):
    """Write a page with this body, and with the style sheets and scripts of these names."""
    assets = [
        f'<link rel="stylesheet" href="{(STATIC / name).as_uri()}">'
        for name in ("palette.css", *(f"{name}.css" for name in names))
    ]
    if script:
        assets += [
            f'<script defer src="{(STATIC / f"{name}.js").as_uri()}"></script>' for name in names
        ]
    path.write_text(
        f"{HEAD}{''.join(assets)}</head><body><main><p>Before.</p>{body}<p>After.</p></main>"
        "</body></html>",
        encoding="utf-8",
    )
    return path.as_uri()


def chapter(name):
    """Return the address of a chapter of the built book."""
    return (site() / "book" / f"{name}.html").as_uri()


def wait_for_equations(page):
    """Wait until MathJax has drawn the equations of a page of the book, where it has any."""
    page.wait_for_function("!document.documentElement.matches('.mha-typesetting')")


# figure.evaluate(CONTRASTS): the contrast of each text of the figure with its ground, lowest first.
CONTRASTS = """lab => {
  const parse = (text) => {
    const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number);
    return { rgb: [r, g, b], a };
  };
  const luminance = (rgb) => rgb.map((c) => c / 255)
    .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const { rgb, a } = parse(getComputedStyle(e).backgroundColor);
      if (a === 1) return rgb;
    }
    return [255, 255, 255];
  };
  const texts = document.createTreeWalker(lab, NodeFilter.SHOW_TEXT), found = [];
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const e = text.parentElement;
    if (!text.data.trim() || !e.checkVisibility() || e.closest("[aria-disabled]")) continue;
    const [x, y] = [parse(getComputedStyle(e).color).rgb, ground(e)].map(luminance);
    found.push([(Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05), text.data]);
  }
  return found.sort((a, b) => a[0] - b[0]);
}"""


# Every control, table and group of a figure must have one.
NAMES = """figure => [...figure.querySelectorAll(
  "input, select, button, table, output, [role=img], [role=group], [role=grid]"
)].map((e) => [e.outerHTML.slice(0, 120),
  (e.ariaLabel || e.labels?.[0]?.textContent || e.textContent).trim()])"""


# page.evaluate(HEARD): from now on window.heard lists what live regions would say.
HEARD = """() => {
  window.heard = [];
  const live = 'output, [role="status"], [role="alert"], [aria-live]';
  new MutationObserver((changes) => changes.forEach(({ target }) => {
    const region = (target.closest ? target : target.parentElement)?.closest(live);
    if (region && region.ariaLive !== "off") window.heard.push(region.textContent);
  })).observe(document.body, { childList: true, characterData: true, subtree: true });
}"""


# A script to run first: it counts shifts, and keeps the figure from starting.
SHIFTS = """
  window.shift = 0;
  new PerformanceObserver((list) => list.getEntries().forEach((e) => { window.shift += e.value; }))
    .observe({ type: "layout-shift", buffered: true });
  // The page is painted without its elements until the test starts them.
  const waiting = [], define = customElements.define.bind(customElements);
  customElements.define = (...all) => waiting.push(() => define(...all));
  window.startFigure = () => waiting.splice(0).forEach((start) => start());
"""


def assert_starts_in_place(page):
    """Start the figure of a page opened with `before=SHIFTS`: nothing moves, nothing grows."""
    measure = "() => [window.shift, document.documentElement.scrollHeight]"
    assert page.locator(".mha-figure .mha-live").count() == 0  # the tables stand there first
    wait_for_equations(page)  # they move what is below them, which is not our matter here
    page.locator(".mha-figure").first.evaluate("figure => figure.scrollIntoView()")
    page.wait_for_timeout(500)
    shift, height = page.evaluate(measure)
    page.evaluate("window.startFigure()")
    page.locator(".mha-figure .mha-live").first.wait_for()
    page.wait_for_timeout(200)
    shift_after, height_after = page.evaluate(measure)
    assert shift_after - shift < 0.02
    assert abs(height_after - height) < 32  # two lines of text, whatever the font


# page.evaluate(MODEL, [widget._esm, state]): the figure as anywidget runs it, on a model whose
# `sent` lists what the kernel would get.
MODEL = """([esm, state]) => {
  const listeners = {};
  window.model = {
    sent: [], changed: {},
    get: (name) => state[name],
    set(name, value) {
      if (JSON.stringify(state[name]) === JSON.stringify(value)) return;
      state[name] = this.changed[name] = value;
      (listeners["change:" + name] || []).forEach((f) => f());
    },
    save_changes() { this.sent.push(this.changed); this.changed = {}; },
    on(event, f) { (listeners[event] ||= []).push(f); },
    off(event, f) { listeners[event] = listeners[event].filter((g) => g !== f); },
    heard: () => Object.values(listeners).flat().length,
  };
  const source = URL.createObjectURL(new Blob([esm], { type: "text/javascript" }));
  return import(source).then((module) => {
    const el = document.createElement("div");
    window.leave = module.default.render({ model, el });
    document.querySelector("main").replaceChildren(el); // a notebook may draw before it shows
  });
}"""


# page.evaluate(CHANGE, state): what the kernel sends to the model of MODEL.
CHANGE = "state => Object.entries(state).forEach(([name, value]) => model.set(name, value))"
