"""The dimensions of a decoder that memory depends on, and how many of its parameters stand where."""

from __future__ import annotations

from stablint.base.light import NamedTuple


class Shape(NamedTuple):
    """`key_value` is the width of the keys (heads × head dimension of the key-value heads), `query` that of the queries."""

    parameters: int
    layers: int
    hidden: int
    intermediate: int
    query: int
    key_value: int
    vocab: int
    tied: bool

    @property
    def outside(self) -> int:
        """Embedding and head, which quantisers leave in half precision."""
        return self.vocab * self.hidden * (1 if self.tied else 2)

    @property
    def layer(self) -> int:
        """Parameters of one block."""
        return max(self.parameters - self.outside, 0) // self.layers

    def adapter(self, targets: list[str], rank: int) -> int:
        """Parameters of a LoRA over these modules: rank × (width in + width out), in every layer. A module of another name counts as hidden × hidden."""
        wide = self.hidden
        ends = {
            "q_proj": wide + self.query,
            "o_proj": wide + self.query,
            "k_proj": wide + self.key_value,
            "v_proj": wide + self.key_value,
            "qkv_proj": wide + self.query + 2 * self.key_value,
            "query_key_value": wide + self.query + 2 * self.key_value,
            "W_pack": wide + self.query + 2 * self.key_value,
            "c_attn": wide + self.query + 2 * self.key_value,
            "wqkv": wide + self.query + 2 * self.key_value,
            **dict.fromkeys(("wq", "wo"), wide + self.query),
            **dict.fromkeys(("wk", "wv"), wide + self.key_value),
            "gate_proj": wide + self.intermediate,
            "up_proj": wide + self.intermediate,
            "down_proj": wide + self.intermediate,
            "gate_up_proj": wide + 2 * self.intermediate,
            **dict.fromkeys(
                ("fc1", "fc2", "c_fc", "dense_h_to_4h", "dense_4h_to_h", "w1", "w2", "w3"), wide + self.intermediate
            ),
        }
        return rank * self.layers * sum(ends.get(target, 2 * wide) for target in targets)
