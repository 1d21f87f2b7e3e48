/* The table of files. */
(async () => {
  const files = await unpack("tables");
  const by = (name, more = {}) => ({ label: name, value: (at) => files[name][at], ...more });
  new Table(document.querySelector('[data-table="files"]'), {
    label: "files", rows: files.file.length, sorted: [4, -1], empty: "No file.", columns: [
      by("file", { mono: true, wide: true }),
      { label: "CPU", value: (at) => files.for[at], choice: true },
      by("status", { choice: true }),
      by("edits", { number: true }),
      by("saved", { number: true }),
      by("bytes", { number: true }),
      by("seconds", { number: true }),
      { label: "passes", value: (at) => files.passes[at], wide: true },
      { label: "reason", value: (at) => files.reason[at], wide: true },
    ],
  });
  document.documentElement.dataset.ready = "yes";
})();
