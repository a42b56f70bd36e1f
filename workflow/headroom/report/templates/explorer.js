// The explorer: a slider over the heads removed, linked to the atlas and to every curve.
(() => {
  "use strict";
  const source = document.getElementById("explorer-data");
  const figure = document.getElementById("explorer");
  if (!source || !figure) return;
  const { tasks } = JSON.parse(source.textContent);
  const state = window.headroom?.state;
  const SVG = "http://www.w3.org/2000/svg";
  const draw = (parent, name, attributes) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    parent.append(made);
    return made;
  };
  const numbers = (text) => text.split(" ").map(Number);
  const along = ([start, end, first, last], value) => start + ((value - first) / (last - first)) * (end - start);
  const nearest = (counts, wanted) => counts.reduce(
    (best, count, place) => (Math.abs(count - wanted) < Math.abs(counts[best] - wanted) ? place : best), 0);

  // From the figure at four steps to the interactive form: one task is shown, with the controls below its curve.
  const blocks = [...figure.querySelectorAll(".explored")];
  for (const block of blocks) block.parentElement.closest("details")?.replaceWith(block);
  const controls = figure.querySelector(".explored-controls");
  const said = controls.querySelector(".explored-said");
  const range = controls.querySelector("input");
  const [orders, choice] = controls.querySelectorAll("select");
  const fill = (select, options) => select.replaceChildren(...options.map(([value, text]) => new Option(text, value)));
  fill(choice, tasks.map((task) => [task.task, task.name]));
  choice.parentElement.hidden = tasks.length < 2;
  controls.hidden = false;
  figure.classList.add("live");

  // Every cell gets a cross, shown while its head is removed.
  const cells = blocks.map((block) => new Map([...block.querySelectorAll(".cell")].map((cell) => {
    const [x, y, side] = ["x", "y", "width"].map((name) => +cell.querySelector("rect").getAttribute(name));
    draw(cell, "path", { class: "cross", d: `M${x + side / 2 - 3} ${y + side / 2 - 3}l6 6m0-6l-6 6` });
    const title = cell.querySelector("title");
    return [cell.dataset.head, { cell, title, text: title.textContent }];
  })));

  const panels = [...document.querySelectorAll("svg[data-explore=heads_removed]")].map((svg) => ({
    svg, x: numbers(svg.dataset.x), y: numbers(svg.dataset.y), heads: +svg.dataset.heads, own: figure.contains(svg),
    mark: draw(svg, "g", { class: "explored-mark" }),
  }));

  let task = tasks[0];
  let order = task.orders[0];
  let place = nearest(order.removed, task.start);

  const mark = (panel) => {
    const of = panel.svg.dataset.exploreTask;
    const count = (order.removed[place] / task.total) * (panel.svg.dataset.scale === "share" ? 100 : panel.heads);
    const x = along(panel.x, count);
    panel.mark.replaceChildren();
    if ((of && of !== task.task) || !Number.isFinite(x)) return;
    draw(panel.mark, "path", { d: `M${x.toFixed(1)} ${panel.y[0]}V${panel.y[1]}` });
    for (const one of panel.own ? task.orders : []) {
      const height = one.height[one.removed.indexOf(order.removed[place])];
      if (height === undefined || height === null) continue;
      const chosen = one === order;
      const dot = { cx: x.toFixed(1), cy: along(panel.y, height).toFixed(1), r: chosen ? 5 : 2 };
      draw(panel.mark, "circle", { ...dot, class: chosen ? "chosen" : "" });
    }
    const dot = panel.mark.querySelector(".chosen");
    if (dot) panel.mark.append(dot);
  };

  const show = () => {
    const block = tasks.indexOf(task);
    const count = order.removed[place];
    blocks.forEach((one, index) => { one.hidden = index !== block; });
    const isGone = (index) => (parseInt(order.gone[place][index >> 2], 16) >> (index & 3)) & 1;
    task.heads.forEach((head, index) => {
      const found = cells[block].get(head);
      if (!found) return;
      found.cell.classList.toggle("gone", Boolean(isGone(index)));
      found.title.textContent = isGone(index) ? `${found.text}; removed` : found.text;
    });
    for (const group of blocks[block].querySelectorAll("[data-order]")) {
      const chosen = group.dataset.order === order.key;
      group.classList.toggle("chosen", chosen);
      if (chosen) group.parentElement.append(group);
    }
    blocks[block].querySelector(".explored-name").textContent = order.name;
    panels.forEach(mark);
    const strong = document.createElement("strong");
    strong.textContent = `${count} of ${task.total} heads removed:`;
    said.replaceChildren(strong, ` ${order.score[place]}`);
    controls.querySelector("code").textContent = task.heads.filter((_, index) => isGone(index)).join(" ");
    range.max = order.removed.length - 1;
    range.value = place;
    range.setAttribute("aria-valuetext", `${count} of ${task.total}`);
    orders.value = order.key;
    choice.value = task.task;
  };

  const choose = (name, key, count) => {
    const known = tasks.find((one) => one.task === name) ?? task;
    const share = order.removed[place] / task.total;
    if (known !== task || !orders.length) fill(orders, known.orders.map((one) => [one.key, one.name]));
    order = known.orders.find((one) => one.key === key) ?? known.orders[0];
    place = nearest(order.removed, count ?? share * known.total);
    task = known;
    show();
  };

  // In the address: task, order and number of heads, separated by commas.
  const guarded = (text) => text.replace(/[%,]/g, encodeURIComponent);
  const restore = () => {
    const [name, key, count] = (state?.get("explore") ?? "").split(",").map((part) => {
      try { return decodeURIComponent(part); } catch { return part; }
    });
    if (name) choose(name, key, Number.isFinite(parseFloat(count)) ? parseFloat(count) : undefined);
  };
  const save = () => state?.set("explore", [task.task, order.key].map(guarded).concat(order.removed[place]).join(","));

  range.addEventListener("input", () => { place = +range.value; show(); save(); });
  orders.addEventListener("change", () => { choose(task.task, orders.value, order.removed[place]); save(); });
  choice.addEventListener("change", () => { choose(choice.value, order.key); save(); });
  choose(task.task, order.key, order.removed[place]);
  restore();
  state?.on("explore", restore);
})();
