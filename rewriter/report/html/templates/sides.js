/* A function before and after, drawn from the columns that rewriter/report/html/sides.py describes. */

const PART = 250; // rows, or runs of rows, that are drawn at once
const NEAR = 4; // rows that are shown beside a change when only changes are

/* The rows of one side; a text that is not there is given later. */
function side(columns, strings) {
  const base = BigInt(`0x${columns.a}`);
  const block = BigInt(document.getElementById("tables").dataset.block);
  const rows = [];
  let offset = 0;
  for (let at = 0; at < columns.x.length; at++) {
    if (at) offset += typeof columns.d === "number" ? columns.d : columns.d[at - 1];
    const address = base + BigInt(offset);
    rows.push({
      address: address.toString(16),
      odd: (address / block) % 2n === 1n,
      starts: address % block === 0n,
      text: strings[columns.x[at]],
      slot: columns.s ? columns.s[at].trim() : "",
      pipe: columns.p ? strings[columns.p[at]] : "",
      cycle: columns.c && columns.c[at] >= 0 ? columns.c[at] : "",
    });
  }
  const waits = columns.w ?? [];
  for (let at = 0; at < waits.length; at += 3) {
    rows[waits[at]].waits = waits[at + 1];
    rows[waits[at]].cause = strings[waits[at + 2]];
  }
  const starts = columns.k ?? [];
  for (let at = 0; at < starts.length; at += 2) rows[starts[at]].stretch = starts[at + 1];
  return rows;
}

/* Pairs of rows, null where a side has none, with a mark: "=" the same, "~" changed. */
function paired(sketch, strings) {
  const [old, fresh] = [side(sketch.l, strings), side(sketch.r, strings)];
  const pairs = [];
  let [left, right, gone, come] = [0, 0, 0, 0];
  const flush = () => {
    for (; gone || come; gone = Math.max(0, gone - 1), come = Math.max(0, come - 1)) {
      pairs.push(["~", gone ? old[left++] : null, come ? fresh[right++] : null]);
    }
  };
  for (const [, mark, count] of sketch.o.matchAll(/([=+.-])(\d+)/g)) {
    if (mark === "-") gone += +count;
    else if (mark === "+") come += +count;
    else {
      flush();
      if (mark === ".") { pairs.push([".", +count]); continue; }
      for (let at = 0; at < +count; at++) {
        fresh[right].text ??= old[left].text;
        pairs.push(["=", old[left++], fresh[right++]]);
      }
    }
  }
  flush();
  return pairs;
}

/* Rows in the order in which they are shown: pairs, and [“…”, pairs] for what is folded away. */
function folded(pairs) {
  const near = new Uint8Array(pairs.length);
  pairs.forEach(([mark, row], at) => {
    if (mark === "~" || (mark === "=" && row?.edits)) near.fill(1, Math.max(0, at - NEAR), at + NEAR + 1);
  });
  const found = [];
  for (let at = 0; at < pairs.length; ) {
    let end = at;
    while (end < pairs.length && !near[end] && pairs[end][0] !== ".") end++;
    if (end - at > 3) found.push(["…", pairs.slice(at, end)]);
    else found.push(...pairs.slice(at, end));
    at = end;
    if (at < pairs.length && pairs[at][0] === ".") found.push(pairs[at++]);
    while (at < pairs.length && near[at]) found.push(pairs[at++]);
  }
  return found;
}

/* Changed pairs that follow each other as ["≠", what went, what came]. */
function stacked(items) {
  const found = [];
  for (const item of items) {
    if (item[0] !== "~") { found.push(item); continue; }
    if (found.at(-1)?.[0] !== "≠") found.push(["≠", [], []]);
    if (item[1]) found.at(-1)[1].push(item[1]);
    if (item[2]) found.at(-1)[2].push(item[2]);
  }
  return found;
}

const HEADS = [["address", "a"], ["slot", "s"], ["pipe", "p"], ["cycle", "c"], ["instruction", "t"], ["waits", "w"]];

/* Which columns there are: slots only where a machine has them, pipes and waits only with a model. */
function columnsOf(sketch) {
  const slots = Boolean(sketch.l.s || sketch.r.s);
  const timed = Boolean(sketch.l.c || sketch.r.c);
  return HEADS.filter(([name]) => (name === "slot" ? slots : timed || !["pipe", "cycle", "waits"].includes(name)));
}

function cells(row, kind, half) {
  const band = row === null ? "none" : `${row.odd ? "odd" : "even"}${row.starts ? " starts" : ""}`;
  const cell = (part, ...said) => element("td", { class: `${part} ${kind} ${band}` }, ...said);
  if (row === null) return [element("td", { class: `${kind} none`, colspan: half.length })];
  const parts = {
    address: () => cell("a", row.address),
    slot: () => cell("s", row.slot),
    pipe: () => cell("p", row.pipe),
    cycle: () => cell("c", String(row.cycle)),
    instruction: () => cell("t", row.text),
    waits: () => {
      const wait = row.waits ? element("span", { class: `wait w${Math.min(4, row.waits)}` }, `+${row.waits}`) : "";
      const total = row.stretch >= 0
        ? element("span", { class: "total", title: "modelled cycles of this straight stretch" }, `${row.stretch} cyc`) : "";
      return cell("w", wait, row.waits ? ` ${row.cause} ` : "", total);
    },
  };
  return half.map(([name]) => parts[name]());
}

/* Appends the rows of items, a part at once and the next when its place comes near. */
function append(body, items, shownRows, columns) {
  body.append(...items.slice(0, PART).flatMap(shownRows));
  const rest = items.slice(PART);
  if (!rest.length) return;
  const end = element("tr", { class: "folded" }, element("td", { colspan: columns, class: "soft" }, "…"));
  body.append(end);
  const watcher = new IntersectionObserver((seen) => {
    if (!seen.some((entry) => entry.isIntersecting)) return;
    watcher.disconnect();
    end.remove();
    append(body, rest, shownRows, columns);
  }, { root: document.getElementById("function-body"), rootMargin: "1200px" });
  watcher.observe(end);
}

/* The listing, side by side where there is room for it and one below the other where not. */
function listing(pairs, half, wide) {
  const marks = (row) => (row?.edits ? element("span", { class: "edit-mark", title: row.edits.join(", ") }, "●") : "");
  const head = (label) => half.map(([name, part]) =>
    element("th", { scope: "col", class: part }, element("span", { class: "hidden" }, `${label} `), name));
  const line = (mark, ...rest) => element("tr", { class: mark === "~" ? "changed" : "" }, ...rest);
  const gone = (row) => [line("~", element("td", { class: "m minus" }, "−", marks(row)), ...cells(row, "l", half))];
  const come = (row) => [line("~", element("td", { class: "m plus" }, "+"), ...cells(row, "r", half))];
  const rows = ([mark, old, fresh]) => {
    if (mark === "≠") return [...old.flatMap((row) => gone(row)), ...fresh.flatMap((row) => come(row))];
    const note = element("td", { class: "m" }, marks(old));
    if (wide) return [line(mark, note, ...cells(old, "l", half), ...cells(fresh, "r", half))];
    if (mark === "=") return [line(mark, note, ...cells(fresh, "r", half))];
    return [...(old ? gone(old) : []), ...(fresh ? come(fresh) : [])];
  };
  const columns = 1 + half.length * (wide ? 2 : 1);
  const shownRows = (item) => {
    if (item[0] === ".") {
      return [element("tr", { class: "folded" },
        element("td", { colspan: columns, class: "soft" }, `${shown(item[1])} more instructions are the same, and not in this page`))];
    }
    if (item[0] !== "…") return rows(item);
    const open = element("button", { type: "button", class: "fold" }, `${shown(item[1].length)} instructions are the same`);
    const fold = element("tr", { class: "folded" }, element("td", { colspan: columns }, open));
    open.addEventListener("click", () => fold.replaceWith(...item[1].flatMap(rows)));
    return [fold];
  };
  const body = element("tbody");
  const items = wide ? folded(pairs) : stacked(folded(pairs));
  append(body, items, shownRows, columns);
  const groups = element("tr", {}, element("th"),
    element("th", { colspan: half.length, scope: "colgroup" }, wide ? "before" : "− before, + after"),
    ...(wide ? [element("th", { colspan: half.length, scope: "colgroup" }, "after")] : []));
  const titles = element("tr", {}, element("th", {}, element("span", { class: "hidden" }, "edit")),
    ...head("before"), ...(wide ? head("after") : []));
  return element("table", { class: `listing ${wide ? "wide" : "narrow"}` }, element("thead", {}, groups, titles), body);
}
