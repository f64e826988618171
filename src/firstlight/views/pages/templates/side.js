"use strict";
// Two networks of a page side by side: their ranks are entered, or chosen by a click in a chart or table.

function offerSideBySide(holder) {
  const { columns, values } = networks;
  const count = values[0].length;
  const ranks = [1, 2].map((rank, place) => element("input", {
    type: "number", min: 1, max: count, value: Math.min(rank, count), "aria-label": `Row of the ${place ? "second" : "first"} network`,
  }));
  const table = element("table");
  table.append(element("caption", {}, "Two networks, by their place in the table above"), element("thead"), element("tbody"));
  const box = element("div", { class: "scroll" });
  box.append(table);

  function show() {
    const rows = ranks.map((input) => Math.min(count, Math.max(1, Math.round(Number(input.value)) || 1)) - 1);
    const head = element("tr");
    for (const text of ["", ...rows.map((row) => `network ${row + 1}`), "difference"]) head.append(element("th", { scope: "col", class: text ? "number" : "" }, text));
    table.tHead.replaceChildren(head);
    table.tBodies[0].replaceChildren(...columns.map(({ name, digits }, column) => {
      const line = element("tr"), [one, other] = rows.map((row) => values[column][row]);
      line.append(element("th", { scope: "row" }, name));
      for (const value of [one, other]) {
        const cell = element("td", { class: digits === null ? "text" : "number" });
        cell.append(digits === null ? element("code", {}, written(value, digits)) : written(value, digits));
        line.append(cell);
      }
      const known = digits !== null && typeof one === "number" && typeof other === "number" && name !== "rank";
      const sign = known && other > one ? "+" : "";
      line.append(element("td", { class: "number" }, known ? sign + written(other - one, digits) : ""));
      return line;
    }));
  }

  for (const input of ranks) input.addEventListener("input", show);
  const bar = element("div", { class: "filter" });
  bar.append("Network ", ranks[0], " and network ", ranks[1]);
  holder.append(bar, box);
  holder.hidden = false;
  show();
}
