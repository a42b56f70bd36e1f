// The panel of a head: the results for a head selected in any atlas. The address names it: #head=sst2/E3:5.
(() => {
  "use strict";
  const source = document.getElementById("heads-data");
  const panel = document.getElementById("head-panel");
  if (!source || !panel) return;
  const { tasks } = JSON.parse(source.textContent);
  if (!tasks.length) return;
  const state = window.headroom?.state;
  const SVG = "http://www.w3.org/2000/svg";
  const make = (parent, name, text, attributes = {}) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    parent.append(made);
    return made;
  };

  const known = (name, head) => {
    const task = tasks.find((one) => one.task === name);
    return task && Object.hasOwn(task.heads, head) ? { task, head } : null;
  };
  const parsed = (text) => {
    const cut = text.lastIndexOf("/");
    return cut < 0 ? known(tasks[0].task, text) : known(text.slice(0, cut), text.slice(cut + 1));
  };
  const addressOf = ({ task, head }) => (task === tasks[0] ? head : `${task.task}/${head}`);
  const taskOf = (cell) => cell.closest("[data-task]")?.dataset.task ?? tasks[0].task;
  const cellsOf = ({ task, head }) => [...document.querySelectorAll(".cell[data-head]")].filter(
    (cell) => cell.dataset.head === head && taskOf(cell) === task.task);

  const table = (block, rows) => {
    const made = make(panel, "table");
    const top = make(make(made, "thead"), "tr");
    for (const text of ["", ...block.columns]) make(top, text ? "th" : "td", text, text ? { scope: "col" } : {});
    const body = make(made, "tbody");
    for (const [label, ...cells] of rows) {
      const row = make(body, "tr");
      make(row, "th", label, { scope: "row" });
      for (const cell of cells) make(row, "td", cell);
    }
  };

  // An attention map as a thumbnail, a digit per weight; it leads to the map in the page where there is one.
  const thumbnail = (parent, map, { task, head }) => {
    const figures = ["figure-maps", `figure-maps-${task.task}`].map((id) => document.getElementById(id));
    const figure = figures[task === tasks[0] ? 0 : 1];
    const link = make(parent, figure ? "a" : "span", undefined, figure ? { href: `#${figure.id}` } : {});
    const drawing = document.createElementNS(SVG, "svg");
    drawing.setAttribute("viewBox", `0 0 ${map.rows[0].length} ${map.rows.length}`);
    drawing.setAttribute("aria-hidden", "true");
    map.rows.forEach((row, y) => [...row].forEach((digit, x) => {
      if (digit === "0") return;
      const square = document.createElementNS(SVG, "path");
      square.setAttribute("d", `M${x} ${y}h1v1h-1z`);
      square.setAttribute("fill-opacity", (+digit + 1) / 10);
      square.style.fill = `var(--kind-${head[0].toLowerCase()})`;
      drawing.append(square);
    }));
    link.append(drawing);
    make(link, "span", map.about);
    link.addEventListener("click", () => figure?.querySelectorAll("input[type=radio]")[map.place - 1]?.click());
  };

  const fill = (chosen) => {
    const { task, head } = chosen;
    panel.replaceChildren();
    make(panel, "button", "Close", { class: "close", type: "button" }).addEventListener("click", () => close());
    make(panel, "h2", `Head ${head}`, { id: "head-name" });
    const [, kind, layer, place] = /^(.)(\d+):(\d+)$/.exec(head);
    const where = `Head ${place} of layer ${layer}, ${task.kinds[kind]}. `;
    make(panel, "p", where + (tasks.length > 1 ? `${task.name}, ${task.run}.` : `Of ${task.run}.`), { class: "soft" });
    task.blocks.forEach((block, index) => {
      const cells = task.heads[head][index];
      const whole = cells.length === block.rows.length;
      const rows = cells.map((row, at) => (whole ? [block.rows[at], ...row] : [block.rows[row[0]], ...row.slice(1)]));
      if (!rows.length && !block.empty) return;
      make(panel, "h3", block.title);
      if (rows.length) table(block, rows); else make(panel, "p", block.empty);
      if (rows.length && block.note) make(panel, "p", block.note, { class: "soft" });
    });
    const maps = Object.hasOwn(task.maps, head) ? task.maps[head] : [];
    if (!maps.length) return;
    make(panel, "h3", "Attention");
    const row = make(panel, "div", undefined, { class: "head-maps" });
    for (const map of maps) thumbnail(row, map, chosen);
  };

  let opener = null;
  let read = [];
  const light = (cells) => {
    for (const cell of read) cell.classList.remove("read");
    for (const cell of cells) cell.classList.add("read");
    read = cells;
  };
  const open = (chosen) => {
    if (!panel.open && !opener) opener = document.activeElement;
    fill(chosen);
    light(cellsOf(chosen));
    if (panel.open) panel.querySelector(".close").focus(); else panel.show();
    panel.scrollTop = 0;
  };
  const close = () => {
    if (!panel.open) return;
    panel.close();
    light([]);
    if (opener?.isConnected && opener !== document.body) opener.focus({ preventScroll: true });
    opener = null;
    state?.set("head", "");
  };
  const choose = (cell) => {
    const chosen = known(taskOf(cell), cell.dataset.head);
    if (!chosen) return false;
    if (cell.hasAttribute("tabindex")) opener = cell;
    panel.classList.toggle("left", cell.getBoundingClientRect().left > innerWidth / 2); // not over the atlas
    if (state) state.set("head", addressOf(chosen)); else open(chosen);
    return true;
  };

  for (const cell of document.querySelectorAll("svg.atlas .cell[data-head]")) {
    if (!known(taskOf(cell), cell.dataset.head)) continue;
    cell.setAttribute("role", "button");
    cell.setAttribute("aria-haspopup", "dialog");
  }
  document.addEventListener("click", (event) => {
    const cell = event.target.closest?.(".cell[data-head]");
    if (cell) choose(cell);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
    const cell = ["Enter", " "].includes(event.key) && event.target.closest?.(".cell[data-head]");
    if (cell && choose(cell)) event.preventDefault();
  });
  const restore = () => {
    const chosen = parsed(state?.get("head") ?? "");
    if (chosen) open(chosen); else close();
  };
  if (state?.get("head")) restore();
  state?.on("head", restore);
})();
