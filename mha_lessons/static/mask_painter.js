/* A mask, painted by hand: <mha-mask-painter config='{"mask": [[true, false], [true, true]]}'>.
 * What all live figures share comes from live_figure.js, which is loaded first.
 */
(function (root) {
  "use strict";
  const {
    sum, transpose, matmul, softmax, toyHead, fixed, score, shade,
    element, change, classes, word, math, hint, stage, matrix, grid, button, define,
  } = root.mhaLive;

  // ==================================================================================== numbers
  // The twin of mha_lessons/widgets/mask_painter.py; tests/browser/test_mask_painter.py compares.

  const D_K = 4, FILL = -1e9, ASIDE = 2;

  const rectangle = (T, S, may) =>
    Array.from({ length: T }, (_, t) => Array.from({ length: S }, (_, s) => may(t, s)));
  const square = (S, may) => rectangle(S, S, may);
  const aside = (S) => Math.min(ASIDE, S - 1);

  /** mask[t][s] = may query t attend to key s? With S > T the last query is aligned with the last
   *  key: s <= t + S - T. */
  const PRESETS = {
    all: (S) => square(S, () => true),
    causal: (S) => square(S, (t, s) => s <= t),
    padding: (S) => square(S, (t, s) => s < S - aside(S)),
    both: (S) => square(S, (t, s) => s <= t && s < S - aside(S)),
    cache: (S) => rectangle(S - aside(S), S, (t, s) => s <= t + aside(S)),
    "left padding": (S) => square(S, (t, s) => s <= t && s >= aside(S)),
  };
  const ABOUT = {
    all: () => "every query reads every key",
    causal: () => "a query reads itself and what came before it",
    padding: (S) => `the last ${aside(S)} of ${S} keys are padding: nobody reads them`,
    both: (S) => `causal, and the last ${aside(S)} keys are padding`,
    cache: (S) =>
      `${S - aside(S)} new queries after ${aside(S)} cached keys: the last query meets the last key`,
    "left padding": (S) =>
      `causal, and the first ${aside(S)} keys are padding: their own rows are blank`,
  };

  const DEFAULTS = {
    tokens: ["the", "cat", "sat", "down", "today"], mask: PRESETS.causal(5), query: 1, key: 2,
  };

  /** softmax without the case of a row of nothing but -Infinity: 0 / 0. */
  function bareSoftmax(scores) {
    const exps = scores.map((score) => Math.exp(score - Math.max(...scores)));
    return exps.map((x) => x / sum(exps));
  }

  /** weights = softmax(Q K^T / sqrt(d_k), -Infinity where hidden), and four other ways. */
  function compute({ tokens, mask }) {
    const { Q, K } = toyHead(tokens);
    const queries = Q.slice(tokens.length - mask.length); // the last T of S words
    const scores = matmul(queries, transpose(K)).map((row) => row.map((x) => x / Math.sqrt(D_K)));
    const where = (rows, hidden) =>
      rows.map((row, t) => row.map((x, s) => (mask[t][s] ? x : hidden)));
    const masked = where(scores, -Infinity), unmasked = scores.map(softmax);
    return {
      scores, masked, unmasked,
      weights: masked.map(softmax),
      bare: masked.map(bareSoftmax),
      filled: where(scores, FILL).map(softmax),
      zeroed: where(unmasked, 0),
    };
  }


  const queriesOf = ({ tokens, mask }) => tokens.slice(tokens.length - mask.length);
  const isBlank = (row) => !row.includes(true);
  const isSame = (a, b) => JSON.stringify(a) === JSON.stringify(b);
  const presetOf = (mask, S = mask[0].length) =>
    Object.keys(PRESETS).find((name) => isSame(PRESETS[name](S), mask));

  /** In Jupyter new words come before their mask: until then the preset that it was, or a causal
   *  one, as the kernel has it. */
  function tidy(state) {
    const S = state.tokens.length;
    const mask = state.mask[0].length === S ? state.mask : PRESETS[presetOf(state.mask) || "causal"](S);
    return {
      ...state, mask,
      query: Math.min(state.query, mask.length - 1),
      key: Math.min(state.key, S - 1),
    };
  }

  // ======================================================================================= view

  function presets(painter) {
    const about = hint();
    const buttons = Object.keys(PRESETS).map((name) => button(name,
      () => painter.set({ mask: PRESETS[name](painter.state().tokens.length) })));
    return {
      node: element("div", { class: "mha-presets", role: "group", "aria-label": "Masks to begin with" },
        ...buttons, about),
      draw({ state }) {
        const now = presetOf(state.mask);
        for (const one of buttons) change(one, { "aria-pressed": String(one.textContent === now) });
        about.textContent = now ? ABOUT[now](state.tokens.length) : "a mask of your own";
      },
    };
  }

  function maskGrid(painter) {
    const flip = (query, key) => painter.paint((may, t, s) => (t === query && s === key ? !may : may),
      { query, key });
    const cells = grid(painter, {
      class: "mha-paint", "aria-label": "Scores and mask", "aria-describedby": painter.id + "-keys",
    }, {
      pick: flip,
      press(key, held) {
        const pressed = key === " " || key === "Enter";
        if (pressed && !held) flip(painter.state().query, painter.state().key);
        return pressed;
      },
    });
    const row = button("", () => {
      const { mask, query } = painter.state(), show = isBlank(mask[query]);
      painter.paint((may, t) => (t === query ? show : may));
    });
    const column = button("", () => {
      const { mask, key } = painter.state(), show = !mask.some((row) => row[key]);
      painter.paint((may, t, s) => (s === key ? show : may));
    });
    return {
      node: stage(1, "Scores, masked", math(["i", "Q", "query"], ["i", "K", "key"], ["sup", "T"],
        " / \u221a", ["i", "d"], ["sub", "k"], " or \u2212\u221e"), cells.node,
      element("div", { class: "mha-buttons" }, row, column)),
      draw({ state, result }) {
        const { tokens, mask, query, key } = state, queries = queriesOf(state);
        cells.draw(queries, tokens, state, (t, s) => ({
          text: score(result.masked[t][s]),
          class: mask[t][s] ? "" : "mha-hidden",
          "aria-label": `query ${queries[t]}, key ${tokens[s]}: score ${fixed(result.scores[t][s])}, `
            + (mask[t][s] ? "may attend" : "hidden"),
        }));
        const blank = isBlank(mask[query]), unread = !mask.some((row) => row[key]);
        change(row, {
          text: blank ? "show row" : "hide row",
          "aria-label": `${blank ? "show row" : "hide row"}: every key for the query ${queries[query]}`,
        });
        change(column, {
          text: unread ? "show key" : "hide key",
          "aria-label": `${unread ? "show key" : "hide key"} ${tokens[key]}, for every query`,
        });
      },
    };
  }

  function weightMap(painter) {
    const weights = matrix({ class: "mha-weights", "aria-label": "Weights" },
      { withSums: true, pick: (query, key) => painter.set({ query, key }) });
    const blanks = element("p", { class: "mha-hint" });
    return {
      node: stage(2, "Weights", math("softmax of each row"), weights.node, blanks),
      draw({ state, result, scale }) {
        const { tokens, mask } = state, queries = queriesOf(state);
        weights.fit(queries, tokens);
        weights.mark(state.query, state.key);
        weights.cells.forEach((row, t) => row.forEach((cell, s) => change(cell, {
          text: mask[t][s] ? fixed(result.weights[t][s]) : "0",
          style: mask[t][s] ? shade(result.weights[t][s], scale) : null,
          class: classes("mha-cell", t === state.query && s === state.key && "mha-on",
            t === state.query && "mha-row", !mask[t][s] && "mha-hidden"),
        })));
        weights.sums.forEach((cell, t) => change(cell, {
          text: isBlank(mask[t]) ? "0" : fixed(sum(result.weights[t])),
        }));
        const blank = queries.filter((_, t) => isBlank(mask[t]));
        blanks.textContent = blank.length
          ? `Blank rows give zeros, never NaN, never an average: ${blank.join(", ")}.`
          : "Each row sums to 1.";
      },
    };
  }

  const WAYS = [
    ["unmasked", "no mask"],
    ["weights", "\u2212\u221e: the rule"],
    ["bare", "\u2212\u221e, bare softmax"],
    ["filled", "\u221210\u2079, then softmax"],
    ["zeroed", "softmax, then 0"],
  ];
  const agree = (a, b) => a.every((x, s) => Math.abs(x - b[s]) < 1e-12);

  /** The selected row in five ways: before the mask, by the rule, and by three habits. */
  function waysTable(painter) {
    const title = element("span"), verdict = element("p", { class: "mha-verdict" });
    const table = element("table", { class: "mha-ways", "aria-label": "One row in five ways" });
    return {
      node: stage(3, "One row, five ways", [title], table, verdict),
      draw({ state, result, scale }) {
        const { tokens, mask, query } = state, name = queriesOf(state)[query], rule = result.weights[query];
        title.replaceChildren("query ", word("query", name));
        const line = ([way, text]) => {
          const row = result[way][query];
          const same = agree(row, rule);
          return element("tr", { class: way === "weights" ? "mha-rule" : "" },
            element("th", { scope: "row" }, text),
            ...row.map((x, s) => (mask[query][s] || x !== 0
              ? element("td", { class: "mha-weight", ...(x === x && { style: shade(x, scale) }) }, fixed(x))
              : element("td", { class: "mha-weight mha-hidden" }, "0"))),
            element("td", { class: "mha-sum" }, fixed(sum(row))),
            element("td", {}, way === "weights" ? "" : same ? "= rule" : "\u2260 rule"));
        };
        table.replaceChildren(
          element("thead", {}, element("tr", {},
            element("td", {}),
            ...tokens.map((text, s) => element("th",
              { scope: "col", class: classes("mha-word", mask[query][s] ? "mha-key" : "mha-hidden"), title: text },
              text)),
            element("th", { scope: "col" }, "sum"),
            element("td", {}))),
          element("tbody", {},
            element("tr", {},
              element("th", { scope: "row" }, "score"),
              ...result.scores[query].map((x) => element("td", {}, score(x))),
              element("td", {}), element("td", {})),
            ...WAYS.map(line)));
        verdict.textContent = judge(name, mask[query], result, query);
      },
    };
  }

  function judge(name, row, { unmasked, filled, zeroed }, query) {
    const hidden = row.filter((may) => !may).length;
    if (hidden === 0) return `Nothing is hidden from \u201c${name}\u201d: the five ways agree.`;
    if (hidden === row.length)
      return `\u201c${name}\u201d may read nothing. The rule gives zeros. A bare softmax divides 0 by 0. `
        + `\u221210\u2079 everywhere is a plain average, ${fixed(filled[query][0])} for each key: `
        + "nobody notices.";
    const lost = sum(unmasked[query].filter((_, s) => !row[s]));
    return `Zeros after softmax leave a sum of ${fixed(sum(zeroed[query]))}: the other ${fixed(lost)} went to `
      + "hidden keys, whose scores stay in the denominator. \u221210\u2079 agrees while one key is left.";
  }

  function build(figure) {
    const painter = {
      ...figure,
      /** Replace each entry of the mask by change(entry, t, s). */
      paint(change, selection = {}) {
        const mask = figure.state().mask.map((row, t) => row.map((may, s) => change(may, t, s)));
        figure.set({ mask, ...selection });
      },
    };
    const parts = [presets, maskGrid, weightMap, waysTable].map((make) => make(painter));
    const [top, mask, weights, ways] = parts;
    return {
      nodes: [
        top.node,
        element("div", { class: "mha-stages" }, mask.node, weights.node),
        ways.node,
        element("p", { class: "mha-hint", id: painter.id + "-keys" },
          "In the scores: click, or move with the arrow keys and press space, to hide a key or show it."),
        hint("Made-up scores of one head, no trained model. Shown numbers are rounded."),
      ],
      draw(view) { for (const part of parts) part.draw(view); },
      say(now, last) {
        if (isSame(now.mask, last.mask)) return null;
        const { query: t, key: s, mask } = now, queries = queriesOf(now);
        const blank = queries.filter((_, i) => isBlank(mask[i]));
        const pairs = mask.flat().filter((may, i) => may !== last.mask.flat()[i]).length;
        const preset = presetOf(mask);
        return (preset && pairs !== 1 ? `${preset}: ${ABOUT[preset](now.tokens.length)}. ` : "") + `${queries[t]} ${mask[t][s] ? "may read" : "may not read"} ${now.tokens[s]}: `
          + `weight ${fixed(now.weights[t][s])}, row sum ${fixed(sum(now.weights[t]))}.`
          + (blank.length ? ` Blank rows: ${blank.join(", ")}.` : "");
      },
    };
  }

  root.mhaMaskPainter = {
    compute, PRESETS,
    render: define({
      tag: "mha-mask-painter", label: "A mask, live", defaults: DEFAULTS,
      tidy, compute, build,
      data: ({ tokens, mask }) => ({ tokens: tokens.length, queries: mask.length }),
    }),
  };
})(globalThis);
