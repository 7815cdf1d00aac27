/* Same weights, different outputs, live: <mha-same-weights config='{"example": "same"}'>.
 *
 * Stands on live_figure.js, which is loaded first. The looks are in same_weights.css.
 */
(function (root) {
  "use strict";

  const { dot, matmul, transpose, softmax, fixed, shade, element, change, classes, matrix, choice,
    button, define } = root.mhaLive;

  // ==================================================================================== numbers
  // The twin of mha_lessons/same_weights.py; tests/test_same_weights_widget.py compares the two.

  // Both heads have these queries and keys, so they have the same weights.
  const Q = [[1, 0], [0, 2], [1, 1]], K = [[2, 0], [0, 1], [-1, 2]];
  const ZEROS = Q.map((row) => row.map(() => 0)); // a query of zeros scores every key 0
  const W_O = [2, -1]; // the map 2a - b
  const MOST = 10; // the largest value

  /** softmax(Q K^T / sqrt(d_k)) */
  const attentionWeights = (Q, K) => matmul(Q, transpose(K))
    .map((row) => softmax(row.map((product) => product / Math.sqrt(K[0].length))));
  const twice = (weights) => [weights, weights];

  const WORDS = ["the", "cat", "sat"];
  const EXAMPLES = {
    same: {
      queries: WORDS, keys: WORDS, weights: twice(attentionWeights(Q, K)),
      values: [[2, 6, -2], [-4, 1, 8]],
    },
    uniform: {
      queries: WORDS, keys: WORDS, weights: twice(attentionWeights(ZEROS, K)),
      values: [[2, 6, -2], [-2, 2, 6]],
    },
    "on paper": {
      queries: ["query"], keys: ["token 1", "token 2"], weights: [[[0.8, 0.2]], [[0.25, 0.75]]],
      values: [[2, 6], [10, -2]],
    },
  };

  const same = (A, B, most = 0) => {
    const b = B.flat(Infinity);
    return A.flat(Infinity).every((x, i) => Math.abs(x - b[i]) <= most);
  };

  /** head_i = weights_i values_i, output = Concat(head_1, head_2) W_O = 2 head_1 - head_2 */
  function compute({ example, values }) {
    const { weights } = EXAMPLES[example];
    const heads = weights.map((map, i) => map.map((row) => dot(row, values[i])));
    const concat = transpose(heads);
    return {
      weights, heads, concat, output: concat.map((row) => dot(row, W_O)),
      equal_weights: same(weights[0], weights[1]),
      equal_values: same(values[0], values[1]),
      // Another order of a sum may change its last digit.
      equal_heads: same(heads[0], heads[1], 1e-9),
    };
  }

  // ======================================================================================= view

  const isValue = (x) => Number.isFinite(x) && Math.abs(x) <= MOST;
  const withValue = (values, head, key, x) =>
    values.map((row, i) => row.map((old, j) => (i === head && j === key ? x : old)));
  const short = (x) => Number(x.toFixed(6)) + 0; // no minus zero
  /** A value as its reader typed it: no more digits than it has. */
  const plain = (x) => String(short(x));
  /** A number as it is typed anywhere, with a point or a comma; a field of type "number" drops the
   *  comma in some languages, and makes 0,5 a 5. */
  const parse = (text) => (/^\s*[-+\u2212]?(\d+[.,]?\d*|[.,]\d+)(e[-+]?\d+)?\s*$/i.test(text)
    ? short(Number(text.replace(",", ".").replace("\u2212", "-"))) : NaN);

  /** The value that one head holds for one key: a field, and two buttons. */
  function valueField(figure, head, key, word, complain) {
    const name = `Head ${head + 1}, value of ${word}`;
    const field = element("input", {
      type: "text", role: "spinbutton", autocomplete: "off", "aria-label": name,
      "aria-valuemin": -MOST, "aria-valuemax": MOST, "aria-describedby": figure.id + "-complaint",
      oninput: read, onkeydown, onblur: () => { show(figure.state()); complain(""); },
    });
    const step = (by, text, verb) => button(text, () => set(now() + by),
      { "aria-label": `${verb} ${name[0].toLowerCase()}${name.slice(1)} by 1` });
    const less = step(-1, "\u2212", "Lower"), more = step(1, "+", "Raise");

    const now = () => figure.state().values[head][key];
    const set = (x) => isValue(x) && figure.set({ values: withValue(figure.state().values, head, key, x) });
    function read() {
      const x = parse(field.value), good = isValue(x);
      change(field, { "aria-invalid": good ? null : "true" });
      complain(good ? "" : `A value is a number from \u2212${MOST} to ${MOST}. `
        + `${plain(now())} stays until you type one.`);
      if (good) set(x);
    }
    function onkeydown(event) {
      const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
      if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      set(now() + by);
      show(figure.state());
      complain("");
    }
    function show({ values }) {
      if (!(key in values[head])) return; // another example has come, without this key
      field.value = plain(values[head][key]);
      change(field, { "aria-invalid": null });
    }
    return {
      node: element("td", { class: "mha-value-cell" }, field,
        element("div", { class: "mha-nudge" }, less, more)),
      draw(state) {
        if (figure.focused() !== field) show(state);
        change(field, { "aria-valuenow": plain(now()) });
        change(less, { "aria-disabled": isValue(now() - 1) ? null : "true" });
        change(more, { "aria-disabled": isValue(now() + 1) ? null : "true" });
      },
    };
  }

  /** One head: its map of weights, its values below their keys, its outputs beside their queries. */
  function headTable(figure, head, complain) {
    const map = matrix({ class: "mha-weights", "aria-label": `Head ${head + 1}: weights, values and outputs` },
      { withSums: true, ofSums: "output" });
    let fields = [], built = "";
    return {
      node: element("section", { class: "mha-stage", "aria-label": `Head ${head + 1}` },
        element("p", { class: "mha-step" },
          element("b", { class: `mha-head-${head + 1}` }, `Head ${head + 1}`)), map.node),
      draw({ state, result, scale }) {
        const { queries, keys } = EXAMPLES[state.example];
        if (built !== state.example) {
          built = state.example;
          map.fit(queries, keys);
          fields = keys.map((key, j) => valueField(figure, head, j, key, complain));
          map.node.querySelector("tfoot")?.remove();
          map.node.append(element("tfoot", {}, element("tr", {},
            element("th", { scope: "row", class: "mha-value" }, "value"),
            ...fields.map((field) => field.node), element("td"))));
        }
        fields.forEach((field) => field.draw(state));
        map.cells.forEach((row, t) => row.forEach((cell, s) => change(cell, {
          text: fixed(result.weights[head][t][s]), class: "mha-cell",
          style: shade(result.weights[head][t][s], scale),
        })));
        map.sums.forEach((cell, t) => change(cell, {
          text: fixed(result.heads[head][t]), class: "mha-sum mha-output",
        }));
      },
    };
  }

  /** What becomes of the two outputs: side by side, then through W_O. */
  function merged() {
    const table = element("table", { class: "mha-merged", "aria-label": "Concat and W_O" });
    const head = (text, kind) => element("th", { scope: "col", class: kind }, text);
    return {
      node: element("section", { class: "mha-stage" }, table),
      draw({ state, result }) {
        const { queries, values } = EXAMPLES[state.example];
        const first = compute({ example: state.example, values });
        table.replaceChildren(
          element("thead", {}, element("tr", {}, head("query (reads)", "mha-query"),
            head("concat: a, b"), head("2a \u2212 b", "mha-output"), head("before any edit"))),
          element("tbody", {}, ...queries.map((query, t) => element("tr", {},
            element("th", { scope: "row" }, query),
            element("td", {}, element("span", { class: "mha-head-1" }, fixed(result.concat[t][0])), ", ",
              element("span", { class: "mha-head-2" }, fixed(result.concat[t][1]))),
            element("td", { class: "mha-sum mha-output" }, fixed(result.output[t])),
            element("td", {}, fixed(first.output[t]))))));
      },
    };
  }

  /** What is equal, and why. */
  function verdict({ example, equal_weights, equal_values, equal_heads }) {
    if (!equal_weights)
      return "Two maps, one per head. Editing values moves neither; the outputs follow.";
    if (equal_values) return "Same weights and same values: same outputs.";
    if (!equal_heads) return "Same weights, different values: different outputs.";
    return example === "uniform"
      ? "Even weights give the mean of the values: another order of them can't be seen."
      : "Different values, and for these weights still the same sums.";
  }

  function equalities() {
    const rows = ["weights", "values", "outputs"].map((name) => [name, element("b")]);
    const about = element("p", { class: "mha-verdict" });
    return {
      node: element("div", { class: "mha-equal" },
        element("p", {}, ...rows.flatMap(([name, shown]) =>
          [element("span", {}, `${name}: `, shown)])), about),
      draw({ state, result }) {
        const equal = [result.equal_weights, result.equal_values, result.equal_heads];
        rows.forEach(([, shown], i) => { shown.textContent = equal[i] ? "equal" : "different"; });
        about.textContent = verdict({ ...state, ...result });
      },
    };
  }

  const ABOUT = {
    same: "Both heads have the same small made-up Q and K, so their softmax is the same.",
    uniform: "Queries of zeros score every key 0, so the weights are even.",
    "on paper": "The two rows of weights from \u201cTwo heads on paper\u201d, one query.",
  };

  function build(figure) {
    const hint = element("p", {
      class: "mha-hint mha-complaint", id: figure.id + "-complaint", "aria-live": "polite",
    });
    const complain = (text) => { if (hint.textContent !== text) hint.textContent = text; };
    const about = element("p", { class: "mha-hint" });
    const example = choice(figure, {
      name: "example", label: "Weights", about,
      options: [["same", "one Q and K"], ["uniform", "even"], ["on paper", "on paper"]],
      changes: (value) => ({ example: value, values: EXAMPLES[value].values }),
    });
    const heads = [0, 1].map((head) => headTable(figure, head, complain));
    const equal = equalities(), sum = merged();
    const edit = (text, values) =>
      button(text, () => figure.set({ values: values(figure.state()) }));
    return {
      nodes: [
        element("div", { class: "mha-controls" }, example.node,
          element("div", { class: "mha-edits", role: "group", "aria-label": "Values" },
            element("b", {}, "Values"),
            edit("Copy head 1 to 2", ({ values: [one] }) => [one, one]),
            edit("Reverse head 2", ({ values: [one, two] }) => [one, [...two].reverse()]),
            edit("Reset", (state) => EXAMPLES[state.example].values))),
        equal.node,
        element("div", { class: "mha-stages" }, ...heads.map((head) => head.node)),
        hint, sum.node,
      ],
      draw(view) {
        example.draw(view.state);
        about.textContent = ABOUT[view.state.example];
        for (const part of [equal, ...heads, sum]) part.draw(view);
      },
      say: (now) => verdict(now) + " " + [0, 1].map((i) =>
        `Head ${i + 1}: ${now.heads[i].map((x) => fixed(x)).join(", ")}.`).join(" "),
    };
  }

  /** Values for the keys that there are. */
  function tidy(state) {
    const { keys, values } = EXAMPLES[state.example];
    return state.values.every((row) => row.length === keys.length) ? state : { ...state, values };
  }

  root.mhaSameWeights = {
    EXAMPLES, compute, tidy,
    render: define({
      tag: "mha-same-weights", label: "Same weights, different outputs, live",
      defaults: { example: "same", values: EXAMPLES.same.values },
      tidy, compute, build, data: ({ example }) => ({ example }),
    }),
  };
})(globalThis);
