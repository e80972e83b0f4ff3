"""What a TRL config class trains for."""

from __future__ import annotations

OBJECTIVES = {
    "SFTConfig": "sft", "DPOConfig": "dpo", "KTOConfig": "kto", "GRPOConfig": "grpo", "RewardConfig": "reward", "RLOOConfig": "rloo",
    "ORPOConfig": "orpo", "CPOConfig": "cpo", "PPOConfig": "ppo", "OnlineDPOConfig": "online-dpo", "BCOConfig": "bco", "PRMConfig": "prm",
    "GKDConfig": "gkd", "DistillationConfig": "distillation", "NashMDConfig": "nash-md", "XPOConfig": "xpo",
}  # fmt: skip
