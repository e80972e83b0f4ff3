"""`stablint server` as an editor meets it: a client of pytest-lsp talks to the process over its pipes."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

import pytest

pytest_lsp = pytest.importorskip("pytest_lsp")

from lsprotocol import types as lsp  # noqa: E402
from pytest_lsp import ClientServerConfig, LanguageClient  # noqa: E402

from stablint.report.place import line_starts  # noqa: E402
from stablint.server import findings  # noqa: E402
from stablint.server.session import Session  # noqa: E402
from tests.sampling import sampled  # noqa: E402
from tests.security.planted import FILES, Planted  # noqa: E402

pytestmark = pytest.mark.asyncio

TRAIN = """\
model_name_or_path: Qwen/Qwen2-7B
stage: sft
do_train: true
finetuning_type: lora
dataset: identity
template: qwen
output_dir: out
deepspeed: ds.json
learning_rate: 1.0e-4
per_device_train_batch_size: 2
num_train_epochs: 3
fp16: true
bf16: true
"""
DS = '{"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}, "train_micro_batch_size_per_gpu": "auto"}\n'


@pytest_lsp.fixture(config=ClientServerConfig(server_command=[sys.executable, "-m", "stablint", "server"]))
async def client(lsp_client: LanguageClient, tmp_path: Path):
    (tmp_path / "train.yaml").write_text(TRAIN, encoding="utf-8")
    (tmp_path / "ds.json").write_text(DS, encoding="utf-8")
    await lsp_client.initialize_session(
        lsp.InitializeParams(
            capabilities=lsp.ClientCapabilities(),
            root_uri=tmp_path.as_uri(),
            initialization_options={"gpu": ["A100-80GB"]},
        )
    )
    lsp_client.folder = tmp_path
    yield
    await lsp_client.shutdown_session()


async def opened(client: LanguageClient, name: str, text: str) -> str:
    """The file's address, when its findings are there."""
    uri = (client.folder / name).as_uri()
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "yaml", 1, text)))
    await published(client, uri)
    return uri


async def published(client: LanguageClient, uri: str, version: int | None = None) -> list[lsp.Diagnostic]:
    while True:
        await client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        if uri in client.diagnostics:
            return client.diagnostics[uri]


async def typed(client: LanguageClient, uri: str, text: str, version: int = 2) -> list[lsp.Diagnostic]:
    client.text_document_did_change(
        lsp.DidChangeTextDocumentParams(
            lsp.VersionedTextDocumentIdentifier(version, uri), [lsp.TextDocumentContentChangeWholeDocument(text)]
        )
    )
    return await published(client, uri)


def where(text: str, word: str) -> lsp.Position:
    line = next(n for n, one in enumerate(text.splitlines()) if word in one)
    return lsp.Position(line, text.splitlines()[line].index(word) + 1)


def codes(found: list[lsp.Diagnostic]) -> set[str]:
    return {str(one.code) for one in found}


def with_edits(text: str, edits: list[lsp.TextEdit]) -> str:
    """The text as an editor leaves it."""
    starts = line_starts(text)
    for edit in sorted(edits, key=lambda one: (one.range.start.line, one.range.start.character), reverse=True):
        begin, end = (starts[place.line] + place.character for place in (edit.range.start, edit.range.end))
        text = text[:begin] + edit.new_text + text[end:]
    return text


async def test_findings_come_while_one_types_and_go_again(client: LanguageClient):
    uri = await opened(client, "train.yaml", TRAIN)
    both = codes(client.diagnostics[uri])
    assert both, "fp16 beside bf16 is refused"
    left = codes(await typed(client, uri, TRAIN.replace("fp16: true\n", "")))
    assert left < both
    assert codes(await typed(client, uri, TRAIN, 3)) == both


async def test_a_finding_has_its_place_its_words_and_its_page(client: LanguageClient):
    uri = await opened(client, "train.yaml", TRAIN)
    error = next(one for one in client.diagnostics[uri] if one.severity == lsp.DiagnosticSeverity.Error)
    assert error.source == "stablint" and error.message
    assert error.range.start.line in (11, 12) and error.range.start.line == error.range.end.line


async def test_what_is_typed_in_a_linked_file_counts_for_the_file_that_links_to_it(client: LanguageClient):
    train = await opened(client, "train.yaml", TRAIN.replace("fp16: true\n", ""))
    quiet = codes(client.diagnostics[train])
    linked = await opened(client, "ds.json", DS)
    await typed(client, linked, DS.replace('"bf16"', '"fp16"'))
    for _ in range(3):
        if codes(client.diagnostics.get(train, [])) | codes(client.diagnostics.get(linked, [])) != quiet:
            break
        await client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    assert codes(client.diagnostics[train]) | codes(client.diagnostics[linked]) > quiet


async def test_a_repair_is_an_edit_that_clears_its_finding(client: LanguageClient):
    uri = await opened(client, "train.yaml", TRAIN)
    before = codes(client.diagnostics[uri])
    line = where(TRAIN, "fp16: true")
    actions = await client.text_document_code_action_async(
        lsp.CodeActionParams(
            lsp.TextDocumentIdentifier(uri), lsp.Range(line, lsp.Position(line.line + 1, 4)), lsp.CodeActionContext([])
        )
    )
    assert actions
    repairs = [one for one in actions if isinstance(one, lsp.CodeAction) and one.edit and "accept" not in one.title]
    assert repairs
    edit = repairs[0].edit
    assert edit is not None and edit.changes is not None
    after = with_edits(TRAIN, list(edit.changes[uri]))
    assert after != TRAIN
    assert not codes(await typed(client, uri, after)) >= before


async def test_accepting_a_finding_writes_a_comment_that_waits_for_its_reason(client: LanguageClient):
    uri = await opened(client, "train.yaml", TRAIN)
    error = next(one for one in client.diagnostics[uri] if one.severity == lsp.DiagnosticSeverity.Error)
    actions = await client.text_document_code_action_async(
        lsp.CodeActionParams(lsp.TextDocumentIdentifier(uri), error.range, lsp.CodeActionContext([]))
    )
    assert actions
    accept = next(one for one in actions if isinstance(one, lsp.CodeAction) and one.title == f"{error.code}: accept it here, with a reason")  # fmt: skip
    assert accept.edit is not None and accept.edit.changes is not None
    text = with_edits(TRAIN, list(accept.edit.changes[uri])).replace("-- \n", "-- an experiment\n")
    assert str(error.code) not in codes(await typed(client, uri, text))


async def test_hover_tells_the_value_its_default_and_what_follows(client: LanguageClient):
    uri = await opened(client, "train.yaml", TRAIN)
    hover = await client.text_document_hover_async(
        lsp.HoverParams(lsp.TextDocumentIdentifier(uri), where(TRAIN, "learning_rate"))
    )
    assert hover is not None and isinstance(hover.contents, lsp.MarkupContent)
    assert "**learning_rate** = `0.0001`" in hover.contents.value
    assert "Left out, it is `5e-05`" in hover.contents.value
    assert "published runs" in hover.contents.value
    assert "It comes from `train.yaml:9`." in hover.contents.value


OF_PLAIN = "output_dir: out\nlearning_rate: 1.0e-5\noptim: adamw_torch\nreport_to: none\ndeepspeed: ds.json\n"


@pytest.mark.parametrize(
    ("text", "word", "said"),
    [
        (OF_PLAIN, "optim", ["It comes from `hover.yaml:3`.", "By release of transformers: `adamw_torch` from 4.32.1 to", "look at it:", "- L119 error: "]),
        (OF_PLAIN, "report_to", ["By release of transformers: "]),
        (TRAIN + "cutoff_len: 1024\n", "cutoff_len", ["It sets `training.max_length`, from `hover.yaml:14`.", "Left out, it is"]),
    ],
)  # fmt: skip
async def test_hover_tells_where_a_value_is_from_its_defaults_by_release_and_the_rules(
    client: LanguageClient, text: str, word: str, said: list[str]
):
    uri = await opened(client, "hover.yaml", text)
    hover = await client.text_document_hover_async(lsp.HoverParams(lsp.TextDocumentIdentifier(uri), where(text, word)))
    assert hover is not None and isinstance(hover.contents, lsp.MarkupContent)
    assert all(one in hover.contents.value for one in said), hover.contents.value


async def test_hover_tells_no_word_behind_a_key_of_one_s_own(client: LanguageClient):
    text = "model_name_or_path: a/b\nstage: sft\nfinetuning_type: lora\nlearning_rate: 1.0e-4\nclave_api: marmalade\n"
    uri = await opened(client, "own.yaml", text)
    hover = await client.text_document_hover_async(
        lsp.HoverParams(lsp.TextDocumentIdentifier(uri), where(text, "clave_api"))
    )
    assert hover is not None and isinstance(hover.contents, lsp.MarkupContent)
    assert "**clave_api**" in hover.contents.value and "marmalade" not in hover.contents.value


IMAGE = "![a](http://host.example/x.png)"
HOSTILE = [
    ("run_name", f"` {IMAGE} `"),
    ("run_name", f"``` {IMAGE} ` {IMAGE}"),
    ("run_name", f"{IMAGE}`"),
    ("learning_rate", f"` {IMAGE} <img src=http://host.example/x>"),
    (f"` {IMAGE} `", "1"),
    (f"{IMAGE} [b](command:x) <img src=http://host.example/x>", "1"),
]


@pytest.mark.parametrize(("key", "value"), sampled(HOSTILE, 3))
async def test_hover_shows_a_file_s_words_and_no_markup_of_theirs(client: LanguageClient, key: str, value: str):
    """An editor fetches the image of a hover as soon as it is shown."""
    text = TRAIN.replace("learning_rate: 1.0e-4\n", "") + f"'{key}': '{value}'\n"
    uri = await opened(client, "own.yaml", text)
    told = []
    for word in (key, value):
        hover = await client.text_document_hover_async(
            lsp.HoverParams(lsp.TextDocumentIdentifier(uri), where(text, word))
        )
        if hover is not None:
            assert isinstance(hover.contents, lsp.MarkupContent)
            told.append(hover.contents.value)
    assert told
    for one in told:
        outside = without_code(one)
        assert "](" not in outside and "<" not in outside and "://" not in outside, one


def without_code(text: str) -> str:
    """Markdown without its code spans, as CommonMark has them: a span ends at the next run of as many backticks, and not beyond its paragraph."""
    left = []
    for paragraph in text.split("\n\n"):
        while (run := re.search("`+", paragraph)) is not None:
            end = re.search(f"(?<!`){run[0]}(?!`)", paragraph[run.end() :])
            left.append(paragraph[: run.start()] if end else paragraph[: run.end()])
            paragraph = paragraph[run.end() + (end.end() if end else 0) :]
        left.append(paragraph)
    return "".join(left)


async def test_no_hover_where_no_setting_stands(client: LanguageClient):
    uri = await opened(client, "train.yaml", "# a comment\n" + TRAIN)
    at = lsp.HoverParams(lsp.TextDocumentIdentifier(uri), lsp.Position(0, 3))
    assert await client.text_document_hover_async(at) is None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("gradient_acc", "gradient_accumulation_steps"),
        ("lora_ra", "lora_rank"),
        ("lr_scheduler_type: ", "cosine"),
        ("gradient_checkpointing: ", "true"),
    ],
)
async def test_keys_and_values_are_offered_while_they_are_typed(client: LanguageClient, line: str, expected: str):
    uri = await opened(client, "train.yaml", TRAIN)
    text = TRAIN + line
    await typed(client, uri, text)
    at = lsp.Position(text.count("\n"), len(line))
    offered = await client.text_document_completion_async(lsp.CompletionParams(lsp.TextDocumentIdentifier(uri), at))
    assert offered is not None and not isinstance(offered, lsp.CompletionList)
    assert expected in {item.label for item in offered}
    assert "learning_rate" not in {item.label for item in offered}, "it is there already"


async def test_keys_of_a_section_are_offered_within_it(client: LanguageClient):
    text = '{\n  "zero_optimization": {\n    "stage": 2,\n    "over'
    uri = await opened(client, "ds.json", DS)
    await typed(client, uri, text)
    at = lsp.Position(3, len('    "over'))
    offered = await client.text_document_completion_async(lsp.CompletionParams(lsp.TextDocumentIdentifier(uri), at))
    assert offered is not None and not isinstance(offered, lsp.CompletionList)
    names = {item.label for item in offered}
    assert "overlap_comm" in names and "train_batch_size" not in names


async def test_links_lead_to_the_file_and_to_the_model(client: LanguageClient):
    uri = await opened(client, "train.yaml", TRAIN)
    links = await client.text_document_document_link_async(lsp.DocumentLinkParams(lsp.TextDocumentIdentifier(uri)))
    targets = {link.target for link in links or ()}
    assert (client.folder / "ds.json").as_uri() in targets
    assert "https://huggingface.co/Qwen/Qwen2-7B" in targets


async def test_the_margin_tells_what_the_model_takes_on_the_card_of_the_settings(client: LanguageClient):
    uri = await opened(client, "train.yaml", TRAIN)
    whole = lsp.Range(lsp.Position(0, 0), lsp.Position(99, 0))
    hints = await client.text_document_inlay_hint_async(lsp.InlayHintParams(lsp.TextDocumentIdentifier(uri), whole))
    words = [hint.label for hint in hints or ()]
    assert any("A100" in str(word) and "GiB" in str(word) for word in words), words


async def test_settings_of_the_workspace_count_at_once_and_wrong_ones_are_told(client: LanguageClient):
    uri = await opened(client, "train.yaml", TRAIN)
    before = codes(client.diagnostics[uri])
    error = next(str(one.code) for one in client.diagnostics[uri] if one.severity == lsp.DiagnosticSeverity.Error)
    client.workspace_did_change_configuration(lsp.DidChangeConfigurationParams({"stablint": {"ignore": [error]}}))
    assert codes(await published(client, uri)) == before - {error}
    client.workspace_did_change_configuration(lsp.DidChangeConfigurationParams({"stablint": {"gpu": "A1000000"}}))
    await client.wait_for_notification(lsp.WINDOW_SHOW_MESSAGE)
    assert "A1000000" in client.messages[-1].message


async def test_a_secret_reaches_no_message(client: LanguageClient):
    secret = "hf_" + "QxZk9LmN3pRs7TuVwXyAbCdEfGhIjKlMnO"
    text = TRAIN + f"hub_token: {secret}\n"
    uri = await opened(client, "train.yaml", text)
    hover = await client.text_document_hover_async(
        lsp.HoverParams(lsp.TextDocumentIdentifier(uri), where(text, "hub_token"))
    )
    told = [one.message for one in client.diagnostics[uri]] + [str(hover)]
    assert any("S1" in str(one.code) for one in client.diagnostics[uri])
    assert not any(secret in words for words in told)


PLANTED = [
    file
    for file in FILES
    if file.name in ("hf.yaml", "axolotl.yaml", "litgpt.yaml", "ds.json", "run.sh", "train.py", "broken2.yaml")
]


@pytest.mark.parametrize("file", sampled(((file,) for file in PLANTED), 8, lambda case: case[0].name))
async def test_no_message_about_a_file_of_secrets_holds_one(client: LanguageClient, file: Planted):
    """Findings, hover, hints and completion; the edits of repairs go into the file that holds them, and leave out what stands beside a secret."""
    uri = await opened(client, file.name, file.text)
    document, lines = lsp.TextDocumentIdentifier(uri), file.text.splitlines()
    told: list[object] = [client.diagnostics[uri]]
    for number in range(0, min(len(lines), 60), 5):
        told.append(await client.text_document_hover_async(lsp.HoverParams(document, lsp.Position(number, 3))))
        told.append(
            await client.text_document_completion_async(lsp.CompletionParams(document, lsp.Position(number, 2)))
        )
    whole = lsp.Range(lsp.Position(0, 0), lsp.Position(len(lines), 0))
    told.append(await client.text_document_inlay_hint_async(lsp.InlayHintParams(document, whole)))
    told.append(
        await client.text_document_code_action_async(lsp.CodeActionParams(document, whole, lsp.CodeActionContext([])))
    )
    words = repr(told)
    assert not [secret for secret in file.secrets if secret in words]


async def test_a_text_that_no_parser_reads_is_a_finding_and_the_next_state_is_read_again(client: LanguageClient):
    uri = await opened(client, "train.yaml", TRAIN)
    before = codes(client.diagnostics[uri])
    broken = codes(await typed(client, uri, TRAIN + "  : [\n"))
    assert broken != before
    assert codes(await typed(client, uri, TRAIN, 3)) == before


async def test_a_closed_file_takes_its_findings_with_it(client: LanguageClient):
    uri = await opened(client, "train.yaml", TRAIN)
    assert client.diagnostics[uri]
    client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(uri)))
    assert not await published(client, uri)


async def test_what_was_saved_beside_the_file_counts_from_the_next_save_on(client: LanguageClient):
    """While one types the disk is not asked again; whoever saves wants it to be."""
    uri = await opened(client, "train.yaml", TRAIN)
    (client.folder / "stablint.toml").write_text('ignore = ["P143"]\n', encoding="utf-8")
    assert "P143" in codes(await typed(client, uri, TRAIN + "\n"))
    client.text_document_did_save(lsp.DidSaveTextDocumentParams(lsp.TextDocumentIdentifier(uri)))
    assert "P143" not in codes(await published(client, uri))


SICK_DS = DS.replace('"bf16"', '"fp16"')
LINKING = TRAIN.replace("fp16: true\n", "")


async def settled(client: LanguageClient, uris: list[str], expected: dict[str, set[str]]) -> bool:
    """Whether the editor shows that of each file before long."""
    for _ in range(40):
        if all(codes(client.diagnostics.get(uri, [])) == expected[uri] for uri in uris):
            return True
        await asyncio.sleep(0.1)
    return False


HALF_DS = '{"zero_optimization": {"sta'


@pytest.mark.parametrize(
    ("first", "on_disk", "texts"),
    [
        ("train.yaml", SICK_DS, [DS, SICK_DS, DS]),
        ("ds.json", SICK_DS, [HALF_DS, DS]),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                ("train.yaml", SICK_DS, [DS, None]),
                ("ds.json", DS, [SICK_DS, DS]),
                ("train.yaml", DS, [SICK_DS, None]),
            )
        ),
    ],
)
async def test_what_is_shown_of_a_linked_file_follows_its_unsaved_text(
    client: LanguageClient, first: str, on_disk: str, texts: list[str | None]
):
    """The same as a check of these texts on disk shows, after each of them; None: the file is closed unsaved."""
    (client.folder / "ds.json").write_text(on_disk, encoding="utf-8")
    (client.folder / "train.yaml").write_text(LINKING, encoding="utf-8")
    names = {"train.yaml": LINKING, "ds.json": on_disk}
    for name in sorted(names, key=lambda name: name != first):
        await opened(client, name, names[name])
    uris = {name: (client.folder / name).as_uri() for name in names}
    for version, text in enumerate(texts, 2):
        if text is None:
            client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(uris["ds.json"])))
        else:
            client.text_document_did_change(
                lsp.DidChangeTextDocumentParams(
                    lsp.VersionedTextDocumentIdentifier(version, uris["ds.json"]),
                    [lsp.TextDocumentContentChangeWholeDocument(text)],
                )
            )
        wanted = fresh(client.folder, {"ds.json": on_disk if text is None else text}, alone=text is not None)
        assert await settled(client, list(uris.values()), wanted), (text, wanted)


def fresh(folder: Path, texts: dict[str, str], *, alone: bool) -> dict[str, set[str]]:
    """What a session that has seen nothing else finds in the files as they are, both open, or the first one alone."""
    session = Session(str(folder))
    session.configure({"gpu": ["A100-80GB"]})
    names = {"train.yaml": LINKING, **(texts if alone else {})}
    for name, text in names.items():
        session.put(str(folder / name), text)
    found: dict[str, set[str]] = {(folder / name).as_uri(): set() for name in ("train.yaml", "ds.json")}
    for name in names:
        checked = session.check(str(folder / name))
        assert checked is not None
        for path, those in findings.diagnostics(checked).items():
            found[Path(path).as_uri()] |= codes(those)
    return found
