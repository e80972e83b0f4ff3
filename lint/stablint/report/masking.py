"""Secrets stay secret: every rendered string passes through `mask` on its way out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache

_STARS = "*" * 8
_SHORTEST = 6  # below that a value is a word such as `true` that may stand anywhere

# Something of this stands in every text that the patterns could match: most outputs need none of them.
_MARKS = (
    "hf_", "api_org_", "sk-", "ghp_", "gho_", "ghr_", "ghs_", "ghu_", "github_pat_", "glpat-", "xox", "AKIA", "ASIA", "AIza", "eyJ", "://",
    "wandb", "WANDB", "Wandb",
)  # fmt: skip


@lru_cache(maxsize=1)
def _shapes() -> tuple[re.Pattern[str], ...]:
    """What tokens look like, for those that stand in a place that no key marks as secret. Group 1 is what stands before the token."""
    tokens = r"""((?<![A-Za-z0-9]))(?:
          hf_[A-Za-z0-9]{16,} | api_org_[A-Za-z0-9]{16,}            # Hugging Face
        | sk-[A-Za-z0-9_-]{20,}                                     # OpenAI, Anthropic and those who follow them
        | gh[oprsu]_[A-Za-z0-9]{20,} | github_pat_[A-Za-z0-9_]{20,} # GitHub
        | glpat-[A-Za-z0-9_-]{16,}                                  # GitLab
        | xox[abeoprs]-[A-Za-z0-9-]{10,}                            # Slack
        | (?:AKIA|ASIA)[0-9A-Z]{16}                                 # AWS
        | AIza[A-Za-z0-9_-]{30,}                                    # Google
        | wandb_v1_[A-Za-z0-9_]{20,}                                # Weights & Biases, newer form
        | eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+   # JSON web tokens
        )"""
    after_key = r"""(?i)(wandb[_-]?(?:api[_-]?)?(?:key|token)["']?\s*[:=\s]\s*\\?["']?)[0-9a-f]{40}"""
    in_address = r"(?i)(\b[a-z][a-z0-9+.-]*://[^\s/:@]{0,100}:)[^\s/@]{3,200}(?=@)"
    return re.compile(tokens, re.VERBOSE), re.compile(after_key), re.compile(in_address)


def mask(text: str, secrets: frozenset[str] = frozenset(), *, same_length: bool = False) -> str:
    """`text` without the known `secrets` and without anything that has the shape of a token.

    With `same_length` as many stars as there were characters, so that columns stay where they are.
    """

    def stars(length: int) -> str:
        return "*" * length if same_length else _STARS

    for spelled in sorted(_spellings(secrets), key=len, reverse=True):
        text = text.replace(spelled, stars(len(spelled)))
    if any(mark in text for mark in _MARKS):
        for shape in _shapes():
            text = shape.sub(lambda found: found[1] + stars(len(found[0]) - len(found[1])), text)
    return text


def _spellings(secrets: frozenset[str]) -> Iterator[str]:
    """Each line of each secret, as it is and as it stands inside a JSON string."""
    for secret in secrets:
        for line in secret.splitlines():
            line = line.strip()
            if len(line) >= _SHORTEST:
                yield line
                yield json.dumps(line)[1:-1]
                yield json.dumps(line, ensure_ascii=False)[1:-1]
