"""What tokens look like wherever they stand, and addresses with credentials in them. Every pattern runs in linear time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from stablint.secrets.keys import is_placeholder

# One vendor a row: what stands at the beginning of its tokens (None: anything), and what follows. No token is longer than its bound, so that no
# text makes a pattern run on and on.
SHAPES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("Hugging Face", ("hf_", "api_org_"), r"[A-Za-z0-9]{16,100}"),
    ("OpenAI, Anthropic, DeepSeek, Dashscope, OpenRouter and others", ("sk-",), r"[A-Za-z0-9_-]{20,250}"),
    ("GitHub", ("ghp_", "gho_", "ghr_", "ghs_", "ghu_"), r"[A-Za-z0-9]{20,255}"),
    ("GitHub, fine-grained", ("github_pat_",), r"[A-Za-z0-9_]{20,255}"),
    ("GitLab", ("glpat-", "gldt-", "glrt-", "glptt-", "glft-", "glagent-", "glsoat-", "glimt-", "glcbt-"), r"[A-Za-z0-9_.-]{16,100}"),
    ("Slack", ("xoxa-", "xoxb-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"), r"[A-Za-z0-9.-]{10,250}"),
    ("AWS key id", ("AKIA", "ASIA", "ABIA", "ACCA"), r"[0-9A-Z]{16}"),
    ("Google API key", ("AIza",), r"[A-Za-z0-9_-]{30,100}"),
    ("Google OAuth", ("ya29.", "GOCSPX-"), r"[A-Za-z0-9_-]{20,300}"),
    ("Weights & Biases", ("wandb_v1_",), r"[A-Za-z0-9_]{20,250}"),
    ("Databricks", ("dapi",), r"[0-9a-f]{32}(?:-[0-9])?"),
    ("Replicate", ("r8_",), r"[A-Za-z0-9]{20,100}"),
    ("Together", ("tgp_v1_",), r"[A-Za-z0-9_-]{20,100}"),
    ("Groq", ("gsk_",), r"[A-Za-z0-9]{20,100}"),
    ("Perplexity", ("pplx-",), r"[A-Za-z0-9]{20,100}"),
    ("xAI", ("xai-",), r"[A-Za-z0-9]{20,150}"),
    ("Fireworks", ("fw_",), r"[A-Za-z0-9]{20,60}"),
    ("Anyscale", ("esecret_",), r"[A-Za-z0-9]{20,60}"),
    ("NVIDIA", ("nvapi-",), r"[A-Za-z0-9_-]{20,150}"),
    ("Cerebras", ("csk-",), r"[A-Za-z0-9]{20,100}"),
    ("Jina", ("jina_",), r"[A-Za-z0-9_-]{20,120}"),
    ("Pinecone", ("pcsk_",), r"[A-Za-z0-9_]{20,150}"),
    ("LangSmith", ("lsv2_pt_", "lsv2_sk_"), r"[A-Za-z0-9_]{20,100}"),
    ("Langfuse", ("pk-lf-",), r"[A-Za-z0-9-]{20,60}"),
    ("ModelScope", ("ms-",), r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"),
    ("Kaggle", ("KGAT_",), r"[A-Za-z0-9]{20,100}"),
    ("Alibaba Cloud", ("LTAI",), r"[A-Za-z0-9]{12,30}"),
    ("Tencent Cloud", ("AKID",), r"[A-Za-z0-9]{28,40}"),
    ("Volcengine", ("AKLT",), r"[A-Za-z0-9_-]{20,80}"),
    ("SendGrid", ("SG.",), r"[A-Za-z0-9_-]{16,40}\.[A-Za-z0-9_-]{16,80}"),
    ("Mailgun", ("key-",), r"[0-9a-f]{32}"),
    ("Stripe", ("sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"), r"[A-Za-z0-9]{16,200}"),
    ("npm", ("npm_",), r"[A-Za-z0-9]{30,60}"),
    ("PyPI", ("pypi-",), r"[A-Za-z0-9_-]{40,250}"),
    ("Docker Hub", ("dckr_pat_", "dckr_oat_"), r"[A-Za-z0-9_-]{20,60}"),
    ("RunPod", ("rpa_",), r"[A-Za-z0-9]{20,80}"),
    ("DigitalOcean", ("dop_v1_", "doo_v1_", "dor_v1_"), r"[0-9a-f]{40,80}"),
    ("HashiCorp Vault", ("hvs.", "hvb.", "hvr."), r"[A-Za-z0-9_-]{20,200}"),
    ("Doppler", ("dp.pt.", "dp.st.", "dp.sa."), r"[A-Za-z0-9.]{30,80}"),
    ("Linear", ("lin_api_",), r"[A-Za-z0-9]{30,60}"),
    ("Notion", ("ntn_",), r"[A-Za-z0-9]{30,60}"),
    ("Grafana", ("glsa_", "glc_"), r"[A-Za-z0-9_+/=]{20,200}"),
    ("Sentry", ("sntrys_", "sntryu_"), r"[A-Za-z0-9_+/=]{20,250}"),
    ("New Relic", ("NRAK-",), r"[A-Z0-9]{20,40}"),
    ("Postman", ("PMAK-",), r"[a-f0-9-]{30,80}"),
    ("Shopify", ("shpat_", "shpss_", "shpca_"), r"[a-fA-F0-9]{32}"),
    ("Supabase", ("sbp_", "sb_secret_"), r"[A-Za-z0-9_-]{20,80}"),
    ("Prefect", ("pnu_", "pnb_"), r"[A-Za-z0-9]{30,60}"),
    ("age", ("AGE-SECRET-KEY-1",), r"[0-9A-Z]{50,60}"),
    ("JSON web tokens, Neptune", ("eyJ",),
     r"[A-Za-z0-9_-]{8,4000}(?:\.[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{0,4000}|(?<=[A-Za-z0-9_-]{40})={0,2})"),
    ("Telegram", (), r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"),
    ("Discord", (), r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,50}"),
    ("Azure", (), r"[A-Za-z0-9_~.-]{3}8Q~[A-Za-z0-9_~.-]{31,37}"),
)  # fmt: skip

# These are known by what stands in front of them. The last group of each is the secret.
_BEHIND: tuple[tuple[tuple[str, ...], str], ...] = (
    # Weights & Biases' older keys are any 40 hexadecimal digits.
    (
        ("wandb",),
        r"(?i)wandb[ _.-]{0,3}(?:api[_-]?)?(?:key|token|login)[\\\"' :=(,\]]{1,8}(?:--?\w{1,20}[ =]{1,3}|key ?= ?\\?[\"'])?"
        r"([0-9a-f]{40})(?![0-9a-f])",
    ),
    (("bearer ", "basic "), r"(?i)\b(?:bearer|basic)[ ]{1,3}([A-Za-z0-9._~+/=-]{16,4000})"),
    (
        ("webhook", "hooks.", "/hook/"),
        r"(?i)(?:hooks\.slack\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/webhooks/"
        r"|open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook/|webhook\.office\.com/|outlook\.office\.com/webhook/)"
        r"([A-Za-z0-9_/@=.-]{8,300})",
    ),
    (("login",), r"(?i)\blogin(?:\([ ]?\\?[\"']| )(?!-)([A-Za-z0-9_-]{24,200})(?=[\\\"'\s]|\Z)"),
    (
        ("curl ", "wget ", "sshpass", "mysql", "docker "),
        r"(?:curl[^\n|;]{0,200}? (?:-u|--user)[ =]?[\"']?[^\s:\"']{1,100}:|sshpass[ ]-p[ ]?[\"']?|docker[ ]login[^\n|;]{0,200}? -p[ ]?[\"']?"
        r"|mysql[^\n|;]{0,200}? -p)([^\s\"'$<]{3,200})",
    ),
    (("password ",), r"(?i)\blogin[ \t\n\r]{1,8}[^\s]{1,100}[ \t\n\r]{1,8}password[ ]{1,4}([^\s\"'$<]{3,200})"),
)
_PEM = re.compile(r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----")

_SCHEME_END = "://"
_USERINFO = re.compile(r"""[^\s"'<>\\`|{}$@]{1,1000}@(?=[\w\[.-])""")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}\Z")
_QUERY = re.compile(
    r"""(?i)[?&#;](?:[a-z0-9_.-]{0,40}(?:token|secret|password|passwd|pwd|credential|apikey|api[_-]key|access[_-]?key|auth|signature|sig|key))=([^\s"'<>\\`&#;$]{6,2000})"""
)
_MARKS = tuple(dict.fromkeys(mark for _, marks, _ in SHAPES for mark in marks))
_SHORTEST = 15  # letters of a token without blanks: no row above is shorter


@lru_cache(maxsize=1)
def _tokens() -> re.Pattern[str]:
    rows = [
        f"(?:{'|'.join(re.escape(mark) for mark in marks)})(?:{rest})" if marks else f"(?:{rest})"
        for _, marks, rest in SHAPES
    ]
    return re.compile(r"(?<![A-Za-z0-9])(?:" + "|".join(rows) + ")")


@cache
def _behind(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


_STARS = re.compile(r"[*xX.…-]{6,}")


def shaped(text: str) -> Iterator[tuple[int, int]]:
    """Where tokens of a known shape and credentials in addresses stand."""
    for found in _tokens().finditer(text) if _may_hold_tokens(text) else ():
        if not _is_filler(found[0]):
            yield found.span()
    lowered = text.lower()
    for marks, pattern in _BEHIND:
        if any(mark in lowered for mark in marks):
            yield from (found.span(1) for found in _behind(pattern).finditer(text) if not _is_filler(found[1]))
    if "PRIVATE KEY" in text:
        yield from _private_keys(text)
    if _SCHEME_END in text:
        yield from _addresses(text)


def _may_hold_tokens(text: str) -> bool:
    long = "\n".join([word for word in text.split() if len(word) >= _SHORTEST])
    return (
        any(mark in long for mark in _MARKS)
        or ":AA" in long
        or "8Q~" in long
        or ("." in long and _DISCORD.search(long) is not None)
    )


_DISCORD = re.compile(r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.")


def _is_filler(token: str) -> bool:
    """`hf_xxxxxxxxxxxxxxxxxxxx`: there to be replaced."""
    return _STARS.search(token) is not None or "your" in token.lower()


def _private_keys(text: str) -> Iterator[tuple[int, int]]:
    """From the first line of a PEM block to its last; the labels stay."""
    at = 0
    while found := _PEM.search(text, at):
        end = text.find("-----END", found.end())
        end = min(found.end() + 20_000, len(text)) if end < 0 else end
        yield found.end(), end
        at = end


def _addresses(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    while (at := text.find(_SCHEME_END, at)) >= 0:
        begin, at = at, at + len(_SCHEME_END)
        if not _SCHEME.search(text, max(0, begin - 31), begin):
            continue
        # The last @ before the path's end is meant to end the credentials; a secret of AWS may hold a slash.
        user = _userinfo(text, at)
        if user is not None:
            yield user
            at = user[1]
        limit = min(len(text), at + 3000)
        stop = next((i for i in range(at, limit) if text[i] in " \t\r\n\"'<>`\\"), limit)
        for query in _QUERY.finditer(text, at, stop):
            if not _is_filler(query[1]):
                yield query.span(1)
        at = max(at, stop)


def _userinfo(text: str, at: int) -> tuple[int, int] | None:
    """Of `scheme://user:secret@host` the secret, of `scheme://token@host` the token."""
    found = _USERINFO.match(text, at)
    if found is None:
        return None
    name, colon, secret = found[0][:-1].partition(":")
    if colon:
        # `https://host/path@main` and `http://localhost:8000/x@y` have no user; `s3://KEYID:SE/CRET@bucket` has one.
        if (
            "/" in name
            or re.match(r"[0-9]{1,5}(?:/|\Z)", secret)
            or len(secret) < 3
            or _is_filler(secret)
            or is_placeholder(secret)
        ):
            return None
        start = at + len(name) + 1
        return start, start + len(secret)
    if "/" in name or len(name) < 12 or not any(c.isdigit() for c in name) or _is_filler(name):
        return None
    return at, at + len(name)
