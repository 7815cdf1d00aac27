/* Same weights, different outputs, live: <mha-same-weights config='{"example": "same"}'>.
 *
 * Stands on live_figure.js, which is loaded first. The looks are in same_weights.css.
 */
(function (root) {
  "use strict";

  const { dot, matmul, transpose, softmax, fixed, minus, shade, element, change, classes, hint,
    matrix, choice, button } = root.mhaLive;

  // ==================================================================================== numbers
  // The twin of mha_lessons/same_weights.py; tests/test_same_weights.py compares the two.

  // Both heads have these queries and keys, so they have the same weights.
  const Q = [[1, 0], [0, 2], [1, 1]], K = [[2, 0], [0, 1], [-1, 2]];
  const ZEROS = Q.map((row) => row.map(() => 0)); // a query of zeros scores every key 0
  const W_O = [2, -1]; // the map 2a - b
  const MOST = 10;

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

  root.mhaSameWeights = { EXAMPLES, compute };
})(globalThis);
