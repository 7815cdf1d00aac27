/* What every live figure shares: numbers, their text, their shades, tables, controls, hosts.
 *
 * One source for two hosts. On a static page this is a classic script (no module, no network, so it
 * also runs from file://), loaded before the script of each figure. In Jupyter mha_lessons.widgets
 * puts this text before the figure's, appends an `export`, and hands it to anywidget. The looks are
 * in live_figure.css, the colours in palette.css. A figure calls `mhaLive.define`, at the end of
 * this file.
 */
(function (root) {
  "use strict";

  // ==================================================================================== numbers

  const sum = (row) => row.reduce((total, x) => total + x, 0);
  const dot = (a, b) => sum(a.map((x, m) => x * b[m]));
  const transpose = (A) => A[0].map((_, j) => A.map((row) => row[j]));
  const matmul = (A, B) => A.map((row) => transpose(B).map((column) => dot(row, column)));

  /** softmax(s)_j = exp(s_j) / sum_l exp(s_l); the largest score is taken out first, so that
   *  exp cannot overflow. A row of nothing but -Infinity gets zeros. */
  function softmax(scores) {
    const largest = Math.max(...scores);
    if (largest === -Infinity) return scores.map(() => 0);
    const exps = scores.map((score) => Math.exp(score - largest));
    return exps.map((x) => x / sum(exps));
  }

  // The twin of mha_lessons/toy.py: a head of small integers. They are made up: embeddings are
  // pseudo-random, projections arbitrary.

  const D_MODEL = 6;
  const W_Q = [[0, 0, 0, -1], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [-1, 1, 0, 0], [0, 0, 1, 1]];
  const W_K = [[0, -1, 0, 1], [0, 0, 1, 1], [0, 0, 0, 0], [0, -1, 0, 0], [-1, 0, 1, 0], [-1, 0, 0, 0]];
  const W_V = [[-1, 0, 0], [0, 0, 0], [0, -1, 1], [0, 0, 0], [0, 0, 1], [1, -1, 0]];

  /** FNV-1a, 32 bits. */
  function hash(word) {
    return new TextEncoder().encode(word)
      .reduce((value, byte) => Math.imul(value ^ byte, 0x01000193) >>> 0, 0x811c9dc5);
  }

  /** The base-3 digits of a word's hash, less 1: features from {-1, 0, 1}. */
  function embed(word) {
    return Array.from({ length: D_MODEL }, (_, m) => Math.floor(hash(word) / 3 ** m) % 3 - 1);
  }

  /** Q = x W_Q (T, 4), K = x W_K (T, 4), V = x W_V (T, 3) */
  function toyHead(tokens) {
    const x = tokens.map(embed);
    const [Q, K, V] = [W_Q, W_K, W_V].map((W) => matmul(x, W));
    return { Q, K, V };
  }

  // ======================================================================================= text

  const minus = (text) => text.replace("-", "\u2212");
  /** Two decimals, a true minus sign, no minus zero. */
  const fixed = (x, digits = 2) =>
    minus((Number(x.toFixed(digits)) === 0 ? 0 : x).toFixed(digits));
  /** At most five characters, so that eight columns fit a phone. */
  const score = (x) => x === -Infinity ? "\u2212\u221e"
    : fixed(x, Math.abs(x) < 9.995 ? 2 : Math.abs(x) < 99.95 ? 1 : 0);
  const integer = (x) => minus(String(x));
  const signed = (x) => (x < 0 ? "\u2212 " : "+ ") + fixed(Math.abs(x));
  /** A positive number of any size: 0.5, 1.2e5, 4.5e-5. */
  const large = (x) => (x === 0 || (x >= 0.005 && x < 9999.995) ? fixed(x)
    : minus(x.toExponential(1).replace("e+", "e")));

  // ===================================================================================== colour

  const hexToRgb = (text) => (/^#[0-9a-f]{6}$/i.test(text.trim())
    ? [1, 3, 5].map((at) => parseInt(text.trim().slice(at, at + 2), 16)) : null);

  /** Both ends of the weight scale, from palette.css; greys where that is missing. */
  function weightScale(node) {
    const style = getComputedStyle(node);
    return [hexToRgb(style.getPropertyValue("--mha-weight-0")) || [255, 255, 255],
      hexToRgb(style.getPropertyValue("--mha-weight-1")) || [0, 0, 0]];
  }

  /** WCAG 2 relative luminance. */
  function luminance(rgb) {
    const [r, g, b] = rgb.map((c) => c / 255)
      .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }

  /** Ground for a weight, and black or white text on it, whichever stands out more (>= 4.58:1). */
  function shade(weight, [from, to]) {
    const rgb = from.map((c, i) => Math.round(c + (to[i] - c) * weight));
    const light = luminance(rgb) + 0.05;
    return `background:rgb(${rgb});color:${light / 0.05 > 1.05 / light ? "#000" : "#fff"}`;
  }

  // =================================================================================== elements
  // Each part is built once and redrawn in place, so that focus stays where the reader put it.

  /** element("p", {class: "x", onclick: f}, "text", child) */
  function element(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    change(node, attributes);
    node.append(...children);
    return node;
  }

  /** Set attributes, listeners (on...) and text; null removes an attribute. */
  function change(node, attributes) {
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "text") node.textContent = value;
      else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (value === null) node.removeAttribute(name);
      else node.setAttribute(name, value);
    }
  }

  const classes = (...names) => names.filter(Boolean).join(" ");
  /** A word in the colour of what it is: query, key, value, output. */
  const word = (kind, text) => element("b", { class: "mha-name mha-" + kind, title: text }, text);
  /** math(["i", "Q", "query"], " / ", ["sub", "k"]): a formula of [tag, text, colour] and texts. */
  const math = (...parts) => parts.map((part) => {
    const [tag, text, kind] = Array.isArray(part) ? part : ["span", part];
    return element(tag, kind ? { class: "mha-" + kind } : {}, text);
  });
  const hint = (...text) => element("p", { class: "mha-hint" }, ...text);

  /** One numbered step of an equation: its title, its formula, its table. */
  function stage(number, title, formula, ...children) {
    return element("section", { class: "mha-stage mha-stage-" + number },
      element("p", { class: "mha-step" },
        element("span", { class: "mha-number", "aria-hidden": "true" }, String(number)),
        element("b", {}, title), " ", element("span", { class: "mha-formula" }, ...formula)),
      ...children);
  }

  // =================================================================================== matrices

  const sameWords = (a, b) => a.length === b.length && a.every((text, i) => text === b[i]);

  /** A table whose rows are queries and whose columns are keys.
   *
   *  matrix({ class: "mha-weights", "aria-label": "Weights" }, { pick, withSums: true })
   *
   *  fit(queries, keys) builds it where the words are new; then `cells[i][j]`, `rows[i]`,
   *  `columns[j]` and `sums[i]` are its nodes. `pick(i, j)` hears clicks. */
  function matrix(attributes, { pick, role, withSums, ofSums = "sum" } = {}) {
    const node = element("table",
      { ...attributes, class: classes("mha-matrix", attributes.class) });
    const self = { node, queries: [], keys: [], rows: [], columns: [], cells: [], sums: [] };
    const heading = (scope) => (text) =>
      element("th", { scope, class: "mha-word", title: text }, text);

    self.fit = (queries, keys = queries) => {
      if (sameWords(self.queries, queries) && sameWords(self.keys, keys)) return;
      Object.assign(self, {
        queries, keys,
        rows: queries.map(heading("row")),
        columns: keys.map(heading("col")),
        cells: queries.map((_, i) => keys.map((_, j) => element("td",
          { ...(role && { role }), ...(pick && { onclick: () => pick(i, j) }) }))),
        sums: queries.map(() => element("td", { class: "mha-sum" })),
      });
      const top = element("tr", {},
        element("th", { class: "mha-axis mha-query", rowspan: 2, scope: "col" }, "query (reads)"),
        element("th", { class: "mha-axis mha-key", colspan: keys.length, scope: "colgroup" },
          "key (is read)"));
      if (withSums)
        top.append(element("th", { class: "mha-axis", rowspan: 2, scope: "col" }, ofSums));
      node.replaceChildren(
        element("thead", {}, top, element("tr", {}, ...self.columns)),
        element("tbody", {}, ...queries.map((_, i) => element("tr", {},
          self.rows[i], ...self.cells[i], ...(withSums ? [self.sums[i]] : [])))));
    };

    /** Show on the words which query and which key are selected. */
    self.mark = (query, key) => {
      self.rows.forEach((th, i) =>
        change(th, { class: classes("mha-word", i === query && "mha-on mha-query") }));
      self.columns.forEach((th, j) =>
        change(th, { class: classes("mha-word", j === key && "mha-on mha-key") }));
    };
    return self;
  }

  const MOVES = {
    ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
    Home: [0, -Infinity], End: [0, Infinity],
  };
  const isShortcut = (event) => event.ctrlKey || event.metaKey || event.altKey;

  /** A matrix under the keyboard: arrow keys move the selection (state.query, state.key), which has
   *  the focus. `press(key, held)` hears the other keys, and returns true for those it used; `held`
   *  is whether the key repeats itself. `pick(i, j)` hears clicks, and selects the cell unless it is
   *  given. */
  function grid(figure, attributes, { press, pick } = {}) {
    const self = matrix(
      { ...attributes, role: "grid", onkeydown: onKey },
      { role: "gridcell", pick: pick || ((i, j) => figure.set({ query: i, key: j })) },
    );

    function onKey(event) {
      if (isShortcut(event)) return;
      const { query, key } = figure.state();
      const inside = (at, words) => Math.max(0, Math.min(words.length - 1, at));
      if (event.key in MOVES) {
        const [down, right] = MOVES[event.key];
        figure.set({ query: inside(query + down, self.queries), key: inside(key + right, self.keys) });
      } else if (!press?.(event.key, event.repeat)) return;
      event.preventDefault();
    }

    /** draw(queries, keys, state, cell): `cell(i, j)` returns the attributes of one cell. */
    self.draw = (queries, keys, state, cell) => {
      const hadFocus = self.node.contains(figure.focused());
      self.fit(queries, keys);
      self.mark(state.query, state.key);
      self.cells.forEach((row, i) => row.forEach((td, j) => {
        const on = i === state.query && j === state.key, attributes = cell(i, j);
        change(td, {
          ...attributes,
          class: classes("mha-cell", on && "mha-on", i === state.query && "mha-row", attributes.class),
          tabindex: on ? 0 : -1,
          "aria-selected": String(on),
        });
        if (on && hadFocus) td.focus();
      }));
    };
    return self;
  }

  // =================================================================================== controls
  // Each has `node` and `draw(state)`. An id joins a label to its input, once per figure.

  /** slider(figure, { name: "temperature", label: "Temperature", min: 0.1, max: 10, step: 0.1 })
   *  `text(value)` is what the reader sees; `changes(value)` is what a move sets. */
  function slider(figure, {
    name, label, about, min, max, step = 1, text = fixed,
    changes = (value) => ({ [name]: value }), ...more
  }) {
    const id = figure.id + "-" + name;
    const shown = element("output", { for: id, "aria-live": "off" }); // the slider says it already
    const input = element("input", {
      type: "range", id, min, max, step, ...more,
      oninput: () => figure.set(changes(Number(input.value))),
    });
    return {
      input,
      node: element("div", { class: "mha-field" },
        element("label", { for: id }, label + " ", shown), input, ...(about ? [hint(about)] : [])),
      draw(state) {
        input.value = state[name];
        shown.textContent = text(state[name]);
        input.setAttribute("aria-valuetext", text(state[name]));
      },
    };
  }

  function checkbox(figure, { name, label }) {
    const id = figure.id + "-" + name;
    const input = element("input",
      { type: "checkbox", id, onchange: () => figure.set({ [name]: input.checked }) });
    return {
      input,
      node: element("label", { class: "mha-check", for: id }, input, label),
      draw(state) { input.checked = state[name]; },
    };
  }

  /** One of several: choice(figure, { name: "wrong", label: "Mistake", options: [["no", "none"]] })
   *  An option is [value, text, whyNot]; one with a reason cannot be chosen, and the reason is its
   *  title. `draw(state, options)` may bring other options; `changes(value)` is what a choice sets. */
  function choice(figure,
    { name, label, about, options, changes = (value) => ({ [name]: value }) }) {
    const id = figure.id + "-" + name, group = element("div", { class: "mha-options" });
    let built = null, inputs = [];

    function fit(options) {
      const now = JSON.stringify(options);
      if (now === built) return;
      built = now;
      inputs = options.map(([value, , whyNot]) => element("input", {
        type: "radio", name: id, value, ...(whyNot && { disabled: "" }),
        onchange: () => figure.set(changes(value)),
      }));
      group.replaceChildren(...options.map(([, text, whyNot], i) =>
        element("label", { class: "mha-option", ...(whyNot && { title: whyNot }) }, inputs[i], text)));
    }
    return {
      node: element("fieldset", { class: "mha-choice" },
        element("legend", {}, label), group, ...(about ? [about] : [])),
      draw(state, now = options) {
        fit(now);
        inputs.forEach((input, i) => { input.checked = now[i][0] === state[name]; });
      },
    };
  }

  const button = (text, onclick, attributes = {}) =>
    element("button", { type: "button", onclick, ...attributes }, text);

  // ===================================================================================== figure

  const PAUSE = 250; // milliseconds
  let count = 0;

  /** Build a figure in `host`. A store has get(), set(changes) and subscribe(f), which returns its
   *  undo. What `plan` holds is said at `define`. */
  function mount(host, store, plan) {
    const initial = store.get(), tidy = plan.tidy || ((state) => state);
    const figure = {
      id: plan.tag + "-" + ++count,
      state: () => tidy(store.get()),
      set: (changes) => store.set(tidy({ ...store.get(), ...changes })),
      reset: () => store.set(initial),
      focused: () => host.getRootNode().activeElement,
    };
    const { nodes, draw, say } = plan.build(figure);
    const status = element("p", { class: "mha-only-heard", role: "status" });
    const body = element("div", {
      class: "mha-live " + plan.tag, role: "group", "aria-label": plan.label,
      // JupyterLab listens to bare keys (arrows, 0, +) on the document: they stay in here.
      "data-lm-suppress-shortcuts": "true",
      onkeydown: (event) => { if (!isShortcut(event)) event.stopPropagation(); },
    }, ...nodes, status);

    let last = null, speaking = null;
    /** Once the reader pauses: a key that is held, or a slider that is dragged, is one change. */
    function speak(words) {
      clearTimeout(speaking);
      speaking = setTimeout(() => { status.textContent = words; }, PAUSE);
    }
    function redraw() {
      const state = figure.state(), result = plan.compute(state);
      for (const [name, value] of Object.entries(plan.data?.(state) || {}))
        for (const node of [host, body]) {
          node.dataset[name] = value;
          node.style.setProperty("--mha-" + name, value);
        }
      draw({ state, result, scale: weightScale(host) });
      const now = { ...state, ...result };
      const words = last && say?.(now, last);
      if (words) speak(words);
      last = now;
    }

    host.classList.add("mha-figure");
    host.replaceChildren(body);
    const unsubscribe = store.subscribe(redraw);
    redraw();
    // A notebook may draw before it shows the figure; the palette is known from then on.
    const shown = new ResizeObserver(() => { shown.disconnect(); redraw(); });
    if (!host.isConnected) shown.observe(body);
    return {
      result: () => last,
      destroy() {
        unsubscribe();
        shown.disconnect();
        clearTimeout(speaking);
        host.replaceChildren();
      },
    };
  }

  // ====================================================================================== hosts

  /** On a static page: the state lives in the page. */
  function pageStore(state) {
    const listeners = new Set();
    return {
      get: () => state,
      set(changes) { state = { ...state, ...changes }; listeners.forEach((f) => f()); },
      subscribe(f) { listeners.add(f); return () => listeners.delete(f); },
    };
  }

  /** In Jupyter: the state lives in the kernel, as traits of a widget. */
  function modelStore(model, names) {
    return {
      get: () => Object.fromEntries(names.map((name) => [name, model.get(name)])),
      set(changes) {
        for (const [name, value] of Object.entries(changes)) model.set(name, value);
        model.save_changes();
      },
      subscribe(f) {
        names.forEach((name) => model.on("change:" + name, f));
        return () => names.forEach((name) => model.off("change:" + name, f));
      },
    };
  }

  /** Make a figure known to both hosts. Its plan:
   *
   *  tag       the custom element, "mha-attention-lab"; its content has this name as its class
   *  label     what a screen reader calls the figure
   *  defaults  the state of an element without `config`; in Jupyter its names are the traits
   *  compute   state -> the numbers, without drawing
   *  build     figure -> { nodes, draw({ state, result, scale }), say(now, last) }: what stands in
   *            the figure, how it follows the state, and what is read aloud after a change (or
   *            nothing). `figure` has id, state(), set(changes), reset() and focused().
   *  tidy      optional: state -> a state that fits together
   *  data      optional: state -> what the styles need: { tokens: 4 } is there as data-tokens and
   *            as --mha-tokens
   *
   *  Returns `render`, which anywidget calls. On the element, `result()` returns the state and the
   *  computed numbers at full precision. */
  function define(plan) {
    if (root.customElements && !root.customElements.get(plan.tag)) {
      root.customElements.define(plan.tag, class extends root.HTMLElement {
        connectedCallback() {
          // Once: a node that is moved keeps its figure. What stood inside, a table, makes room.
          this.live ||= mount(this,
            pageStore({ ...plan.defaults, ...JSON.parse(this.getAttribute("config") || "{}") }), plan);
        }

        result() { return this.live.result(); }
      });
    }
    return ({ model, el }) => {
      const host = element("div");
      el.append(host);
      return mount(host, modelStore(model, Object.keys(plan.defaults)), plan).destroy;
    };
  }

  root.mhaLive = {
    sum, dot, transpose, matmul, softmax, toyHead,
    minus, fixed, score, integer, signed, large,
    shade,
    element, change, classes, word, math, hint, stage,
    matrix, grid, slider, checkbox, choice, button,
    define,
  };
})(globalThis);
