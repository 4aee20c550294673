// Text in pictures, which axe does not judge: the contrast of every <text> with what is painted under it.
// Returns [{text, contrast, wanted, where}] of those below WCAG AA. Run in a window that is tall and wide enough for any
// picture, because only what lies inside the window can be hit.
() => {
  const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const ratio = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  const colour = (text) => {
    const parts = (text.match(/[\d.]+/g) || []).map(Number);
    return text.startsWith("rgb") ? [...parts.slice(0, 3), parts.length > 3 ? parts[3] : 1] : null;
  };
  const over = (top, alpha, below) => below.map((c, i) => alpha * top[i] + (1 - alpha) * c);
  const page = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const found = colour(getComputedStyle(e).backgroundColor);
      if (found && found[3] === 1) return found.slice(0, 3);
    }
    return colour(getComputedStyle(document.body).backgroundColor).slice(0, 3);
  };
  const opacity = (element, svg) => {
    let all = 1;
    for (let e = element; e && e !== svg; e = e.parentElement) all *= +getComputedStyle(e).opacity;
    return all;
  };
  const painted = (shape, x, y) => {
    if (!shape.isPointInFill) return shape.localName === "use"; // a <use> that was hit is filled where it was hit
    const point = new DOMPoint(x, y).matrixTransform(shape.getScreenCTM().inverse());
    return shape.isPointInFill(point);
  };

  const low = [];
  let count = 0;
  for (const svg of document.querySelectorAll("svg[role=img]")) {
    if (!svg.getClientRects().length) continue;
    svg.scrollIntoView({ block: "center", inline: "start", behavior: "instant" });
    const ground = page(svg);
    for (const text of svg.querySelectorAll("text")) {
      const words = text.textContent.trim();
      const box = text.getBoundingClientRect();
      if (!words || !box.width) continue;
      const style = getComputedStyle(text);
      if (!opacity(text, svg) || style.visibility !== "visible") continue; // not shown at present
      count += 1;
      const size = parseFloat(style.fontSize) * Math.hypot(svg.getScreenCTM().a, svg.getScreenCTM().b);
      const wanted = size >= 24 || (size >= 18.66 && +style.fontWeight >= 700) ? 3 : 4.5;
      const ink = colour(style.fill);
      let worst = Infinity;
      for (const part of [0.25, 0.5, 0.75]) {
        const [x, y] = [box.left + part * box.width, box.top + box.height / 2];
        const stack = document.elementsFromPoint(x, y);
        const from = stack.indexOf(text) >= 0 ? stack.indexOf(text) + 1 : 0;
        let below = ground;
        for (const shape of stack.slice(from).filter((e) => svg.contains(e) && e !== svg).reverse()) {
          const look = getComputedStyle(shape);
          const fill = colour(look.fill);
          if (shape.closest("text") || !fill || !painted(shape, x, y)) continue;
          below = over(fill, fill[3] * +look.fillOpacity * opacity(shape, svg), below);
        }
        const drawn = over(ink, ink[3] * +style.fillOpacity * opacity(text, svg), below);
        worst = Math.min(worst, ratio(drawn, below));
      }
      if (worst < wanted - 0.005) {
        low.push({ text: words, contrast: +worst.toFixed(2), wanted, where: svg.getAttribute("aria-label").slice(0, 70) });
      }
    }
  }
  return { count, low };
};
