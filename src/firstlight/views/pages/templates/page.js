"use strict";
// What a page can do: show tooltips, sort and filter tables, copy text, switch between light and dark, stay up to date.

const ROWS_AT_A_TIME = 25; // of a table made from packed data
const NEAR = 14; // distance from a dot at which its tooltip shows, in units of the chart
const PAUSE = 2000; // milliseconds between two requests of a live page

let networks = null; // {columns: [{name, digits}], values: one list for each column}, best network first

async function unpack() {
  const holder = document.getElementById("networks");
  if (!holder || !("DecompressionStream" in window)) return null;
  const bytes = Uint8Array.from(atob(holder.textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

function element(tag, attributes = {}, text = "") {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.textContent = text;
  return made;
}

function written(value, digits) {
  if (value === null || value === undefined) return "-";
  if (digits === null) return String(value);
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

// ---- colors

function offerTheme() {
  const root = document.documentElement;
  const button = element("button", { type: "button", class: "theme" });
  const kept = (value) => {
    try { // browsers may forbid storage for files
      return value ? localStorage.setItem("theme", value) : localStorage.getItem("theme");
    } catch { return null; }
  };
  const isDark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const label = () => {
    const other = isDark() ? "Light" : "Dark";
    button.textContent = other;
    button.setAttribute("aria-label", `${other} colors`);
  };
  if (kept()) root.dataset.theme = kept() === "dark" ? "dark" : "light";
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    kept(root.dataset.theme);
    label();
  });
  label();
  document.querySelector("body > header").append(button);
}

// ---- copying

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch { // no permission: copy from a hidden text area
    const area = element("textarea", { readonly: "" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

function copyButton(text, what) {
  const button = element("button", { type: "button", class: "copy", "aria-label": `Copy ${what}` }, "Copy");
  button.addEventListener("click", async () => {
    await copy(text);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  return button;
}

function offerCopies(root) {
  for (const box of root.querySelectorAll(".copyable")) {
    box.append(copyButton(box.querySelector("pre").textContent, box.dataset.what || "text"));
  }
  for (const cell of root.querySelectorAll("td.architecture")) {
    cell.append(copyButton(cell.textContent, "architecture"));
  }
}

// ---- tooltips of charts

const tooltip = element("div", { class: "tooltip", role: "status" });
tooltip.hidden = true;
let active = null;

function textOf(mark, chart) {
  if (!("row" in mark.dataset)) return mark.dataset.tip;
  if (!networks) return "";
  const row = Number(mark.dataset.row);
  const columns = chart.dataset.columns ? chart.dataset.columns.split(" ").map(Number) : networks.columns.keys();
  const texts = [], figures = [];
  for (const number of columns) {
    const { name, digits } = networks.columns[number];
    const text = written(networks.values[number][row], digits);
    (digits === null ? texts : figures).push(digits === null ? text : `${name} ${text}`);
  }
  return `${texts.join("\n")}\n${figures.join(", ")}`;
}

function showTooltip(mark, chart, x, y) {
  const text = mark ? textOf(mark, chart) : "";
  if (active) active.classList.remove("active");
  active = text ? mark : null;
  tooltip.hidden = !text;
  if (!text) return;
  mark.classList.add("active");
  if (tooltip.textContent !== text) tooltip.textContent = text;
  const { width, height } = tooltip.getBoundingClientRect();
  const left = Math.max(8, Math.min(x + 14, innerWidth - width - 8));
  const top = y + height + 22 > innerHeight ? Math.max(8, y - height - 12) : y + 14;
  tooltip.style.transform = `translate(${left}px, ${top}px)`;
}

function offerTooltips(chart) {
  for (const title of chart.querySelectorAll("title")) { // the browser's own tooltips, for pages without scripts
    title.parentNode.dataset.tip = title.textContent;
    title.remove();
  }
  const marks = [...chart.querySelectorAll("[data-row], [data-tip]")];
  if (!marks.length) return;
  const middle = (mark, name) => Number(mark.getAttribute(name));
  const dots = marks.filter((mark) => mark.tagName === "circle").map((mark) => [middle(mark, "cx"), middle(mark, "cy"), mark]);
  const inOrder = dots.length ? dots.toSorted((a, b) => a[0] - b[0]).map((dot) => dot[2]) : marks;
  const under = (event) => {
    if (!dots.length) return event.target.closest("[data-tip]");
    const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(chart.getScreenCTM().inverse());
    let nearest = null, distance = NEAR;
    for (const [cx, cy, mark] of dots) {
      const away = Math.hypot(cx - x, cy - y);
      if (away <= distance) [nearest, distance] = [mark, away];
    }
    return nearest || event.target.closest("[data-tip]");
  };
  for (const kind of ["pointermove", "pointerdown"]) {
    chart.addEventListener(kind, (event) => showTooltip(under(event), chart, event.clientX, event.clientY));
  }
  chart.addEventListener("pointerleave", () => showTooltip(null));
  chart.addEventListener("blur", () => showTooltip(null));

  let place = -1;
  const go = (to) => {
    place = Math.max(0, Math.min(inOrder.length - 1, to));
    inOrder[place].scrollIntoView({ block: "nearest", inline: "nearest" }); // a chart may be larger than the screen
    const box = inOrder[place].getBoundingClientRect();
    showTooltip(inOrder[place], chart, box.right, box.bottom);
  };
  const steps = { ArrowRight: () => place + 1, ArrowLeft: () => place - 1, ArrowDown: () => place + 1, ArrowUp: () => place - 1, Home: () => 0, End: () => inOrder.length - 1 };
  chart.tabIndex = 0;
  chart.setAttribute("role", "application");
  chart.setAttribute("aria-roledescription", "chart");
  chart.setAttribute("aria-label", `${chart.getAttribute("aria-label")}. Use the arrow keys to move between marks.`);
  chart.addEventListener("focus", () => { if (chart.matches(":focus-visible")) go(Math.max(0, place)); });
  chart.addEventListener("keydown", (event) => {
    if (event.key === "Escape") showTooltip(null);
    else if (event.key in steps) go(steps[event.key]());
    else return;
    event.preventDefault();
  });
}

// ---- tables

function number(text) {
  const found = parseFloat(text.replaceAll(",", ""));
  return Number.isNaN(found) ? null : found;
}

function rowsOfPage(table, numeric) {
  const rows = [...table.tBodies[0].rows];
  const texts = rows.map((row) => [...row.cells].map((cell) => cell.textContent.trim()));
  return {
    count: rows.length,
    value: (row, column) => (numeric[column] ? number(texts[row][column]) : texts[row][column]),
    element: (row) => rows[row],
  };
}

function rowsOfData() {
  const { columns, values } = networks;
  return {
    count: values[0].length,
    value: (row, column) => values[column][row],
    element: (row) => {
      const made = element("tr");
      columns.forEach(({ digits }, column) => {
        const text = written(values[column][row], digits);
        const cell = element("td", { class: digits === null ? "architecture" : "number" }, digits === null ? "" : text);
        if (digits === null) cell.append(element("code", {}, text), copyButton(text, "architecture"));
        made.append(cell);
      });
      return made;
    },
  };
}

// A filter: words that a row must contain, or bounds such as params<1M
function fitting(filter, names, rows) {
  const sizes = { k: 1e3, m: 1e6, g: 1e9 };
  const tests = filter.toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
    const bound = word.match(/^(\S+?)([<>])(-?[\d.]+)([kmg]?)$/);
    const column = bound ? names.findIndex((name) => name.toLowerCase().startsWith(bound[1])) : -1;
    if (column < 0) return (row) => names.some((_, place) => String(rows.value(row, place) ?? "").toLowerCase().includes(word));
    const limit = Number(bound[3]) * (sizes[bound[4]] || 1);
    return (row) => {
      const value = rows.value(row, column);
      return typeof value === "number" && (bound[2] === "<" ? value < limit : value > limit);
    };
  });
  return (row) => tests.every((test) => test(row));
}

function offerTable(table, state) {
  const heads = [...table.tHead.rows[0].cells];
  const names = heads.map((head) => head.textContent.trim());
  const numeric = heads.map((head) => head.classList.contains("number"));
  const fromData = "networks" in table.dataset && networks;
  const rows = fromData ? rowsOfData() : rowsOfPage(table, numeric);
  const all = [...Array(rows.count).keys()];
  const page = fromData ? ROWS_AT_A_TIME : rows.count;
  state.shown ??= page;
  const caption = table.caption ? table.caption.textContent : "table";
  const input = element("input", { type: "search", "aria-label": `Filter: ${caption}`, placeholder: `Filter, such as ${table.dataset.example || "a name"}` });
  const count = element("span", { class: "soft", role: "status" });
  const more = element("button", { type: "button", class: "more" });

  function show() {
    const fits = fitting(state.filter || "", names, rows);
    const found = all.filter(fits);
    const column = state.column;
    if (column !== undefined) {
      const way = state.descending ? -1 : 1;
      found.sort((a, b) => {
        const [x, y] = [rows.value(a, column), rows.value(b, column)];
        if (x === null || y === null) return (x === null) - (y === null) || a - b; // rows without a value come last
        return way * (x < y ? -1 : x > y ? 1 : 0) || a - b;
      });
    }
    heads.forEach((head, place) => head.setAttribute("aria-sort", place === column ? (state.descending ? "descending" : "ascending") : "none"));
    table.tBodies[0].replaceChildren(...found.slice(0, state.shown).map(rows.element));
    count.textContent = state.filter ? `${found.length.toLocaleString("en-US")} of ${all.length.toLocaleString("en-US")}` : "";
    const left = found.length - state.shown;
    more.hidden = left <= 0;
    more.textContent = left > 4 * page ? `Show ${4 * page} more of ${left.toLocaleString("en-US")}` : `Show the other ${left}`;
  }

  heads.forEach((head, column) => {
    const button = element("button", { type: "button" }, names[column]);
    button.addEventListener("click", () => {
      state.descending = state.column === column ? !state.descending : numeric[column];
      state.column = column;
      show();
    });
    head.replaceChildren(button);
  });
  input.value = state.filter || "";
  input.addEventListener("input", () => { state.filter = input.value; state.shown = page; show(); });
  more.addEventListener("click", () => { state.shown += 4 * page; show(); });
  const place = table.closest(".scroll") || table;
  if (rows.count > 5) {
    const bar = element("div", { class: "filter" });
    bar.append(input, count);
    place.before(bar);
  }
  place.after(more);
  show();
}

// ---- start, and start again when a live page has changed

const states = {}; // of tables, by their position on the page

async function enliven(main) {
  try {
    networks = await unpack();
  } catch {
    networks = null;
  }
  offerCopies(main);
  main.querySelectorAll("figure svg").forEach(offerTooltips);
  main.querySelectorAll("table.sortable").forEach((table, place) => offerTable(table, (states[place] ??= {})));
  if (networks) main.querySelectorAll(".side-by-side").forEach(offerSideBySide);
  for (const box of main.querySelectorAll(".scroll")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    if (box.matches(":has(> :is(.down, .column))")) box.scrollLeft = (box.scrollWidth - box.clientWidth) / 2; // the nodes are in the middle
  }
  document.documentElement.dataset.ready = "yes";
}

async function followRun() {
  const status = document.querySelector(".live");
  let state = document.body.dataset.live;
  status.textContent = "live";
  for (;;) {
    await new Promise((done) => setTimeout(done, PAUSE));
    try {
      const answer = await fetch("/", { headers: { "If-None-Match": state }, cache: "no-store" });
      status.textContent = "live";
      if (answer.status !== 200) continue;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      state = answer.headers.get("ETag");
      document.title = page.title;
      const focused = [...document.querySelectorAll("main :is(button, input, svg, [tabindex])")].indexOf(document.activeElement);
      showTooltip(null);
      document.querySelector("main").replaceWith(page.querySelector("main"));
      await enliven(document.querySelector("main"));
      if (focused >= 0) document.querySelectorAll("main :is(button, input, svg, [tabindex])")[focused]?.focus();
    } catch {
      status.textContent = "disconnected: firstlight watch has stopped";
    }
  }
}

document.body.append(tooltip);
offerTheme();
enliven(document.querySelector("main")).then(() => { if (document.body.dataset.live) followRun(); });
