/* The tables of the page, and the function that is looked at. */
(async () => {
  const data = await unpack("tables");
  const { functions, edits, sites, refused, strings } = data;
  const of = Array.from(functions.name, () => []);
  edits.function.forEach((owner, number) => owner >= 0 && of[owner].push(number));
  const total = (numbers) => numbers.reduce((sum, number) => sum + edits.saved[number], 0);
  const saved = of.map(total);
  const grade = (number) => edits.evidence[edits.proof[number]][0];
  const change = (at) => (functions.before[at] === null ? null : functions.after[at] - functions.before[at]);

  const passed = (name) => element("span", { class: `pass pass-${name}` }, name);
  const link = (at, text = functions.name[at]) =>
    element("a", { class: "mono", href: `#f=${functions.start[at]}` }, text);
  const place = (name) => document.querySelector(`[data-table="${name}"]`);
  const timed = functions.before.some((cycles) => cycles !== null);
  const heated = functions.heat.some((share) => share > 0);

  function functionTable() {
    const columns = [
      { label: "function", value: (at) => functions.name[at], cell: (at) => link(at), wide: true },
      { label: "address", value: (at) => functions.start[at].padStart(16, "0"), cell: (at) => functions.start[at], mono: true },
      { label: "bytes", value: (at) => functions.size[at], number: true },
      { label: "edits", value: (at) => of[at].length, number: true },
      { label: "fewer instructions", value: (at) => saved[at], number: true },
    ];
    if (timed) {
      columns.push(
        { label: "cycles before", value: (at) => functions.before[at], number: true },
        { label: "after", value: (at) => functions.after[at], number: true },
        { label: "change", value: change, cell: (at) => signed(change(at)), number: true });
    }
    if (heated) {
      columns.push({ label: "share", value: (at) => functions.heat[at], number: true,
        cell: (at) => (functions.heat[at] ? `${(100 * functions.heat[at]).toFixed(1)} %` : "") });
    }
    const first = heated ? [columns.length - 1, -1] : [4, -1];
    return new Table(place("functions"), { label: "functions", rows: functions.name.length, columns, sorted: first,
      empty: "No function was changed." });
  }

  const signed = (number) => (number === null ? "" : number > 0 ? `+${shown(number)}` : shown(number).replace("-", "−"));

  function editTable() {
    const columns = [
      { label: "pass", value: (n) => strings[edits.pass[n]], cell: (n) => passed(strings[edits.pass[n]]), choice: true },
      { label: "id", value: (n) => strings[edits.id[n]], wide: true,
        cell: (n) => (edits.function[n] < 0 ? strings[edits.id[n]] : link(edits.function[n], strings[edits.id[n]])) },
      { label: "kind", value: (n) => strings[edits.kind[n]], choice: true },
      { label: "address", value: (n) => edits.address[n].padStart(16, "0"), cell: (n) => edits.address[n], mono: true },
      { label: "saved", value: (n) => edits.saved[n], number: true },
      { label: "evidence", value: grade, choice: true,
        cell: (n) => element("span", { class: `grade grade-${grade(n)}` }, grade(n)) },
    ];
    if (edits.cycles.some((cycles) => cycles !== null)) {
      columns.splice(5, 0, { label: "cycles", value: (n) => edits.cycles[n], number: true });
    }
    return new Table(place("edits"), { label: "edits", rows: edits.id.length, columns, empty: "No edit." });
  }

  function leftTables() {
    if (place("sites")) {
      new Table(place("sites"), { label: "sites left alone", rows: sites.pass.length, page: 25, columns: [
        { label: "pass", value: (n) => strings[sites.pass[n]], cell: (n) => passed(strings[sites.pass[n]]), choice: true },
        { label: "kind", value: (n) => strings[sites.kind[n]] },
        { label: "function", value: (n) => strings[sites.function[n]], mono: true, wide: true },
        { label: "address", value: (n) => sites.address[n].padStart(16, "0"), cell: (n) => sites.address[n], mono: true },
        { label: "reason", value: (n) => strings[sites.reason[n]], wide: true },
      ] });
    }
    if (place("refused")) {
      new Table(place("refused"), { label: "functions left alone", rows: refused.length, page: 25, columns: [
        { label: "function", value: (n) => refused[n][0], mono: true, wide: true },
        { label: "address", value: (n) => refused[n][1].padStart(16, "0"), cell: (n) => refused[n][1], mono: true },
        { label: "reason", value: (n) => refused[n][2], choice: true, wide: true },
      ] });
    }
  }

  /* One edit with its evidence. */
  function card(number) {
    const [name, cases, assumes, patterns, detail] = edits.evidence[edits.proof[number]];
    const instructions = (text) => element("code", {}, text.split("; ").join("\n"));
    const facts = [
      data.grades[name] ?? "",
      cases ? `${shown(cases)} cases` : "",
      detail,
      ...assumes.map((text) => `assumes: ${text}`),
      patterns.length ? `proved patterns: ${patterns.join(", ")}` : "",
    ].filter(Boolean);
    const count = edits.saved[number];
    const gain = count > 0 ? `${shown(count)} fewer` : count < 0 ? `${shown(-count)} more` : "";
    return element("details", { class: "edit" },
      element("summary", {}, passed(strings[edits.pass[number]]), ` ${strings[edits.kind[number]]} `,
        element("span", { class: "mono soft" }, `at ${edits.address[number]} `),
        element("span", { class: "gain" }, gain), " ",
        element("span", { class: `grade grade-${name}` }, name)),
      element("div", { class: "change" },
        element("div", { class: "was" }, instructions(strings[edits.old[number]])),
        element("div", { class: "is" }, instructions(strings[edits.new[number]]))),
      element("p", { class: "soft" }, facts.join(" · ")),
      element("p", { class: "soft mono" }, strings[edits.id[number]]));
  }

  const dialog = document.getElementById("function");
  const body = document.getElementById("function-body");
  const chapters = new Map();
  let current = -1;

  async function open(at) {
    current = at;
    const chapter = Math.floor(at / data.chapter);
    if (!chapters.has(chapter)) chapters.set(chapter, unpack(`chapter-${chapter}`));
    const { x, f } = await chapters.get(chapter);
    if (at !== current) return;
    const sketch = f[at % data.chapter];
    const pairs = paired(sketch, x);
    const places = new Map();
    for (const number of of[at]) {
      const address = edits.address[number];
      places.set(address, [...(places.get(address) ?? []), strings[edits.id[number]]]);
    }
    for (const [, row] of pairs) if (row?.address && places.has(row.address)) row.edits = places.get(row.address);
    document.getElementById("function-name").textContent = functions.name[at];
    const cycles = change(at) === null ? ""
      : ` · straight stretches: ${shown(functions.before[at])} cycles before, ${shown(functions.after[at])} after`;
    document.getElementById("function-line").textContent =
      `${functions.start[at]} · ${shown(functions.size[at])} bytes · ${shown(of[at].length)} ${of[at].length === 1 ? "edit" : "edits"}${cycles}`;
    const cards = of[at].map(card);
    const many = cards.length > 6;
    const shownCards = element("div", { class: "cards" }, ...(many ? cards.slice(0, 5) : cards));
    if (many) {
      const more = element("button", { type: "button", class: "fold" }, `${cards.length - 5} more edits`);
      more.addEventListener("click", () => more.replaceWith(...cards.slice(5)));
      shownCards.append(more);
    }
    const modelled = Boolean(sketch.l.c || sketch.r.c);
    const key = element("p", { class: "soft" },
      modelled ? "Shades: what is fetched together. Cycle: when an instruction issues, from the start of its straight stretch. +n: cycles that it waited, and for what."
        : "Shades: what is fetched together. This function was not timed: others are hotter or gained more.");
    body.replaceChildren(shownCards, key, element("div", { class: "scroll" }, listing(pairs, columnsOf(sketch), matchMedia("(min-width: 1000px)").matches)));
    body.scrollTop = 0;
    document.getElementById("previous").disabled = at === 0;
    document.getElementById("next").disabled = at === functions.name.length - 1;
    if (!dialog.open) dialog.showModal();
  }

  const numbers = new Map(functions.start.map((start, at) => [start, at]));
  function follow() {
    const found = /^#f=([0-9a-f]+)$/.exec(location.hash);
    const at = found ? numbers.get(found[1]) : undefined;
    if (at !== undefined) open(at);
    else if (dialog.open) dialog.close();
  }
  const go = (step) => {
    const at = current + step;
    if (at >= 0 && at < functions.name.length) location.replace(`#f=${functions.start[at]}`);
  };
  document.getElementById("previous").addEventListener("click", () => go(-1));
  document.getElementById("next").addEventListener("click", () => go(1));
  document.getElementById("close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => {
    current = -1;
    if (location.hash.startsWith("#f=")) history.replaceState(null, "", location.pathname + location.search);
  });
  dialog.addEventListener("keydown", (event) => {
    if (event.target.closest("input, select")) return;
    if (event.key === "ArrowLeft" && event.altKey === false && event.target.id !== "function-body") go(-1);
    if (event.key === "ArrowRight" && event.altKey === false && event.target.id !== "function-body") go(1);
  });
  addEventListener("hashchange", follow);

  functionTable();
  editTable();
  leftTables();
  follow();
  document.documentElement.dataset.ready = "yes";
})();
