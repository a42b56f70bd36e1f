// Additions for readers with JavaScript; the page is complete without it.
(() => {
  "use strict";
  const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));

  // A hovered or focused head lights up in every atlas of its task; the figure's readout has its value there.
  const cells = new Map();
  const keyOf = (cell) => `${cell.closest("[data-task]")?.dataset.task ?? ""} ${cell.dataset.head}`;
  for (const cell of all(".cell[data-head]")) {
    const head = keyOf(cell);
    if (!cells.has(head)) cells.set(head, []);
    cells.get(head).push(cell);
  }
  let lit = "";
  const light = (head) => {
    if (head === lit) return;
    for (const cell of cells.get(lit) || []) cell.classList.remove("lit");
    for (const cell of cells.get(head) || []) cell.classList.add("lit");
    lit = head;
  };
  const describe = (cell) => {
    const readout = cell.closest("figure")?.querySelector(".readout");
    const title = cell.querySelector("title");
    if (!readout || !title) return;
    const label = cell.closest(".row")?.querySelector(".label")?.textContent;
    readout.hidden = false;
    readout.textContent = (label ? label + ". " : "") + title.textContent;
  };
  document.addEventListener("mouseover", (event) => {
    const cell = event.target.closest?.(".cell[data-head]");
    light(cell ? keyOf(cell) : "");
    if (cell) describe(cell);
  });
  document.addEventListener("focusout", () => light(""));

  // One tab stop per atlas; the arrow keys move from head to head.
  const named = (head) => /^([EAD])(\d+):(\d+)$/.exec(head);
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  for (const atlas of all("svg.atlas")) {
    all(".cell", atlas).forEach((cell, index) => cell.setAttribute("tabindex", index ? "-1" : "0"));
    atlas.addEventListener("focusin", (event) => {
      const cell = event.target.closest(".cell");
      if (cell) { light(keyOf(cell)); describe(cell); }
    });
    atlas.addEventListener("keydown", (event) => {
      const step = steps[event.key];
      const name = step && named(event.target.closest(".cell")?.dataset.head || "");
      if (!name) return;
      const head = `${name[1]}${+name[2] + step[0]}:${+name[3] + step[1]}`;
      const next = atlas.querySelector(`.cell[data-head="${head}"]`);
      if (!next) return;
      event.preventDefault();
      event.target.closest(".cell").setAttribute("tabindex", "-1");
      next.setAttribute("tabindex", "0");
      next.focus();
    });
  }

  // The links below an attention map turn pages without moving the view to the numbers above it.
  for (const link of all(".turn label")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      document.getElementById(link.htmlFor).checked = true;
    });
  }

  // What an address points to is unfolded, with all that it is folded in.
  const reveal = () => {
    let name = location.hash.slice(1).split("&")[0];
    try { name = decodeURIComponent(name); } catch { /* not an anchor of this page */ }
    const target = name && document.getElementById(name);
    if (!target) return;
    for (let one = target; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
    target.scrollIntoView();
  };
  window.addEventListener("hashchange", reveal);
  reveal();

  // Letters that no font here has are all drawn as the same box, that of a code point without a letter: they are named.
  const main = document.querySelector("main");
  const canvas = Object.assign(document.createElement("canvas"), { width: 40, height: 40 });
  const paint = canvas.getContext("2d", { willReadFrequently: true });
  const picture = (letter) => {
    paint.clearRect(0, 0, 40, 40);
    paint.font = `20px ${getComputedStyle(document.body).fontFamily}`;
    paint.fillText(letter, 5, 28);
    return paint.getImageData(0, 0, 40, 40).data.join();
  };
  const box = picture("\u{10ffff}");
  const letters = [...new Set(main.textContent)].filter((letter) => /[^\0-\u02ff\s\p{M}\p{Cf}]/u.test(letter));
  const lacking = letters.filter((letter) => picture(letter) === box);
  if (lacking.length && box !== picture(" ")) {
    const codes = lacking.slice(0, 8).map((letter) => `U+${letter.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`);
    const more = lacking.length > 8 ? ` and ${lacking.length - 8} more` : "";
    main.prepend(Object.assign(document.createElement("p"), {
      className: "missing", textContent: `No font of this machine has ${codes.join(", ")}${more}: a box stands for each.`,
    }));
  }

  // Escape closes the text of a claim on the board, until the pointer or the focus moves.
  const board = document.getElementById("board");
  document.addEventListener("keydown", (event) => board?.classList.toggle("closed", event.key === "Escape"));
  for (const move of ["mouseover", "focusin"]) board?.addEventListener(move, () => board.classList.remove("closed"));

  // The contents mark the section being read.
  const links = new Map(all("nav a").map((link) => [link.getAttribute("href").slice(1), link]));
  if ("IntersectionObserver" in window) {
    const observer = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        for (const link of links.values()) link.removeAttribute("aria-current");
        links.get(entry.target.id)?.setAttribute("aria-current", "true");
      }
    }, { rootMargin: "-10% 0px -80% 0px" });
    for (const section of all("main > section")) observer.observe(section);
  }
})();
