// Elements, made of nodes only: text from a server never meets a parser of markup.

const SVG = "http://www.w3.org/2000/svg";

const append = (node, children) => {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === "") continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
};

const put = (node, name, value) => {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
  else if (name === "data") for (const [key, one] of Object.entries(value)) node.dataset[key] = one;
  else if (name === "value" || name === "checked") node[name] = value;
  else node.setAttribute(name, value === true ? "" : String(value));
};

export const h = (tag, attributes, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) put(node, name, value);
  return append(node, children);
};

export const svg = (tag, attributes, ...children) => {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes ?? {})) put(node, name, value);
  return append(node, children);
};

// A table whose cells know their column's name: on a phone each row becomes a card.
// `columns`: [title, key, numeric?]; a row is a list of cells, or {cells, key, className}.
export const table = (caption, columns, rows) => h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
  h("table", {},
    h("thead", {}, h("tr", {}, columns.map((column) => h("th", { scope: "col", class: column.right && "r" }, column.title)))),
    h("tbody", {}, rows.map((cells) => h("tr", {},
      cells.map((cell, i) => h("td", { "data-label": columns[i].title, class: columns[i].right && "r" }, cell)))))));

export const section = (title, ...children) => h("section", {}, h("h2", {}, title), ...children);

// A pair list; a pair without a value is left out.
export const facts = (pairs, name = "facts") => h("dl", { class: name }, pairs
  .filter(([, value]) => value !== null && value !== undefined && value !== "")
  .map(([label, value]) => h("div", {}, h("dt", {}, label), h("dd", {}, value))));

const opened = new Map();

// A fold that stays as the reader left it when the page is drawn anew.
export const fold = (key, summary, ...children) => {
  const node = h("details", { class: "more" }, h("summary", { "data-key": key }, summary), ...children);
  node.open = opened.get(key) ?? false;
  node.addEventListener("toggle", () => opened.set(key, node.open));
  return node;
};
