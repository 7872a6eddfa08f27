// What scripts add to a page that is complete without them: buttons that copy a setting, and charts to zoom into. Text
// that comes from the log is only ever set as text.
"use strict";
(() => {
  const plots = JSON.parse(document.getElementById("plots").textContent);
  const named = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

  for (const pre of document.querySelectorAll(".setting pre")) {
    const button = document.createElement("button");
    button.className = "copy";
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(pre.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(pre);  // no clipboard here: one key is left to press
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    pre.after(button);
  }

  if (typeof uPlot !== "function") return;

  const short = (value) => String(Math.round(value * 1e4) / 1e4);

  // A line of one colour across the picture, with its words.
  function stroke(u, colour, dash, x0, y0, x1, y1) {
    u.ctx.strokeStyle = colour;
    u.ctx.lineWidth = 1.5 * devicePixelRatio;
    u.ctx.setLineDash(dash.map((d) => d * devicePixelRatio));
    u.ctx.beginPath();
    u.ctx.moveTo(x0, y0);
    u.ctx.lineTo(x1, y1);
    u.ctx.stroke();
    u.ctx.setLineDash([]);
  }
  function write(u, colour, text, x, y) {
    const gap = 6 * devicePixelRatio, left = x > u.bbox.left + u.bbox.width / 2;
    u.ctx.fillStyle = colour;
    u.ctx.font = 12 * devicePixelRatio + "px system-ui, sans-serif";
    u.ctx.textAlign = left ? "right" : "left";
    u.ctx.textBaseline = "alphabetic";
    u.ctx.fillText(text, x + (left ? -gap : gap), y);
  }

  // Draws inside of the axes only.
  function inside(u, draw) {
    const { left, top, width, height } = u.bbox;
    u.ctx.save();
    u.ctx.beginPath();
    u.ctx.rect(left, top, width, height);
    u.ctx.clip();
    draw(left, top, width, height, devicePixelRatio);
    u.ctx.restore();
  }

  // Capacity, the forecast's interval on it, failures and onsets, as in the static picture.
  const drawMarks = (u, plot) => inside(u, (left, top, width, height, ratio) => {
    if (plot.capacity) {
      const y = u.valToPos(plot.capacity.value, "y", true);
      stroke(u, named("bad"), [], left, y, left + width, y);
      write(u, named("bad"), plot.capacity.text, left, y - 6 * ratio);
      if (plot.forecast) {
        const at = (step) => u.valToPos(step, "x", true), low = at(plot.forecast.low), high = at(plot.forecast.high);
        stroke(u, named("ink"), [], low, y, high, y);
        for (const x of [low, high]) stroke(u, named("ink"), [], x, y - 5 * ratio, x, y + 5 * ratio);
        u.ctx.fillStyle = named("ink");
        u.ctx.beginPath();
        u.ctx.arc(at(plot.forecast.step), y, 4 * ratio, 0, 7);
        u.ctx.fill();
      }
    }
    let row = 0;
    plot.marks.forEach((mark) => {
      const x = u.valToPos(mark.x, "x", true), colour = named(mark.failure ? "bad" : "muted");
      stroke(u, colour, mark.failure ? [] : [2, 3], x, top, x, top + height);
      if (mark.text) write(u, colour, mark.text, x, top + height - (8 + 15 * row++) * ratio);
    });
  });

  // Stages that are not work, behind everything else; named where the name has room.
  const drawStages = (u, plot) => inside(u, (left, top, width, height, ratio) => {
    u.ctx.font = 12 * ratio + "px system-ui, sans-serif";
    u.ctx.textAlign = "center";
    for (const stage of plot.bands || []) {
      const from = u.valToPos(stage.left, "x", true), to = Math.max(u.valToPos(stage.right, "x", true), from + ratio);
      u.ctx.fillStyle = named("faint") + "22";
      u.ctx.fillRect(from, top, to - from, height);
      u.ctx.fillStyle = named("muted");
      if (u.ctx.measureText(stage.name).width + 8 * ratio < to - from)
        u.ctx.fillText(stage.name, (from + to) / 2, top + height / 2);
    }
  });

  function optionsFor(plot, width) {
    const value = (u, v) => v == null ? "" : short(v) + " " + plot.unit;
    const axis = { stroke: named("muted"), font: "12px system-ui, sans-serif", values: (u, ticks) => ticks.map(short),
                   grid: { stroke: named("rule"), width: 1 }, ticks: { stroke: named("rule"), width: 1 } };
    const steps = [];
    for (let power = -4; power < 13; ++power) for (const digit of [1, 2, 5]) steps.push(Number(digit + "e" + power));
    const series = [{ label: plot.xName, value: (u, v) => v == null ? "" : short(v) }];
    for (const line of plot.lines)
      series.push({ label: line.name, value, stroke: named(line.faint ? "faint" : "c" + line.colour),
                    width: line.faint ? 1 : 2, alpha: line.faint ? 0.5 : 1, class: line.faint ? "quiet" : null,
                    points: { show: line.faint ? false : undefined } });
    const bands = [];
    if (plot.curve) {
      const first = series.length;
      series.push({ label: "fit", value, stroke: named("ink"), width: 1.2, dash: [5, 4], points: { show: false } });
      for (const label of ["high", "low"]) series.push({ label, class: "quiet", points: { show: false } });
      const colour = named("c" + plot.lines[plot.lines.length - 1].colour);
      bands.push({ series: [first + 1, first + 2], fill: colour + "2e" });
    }
    return {
      width, height: Math.max(240, Math.min(340, width * 0.5)), series, bands,
      scales: {
        x: { time: false, range: (u, min, max) => {
          const steps = u.data[0];  // uPlot asks with their range when all is to be seen
          u.zoomed = min > steps[0] || max < steps[steps.length - 1];
          return u.zoomed ? [min, max] : [plot.left, plot.right];
        } },
        y: { range: (u, min, max) => {
          if (!u.zoomed || min == null) return [plot.bottom, plot.top];
          const pad = Math.max(0.08 * (max - min), 1e-3 * Math.abs(max));
          return [min - pad, max + pad];
        } },
      },
      axes: [{ ...axis, space: 90, incrs: steps.filter((s) => s >= 1 || plot.xName === "second"), grid: { show: false } },
             { ...axis, space: 48, size: 56, incrs: steps, label: plot.unit, labelSize: 18, labelFont: axis.font }],
      cursor: { drag: { x: true, y: false }, points: { size: 7 } },
      hooks: { drawClear: [(u) => drawStages(u, plot)], draw: [(u) => drawMarks(u, plot)] },
    };
  }

  function tableOf(plot) {
    const tables = plot.lines.map((line) => [line.x, line.y]);
    if (plot.curve) for (const key of ["y", "high", "low"]) tables.push([plot.curve.x, plot.curve[key]]);
    return uPlot.join(tables, tables.map((table) => table.map(() => 0)));
  }

  document.querySelectorAll(".chart").forEach((figure, index) => {
    const plot = plots[index], data = tableOf(plot), still = figure.querySelector("svg");
    const hint = document.createElement("p");
    hint.className = "hint";
    hint.textContent = "Drag to zoom, double-click to see all; click a name to hide its line.";
    let chart;
    const draw = () => {
      if (chart) chart.destroy();
      chart = new uPlot(optionsFor(plot, figure.clientWidth), data, figure);
      figure.append(hint);
    };
    still.setAttribute("hidden", "");  // kept for the printer
    draw();
    new ResizeObserver(() => {
      if (Math.abs(chart.width - figure.clientWidth) > 1) draw();
    }).observe(figure);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  });
})();
