"""What a TRL config class trains for."""

from __future__ import annotations

OBJECTIVES = {
    "SFTConfig": "sft", "DPOConfig": "dpo", "KTOConfig": "kto", "GRPOConfig": "grpo", "RewardConfig": "reward", "RLOOConfig": "rloo",
    "ORPOConfig": "orpo", "CPOConfig": "cpo", "PPOConfig": "ppo", "OnlineDPOConfig": "online-dpo", "BCOConfig": "bco", "PRMConfig": "prm",
    "GKDConfig": "gkd", "DistillationConfig": "distillation", "NashMDConfig": "nash-md", "XPOConfig": "xpo",
    # trl.experimental. These five are kinds of GRPOConfig and call its checks; ServerDistillationConfig those of DistillationConfig.
    "GMPOConfig": "grpo", "GFPOConfig": "grpo", "PAPOConfig": "grpo", "DPPOConfig": "grpo", "GRPOWithReplayBufferConfig": "grpo",
    "ServerDistillationConfig": "distillation", "AsyncDistillationConfig": "async-distillation", "AsyncGRPOConfig": "async-grpo",
    "GOLDConfig": "gold", "IWOPDConfig": "iw-opd", "MiniLLMConfig": "minillm", "SDFTConfig": "sdft", "SDPOConfig": "sdpo", "SSDConfig": "ssd",
    "A2POConfig": "a2po", "TPOConfig": "tpo",
}  # fmt: skip
# The kinds of models of sentence-transformers, and what each is trained for.
ENCODERS = {"SentenceTransformer": "embeddings", "SparseEncoder": "embeddings", "CrossEncoder": "reranking"}
