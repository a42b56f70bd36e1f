// For people who quote: figures as SVG, PNG and CSV; tables to sort, filter, download and copy as LaTeX or Markdown.
(() => {
  "use strict";
  const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));
  const plain = (text) => (text || "").replace(/[ \t\r\n\f]+/g, " ").replace(/^ | $/g, "");
  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, text] of Object.entries(attributes)) element.setAttribute(name, text);
    element.append(...children);
    return element;
  };

  const message = make("p", { class: "quote-message", role: "status" });
  document.body.append(message);
  let timer = 0;
  const say = (text) => {
    clearTimeout(timer);
    message.textContent = text;
    timer = setTimeout(() => { message.textContent = ""; }, 3000);
  };
  const attempt = (act) => Promise.resolve().then(act).then(say, () => say("This did not work in this browser."));

  const copied = async (text) => {
    const give = (event) => { event.clipboardData.setData("text/plain", text); event.preventDefault(); };
    if (navigator.clipboard) await navigator.clipboard.writeText(text);
    else { // a page that was not served securely
      document.addEventListener("copy", give, { once: true });
      if (!document.execCommand("copy")) throw new Error("not copied");
    }
    return "Copied.";
  };
  const saved = (content, type, name) => {
    const address = URL.createObjectURL(new Blob([content], { type }));
    make("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
    return `Saved ${name}.`;
  };

  // The CSV files of the page are packed: gzip of JSON, in base64.
  const pack = window.DecompressionStream ? document.getElementById("attachments") : null;
  let unpacked = null;
  const attachment = async (name) => {
    const bytes = () => Uint8Array.from(atob(pack.textContent.trim()), (letter) => letter.charCodeAt(0));
    const stream = () => new Blob([bytes()]).stream().pipeThrough(new DecompressionStream("gzip"));
    unpacked ??= new Response(stream()).json();
    const files = await unpacked;
    if (Object.hasOwn(files, name)) return files[name];
    throw new Error(`${name} is not in this page`);
  };

  const button = (word, meaning, act) => {
    const one = make("button", { type: "button", "aria-label": meaning }, word);
    one.addEventListener("click", () => attempt(act));
    return one;
  };
  const bar = (label, ...tools) => make("div", { class: "quote", role: "group", "aria-label": label }, ...tools);
  const word = (text) => make("span", { "aria-hidden": "true" }, text);
  const csvButton = (element, what) => {
    const name = element.dataset.csv;
    return button("CSV", `Download the CSV of ${what}`, async () => saved(await attachment(name), "text/csv", name));
  };

  // A figure is drawn again in the light colours: its labels, keys and panels in one SVG.
  const SVG = "http://www.w3.org/2000/svg";
  const draw = (tag, attributes, text = "") => {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.textContent = text;
    return element;
  };
  const light = () => {
    const rules = Array.from(document.styleSheets).flatMap((sheet) => Array.from(sheet.cssRules));
    const roots = rules.filter((rule) => rule.selectorText === ":root");
    return new Map(roots.flatMap(({ style }) => Array.from(style).filter((name) => name.startsWith("--"))
      .map((name) => [name, style.getPropertyValue(name)])));
  };
  const HANDED_DOWN = ["fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray", "visibility",
    "stroke-linecap", "stroke-linejoin", "font-size", "font-weight", "font-style", "font-variant-numeric", "text-anchor"];
  const OWN = { opacity: "1", "stop-color": "rgb(0, 0, 0)", "dominant-baseline": "auto" };

  // Returns a copy of a drawing whose styles are values: those that differ from the parent's, or were set on the element.
  const resolved = (drawing) => {
    const copy = drawing.cloneNode(true);
    const pairs = [drawing, ...all("*", drawing)].map((one, place) => [one, place ? all("*", copy)[place - 1] : copy]);
    for (const [from, to] of pairs) {
      const style = getComputedStyle(from);
      if (style.display === "none") { to.setAttribute("display", "none"); continue; }
      const above = from === drawing ? null : getComputedStyle(from.parentElement);
      const differs = (name) => above?.getPropertyValue(name) !== style.getPropertyValue(name);
      const values = HANDED_DOWN.filter((name) => differs(name) || from.style.getPropertyValue(name) || from.hasAttribute(name));
      values.push(...Object.keys(OWN).filter((name) => style.getPropertyValue(name) !== OWN[name]));
      const dropped = (name) => /^(class|tabindex|role|aria-.*|data-.*)$/.test(name) || values.includes(name);
      to.getAttributeNames().filter(dropped).forEach((name) => to.removeAttribute(name));
      for (const name of values) to.style.setProperty(name, style.getPropertyValue(name));
    }
    return copy;
  };

  // Boxes of a picture: a node with its size. They flow from left to right in lines, or are stacked.
  const [WIDEST, GAP] = [1000, 20];
  const wrapped = (...nodes) => {
    const group = draw("g", {});
    group.append(...nodes);
    return group;
  };
  const placed = (boxes, places, width, height) => {
    boxes.forEach((box, index) => box.node.setAttribute("transform", `translate(${places[index]})`));
    return { node: wrapped(...boxes.map((box) => box.node)), width, height };
  };
  const flow = (boxes, gap, limit = WIDEST, down = gap) => {
    let [x, y, width, height] = [0, 0, 0, 0];
    const places = boxes.map((box) => {
      if (x && x + box.width > limit) [x, y, height] = [0, y + height + down, 0];
      const place = [x, y];
      [width, height, x] = [Math.max(width, x + box.width), Math.max(height, box.height), x + box.width + gap];
      return place;
    });
    return placed(boxes, places, width, y + height);
  };
  const stack = (boxes, gap) => {
    let below = 0;
    const places = boxes.map((box) => [0, (below += box.height + gap) - box.height - gap]);
    return placed(boxes, places, Math.max(0, ...boxes.map((box) => box.width)), Math.max(0, below - gap));
  };
  const measure = make("canvas").getContext("2d");
  const words = (text, fill) => {
    const node = wrapped(draw("text", { y: 13, "font-size": 13, fill }, text));
    return { node, width: measure.measureText(text).width, height: 18 };
  };
  const drawn = (drawing, height) => {
    const box = drawing.viewBox.baseVal;
    const scale = height ? height / box.height : 1;
    const copy = resolved(drawing);
    const size = { width: box.width * scale, height: box.height * scale };
    for (const [name, value] of Object.entries({ ...size, y: height ? 3 : 0 })) copy.setAttribute(name, value);
    return { node: wrapped(copy), ...size };
  };
  const composed = (figure, panels) => {
    const colours = light();
    const before = figure.getAttribute("style");
    for (const [name, value] of colours) figure.style.setProperty(name, value);
    figure.style.color = colours.get("--ink");
    figure.classList.add("quoting");
    const family = getComputedStyle(figure).fontFamily;
    measure.font = `13px ${family}`;
    const [ink, soft, paper] = ["--ink", "--soft", "--paper"].map((name) => colours.get(name));
    const entry = (one) => flow([...all("svg", one).map((svg) => drawn(svg, 12)), words(plain(one.textContent), ink)], 6);
    const key = (list, limit) => flow(all("li", list).map(entry), 16, limit, 0);
    const block = (row) => {
      const found = all("svg", row).filter((one) => !one.closest(".key") && one.viewBox.baseVal?.width);
      const side = flow(found.map((one) => drawn(one)), GAP);
      const keys = all(".key", row).map((list) => key(list, Math.max(side.width, 300)));
      return stack([...all(".label", row).map((label) => words(plain(label.textContent), soft)), ...keys, side], 4);
    };
    const parts = [".row", ".panel"].map((selector) => all(selector, panels)).find((found) => found.length) ?? [panels];
    const blocks = flow(parts.map(block), GAP);
    const content = stack([...all(":scope > .key", figure).map((list) => key(list)), blocks], 10);
    figure.classList.remove("quoting");
    if (before === null) figure.removeAttribute("style");
    else figure.setAttribute("style", before);
    const size = { width: Math.ceil(content.width + 2 * GAP), height: Math.ceil(content.height + 2 * GAP) };
    const picture = draw("svg", { viewBox: `0 0 ${size.width} ${size.height}`, ...size, "font-family": family });
    content.node.setAttribute("transform", `translate(${GAP} ${GAP})`);
    picture.append(draw("title", {}, panels.getAttribute("aria-label") || plain(panels.querySelector(".label")?.textContent) || figure.id));
    picture.append(draw("rect", { ...size, fill: paper }), content.node);
    return { ...size, source: new XMLSerializer().serializeToString(picture) };
  };
  const png = async ({ source, width, height }) => {
    const picture = new Image();
    picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(source)}`;
    await picture.decode();
    const canvas = make("canvas", { width: 2 * width, height: 2 * height });
    canvas.getContext("2d").drawImage(picture, 0, 0, 2 * width, 2 * height);
    return new Promise((done, failed) => canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error("empty")))));
  };
  const pictured = (what, name, picture) => bar(`Copy or download ${what}`,
    word("Copy"),
    button("SVG", `Copy ${what} as SVG`, () => copied(picture().source)),
    word("Download"),
    button("SVG", `Download ${what} as SVG`, () => saved(picture().source, "image/svg+xml", `${name}.svg`)),
    button("PNG", `Download ${what} as PNG`, async () => saved(await png(picture()), "image/png", `${name}.png`)));
  for (const figure of all("figure[id^='figure-']")) {
    if (!figure.querySelector(".panels svg")) continue;
    const name = figure.id.slice("figure-".length);
    const tools = pictured(`figure ${name}`, name, () => composed(figure, figure.querySelector(".panels")));
    if (pack && figure.dataset.csv) tools.append(csvButton(figure, `figure ${name}`));
    const caption = figure.querySelector(":scope > figcaption");
    figure.insertBefore(tools, caption ? caption.nextSibling : null);
  }
  for (const pager of all(".pager")) { // of its maps, the one that is shown
    const shown = () => pager.querySelector("input:checked + label + .page");
    pager.append(pictured("this attention map", "attention-map", () => composed(pager, shown())));
  }

  // Copies of tables: the rows shown, in their order.
  const texts = (row) => Array.from(row.cells, (cell) => plain(cell.textContent));
  const shown = (table) => Array.from(table.tBodies[0].rows).filter((row) => !row.hidden).map(texts);
  const headings = (table) => texts(table.tHead.rows[0]);
  const numeric = (table) => Array.from(table.tHead.rows[0].cells, (cell) => cell.classList.contains("n"));
  const RAISED = "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079";
  const LATEX = {
    "\\": "\\textbackslash{}", "{": "\\{", "}": "\\}", "$": "\\$", "&": "\\&", "#": "\\#", "_": "\\_", "%": "\\%",
    "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "<": "\\textless{}", ">": "\\textgreater{}",
    "|": "\\textbar{}", '"': "\\textquotedbl{}", "`": "\\textasciigrave{}", "\u00a0": "~", "\u202f": "\\,",
    "\u2212": "$-$", "\u2013": "--", "\u2014": "---", "\u2018": "`", "\u2019": "'", "\u201c": "``", "\u201d": "\'\'",
    "\u2026": "\\ldots{}", "\u00d7": "$\\times$", "\u00b1": "$\\pm$", "\u2264": "$\\le$", "\u2265": "$\\ge$",
    "\u2192": "$\\rightarrow$", "\u03b1": "$\\alpha$", "\u03bb": "$\\lambda$", "\u221e": "$\\infty$", "\u207b": "$^{-}$",
    ...Object.fromEntries(Array.from(RAISED, (digit, value) => [digit, `$^{${value}}$`])),
  };
  const inLatex = (text) => Array.from(text, (letter) => (Object.hasOwn(LATEX, letter) ? LATEX[letter] : letter)).join("")
    .replace(/^(?=[[*])/, "{}");
  const latex = (table) => {
    const line = (cells) => `  ${cells.map(inLatex).join(" & ")} \\\\`;
    const other = /(?!\p{Script=Latin}|\p{Script=Greek})\p{L}/u.test(plain(table.textContent))
      ? "; for its scripts LuaLaTeX, babel with bidi=basic, and a font that has them" : "";
    const about = `% ${plain(table.caption?.textContent)} (needs the package booktabs${other})`;
    return [about, `\\begin{tabular}{${numeric(table).map((is) => (is ? "r" : "l")).join("")}}`,
      "  \\toprule", line(headings(table)), "  \\midrule", ...shown(table).map(line), "  \\bottomrule",
      "\\end{tabular}", ""].join("\n");
  };
  const inMarkdown = (text) => text.replace(/[\\`*_[|~]/g, "\\$&").replace(/&/g, "&amp;").replace(/</g, "&lt;");
  const markdown = (table) => {
    const line = (cells) => `| ${cells.join(" | ")} |`;
    return [line(headings(table).map(inMarkdown)), line(numeric(table).map((is) => (is ? "---:" : "---"))),
      ...shown(table).map((cells) => line(cells.map(inMarkdown))), ""].join("\n");
  };

  // Numbers in cells as they are written: signs, thousands, powers of ten, durations. NaN for other texts.
  const SECONDS = { h: 3600, min: 60, s: 1 };
  const value = (text) => {
    const bare = text.replace(/\u2212/g, "-").replace(/[\u202f\u00a0,]/g, "").replace(/^[<+]\s*/, "");
    const times = [...bare.matchAll(/([\d.]+) ?(h|min|s)\b/g)];
    if (times.length) return times.reduce((sum, part) => sum + part[1] * SECONDS[part[2]], 0);
    const power = /\u00d710(\u207b?)([\u2070\u00b9\u00b2\u00b3\u2074-\u2079]+)/.exec(bare);
    const exponent = power ? Number([...power[2]].map((digit) => RAISED.indexOf(digit)).join("")) : 0;
    return parseFloat(bare) * 10 ** (power?.[1] ? -exponent : exponent);
  };
  const compared = (first, second, isNumber) =>
    isNumber ? value(first) - value(second) : first.localeCompare(second, "en", { numeric: true });

  const [FEW, state] = [8, window.headroom?.state]; // tables of few rows need no filter
  const active = (table, index) => {
    const name = table.dataset.csv?.replace(/\.csv$/, "") || table.id || `${index + 1}`;
    const key = `table-${name}`.toLowerCase() // of letters and hyphens, as all keys of the state
      .replace(/\d/g, (digit) => "abcdefghij"[digit]).replace(/[^a-z]+/g, "-");
    const body = table.tBodies[0];
    const rows = Array.from(body.rows);
    const heads = Array.from(table.tHead.rows[0].cells);
    const what = plain(table.caption?.textContent) || name;
    const now = { column: -1, way: "", filter: "" };
    const found = make("span", { class: "quote-count", role: "status" });
    const field = make("input", { type: "search", "aria-label": `Filter the rows of ${what}`, autocomplete: "off" });
    const show = () => {
      const cell = (row) => plain(row.cells[now.column]?.textContent);
      const isNumber = heads[now.column]?.classList.contains("n");
      const last = (row) => Number(isNumber ? Number.isNaN(value(cell(row))) : !cell(row));
      const turn = now.way === "d" ? -1 : 1;
      const order = (a, b) => last(a) - last(b) || (last(a) ? 0 : turn * compared(cell(a), cell(b), isNumber));
      body.append(...(now.way ? [...rows].sort(order) : rows));
      heads.forEach((head) => head.removeAttribute("aria-sort"));
      if (now.way) heads[now.column].setAttribute("aria-sort", now.way === "d" ? "descending" : "ascending");
      const wanted = now.filter.toLowerCase().split(/\s+/);
      for (const row of rows) row.hidden = !wanted.every((part) => plain(row.textContent).toLowerCase().includes(part));
      found.textContent = now.filter ? `${rows.filter((row) => !row.hidden).length} of ${rows.length}` : "";
    };
    const written = () => (now.way ? `${now.column + 1}${now.way}` : "") + (now.filter ? `~${now.filter}` : "");
    const restore = (text) => {
      const parts = /^(?:(\d{1,3})([ad]))?(?:~([^]*))?$/.exec(text || "");
      if (!parts || written() === (text || "")) return;
      const column = parts[1] ? parts[1] - 1 : -1;
      Object.assign(now, heads[column] ? { column, way: parts[2] } : { column: -1, way: "" });
      now.filter = rows.length > FEW ? parts[3] || "" : "";
      field.value = now.filter;
      show();
      for (let one = text && table.closest("details"); one; one = one.parentElement.closest("details")) one.open = true;
    };
    const change = (values) => { Object.assign(now, values); show(); state?.set(key, written()); };
    heads.forEach((head, column) => {
      if (!plain(head.textContent)) return; // a corner without a name
      const sorter = make("button", { type: "button" });
      sorter.append(...head.childNodes);
      head.append(sorter);
      sorter.addEventListener("click", () => {
        const way = column === now.column ? { a: "d", d: "" }[now.way] ?? "a" : "a";
        change({ column: way ? column : -1, way });
      });
    });
    field.addEventListener("input", () => change({ filter: field.value.trim() }));
    const filter = rows.length <= FEW ? [] : [make("label", { class: "quote-filter" }, word("Filter "), field), found];
    const tools = bar(`Filter, copy or download ${what}`, ...filter, word("Copy"),
      button("LaTeX", `Copy the rows shown of ${what} as LaTeX`, () => copied(latex(table))),
      button("Markdown", `Copy the rows shown of ${what} as Markdown`, () => copied(markdown(table))));
    if (pack && table.dataset.csv) tools.append(word("Download"), csvButton(table, what));
    (table.closest(".scroll") || table).before(tools);
    restore(state?.get(key));
    state?.on(key, () => restore(state.get(key)));
  };
  all("table.data").filter((table) => table.tHead && table.tBodies[0]).forEach(active);

  // Texts to copy, e.g. the entries of a bibliography.
  for (const one of all("[data-copy]")) {
    const tool = button("Copy", `Copy: ${one.dataset.copy}`, () => copied(one.textContent.trim()));
    one.before(bar(one.dataset.copy, tool));
  }
})();
