// What is wrong with the page as it is drawn: a list of sentences, empty for a page without fault. page_test.py runs
// this in the browser, at several widths.
(() => {
  const faults = [];
  const all = (selector, within = document) => [...within.querySelectorAll(selector)].filter(
    (e) => e.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true }));
  const boxOf = (e) => e.getBoundingClientRect();
  const name = (e) => `${e.localName}.${e.getAttribute("class") ?? ""} '${e.textContent.trim().slice(0, 40)}'`;
  const isEmpty = (e) => boxOf(e).height > 0 && !e.textContent.trim() && !e.querySelector("svg");

  const width = document.documentElement.scrollWidth;
  if (width > innerWidth) faults.push(`the page is wider than the window: ${width}`);

  // Texts of pictures are inside of their picture and apart from each other.
  const overlap = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2
                            && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
  for (const picture of all("svg:not(svg svg)")) {
    const frame = boxOf(picture), texts = all("text", picture), boxes = texts.map(boxOf);
    texts.forEach((text, i) => {
      const { left, right, top, bottom, height } = boxes[i];
      if (left < frame.left - 1 || right > frame.right + 1 || top < frame.top - 2 || bottom > frame.bottom + 2)
        faults.push(`clipped: ${name(text)}`);
      if (height < 10) faults.push(`too small: ${name(text)}`);
      texts.slice(0, i).forEach((other, k) => {
        if (overlap(boxes[i], boxes[k])) faults.push(`${name(text)} on ${name(other)}`);
      });
    });
  }
  for (const segment of all(".bar g")) {
    const [text] = all("text", segment);
    if (text && boxOf(text).width > boxOf(segment.querySelector("rect")).width)
      faults.push(`wider than its part: ${name(text)}`);
  }

  // Other texts are neither cut off nor pushed out of their place. Lines of a log scroll in their box.
  const scroller = (e) => {
    const box = e?.closest(".excerpt, .lines");
    return box && getComputedStyle(box).overflowX === "auto" ? box : null;
  };
  const boxes = "h1, h2, h3, p, li, dd, dt, td, th, pre, summary, span, button, figcaption, .tile";
  for (const e of all(`:is(${boxes}):not(svg *)`)) {
    const { left, right } = boxOf(e), inline = getComputedStyle(e).display === "inline";
    if (e.scrollWidth > e.clientWidth + 1 && !inline && !scroller(e)) faults.push(`cut off: ${name(e)}`);
    if (!e.closest("nav") && !scroller(e.parentElement) && right > left && (right > innerWidth + 1 || left < -1))
      faults.push(`out of the window: ${name(e)}`);
  }

  // No row, paragraph or box is empty; on a phone, no cell of a stacked table.
  const cells = innerWidth < 640 ? ", .stacked td" : "";
  for (const e of all(`tr, p, li, dd, pre, div, figure, section, article, h1, h2, h3${cells}`))
    if (isEmpty(e)) faults.push(`empty: ${name(e)}`);

  // Nothing covers what is there to be pressed, followed or copied.
  for (const e of all("button, a, summary, .command pre")) {
    e.scrollIntoView({ block: "center", inline: "nearest" });
    const box = e.getClientRects()[0];
    for (const share of [0.25, 0.5, 0.75]) {
      const top = document.elementFromPoint(box.left + share * box.width, box.top + box.height / 2);
      if (top !== e && !e.contains(top)) faults.push(`covered by ${top && name(top)}: ${name(e)}`);
    }
  }

  // Texts of pictures can be read; axe-core looks at all others. The formula is that of WCAG 2.
  const level = (c) => c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4;
  const luminance = (colour) => {
    const [red, green, blue] = colour.match(/[\d.]+/g).map(Number).map(level);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrastOf = (one, other) => {
    const [dark, light] = [one, other].map(luminance).sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  const paper = getComputedStyle(document.body).backgroundColor;
  for (const text of all("svg text")) {
    const part = text.closest(".bar g")?.querySelector("rect"), behind = part ? getComputedStyle(part).fill : paper;
    const contrast = contrastOf(getComputedStyle(text).fill, behind);
    if (contrast < 4.5) faults.push(`contrast ${contrast.toFixed(1)}: ${name(text)}`);
  }

  // Lines of charts can be seen, also the faint ones of other ranks: their colour, mixed with what is behind it.
  const numbers = (colour) => colour.match(/[\d.]+/g).map(Number);
  const mixed = (colour, share) => `rgb(${numbers(colour).slice(0, 3).map(
    (c, i) => share * c + (1 - share) * numbers(paper)[i])})`;
  for (const line of all(".plot path:is(.line, .faint, .fit, .mark, .limit), .tile path:not([fill-opacity]), .spark path")) {
    const style = getComputedStyle(line);
    let share = (numbers(style.stroke)[3] ?? 1) * style.strokeOpacity;
    for (let e = line; e; e = e.parentElement) share *= getComputedStyle(e).opacity;
    const contrast = contrastOf(mixed(style.stroke, share), paper);
    if (contrast < 3) faults.push(`contrast ${contrast.toFixed(2)}: line ${line.getAttribute("class")}`);
  }
  scrollTo(0, 0);
  return [...new Set(faults)];
})()
