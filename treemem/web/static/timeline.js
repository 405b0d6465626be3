// The arrow keys go to the previous and the next month or day.

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  if (event.target.closest("input, textarea, select, dialog, [contenteditable]")) return;
  const rel = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
  if (rel) document.querySelector(`main a[rel=${rel}]`)?.click();
});
