// A statement lights up the words that it cites, and words those statements. "n" and "p" go to the
// neighbours, "u" goes up. Without script a statement is a link to its message.

function light(ids) {
  for (const old of document.querySelectorAll(".lit")) old.classList.remove("lit");
  for (const id of ids) {
    for (const one of document.querySelectorAll(`.cited[data-of~="${CSS.escape(id)}"]`)) {
      one.classList.add("lit");
    }
    const statement = document.querySelector(`[data-statement="${CSS.escape(id)}"]`);
    statement?.classList.add("lit");
    for (const link of statement?.querySelectorAll(".cite") ?? []) {
      const address = link.getAttribute("href");
      if (address.startsWith("#")) document.getElementById(address.slice(1))?.classList.add("lit");
    }
  }
}

function of(target) {
  const one = target.closest?.("[data-statement], .cited");
  if (!one) return null;
  return one.dataset.statement ? [one.dataset.statement] : one.dataset.of.split(" ");
}

for (const kind of ["pointerover", "focusin"]) {
  document.addEventListener(kind, (event) => {
    const ids = of(event.target);
    if (ids) light(ids);
  });
}

document.addEventListener("click", (event) => {
  if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const link = event.target.closest("a.cite[href^='#']");
  if (!link) return;
  const message = document.getElementById(link.getAttribute("href").slice(1));
  if (!message) return;
  event.preventDefault();
  light([link.dataset.of]);
  history.replaceState(null, "", link.getAttribute("href"));
  const words = message.querySelector(".cited.lit") ?? message;
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  words.scrollIntoView({ block: "center", behavior: calm ? "auto" : "smooth" });
  message.focus({ preventScroll: true });
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.target.closest("input, textarea, select") || document.querySelector("dialog[open]")) return;
  const name = { n: "data-after", p: "data-before", u: "data-up" }[event.key];
  const link = name && document.querySelector(`[${name}]`);
  if (link) link.click();
});
