"""The rungs behind one NumPy-in, NumPy-out face, so that one test can climb the whole ladder."""

import numpy as np
import torch

from mha_lessons import equation, fused, module, vectorized


class TorchRung:
    """`module`'s functions for NumPy arrays."""

    def __init__(self, attend=module.attention):
        self.attend = attend

    def softmax(self, scores):
        return module.softmax(torch.from_numpy(scores)).numpy()

    def attention_weights(self, Q, K, mask=None):
        return module.attention_weights(torch.from_numpy(Q), torch.from_numpy(K), mask).numpy()

    def attention(self, Q, K, V, mask=None):
        return self.attend(*map(torch.from_numpy, (Q, K, V)), mask).numpy()

    def multi_head_attention(self, x_q, x_kv, projections, mask=None):
        x_q, x_kv = torch.from_numpy(x_q), torch.from_numpy(x_kv)
        out = module.multi_head_attention(x_q, x_kv, projections, mask, attend=self.attend)
        return out.numpy()


RUNGS = {
    "equation": equation,
    "vectorized": vectorized,
    "module": TorchRung(),
    "module, fused": TorchRung(fused.attention),
}

# Distinct primes, so that swapped axes cannot pass by luck.
B, T, S, NUM_HEADS, D_MODEL, D_K, D_V = 2, 3, 5, 7, 11, 13, 17


def draw(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def draw_mask(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).random(shape) < 0.6
