/* One attention head, live: <mha-attention-lab config='{"tokens": ["the", "cat"]}'>.
 *
 * One source for two hosts. On a static page this is a classic script (no module, no network, so it
 * also runs from file://) that defines a custom element. In Jupyter mha_lessons.widgets appends an
 * `export` and hands the same text to anywidget. The looks are in attention_lab.css, the colours in
 * palette.css.
 */
(function (root) {
  "use strict";

  // ==================================================================================== numbers
  // The twin of mha_lessons/toy.py, step by step; tests/test_live_figure.py compares the two.
  // The numbers are made up: embeddings are pseudo-random, projections arbitrary small integers.

  const D_MODEL = 6, D_K = 4;
  const W_Q = [[0, 0, 0, -1], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [-1, 1, 0, 0], [0, 0, 1, 1]];
  const W_K = [[0, -1, 0, 1], [0, 0, 1, 1], [0, 0, 0, 0], [0, -1, 0, 0], [-1, 0, 1, 0], [-1, 0, 0, 0]];
  const W_V = [[-1, 0, 0], [0, 0, 0], [0, -1, 1], [0, 0, 0], [0, 0, 1], [1, -1, 0]];

  const MOST_TOKENS = 8, MOST_EDIT = 10, STEP = 0.5;
  const DEFAULTS = {
    tokens: ["the", "cat", "sat", "down"], temperature: 1, causal: false,
    edits: [], // [query, key, what to add to that score]
    query: 1, key: 2,
  };

  const sum = (row) => row.reduce((total, x) => total + x, 0);
  const dot = (a, b) => sum(a.map((x, m) => x * b[m]));
  const transpose = (A) => A[0].map((_, j) => A.map((row) => row[j]));
  const matmul = (A, B) => A.map((row) => transpose(B).map((column) => dot(row, column)));

  /** FNV-1a, 32 bits. */
  function hash(word) {
    return new TextEncoder().encode(word)
      .reduce((value, byte) => Math.imul(value ^ byte, 0x01000193) >>> 0, 0x811c9dc5);
  }

  /** The base-3 digits of a word's hash, less 1: features from {-1, 0, 1}. */
  function embed(word) {
    return Array.from({ length: D_MODEL }, (_, m) => Math.floor(hash(word) / 3 ** m) % 3 - 1);
  }

  /** softmax(s)_j = exp(s_j) / sum_l exp(s_l); the largest score is taken out first, so that
   *  exp cannot overflow. */
  function softmax(scores) {
    const largest = Math.max(...scores);
    const exps = scores.map((score) => Math.exp(score - largest));
    return exps.map((x) => x / sum(exps));
  }

  const isHidden = (state, i, j) => state.causal && j > i;
  const editOf = (state, i, j) =>
    sum(state.edits.filter(([query, key]) => query === i && key === j).map((edit) => edit[2]));

  /** weights = softmax(Q K^T / sqrt(d_k) / temperature + edits), output = weights V */
  function attend(state) {
    const x = state.tokens.map(embed);
    const [Q, K, V] = [W_Q, W_K, W_V].map((W) => matmul(x, W));
    const scores = matmul(Q, transpose(K)).map((row, i) => row.map((product, j) =>
      isHidden(state, i, j) ? -Infinity
        : product / Math.sqrt(D_K) / state.temperature + editOf(state, i, j)));
    const weights = scores.map(softmax);
    return { Q, K, V, scores, weights, output: matmul(weights, V) };
  }

  /** Keep the selection and the edits inside the grid, whatever the number of tokens. */
  function tidy(state) {
    const last = state.tokens.length - 1;
    return {
      ...state,
      edits: state.edits.filter(([query, key]) => query <= last && key <= last),
      query: Math.min(state.query, last),
      key: Math.min(state.key, last),
    };
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
  const large = (x) => x < 9999.995 ? fixed(x) : minus(x.toExponential(1).replace("e+", "e"));

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

  // ======================================================================================= view
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
  const word = (kind, text) => element("b", { class: "mha-name mha-" + kind, title: text }, text);
  const math = (...parts) => parts.map((part) => {
    const [tag, text, name] = Array.isArray(part) ? part : ["span", part];
    return element(tag, name ? { class: "mha-" + name } : {}, text);
  });

  function stage(number, title, formula, ...children) {
    return element("section", { class: "mha-stage mha-stage-" + number },
      element("p", { class: "mha-step" },
        element("span", { class: "mha-number", "aria-hidden": "true" }, String(number)),
        element("b", {}, title), " ", element("span", { class: "mha-formula" }, ...formula)),
      ...children);
  }

  /** Rows are queries, columns are keys; `withSums` adds the sum of each row. */
  function buildMatrix(table, tokens, { role, withSums, pick }) {
    const columns = tokens.map((text) =>
      element("th", { scope: "col", class: "mha-word", title: text }, text));
    const rows = tokens.map((text) =>
      element("th", { scope: "row", class: "mha-word", title: text }, text));
    const cells = tokens.map((_, i) => tokens.map((_, j) =>
      element("td", { ...(role && { role }), onclick: () => pick(i, j) })));
    const sums = tokens.map(() => element("td", { class: "mha-sum" }));
    const top = element("tr", {},
      element("th", { class: "mha-axis mha-query", rowspan: 2, scope: "col" }, "query (reads)"),
      element("th", { class: "mha-axis mha-key", colspan: tokens.length, scope: "colgroup" },
        "key (is read)"));
    if (withSums) top.append(element("th", { class: "mha-axis", rowspan: 2, scope: "col" }, "sum"));
    table.replaceChildren(
      element("thead", {}, top, element("tr", {}, ...columns)),
      element("tbody", {}, ...tokens.map((_, i) =>
        element("tr", {}, rows[i], ...cells[i], ...(withSums ? [sums[i]] : [])))));
    return { columns, rows, cells, sums, tokens };
  }

  const sameWords = (a, b) => a.length === b.length && a.every((text, i) => text === b[i]);

  /** Show which query and which key are selected, on the words of a matrix. */
  function markWords(matrix, state) {
    matrix.rows.forEach((th, i) =>
      change(th, { class: classes("mha-word", i === state.query && "mha-on mha-query") }));
    matrix.columns.forEach((th, j) =>
      change(th, { class: classes("mha-word", j === state.key && "mha-on mha-key") }));
  }

  function controls(lab) {
    const id = lab.id;
    const hint = element("p", { class: "mha-hint", id: id + "-hint", "aria-live": "polite" });
    const words = element("input", {
      type: "text", id: id + "-words", autocomplete: "off", autocapitalize: "off",
      spellcheck: "false", "aria-describedby": id + "-hint",
      oninput: readWords,
      onblur: () => { words.value = lab.state().tokens.join(" "); say(0); },
    });
    const slider = element("input", {
      type: "range", id: id + "-temperature", min: 0.1, max: 10, step: 0.1,
      oninput: () => lab.set({ temperature: Number(slider.value) }),
    });
    const shown = element("output", { for: id + "-temperature" });
    const causal = element("input", {
      type: "checkbox", id: id + "-causal", onchange: () => lab.set({ causal: causal.checked }),
    });
    const reset = element("button", { type: "button", onclick: () => lab.reset() }, "Reset");

    function say(count) {
      hint.textContent = count > MOST_TOKENS ? `Only the first ${MOST_TOKENS} words are used.`
        : count === null ? "Type at least one word; the last sentence stays meanwhile."
          : `1 to ${MOST_TOKENS} words; equal words, equal numbers`;
    }
    function readWords() {
      const typed = words.value.split(/\s+/).filter(Boolean);
      say(typed.length || null);
      if (typed.length) lab.set({ tokens: typed.slice(0, MOST_TOKENS) });
    }
    say(0);
    return {
      node: element("div", { class: "mha-controls" },
        element("div", { class: "mha-field mha-words" },
          element("label", { for: id + "-words" }, "Words"), words, hint),
        element("div", { class: "mha-field" },
          element("label", { for: id + "-temperature" }, "Temperature ", shown), slider,
          element("p", { class: "mha-hint" }, "divides every score")),
        element("div", { class: "mha-switches" },
          element("label", { class: "mha-check", for: id + "-causal" }, causal, "Causal mask"), reset)),
      draw({ state }) {
        if (lab.focused() !== words) words.value = state.tokens.join(" ");
        slider.value = state.temperature;
        shown.textContent = fixed(state.temperature);
        slider.setAttribute("aria-valuetext", fixed(state.temperature));
        causal.checked = state.causal;
      },
    };
  }

  const MOVES = {
    ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
    Home: [0, -Infinity], End: [0, Infinity],
  };
  const isShortcut = (event) => event.ctrlKey || event.metaKey || event.altKey;
  const CHANGES = { "+": STEP, "=": STEP, "-": -STEP, "\u2212": -STEP, 0: 0 };

  function scoreGrid(lab) {
    const table = element("table", {
      class: "mha-matrix mha-scores", role: "grid", "aria-label": "Scores",
      "aria-describedby": lab.id + "-keys", onkeydown: onKey,
    });
    let matrix = { tokens: [] };

    function onKey(event) {
      if (isShortcut(event)) return;
      const { query, key, tokens } = lab.state();
      const inside = (at) => Math.max(0, Math.min(tokens.length - 1, at));
      if (event.key in MOVES) {
        const [down, right] = MOVES[event.key];
        lab.set({ query: inside(query + down), key: inside(key + right) });
      } else if (event.key in CHANGES) lab.nudge(CHANGES[event.key]);
      else return;
      event.preventDefault();
    }
    return {
      node: stage(1, "Scores", math(["i", "Q", "query"], ["i", "K", "key"], ["sup", "T"],
        " / \u221a", ["i", "d"], ["sub", "k"]), table),
      draw({ state, head }) {
        const hadFocus = table.contains(lab.focused());
        if (!sameWords(matrix.tokens, state.tokens))
          matrix = buildMatrix(table, state.tokens, {
            role: "gridcell", pick: (i, j) => lab.set({ query: i, key: j }),
          });
        markWords(matrix, state);
        matrix.cells.forEach((row, i) => row.forEach((cell, j) => {
          const on = i === state.query && j === state.key, hidden = isHidden(state, i, j);
          const edit = editOf(state, i, j);
          change(cell, {
            text: score(head.scores[i][j]),
            class: classes("mha-cell", on && "mha-on", i === state.query && "mha-row",
              hidden && "mha-hidden", edit !== 0 && !hidden && "mha-edited"),
            tabindex: on ? 0 : -1,
            "aria-selected": String(on),
            "aria-label": `query ${state.tokens[i]}, key ${state.tokens[j]}: ` + (hidden
              ? "hidden by the causal mask"
              : `score ${fixed(head.scores[i][j])}, weight ${fixed(head.weights[i][j])}`
                + (edit ? `, edited by ${signed(edit)}` : "")),
          });
          if (on && hadFocus) cell.focus();
        }));
      },
    };
  }

  function weightMap(lab) {
    const table = element("table", { class: "mha-matrix mha-weights", "aria-label": "Weights" });
    let matrix = { tokens: [] };
    return {
      node: stage(2, "Weights", math("softmax of each row"), table),
      draw({ state, head, scale }) {
        if (!sameWords(matrix.tokens, state.tokens))
          matrix = buildMatrix(table, state.tokens, {
            withSums: true, pick: (i, j) => lab.set({ query: i, key: j }),
          });
        markWords(matrix, state);
        matrix.cells.forEach((row, i) => row.forEach((cell, j) => change(cell, {
          text: isHidden(state, i, j) ? "0" : fixed(head.weights[i][j]),
          style: isHidden(state, i, j) ? null : shade(head.weights[i][j], scale),
          class: classes("mha-cell", i === state.query && j === state.key && "mha-on",
            i === state.query && "mha-row", isHidden(state, i, j) && "mha-hidden"),
        })));
        matrix.sums.forEach((cell, i) => change(cell, { text: fixed(sum(head.weights[i])) }));
      },
    };
  }

  /** One score, worked out in full, with buttons to change it. */
  function pairCard(lab) {
    const less = stepper("\u2212", "Lower this score by 0.5", -STEP);
    const more = stepper("+", "Raise this score by 0.5", STEP);
    const undo = stepper("undo", "Undo the edit of this score", 0);
    const shown = element("output");
    const vectors = element("table", { class: "mha-vectors" });
    const lines = element("div", { class: "mha-lines" });
    const title = element("p", { class: "mha-step" });

    function stepper(text, label, by) {
      return element("button",
        { type: "button", "aria-label": label, onclick: () => lab.nudge(by) }, text);
    }
    const line = (...parts) => element("p", {}, ...parts);
    const vector = (name, row, ...rest) => element("tr", {}, element("th", { scope: "row" }, ...name),
      ...row.map((x) => element("td", {}, integer(x))), ...rest);
    return {
      node: element("section", { class: "mha-stage mha-pair", "aria-label": "The selected score" },
        title,
        element("div", { class: "mha-stepper" }, less, shown, more, undo), vectors, lines),
      draw({ state, head }) {
        const { query: i, key: j, tokens, temperature } = state;
        const q = head.Q[i], k = head.K[j], products = q.map((x, m) => x * k[m] + 0);
        const hidden = isHidden(state, i, j), edit = editOf(state, i, j);
        const exps = head.scores[i].map(Math.exp);
        title.replaceChildren(element("b", {}, "One score"), " ",
          word("query", tokens[i]), " reads ", word("key", tokens[j]));
        shown.textContent = score(head.scores[i][j]);
        for (const button of [less, more]) change(button, { "aria-disabled": hidden ? "true" : null });
        change(undo, { "aria-disabled": hidden || edit === 0 ? "true" : null });
        vectors.replaceChildren(element("tbody", {},
          vector(["query ", word("query", tokens[i])], q, element("td")),
          vector(["key ", word("key", tokens[j])], k, element("td")),
          vector(["product"], products,
            element("td", {}, "sum ", element("b", {}, integer(sum(products)))))));
        lines.replaceChildren(...(hidden ? [
          line("score = \u2212\u221e: the mask hides later words"),
          line("e", element("sup", {}, "\u2212\u221e"), ` = 0, row sum ${large(sum(exps))}`),
          line(`weight = 0 / ${large(sum(exps))} = `, element("b", {}, "0")),
        ] : [
          line(`score = ${integer(sum(products))} / \u221a${D_K}`
            + (temperature === 1 ? "" : ` / ${fixed(temperature)}`)
            + (edit ? ` ${signed(edit)}` : "") + " = ",
          element("b", {}, fixed(head.scores[i][j]))),
          line("e", element("sup", {}, fixed(head.scores[i][j])),
            ` = ${large(exps[j])}, row sum ${large(sum(exps))}`),
          line(`weight = ${large(exps[j])} / ${large(sum(exps))} = `,
            element("b", {}, fixed(head.weights[i][j]))),
        ]));
      },
    };
  }

  /** A number over a bar that grows from zero in the middle; `most` fills half the cell. */
  function barCell(x, text, kind, most = 2) {
    const half = Math.min(50, 50 * Math.abs(x) / most);
    return element("td", { class: "mha-number-cell mha-" + kind }, text,
      element("i", {
        class: "mha-bar", "aria-hidden": "true",
        style: `--mha-from:${(x < 0 ? 50 - half : 50).toFixed(1)}%;--mha-length:${half.toFixed(1)}%`,
      }));
  }

  function outputTable(lab) {
    const title = element("span");
    const share = element("div", { class: "mha-share", role: "img" });
    const table = element("table", {
      class: "mha-sum-of-values", "aria-label": "Output of the selected query",
    });
    return {
      node: stage(3, "Output", [title], share, table),
      draw({ state, head, scale }) {
        const { query: i, tokens } = state, weights = head.weights[i];
        title.replaceChildren(...math("of"), " ", word("query", tokens[i]), " = \u03a3 weight \u00d7 value");
        change(share, {
          "aria-label": `The weights of ${tokens[i]} fill one bar: `
            + tokens.map((text, j) => `${text} ${fixed(weights[j])}`).join(", "),
        });
        share.replaceChildren(...weights.map((weight, j) => element("span", {
          style: `flex-grow:${weight};${shade(weight, scale)}`, title: `${tokens[j]} ${fixed(weight)}`,
          ...(weight === 0 && { hidden: "" }),
        }, weight >= 0.1 ? tokens[j] : "")));
        table.replaceChildren(
          element("thead", {}, element("tr", {},
            element("th", { scope: "col", class: "mha-key" }, "key"),
            element("th", { scope: "col" }, "weight"),
            element("th", { scope: "colgroup", colspan: 3, class: "mha-value" }, "value"),
            element("th", { scope: "colgroup", colspan: 3, class: "mha-output" }, "weight \u00d7 value"))),
          element("tbody", {}, ...tokens.map((text, j) =>
            element("tr", {},
              element("th", { scope: "row", class: "mha-word", title: text }, text),
              isHidden(state, i, j)
                ? element("td", { class: "mha-weight mha-hidden" }, "0")
                : element("td", { class: "mha-weight", style: shade(weights[j], scale) }, fixed(weights[j])),
              ...head.V[j].map((v) => barCell(v, integer(v), "value")),
              ...head.V[j].map((v) => barCell(weights[j] * v,
                isHidden(state, i, j) ? "0" : fixed(weights[j] * v), "output"))))),
          element("tfoot", {}, element("tr", {},
            element("th", { scope: "row" }, "sum"),
            element("td", { class: "mha-sum" }, fixed(sum(weights))),
            element("th", { scope: "row", colspan: 3, class: "mha-output" }, "output"),
            ...head.output[i].map((x) => barCell(x, fixed(x), "output")))));
      },
    };
  }

  let count = 0;

  /** Build a lab in `host`. A store has get(), set(changes) and subscribe(f), which returns its undo. */
  function mount(host, store) {
    const initial = store.get();
    const lab = {
      id: "mha-lab-" + ++count,
      state: () => tidy(store.get()),
      set: (changes) => store.set(tidy({ ...store.get(), ...changes })),
      reset: () => store.set(initial),
      focused: () => host.getRootNode().activeElement,
      nudge(by) {
        const state = lab.state(), { query, key } = state;
        if (isHidden(state, query, key)) return;
        const rest = state.edits.filter(([i, j]) => i !== query || j !== key);
        const amount = by && Math.max(-MOST_EDIT, Math.min(MOST_EDIT, editOf(state, query, key) + by));
        lab.set({ edits: amount ? [...rest, [query, key, amount]] : rest });
      },
    };
    const [top, scores, pair, weights, output] =
      [controls, scoreGrid, pairCard, weightMap, outputTable].map((make) => make(lab));
    const live = element("p", { class: "mha-only-heard", role: "status" });
    const body = element("div", {
      class: "mha-lab", role: "group", "aria-label": "One attention head, live",
      // JupyterLab listens to bare keys (arrows, 0, +) on the document: they stay in here.
      "data-lm-suppress-shortcuts": "true",
      onkeydown: (event) => { if (!isShortcut(event)) event.stopPropagation(); },
    },
    top.node,
    element("div", { class: "mha-stages" },
      element("div", { class: "mha-column" }, scores.node, pair.node),
      element("div", { class: "mha-column" }, weights.node, output.node)),
    element("p", { class: "mha-hint", id: lab.id + "-keys" },
      "In the scores: arrow keys move, + and \u2212 change a score by 0.5, 0 undoes."),
    element("p", { class: "mha-hint" },
      "Made-up numbers: pseudo-random embeddings (a hash of each word), arbitrary projections, no training. ",
      "The arithmetic is real; who reads whom means nothing. Shown numbers are rounded."),
    live);

    let last = null;
    function draw() {
      const state = lab.state(), head = attend(state);
      for (const node of [host, body]) node.dataset.tokens = state.tokens.length; // for the styles
      const view = { state, head, scale: weightScale(host) };
      for (const part of [top, scores, pair, weights, output]) part.draw(view);
      announce(state, head);
      last = { ...state, ...head };
    }
    // Moving is spoken by the cell that gets the focus; only changed numbers are announced.
    function announce(state, head) {
      const { query: i, key: j, tokens } = state;
      if (last && last.query === i && last.key === j)
        live.textContent = `${tokens[i]} reads ${tokens[j]}: `
          + `score ${score(head.scores[i][j])}, weight ${fixed(head.weights[i][j])}.`;
    }

    host.replaceChildren(body);
    const unsubscribe = store.subscribe(draw);
    draw();
    return { result: () => last, destroy() { unsubscribe(); host.replaceChildren(); } };
  }

  // ====================================================================================== hosts

  /** On a static page: the state lives in the page. */
  function pageStore(config) {
    let state = { ...DEFAULTS, ...config };
    const listeners = new Set();
    return {
      get: () => state,
      set(changes) { state = { ...state, ...changes }; listeners.forEach((f) => f()); },
      subscribe(f) { listeners.add(f); return () => listeners.delete(f); },
    };
  }

  /** In Jupyter: the state lives in the kernel, as traits of mha_lessons.widgets.AttentionLab. */
  function modelStore(model) {
    const names = Object.keys(DEFAULTS);
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

  /** What anywidget calls. */
  function render({ model, el }) {
    const host = element("div", { class: "mha-host" });
    el.append(host);
    return mount(host, modelStore(model)).destroy;
  }

  root.mhaAttentionLab = { attend, render };

  if (root.customElements && !root.customElements.get("mha-attention-lab")) {
    root.customElements.define("mha-attention-lab", class extends root.HTMLElement {
      connectedCallback() {
        // Once: a node that is moved keeps its lab. What stood inside, a table, makes room.
        if (!this.lab) this.lab = mount(this, pageStore(JSON.parse(this.getAttribute("config") || "{}")));
      }

      /** State, Q, K, V, scores, weights and output at full precision. */
      result() { return this.lab.result(); }
    });
  }
})(globalThis);
