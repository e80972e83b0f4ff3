"""`--lang zh`: reports, reasons and repairs in Chinese; every text has a translation with the same holes and code spans."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from stablint import cli
from stablint.base import knowledge, language
from stablint.config import spec
from stablint.report.words import columns, first_sentences, wrapped
from stablint.syntax import limits

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import catalogues

CONFIG = "model_name_or_path: Qwen/Qwen2-7B-Instruct\nfp16: true\nattn_implementation: eager\nlearning_rate: 1.0e-5\noutput_dir: out\n"


@pytest.fixture(autouse=True)
def english_again():
    yield
    language.speak(language.ENGLISH)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """`run(words…)` checks the configuration above on a card that has bf16: exit code, output."""
    (tmp_path / "train.yaml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)

    def called(*words: str) -> tuple[int, str]:
        code = cli.main(list(words) or ["train.yaml", "--gpu", "A100-80GB"])
        return code, capsys.readouterr().out

    return called


def test_a_report_in_chinese(run):
    code, told = run("train.yaml", "--gpu", "A100-80GB", "--lang", "zh")
    assert code == 0
    assert "警告 P101 fp16-qwen2-overflow" in told  # codes and ids are the same in every language
    assert "`fp16: true`" in told
    assert "发现 1 个警告" in told and "修复:" in told and "原因:" in told
    assert "Found" not in told and "why:" not in told


@pytest.mark.parametrize("word", ["P101", "fp16-qwen2-overflow"])
def test_explain_in_chinese(run, word):
    _, told = run("explain", word, "--lang=zh")
    assert "何时没有问题" in told and "如何处理" in told and "示例" in told


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (("show", "train.yaml"), ("框架", "微调方法", "预热步数", "检查点")),
        (("fit", "sft.yaml", "--gpu", "RTX 4090"), ("峰值在:", "权重", "放不下", "假设:")),
        (("advise", "sft.yaml", "--gpu", "A100-80GB"), ("在 A100-80GB 上", "用融合注意力代替", "效果:", "不适用:")),
        (("diagnose", "train.log", "train.yaml"), ("梯度为 NaN", "依据:", "日志显示了这一点")),
        (("diagnose", "fine.log"), ("没有匹配的已知问题", "没有异常")),
    ],
)
def test_the_other_commands_in_chinese(run, words, parts):
    example = Path(__file__).parents[2] / "examples" / "qwen2-sft-fp16" / "train.yaml"
    Path("sft.yaml").write_text(example.read_text(encoding="utf-8"), encoding="utf-8")
    Path("train.log").write_text("{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.01}\n" * 6)
    Path("fine.log").write_text("starting\n")
    told = run(*words, "--lang", "zh")[1]
    assert [part for part in parts if part not in told] == [], told
    assert not any(mark in told for mark in ("effect:", "because:", "peak at", "nothing known"))


@pytest.mark.parametrize(
    ("environment", "spoken"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LC_ALL": "zh_CN.GBK"}, "zh"),
        ({"LC_MESSAGES": "zh_TW", "LANG": "en_US.UTF-8"}, "zh"),
        ({"LC_ALL": "C", "LANG": "zh_CN.UTF-8"}, "en"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({}, "en"),
    ],
)
def test_the_language_of_the_locale(environment, spoken):
    assert language.by_locale(environment) == spoken


def test_what_programs_read_is_english_unless_chinese_is_asked_for(run, monkeypatch):
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert "发现" in run()[1]
    assert (
        "发现" in run("train.yaml", "--output-format", "concise")[1]
        and "发现" in run("train.yaml", "--output-format=full")[1]
    )
    assert "发现" not in run("train.yaml", "--output-format", "markdown")[1]
    english = json.loads(run("train.yaml", "--gpu", "A100-80GB", "--output-format", "json")[1])
    chinese = json.loads(run("train.yaml", "--gpu", "A100-80GB", "--output-format", "json", "--lang", "zh")[1])
    [one], [other] = english["diagnostics"], chinese["diagnostics"]
    assert one["message"] != other["message"]
    assert {key for key in one if one[key] != other[key]} <= {"message", "fix", "facts"}


def test_lang_stands_before_the_command_as_well(run):
    assert run("--lang", "zh", "explain", "P101") == run("explain", "P101", "--lang", "zh")
    assert run("--lang=zh", "train.yaml")[1] == run("train.yaml", "--lang=zh")[1]


@pytest.mark.parametrize("command", spec.COMMANDS)
def test_help_in_chinese(run, capsys, command):
    with pytest.raises(SystemExit):
        cli.main([command, "--lang", "zh", "--help"])
    told = capsys.readouterr().out
    assert told.startswith("用法：") and "选项" in told and "显示此帮助并退出" in told
    assert not {"usage:", "options:", "show this help"} & {
        word for word in ("usage:", "options:", "show this help") if word in told
    }


def test_the_list_of_commands_in_chinese(run):
    code, told = run("--lang", "zh", "--help")
    assert code == 0 and told.startswith("用法：") and "检查文件和文件夹" in told and "commands:" not in told


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("nothing.yaml",), "`nothing.yaml` 不存在"),
        (("train.yaml", "--gpu", "T40"), "未知 GPU `T40`：您是指"),
        (("explain", "Q999"), "没有名为 `Q999` 的规则：您是指"),
        (("schema", "axolotll"), "没有名为 `axolotll` 的配置：您是指 `axolotl` 吗"),
        (("train.yaml", "--with", "transformer==5.0"), "没有名为 `transformer` 的库"),
    ],
)
def test_refusals_in_chinese(run, capsys, words, part):
    assert cli.main([*words, "--lang", "zh"]) == 2
    assert part in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("check", "train.yaml", "--selct"), "无法识别的参数：--selct：您是指 `--select` 吗"),
        (("fit",), "缺少以下参数：FILE"),
        (("check", "train.yaml", "--jobs", "many"), "参数 --jobs：'many' 不是这样的数"),
        (("check", "train.yaml", "--fail-on", "all"), "参数 --fail-on：'all' 不是"),
        (("check", "train.yaml", "--model"), "参数 --model：需要一个值"),
    ],
)
def test_what_argparse_refuses_is_told_in_chinese(run, capsys, words, part):
    with pytest.raises(SystemExit):
        cli.main([*words, "--lang", "zh"])
    assert part in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (("config", "train.yaml"), ("没有设置文件", "默认", "条规则")),
        (("doctor",), ("未安装", "请指出训练所用的 GPU")),
        (("fit", "sft.yaml", "--gpu", "T4"), ("每行最多 4096 个 token", "一个进程")),
        (
            ("new", "--model", "Qwen/Qwen2.5-7B-Instruct", "--gpu", "RTX 4090 x4", "--framework", "trl"),
            ("每张卡峰值", "未采用：", "个进程"),
        ),
    ],
)
def test_more_commands_in_chinese(run, words, parts):
    example = Path(__file__).parents[2] / "examples" / "qwen2-sft-fp16" / "train.yaml"
    Path("sft.yaml").write_text(example.read_text(encoding="utf-8"), encoding="utf-8")
    told = run(*words, "--lang", "zh")[1]
    assert [part for part in parts if part not in told] == [], told


def test_an_unknown_language_is_refused(run, capsys):
    assert cli.main(["train.yaml", "--lang", "tlh"]) == 2
    assert "--lang tlh: one of en, zh" in capsys.readouterr().err


def test_a_checkout_without_babel_speaks_english(run, capsys, monkeypatch):
    monkeypatch.setitem(knowledge._loaded, "locale/zh", None)
    assert cli.main(["train.yaml", "--lang", "zh"]) == 2
    assert "--lang zh: the catalogues of `zh` are not compiled here" in capsys.readouterr().err
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert "Found" in run()[1]


def test_the_next_command_speaks_english_again(run):
    run("train.yaml", "--lang", "zh")
    assert "Found" in run()[1]


@pytest.mark.parametrize("name", catalogues.names())
def test_every_text_has_a_translation(name):
    path = catalogues.LOCALE / "zh" / f"{name}.po"
    assert list(catalogues.faults(name, catalogues.sources()[name], catalogues.read(path))) == []


# The program's own labels stand in columns (`修复:`), so they keep the narrow colon; what a list or a call is separated by stands in a code span.
SENTENCES = sorted(set(catalogues.names()) - {"program", "site"})


@pytest.mark.parametrize("name", SENTENCES)
def test_chinese_sentences_have_chinese_marks(name):
    narrow = re.compile(r"[\u3400-\u9fff] ?[,:;]|[,:;](?=[\u3400-\u9fff])")
    told = [str(one.string) for one in catalogues.read(catalogues.LOCALE / "zh" / f"{name}.po") if one.id]
    assert not [text for text in told if narrow.search(re.sub(r"`[^`]*`|“[^”]*”", "`", text))]


def test_every_catalogue_is_named():
    assert list(catalogues.sources()) == catalogues.names()


@pytest.mark.slow
def test_rule_pages_in_chinese_have_no_english_heading():
    import rule_pages

    english = rule_pages.pages()
    language.speak("zh")
    chinese = rule_pages.pages()
    assert english.keys() == chinese.keys()
    for name in ("README.md", "P101.md", "F101.md", "L101.md", "D102.md"):
        headings, others = (
            [line for line in one[name].splitlines() if line.startswith("#")] for one in (english, chinese)
        )
        assert len(headings) == len(others) > 4
        assert not {line for line in headings if line != "# "} & set(others), name


TEXT = (
    "`fp16: true` 会使 Qwen2-7B 溢出：部分 token 变为 NaN，损失显示为 0（见 https://example.org/issue）。此后不再恢复。"
)


@pytest.mark.parametrize("width", [10, 20, 40, 100])
def test_chinese_is_broken_between_characters(width):
    lines = wrapped(TEXT, width)
    assert "".join(lines).replace(" ", "") == TEXT.replace(" ", "")
    assert not any(line[0] in "，。：）" for line in lines)
    words = [word for line in lines for word in line.split()]
    assert all(columns(line) <= width + 2 or max(map(columns, words)) > width for line in lines)


def test_sentences_end_as_chinese_ends_them():
    assert first_sentences(TEXT, longest=100).endswith("。")
    assert first_sentences(TEXT, longest=300) == TEXT


LIMITS = [limit for limit in vars(limits).values() if isinstance(limit, limits.Limit)]


@pytest.mark.parametrize("limit", LIMITS, ids=[limit.of for limit in LIMITS])
def test_what_a_limit_left_out_is_told_in_chinese(limit):
    language.speak("zh")
    words = language.told(limit.problem(0, 0).message)
    assert words.startswith("多于 ") and limit.of not in words and limit.then not in words


def test_a_finding_is_the_same_one_in_each_language(tmp_path, monkeypatch, capsys):
    """A baseline that was written in one holds in the other, also where the finding quotes a sentence of ours."""
    monkeypatch.chdir(tmp_path)
    often = "---\noutput_dir: out\nlearning_rate: 1.0e-5\nfp16: true\nbf16: true\n"
    (tmp_path / "often.yaml").write_text(
        "output_dir: out\nlearning_rate: 1.0e-5\n" + "seed: 1\n" * 60, encoding="utf-8"
    )
    (tmp_path / "runs.yaml").write_text(often * 102, encoding="utf-8")
    slips = "".join(f', "stag{number}": 1' for number in range(150))
    (tmp_path / "ds.json").write_text(
        f'{{"zero_optimization": {{"stage": 2{slips}}}, "train_batch_size": 4}}', encoding="utf-8"
    )
    found = []
    for word in ("en", "zh"):
        cli.main(["check", ".", "--lang", word, "--output-format", "json"])
        told = json.loads(capsys.readouterr().out)["diagnostics"]
        assert any(
            ("more than 100 findings of" if word == "en" else "的结果多于 100 条") in one["message"] for one in told
        )
        found.append([(one["code"], one["fingerprint"]) for one in told])
    assert found[0] == found[1]
