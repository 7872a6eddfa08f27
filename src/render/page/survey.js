// What the script adds to the page of a survey, which is complete without it: a filter of the rows, and columns that sort.
"use strict";
(() => {
  const collator = new Intl.Collator(undefined, { numeric: true });
  const main = document.querySelector("main"), rows = [...document.querySelectorAll("tbody tr")];

  // Each word must be in the row. What is folded unfolds while a filter is set.
  const filter = document.createElement("input"), label = document.createElement("label");
  const count = document.createElement("span");
  filter.type = "search";
  label.className = "filter";
  count.className = "muted";
  count.setAttribute("role", "status");
  label.append("Only rows with ", filter, count);
  main.prepend(label);
  const folds = [...document.querySelectorAll("details")].map((fold) => [fold, fold.open]);
  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const jobs = [...document.querySelectorAll("#jobs tbody tr")];
  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
    for (const [row, text] of texts) row.hidden = !words.every((word) => text.includes(word));
    for (const [fold, open] of folds) fold.open = words.length > 0 || open;
    const seen = jobs.filter((row) => !row.hidden).length;
    count.textContent = words.length > 0 ? ` ${seen} of ${jobs.length} jobs` : "";
  });

  // A click on a heading sorts by its column, and the next one the other way. Empty cells come last.
  const key = (row, column) => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
  for (const heading of document.querySelectorAll("thead th")) {
    if (heading.textContent === "") continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const up = heading.getAttribute("aria-sort") !== "ascending", column = heading.cellIndex;
      const body = heading.closest("table").tBodies[0];
      for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", up ? "ascending" : "descending");
      const order = [...body.rows].map((row) => [key(row, column), row]).sort(([a], [b]) =>
        (a === "") - (b === "") || (up ? 1 : -1) * collator.compare(a, b));
      body.append(...order.map(([, row]) => row));
    });
  }
})();
