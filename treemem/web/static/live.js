// Says that the memory has changed since the page was made, and shows it when it is asked to.
// Only a page that is seen listens: browsers open few connections to one server.

const news = document.getElementById("news");
const REFRESH_MS = 2000;
let stream = null;
let shown = null; // the marks that the page shows
let timer = 0;

function listen() {
  if (stream || document.hidden) return;
  stream = new EventSource("/events");
  stream.addEventListener("changed", (event) => hear(JSON.parse(event.data)));
}

function leave() {
  stream?.close();
  stream = null;
}

function hear(marks) {
  const since = shown ?? (shown = { ...marks });
  const added = marks.messages - since.messages;
  if (added > 0) tell(added, marks);
  if (marks.version === since.version || !document.querySelector("[data-live]")) return;
  since.version = marks.version;
  clearTimeout(timer);
  timer = setTimeout(() => refresh("[data-live=now]"), REFRESH_MS);
}

function tell(added, marks) {
  const link = document.createElement("a");
  link.href = location.href;
  link.textContent = "show";
  link.addEventListener("click", async (event) => {
    if (!document.querySelector("[data-live]")) return; // the link loads the page anew
    event.preventDefault();
    await refresh("[data-live]");
    shown = { ...marks };
    news.replaceChildren();
    document.getElementById("main").focus({ preventScroll: true });
  });
  const words = added === 1 ? "1 message" : `${added.toLocaleString("en")} messages`;
  news.replaceChildren(`New: ${words} – `, link);
}

// Replaces the parts of the page by those that the server makes now, except the one that is used.
async function refresh(parts) {
  const answer = await fetch(location.href).catch(() => null);
  if (!answer?.ok) return;
  const made = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of document.querySelectorAll(parts)) {
    const other = made.getElementById(part.id);
    if (!other || part.innerHTML === other.innerHTML) continue;
    if (part.contains(document.activeElement)) continue;
    part.replaceChildren(...other.childNodes);
  }
}

document.addEventListener("visibilitychange", () => (document.hidden ? leave() : listen()));
addEventListener("pagehide", leave);
addEventListener("pageshow", listen);
listen();
