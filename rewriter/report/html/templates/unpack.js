"use strict";

/* Reads a packed part of the page: a JSON document, compressed, in base64. */
async function unpack(id) {
  const text = atob(document.getElementById(id).textContent.trim());
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/* An element with attributes and children; children that are no elements become text. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== ""));
  return made;
}

const thousands = new Intl.NumberFormat("en");
const shown = (number) => (number === null || number === undefined ? "" : thousands.format(number));

function themes(button) {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const keep = (theme) => {
    root.dataset.theme = theme;
    root.style.colorScheme = theme;
  };
  try {
    const kept = localStorage.getItem("retune-theme");
    if (kept === "dark" || kept === "light") keep(kept);
  } catch { /* pages of files may be refused to keep anything */ }
  button.addEventListener("click", () => {
    const theme = dark() ? "light" : "dark";
    keep(theme);
    try { localStorage.setItem("retune-theme", theme); } catch { /* as above */ }
  });
}

themes(document.getElementById("theme"));
