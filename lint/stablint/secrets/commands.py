"""Secrets that a command takes without a name for them: `wandb login …`, `zip -P …`, `mc alias set NAME URL ID …`, `curl -u user:…`.

A command stands in a script, in a file that starts one (`run: |`), in a program (`["wandb", "login", "…"]`), in a comment. Where it begins and what its
words are is read alike everywhere; which words are secrets is a table.
"""

from __future__ import annotations

from collections.abc import Iterator

from stablint.base.light import NamedTuple, Pattern
from stablint.secrets.hints import words_of
from stablint.secrets.keys import SURE, holds_secret


class Command(NamedTuple):
    """`sub`: the words behind its name that make it this command, a star for the rest of a word. `flags`: options whose value is a secret; `glued`: those
    whose value stands in the same word (`-pX`). `places`: which of its further words are secrets, from 0."""

    program: str
    sub: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    glued: tuple[str, ...] = ()
    places: tuple[int, ...] = ()


_PASSWORD = ("-p", "--password")
COMMANDS = (
    Command("wandb", ("login",), ("--key",), places=(0,)),
    Command("swanlab", ("login",), ("-k", "--api-key"), places=(0,)),
    Command("comet", ("login",), ("--api-key",), places=(0,)),
    Command("huggingface-cli", ("login",), ("--token",)),
    Command("hf", ("auth", "login"), ("--token",)),
    Command("modelscope", ("login",), ("-t", "--token")),
    Command("kaggle", ("config", "set"), ("-v", "--value")),
    Command("ngrok", ("authtoken",), places=(0,)),
    Command("ngrok", ("config", "add-authtoken"), places=(0,)),
    Command("vault", ("login",), places=(0,)),
    Command("vastai", ("set", "api-key"), places=(0,)),
    Command("modal", ("token", "set"), ("--token-id", "--token-secret")),
    Command("runpodctl", ("config",), ("--apiKey",)),
    Command("tailscale", ("up",), ("--authkey", "--auth-key")),
    Command("cloudflared", (), ("--token",)),
    Command("doctl", ("auth", "init"), ("-t", "--access-token")),
    Command("gh", ("secret", "set", "*"), ("-b", "--body")),
    Command("git", ("config", "--global", "*password*"), places=(0,)),
    Command("git", ("config", "*password*"), places=(0,)),
    Command("twine", ("upload",), _PASSWORD),
    Command("poetry", ("config", "http-basic.*"), places=(1,)),
    Command("poetry", ("config", "pypi-token.*"), places=(0,)),
    Command("npm", ("config", "set", "*_auth*"), places=(0,)),
    Command("docker", ("login",), _PASSWORD),
    Command("podman", ("login",), _PASSWORD),
    Command("az", ("login",), _PASSWORD),
    Command("aws", ("configure", "set", "*key*"), places=(0,)),
    Command("aws", ("configure", "set", "*token*"), places=(0,)),
    Command("mc", ("alias", "set"), places=(2, 3)),
    Command("mc", ("config", "host", "add"), places=(2, 3)),
    Command("b2", ("authorize-account",), places=(0, 1)),
    Command("b2", ("account", "authorize"), places=(0, 1)),
    Command("dvc", ("remote", "modify", "*", "*key*"), places=(0,)),
    Command("dvc", ("remote", "modify", "*", "*password*"), places=(0,)),
    Command("dvc", ("remote", "modify", "--local", "*", "*key*"), places=(0,)),
    Command("dvc", ("remote", "modify", "--local", "*", "*password*"), places=(0,)),
    Command("ossutil", (), ("-i", "-k", "--access-key-id", "--access-key-secret")),
    Command("ossutil64", (), ("-i", "-k", "--access-key-id", "--access-key-secret")),
    Command("obsutil", (), ("-i", "-k")),
    Command("coscmd", ("config",), ("-a", "-s")),
    Command("coscli", (), ("-i", "-k")),
    Command("curl", (), ("-u", "--user", "--proxy-user", "-U", "-b", "--cookie", "--oauth2-bearer", "--pass"), ("-u",)),
    Command("wget", (), ("--password", "--http-password", "--ftp-password", "--proxy-password")),
    Command("http", (), ("-a", "--auth")),
    Command("sshpass", (), ("-p",), ("-p",)),
    Command("mysql", (), ("--password",), ("-p",)),
    Command("mysqldump", (), ("--password",), ("-p",)),
    Command("mysqladmin", (), ("--password",), ("-p",)),
    Command("mariadb", (), ("--password",), ("-p",)),
    Command("mongo", (), _PASSWORD),
    Command("mongosh", (), _PASSWORD),
    Command("mongodump", (), _PASSWORD),
    Command("mongorestore", (), _PASSWORD),
    Command("redis-cli", (), ("-a", "--pass")),
    Command("sqlcmd", (), ("-P",)),
    Command("ldapsearch", (), ("-w",)),
    Command("lftp", (), ("-u",)),
    Command("smbclient", (), ("-U",)),
    Command("openssl", (), ("-k", "-pass", "-passin", "-passout")),
    Command("gpg", (), ("--passphrase",)),
    Command("zip", (), ("-P", "--password")),
    Command("unzip", (), ("-P",)),
    Command("7z", (), (), ("-p",)),
    Command("7za", (), (), ("-p",)),
    Command("7zz", (), (), ("-p",)),
    Command("unrar", (), (), ("-p",)),
    Command("rar", (), (), ("-hp", "-p")),
    Command("useradd", (), _PASSWORD),
    Command("usermod", (), _PASSWORD),
    Command("htpasswd", (), places=(2,)),
    Command("nerdctl", ("login",), _PASSWORD),
    Command("crane", ("auth", "login"), _PASSWORD),
    Command("oras", ("login",), _PASSWORD),
    Command("buildah", ("login",), _PASSWORD),
    Command("oc", ("login",), _PASSWORD),
    Command("az", ("acr", "login"), _PASSWORD),
    Command("az", ("keyvault", "secret", "set"), ("--value",)),
    Command("aws", ("ssm", "put-parameter"), ("--value",)),
    Command("skopeo", (), ("--src-creds", "--dest-creds", "--creds")),
    Command("etcdctl", (), ("--user",)),
    Command("consul", ("kv", "put", "*password*"), places=(0,)),
    Command("snowsql", (), _PASSWORD),
    Command("gotify", ("push",), ("-t", "--token")),
    Command("redis-server", (), ("--requirepass", "--masterauth")),
    Command("openxlab", ("login",), ("--ak", "--sk")),
    Command("bcecmd", (), ("-a", "-s")),
    Command("tosutil", (), ("-i", "-k")),
    Command("coscli", (), ("--secret_id", "--secret_key")),
    Command("aliyun", (), ("--access-key-id", "--access-key-secret")),
    Command("s5cmd", (), ("--access-key-id",)),
    Command("openssl", ("passwd",), places=(0,)),
    Command("ssh-keygen", (), ("-N", "-P")),
    Command("ccrypt", (), ("-K",)),
    Command("frpc", (), ("-t", "--token")),
    Command("pulumi", ("config", "set", "--secret", "*"), places=(0,)),
    Command("wpa_passphrase", (), places=(1,)),
    Command("psql", (), ("-W",)),
    Command("rclone", ("config", "create", "*", "*", "*pass*"), places=(0,)),
)  # fmt: skip
_BY_PROGRAM: dict[str, list[Command]] = {}
for _row in COMMANDS:
    _BY_PROGRAM.setdefault(_row.program, []).append(_row)
# By the first word of its name, which stands by itself in any text that starts the program.
_BY_WORD: dict[str, list[str]] = {}
for _program in _BY_PROGRAM:
    _BY_WORD.setdefault(_program.partition("-")[0], []).append(_program)

_LONGEST = 600  # characters of a command that are read
_MOST = 40  # words of it
_LEFT = frozenset(" \t\r\n;|&(\"'`/!$={")
_LISTED = Pattern(r"""\\{0,2}["'][ \t]{0,4},\s{0,80}""")
_GAP = Pattern(r"(?:[ \t]|\\\r?\n){1,40}")
_LIST_GAP = Pattern(r"""[\s,]{1,80}""")
_TEXT = Pattern(r"""\\{0,2}(["'])((?:(?!\\{0,2}\1)[^\n]){0,400})\\{0,2}\1""")
_BARE = Pattern(r"""[^\s;|&<>()"'`\\]{1,400}""")
_KIND = Pattern(r"(?:env|file|fd|stdin):|stdin\Z")
_PAIRED = (
    "-u", "--user", "--proxy-user", "-U", "-a", "--auth", "-b", "--cookie", "--src-creds", "--dest-creds", "--creds",
)  # fmt: skip
"""Of `user:…` the user stays, of `session=…` the name."""


class _Word(NamedTuple):
    text: str
    start: int


def commanded(text: str) -> Iterator[tuple[int, int]]:
    """Where such secrets stand."""
    there = words_of(text)
    for program in [program for word, programs in _BY_WORD.items() if word in there for program in programs]:
        rows = _BY_PROGRAM[program]
        at = text.find(program)
        done = 0
        while at >= 0:
            end = at + len(program)
            following = text[end : end + 1]
            if at >= done and (not at or text[at - 1] in _LEFT) and following in (" ", "\t", '"', "'", "\\"):
                words, done = _words(text, end)
                for row in rows:
                    yield from _secrets(row, words)
            at = text.find(program, max(end, done))


def _words(text: str, at: int) -> tuple[list[_Word], int]:
    """The words of a command behind its name, and where they end."""
    limit = min(len(text), at + _LONGEST)
    listed = _LISTED.match(text, at, limit)
    gap = _LIST_GAP if listed is not None else _GAP
    at = listed.end() if listed is not None else at
    words: list[_Word] = []
    while at < limit and len(words) < _MOST:
        blank = gap.match(text, at, limit)
        at = blank.end() if blank is not None else at
        quoted = _TEXT.match(text, at, limit)
        if quoted is not None:
            words.append(_Word(quoted[2], quoted.start(2)))
            at = quoted.end()
            continue
        if listed is not None:
            break
        bare = _BARE.match(text, at, limit)
        if bare is None:
            break
        at = bare.end()
        glued = _TEXT.match(text, at, limit) if bare[0][0] == "-" or bare[0][-1] in ":=" else None
        if glued is not None:  # -p'…', ada:'…'
            words.append(_Word(bare[0] + glued[2], glued.start(2) - len(bare[0])))
            at = glued.end()
            continue
        words.append(_Word(bare[0], bare.start()))
        if text[at : at + 1] not in (" ", "\t", "\\"):
            break
    return words, at


def _secrets(row: Command, words: list[_Word]) -> Iterator[tuple[int, int]]:
    if len(words) < len(row.sub) or not all(_is(word.text, like) for word, like in zip(words, row.sub, strict=False)):
        return
    place, taken = 0, False
    rest = words[len(row.sub) :]
    for number, word in enumerate(rest):
        if taken:
            taken = False
            continue
        if word.text.startswith("-") and len(word.text) > 1:
            name, sign, value = word.text.partition("=")
            following = rest[number + 1] if number + 1 < len(rest) else None
            glued = next((flag for flag in row.glued if word.text.startswith(flag) and len(word.text) > len(flag)), "")
            if sign and name in row.flags:
                yield from _value(name, _Word(value, word.start + len(name) + 1))
            elif word.text in row.flags and following is not None:
                taken = True
                yield from _value(word.text, following)
            elif glued:
                yield from _value(glued, _Word(word.text[len(glued) :], word.start + len(glued)))
            elif row.places and not sign and name.startswith("--") and name not in _ALONE:
                taken = following is not None and not following.text.startswith("-") and _last_but(rest, number, row)
            continue
        if place in row.places:
            yield from _value("", word)
        place += 1


_ALONE = frozenset(("--relogin", "--local", "--global", "--cloud", "--verify", "--insecure", "--force"))


def _last_but(rest: list[_Word], number: int, row: Command) -> bool:
    """An option with a value of its own: another word is left behind it."""
    return len([word for word in rest[number + 2 :] if not word.text.startswith("-")]) > max(row.places)


def _is(word: str, like: str) -> bool:
    if like == "*":
        return not word.startswith("-")
    if "*" not in like:
        return word == like
    core = like.strip("*")
    return core in word.lower() if like.startswith("*") else word.startswith(core)


def _value(flag: str, word: _Word) -> Iterator[tuple[int, int]]:
    value, start = word
    if flag in _PAIRED:
        sign = "=" if flag in ("-b", "--cookie") else "%" if "%" in value and ":" not in value else ":"
        user, between, secret = value.partition(sign)
        if between and secret:
            value, start = secret, start + len(user) + 1
        elif between:
            value = user
        elif flag not in ("-u", "-a", "--creds"):
            return
    elif flag.startswith("-pass"):
        if _KIND.match(value):
            return
        if value.startswith("pass:"):
            value, start = value[5:], start + 5
    if holds_secret(SURE, value):
        yield start, start + len(value)
