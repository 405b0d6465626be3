// Searches as you type. One question is asked at a time, and of those that wait the last one only,
// so that no stale answer is shown and a slow one does not pile up others.

const PAUSE_MS = 160;
const form = document.getElementById("search");
const input = form.elements.q;
const answer = document.getElementById("answer");
const found = document.getElementById("found");
let timer = 0;
let asked = address();
let isAsking = false;

// The part of the address that stands for what is in the form.
function address() {
  const values = new URLSearchParams();
  for (const [name, value] of new FormData(form)) {
    if (value.trim() && !(name === "sort" && value === "score")) values.append(name, value.trim());
  }
  return values.toString();
}

async function ask() {
  clearTimeout(timer);
  const wanted = address();
  if (isAsking || wanted === asked) return;
  isAsking = true;
  asked = wanted;
  history.replaceState(null, "", wanted ? `/search?${wanted}` : "/search");
  document.title = `${input.value.trim().slice(0, 60) || "Search"} – treemem`;
  answer.setAttribute("aria-busy", "true");
  try {
    const response = await fetch(`/search/answer?${wanted}`);
    if (!response.ok) throw new Error(response.statusText);
    const text = await response.text();
    // What was typed meanwhile makes this answer a stale one.
    if (address() === wanted) show(new DOMParser().parseFromString(text, "text/html"));
  } catch {
    found.textContent = "The server did not answer. Is treemem serve still running?";
    answer.replaceChildren(Object.assign(document.createElement("p"), {
      className: "notice", textContent: found.textContent,
    }));
  }
  isAsking = false;
  answer.removeAttribute("aria-busy");
  if (address() !== asked) ask();
}

function show(page) {
  answer.replaceChildren(...page.body.childNodes);
  found.textContent = answer.querySelector("[data-found]")?.dataset.found
    ?? answer.querySelector(".notice")?.textContent ?? "";
}

function askSoon(event) {
  if (event.isComposing) return;
  clearTimeout(timer);
  timer = setTimeout(ask, PAUSE_MS);
}

form.addEventListener("input", askSoon);
form.addEventListener("compositionend", askSoon);
form.addEventListener("change", ask);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
});
input.addEventListener("keydown", (event) => {
  if (event.key !== "ArrowDown" || event.isComposing) return;
  const first = answer.querySelector("[data-item]");
  if (first) { event.preventDefault(); first.focus(); }
});
