/* Split and merge, live: <mha-split-merge config='{"T": 3, "d_model": 6, "num_heads": 3}'>.
 *
 * Stands on live_figure.js, which is loaded first. The looks are in split_merge.css.
 */
(function (root) {
  "use strict";

  const { matmul, transpose, softmax, fixed, element, change, classes, slider, checkbox, choice,
    button, define } = root.mhaLive;

  // ==================================================================================== numbers
  // The twin of mha_lessons/split_and_merge.py; tests/test_split_merge_widget.py compares the two.

  const MOST_T = 5, MOST_D_MODEL = 8;
  const DEFAULTS = {
    T: 3, d_model: 6, num_heads: 3, plain_reshape: "nowhere", reads_before: false,
    stage: "projected",
  };
  const range = (n) => Array.from({ length: n }, (_, i) => i);
  /** The largest number of heads up to `wanted` that divides d_model. */
  const mostHeads = (d_model, wanted) =>
    range(wanted + 1).findLast((h) => d_model % h === 0); // d_model % 0 is NaN

  /** x[t][m] = 10 t + m */
  const numbered = (T, d_model) => range(T).map((t) => range(d_model).map((m) => 10 * t + m));

  /** Fill rows of this length in reading order. */
  const cut = (row, length) =>
    range(row.length / length).map((i) => row.slice(i * length, (i + 1) * length));
  /** reshape(A, h, T, d_k): the reading order stays, the shape changes. The first length follows. */
  const reshape = (A, _, ...lengths) =>
    lengths.reverse().reduce((rows, length) => cut(rows, length), A.flat(Infinity));
  /** Let the first two axes change places; the reading order changes. */
  const swapaxes = transpose;

  /** Every array from x to the merged heads: [{ name, move, axes, array }]. */
  function journey(x, h, plain_reshape, read = (heads) => heads) {
    const T = x.length, d_k = x[0].length / h;
    const plainAt = (place) => [place, "both"].includes(plain_reshape);
    const stages = [];
    const keep = (name, move, axes, array) => { stages.push({ name, move, axes, array }); return array; };

    let heads, merged;
    keep("projected", "x", ["T", "d_model"], x);
    if (plainAt("split")) {
      heads = keep("split", "reshape(h, T, d_k)", ["h", "T", "d_k"], reshape(x, h, T, d_k));
    } else {
      heads = keep("reshaped", "reshape(T, h, d_k)", ["T", "h", "d_k"], reshape(x, T, h, d_k));
      heads = keep("split", "swapaxes(0, 1)", ["h", "T", "d_k"], swapaxes(heads));
    }
    merged = keep("read", "attention, head by head", ["h", "T", "d_k"], read(heads));
    if (!plainAt("merge"))
      merged = keep("swapped", "swapaxes(0, 1)", ["T", "h", "d_k"], swapaxes(merged));
    keep("merged", "reshape(T, h * d_k)", ["T", "h * d_k"], reshape(merged, T, h * d_k));
    return stages;
  }

  /** softmax(Q K^T / sqrt(d_k)) V with Q = K = V = a head's entries; mask(t, s): may t attend to s? */
  const attend = (mask) => (heads) => heads.map((X) => {
    const scores = matmul(X, transpose(X)).map((row, t) => row.map((product, s) =>
      mask(t, s) ? product / Math.sqrt(X[0].length) : -Infinity));
    return matmul(scores.map(softmax), X);
  });
  const everything = () => true;
  const causal = (t, s) => s <= t;
  /** One key per query, so its weight is exactly 1; position 0 reads itself. */
  const positionBefore = (t, s) => s === Math.max(t - 1, 0);

  const close = (A, B) => {
    const [a, b] = [A.flat(Infinity), B.flat(Infinity)];
    return a.length === b.length && a.every((x, i) => Math.abs(x - b[i]) < 1e-8);
  };

  /** Five tests that somebody could write for a layer, and whether they pass. */
  function passes({ T, d_model, num_heads, plain_reshape }) {
    const layer = (x, read, plain = plain_reshape) => journey(x, num_heads, plain, read).at(-1).array;
    const x = numbered(T, d_model).map((row) => row.map((entry) => entry / 10));
    const changed = [...x.slice(0, -1), x.at(-1).map((entry) => entry + 1)];
    const one = x.slice(-1);
    const all = attend(everything), masked = attend(causal);
    const columns = range(num_heads).map((i) => x.map((row) => cut(row, d_model / num_heads)[i]));
    const loop = columns.map((head) => all([head])[0])
      .reduce((left, right) => left.map((row, t) => [...row, ...right[t]]));
    const result = layer(x, all);
    return {
      shape: result.length === T && result.every((row) => row.length === d_model),
      "one position": close(layer(one, all), layer(one, all, "nowhere")),
      "round trip": close(layer(x, (heads) => heads), x),
      causality: close(layer(x, masked).slice(0, -1), layer(changed, masked).slice(0, -1)),
      loop: close(result, loop),
    };
  }

  /** What one state shows. `places` follows each cell by its number in reading order: a cell moves
   *  with its entry, and stays where it is while the heads read. */
  function compute({ T, d_model, num_heads, plain_reshape, reads_before }) {
    const read = reads_before ? attend(positionBefore) : undefined;
    const x = numbered(T, d_model);
    const right = journey(x, num_heads, "nowhere", read);
    const stages = journey(x, num_heads, plain_reshape, read).map((stage) => {
      const there = right.find(({ name }) => name === stage.name).array.flat(Infinity);
      return { ...stage, misplaced: stage.array.flat(Infinity).map((entry, i) => entry !== there[i]) };
    });
    const places = journey(cut(range(T * d_model), d_model), num_heads, plain_reshape)
      .map(({ array }) => array.flat(Infinity));
    return { stages, places, passes: passes({ T, d_model, num_heads, plain_reshape }) };
  }

  /** A number of heads that divides d_model, and a stage that this way has. */
  function tidy(state) {
    const { d_model, num_heads, plain_reshape, stage } = state;
    const skipped = { split: ["reshaped"], merge: ["swapped"], both: ["reshaped", "swapped"] };
    const next = { reshaped: "split", swapped: "merged" };
    return {
      ...state,
      num_heads: mostHeads(d_model, num_heads),
      stage: (skipped[plain_reshape] || []).includes(stage) ? next[stage] : stage,
    };
  }

  // ======================================================================================= view

  function controls(figure) {
    const T = slider(figure,
      { name: "T", label: "T, positions", min: 1, max: MOST_T, text: String });
    const d_model = slider(figure, {
      name: "d_model", label: "d_model, features", min: 1, max: MOST_D_MODEL, text: String,
      changes: (d_model) => ({ d_model, num_heads: wanted }), // as many as fit: see tidy
    });
    const about = element("p", { class: "mha-hint", "aria-live": "polite" });
    const num_heads = choice(figure, { name: "num_heads", label: "num_heads, h", about });
    const plain_reshape = choice(figure, {
      name: "plain_reshape", label: "Plain reshape instead of two moves",
      options: [["nowhere", "nowhere"], ["split", "at the split"], ["merge", "at the merge"],
        ["both", "at both"]],
    });
    const reads_before = checkbox(figure,
      { name: "reads_before", label: "Each head reads the position before" });
    let wanted = DEFAULTS.num_heads; // heads that the reader chose, whether or not they fit now

    const share = (d, h) => `${d} / ${h} = ${fixed(d / h).replace(/\.?0+$/, "")}`;
    function why({ d_model: d, num_heads: h }) {
      if (mostHeads(d, wanted) !== h) wanted = h;
      if (d % wanted) return `${wanted} heads don't fit (${share(d, wanted)}): h is ${h} now.`;
      const misfit = range(d).find((n) => n > 0 && d % n);
      return "h must divide d_model" + (misfit ? `: ${share(d, misfit)} is not whole.` : ".");
    }
    return {
      node: element("div", { class: "mha-controls" },
        T.node, d_model.node, num_heads.node, plain_reshape.node, reads_before.node),
      draw({ state }) {
        for (const part of [T, d_model, plain_reshape, reads_before]) part.draw(state);
        num_heads.draw(state, range(state.d_model).map((i) => [i + 1, String(i + 1),
          ...(state.d_model % (i + 1) ? [share(state.d_model, i + 1) + " is not whole"] : [])]));
        const text = why(state);
        if (about.textContent !== text) about.textContent = text;
      },
    };
  }

  const TITLES = {
    projected: "projected", reshaped: "reshape", split: "transpose", read: "heads",
    swapped: "transpose back", merged: "concat",
  };
  const AXES = {
    T: "position (T)", h: "head (h)", d_k: "feature (d_k)",
    d_model: "feature (d_model)", "h * d_k": "feature, head by head (h * d_k)",
  };
  const isPlain = ({ plain_reshape }, name) =>
    ({ split: ["split", "both"], merged: ["merge", "both"] }[name] || []).includes(plain_reshape);
  const titleOf = (state, name) => (isPlain(state, name) ? "plain reshape" : TITLES[name]);
  /** Lengths of the axes: one list for every shape. */
  const lengthOf = ({ T, d_model, num_heads: h }, axis) =>
    ({ T, h, d_k: d_model / h, d_model, "h * d_k": d_model })[axis];
  const tuple = (parts) => `(${parts.join(", ")})`;
  const shapeOf = (state, { axes }) =>
    `${tuple(axes)} = ${tuple(axes.map((axis) => lengthOf(state, axis)))}`;
  const count = ({ misplaced }) => {
    const wrong = misplaced.filter(Boolean).length;
    return wrong ? `${wrong} of ${misplaced.length} entries are in the wrong place`
      : `all ${misplaced.length} entries are in the right place`;
  };

  const shown = (stages, { stage }) => stages.find(({ name }) => name === stage);

  /** One sentence on what the step did. */
  function explain(state, name) {
    if (isPlain(state, name))
      return "The entries keep their reading order and fill the wanted shape. "
        + "Positions and heads never change places.";
    return {
      projected: "One row per position. The colour and the small label say which head owns a column.",
      reshaped: "The last axis is cut in two. Read block by block, the order of the entries is still the same.",
      split: "Positions and heads change places: each block is one head and holds its columns of all positions.",
      read: state.reads_before
        ? "Attention inside each block: row t receives row t \u2212 1, and row 0 itself. No head sees another block."
        : "Each head would run attention inside its block. Here it hands on what it got.",
      swapped: "The first two axes change places again: each block stands for one position.",
      merged: "The rows of each block are laid side by side: one row for each block.",
    }[name];
  }

  /** Buttons for the steps; arrow keys move too. */
  function stepper(figure) {
    const list = element("ol", { class: "mha-steps" });
    const back = button("\u2190 Back", () => move(-1)), next = button("Next \u2192", () => move(1));
    const code = element("code"), shape = element("b", { class: "mha-shape" });
    let names = [], steps = [];

    const go = (at) => figure.set({ stage: names[Math.max(0, Math.min(names.length - 1, at))] });
    const move = (by) => go(names.indexOf(figure.state().stage) + by);
    const KEYS = {
      ArrowLeft: () => move(-1), ArrowRight: () => move(1),
      Home: () => go(0), End: () => go(Infinity),
    };
    function onkeydown(event) {
      if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS)) return;
      KEYS[event.key]();
      event.preventDefault();
    }
    return {
      node: element("div", { class: "mha-way", onkeydown }, list,
        element("div", { class: "mha-here" }, back, element("p", {}, code, shape), next)),
      draw({ state, result: { stages } }) {
        const hadFocus = list.contains(figure.focused());
        const titles = stages.map(({ name }) => titleOf(state, name));
        const same = titles.join() === steps.map((step) => step.title).join();
        names = stages.map(({ name }) => name);
        if (!same) {
          steps = titles.map((title, i) => button(`${i + 1} ${title}`, () => go(i), { title }));
          list.replaceChildren(...steps.map((step) => element("li", {}, step)));
        }
        const at = names.indexOf(state.stage);
        steps.forEach((step, i) => change(step, {
          "aria-current": i === at ? "step" : null, tabindex: i === at ? 0 : -1,
        }));
        if (hadFocus) steps[at].focus();
        change(back, { "aria-disabled": at === 0 ? "true" : null });
        change(next, { "aria-disabled": at === names.length - 1 ? "true" : null });
        code.textContent = stages[at].move.replace(/^(reshape|swapaxes)/, ".$1");
        shape.textContent = shapeOf(state, stages[at]);
      },
    };
  }

  const LABEL = 18, GAP = 10, SMALLEST = 26, LARGEST = 52;

  /** Where the blocks of one array stand: left to right, in as many lines as it takes. The first
   *  axis of three counts blocks, the next rows, the last columns. */
  function lay(lengths, size, width) {
    const [blocks, rows, columns] = lengths.length === 3 ? lengths : [1, ...lengths];
    const [wide, high] = [columns * size, LABEL + rows * size];
    const across = Math.max(1, Math.min(blocks, Math.floor((width + GAP) / (wide + GAP))));
    const lines = Math.ceil(blocks / across);
    const at = (block) => [block % across * (wide + GAP), Math.floor(block / across) * (high + GAP / 2)];
    return {
      blocks, rows, columns, wide, high, at,
      width: across * (wide + GAP) - GAP, height: lines * (high + GAP / 2) - GAP / 2,
    };
  }

  /** The array as blocks of numbered cells; a cell keeps its node, so it moves from step to step. */
  function board(figure) {
    const node = element("div", { class: "mha-board", role: "img" });
    const axes = element("p", { class: "mha-hint mha-axes" });
    let cells = [], frames = [], view = null;

    function place() {
      if (!view || !node.clientWidth) return;
      const { state, result: { stages, places } } = view;
      const width = node.clientWidth, height = node.clientHeight;
      const lengths = stages.map((stage) => stage.axes.map((axis) => lengthOf(state, axis)));
      const fits = (size) => lengths.map((each) => lay(each, size, width))
        .every((laid) => laid.width <= width && laid.height <= height);
      const size = range(LARGEST - SMALLEST).map((i) => LARGEST - i).find(fits) || SMALLEST;
      const at = stages.findIndex(({ name }) => name === state.stage);
      const stage = stages[at], laid = lay(lengths[at], size, width);
      const left = (width - laid.width) / 2, top = (height - laid.height) / 2;
      const entries = stage.array.flat(Infinity), d_k = lengthOf(state, "d_k");
      const [word, letter, first] = { T: ["position ", "t", 0], h: ["head ", "h", 1] }[stage.axes[0]];

      frames.forEach((frame) => frame.remove());
      frames = range(laid.blocks).map((block) => {
        const [x, y] = laid.at(block);
        return element("span", {
          class: "mha-block",
          style: `left:${left + x}px;top:${top + y}px;width:${laid.wide}px;height:${laid.high}px`,
        }, lengths[at].length === 2 ? "" : (laid.wide < 64 ? letter : word) + (block + first));
      });
      node.prepend(...frames);

      places[at].forEach((cell, i) => {
        const [x, y] = laid.at(Math.floor(i / (laid.rows * laid.columns)));
        const row = Math.floor(i / laid.columns) % laid.rows, column = i % laid.columns;
        const owner = Math.floor(entries[i] % 10 / d_k) + 1;
        change(cells[cell], {
          class: classes("mha-entry", stage.misplaced[i] && "mha-misplaced"),
          style: `--mha-owner:var(--mha-head-${owner});width:${size}px;height:${size}px;`
            + `transform:translate(${left + x + column * size}px,${top + y + LABEL + row * size}px)`,
        });
        cells[cell].replaceChildren(String(entries[i]), element("small", {}, "h" + owner));
      });
    }
    // The first place and a new width are no moves of the entries.
    new ResizeObserver(() => {
      node.classList.add("mha-still");
      place();
      node.getBoundingClientRect(); // takes effect before the class goes
      node.classList.remove("mha-still");
    }).observe(node);
    return {
      nodes: [axes, node],
      draw(now) {
        view = now;
        const { state, result: { stages } } = now;
        const stage = shown(stages, state);
        if (cells.length !== state.T * state.d_model) {
          cells = range(state.T * state.d_model).map(() => element("span"));
          node.replaceChildren(...cells);
        }
        axes.textContent = ["blocks", "rows", "columns"].slice(-stage.axes.length)
          .map((kind, i) => `${kind}: ${AXES[stage.axes[i]]}`).join(" \u00b7 ");
        node.setAttribute("aria-label", inWords(stage));
        place();
      },
    };
  }

  /** The array in words, for those who hear it. */
  function inWords({ axes, array }) {
    const rows = (block) => block.map((row) => row.join(" ")).join("; ");
    if (axes.length === 2) return `Rows, one per position: ${rows(array)}.`;
    const [kind, first] = axes[0] === "h" ? ["Head", 1] : ["Position", 0];
    return array.map((block, i) => `${kind} ${i + first}: ${rows(block)}.`).join(" ");
  }

  const TESTS = {
    shape: "The shape of the result",
    "one position": "One position, T = 1, against the right layer",
    "round trip": "Round trip: merging what was split gives x",
    causality: "Causality: the last position moves no earlier output",
    loop: "Attention on each head's columns, in a loop",
  };

  /** What the tests say together. */
  function verdict({ T, plain_reshape, passes }) {
    const noticed = Object.values(passes).filter((passed) => !passed).length;
    if (plain_reshape === "nowhere") return "The right moves pass every test.";
    if (!noticed) return `With one ${T === 1 ? "position" : "head"} a plain reshape moves nothing: it is right.`;
    return noticed === 1
      ? "The two mistakes undo each other until the heads read. Only the loop notices."
      : "The shape and a single position notice nothing.";
  }

  function tests() {
    const rows = Object.fromEntries(Object.keys(TESTS).map((name) => [name, element("td")]));
    const summary = element("p", { class: "mha-verdict" });
    return {
      node: element("section", { class: "mha-stage", "aria-label": "Tests" },
        element("p", { class: "mha-step" }, element("b", {}, "Which tests would such a layer pass?")),
        summary,
        element("table", { class: "mha-tests", "aria-label": "Tests of this layer" },
          element("tbody", {}, ...Object.entries(TESTS).map(([name, text]) =>
            element("tr", {}, element("th", { scope: "row" }, text), rows[name]))))),
      draw({ state, result: { passes } }) {
        for (const [name, cell] of Object.entries(rows))
          change(cell, {
            text: passes[name] ? "passes" : "fails", class: passes[name] ? null : "mha-fails",
          });
        summary.textContent = verdict({ ...state, passes });
      },
    };
  }

  function build(figure) {
    const top = controls(figure), way = stepper(figure), array = board(figure), list = tests();
    const about = element("p", { class: "mha-about" }), wrong = element("b", { class: "mha-count" });
    return {
      nodes: [top.node, way.node, ...array.nodes,
        element("div", { class: "mha-words" }, wrong, about), list.node],
      draw(view) {
        for (const part of [top, way, array, list]) part.draw(view);
        const stage = shown(view.result.stages, view.state), text = count(stage);
        wrong.textContent = text[0].toUpperCase() + text.slice(1)
          + (stage.misplaced.includes(true) ? " (dashed)." : ".");
        about.textContent = explain(view.state, stage.name);
      },
      say(now, last) {
        const stage = shown(now.stages, now), at = now.stages.indexOf(stage) + 1;
        return `Step ${at} of ${now.stages.length}, ${titleOf(now, stage.name)}: `
          + `shape ${shapeOf(now, stage)}, ${count(stage)}.`
          + (now.plain_reshape === last.plain_reshape ? "" : " " + verdict(now));
      },
    };
  }

  root.mhaSplitMerge = {
    numbered, journey, attend, positionBefore, passes, compute, tidy,
    render: define({
      tag: "mha-split-merge", label: "Split and merge, live", defaults: DEFAULTS,
      tidy, compute, build,
      data: ({ T, num_heads }) => ({ rows: Math.max(T, num_heads) > 3 ? "many" : "few" }),
    }),
  };
})(globalThis);
