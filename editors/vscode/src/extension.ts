import * as vscode from "vscode";
import { LanguageClient } from "vscode-languageclient/node";

import { command, told } from "./settings";

const LANGUAGES = ["yaml", "json", "jsonc", "python", "shellscript"];
let client: LanguageClient | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  context.subscriptions.push(
    vscode.commands.registerCommand("stablint.restart", restart),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration("stablint.path")) {
        await restart();
      } else if (event.affectsConfiguration("stablint")) {
        await client?.sendNotification("workspace/didChangeConfiguration", { settings: { stablint: settings() } });
      }
    }),
  );
  await start();
}

export async function deactivate(): Promise<void> {
  await client?.stop();
  client = undefined;
}

function settings() {
  const section = vscode.workspace.getConfiguration("stablint");
  return told((name) => section.get(name));
}

async function start(): Promise<void> {
  const server = command(vscode.workspace.getConfiguration("stablint").get("path"));
  client = new LanguageClient("stablint", "stablint", server, {
    documentSelector: LANGUAGES.map((language) => ({ scheme: "file", language })),
    initializationOptions: settings(),
  });
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    const why = error instanceof Error ? error.message : String(error);
    void vscode.window.showErrorMessage(`stablint: ${server.command} server did not start: ${why}. Install it with pip install '.[lsp]' in a clone, or name it in stablint.path.`);
  }
}

async function restart(): Promise<void> {
  await deactivate();
  await start();
}
