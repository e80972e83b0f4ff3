// The filter above the list of rules: words, severity, evidence. Without a script the whole list stands there.
function prepare() {
  const filter = document.querySelector(".rule-filter");
  if (!filter || filter.dataset.ready) return;
  filter.dataset.ready = "1";
  const [words, severity, grade] = filter.querySelectorAll("input, select");
  const count = document.querySelector("#rule-count");
  const rows = [...document.querySelectorAll("article table tbody tr")];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  function show() {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    rows.forEach((row, place) => {
      const cells = row.cells;
      const keep = wanted.every((word) => texts[place].includes(word))
        && (!severity.value || cells[2].textContent.startsWith(severity.value))
        && (!grade.value || cells[3].textContent === grade.value);
      row.hidden = !keep;
      left += keep ? 1 : 0;
    });
    for (const table of document.querySelectorAll("article table")) {
      const empty = ![...table.tBodies[0].rows].some((row) => !row.hidden);
      const frame = table.closest(".md-typeset__scrollwrap") || table;
      frame.hidden = empty;
      const heading = frame.previousElementSibling;
      if (heading && heading.tagName === "H2") heading.hidden = empty;
    }
    count.textContent = `${left} of ${rows.length}`;
  }
  for (const one of [words, severity, grade]) one.addEventListener("input", show);
  show();
}
if (window.document$) document$.subscribe(prepare); else document.addEventListener("DOMContentLoaded", prepare);
