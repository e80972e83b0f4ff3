// Runs beside the page, so that a check never holds it up. Files lie beside this one: Pyodide, and the wheels that wheels.json names.
import { loadPyodide } from "./pyodide.mjs";

const say = (state) => postMessage({ state });

async function prepare() {
  say("Loading Python (once; about 10 MB) …");
  const python = await loadPyodide({ indexURL: new URL("./", import.meta.url).href });
  const wheels = await (await fetch(new URL("wheels.json", import.meta.url))).json();
  for (const wheel of wheels) {
    say(`Loading ${wheel} …`);
    const data = await (await fetch(new URL(wheel, import.meta.url))).arrayBuffer();
    python.unpackArchive(data, "wheel");
  }
  python.runPython(await (await fetch(new URL("check.py", import.meta.url))).text());
  say("Ready.");
  return python.globals.get("answer");
}

const ready = prepare();
onmessage = async ({ data: { asked, text, name, gpu } }) => {
  try {
    const answer = await ready;
    say("Checking …");
    const begin = performance.now();
    const [report, diff] = JSON.parse(answer(text, name, gpu));
    say(`Checked in ${Math.round(performance.now() - begin)} ms.`);
    postMessage({ asked, report, diff });
  } catch (error) {
    say("The check failed.");
    postMessage({ failed: String(error) });
  }
};
