/* The ledger of a layer's sizes, live: <mha-cost-ledger config='{"d_model": 512, "num_heads": 8}'>.
 * What all live figures share comes from live_figure.js, which is loaded first.
 */
(function (root) {
  "use strict";
  const { fixed, element, change, math, hint, button, define } = root.mhaLive;

  // ==================================================================================== numbers
  // The twin of mha_lessons/cost.py, for one sequence with T = S and d_k = d_v = d_model / h.
  // Every count is a whole number below 2^53, so JavaScript's is exact.

  const LONGEST = 131072, WIDEST = 16384, DEEPEST = 200, BYTES = [1, 2, 4, 8];
  const DEFAULTS = {
    T: 2048, d_model: 512, num_heads: 8,
    num_kv_heads: null, // null: as many as there are heads
    layers: 6, bytes_per_element: 2,
  };

  const divisors = (n) => Array.from({ length: n }, (_, i) => i + 1).filter((part) => n % part === 0);
  const largestUpTo = (limit, values) => Math.max(...values.filter((value) => value <= limit));

  /** Each row of the ledger, named as in mha_lessons/widgets/cost_ledger.py. */
  function count({ T, d_model, num_heads: h, num_kv_heads: h_kv, layers, bytes_per_element: b }) {
    const d_k = d_model / h, d_v = d_k, S = T;
    const stored = d_model * (h * d_k + h_kv * (d_k + d_v) + h * d_v);
    return {
      "projections to Q, K, V":
        2 * T * d_model * h * d_k + 2 * S * d_model * h_kv * d_k + 2 * S * d_model * h_kv * d_v,
      "projection W_O": 2 * T * h * d_v * d_model,
      "score products": 2 * h * T * d_k * S + 2 * h * T * S * d_v,
      "softmax, elements": h * T * S,
      "weights, if stored": h * T * S * b,
      "kept by a fused kernel": T * h * d_v * b + 4 * h * T,
      "cache of K and V": layers * S * h_kv * (d_k + d_v) * b,
      "stored parameters": stored,
      "parameters that count": stored - h_kv * (d_k ** 2 + d_v ** 2),
    };
  }

  const keyHeads = (state) => state.num_kv_heads ?? state.num_heads;

  function compute(state) {
    return {
      here: count({ ...state, num_kv_heads: keyHeads(state) }),
      one: count({ ...state, num_heads: 1, num_kv_heads: 1 }),
      // 4 T² d_model = 4 T d_model² (1 + h_kv / h)
      crossover: state.d_model + state.d_model / (state.num_heads / keyHeads(state)),
    };
  }

  /** Heads that do not divide d_model, or that cannot share their keys evenly, become fewer. */
  function tidy(state) {
    const num_heads = largestUpTo(state.num_heads, divisors(state.d_model));
    const asked = state.num_kv_heads;
    return {
      ...state, num_heads,
      num_kv_heads: asked === null ? null : largestUpTo(asked, divisors(num_heads)),
    };
  }

  // ======================================================================================= text

  /** 1 048 576, with spaces at which a line does not break. */
  const exact = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, "\u00a0");

  function short(n) {
    // 999 500 is 1.00 M already, not 1000 k.
    const step = [1, 2, 3, 4, 5].filter((k) => n >= 999.5 * 1000 ** (k - 1)).length;
    const scaled = n / 1000 ** step;
    return (step ? scaled.toFixed(scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0) : String(n))
      + "\u00a0" + ["", "k", "M", "G", "T", "P"][step];
  }
  const heads = (n) => (n === 1 ? "1 head" : `${n} heads`);

  /** A factor, however small, with two digits that are not leading zeros. */
  const times = (ratio) => (ratio < 0.0995 ? String(Number(ratio.toPrecision(2)))
    : fixed(ratio, ratio < 99.95 ? 2 : 0));

  /** How a count changes against one head: a shape, a word and a factor. */
  function compare(here, one) {
    if (here === one) return ["=", "equal"];
    const ratio = here / one, word = here > one ? "grows" : "shrinks";
    return [here > one ? "\u25b2" : "\u25bc",
      Math.abs(ratio - 1) < 0.005 ? `${word} under 1 %` : `${word}, \u00d7 ${Number.isInteger(ratio) ? exact(ratio) : times(ratio)}`];
  }

  // ======================================================================================= view

  /** A whole number: a slider over `stops`, and a field. Where only the stops are allowed, the field
   *  is a list of them; elsewhere it takes any whole number up to `most`. */
  function whole(ledger, { name, label, most, stops: fixedStops, read, write }) {
    const id = `${ledger.id}-${name}`;
    // Where anything can be typed, the rule is heard too; other advice changes with every move.
    const about = element("p",
      { class: "mha-hint", id: id + "-hint", ...(most && { "aria-live": "polite" }) });
    const say = (text) => { if (about.textContent !== text) about.textContent = text; };
    const value = read || ((state) => state[name]);
    const set = (n) => ledger.set({ [name]: write ? write(n, ledger.state()) : n });
    let stops = fixedStops || [], advice = "";

    const field = element(most ? "input" : "select", {
      id, "aria-describedby": id + "-hint", onchange: () => commit(Number(field.value)),
      ...(most && {
        type: "number", min: 1, max: most, step: 1, inputmode: "numeric", required: "",
        onblur: () => show(ledger.state()), onfocus: () => say(advice),
      }),
    });
    const slider = element("input", {
      type: "range", min: 0, step: 1, "aria-label": label, oninput: () => set(stops[slider.value]),
    });

    function commit(n) {
      const fits = Number.isInteger(n) && n >= 1 && n <= (most || WIDEST);
      change(field, { "aria-invalid": fits ? null : "true" });
      if (fits) set(n);
      else say(`A whole number from 1 to ${exact(most)}, please.`);
    }
    function show(state) {
      field.value = value(state);
      change(field, { "aria-invalid": null });
    }
    return {
      node: element("div", { class: "mha-field" },
        element("div", { class: "mha-whole" }, element("label", { for: id }, label), field),
        slider, about),
      draw(state, { text = "", stops: now = stops } = {}) {
        stops = now;
        advice = text;
        if (!most && field.dataset.stops !== String(stops)) {
          field.replaceChildren(...stops.map((n) => element("option", { value: n }, String(n))));
          field.dataset.stops = stops;
        }
        slider.max = stops.length - 1;
        slider.value = stops.indexOf(largestUpTo(Math.max(value(state), stops[0]), stops));
        change(slider, { "aria-valuetext": String(value(state)) });
        show(state);
        say(text);
      },
    };
  }

  function controls(ledger) {
    const T = whole(ledger, {
      name: "T", label: "T, length", most: LONGEST,
      stops: Array.from({ length: 18 }, (_, i) => 2 ** i),
    });
    const width = whole(ledger, {
      name: "d_model", label: "d_model", most: WIDEST,
      stops: [64, 128, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 5120, 6144, 8192, 12288, 16384],
    });
    const h = whole(ledger, { name: "num_heads", label: "h, heads" });
    const kv = whole(ledger, {
      name: "num_kv_heads", label: "Key/value heads",
      read: keyHeads, write: (n, { num_heads }) => (n === num_heads ? null : n),
    });
    const layers = whole(ledger, {
      name: "layers", label: "Layers", most: DEEPEST,
      stops: [1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 80, 96, 128, 160, 200],
    });
    const bytes = whole(ledger, { name: "bytes_per_element", label: "Bytes", stops: BYTES });
    const rule = hint();
    let last = null;
    return {
      node: element("div", { class: "mha-controls" },
        T.node, width.node, h.node, kv.node, layers.node, bytes.node,
        element("div", { class: "mha-below" }, rule, button("Reset", ledger.reset))),
      draw({ state }) {
        const { d_model, num_heads } = state, shared = num_heads / keyHeads(state);
        T.draw(state, { text: "queries, and keys" });
        width.draw(state, { text: "features of a token" });
        h.draw(state, { stops: divisors(d_model), text: `d_k = ${d_model} / ${num_heads} = ${d_model / num_heads}` });
        kv.draw(state, {
          stops: divisors(num_heads),
          text: shared === 1 ? "each head has its own" : `each serves ${heads(shared)}`,
        });
        layers.draw(state, { text: "for the cache" });
        bytes.draw(state, { text: "per element; 2: bfloat16" });
        rule.textContent = (last && notice(state, last))
          || "Only divisors are offered: h must divide d_model, so that d_k is whole, and the key and "
            + "value heads must divide h, so that each serves as many.";
        last = state;
      },
    };
  }

  /** Say which number of heads had to change with the width, or with the heads. */
  function notice(now, last) {
    if (now.num_heads !== last.num_heads && now.d_model !== last.d_model)
      return `${heads(last.num_heads)} do not divide d_model = ${now.d_model}, so there are `
        + `${heads(now.num_heads)} now.`;
    if (last.num_kv_heads !== null && now.num_kv_heads !== last.num_kv_heads
        && now.num_heads !== last.num_heads)
      return `${last.num_kv_heads} key and value heads do not divide ${now.num_heads}, so there are `
        + `${keyHeads(now)} now.`;
    return null;
  }

  const H = ["b", "h", "head"], HKV = [["b", "h", "head"], ["sub", "kv"]], D = [["i", "d"]];
  /** name, unit, and the formula with d = d_model: who looks for h sees where it stands. */
  const WORK = [
    ["projections to Q, K, V", "FLOPs", ["2T ", ...D, "\u00b2 (1 + 2", ...HKV, "/", H, ")"]],
    ["projection W_O", "FLOPs", ["2T ", ...D, "\u00b2"]],
    ["score products", "FLOPs", ["4T\u00b2 ", ...D]],
    ["softmax, elements", "elements", [H, " T\u00b2"]],
  ];
  const ROOM = [
    ["weights, if stored", "bytes", [H, " T\u00b2 \u00b7 bytes"]],
    ["kept by a fused kernel", "bytes", ["T ", ...D, " \u00b7 bytes + 4", H, " T"]],
    ["cache of K and V", "bytes", ["2T ", ...D, " \u00b7 ", ...HKV, "/", H, " \u00b7 layers \u00b7 bytes"]],
    ["stored parameters", "parameters", ["2", ...D, "\u00b2 (1 + ", ...HKV, "/", H, ")"]],
    ["parameters that count", "parameters",
      ["stored \u2212 2", ...HKV, " (", ...D, "/", H, ")\u00b2"]],
  ];

  const columns = () => element("colgroup", {},
    ...["who", "bars", "counts"].map((name) => element("col", { class: "mha-" + name })));

  /** A row of a table: a bar, as long as n is of `longest`, between its label and its number. */
  const line = (label, n, longest, kind) => element("tr", {},
    element("th", { scope: "row" }, label),
    element("td", {}, element("i", {
      class: "mha-length mha-" + kind, "aria-hidden": "true",
      style: `width:${(100 * n / longest).toFixed(2)}%`,
    })),
    element("td", { class: "mha-count" }, exact(n)));

  /** Rows of a table for one count: its name and verdict, its formula, and two bars of one scale. */
  function entry([name, unit, formula], state, { here, one }) {
    const [shape, verdict] = compare(here[name], one[name]);
    const longest = Math.max(here[name], one[name]);
    return element("tbody", { "data-verdict": verdict.split(/[ ,]/)[0] },
      element("tr", {},
        element("th", { scope: "rowgroup", colspan: 2, class: "mha-entry" }, name),
        element("td", { class: "mha-compared" },
          element("span", { "aria-hidden": "true" }, shape + " "), verdict)),
      element("tr", {}, element("td", { colspan: 3, class: "mha-cost" },
        ...math(...formula), ` = ${short(here[name])} ${unit}`)),
      line(heads(state.num_heads), here[name], longest, "here"),
      line("1 head", one[name], longest, "one"));
  }

  function ledgerTable(label, rows) {
    const table = element("table", { class: "mha-ledger", "aria-label": label });
    return {
      node: element("section", { class: "mha-stage" }, element("p", { class: "mha-step" },
        element("b", {}, label)), table),
      draw({ state, result }) {
        table.replaceChildren(columns(), ...rows.map((row) => entry(row, state, result)));
      },
    };
  }

  const projectionsOf = (here) => here["projections to Q, K, V"] + here["projection W_O"];

  /** Where the two sides cost the same, and how they stand here. */
  function balance({ T, here, crossover }) {
    return `They cost the same at T = d_model (1 + h_kv/h) = ${exact(crossover)}, the crossover. `
      + `At T = ${exact(T)} the score products cost ${times(here["score products"] / projectionsOf(here))} `
      + "times as much as the four projections.";
  }

  /** Both sides of the crossover on one scale. */
  function crossing() {
    const table = element("table", { class: "mha-ledger", "aria-label": "Projections and score products" });
    const verdict = element("p", { class: "mha-verdict" });
    return {
      node: element("section", { class: "mha-stage" },
        element("p", { class: "mha-step" }, element("b", {}, "Which is larger")), table, verdict),
      draw({ state, result }) {
        const projections = projectionsOf(result.here), products = result.here["score products"];
        const longest = Math.max(projections, products);
        table.replaceChildren(columns(), element("tbody", {},
          line("projections", projections, longest, "one"), line("scores", products, longest, "here")));
        verdict.textContent = balance({ ...state, ...result });
      },
    };
  }

  /** Which rows are equal, grow and shrink against one head, in words. */
  function summary({ num_heads, here, one }) {
    const names = Object.keys(here);
    const list = (word, test) => {
      const found = names.filter((name) => test(here[name], one[name]));
      return found.length ? `${word}: ${found.join("; ")}. ` : "";
    };
    return `${heads(num_heads)} against one. ` + list("Equal", (a, b) => a === b)
      + list("Larger", (a, b) => a > b) + list("Smaller", (a, b) => a < b);
  }

  /** What is new for the ear: which rows grow, or else the balance, or else the counts that changed. */
  function news(now, last) {
    for (const sentence of [summary, balance])
      if (sentence(now) !== sentence(last)) return sentence(now);
    return [...WORK, ...ROOM].filter(([name]) => now.here[name] !== last.here[name])
      .map(([name, unit]) => `${name}: ${short(now.here[name])} ${unit}.`).join(" ");
  }

  function build(ledger) {
    const parts = [
      controls(ledger),
      ledgerTable("Work of one layer", WORK), crossing(),
      ledgerTable("Room", ROOM),
    ];
    const [top, work, crossover, room] = parts.map((part) => part.node);
    const words = element("p", { class: "mha-summary" });
    return {
      nodes: [
        top, words,
        element("div", { class: "mha-stages" },
          element("div", { class: "mha-column" }, work, crossover),
          element("div", { class: "mha-column" }, room)),
        hint("One sequence, forward; d = d_model, d_k = d_v = d / h. The two bars of a row have one scale, ",
          "the larger fills it. Room is that of one layer; the cache's is that of all layers."),
      ],
      draw(view) {
        for (const part of parts) part.draw(view);
        words.textContent = summary({ ...view.state, ...view.result });
      },
      say: (now, last) => [notice(now, last), news(now, last)].filter(Boolean).join(" "),
    };
  }

  root.mhaCostLedger = {
    compute,
    render: define({
      tag: "mha-cost-ledger", label: "The cost of a layer, live", defaults: DEFAULTS,
      tidy, compute, build,
    }),
  };
})(globalThis);
