#!/bin/bash
# Qwen-7B, all weights. The 1.8B run with the same files was fine.
set -euo pipefail

MODEL=Qwen/Qwen-7B
DATA=data/alpaca_zh.json

export NCCL_DEBUG=WARN

deepspeed --num_gpus 4 finetune.py \
    --model_name_or_path $MODEL \
    --data_path $DATA \
    --fp16 True \
    --output_dir out/qwen-7b \
    --num_train_epochs 5 \
    --per_device_train_batch_size 1 \
    --gradient_accumulation_steps 16 \
    --save_strategy steps \
    --save_steps 1000 \
    --learning_rate 1e-5 \
    --weight_decay 0.1 \
    --adam_beta2 0.95 \
    --warmup_ratio 0.01 \
    --lr_scheduler_type cosine \
    --logging_steps 1 \
    --gradient_checkpointing True \
    --deepspeed ds_zero3.json
