/** What of the workspace's settings the server is told: everything but the path of the program. */

export const NAMES = ["gpu", "gpu-memory", "model", "with", "set", "select", "ignore"] as const;

export type Settings = { [name in (typeof NAMES)[number]]?: string | string[] };

/** `get` answers one setting of the section `stablint`. What is empty is not said. */
export function told(get: (name: string) => unknown): Settings {
  const settings: Settings = {};
  for (const name of NAMES) {
    const value = get(name);
    if (typeof value === "string" && value !== "") {
      settings[name] = value;
    } else if (Array.isArray(value) && value.length > 0) {
      settings[name] = value.map(String);
    }
  }
  return settings;
}

/** The command line of the server. */
export function command(path: unknown): { command: string; args: string[] } {
  return { command: typeof path === "string" && path !== "" ? path : "stablint", args: ["server"] };
}
