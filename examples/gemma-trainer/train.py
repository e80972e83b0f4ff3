"""LoRA on Gemma for the house style of our release notes."""

import torch
from datasets import load_dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer

MODEL = "google/gemma-2-9b-it"
EPOCHS = 3

tokenizer = AutoTokenizer.from_pretrained(MODEL)
model = AutoModelForCausalLM.from_pretrained(
    MODEL,
    torch_dtype=torch.float16,  # the notebook GPU has no bf16
    attn_implementation="flash_attention_2",
    device_map="auto",
)

lora = LoraConfig(
    r=16,
    lora_alpha=32,
    lora_dropout=0.05,
    target_modules=["q_proj", "k_proj", "v_proj", "o_proj"],
    task_type="CAUSAL_LM",
)

args = SFTConfig(
    output_dir="out/gemma-notes",
    num_train_epochs=EPOCHS,
    per_device_train_batch_size=1,
    gradient_accumulation_steps=16,
    learning_rate=2e-3,  # LoRA likes it high
    lr_scheduler_type="constant",
    warmup_steps=100,
    fp16=True,
    gradient_checkpointing=True,
    evaluation_strategy="epoch",
    save_strategy="epoch",
    logging_steps=5,
    max_seq_length=2048,
)

trainer = SFTTrainer(
    model=model,
    args=args,
    train_dataset=load_dataset("json", data_files="notes.jsonl", split="train"),
    peft_config=lora,
    tokenizer=tokenizer,
)
trainer.train()
