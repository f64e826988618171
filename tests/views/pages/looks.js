// What is wrong with how a page looks, as far as a browser can tell: one line for each fault.
// "paper" is told apart from screens: nothing scrolls there.
const paper = matchMedia("print").matches;
const faults = new Set();
const width = document.documentElement.clientWidth;
const named = (it) => `<${it.tagName.toLowerCase()} class="${it.getAttribute("class") ?? ""}">${it.textContent.trim().slice(0, 40)}`;
const shown = (it) => it.checkVisibility() && it.getClientRects().length > 0;

// ---- nothing sticks out, but in boxes that scroll
for (const it of document.querySelectorAll("body *")) {
  if (!shown(it) || it.ownerSVGElement || it.matches(".tooltip")) continue;
  const { left, right } = it.getBoundingClientRect();
  if (left >= -1 && right <= width + 1) continue;
  let box = it.parentElement;
  while (box && (paper || getComputedStyle(box).overflowX === "visible")) box = box.parentElement;
  if (!box) faults.add(`sticks out: ${named(it)}`);
}
if (document.documentElement.scrollWidth > width) faults.add(`the page scrolls sideways: ${document.documentElement.scrollWidth} of ${width}`);

// ---- letters of drawings have their place to themselves
for (const svg of document.querySelectorAll("svg")) {
  if (!shown(svg)) continue;
  if (!svg.ariaHidden && !(svg.role && svg.ariaLabel)) faults.add(`a drawing without a name: ${named(svg)}`);
  const frame = svg.getBoundingClientRect();
  const upright = [...svg.querySelectorAll("text:not([transform])")].filter((it) => it.textContent.trim());
  const boxes = upright.map((it) => it.getBoundingClientRect());
  boxes.forEach((box, place) => {
    if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1) faults.add(`cut off: ${named(upright[place])}`);
    for (const [other, beside] of boxes.entries()) {
      const across = Math.min(box.right, beside.right) - Math.max(box.left, beside.left);
      const down = Math.min(box.bottom, beside.bottom) - Math.max(box.top, beside.top);
      if (other > place && across > 2 && down > 4) faults.add(`one on the other: ${named(upright[place])}, ${named(upright[other])}`);
    }
  });
}

// ---- text stands out from what is behind it
const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const seen = {};
const colour = (text) => (seen[text] ??= (() => {
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = text;
  canvas.fillRect(0, 0, 1, 1);
  const [red, green, blue, share] = canvas.getImageData(0, 0, 1, 1).data;
  return { parts: [red, green, blue], share: share / 255 };
})());
const laid = ({ parts, share }, base, opacity = 1) => base.map((part, place) => parts[place] * share * opacity + part * (1 - share * opacity));
const light = (parts) => parts.map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)).reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place], 0);
function behind(it) {
  const layers = [];
  for (let box = it; box; box = box.parentElement) layers.unshift(colour(getComputedStyle(box).backgroundColor));
  let base = layers.reduce((below, layer) => laid(layer, below), [255, 255, 255]);
  if (!it.ownerSVGElement) return base;
  const { left, right, top, bottom } = it.getBoundingClientRect();
  for (const shape of it.ownerSVGElement.querySelectorAll("rect")) {
    const box = shape.getBoundingClientRect(), { fill, fillOpacity } = getComputedStyle(shape);
    const under = box.left < (left + right) / 2 && (left + right) / 2 < box.right && box.top < (top + bottom) / 2 && (top + bottom) / 2 < box.bottom;
    const earlier = shape.compareDocumentPosition(it) & Node.DOCUMENT_POSITION_FOLLOWING;
    if (under && earlier && fill !== "none") base = laid(colour(fill), base, Number(fillOpacity));
  }
  return base;
}
for (const it of document.querySelectorAll("body *")) {
  const own = [...it.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim());
  if (!own || !shown(it)) continue;
  const style = getComputedStyle(it), base = behind(it);
  const lights = [light(base), light(laid(colour(it.ownerSVGElement ? style.fill : style.color), base))].sort((a, b) => b - a);
  const contrast = (lights[0] + 0.05) / (lights[1] + 0.05);
  if (contrast < 4.5) faults.add(`contrast ${contrast.toFixed(2)}: ${named(it)}`);
}

// ---- there is something in everything
for (const it of document.querySelectorAll("main :is(p, li, dd, figure, figcaption, caption)")) {
  if (!it.textContent.trim() && !it.querySelector("svg")) faults.add(`empty: ${named(it)}`);
}
for (const head of document.querySelectorAll("h2, h3")) {
  const next = head.nextElementSibling;
  if (!next || (/^H\d$/.test(next.tagName) && next.tagName <= head.tagName)) faults.add(`nothing below: ${named(head)}`);
}
for (const it of document.querySelectorAll("button, input")) {
  if (shown(it) && !paper && it.getBoundingClientRect().height < 24) faults.add(`too low for a finger: ${named(it)}`);
}
return [...faults];
