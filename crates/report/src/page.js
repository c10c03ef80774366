"use strict";
(() => {
  const all = (selector, within = document) => Array.from(within.querySelectorAll(selector));
  const one = (selector) => document.querySelector(selector);
  const search = one("#search"), hits = one("#hits"), tip = one("#tip"), live = one("#live"), help = one("#help");

  // Amounts, as the tables write them.
  const bytes = (amount) => {
    const units = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    let size = Math.abs(amount), unit = 0;
    while (unit + 1 < units.length && Math.round(size * 10) >= 10240) { size /= 1024; unit += 1; }
    const text = unit ? String(Math.round(size * 10) / 10) : String(size);
    return (amount < 0 ? "-" : "") + text + units[unit];
  };
  const NAMES = {
    decimal: "CPU time", requestMilliCpu: "request", meetsRequest: "meets its request", limitedBy: "limited by",
    sizeBytes: "size", memoryBytes: "memory", swapBytes: "swap", oomKills: "OOM kills", throttledPeriods: "throttled periods",
    throttledUsec: "throttled time", capacityBytes: "capacity", availableBytes: "available", periods: "periods",
    place: "place in the order", over: "over its request", met: "crossed",
  };
  const OF_SIGNAL = ["available", "capacity", "threshold", "margin", "usage", "request", "over"];
  const shown = (name, value, mark) => {
    const of = mark.dataset.of || "";
    const isBytes = /Bytes$/.test(name) || (name.startsWith("memory.") && /^\d+$/.test(value))
      || (OF_SIGNAL.includes(name) && /evict-(memory|disk)/.test(of))
      || (["requested", "used", "allocatable", "missing"].includes(name) && /^(memory|ephemeral-storage|hugepages-)/.test(mark.dataset.resource || ""));
    if (isBytes) return bytes(Number(value));
    if (/MilliCpu$/.test(name) || (mark.dataset.resource === "cpu" && /^\d+$/.test(value))) return value + "m";
    if (/Usec$/.test(name)) return (Number(value) / 1e6).toFixed(1) + " s";
    if (name === "decimal") return Number(value).toFixed(3) + " CPUs";
    if (/[pP]ercent$/.test(name)) return value + " %";
    return value;
  };
  const words = (name) => NAMES[name] || name.replace(/[A-Z]/g, (c) => " " + c.toLowerCase());
  const describe = (mark) => {
    const lines = [];
    for (const it of [mark, ...all("[data-of]", mark)]) {
      for (const [name, value] of Object.entries(it.dataset)) {
        if (!["of", "pod", "pods", "name"].includes(name)) lines.push(words(name) + ": " + shown(name, value, it));
      }
    }
    const title = [mark.dataset.pod, mark.dataset.name].filter(Boolean).join(" ");
    if (mark.dataset.pods) lines.push("used by: " + mark.dataset.pods.split(" ").slice(0, 4).join(", "));
    return { title, lines };
  };

  // The tool tip, which also speaks for the mark that the keyboard is on.
  const show = (mark, x, y) => {
    const { title, lines } = describe(mark);
    if (!title && !lines.length) { tip.hidden = true; return; }
    const strong = document.createElement("strong");
    strong.textContent = title;
    tip.replaceChildren(strong, ...lines.map((line) => {
      const span = document.createElement("span");
      span.textContent = line;
      return span;
    }));
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 4)) + "px";
    tip.style.top = (y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 10) : y + 18) + "px";
  };
  const markOf = (target) => target.closest && target.closest(".pic [data-of], .pic [data-pod]");
  const outer = (mark) => (mark && mark.parentElement.closest(".cell[data-of]")) || mark;
  let current = null;
  const leave = () => {
    if (current) current.classList.remove("cur");
    current = null;
    tip.hidden = true;
  };
  document.addEventListener("mousemove", (event) => {
    const mark = outer(markOf(event.target));
    if (mark) show(mark, event.clientX, event.clientY); else if (!current) tip.hidden = true;
  });
  document.addEventListener("scroll", () => { if (!current) tip.hidden = true; }, { passive: true });
  document.addEventListener("click", (event) => {
    const mark = outer(markOf(event.target));
    if (mark) follow(mark);
  });
  const follow = (mark) => {
    const pod = mark.dataset.pod || (mark.dataset.pods || "").split(" ")[0] || mark.dataset.name;
    if (!pod) return;
    search.value = search.value === pod ? "" : pod;
    filter();
  };
  const marksOf = (picture) => all("[data-of], [data-pod]", picture).filter((it) => outer(it) === it);
  const middle = (mark) => {
    const box = mark.getBoundingClientRect();
    return { x: box.left + box.width / 2, y: box.top + box.height / 2, box };
  };
  const stand = (mark) => {
    leave();
    current = mark;
    mark.classList.add("cur");
    const { x, box } = middle(mark);
    show(mark, x, box.bottom - 12);
    const { title, lines } = describe(mark);
    live.textContent = [title, ...lines].join(", ");
  };
  const step = (picture, key) => {
    const marks = marksOf(picture);
    if (!marks.length) return;
    if (!current || !picture.contains(current)) { stand(marks[0]); return; }
    const here = middle(current);
    const ahead = { ArrowRight: (p) => p.x - here.x, ArrowLeft: (p) => here.x - p.x, ArrowDown: (p) => p.y - here.y, ArrowUp: (p) => here.y - p.y }[key];
    const isAcross = key === "ArrowRight" || key === "ArrowLeft";
    let best = null, least = Infinity;
    for (const mark of marks) {
      if (mark === current || mark.classList.contains("miss")) continue;
      const at = middle(mark), forward = ahead(at);
      if (forward <= 0.5) continue;
      const aside = Math.abs(isAcross ? at.y - here.y : at.x - here.x);
      const distance = forward + aside * 4;
      if (distance < least) { least = distance; best = mark; }
    }
    if (best) stand(best);
  };

  // The filter: rows are hidden, marks are dimmed.
  const rows = all("tbody tr, .chip, .probe").map((element) => ({ element, isRow: element.tagName === "TR" }));
  const marks = all(".pic [data-pod], .pic [data-pods], .pic [data-of]").filter((it) => outer(it) === it && !it.closest(".probe") && !it.matches(".used"));
  const links = all("nav a[href^='#']").map((link) => ({ link, state: link.querySelector(".state"), section: document.getElementById(link.hash.slice(1)) }));
  links.forEach((it) => { it.text = it.state ? it.state.textContent : ""; });
  const textOf = (it) => {
    if (it.text === undefined) {
      const { pod = "", pods = "" } = it.element.dataset;
      it.text = (it.element.textContent + " " + pod + " " + pods).toLowerCase();
    }
    return it.text;
  };
  const textOfMark = (mark) => [mark.dataset.pod, mark.dataset.pods, mark.dataset.name, mark.dataset.device].filter(Boolean).join(" ").toLowerCase();
  const filter = () => {
    const terms = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = (text) => terms.every((term) => text.includes(term));
    const found = new Map();
    let number = 0;
    for (const it of rows) {
      const isHit = !terms.length || matches(textOf(it));
      it.element.classList.toggle("miss", !isHit);
      if (terms.length && isHit && it.isRow) {
        number += 1;
        for (let section = it.element.closest("section[id]"); section; section = section.parentElement.closest("section[id]")) {
          found.set(section, (found.get(section) || 0) + 1);
        }
      }
    }
    for (const mark of marks) {
      const text = textOfMark(mark);
      mark.classList.toggle("miss", terms.length > 0 && text !== "" && !matches(text));
    }
    for (const { link, state, section, text } of links) {
      const count = found.get(section) || 0;
      if (state) state.textContent = terms.length ? (count === 1 ? "1 row" : count + " rows") : text;
      link.parentElement.classList.toggle("nohit", terms.length > 0 && !count);
    }
    hits.textContent = terms.length ? (number === 1 ? "1 row matches" : number + " rows match") : "";
  };
  search.addEventListener("input", filter);

  // On a narrow screen each cell stands on a line of its own, behind the heading of its column.
  for (const table of all(".rows table")) {
    const headings = all("thead th", table).map((it) => it.textContent);
    for (const row of all("tbody tr", table)) {
      Array.from(row.cells).forEach((cell, at) => { if (cell.tagName === "TD") cell.dataset.label = headings[at] || ""; });
    }
  }

  // Labels that do not fit their cells are cut, or left out.
  const labels = all(".cell > text").map((element) => ({ element, text: element.textContent, picture: element.parentElement.parentElement }));
  const fit = () => {
    const widths = new Map();
    for (const { picture } of labels) if (!widths.has(picture)) widths.set(picture, picture.getBoundingClientRect().width);
    for (const { element, text, picture } of labels) {
      const part = parseFloat(element.parentElement.getAttribute("width")) / 100;
      const room = Math.floor((part * widths.get(picture) - 12) / 7);
      const label = text.length <= room ? text : room < 3 ? "" : text.slice(0, room - 1) + "\u2026";
      if (element.textContent !== label) element.textContent = label;
    }
  };
  fit();
  let waits = false;
  addEventListener("resize", () => {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => { waits = false; fit(); });
  });

  // Sections: where the reader is, and the way from one to the next.
  const sections = all("section[id]");
  const go = (by) => {
    const visible = sections.filter((it) => it.getClientRects().length);
    const tops = visible.map((it) => it.getBoundingClientRect().top);
    const at = tops.filter((top) => top < 90).length - 1;
    const next = visible[Math.max(0, Math.min(visible.length - 1, at + by))];
    if (!next) return;
    next.scrollIntoView({ behavior: "instant" });
    const heading = next.querySelector("h2, h3");
    if (heading) heading.focus({ preventScroll: true });
  };
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const it = links.find(({ section }) => section === entry.target);
      if (it && entry.isIntersecting) {
        links.forEach(({ link }) => link.removeAttribute("aria-current"));
        it.link.setAttribute("aria-current", "true");
      }
    }
  }, { rootMargin: "-80px 0px -70% 0px" });
  sections.forEach((section) => watch.observe(section));
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let it = target; it; it = it.parentElement) if (it.tagName === "DETAILS") it.open = true;
    if (target) target.scrollIntoView({ behavior: "instant" });
  };
  addEventListener("hashchange", reveal);
  if (location.hash) reveal();

  // Light and dark: as the system has it, until the reader says otherwise.
  const theme = one("#theme");
  const THEMES = ["auto", "light", "dark"];
  theme.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme || "auto") + 1) % THEMES.length];
    if (next === "auto") delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = next;
    theme.textContent = "Theme: " + next;
  });
  one("#keys").addEventListener("click", () => help.showModal());

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    const isTyping = event.target === search;
    if (event.key === "Escape") {
      if (current) leave();
      else if (search.value) { search.value = ""; filter(); } else document.activeElement.blur();
      return;
    }
    if (isTyping) return;
    const picture = event.target.closest && event.target.closest(".pic");
    if (picture && event.key.startsWith("Arrow")) { event.preventDefault(); step(picture, event.key); return; }
    if (picture && event.key === "Enter" && current) { event.preventDefault(); follow(current); return; }
    if (event.key === "/") { event.preventDefault(); search.focus(); search.select(); }
    else if (event.key === "j") go(1);
    else if (event.key === "k") go(-1);
    else if (event.key === "?") help.showModal();
  });
  document.addEventListener("focusout", (event) => { if (current && !current.closest(".pic").contains(event.relatedTarget)) leave(); });

  // Paper has no folds.
  let folded = [];
  addEventListener("beforeprint", () => { folded = all("details:not([open])"); folded.forEach((it) => { it.open = true; }); });
  addEventListener("afterprint", () => folded.forEach((it) => { it.open = false; }));
  document.documentElement.dataset.ready = "true";
})();
