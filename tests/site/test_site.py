"""The site as somebody opens it: built strictly, and looked at in a headless browser. `.ci/run site` runs this; it wants `.[site]`, selenium, chromium."""

from __future__ import annotations

import functools
import http.server
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stablint.cli import main
from stablint.hazard.model import load

ROOT = Path(__file__).parents[2]
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def built(tmp_path_factory) -> Path:
    pytest.importorskip("material", reason="pip install -e '.[site]'")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(folder)], cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    archive = os.environ.get("STABLINT_PYODIDE")
    if archive:
        command = [sys.executable, "tools/build_playground.py", str(folder), "--pyodide", archive]
        subprocess.run(command, cwd=ROOT, check=True)
    return folder


@pytest.fixture(scope="session")
def address(built) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            return

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(built)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(word)
    found = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield found
    found.quit()


def at(browser: Any, selector: str) -> Any:
    return browser.find_element("css selector", selector)


def wait(until: Any, seconds: float = 300) -> Any:
    """What comes is asked here, also on a machine that others use as well; not how soon."""
    end = time.monotonic() + seconds
    while not (found := until()):
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.1)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "page"),
    [
        (
            "`fp16: true` lets Qwen/Qwen2-7B-Instruct overflow: some tokens turn NaN and the loss is printed as 0",
            "rules/P101.html",
        ),
        ("`load_best_model_at_end` is refused, since a checkpoint would have no metric", "rules/T103.html"),
        ("P143", "rules/P143.html"),
        ("Cannot flatten integer dtype tensors", "rules/Q109.html"),
        ("TrainingArguments.__init__() got an unexpected keyword argument 'evaluation_strategy'", "rules/V101.html"),
        ("--evaluation_strategy", "rules/V101.html"),
        ("best-model-steps-not-multiple", "rules/T103.html"),
        ("会使 Qwen/Qwen2-7B-Instruct 溢出：部分 token 变为 NaN", "rules/P101.html"),
    ],
)
def test_search_finds_a_rule_by_its_message(browser, address, words, page):
    browser.set_window_size(1200, 900)
    browser.get(f"{address}/index.html")
    at(browser, "[data-md-component=search-query]").send_keys(words)
    wait(lambda: page in pages(browser)[:5])


@pytest.mark.slow
def test_search_finds_the_rules_of_a_message_that_several_have(browser, address):
    words = "Please correct the following DeepSpeed config values that mismatch TrainingArguments values"
    raised = json.loads((ROOT / "knowledge" / "messages" / "raised.json").read_text(encoding="utf-8"))["messages"]
    rules = {rule for row in raised if row["text"].startswith(words) for rule in row["hazards"]}
    assert len(rules) > 10
    codes = {hazard.id: hazard.code for hazard in load()}
    browser.set_window_size(1200, 900)
    browser.get(f"{address}/index.html")
    at(browser, "[data-md-component=search-query]").send_keys(words)
    expected = {f"rules/{codes[rule]}.html" for rule in rules}
    wait(lambda: expected & {*pages(browser)[:5]})


@pytest.mark.slow
@pytest.mark.parametrize("word", ["config", "trainer", "train", "model", "utils", "L1"])
def test_search_finds_what_many_words_begin_with(browser, address, word):
    browser.set_window_size(1200, 900)
    browser.get(f"{address}/index.html")
    at(browser, "[data-md-component=search-query]").send_keys(word)
    wait(lambda: pages(browser))


def pages(browser: Any) -> list[str]:
    """What the search has found, best first; it lists the sections of a page under it."""
    script = "return [...document.querySelectorAll('.md-search-result__link')].map(link => link.href.split('?')[0])"
    return ["/".join(href.split("/")[-2:]) for href in dict.fromkeys(browser.execute_script(script))]


@pytest.mark.slow
def test_a_rules_page_shows_message_repair_and_how_to_silence_it(browser, address):
    browser.get(f"{address}/rules/P101.html")
    text = at(browser, "article").text
    for part in (
        "error P101 fp16-qwen2-overflow",
        "-fp16: true",
        "+bf16: true",
        "stablint: ignore[P101] -- why",
        "Evidence",
        "Reported when",
    ):
        assert part in text, part


@pytest.mark.slow
def test_a_rules_page_in_chinese(browser, address):
    browser.get(f"{address}/zh/rules/P101.html")
    assert at(browser, "html").get_attribute("lang") == "zh"
    text = at(browser, "article").text
    for part in (
        "错误 P101 fp16-qwen2-overflow",
        "+bf16: true",
        "您看到的样子",
        "修改前后",
        "如何忽略",
        "为什么这里没有问题",
        "原因",
    ):
        assert part in text, part
    at(browser, "article").find_element("link text", "English").click()
    assert browser.current_url.endswith("/rules/P101.html") and "/zh/" not in browser.current_url
    at(browser, "article").find_element("link text", "中文").click()
    assert browser.current_url.endswith("/zh/rules/P101.html")


@pytest.mark.slow
def test_the_list_of_rules_is_filtered(browser, address):
    browser.set_window_size(1200, 900)
    browser.get(f"{address}/rules/index.html")
    wait(lambda: " of " in at(browser, "#rule-count").text)
    whole = at(browser, "#rule-count").text.split(" of ")
    assert whole[0] == whole[1] and int(whole[1]) > 600
    at(browser, ".rule-filter input").send_keys("fp16 qwen2")
    shown = [row.text for row in browser.find_elements("css selector", "article tbody tr") if row.is_displayed()]
    assert any(row.startswith("P101") for row in shown) and len(shown) < 20
    assert all("qwen2" in row.lower() for row in shown)


PAGES = ("index", "tutorial", "ci", "settings", "rules/index", "rules/P101", "reference/learning-rates", "reference/gpus", "reference/commands",
         "how-we-know", "playground", "many-machines", "zh/index", "zh/rules/index", "zh/rules/P101")  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_no_page_moves_sideways_on_a_phone(browser, address, page):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    )
    try:
        browser.get(f"{address}/{page}.html")
        assert at(browser, "h1").is_displayed()
        widest = browser.execute_script("return document.documentElement.scrollWidth")
        assert widest <= 391, [
            one.get_attribute("outerHTML")[:100] for one in browser.find_elements("css selector", "article *") if one.rect["x"] + one.rect["width"] > 400
        ][:3]  # fmt: skip
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.slow
def test_nothing_is_loaded_from_elsewhere(built):
    outside = re.compile(r"""<(?:script|link|img)[^>]+(?:src|href)="https?://""")
    found = {path.name: outside.findall(path.read_text(encoding="utf-8")) for path in built.rglob("*.html")}
    assert {name: hits for name, hits in found.items() if hits} == {}


@pytest.mark.slow
@pytest.mark.skipif(
    "STABLINT_PYODIDE" not in os.environ, reason="STABLINT_PYODIDE names the archive that `npm pack pyodide` brings"
)
def test_the_playground_says_what_the_command_line_says(browser, address, tmp_path, monkeypatch, capsys):
    browser.set_window_size(1200, 900)
    browser.get(f"{address}/playground.html")
    text = at(browser, "#pg-text").get_attribute("value")
    at(browser, "#pg-check").click()
    root = at(browser, "#pg")
    wait(lambda: root.get_attribute("data-done") or root.get_attribute("data-failed"), 180)
    report = at(browser, "#pg-report").get_attribute("textContent")
    assert not root.get_attribute("data-failed"), report
    (tmp_path / "train.yaml").write_text(text, encoding="utf-8", newline="\n")
    monkeypatch.chdir(tmp_path)
    main(["check", "train.yaml", "--gpu", "A100-80GB"])
    assert report == capsys.readouterr().out
    assert "P101" in report and "+bf16: true" in at(browser, "#pg-diff").get_attribute("textContent")


def sessions() -> list[tuple[str, list[str]]]:
    """The tutorial's commands, each with the lines that it shows."""
    found = []
    for block in re.findall(r"```console\n\$ (.*?)```", TUTORIAL, re.S):
        command, *lines = block.rstrip("\n").split("\n")
        found.append((command, lines))
    return found


def test_the_tutorial_happens_as_it_is_told(tmp_path, monkeypatch, capfd):
    shutil.copytree(ROOT / "examples" / "qwen2-sft-fp16", tmp_path / "run")
    monkeypatch.chdir(tmp_path / "run")
    assert len(sessions()) > 5
    for command, lines in sessions():
        program, *words = shlex.split(command)
        assert program == "stablint"
        main(words)
        printed = capfd.readouterr().out
        assert [line for line in lines if line not in printed] == [], command
