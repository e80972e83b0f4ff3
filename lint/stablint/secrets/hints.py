"""Cheap signs that a text may hold a secret. Most outputs have none of them, and then no pattern is compiled."""

from __future__ import annotations

IN_KEYS = (
    "token", "key", "secret", "pass", "pwd", "cred", "auth", "bearer", "pat", "cookie", "signature", "sk", "ak", "sas", "dsn",
    "webhook", "hmac", "jwt", "api", "connection",
)  # fmt: skip
"""In small letters: a key that names a secret holds one of these."""

IN_TEXT = (
    "token", "key", "secret", "passw", "passphrase", "passcode", "pwd", "cred", "auth", "bearer", "cookie", "signature", "dsn", "webhook", "hmac", "jwt",
    "connection", *(f"{word}{sign}" for word in ("pass", "pat", "sk", "ak", "sas", "api") for sign in "=:\"'\\"), "-pass ", "-pat ", "_pass", "_pat ",
)  # fmt: skip
"""The same where text stands around the key: `pass` alone is an English word."""

IN_SHAPES = ("://", "login", "curl", "wget", "sshpass", "mysql", "docker", "hooks.", "/hook/")
"""In small letters: what stands beside secrets that are known by their surroundings."""

MARKS = (
    "hf_", "api_org_", "sk-", "ghp_", "gho_", "ghr_", "ghs_", "ghu_", "github_pat_", "glpat-", "gldt-", "glrt-", "glptt-", "glft-",
    "glagent-", "glsoat-", "glimt-", "glcbt-", "glsa_", "glc_", "xox", "xapp-", "AKIA", "ASIA", "ABIA", "ACCA", "AIza", "ya29.", "GOCSPX-",
    "wandb", "dapi", "r8_", "tgp_v1_", "gsk_", "pplx-", "xai-", "fw_", "esecret_", "nvapi-", "csk-", "jina_", "pcsk_", "lsv2_", "pk-lf-",
    "ms-", "KGAT_", "LTAI", "AKID", "AKLT", "SG.", "key-", "sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_", "npm_", "pypi-",
    "dckr_", "rpa_", "dop_v1_", "doo_v1_", "dor_v1_", "hvs.", "hvb.", "hvr.", "dp.", "lin_api_", "ntn_", "NRAK-", "PMAK-", "sntry",
    "shpat_", "shpss_", "shpca_", "sbp_", "sb_secret_", "pnu_", "pnb_", "AGE-SECRET", "eyJ", ":AA", "8Q~", "PRIVATE KEY",
)  # fmt: skip


def may_hold_key(lowered: str) -> bool:
    """Of a text in small letters."""
    return any(word in lowered for word in IN_KEYS)


def may_hold_secret(text: str) -> bool:
    lowered = text.lower()
    return (
        any(word in lowered for word in IN_TEXT)
        or any(mark in lowered for mark in IN_SHAPES)
        or any(mark in text for mark in MARKS)
        or _long_words(text)
    )


def _long_words(text: str) -> bool:
    """Tokens of Discord and Telegram have no mark of their own, but no blank in fifty letters either."""
    return any(len(word) > 44 and word.isascii() for word in text.split())
