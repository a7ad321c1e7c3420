// The URL holds the view: #/engine/NAME?lang=zh. Parts are encoded, so that a label can be anything.

export const parse = (hash) => {
  const [path, query = ""] = hash.replace(/^#/, "").split("?");
  const parts = path.split("/").filter(Boolean).map((part) => {
    try { return decodeURIComponent(part); } catch { return part; }
  });
  return { page: parts[0] ?? "fleet", id: parts.slice(1).join("/"), query: new URLSearchParams(query) };
};

export const here = () => parse(location.hash);

// Language travels along; what else is in the query belongs to the page that is left.
export const link = (page, id = "", query = {}) => {
  const wanted = new URLSearchParams(query);
  const lang = here().query.get("lang");
  if (lang && !wanted.has("lang")) wanted.set("lang", lang);
  const path = `#/${page}${id === "" ? "" : "/" + encodeURIComponent(id)}`;
  return wanted.size ? `${path}?${wanted}` : path;
};

// Changes the query in place, without a step in the history and without loading the page anew.
export const keep = (changes) => {
  const { page, id, query } = here();
  for (const [name, value] of Object.entries(changes)) {
    if (value === "" || value === null || value === undefined) query.delete(name);
    else query.set(name, value);
  }
  history.replaceState(null, "", link(page, id, Object.fromEntries(query)));
};
