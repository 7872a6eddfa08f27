// What the script adds to the page of a survey, which is complete without it: a filter of the rows, and columns that sort.
"use strict";
(() => {
  const collator = new Intl.Collator(undefined, { numeric: true });
  const main = document.querySelector("main"), rows = [...document.querySelectorAll("tbody tr")];
  const make = (name, ...content) => {
    const element = document.createElement(name);
    element.append(...content);
    return element;
  };

  // Each word must be in the row. What is folded unfolds while a filter is set, and what is empty is hidden.
  const filter = make("input"), count = make("span"), label = make("label", "Only rows with ", filter, count);
  filter.type = "search";
  label.className = "filter";
  count.className = "muted";
  count.setAttribute("role", "status");
  main.prepend(label);
  const folds = [...document.querySelectorAll("details")].map((fold) => [fold, fold.open]);
  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const jobs = [...document.querySelectorAll("#jobs tbody tr")];
  const parts = [...document.querySelectorAll("section, details, table")].filter((part) => part.querySelector("tbody tr"));
  const summaries = [...document.querySelectorAll("#jobs summary")].map((summary) => [summary, summary.textContent]);
  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
    for (const [row, text] of texts) row.hidden = !words.every((word) => text.includes(word));
    for (const [fold, open] of folds) fold.open = words.length > 0 || open;
    for (const part of parts) part.hidden = !part.querySelector("tbody tr:not([hidden])");
    for (const [summary, text] of summaries) {
      const seen = summary.parentElement.querySelectorAll("tbody tr:not([hidden])").length;
      summary.textContent = words.length > 0 ? `${seen} of ${text}` : text;
    }
    const seen = jobs.filter((row) => !row.hidden).length;
    count.textContent = words.length > 0 ? ` ${seen} of ${jobs.length} jobs` : "";
  });

  const key = (row, column) => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
  // Empty cells come last.
  const sort = (table, column, up) => {
    const order = [...table.tBodies[0].rows].map((row) => [key(row, column), row]).sort(([a], [b]) =>
      (a === "") - (b === "") || (up ? 1 : -1) * collator.compare(a, b));
    table.tBodies[0].append(...order.map(([, row]) => row));
    for (const heading of table.tHead.rows[0].cells) heading.removeAttribute("aria-sort");
    table.tHead.rows[0].cells[column].setAttribute("aria-sort", up ? "ascending" : "descending");
    table.dispatchEvent(new Event("sorted"));
  };

  for (const table of document.querySelectorAll("table")) {
    const headings = [...table.tHead.rows[0].cells].filter((heading) => heading.textContent !== "");
    const names = headings.map((heading) => heading.textContent);
    // A click on a heading sorts by its column, and the next one the other way.
    for (const heading of headings) {
      const button = make("button", ...heading.childNodes);
      button.type = "button";
      button.className = "sort";
      heading.append(button);
      button.addEventListener("click", () =>
        sort(table, heading.cellIndex, heading.getAttribute("aria-sort") !== "ascending"));
    }
    // A phone shows a wide table as a list without headings: there the order is chosen above it.
    if (!table.classList.contains("stacked") || table.tBodies[0].rows.length < 2) continue;
    const select = make("select", new Option("as listed", ""), ...headings.map((heading, i) =>
      new Option(names[i], heading.cellIndex)));
    const turn = make("button");
    select.options[0].disabled = true;
    turn.type = "button";
    turn.hidden = true;
    const order = make("p", make("label", "Sort by ", select), " ", turn);
    order.className = "order";
    table.before(order);
    const sorted = () => table.querySelector("[aria-sort]");
    const ascends = () => sorted()?.getAttribute("aria-sort") === "ascending";
    select.addEventListener("change", () => sort(table, Number(select.value), true));
    turn.addEventListener("click", () => sort(table, Number(select.value), !ascends()));
    table.addEventListener("sorted", () => {
      select.value = sorted().cellIndex;
      turn.hidden = false;
      turn.textContent = ascends() ? "ascending ▴" : "descending ▾";
    });
  }
})();
