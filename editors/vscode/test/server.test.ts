/** The program is started as the extension starts it, and greeted as its client greets it. The editor itself is not needed for that. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { command, told } from "../src/settings";

test("what package.json names is what the build writes", () => {
  const folder = join(__dirname, "..", "..");
  const { main } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { main: string };
  assert.ok(existsSync(join(folder, main)), main);
});

test("what is empty is not said", () => {
  const values: Record<string, unknown> = { gpu: ["A100-80GB x8"], model: "", with: [], ignore: ["P101"], path: "/bin/false" };
  assert.deepEqual(told((name) => values[name]), { gpu: ["A100-80GB x8"], ignore: ["P101"] });
});

test("the path of the settings counts, else the one on the PATH", () => {
  assert.deepEqual(command("/opt/venv/bin/stablint"), { command: "/opt/venv/bin/stablint", args: ["server"] });
  assert.equal(command(undefined).command, "stablint");
});

test("the server starts, tells what it can do, and ends when it is told to", async () => {
  const line = command(process.env.STABLINT_PATH);
  const server = spawn(line.command, line.args, { stdio: ["pipe", "pipe", "inherit"] });
  const send = (message: object) => {
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    server.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  };
  const answered = new Promise<string>((resolve, reject) => {
    let text = "";
    server.on("error", reject);
    server.stdout.on("data", (data: Buffer) => {
      text += data.toString("utf8");
      if (text.includes("hoverProvider")) {
        resolve(text);
      }
    });
  });
  send({ id: 1, method: "initialize", params: { processId: null, rootUri: null, capabilities: {}, initializationOptions: told(() => undefined) } });
  const text = await answered;
  for (const ability of ["codeActionProvider", "completionProvider", "documentLinkProvider", "inlayHintProvider"]) {
    assert.ok(text.includes(ability), ability);
  }
  send({ method: "initialized", params: {} });
  send({ id: 2, method: "shutdown" });
  send({ method: "exit" });
  const code = await new Promise((resolve) => server.on("exit", resolve));
  assert.equal(code, 0);
});
