// The checker in the browser: CPython compiled to WebAssembly in a worker, with the wheel of this very site. Nothing leaves the page.
const root = document.querySelector("#pg");
if (root) {
  const [text, name, gpu, button, state, report, diff] =
    ["text", "name", "gpu", "check", "state", "report", "diff"].map((id) => document.querySelector(`#pg-${id}`));
  let worker = null;
  let asked = 0;
  function start() {
    worker = new Worker(new URL("playground/worker.mjs", location.href), { type: "module" });
    worker.onmessage = ({ data }) => {
      if (data.state) state.textContent = data.state;
      if (data.asked !== undefined && data.asked === asked) {
        report.textContent = data.report;
        diff.textContent = data.diff;
        diff.parentElement.hidden = !data.diff;
        root.dataset.done = String(data.asked);
        button.disabled = false;
      }
      if (data.failed) { report.textContent = data.failed; root.dataset.failed = "1"; button.disabled = false; }
    };
    worker.onerror = (event) => { state.textContent = `The checker did not start: ${event.message || "its files are not beside this page"}`; button.disabled = false; };
  }
  button.addEventListener("click", () => {
    if (!worker) start();
    button.disabled = true;
    asked += 1;
    worker.postMessage({ asked, text: text.value, name: name.value || "train.yaml", gpu: gpu.value });
  });
}
