"""Facts that follow from others: what the run will really do. One small rule a fact; each says which facts decided it."""

from __future__ import annotations

from importlib import import_module

from stablint.run import derived_batch as batch
from stablint.run import derived_method as method
from stablint.run import derived_precision as precision
from stablint.run.world import Answer, Rule, World


def _later(module: str, name: str) -> Rule:
    """A rule whose module is loaded when a run first asks for the fact: most runs name no GPU and state no learning rate."""

    def rule(w: World) -> Answer:
        answer: Answer = getattr(import_module(f"stablint.run.{module}"), name)(w)
        return answer

    return rule


RULES: dict[str, Rule] = {
    "derived.compute_dtype": precision.compute_dtype,
    "derived.weights_dtype": precision.weights_dtype,
    "derived.method": method.method,
    "derived.objective": method.objective,
    "derived.config_class": method.config_class,
    "derived.framework": method.framework,
    "derived.trainer": method.trainer,
    "derived.hf_trainer": method.hf_trainer,
    "derived.trl_trainer": method.trl_trainer,
    "derived.trl_arguments": method.trl_arguments,
    "derived.read_by_library": method.read_by_library,
    "derived.evaluates_apart": method.evaluates_apart,
    "derived.hf_arguments": method.hf_arguments,
    "derived.own_trainer": method.own_trainer,
    "derived.own_optimizer": method.own_optimizer,
    "derived.trains": method.trains,
    "derived.lora_scale": method.lora_scale,
    "derived.accelerator_made": method.accelerator_made,
    "derived.model_loaded_first": method.model_loaded_first,
    "derived.attention_set": method.attention_set,
    "derived.adapter_claimed": method.adapter_claimed,
    "derived.weights_gathered": method.weights_gathered,
    "derived.encoder_decoder": method.encoder_decoder,
    "derived.casts_text": method.casts_text,
    "derived.unknown_arguments_pass": method.unknown_arguments_pass,
    "derived.megatron_arguments": method.megatron_arguments,
    "derived.adalora_pruning_end": method.adalora_pruning_end,
    "derived.lora_pattern_keys_lost": method.lora_pattern_keys_lost,
    "derived.lora_targets_missing": method.lora_targets_missing,
    "derived.lora_targets_found": method.lora_targets_found,
    "derived.lora_targets_lost": method.lora_targets_lost,
    "derived.lora_targets_meant": method.lora_targets_meant,
    "derived.lora_target_pattern": method.lora_target_pattern,
    "derived.world_size": batch.world_size,
    "derived.effective_batch": batch.effective_batch,
    "derived.total_steps": batch.total_steps,
    "derived.warmup_steps": batch.warmup_steps,
    "derived.zero_stage": batch.zero_stage,
    "derived.batch_per_device": batch.batch_per_device,
    "derived.rollouts_per_device": batch.rollouts_per_device,
    "derived.deepspeed_batch": batch.deepspeed_batch,
    "derived.deepspeed_share": batch.deepspeed_share,
    "derived.deepspeed_builds_optimizer": batch.deepspeed_builds_optimizer,
    "derived.deepspeed_builds_scheduler": batch.deepspeed_builds_scheduler,
    "derived.deepspeed_trains": batch.deepspeed_trains,
    "derived.eval_batch": batch.eval_batch,
    "derived.global_micro_batch": batch.global_micro_batch,
    "derived.global_batch_whole": batch.global_batch_whole,
    "derived.generation_batch": batch.generation_batch,
    "derived.generations_fitting": batch.generations_fitting,
    "derived.generations_eval": batch.generations_eval,
    "derived.half_length": batch.half_length,
    "derived.deepspeed": batch.deepspeed,
    "derived.deepspeed_alone": batch.deepspeed_alone,
    "derived.fsdp": batch.fsdp,
    "derived.learning_rate_alarm": _later("derived_rate", "alarm"),
    "derived.learning_rate_low": _later("derived_rate", "low"),
    "derived.learning_rate_band": _later("derived_rate", "learning_rate_band"),
    "derived.learning_rate_severity": _later("derived_rate", "severity"),
    "derived.learning_rate_high": _later("derived_rate", "high"),
    "derived.learning_rate_median": _later("derived_rate", "median"),
    "derived.published_rates": _later("derived_rate", "published_rates"),
    "derived.published_name": _later("derived_rate", "published_name"),
    "derived.published_alarm": _later("derived_rate", "published_alarm"),
    "derived.published_severity": _later("derived_rate", "published_severity"),
    "derived.effective_lora_rate": _later("derived_rate", "effective_lora_rate"),
    "derived.adam_betas": _later("derived_rate", "adam_betas"),
    "derived.weights_gib": _later("derived_memory", "weights_gib"),
    "derived.weights_per_card_gib": _later("derived_memory", "weights_per_card_gib"),
    "derived.weights_4bit_per_card_gib": _later("derived_memory", "weights_4bit_per_card_gib"),
    "derived.weights_half_per_card_gib": _later("derived_memory", "weights_half_per_card_gib"),
    "derived.training_state_gib": _later("derived_memory", "training_state_gib"),
    "derived.training_state_8bit_share": _later("derived_memory", "training_state_8bit_share"),
    "derived.training_state_sharded_share": _later("derived_memory", "training_state_sharded_share"),
    "derived.rows_gib": _later("derived_peak", "rows_gib"),
    "derived.checkpointing": _later("derived_peak", "checkpointing"),
    "derived.fsdp_offloaded": _later("derived_peak", "fsdp_offloaded"),
    "derived.row_gib": _later("derived_peak", "row_gib"),
    "derived.peak_share": _later("derived_peak", "peak_share"),
    "derived.peak_gib": _later("derived_peak", "peak_gib"),
    "derived.peak_checkpointed_gib": _later("derived_peak", "peak_checkpointed_gib"),
    "derived.peak_checkpointed_share": _later("derived_peak", "peak_checkpointed_share"),
    "derived.peak_single_gib": _later("derived_peak", "peak_single_gib"),
    "derived.peak_single_share": _later("derived_peak", "peak_single_share"),
    "derived.peak_smallest_gib": _later("derived_peak", "peak_smallest_gib"),
    "derived.fitting_length": _later("derived_peak", "fitting_length"),
    "derived.cpt_tokens": _later("derived_lengths", "cpt_tokens"),
    "derived.parallel_size": _later("derived_lengths", "parallel_size"),
    "derived.recipe_reward_functions": _later("derived_lengths", "recipe_reward_functions"),
    "derived.reward_functions": _later("derived_lengths", "reward_functions"),
    "derived.rl_cards": _later("derived_rl", "cards"),
    "derived.rl_completions": _later("derived_rl", "completions"),
    "derived.rl_engine_cards": _later("derived_rl", "engine_cards"),
    "derived.rl_mini_batch_per_card": _later("derived_rl", "mini_batch_per_card"),
    "derived.rl_critic_batch_per_card": _later("derived_rl", "critic_batch_per_card"),
    "derived.rl_vllm_cards": _later("derived_rl", "vllm_cards"),
    "derived.rl_length": _later("derived_rl", "length"),
    "target.gpu.total_memory_gib": _later("derived_memory", "total_memory_gib"),
}
