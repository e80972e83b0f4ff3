"""An editor with a Chinese server: what it shows of each dialect is no English sentence."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

pytest_lsp = pytest.importorskip("pytest_lsp")

from lsprotocol import types as lsp  # noqa: E402
from pytest_lsp import ClientServerConfig, LanguageClient  # noqa: E402

from tests.language.test_chinese_everywhere import _ENGLISH, _QUOTED  # noqa: E402
from tests.sampling import sampled  # noqa: E402
from tests.server.test_dialects import CASES, Editor, begin  # noqa: E402

_CHINESE = re.compile(r"[\u4e00-\u9fff]")
# Names of grades.
NAMES = ("proven-in-source",)


@pytest_lsp.fixture(
    config=ClientServerConfig(server_command=[sys.executable, "-m", "stablint", "--lang", "zh", "server"])
)
async def client(lsp_client: LanguageClient, tmp_path):
    await begin(lsp_client, tmp_path)
    yield
    await lsp_client.shutdown_session()


@pytest.mark.asyncio
@pytest.mark.parametrize("name", sampled(CASES, 6))
async def test_what_an_editor_shows_is_chinese(client: LanguageClient, name: str) -> None:
    case = CASES[name]
    editor = Editor(client, case)
    found = await editor.open()
    hovers = {words: await editor.hover(words) for words in case.get("hover", {})}
    actions = [action.title for one in found for action in await editor.actions(one)]
    end = lsp.Position(len(editor.text.splitlines()) + 1, 0)
    asked = lsp.InlayHintParams(editor.document, lsp.Range(lsp.Position(0, 0), end))
    hints = [str(one.label) for one in await client.text_document_inlay_hint_async(asked) or ()]
    told = [one.message for one in found] + actions + hints + list(hovers.values())
    assert all(_CHINESE.search(one) for one in [*actions, *(one.message for one in found)]), told
    lines = [line for one in told for line in one.splitlines()]
    english = [
        line for line in lines if _ENGLISH.search(_QUOTED.sub(" @ ", line)) and not any(one in line for one in NAMES)
    ]
    assert not english
    if "hint" in case:
        assert any(_CHINESE.search(one) for one in hints), hints


@pytest_lsp.fixture(config=ClientServerConfig(server_command=[sys.executable, "-m", "stablint", "server"]))
async def plain(lsp_client: LanguageClient):
    yield
    await lsp_client.shutdown_session()


TYPED = "model_name_or_path: a/b\noutput_dir: out\nfp16: true\nbf16: true\n"


async def _first_message(client: LanguageClient, folder: Path, locale: str) -> str:
    await client.initialize_session(
        lsp.InitializeParams(capabilities=lsp.ClientCapabilities(), root_uri=folder.as_uri(), locale=locale)
    )
    uri = (folder / "train.yaml").as_uri()
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "yaml", 1, TYPED)))
    await client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    return client.diagnostics[uri][0].message


@pytest.mark.asyncio
async def test_the_server_follows_the_locale_that_the_editor_names(plain: LanguageClient, tmp_path: Path) -> None:
    assert _CHINESE.search(await _first_message(plain, tmp_path, "zh-cn"))


@pytest.mark.asyncio
async def test_another_locale_is_told_in_english(plain: LanguageClient, tmp_path: Path) -> None:
    assert not _CHINESE.search(await _first_message(plain, tmp_path, "de"))
