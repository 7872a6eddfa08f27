// What the script adds to a page that is complete without it: buttons that copy, one that unfolds everything, and
// charts to zoom into. Text that comes from the log is only ever set as text.
"use strict";
(() => {
  // --- Buttons ------------------------------------------------------------------------------------------------------

  function button(text, act) {
    const element = document.createElement("button");
    element.type = "button";
    element.textContent = text;
    element.addEventListener("click", () => act(element));
    return element;
  }

  // A page from a file or without TLS may have no clipboard; the browser's own copy command works there, too.
  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  }

  function copyButton(text, content) {
    return button(text, async (element) => {
      element.textContent = await copy(content()) ? "Copied" : "Not copied";
      setTimeout(() => { element.textContent = text; }, 1500);
    });
  }

  for (const command of document.querySelectorAll(".command")) {
    const code = command.querySelector("code");
    command.querySelector(".command-head").append(copyButton("Copy", () => code.textContent));
  }
  const markdown = document.getElementById("markdown");
  document.querySelector(".top").append(copyButton("Copy as Markdown", () => markdown.content.textContent));

  const folds = [...document.querySelectorAll("details")];
  if (folds.length > 0)
    document.querySelector("nav").append(button("Expand all", (element) => {
      const open = folds.some((fold) => !fold.open);
      for (const fold of folds) fold.open = open;
      element.textContent = open ? "Collapse all" : "Expand all";
    }));

  // Paper has the commands of all fixes. Older browsers print nothing of what is folded.
  const fixes = folds.filter((fold) => fold.closest(".fixes"));
  let unfolded = [];
  addEventListener("beforeprint", () => {
    unfolded = fixes.filter((fold) => !fold.open);
    for (const fold of unfolded) fold.open = true;
  });
  addEventListener("afterprint", () => { for (const fold of unfolded) fold.open = false; });

  // --- Charts -------------------------------------------------------------------------------------------------------

  const number = (value) => String(Number(value.toPrecision(7)));
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

  function svg(name, attributes, text) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    setAll(element, attributes);
    if (text !== undefined) element.textContent = text;
    return element;
  }

  // Multiples of 1, 2 or 5 times a power of ten, about `count` of them.
  function ticks(from, to, count, least) {
    const raw = (to - from) / count, power = 10 ** Math.floor(Math.log10(raw));
    const step = Math.max(least, power * ([1, 2, 5].find((factor) => factor * power >= raw * 0.999) ?? 10));
    const first = Math.ceil(from / step - 1e-9), all = [];
    for (let k = first; k * step <= to + 1e-9 * step && all.length <= 2 * count; ++k) all.push(k * step);
    return all;
  }

  // Moves boxes apart that would overlap: down from the top, and up again from the end. As spread() in html_chart.cc.
  function spread(boxes, end) {
    boxes.sort((a, b) => a.y - b.y);
    const gap = (i) => (boxes[i].height + boxes[i - 1].height) / 2;
    for (let i = 1; i < boxes.length; ++i) boxes[i].y = Math.max(boxes[i].y, boxes[i - 1].y + gap(i));
    if (boxes.length > 0) boxes.at(-1).y = Math.min(boxes.at(-1).y, end - boxes.at(-1).height / 2);
    for (let i = boxes.length - 1; i > 0; --i) boxes[i - 1].y = Math.min(boxes[i - 1].y, boxes[i].y - gap(i));
  }

  // The index of the point whose x is nearest.
  function nearest(points, x) {
    let low = 0, high = points.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (points[middle][0] < x) low = middle + 1; else high = middle;
    }
    return low > 0 && x - points[low - 1][0] < points[low][0] - x ? low - 1 : low;
  }

  // Of the points in a range of x, and of one more on each side: their lines cross the range.
  function valuesIn(points, left, right) {
    const from = points.findIndex(([x]) => x >= left), behind = points.findIndex(([x]) => x > right);
    return points.slice(Math.max(0, from - 1), behind < 0 ? undefined : behind + 1).map(([, y]) => y);
  }

  function save(name, blob) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  }

  function setAll(element, attributes) {
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  }

  class Chart {
    constructor(figure) {
      this.figure = figure;
      this.plot = figure.querySelector(".plot");
      this.area = figure.querySelector(".area");
      const data = this.plot.dataset;
      this.full = { left: +data.left, right: +data.right, bottom: +data.bottom, top: +data.top };
      this.margins = data.margins.split(" ").map(Number);
      this.wholeSteps = data.xUnit !== "second";
      this.capacity = +data.capacity || 0;          // in the unit of the values; 0 without a second axis
      this.shareColumn = +data.shareColumn || 0;    // px for the ticks of the second axis
      this.clock = data.clock ? data.clock.split(",").map((pair) => pair.split(" ").map(Number)) : [];
      this.lines = [...this.plot.querySelectorAll(".line")].map((path) => ({
        ...path.dataset,
        path,
        shown: true,
        points: path.getAttribute("d").slice(1).split("L").map((pair) => {
          const [x, y] = pair.split(" ").map(Number);
          return [x + this.full.left, y];
        }),
      }));
      this.failures = [...this.plot.querySelectorAll(".failure")].map((path) => (
        { x: parseFloat(path.getAttribute("d").slice(1)) + this.full.left, place: path.dataset.place }));
      this.yTitle = this.plot.querySelector(".y-title").textContent.split(";")[0];
      this.addTools();
      this.addSwitches();
      this.listen();
      figure.classList.add("live");
      this.window = { ...this.full };
      new ResizeObserver(() => this.draw()).observe(figure);
      this.draw();
    }

    addTools() {
      const tools = document.createElement("div"), hint = document.createElement("span");
      tools.className = "chart-tools";
      hint.textContent = "Drag to zoom, Shift-drag to pan, arrow keys to read values";
      this.reset = button("Reset zoom", () => this.show(this.full.left, this.full.right));
      tools.append(hint, this.reset);
      tools.append(button("PNG", () => this.savePicture()), button("SVG", () => save("chart.svg", this.picture())),
                   button("CSV", () => save("chart.csv", new Blob([this.table()], { type: "text/csv" }))));
      this.tip = document.createElement("div");
      this.tip.className = "tip";
      this.tip.hidden = true;
      this.plot.after(tools);
      this.figure.append(this.tip);
      this.cursor = svg("path", { class: "cursor", visibility: "hidden" });
      this.selection = svg("rect", { class: "selection", visibility: "hidden" });
      this.plot.append(this.cursor, this.selection);
    }

    // The name at the end of a line hides and shows it.
    addSwitches() {
      for (const label of this.plot.querySelectorAll("[data-line]")) {
        const line = this.lines[label.dataset.line];
        if (!line || this.lines.length < 2) continue;
        this.plot.setAttribute("role", "group");  // a picture has nothing to press
        setAll(label, { role: "button", tabindex: 0, "aria-pressed": true, "aria-label": `show ${line.name}` });
        const flip = (event) => {
          line.shown = !line.shown;
          label.setAttribute("aria-pressed", line.shown);
          line.path.classList.toggle("off", !line.shown);
          this.show(this.window.left, this.window.right);
          event.preventDefault();
          event.stopPropagation();
        };
        label.addEventListener("click", flip);
        for (const other of ["pointerdown", "dblclick"])  // neither a drag nor a reset of the zoom
          label.addEventListener(other, (event) => event.stopPropagation());
        label.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") flip(event); });
      }
    }

    shownLines() { return this.lines.filter(({ shown }) => shown); }

    // --- Files

    // The chart as it is on the screen; its colours are those that the style sheet gives it.
    picture() {
      const copy = this.plot.cloneNode(true), { width, height } = this.plot.viewBox.baseVal;
      const originals = [this.plot, ...this.plot.querySelectorAll("*")];
      for (const [i, element] of [copy, ...copy.querySelectorAll("*")].entries()) {
        const style = getComputedStyle(originals[i]);
        for (const name of ["fill", "stroke", "stroke-width", "stroke-dasharray", "paint-order", "display", "visibility",
                            "opacity", "text-decoration", "font-family", "font-size"])
          element.setAttribute(name, style.getPropertyValue(name));
        for (const name of ["class", "role", "tabindex", "aria-pressed", "aria-label"]) element.removeAttribute(name);
      }
      setAll(copy, { xmlns: "http://www.w3.org/2000/svg", width, height });
      const paper = svg("rect", { width: "100%", height: "100%",
                                  fill: getComputedStyle(document.body).backgroundColor });
      copy.prepend(paper);
      return new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" });
    }

    savePicture() {
      const { width, height } = this.plot.viewBox.baseVal, scale = 2, image = new Image();
      const address = URL.createObjectURL(this.picture());
      image.onload = () => {
        const canvas = document.createElement("canvas");
        canvas.width = scale * width;
        canvas.height = scale * height;
        canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
        URL.revokeObjectURL(address);
        canvas.toBlob((blob) => save("chart.png", blob));
      };
      image.src = address;
    }

    // One row per step, one column per line. A name that a spreadsheet would take for a formula is quoted.
    table() {
      const steps = [...new Set(this.lines.flatMap(({ points }) => points.map(([x]) => x)))].sort((a, b) => a - b);
      const values = this.lines.map(({ points }) => new Map(points));
      const quoted = (text) => `"${text.replace(/^[=+@-]/, "'$&").replaceAll('"', '""')}"`;
      const head = [this.plot.dataset.xUnit, ...this.lines.map(({ name }) => `${name} (${this.plot.dataset.unit})`)];
      return [head.map(quoted), ...steps.map((step) => [step, ...values.map((of) => of.get(step) ?? "")])]
        .map((row) => row.join(",") + "\r\n").join("");
    }

    // --- From values to places and back

    x(value) {
      const { left, right } = this.window;
      return this.box.left + (value - left) / (right - left) * this.box.width;
    }

    y(value) {
      const { bottom, top } = this.window;
      return this.box.top + (top - value) / (top - bottom) * this.box.height;
    }

    // "14:05" between the dated values, "" outside. As clock_text() in plot.cc.
    clockAt(x, span) {
      const next = this.clock.findIndex(([at]) => at >= x);
      if (next < 0 || (next === 0 && this.clock[0][0] > x)) return "";
      const [[x0, t0], [x1, t1]] = [this.clock[Math.max(next - 1, 0)], this.clock[next]];
      const text = new Date(1000 * (x1 > x0 ? t0 + (t1 - t0) * (x - x0) / (x1 - x0) : t1)).toISOString();
      return span < 600 ? text.slice(11, 19) : span < 86400 ? text.slice(11, 16) : text.slice(5, 16).replace("T", " ");
    }

    // Seconds that the window covers, of those with a date.
    seconds() {
      const { left, right } = this.window, seen = this.clock.filter(([x]) => x >= left && x <= right);
      return seen.length > 1 ? seen.at(-1)[1] - seen[0][1] : 0;
    }

    valueAt(x) {
      const { left, right } = this.window;
      return left + (x - this.box.left) / this.box.width * (right - left);
    }

    isZoomed() { return this.window.left > this.full.left || this.window.right < this.full.right; }

    // Shows this range of x, and of y what the lines have there. SVG coordinates have seven digits: finer is blurred.
    show(left, right) {
      const whole = this.full.right - this.full.left, width = clamp(right - left, 1e-4 * whole, whole);
      left = clamp(left, this.full.left, this.full.right - width);
      this.window = { ...this.full, left, right: left + width };
      const values = this.isZoomed() ? this.shownLines().flatMap(({ points }) => valuesIn(points, left, left + width)) : [];
      if (values.length > 0) {
        const low = Math.min(...values), high = Math.max(...values);
        const pad = Math.max(0.1 * (high - low), 1e-3 * Math.abs(high));
        this.window.bottom = Math.max(this.full.bottom, low - pad);
        this.window.top = Math.min(this.full.top, high + pad);
      }
      this.draw();
    }

    // --- Drawing: the area shows the window by its viewBox, texts are placed around it

    draw() {
      const [top, right, bottom, left] = this.margins, full = this.figure.clientWidth;
      if (full === 0) return;
      const tall = clamp(Math.round(full * 0.6), 280, 480), { window: seen } = this;
      const rows = ticks(seen.bottom, seen.top, Math.max(3, tall / 60), 0);
      const widest = Math.max(...rows.map((row) => number(row).length));
      this.box = { left: Math.max(left, 14 + 6.9 * widest), top, height: tall - top - bottom };
      this.box.width = Math.max(full - right - this.box.left, 1);
      this.plot.setAttribute("viewBox", `0 0 ${full} ${tall}`);
      const viewBox = [seen.left - this.full.left, -seen.top, seen.right - seen.left, seen.top - seen.bottom].join(" ");
      setAll(this.area, { x: this.box.left, y: top, width: this.box.width, height: this.box.height, viewBox });
      this.drawTicks(rows);
      const title = this.plot.querySelector(".y-title"), share = this.plot.querySelector(".share-title");
      title.textContent = this.yTitle + (seen.bottom > 0 ? "; the axis does not begin at 0" : "");
      if (share) {
        const room = full - title.getComputedTextLength() - 16 > share.getComputedTextLength();
        setAll(share, { x: full, visibility: room ? "visible" : "hidden" });
      }
      this.placeNames();
      this.placeEndLabels();
      this.reset.style.visibility = this.isZoomed() ? "visible" : "hidden";
    }

    drawTicks(rows) {
      const span = this.seconds();
      const { left, top, width, height } = this.box, end = left + width, low = top + height, parts = [];
      for (const row of rows)
        parts.push(svg("path", { class: "grid", d: `M${left} ${this.y(row)}H${end}` }),
                   svg("text", { x: left - 8, y: this.y(row) + 4, "text-anchor": "end" }, number(row)));
      for (const share of this.shareTicks())
        parts.push(svg("text", { x: end + 4, y: this.y(share / 100 * this.capacity) + 4 }, `${number(share)}%`));
      for (const step of ticks(this.window.left, this.window.right, Math.max(2, width / 80), this.wholeSteps ? 1 : 0))
        parts.push(svg("path", { class: "grid", d: `M${this.x(step)} ${low}v5` }),
                   ...[number(step), this.clockAt(step, span)].filter((text) => text !== "").map((text, row) =>
                     svg("text", { x: this.x(step), y: low + 18 + 16 * row, "text-anchor": "middle" }, text)));
      this.plot.querySelector(".ticks").replaceChildren(...parts);
      setAll(this.plot.querySelector(".x-title"), { x: end, y: low + this.margins[2] - 6 });
    }

    // In % of the capacity, up to 100.
    shareTicks() {
      if (this.capacity === 0) return [];
      const { bottom, top } = this.window, percent = this.capacity / 100, end = Math.min(top / percent, 100);
      return end > bottom / percent ? ticks(bottom / percent, end, Math.max(3, this.box.height / 60), 0) : [];
    }

    // Names of stages and marks, where they are in sight and have room.
    placeNames() {
      const { left, top, width, height } = this.box, end = left + width;
      const place = (text, x, y, seen) => setAll(text, { x, y, visibility: seen ? "visible" : "hidden" });
      for (const text of this.plot.querySelectorAll(".stage")) {
        const from = Math.max(this.x(+text.dataset.left), left), to = Math.min(this.x(+text.dataset.right), end);
        place(text, (from + to) / 2, top - 5, text.getComputedTextLength() + 8 < to - from);
      }
      for (const text of this.plot.querySelectorAll(".name")) {
        const x = this.x(+text.dataset.x), before = x > left + width / 2;
        text.setAttribute("text-anchor", before ? "end" : "start");
        place(text, x + (before ? -6 : 6), top + height - 8 - 16 * text.dataset.row, x >= left && x <= end);
      }
    }

    placeEndLabels() {
      const { top, height } = this.box, end = this.box.left + this.box.width, boxes = [];
      for (const label of this.plot.querySelectorAll("[data-value]")) {
        let value = +label.dataset.value;
        const line = this.lines[label.dataset.line];
        if (line) value = line.points[line.points.findLastIndex(([x]) => x <= this.window.right)]?.[1] ?? NaN;
        // The name of a hidden line stays in reach, to show it again.
        if (line?.shown === false) value = clamp(value || 0, this.window.bottom, this.window.top);
        const seen = value >= this.window.bottom && value <= this.window.top;
        label.setAttribute("visibility", seen ? "visible" : "hidden");
        if (seen) boxes.push({ label, y: this.y(value), height: +label.dataset.height });
      }
      spread(boxes, top + height);
      for (const { label, y } of boxes) label.setAttribute("transform", `translate(${end + 8 + this.shareColumn} ${y})`);
    }

    // --- The mouse, a finger, and keys

    listen() {
      const at = (event) => {
        const { left, top } = this.plot.getBoundingClientRect();
        return [clamp(event.clientX - left, this.box.left, this.box.left + this.box.width), event.clientY - top];
      };
      this.plot.addEventListener("pointerdown", (event) => {
        if (event.button !== 0) return;
        this.plot.setPointerCapture(event.pointerId);
        this.drag = { from: at(event)[0], y: at(event)[1], pan: event.shiftKey, window: { ...this.window } };
        this.plot.classList.toggle("panning", event.shiftKey);
        event.preventDefault();
      });
      this.plot.addEventListener("pointermove", (event) => {
        if (this.drag) this.dragTo(at(event)[0]); else this.point(...at(event));
      });
      this.plot.addEventListener("pointerup", (event) => this.drop(at(event)[0]));
      this.plot.addEventListener("pointercancel", () => this.drop(NaN));
      // A finger that is lifted leaves the chart, and what it asked for stays.
      this.plot.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") this.hideTip(); });
      this.figure.addEventListener("blur", () => this.hideTip());
      this.plot.addEventListener("dblclick", () => this.show(this.full.left, this.full.right));
      this.figure.addEventListener("keydown", (event) => {
        const { left, right } = this.window, part = (right - left) / 4;
        const moves = { "+": [left + part, right - part], "-": [left - 2 * part, right + 2 * part],
                        Escape: [this.full.left, this.full.right] };
        if (event.shiftKey) Object.assign(moves, { ArrowLeft: [left - part, right - part],
                                                   ArrowRight: [left + part, right + part] });
        const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
        if (event.target !== this.figure || !(moves[event.key] || steps[event.key])) return;
        if (moves[event.key]) this.show(...moves[event.key]); else this.walk(steps[event.key]);
        event.preventDefault();
      });
    }

    dragTo(x) {
      const { from, pan, window: before } = this.drag;
      this.hideTip();
      if (pan) {
        const moved = (from - x) / this.box.width * (before.right - before.left);
        this.show(before.left + moved, before.right + moved);
        return;
      }
      setAll(this.selection, { x: Math.min(from, x), width: Math.abs(x - from), y: this.box.top,
                               height: this.box.height, visibility: "visible" });
    }

    drop(x) {
      if (!this.drag) return;
      const { from, y, pan } = this.drag, least = 6;  // px: less is a click
      this.drag = undefined;
      this.selection.setAttribute("visibility", "hidden");
      this.plot.classList.remove("panning");
      if (pan || Number.isNaN(x)) return;
      if (Math.abs(x - from) < least) {
        this.point(x, y);
        return;
      }
      this.show(this.valueAt(Math.min(from, x)), this.valueAt(Math.max(from, x)));
    }

    // From one value of the main line to the next that is in sight; the first time to the last one.
    walk(by) {
      const { points } = this.shownLines().at(-1) ?? this.lines.at(-1), { left, right } = this.window;
      const seen = points.filter(([x]) => x >= left && x <= right);
      if (seen.length === 0) return;
      const begins = this.tip.hidden || this.here === undefined;
      const to = begins ? (by === -Infinity ? 0 : seen.length - 1) : nearest(seen, this.here) + by;
      const [x, y] = seen[clamp(to, 0, seen.length - 1)];
      this.point(this.x(x), this.y(y));
    }

    hideTip() {
      this.tip.hidden = true;
      this.cursor.setAttribute("visibility", "hidden");
    }

    // The values at the step nearest to the cursor, and the lines of the log that print the first and the last of them.
    point(x, y) {
      const main = (this.shownLines().at(-1) ?? this.lines.at(-1)).points;
      const step = this.here = main[nearest(main, this.valueAt(x))][0];
      const clock = this.clockAt(step, 0);
      const rows = [this.tipRow(`${this.plot.dataset.xUnit} ${number(step)}${clock && `, ${clock}`}`)];
      for (const line of this.shownLines().reverse()) rows.push(this.tipRow(this.valueText(line, step), line.colour));
      for (const failure of this.failures)
        if (Math.abs(this.x(failure.x) - x) < 8) rows.push(this.tipRow(`OOM (${failure.place})`));
      this.tip.replaceChildren(...rows);
      this.tip.hidden = false;
      const { offsetWidth: wide, offsetHeight: tall } = this.tip, full = this.figure.clientWidth;
      this.tip.style.left = `${clamp(x + (x > full / 2 ? -wide - 14 : 14), 0, full - wide)}px`;
      this.tip.style.top = `${clamp(y - tall / 2, 0, this.box.top + this.box.height - tall)}px`;
      const seen = step >= this.window.left && step <= this.window.right;
      setAll(this.cursor, { d: `M${this.x(step)} ${this.box.top}v${this.box.height}`,
                            visibility: seen ? "visible" : "hidden" });
    }

    // "allocated: 19.55 GiB (line 32)"
    valueText({ name, points, first, last }, step) {
      const index = nearest(points, step), value = number(Number(points[index][1].toFixed(3)));
      const place = index === 0 ? first : index === points.length - 1 ? last : "";
      const share = this.capacity > 0 ? `, ${number(Number((100 * points[index][1] / this.capacity).toFixed(1)))}%` : "";
      return `${name}: ${value} ${this.plot.dataset.unit}${share}${place && ` (${place})`}`;
    }

    tipRow(text, colour) {
      const row = document.createElement("p");
      if (colour !== undefined) {
        const swatch = svg("svg", { width: 10, height: 10, "aria-hidden": "true" });
        swatch.append(svg("rect", { class: `f${colour}`, width: 10, height: 10 }));
        row.append(swatch);
      }
      row.append(text);
      return row;
    }
  }

  for (const figure of document.querySelectorAll(".chart")) new Chart(figure);
})();
