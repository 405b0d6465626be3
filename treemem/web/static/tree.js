// The icicle: arrow keys go through it, pointing tells what a block is about, "z" and a double
// click zoom. Without script every block is a link, and so is every zoom.

const SECOND_CLICK_MS = 250;
const ABOUT_DELAY_MS = 120;
const told = new Map();
let opening = 0;
let telling = 0;
let loading = null;

const part = () => document.getElementById("window");
const icicle = () => part().querySelector(".icicle");
const blocks = () => [...part().querySelectorAll(".block")];
const rowOf = (block) => Number(block.dataset.row);

function extent(block) {
  const box = block.firstElementChild;
  const left = parseFloat(box.getAttribute("x"));
  return { left, width: parseFloat(box.getAttribute("width")) };
}

// Screen readers get a tree with one stop of the tab key, instead of hundreds of links.
function enhance() {
  const svg = icicle();
  if (!svg) return;
  svg.setAttribute("role", "tree");
  for (const block of blocks()) {
    block.setAttribute("role", "treeitem");
    block.setAttribute("aria-level", String(rowOf(block) + 1));
    block.setAttribute("tabindex", rowOf(block) === 0 ? "0" : "-1");
  }
}

function go(to) {
  if (!to) return;
  for (const block of blocks()) block.setAttribute("tabindex", block === to ? "0" : "-1");
  to.focus();
}

function beside(block, by) {
  const row = blocks().filter((other) => rowOf(other) === rowOf(block));
  return row[row.indexOf(block) + by];
}

function above(block) {
  const { left, width } = extent(block);
  const middle = left + width / 2;
  return blocks().find((other) => {
    const box = extent(other);
    return rowOf(other) === rowOf(block) - 1 && box.left <= middle && middle <= box.left + box.width;
  });
}

function below(block) {
  const { left, width } = extent(block);
  return blocks().find((other) => {
    const box = extent(other);
    const middle = box.left + box.width / 2;
    return rowOf(other) === rowOf(block) + 1 && left <= middle && middle <= left + width;
  });
}

function edge(block, last) {
  const row = blocks().filter((other) => rowOf(other) === rowOf(block));
  return row[last ? row.length - 1 : 0];
}

async function fetched(address, signal) {
  const response = await fetch(address, { signal });
  if (!response.ok) throw new Error(String(response.status));
  return new DOMParser().parseFromString(await response.text(), "text/html");
}

// Grows the new window out of the place that its top had in the old one.
function animate(box) {
  if (!box || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const from = `translateX(${box.left}%) scaleX(${Math.max(box.width, 2) / 100})`;
  icicle()?.animate(
    [{ transform: from, transformOrigin: "0 0" }, { transform: "none", transformOrigin: "0 0" }],
    { duration: 180, easing: "ease-out" },
  );
}

async function show(address, { push = true, from = null, focus = false } = {}) {
  loading?.abort();
  loading = new AbortController();
  icicle()?.setAttribute("aria-busy", "true");
  let page;
  try {
    page = await fetched(address.replace(/^\/tree/, "/tree/window"), loading.signal);
  } catch (error) {
    if (error.name !== "AbortError") location.assign(address);
    return;
  }
  const before = part().querySelector(".block[data-row='0']")?.getAttribute("href");
  part().replaceWith(document.adoptNode(page.getElementById("window")));
  if (push) history.pushState(null, "", address);
  enhance();
  animate(from);
  if (!focus) return;
  const was = blocks().find((block) => block.getAttribute("href") === before);
  go(was ?? blocks()[0]);
}

function zoom(block, focus) {
  const isRun = block.classList.contains("run");
  const address = isRun ? block.getAttribute("href") : block.dataset.zoom;
  if (address) show(address, { from: extent(block), focus });
}

function zoomOut(focus) {
  const out = part().querySelector("[data-out]");
  if (out) show(out.getAttribute("href"), { focus });
}

function tell(block) {
  clearTimeout(telling);
  const node = /^\/node\/(\w+)/.exec(block.getAttribute("href"))?.[1];
  if (!node) return;
  telling = setTimeout(async () => {
    try {
      if (!told.has(node)) told.set(node, await fetched(`/tree/about?node=${node}`));
    } catch {
      return;
    }
    const about = told.get(node).getElementById("about");
    document.getElementById("about")?.replaceChildren(...about.cloneNode(true).childNodes);
  }, ABOUT_DELAY_MS);
}

document.addEventListener("click", (event) => {
  if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const link = event.target.closest("#window a");
  if (!link) return;
  if (link.dataset.window !== undefined || link.classList.contains("run")) {
    event.preventDefault();
    const from = link.classList.contains("run") ? extent(link) : null;
    show(link.getAttribute("href"), { from, focus: event.detail === 0 });
  } else if (link.classList.contains("block") && event.detail > 0) {
    // The first click of two must not leave the page.
    event.preventDefault();
    clearTimeout(opening);
    if (event.detail > 1) zoom(link, false);
    else opening = setTimeout(() => location.assign(link.getAttribute("href")), SECOND_CLICK_MS);
  }
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const block = event.target.closest?.(".block");
  if (!block) return;
  const steps = {
    ArrowUp: () => go(above(block)), ArrowDown: () => go(below(block)),
    ArrowLeft: () => go(beside(block, -1)), ArrowRight: () => go(beside(block, 1)),
    Home: () => go(edge(block, false)), End: () => go(edge(block, true)),
    z: () => zoom(block, true), u: () => zoomOut(true), Backspace: () => zoomOut(true),
  };
  if (!Object.hasOwn(steps, event.key)) return;
  event.preventDefault();
  steps[event.key]();
});

for (const kind of ["pointerover", "focusin"]) {
  document.addEventListener(kind, (event) => {
    const block = event.target.closest?.(".block");
    if (block) tell(block);
  });
}
window.addEventListener("popstate", () => show(location.pathname + location.search, { push: false }));
enhance();
// Who comes from a node begins there.
const at = part().querySelector(".block.at");
if (at) go(at);
