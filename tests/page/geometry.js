// What is wrong with the page as it is drawn: a list of sentences, empty for a page without fault. page_test.py runs this
// in the browser, at several widths.
(() => {
  const faults = [];
  const shown = (e) => e.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true });
  const name = (e) => `${e.localName}.${e.getAttribute("class") ?? ""} '${e.textContent.trim().slice(0, 40)}'`;
  const overlap = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2
                            && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;

  if (document.documentElement.scrollWidth > innerWidth) faults.push(`the page is wider than the window: ${document.documentElement.scrollWidth}`);

  // Texts of pictures lie inside of their picture and apart from each other.
  for (const picture of document.querySelectorAll("svg:not(svg svg)")) {
    const frame = picture.getBoundingClientRect(), texts = [...picture.querySelectorAll("text")].filter(shown);
    const boxes = texts.map((text) => text.getBoundingClientRect());
    texts.forEach((text, i) => {
      const box = boxes[i];
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 2 || box.bottom > frame.bottom + 2)
        faults.push(`clipped: ${name(text)}`);
      if (box.height < 10) faults.push(`too small: ${name(text)}`);
      for (let k = 0; k < i; ++k)
        if (overlap(box, boxes[k])) faults.push(`${name(text)} on ${name(texts[k])}`);
    });
  }
  for (const segment of document.querySelectorAll(".bar g")) {
    const text = [...segment.querySelectorAll("text")].find(shown), rect = segment.querySelector("rect").getBoundingClientRect();
    if (text && text.getBoundingClientRect().width > rect.width) faults.push(`wider than its part: ${name(text)}`);
  }

  // Other texts are neither cut off nor pushed out of their place.
  for (const e of document.querySelectorAll("h1, h2, h3, p, li, dd, dt, td, th, pre, summary, span, button, figcaption, .tile, .facts div")) {
    if (!shown(e) || e.closest("svg")) continue;
    if (e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== "inline") faults.push(`cut off: ${name(e)}`);
    const box = e.getBoundingClientRect();
    if (!e.closest("nav") && box.width > 0 && (box.right > innerWidth + 1 || box.left < -1)) faults.push(`out of the window: ${name(e)}`);
  }

  // No row, paragraph or box is empty.
  for (const e of document.querySelectorAll("tr, p, li, dd, pre, div:not(.tiles), figure, section, article, h1, h2, h3"))
    if (shown(e) && e.getBoundingClientRect().height > 0 && !e.textContent.trim() && !e.querySelector("svg")) faults.push(`empty: ${name(e)}`);
  for (const e of document.querySelectorAll("td"))
    if (shown(e) && innerWidth < 640 && e.getBoundingClientRect().height > 0 && !e.textContent.trim() && !e.querySelector("svg"))
      faults.push(`empty cell: ${name(e)}`);

  // Nothing covers what is there to be pressed, followed or copied.
  for (const e of document.querySelectorAll("button, a, summary, .command pre")) {
    if (!shown(e)) continue;
    e.scrollIntoView({ block: "center", inline: "nearest" });
    const box = e.getClientRects()[0];
    for (const share of [0.25, 0.5, 0.75]) {
      const top = document.elementFromPoint(box.left + share * box.width, box.top + box.height / 2);
      if (top !== e && !e.contains(top)) faults.push(`covered by ${top && name(top)}: ${name(e)}`);
    }
  }

  // Texts of pictures can be read; axe-core looks at all others.
  const levels = (colour) => colour.match(/[\d.]+/g).slice(0, 3).map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  const luminance = (colour) => levels(colour).reduce((sum, level, i) => sum + level * [0.2126, 0.7152, 0.0722][i], 0);
  const paper = getComputedStyle(document.body).backgroundColor;
  for (const text of document.querySelectorAll("svg text")) {
    if (!shown(text)) continue;
    const on = text.closest(".bar g")?.querySelector("rect");
    const [a, b] = [getComputedStyle(text).fill, on ? getComputedStyle(on).fill : paper].map(luminance).sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) faults.push(`contrast ${((a + 0.05) / (b + 0.05)).toFixed(1)}: ${name(text)}`);
  }
  scrollTo(0, 0);
  return [...new Set(faults)];
})()
