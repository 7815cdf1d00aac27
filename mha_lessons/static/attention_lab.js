/* One attention head, live: <mha-attention-lab config='{"tokens": ["the", "cat"]}'>.
 * What all live figures share comes from live_figure.js, which is loaded first.
 */
(function (root) {
  "use strict";
  const {
    sum, dot, transpose, matmul, softmax, toyHead, fixed, score, integer, signed, large, shade,
    element, change, classes, word, math, hint, stage, matrix, grid, slider, checkbox, button, define,
  } = root.mhaLive;

  // ==================================================================================== numbers
  // The twin of toy.attend in mha_lessons/toy.py; tests/test_live_figure.py compares the two.

  const D_K = 4, MOST_TOKENS = 8, MOST_EDIT = 10, STEP = 0.5;
  const DEFAULTS = {
    tokens: ["the", "cat", "sat", "down"], temperature: 1, causal: false,
    edits: [], // [query, key, what to add to that score]
    query: 1, key: 2,
  };

  const isHidden = (state, i, j) => state.causal && j > i;
  const editOf = (state, i, j) =>
    sum(state.edits.filter(([query, key]) => query === i && key === j).map((edit) => edit[2]));

  /** weights = softmax(Q K^T / sqrt(d_k) / temperature + edits), output = weights V */
  function attend(state) {
    const { Q, K, V } = toyHead(state.tokens);
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

  // ======================================================================================= view

  function controls(lab) {
    const id = lab.id + "-words";
    const about = element("p", { class: "mha-hint", id: id + "-hint", "aria-live": "polite" });
    const words = element("input", {
      type: "text", id, autocomplete: "off", autocapitalize: "off", spellcheck: "false",
      "aria-describedby": id + "-hint",
      oninput: readWords,
      onblur: () => { words.value = lab.state().tokens.join(" "); say(0); },
    });
    const temperature = slider(lab, {
      name: "temperature", label: "Temperature", about: "divides every score",
      min: 0.1, max: 10, step: 0.1,
    });
    const causal = checkbox(lab, { name: "causal", label: "Causal mask" });

    function say(count) {
      about.textContent = count > MOST_TOKENS ? `Only the first ${MOST_TOKENS} words are used.`
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
          element("label", { for: id }, "Words"), words, about),
        temperature.node,
        element("div", { class: "mha-switches" }, causal.node, button("Reset", lab.reset))),
      draw({ state }) {
        if (lab.focused() !== words) words.value = state.tokens.join(" ");
        temperature.draw(state);
        causal.draw(state);
      },
    };
  }

  const CHANGES = { "+": STEP, "=": STEP, "-": -STEP, "\u2212": -STEP, 0: 0 };

  function scoreGrid(lab) {
    const scores = grid(lab, {
      class: "mha-scores", "aria-label": "Scores", "aria-describedby": lab.id + "-keys",
    }, {
      press(key) {
        if (key in CHANGES) lab.nudge(CHANGES[key]);
        return key in CHANGES;
      },
    });
    return {
      node: stage(1, "Scores", math(["i", "Q", "query"], ["i", "K", "key"], ["sup", "T"],
        " / \u221a", ["i", "d"], ["sub", "k"]), scores.node),
      draw({ state, result }) {
        const { tokens } = state;
        scores.draw(tokens, tokens, state, (i, j) => {
          const hidden = isHidden(state, i, j), edit = editOf(state, i, j);
          return {
            text: score(result.scores[i][j]),
            class: classes(hidden && "mha-hidden", edit !== 0 && !hidden && "mha-edited"),
            "aria-label": `query ${tokens[i]}, key ${tokens[j]}: ` + (hidden
              ? "hidden by the causal mask"
              : `score ${fixed(result.scores[i][j])}, weight ${fixed(result.weights[i][j])}`
                + (edit ? `, edited by ${signed(edit)}` : "")),
          };
        });
      },
    };
  }

  function weightMap(lab) {
    const weights = matrix({ class: "mha-weights", "aria-label": "Weights" },
      { withSums: true, pick: (i, j) => lab.set({ query: i, key: j }) });
    return {
      node: stage(2, "Weights", math("softmax of each row"), weights.node),
      draw({ state, result, scale }) {
        weights.fit(state.tokens);
        weights.mark(state.query, state.key);
        weights.cells.forEach((row, i) => row.forEach((cell, j) => change(cell, {
          text: isHidden(state, i, j) ? "0" : fixed(result.weights[i][j]),
          style: isHidden(state, i, j) ? null : shade(result.weights[i][j], scale),
          class: classes("mha-cell", i === state.query && j === state.key && "mha-on",
            i === state.query && "mha-row", isHidden(state, i, j) && "mha-hidden"),
        })));
        weights.sums.forEach((cell, i) => change(cell, { text: fixed(sum(result.weights[i])) }));
      },
    };
  }

  /** One score, worked out in full, with buttons to change it. */
  function pairCard(lab) {
    const stepper = (text, label, by) => button(text, () => lab.nudge(by), { "aria-label": label });
    const less = stepper("\u2212", "Lower this score by 0.5", -STEP);
    const more = stepper("+", "Raise this score by 0.5", STEP);
    const undo = stepper("undo", "Undo the edit of this score", 0);
    const shown = element("output", { "aria-live": "off" });
    const vectors = element("table", { class: "mha-vectors" });
    const lines = element("div", { class: "mha-lines" });
    const title = element("p", { class: "mha-step" });

    const line = (...parts) => element("p", {}, ...parts);
    const vector = (name, row, ...rest) => element("tr", {}, element("th", { scope: "row" }, ...name),
      ...row.map((x) => element("td", {}, integer(x))), ...rest);
    return {
      node: element("section", { class: "mha-stage mha-pair", "aria-label": "The selected score" },
        title,
        element("div", { class: "mha-stepper" }, less, shown, more, undo), vectors, lines),
      draw({ state, result: head }) {
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
      draw({ state, result: head, scale }) {
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

  /** Add `by` to the selected score; 0 takes the edit back. */
  function nudge(lab, by) {
    const state = lab.state(), { query, key } = state;
    if (isHidden(state, query, key)) return;
    const rest = state.edits.filter(([i, j]) => i !== query || j !== key);
    const amount = by && Math.max(-MOST_EDIT, Math.min(MOST_EDIT, editOf(state, query, key) + by));
    lab.set({ edits: amount ? [...rest, [query, key, amount]] : rest });
  }

  function build(figure) {
    const lab = { ...figure, nudge: (by) => nudge(figure, by) };
    const parts = [controls, scoreGrid, pairCard, weightMap, outputTable].map((make) => make(lab));
    const [top, scores, pair, weights, output] = parts;
    return {
      nodes: [
        top.node,
        element("div", { class: "mha-stages" },
          element("div", { class: "mha-column" }, scores.node, pair.node),
          element("div", { class: "mha-column" }, weights.node, output.node)),
        element("p", { class: "mha-hint", id: lab.id + "-keys" },
          "In the scores: arrow keys move, + and \u2212 change a score by 0.5, 0 undoes."),
        hint("Made-up numbers: pseudo-random embeddings (a hash of each word), arbitrary projections, ",
          "no training. The arithmetic is real; who reads whom means nothing. Shown numbers are rounded."),
      ],
      draw(view) { for (const part of parts) part.draw(view); },
      // Moving is spoken by the cell that gets the focus; only changed numbers are announced.
      say({ query: i, key: j, tokens, scores, weights }, last) {
        return last.query === i && last.key === j && `${tokens[i]} reads ${tokens[j]}: `
          + `score ${score(scores[i][j])}, weight ${fixed(weights[i][j])}.`;
      },
    };
  }

  root.mhaAttentionLab = {
    attend,
    render: define({
      tag: "mha-attention-lab", label: "One attention head, live", defaults: DEFAULTS,
      tidy, compute: attend, build, data: (state) => ({ tokens: state.tokens.length }),
    }),
  };
})(globalThis);
