"""Secrets of many vendors, made up and put together from pieces so that no scanner takes these files for a leak, and files that hold them."""

from __future__ import annotations

import json
from typing import NamedTuple

_MIXED = "qW7eR2tY9uI4oP1aS8dF3gH6jK5lZ0xC"
_MORE = "vB2nM8qA4wS6eD1rF7tG3yH9uJ5iK0oL"
_HEX = "9f3ac41e07b8d256"
_UPPER = "Q7W2E9R4T1Y8U3I6O5P0ASDFGHJKLZXC"


def _mixed(length: int, turn: int = 0) -> str:
    text = (_MIXED + _MORE) * 8
    return text[turn : turn + length]


def _hex(length: int) -> str:
    return (_HEX * 10)[:length]


UUID = f"{_hex(8)}-{_hex(4)}-4{_hex(3)}-a{_hex(3)}-{_hex(12)}"

# By vendor: a token of its shape, and the key that it usually stands behind.
VENDORS: dict[str, tuple[str, str]] = {
    "Hugging Face": ("HF_TOKEN", "hf_" + _mixed(34)),
    "Hugging Face, organisation": ("HUGGINGFACE_TOKEN", "api_" + "org_" + _mixed(34, 1)),
    "Weights & Biases": ("WANDB_API_KEY", _hex(40)),
    "Weights & Biases, newer": ("WANDB_KEY", "wandb" + "_v1_" + _mixed(40, 2)),
    "OpenAI": ("OPENAI_API_KEY", "sk-" + _mixed(48, 3)),
    "OpenAI, project": ("OPENAI_KEY", "sk-" + "proj-" + _mixed(60, 4)),
    "Anthropic": ("ANTHROPIC_API_KEY", "sk-" + "ant-api03-" + _mixed(60, 5)),
    "OpenRouter": ("OPENROUTER_API_KEY", "sk-" + "or-v1-" + _hex(64)),
    "DeepSeek": ("DEEPSEEK_API_KEY", "sk-" + _hex(32)),
    "Dashscope": ("DASHSCOPE_API_KEY", "sk-" + _hex(31) + "0"),
    "SiliconFlow": ("SILICONFLOW_API_KEY", "sk-" + "".join(c for c in _mixed(200, 30).lower() if c.isalpha())[:48]),
    "GitHub, personal": ("GITHUB_TOKEN", "gh" + "p_" + _mixed(36, 6)),
    "GitHub, OAuth": ("GH_TOKEN", "gh" + "o_" + _mixed(36, 7)),
    "GitHub, server": ("GITHUB_APP_TOKEN", "gh" + "s_" + _mixed(36, 8)),
    "GitHub, refresh": ("GITHUB_REFRESH_TOKEN", "gh" + "r_" + _mixed(36, 9)),
    "GitHub, fine-grained": ("GITHUB_PAT", "github" + "_pat_" + _mixed(22, 10) + "_" + _mixed(50, 11)),
    "GitLab": ("GITLAB_TOKEN", "gl" + "pat-" + _mixed(20, 12)),
    "Slack, bot": ("SLACK_TOKEN", "xo" + "xb-123456789012-" + _mixed(24, 13)),
    "AWS, id": ("AWS_ACCESS_KEY_ID", "AK" + "IA" + _UPPER[:16]),
    "AWS, secret": ("AWS_SECRET_ACCESS_KEY", "wJa" + "/" + _mixed(20, 14) + "+" + _mixed(15, 15)),
    "AWS, session": ("AWS_SESSION_TOKEN", "IQoJb3" + _mixed(60, 16) + "=="),
    "Google, API key": ("GOOGLE_API_KEY", "AI" + "za" + _mixed(35, 17)),
    "Google, OAuth": ("GCP_CLIENT_SECRET", "GOC" + "SPX-" + _mixed(28, 18)),
    "Azure, storage": ("AZURE_STORAGE_KEY", _mixed(40, 19) + "+/" + _mixed(44, 20) + "=="),
    "Azure, OpenAI": ("AZURE_OPENAI_KEY", _hex(32)[::-1]),
    "Azure, client": ("AZURE_CLIENT_SECRET", "abc" + "8Q~" + _mixed(34, 21)),
    "Comet": ("COMET_API_KEY", _mixed(25, 22)),
    "Neptune": ("NEPTUNE_API_TOKEN", "ey" + "JhcGlfYWRkcmVzcyI6" + _mixed(60, 23) + "=="),
    "Databricks": ("DATABRICKS_TOKEN", "da" + "pi" + _hex(32)),
    "Replicate": ("REPLICATE_API_TOKEN", "r8" + "_" + _mixed(37, 24)),
    "Together": ("TOGETHER_API_KEY", "tgp" + "_v1_" + _mixed(43, 25)),
    "Groq": ("GROQ_API_KEY", "gs" + "k_" + _mixed(52, 26)),
    "Mistral": ("MISTRAL_API_KEY", _mixed(32, 27)),
    "Cohere": ("COHERE_API_KEY", _mixed(40, 28)),
    "Perplexity": ("PERPLEXITY_API_KEY", "pp" + "lx-" + _mixed(48, 29)),
    "xAI": ("XAI_API_KEY", "xa" + "i-" + _mixed(80, 1)),
    "Fireworks": ("FIREWORKS_API_KEY", "fw" + "_" + _mixed(24, 2)),
    "NVIDIA": ("NGC_API_KEY", "nv" + "api-" + _mixed(64, 3)),
    "Jina": ("JINA_API_KEY", "ji" + "na_" + _mixed(60, 4)),
    "Pinecone": ("PINECONE_API_KEY", "pc" + "sk_" + _mixed(60, 5)),
    "LangSmith": ("LANGSMITH_API_KEY", "ls" + "v2_pt_" + _hex(32) + "_" + _hex(10)),
    "SendGrid": ("SENDGRID_API_KEY", "S" + "G." + _mixed(22, 6) + "." + _mixed(43, 7)),
    "Stripe": ("STRIPE_SECRET_KEY", "sk" + "_live_" + _mixed(24, 8)),
    "npm": ("NPM_TOKEN", "np" + "m_" + _mixed(36, 9)),
    "PyPI": ("TWINE_PASSWORD", "py" + "pi-AgEI" + _mixed(60, 10)),
    "Docker Hub": ("DOCKER_PASSWORD", "dc" + "kr_pat_" + _mixed(27, 11)),
    "Telegram": ("TELEGRAM_BOT_TOKEN", "123456789" + ":AA" + _mixed(33, 12)),
    "Discord": ("DISCORD_TOKEN", "M" + _mixed(25, 13) + "." + _mixed(6, 14) + "." + _mixed(38, 15)),
    "JSON web token": ("JWT", "ey" + "J" + _mixed(20, 16) + "." + "eyJ" + _mixed(30, 17) + "." + _mixed(43, 18)),
    "MLflow": ("MLFLOW_TRACKING_PASSWORD", "ml-" + _mixed(14, 19)),
    "ClearML": ("CLEARML_API_SECRET_KEY", _mixed(50, 20)),
    "ModelScope": ("MODELSCOPE_API_TOKEN", "ms-" + UUID),
    "SwanLab": ("SWANLAB_API_KEY", _mixed(21, 21)),
    "Kaggle": ("KAGGLE_KEY", _hex(32)),
    "Alibaba Cloud": ("ALIYUN_ACCESS_KEY_ID", "LT" + "AI" + _mixed(20, 22)),
    "Alibaba Cloud, secret": ("ALIYUN_ACCESS_KEY_SECRET", _mixed(30, 23)),
    "Tencent Cloud": ("TENCENT_SECRET_ID", "AK" + "ID" + _mixed(32, 24)),
    "Tencent Cloud, secret": ("TENCENT_SECRET_KEY", _mixed(32, 25)),
    "Volcengine": ("VOLC_ACCESSKEY", "AK" + "LT" + _mixed(40, 26)),
    "RunPod": ("RUNPOD_API_KEY", "rp" + "a_" + _mixed(42, 27)),
    "HashiCorp Vault": ("VAULT_TOKEN", "hv" + "s." + _mixed(90, 28)),
    "Linear": ("LINEAR_API_KEY", "lin" + "_api_" + _mixed(40, 29)),
    "Grafana": ("GRAFANA_TOKEN", "gl" + "sa_" + _mixed(32, 1) + "_" + _hex(8)),
    "DigitalOcean": ("DIGITALOCEAN_TOKEN", "do" + "p_v1_" + _hex(64)),
    "Mailgun": ("MAILGUN_API_KEY", "ke" + "y-" + _hex(32)),
    "Hugging Face, OAuth": ("HF_OAUTH_TOKEN", "hf" + "_oauth_" + _mixed(40, 2)),
    "Google AI Studio": ("GEMINI_API_KEY", "AQ" + ".Ab8" + _mixed(46, 3)),
    "Google, refresh": ("GOOGLE_REFRESH_TOKEN", "1/" + "/0" + _mixed(50, 4)),
    "Amazon Bedrock": ("BEDROCK_API_KEY", "AB" + "SK" + _mixed(90, 5)),
    "Slack, cookie": ("SLACK_COOKIE_TOKEN", "xo" + "xd-" + _mixed(50, 6)),
    "xAI, token": ("XAI_TOKEN", "xai" + "-token-" + _mixed(60, 7)),
    "Tavily": ("TAVILY_API_KEY", "tv" + "ly-" + _mixed(32, 8)),
    "Modal": ("MODAL_TOKEN_SECRET", "a" + "s-" + _mixed(22, 9)),
    "GitLab, workspace": ("GITLAB_WORKSPACE_TOKEN", "gl" + "wt-" + _mixed(20, 10)),
    "Atlassian": ("JIRA_API_TOKEN", "ATA" + "TT3xFf" + _mixed(150, 11)),
    "Bitbucket": ("BITBUCKET_TOKEN", "AT" + "BB" + _mixed(32, 12)),
    "Azure, OpenAI, newer": ("AZURE_API_KEY", _mixed(52, 13) + "JQ" + "QJ99" + _mixed(20, 14)),
    "Azure DevOps": ("AZURE_DEVOPS_TOKEN", _mixed(76, 15) + "AZ" + "DO" + _mixed(4, 16)),
    "Azure, another client": ("ARM_CLIENT_SECRET", "abc" + "7Q~" + _mixed(31, 17)),
    "Baidu": ("QIANFAN_TOKEN", "bce-v3/" + "ALTAK-" + _mixed(21, 18) + "/" + _hex(40)),
    "Zhipu": ("ZHIPUAI_API_KEY", _hex(32) + "." + _mixed(16, 19)),
    "Vercel": ("VERCEL_TOKEN", "vc" + "k_" + _mixed(56, 20)),
    "Neon": ("NEON_PASSWORD", "np" + "g_" + _mixed(12, 21)),
    "Fly": ("FLY_API_TOKEN", "fm" + "2_" + _mixed(100, 22)),
    "Netlify": ("NETLIFY_AUTH_TOKEN", "nf" + "p_" + _mixed(36, 23)),
    "PlanetScale": ("PLANETSCALE_TOKEN", "pscale" + "_tkn_" + _mixed(43, 24)),
    "Tailscale": ("TS_AUTH_KEY", "ts" + "key-auth-" + _mixed(12, 25) + "-" + _mixed(32, 26)),
    "ElevenLabs": ("ELEVENLABS_API_KEY", "s" + "k_" + _hex(48)),
    "Resend": ("RESEND_API_KEY", "r" + "e_" + _mixed(8, 1) + "_" + _mixed(24, 2)),
    "Figma": ("FIGMA_TOKEN", "fi" + "gd_" + _mixed(40, 3)),
    "RubyGems": ("RUBYGEMS_API_KEY", "ruby" + "gems_" + _hex(48)),
    "Pulumi": ("PULUMI_ACCESS_TOKEN", "pu" + "l-" + _hex(40)),
    "Terraform": ("TF_TOKEN", _mixed(14, 4) + ".atlas" + "v1." + _mixed(67, 5)),
    "Brevo": ("BREVO_API_KEY", "xkey" + "sib-" + _hex(64) + "-" + _mixed(16, 6)),
    "Doppler": ("DOPPLER_TOKEN", "dp" + ".ct." + _mixed(43, 7)),
    "A key in base64": ("TLS_KEY_B64", "LS0tLS1" + "CRUdJTiBSU0Eg" + _mixed(60, 8)),
}  # fmt: skip

_BEGIN = "BEGIN " + "RSA PRIVATE" + " KEY"
PRIVATE_KEYS = {
    "PEM": f"-----{_BEGIN}-----\nBODY\n-----END RSA",
    "PEM, small": f"-----{_BEGIN.lower()}-----\nBODY\n",
    "SSH2": f"---- {_BEGIN.replace('RSA', 'SSH2 ENCRYPTED')} ----\nBODY\n---- END SSH2",
    "PuTTY": "PuTTY-User-Key-File-3: ssh-rsa\nEncryption: none\nPrivate-Lines: 1\nBODY\nPrivate-MAC: 0",
    "minisign": "untrusted comment: minisign encrypted secret key\nBODY\n",
}
"""How private keys begin; BODY is the secret."""

# Names that hide whatever stands behind them, and values of no shape at all.
BY_KEY: dict[str, str] = {
    "password": "hunter2" + "horse",
    "db_passwd": "tr0ub4dor&3",
    "smtp_pwd": "Winter-2026!",
    "client_secret": "zebra" + "crossing",
    "myPassword": "Fl0ckOfGeese",
    "serviceApiKey": "kangaroo" + "77",
    "x_secret": "co-0815-hush",
    "foo_token": "local-4b9d0c7e5a1f",
    "hub_token": "plain" + "looking" + "word",
    "wandb_api_key": "short" + "key99",
    "credentials": "ada:love" + "lace1",
    "auth_token": "opensesame" + "42",
    "private_key": "nineteen" + "84orwell",
    "passphrase": "staple-" + "battery9",
    "S3_SECRET": "slash/and+" + "plus=",
}

ADDRESSES: dict[str, tuple[str, str]] = {
    "user and password": (f"https://ada:{_mixed(12, 3)}@git.example.org/x.git", _mixed(12, 3)),
    "a token for a user": (f"https://{_mixed(30, 5)}@git.example.org/x.git", _mixed(30, 5)),
    "a slash in the secret": (f"s3://{'AK' + 'IA' + _UPPER[3:19]}:{_mixed(10, 7)}/{_mixed(20, 9)}@bucket/run", _mixed(10, 7)),
    "a token in the query": (f"https://api.example.org/v1?a=1&token={_mixed(18, 11)}", _mixed(18, 11)),
    "a key in the query": (f"https://api.example.org/v1?api_key={_mixed(18, 13)}&b=2", _mixed(18, 13)),
    "Slack's webhook": (f"https://hooks.slack.com/services/T0{_mixed(9, 15)}/B0{_mixed(9, 16)}/{_mixed(24, 17)}", _mixed(24, 17)),
    "Discord's webhook": (f"https://discord.com/api/webhooks/123456789012345678/{_mixed(60, 19)}", _mixed(60, 19)),
    "a database": (f"postgresql://trainer:{_mixed(9, 21)}@db:5432/runs", _mixed(9, 21)),
}  # fmt: skip

NUMBER = "98127" + "46503"


class Planted(NamedTuple):
    """A file, the secrets in it, and how it is read. `broken`: it does not parse."""

    name: str
    text: str
    secrets: tuple[str, ...]
    broken: bool = False


ALL = {**dict(VENDORS.values()), **BY_KEY}
_ADDRESSES = tuple(secret for _, secret in ADDRESSES.values())
_MODEL = "model_name_or_path: Qwen/Qwen2-7B-Instruct\n"
_TRAINING = (
    "output_dir: out\nfp16: true\nbf16: true\nlearning_rate: 3.0e-4\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 2\n"
    "num_train_epochs: 3\noptim: adamw_hf\nlr_scheduler_type: cosine\nwarmup_steps: 10\nlogging_steps: 10\nsave_steps: 500\n"
)


def _share(number: int, of: int = 4) -> dict[str, str]:
    """Every vendor stands in some file of each kind of writing, and every name in every file."""
    return {**dict(list(VENDORS.values())[number % of :: of]), **BY_KEY}


def _quoted(keys: dict[str, str]) -> str:
    """YAML with quotes, with addresses and a number, the same once more below another key."""
    lines = [
        *(f"{key}: {json.dumps(value)}" for key, value in keys.items()),
        *(f"note_{n}: {address}" for n, (address, _) in enumerate(ADDRESSES.values())),
        f"admin_password: {NUMBER}",
    ]
    return "\n".join(["env:", *("  " + line for line in lines), *lines[-20:], ""])


def _bare(keys: dict[str, str]) -> str:
    """YAML without quotes, and the secret again in a comment."""
    return "env:\n" + "".join(f"  {key}: {value}  # it was {value}\n" for key, value in keys.items() if _plain(value))


def _plain(value: str) -> bool:
    return not set(value) & set("&!:#")


def _yaml(name: str, head: str, number: int) -> Planted:
    keys = _share(number)
    return Planted(name, head + _quoted(keys), (*keys.values(), *_ADDRESSES, NUMBER))


def _python(number: int) -> tuple[str, tuple[str, ...]]:
    keys = _share(number, 2)
    variables = {key: value for key, value in keys.items() if key.isupper()}
    lines = [
        "import os",
        "import wandb",
        "from huggingface_hub import login",
        "from transformers import TrainingArguments",
        *(f'os.environ["{key}"] = "{value}"' for key, value in variables.items()),
        f'wandb.login(key="{ALL["WANDB_API_KEY"]}")',
        f'login("{ALL["HF_TOKEN"]}")',
        f'login(token="{ALL["hub_token"]}")',
        f'HfApi().create_repo(repo_id="org/name", token="{ALL["hub_token"]}")',
        f"ADDRESSES = {json.dumps([address for address, _ in ADDRESSES.values()])}",
        f'half = dict(hub_token="{ALL["hub_token"][:5]}" + "{ALL["hub_token"][5:]}")',
    ]
    call = ", ".join(f"{key}={value!r}" for key, value in BY_KEY.items()) + f", admin_password={NUMBER}"
    nested = {"train_micro_batch_size_per_gpu": 4, "wandb": {**BY_KEY, "list": [dict(variables)]}}
    lines.append(
        f"args = TrainingArguments('out', fp16=True, bf16=True, optim='adamw_hf', {call}, deepspeed={nested!r})"
    )
    return "\n".join(lines) + "\n", (*variables.values(), *BY_KEY.values(), *_ADDRESSES, ALL["WANDB_API_KEY"], NUMBER)


def _deepspeed() -> str:
    inner = {**BY_KEY, "list": [dict(VENDORS.values())], "admin_password": int(NUMBER)}
    config = {
        "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 1, "fp16": {"enabled": True}, "bf16": {"enabled": True},
        "zero_optimization": {"stage": 2, "api_key": ALL["x_secret"]}, "gradient_clipping": 1.0, "wandb": inner, "hub_token": ALL["hub_token"],
    }  # fmt: skip
    return json.dumps(config, indent=1)


def _shell(number: int) -> str:
    lines = [
        *(f"export {key}='{value}'" for key, value in _share(number, 2).items() if not key.islower()),
        f"curl -H 'Authorization: Bearer {ALL['MISTRAL_API_KEY']}' {ADDRESSES['a key in the query'][0]}",
        *(f"git clone {address}" for address, _ in ADDRESSES.values()),
        f"PGPASSWORD={NUMBER} MY_PASSWORD={ALL['password']} torchrun --nproc_per_node 2 train.py --fp16 --bf16 --optim adamw_hf --output_dir out "
        "--learning_rate 3e-4 --model_name_or_path Qwen/Qwen2-7B-Instruct --typo_of_mine 3 "
        + " ".join(f"--{key} '{value}'" for key, value in BY_KEY.items()),
    ]
    return "\n".join(lines) + "\n"


def _notebook(*cells: str) -> str:
    made = [
        {
            "cell_type": "code",
            "metadata": {},
            "execution_count": None,
            "outputs": [],
            "source": [line + "\n" for line in cell.splitlines()],
        }
        for cell in cells
    ]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


_SHELL_SECRETS = (*_share(0, 2).values(), *_ADDRESSES, NUMBER, ALL["MISTRAL_API_KEY"])
_CODE, _CODE_SECRETS = _python(1)
_CELL, _CELL_SECRETS = _python(0)
_ENV = "\n".join(f"%env {key}={value}" for key, value in _share(1, 2).items() if key.isupper())
_MAGIC = (
    f"{_ENV}\n!wandb login {ALL['WANDB_API_KEY']}\n!accelerate launch train.py --fp16 --hub_token {ALL['hub_token']}"
)

_LINES = "".join(f"{key}={value}\n+ train --{key} {value}\n" for key, value in ALL.items())
LOG = (
    f"{_LINES}{{'loss': 1.2, 'grad_norm': 0.3, 'learning_rate': 2e-5, 'epoch': 0.1}}\n{{'loss': nan, 'grad_norm': nan, 'learning_rate': 2e-5, 'epoch': 0.2}}\n"
    + "".join(
        f"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB {value}\n"
        for value in ALL.values()
    )
)
"""A log that tells each secret with its key, and once more in the line that is quoted."""

FILES = (
    _yaml("hf.yaml", _MODEL + _TRAINING, 0),
    Planted("plain.yaml", _TRAINING + _bare(_share(1)), tuple(v for v in _share(1).values() if _plain(v))),
    _yaml("factory.yaml", f"{_MODEL}{_TRAINING}stage: sft\nfinetuning_type: lora\ndataset: alpaca\ntemplate: qwen\n", 2),
    _yaml("axolotl.yaml", "base_model: Qwen/Qwen2-7B-Instruct\nadapter: lora\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\nfp16: true\nbf16: true\n"
          "sequence_len: 2048\nval_set_size: 0.1\nnum_epochs: 3\nlearning_rate: 3.0e-4\ndatasets:\n  - path: x\n    type: alpaca\n", 3),
    # What a repair changes stands beside a secret, and further down it does not.
    Planted("twice.yaml", f"{_TRAINING}hub_token: {ALL['hub_token']}\nseed: 1\npassword: {ALL['password']}\nseed: 2\n", (ALL["hub_token"], ALL["password"])),
    Planted("thrice.yaml", f"hub_token: {ALL['hub_token']}\n{_TRAINING}seed: 1\nseed: 2\n", (ALL["hub_token"],)),
    Planted("ds.json", _deepspeed(), (*ALL.values(), NUMBER)),
    _yaml("accelerate.yaml", "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nmixed_precision: fp16\nnum_processes: 4\nnum_machines: 1\n", 1),
    _yaml("swift.yaml", "model: Qwen/Qwen3-8B\ntuner_type: lora\ndataset: [a]\nmax_length: 2048\noutput_dir: out\n"
          "learning_rate: 3.0e-4\nfp16: true\nbf16: true\n", 2),
    _yaml("tune.yaml", "model:\n  _component_: torchtune.models.llama3_2.llama3_2_1b\ntokenizer:\n  _component_: torchtune.models.llama3.llama3_tokenizer\n"
          "optimizer:\n  _component_: torch.optim.AdamW\n  lr: 2e-5\nbatch_size: 2\nepochs: 1\ndtype: fp16\n", 3),
    _yaml("litgpt.yaml", "checkpoint_dir: checkpoints/Qwen/Qwen2-7B\nout_dir: out\nprecision: 16-true\nlora_r: 8\ntrain:\n  lr_warmup_steps: 10\n"
          "  micro_batch_size: 2\n  global_batch_size: 3\n  epochs: 1\n", 0),
    _yaml("verl.yaml", "data:\n  train_batch_size: 8\n  max_prompt_length: 512\nactor_rollout_ref:\n  model:\n    path: Qwen/Qwen2-7B-Instruct\n  actor:\n"
          "    ppo_mini_batch_size: 16\ntrainer:\n  n_gpus_per_node: 8\n  total_epochs: 1\n", 1),
    Planted("verl.sh", "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_batch_size=8 "
            "actor_rollout_ref.model.path=Qwen/Qwen2-7B-Instruct "
            "actor_rollout_ref.actor.ppo_mini_batch_size=16 "
            + " ".join(f"+trainer.{key}='{value}'" for key, value in BY_KEY.items()) + "\n", tuple(BY_KEY.values())),
    Planted("xtuner.py", "from mmengine.optim import AmpOptimWrapper\nfrom torch.optim import AdamW\nfrom xtuner.model import SupervisedFinetune\n"
            "counts = 16\nlr = 2e-4\nmodel = dict(type=SupervisedFinetune, llm=dict(pretrained_model_name_or_path='Qwen/Qwen2-7B'))\n"
            + "".join(f"{key} = {value!r}\n" for key, value in BY_KEY.items())
            + "optim_wrapper = dict(type=AmpOptimWrapper, optimizer=dict(type=AdamW, lr=lr),\n"
            "    clip_grad=dict(max_norm=1), loss_scale='dynamic', dtype='float16', accumulative_counts=counts)\n"
            "train_cfg = dict(max_epochs=3)\n", tuple(BY_KEY.values())),
    Planted("openrlhf.sh", "deepspeed --module openrlhf.cli.train_sft --micro_train_batch_size 2 --pretrain Qwen/Qwen3-8B --dataset a "
            "--zero_stage 2 --typo_of_mine 3 "
            + " ".join(f"--{key} '{value}'" for key, value in BY_KEY.items()) + "\n", tuple(BY_KEY.values())),
    Planted("adapter_config.json", json.dumps({"peft_type": "LORA", "base_model_name_or_path": "Qwen/Qwen2-7B", "r": 8, "lora_alpha": 16,
            "task_type": "CAUSAL_LM", "target_modules": ["q_proj"], **BY_KEY}, indent=1), tuple(BY_KEY.values())),
    Planted("run.sh", _shell(0), _SHELL_SECRETS),
    Planted("train.py", _CODE, _CODE_SECRETS),
    Planted("notebook.ipynb", _notebook(_MAGIC, _CELL), (*_CELL_SECRETS, *(v for k, v in _share(1, 2).items() if k.isupper()))),
    Planted("broken.yaml", f"per_device_train_batch_size: 4\nlearning_rate: 3e-4\nlora_r: [\n{_quoted(_share(0))}\npassword: \"{BY_KEY['password']}\n",
            (*_share(0).values(), *_ADDRESSES, NUMBER), True),
    Planted("broken2.yaml", f"learning_rate: 3e-4\nper_device_train_batch_size: 4\npassword: \"{BY_KEY['password']}\n", (BY_KEY["password"],), True),
    Planted("broken.json", '{"train_micro_batch_size_per_gpu": 4, "zero_optimization": {}, "api_key": "' + ALL["x_secret"] + '" oops}',
            (ALL["x_secret"],), True),
    Planted("broken.py", f"from transformers import TrainingArguments\nlogin(token='{ALL['hub_token']}' oops\n", (ALL["hub_token"],), True),
    Planted("broken.sh", f"torchrun train.py --output_dir out --learning_rate 3e-4 --password {BY_KEY['password']} \\ \n  --fp16\n",
            (BY_KEY["password"],), True),
)  # fmt: skip
