/* Split and merge, live: <mha-split-merge config='{"T": 3, "d_model": 6, "num_heads": 3}'>.
 *
 * Stands on live_figure.js, which is loaded first. The looks are in split_merge.css.
 */
(function (root) {
  "use strict";

  const { matmul, transpose, softmax, fixed, element, change, classes, hint, slider, checkbox,
    choice, button, stepper } = root.mhaLive;

  // ==================================================================================== numbers
  // The twin of mha_lessons/split_and_merge.py; tests/test_split_merge.py compares the two.

  const MOST_T = 5, MOST_D_MODEL = 8;
  const range = (n) => Array.from({ length: n }, (_, i) => i);
  const divisors = (n) => range(n + 1).filter((h) => n % h === 0);

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
      num_heads: divisors(d_model).findLast((h) => h <= num_heads),
      stage: (skipped[plain_reshape] || []).includes(stage) ? next[stage] : stage,
    };
  }

  root.mhaSplitMerge = { numbered, journey, attend, positionBefore, passes, compute, tidy };
})(globalThis);
