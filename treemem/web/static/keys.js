// The keys of all pages: "/" searches, "g" and a letter go to a page, j and k go through the items
// of a list, "?" shows the keys. Without script everything is reached by links and forms.

const dialog = document.getElementById("keys");
let afterG = 0;

function isTyping(target) {
  return target.closest("input, textarea, select, [contenteditable]") !== null;
}

// Moves to the next or the previous link of the lists.
function step(by) {
  const items = [...document.querySelectorAll("[data-item], .list > * a:first-of-type")]
    .filter((item) => item.checkVisibility());  // what is folded takes no focus
  if (!items.length) return;
  const at = items.indexOf(document.activeElement);
  const next = at < 0 ? (by > 0 ? 0 : items.length - 1) : at + by;
  items[Math.min(Math.max(next, 0), items.length - 1)].focus();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (isTyping(event.target)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (dialog.open) return;
  if (afterG && Date.now() - afterG < 1500) {
    afterG = 0;
    const link = document.querySelector(`nav a[data-key="${CSS.escape(event.key)}"]`);
    if (link) { event.preventDefault(); link.click(); }
    return;
  }
  if (event.key === "g") afterG = Date.now();
  else if (event.key === "/") {
    event.preventDefault();
    const own = document.querySelector("main input[type=search]");
    (own ?? document.querySelector("[data-find]")).focus();
  } else if (event.key === "j") step(1);
  else if (event.key === "k") step(-1);
  else if (event.key === "?") dialog.showModal();
});

const button = document.querySelector("[data-keys-open]");
button.hidden = false;
button.addEventListener("click", () => dialog.showModal());
