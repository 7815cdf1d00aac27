"""The keys and values of earlier positions, kept so that a new token only computes its own."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mha_lessons.torch_masks import Mask


class KVCache:
    """Room for the keys and values of one layer.

    Each sequence fills its own slots from the left; a free slot may hold anything, since no query
    may read it.

    Parameters
    ----------
    B, num_kv_heads, capacity, d_k, d_v : int
        Sequences, key and value heads, slots per sequence, head widths.
    dtype, device : optional
        As for every torch tensor.

    Attributes
    ----------
    K, V : (B, num_kv_heads, capacity, d_k or d_v)
    lengths : (B,) integers
        Filled slots of each sequence.

    Raises
    ------
    ValueError
        When a size is negative.
    """

    def __init__(self, B, num_kv_heads, capacity, d_k, d_v, *, dtype=None, device=None):
        if min(B, num_kv_heads, capacity, d_k, d_v) < 0:
            raise ValueError(
                f"A cache needs sizes of 0 or more: got B={B}, num_kv_heads={num_kv_heads}, "
                f"capacity={capacity}, d_k={d_k}, d_v={d_v}."
            )
        self.K = torch.zeros(B, num_kv_heads, capacity, d_k, dtype=dtype, device=device)
        self.V = torch.zeros(B, num_kv_heads, capacity, d_v, dtype=dtype, device=device)
        self.lengths = torch.zeros(B, dtype=torch.long)

    def extend(
        self,
        K: Float[Tensor, "B h_kv T d_k"],
        V: Float[Tensor, "B h_kv T d_v"],
        mask: Mask | None = None,
        new_lengths: Int[Tensor, " B"] | None = None,
    ) -> tuple[Tensor, Tensor, Bool[Tensor, "..."] | None, bool]:
        """Store new keys and values, and return everything that attention then needs.

        Parameters
        ----------
        K : (B, num_kv_heads, T, d_k)
        V : (B, num_kv_heads, T, d_v)
        mask : boolean, broadcastable to (B, num_heads, T, S), optional
            Hides more than the future. True = may attend.
        new_lengths : (B,) integers, optional
            How many of the T positions of each sequence are real, T unless given. The rest is
            padding on the right: it isn't kept.

        Returns
        -------
        K, V : (B, num_kv_heads, S, d_k or d_v)
            Views of the slots in use, S being the longest sequence.
        mask : boolean, or None
            True where a new query may attend to a slot: its own and the earlier ones of its
            sequence, as far as `mask` allows.
        causal : bool
            Whether the mask leaves causality to the attention function: where all sequences are
            equally long, the last query stands at the last slot, and no mask is needed for that.

        Raises
        ------
        ValueError
            When shapes do not fit the cache, or it is full.
        """
        for name, x, room in (("K", K, self.K), ("V", V, self.V)):
            if x.ndim != 4 or x.shape[:2] != room.shape[:2] or x.shape[3] != room.shape[3]:
                raise ValueError(
                    f"{name} must fit the cache: got {tuple(x.shape)} for slots "
                    f"{tuple(room.shape)}. Make the cache with the layer that fills it."
                )
            if x.dtype != room.dtype:
                raise TypeError(
                    f"{name} must have the dtype of the cache: got {x.dtype} for {room.dtype}. "
                    f"Make the cache with the layer that fills it."
                )
        B, _, T, _ = K.shape
        new = torch.full((B,), T) if new_lengths is None else torch.as_tensor(new_lengths).cpu()
        if new_lengths is not None and (new.shape != (B,) or (new < 0).any() or (new > T).any()):
            raise ValueError(
                f"new_lengths must be one number per sequence, each from 0 to T={T}: got "
                f"{new.tolist()}. Count the real positions of each sequence."
            )
        first, last = self.lengths, self.lengths + new
        spans = list(zip(first.tolist(), last.tolist(), strict=True))
        S, capacity = max((stop for _, stop in spans), default=0), self.K.shape[2]
        if S > capacity:
            raise ValueError(
                f"The cache has {capacity} slots per sequence, and {S} are needed. "
                f"Make it larger, or start a new one."
            )
        alike = len(set(spans)) <= 1  # then one copy serves all sequences
        for b, (start, stop) in zip([slice(None)] if alike else range(B), spans, strict=False):
            self.K[b, :, start:stop] = K[b, :, : stop - start].detach()
            self.V[b, :, start:stop] = V[b, :, : stop - start].detach()
        self.lengths = last
        K, V = self.K[:, :, :S], self.V[:, :, :S]
        if alike and all(stop - start == T for start, stop in spans):
            return K, V, mask, True
        own = first[:, None] + torch.arange(T)  # the slot of each new query
        readable = torch.minimum(own, last[:, None] - 1)  # padding reads what the last one reads
        filled = (torch.arange(S) <= readable[..., None])[:, None].to(K.device)  # (B, 1, T, S)
        return K, V, filled if mask is None else filled & mask, False

    def reorder(self, order: Int[Tensor, " B_new"]) -> None:
        """Keep the sequences `order`, in that order, once for each time they are named.

        Parameters
        ----------
        order : integers from 0 to B - 1
            As a beam search chooses them: sequence i of the result continues sequence order[i].

        Raises
        ------
        ValueError
            When an index names no sequence.
        """
        order = torch.as_tensor(order, dtype=torch.long)
        B = self.K.shape[0]
        if order.ndim != 1 or (order < 0).any() or (order >= B).any():
            raise ValueError(
                f"order must be indices of sequences from 0 to {B - 1}: got {order.tolist()}."
            )
        on_device = order.to(self.K.device)
        self.K, self.V = self.K[on_device], self.V[on_device]
        self.lengths = self.lengths[order]
