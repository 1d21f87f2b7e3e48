/* A table of many rows: sorted, filtered, and shown a page at a time.

   A column has a `label`, `value(row)` to sort by, and may have `cell(row)` to show (text or an
   element), `number`, `choice` (a menu of its values) and `search` (the words of the filter). */
class Table {
  constructor(place, { label, rows, columns, sorted = null, page = 50, empty = "Nothing." }) {
    Object.assign(this, { place, label, columns, size: page, empty });
    this.every = Uint32Array.from({ length: rows }, (_, at) => at);
    this.sorted = sorted;
    this.at = 0;
    this.chosen = new Map();
    this.words = [];
    this.texts = new Array(rows);
    this.build();
    this.refresh();
  }

  build() {
    const search = element("input", {
      type: "search", placeholder: "Filter…", "aria-label": `Filter ${this.label}`,
      oninput: (event) => {
        this.words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
        this.refresh();
      },
    });
    this.search = search;
    this.tools = element("div", { class: "tools" }, search);
    for (const column of this.columns.filter((one) => one.choice)) this.tools.append(this.menu(column));
    this.count = element("output", { class: "count", "aria-live": "polite" });
    this.tools.append(this.count);
    this.heads = this.columns.map((column, number) =>
      element("th", { scope: "col", role: "columnheader", class: column.number ? "n" : "" },
        element("button", { type: "button", onclick: () => this.sortBy(number) }, column.label)));
    this.body = element("tbody", { role: "rowgroup" });
    const table = element("table", { class: "rows", role: "table", "aria-label": this.label },
      element("thead", { role: "rowgroup" }, element("tr", { role: "row" }, ...this.heads)), this.body);
    const turn = (text, label, step) =>
      element("button", { type: "button", "aria-label": label, onclick: () => this.turn(step) }, text);
    this.back = turn("‹", `Previous page of ${this.label}`, -1);
    this.on = turn("›", `Next page of ${this.label}`, 1);
    this.where = element("span", { class: "soft" });
    this.pager = element("div", { class: "pager" }, this.back, this.where, this.on);
    this.place.replaceChildren(this.tools, element("div", { class: "scroll" }, table), this.pager);
  }

  menu(column) {
    const counts = new Map();
    for (const row of this.every) {
      const value = column.value(row);
      counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    const values = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
    return element("select", {
      "aria-label": `${column.label} of ${this.label}`,
      onchange: (event) => {
        if (event.target.selectedIndex) this.chosen.set(column, values[event.target.selectedIndex - 1][0]);
        else this.chosen.delete(column);
        this.refresh();
      },
    }, element("option", {}, `every ${column.label}`),
    ...values.map(([value, number]) => element("option", {}, `${value} (${shown(number)})`)));
  }

  text(row) {
    return (this.texts[row] ??= this.columns
      .map((column) => String((column.search ?? column.value)(row) ?? "")).join(" ").toLowerCase());
  }

  sortBy(number) {
    const down = this.columns[number].number ? -1 : 1;
    this.sorted = this.sorted?.[0] === number ? [number, -this.sorted[1]] : [number, down];
    this.refresh();
  }

  refresh() {
    let rows = this.every;
    for (const [column, value] of this.chosen) rows = rows.filter((row) => column.value(row) === value);
    if (this.words.length) {
      rows = rows.filter((row) => this.words.every((word) => this.text(row).includes(word)));
    }
    rows = Array.from(rows);
    if (this.sorted) rows = this.inOrder(rows);
    this.rows = rows;
    this.at = 0;
    this.heads.forEach((head, number) => {
      const direction = this.sorted?.[0] === number ? this.sorted[1] : 0;
      head.setAttribute("aria-sort", ["descending", "none", "ascending"][direction + 1]);
    });
    const all = shown(this.every.length);
    this.count.textContent = rows.length === this.every.length ? `${all}` : `${shown(rows.length)} of ${all}`;
    this.draw();
  }

  inOrder(rows) {
    const [number, direction] = this.sorted;
    const value = this.columns[number].value;
    const keys = new Map(rows.map((row) => [row, value(row)]));
    return rows.sort((a, b) => {
      const [x, y] = [keys.get(a), keys.get(b)];
      if (x === y) return a - b;
      if (x === null || x === undefined) return 1;
      if (y === null || y === undefined) return -1;
      return (x < y ? -1 : 1) * direction;
    });
  }

  turn(step) {
    this.at = Math.max(0, Math.min(this.pages - 1, this.at + step));
    this.draw();
  }

  get pages() { return Math.max(1, Math.ceil(this.rows.length / this.size)); }

  draw() {
    const first = this.at * this.size;
    const rows = this.rows.slice(first, first + this.size);
    this.body.replaceChildren(...(rows.length ? rows.map((row) => this.line(row)) : [this.nothing()]));
    this.pager.hidden = this.pages === 1;
    this.back.disabled = this.at === 0;
    this.on.disabled = this.at === this.pages - 1;
    this.where.textContent = `${shown(first + 1)}–${shown(first + rows.length)}`;
  }

  line(row) {
    return element("tr", { role: "row" }, ...this.columns.map((column) => {
      const value = (column.cell ?? column.value)(row) ?? "";
      const said = typeof value === "number" ? shown(value) : value;
      const kind = [column.number ? "n" : "", column.mono ? "mono" : "", column.wide ? "wide" : ""].join(" ").trim();
      return element("td", { role: "cell", class: kind, "data-label": column.label }, said);
    }));
  }

  nothing() {
    return element("tr", { role: "row" },
      element("td", { role: "cell", class: "soft", colspan: this.columns.length }, this.empty));
  }
}
