"""axe-core, which judges whether everybody can read and use a page."""

import functools
from importlib.util import find_spec
from pathlib import Path

import live_page

# Best practice is judged too. The strokes of an equation are left out: nothing in there has a
# name, a role or a text of its own.
RUN = """
async ([part, colours]) => {
    const results = await axe.run(
        {include: [[part]], exclude: [["mjx-container svg > *"]]},
        {
            resultTypes: ["violations"],
            preload: false,
            selectors: false,
            ...(colours
                ? {runOnly: ["color-contrast", "link-in-text-block"]}
                : {rules: {"color-contrast": {enabled: false}}}),
        },
    );
    return results.violations.flatMap(v => v.nodes.map(n =>
        `${v.id}: ${n.html}: ${n.failureSummary.replace(/\\s+/g, " ")}`));
}
"""
# Measuring contrast takes ten times as long as all other rules. Texts that have the same element,
# class, size and colour on the same grounds have the same contrast: one of them is measured.
SAMPLE = """
part => {
    const seen = new Set();
    const grounds = new Map();
    const ground = e => {
        if (!e) return "";
        if (!grounds.has(e)) {
            const {backgroundColor, backgroundImage, opacity} = getComputedStyle(e);
            const own = [backgroundColor, backgroundImage, opacity];
            grounds.set(e, `${own} ${ground(e.parentElement)}`);
        }
        return grounds.get(e);
    };
    for (const e of document.querySelectorAll("[data-sample]")) e.removeAttribute("data-sample");
    for (const e of document.querySelector(part).querySelectorAll("*")) {
        if (![...e.childNodes].some(n => n.nodeType === Node.TEXT_NODE && n.data.trim())) continue;
        if (!e.checkVisibility({visibilityProperty: true})) continue;
        const {color, fontSize, fontWeight} = getComputedStyle(e);
        const key = [e.localName, e.className, color, fontSize, fontWeight, ground(e)].join();
        if (!seen.has(key)) e.setAttribute("data-sample", "");
        seen.add(key);
    }
    axe.configure({rules: [{id: "color-contrast", selector: "[data-sample]"}]});
    return seen.size;
}
"""
STILL = "*, *::before, *::after { transition: none !important; animation: none !important }"


@functools.cache
def source():
    """Return the source of axe-core, from the package that carries it."""
    (folder,) = find_spec("axe_playwright_python").submodule_search_locations
    return Path(folder, "axe.min.js").read_text(encoding="utf-8")


def bring(page):
    """Wait for the equations, stop what moves, and bring axe-core into the page."""
    live_page.wait_for_equations(page)
    if not page.evaluate("'axe' in window"):
        page.add_style_tag(content=STILL)
        page.evaluate(source())


def faults(page, part="html"):
    """Return what every rule but contrast finds in a part of the page."""
    bring(page)
    return page.evaluate(RUN, [part, False])


def faint(page, part="html"):
    """Return the texts and links of a part that stand out too little."""
    bring(page)
    assert page.evaluate(SAMPLE, part) > 0
    return page.evaluate(RUN, [part, True])
