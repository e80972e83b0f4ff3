"""The server in a real editor: Neovim without a screen opens a file, is told what is wrong, types the repair, and is told that it is right."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not shutil.which("nvim"), reason="nvim is not installed")

# `vim.lsp.start_client` is in every release from 0.5 on.
SESSION = """
local client = vim.lsp.start_client({
  name = "stablint", cmd = {os.getenv("PYTHON"), "-m", "stablint", "server"}, root_dir = vim.fn.getcwd(),
  init_options = {gpu = {"A100-80GB x8"}},
})
vim.lsp.buf_attach_client(0, client)
local said = {}
local function codes()
  local found = {}
  for _, one in ipairs(vim.diagnostic.get(0)) do
    table.insert(found, {code = one.code, line = one.lnum + 1, column = one.col + 1, to = one.end_col + 1, source = one.source})
  end
  return found
end
vim.wait(60000, function() return #vim.diagnostic.get(0) > 0 end, 50)
said.opened = codes()
local place = {textDocument = vim.lsp.util.make_text_document_params(0), position = {line = 2, character = 1}}
local answer = vim.lsp.buf_request_sync(0, "textDocument/hover", place, 30000)
for _, one in pairs(answer or {}) do said.hover = one.result and one.result.contents.value end
vim.api.nvim_buf_set_lines(0, 2, 3, false, {"fp16: false"})
vim.wait(60000, function() return #vim.diagnostic.get(0) == 0 end, 50)
said.typed = codes()
said.modified = vim.bo.modified
io.open("said.json", "w"):write(vim.fn.json_encode(said))
vim.cmd("qa!")
"""


def test_neovim_is_told_while_it_types(tmp_path):
    (tmp_path / "train.yaml").write_text(
        "output_dir: out\nlearning_rate: 1.0e-5\nfp16: true\nbf16: true\n", encoding="utf-8"
    )
    (tmp_path / "session.lua").write_text(SESSION, encoding="utf-8")
    lint = str(Path(__file__).parents[2] / "lint")
    done = subprocess.run(
        ["nvim", "--headless", "--clean", "-n", "train.yaml", "-c", "luafile session.lua"], cwd=tmp_path, timeout=240, capture_output=True, text=True,
        env={**os.environ, "PYTHON": sys.executable, "PYTHONPATH": lint, "XDG_STATE_HOME": str(tmp_path)},
    )  # fmt: skip
    assert (tmp_path / "said.json").exists(), done.stderr
    said = json.loads((tmp_path / "said.json").read_text(encoding="utf-8"))
    assert {"code": "P143", "line": 3, "column": 7, "to": 11, "source": "stablint"} in said["opened"]
    assert "fp16" in said["hover"] and "P143" in said["hover"]
    assert said["typed"] in ([], {}), "json_encode writes an empty Lua table either way"
    assert said["modified"], "the diagnostics are those of the buffer, not of the disk"
