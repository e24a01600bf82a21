// Sorts topics, moves the relevance slider, and finds words. The page is complete without it.

const data = JSON.parse(document.getElementById("data").textContent);
const one = (selector, inside = document) => inside.querySelector(selector);
const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];

/** An element with text or other elements in it. Text is never read as markup. */
function made(name, attributes, ...parts) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...parts);
  return element;
}

const digits = (value, most) => Math.min(value >= 10 ? 1 : value >= 1 ? 2 : 3, most);

/** As in markup.py. */
function percent(share, most = 3) {
  const value = 100 * share;
  return value > 0 && value < 10 ** -most ? `<${10 ** -most}%` : `${value.toFixed(digits(value, most))}%`;
}
function plusMinus(error, share, most = 3) {
  const value = 100 * error, shown = digits(100 * share, most), least = 10 ** -shown;
  return value > 0 && value < least / 2 ? `± <${least}` : `± ${value.toFixed(shown)}`;
}
const DIGITS = 2;

// --- sorting ----------------------------------------------------------------------------------------------------------

const reads = {
  number: (element) => Number(element.dataset.number),
  share: (element) => Number(element.dataset.share),
  name: (element) => element.dataset.name ?? "\uffff",
};

function sort(key, down) {
  const read = reads[key];
  const before = (a, b) => {
    const [x, y] = [read(a), read(b)];
    const order = typeof x === "string" ? x.localeCompare(y) : x - y;
    return (down ? -order : order) || reads.number(a) - reads.number(b);
  };
  for (const home of [one("#overview tbody"), one("#cards")]) home.append(...[...home.children].sort(before));
}

for (const button of all("#overview button[data-sort]")) {
  const head = button.closest("th");
  button.addEventListener("click", () => {
    const key = button.dataset.sort, now = head.getAttribute("aria-sort");
    const down = now ? now === "ascending" : key === "share";
    for (const other of all("#overview th[aria-sort]")) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    sort(key, down);
  });
}

one("#known")?.addEventListener("change", (event) => {
  for (const element of all("#overview tr.absent, #cards .absent")) element.hidden = event.target.checked;
});

// --- relevance --------------------------------------------------------------------------------------------------------

/** λ·log p(w | t) + (1 − λ)·log(p(w | t)/p(w)), Sievert and Shirley 2014. */
function ranked(topic, weight) {
  const of = (p, i) => (p > 0 ? Math.log(p) - (1 - weight) * Math.log(data.usual[topic.w[i]]) : -Infinity);
  const relevance = topic.p.map(of);
  return topic.w.map((_, i) => i).sort((a, b) => (relevance[a] === relevance[b] ? a - b : relevance[b] - relevance[a]));
}

function show(table, weight) {
  const number = Number(table.dataset.topic), topic = data.topics[number], scale = data.scales[number];
  const place = (value) => (100 * Math.min(Math.max(value, 0) / scale, 1)).toFixed(1);
  const order = ranked(topic, weight);
  all("tbody tr", table).forEach((row, i) => {
    const j = order[i], p = topic.p[j], error = topic.e?.[j];
    row.cells[0].textContent = data.words[topic.w[j]];
    row.cells[1].textContent = percent(p, DIGITS);
    if (data.noisy) row.cells[2].textContent = plusMinus(error, p, DIGITS);
    const bar = one(".bar", row);
    bar.setAttribute("width", place(p));
    bar.classList.toggle("hollow", data.noisy && p <= data.clear * error);
    one(".usual", row).setAttribute("d", `M${place(data.usual[topic.w[j]])} 0V10`);
    if (!data.noisy) return;
    const low = place(p - data.clear * error), high = place(p + data.clear * error);
    one(".whisker", row).setAttribute("d", `M${low} 5H${high}M${low} 3V7M${high} 3V7`);
  });
}

const slider = one("#relevance"), tables = all("table.best[data-topic]");
let waiting = false;
slider.addEventListener("input", () => {
  one("#relevance-value").textContent = slider.value;
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    for (const table of tables) show(table, Number(slider.value));
  });
});

// --- words ------------------------------------------------------------------------------------------------------------

const field = one("#word"), found = one("#found"), MOST = 30;
const index = new Map(data.words.map((word, i) => [word, i]));
const folded = data.words.map((word) => word.toLowerCase());

/** Topic, share of the word's uses, rank in the topic, whether it stands out of the noise there. */
function placesOf(i) {
  const row = data.places[i], found = [];
  for (let at = 0; at < row.length; at += 3) {
    found.push({ topic: row[at], uses: row[at + 1] / 10000, rank: Math.abs(row[at + 2]), clear: row[at + 2] > 0 });
  }
  return found;
}

function told(i) {
  const places = placesOf(i), usual = data.usual[i];
  const rows = places.map(({ topic, uses, rank, clear }) => {
    const name = data.names[topic];
    const link = made("a", { href: `#topic-${topic}` }, name ? `${topic} ${name}` : String(topic));
    const cells = [`${(100 * uses).toFixed(0)}%`, rank.toLocaleString("en"), percent((uses * usual) / data.weights[topic])];
    if (data.noisy) cells.push(clear ? "yes" : "no");
    return made("tr", {}, made("th", { scope: "row" }, link), ...cells.map((cell) => made("td", { class: "number" }, cell)));
  });
  const heads = ["share of its uses", "rank in the topic", "probability there", ...(data.noisy ? ["above the noise"] : [])];
  const head = made("tr", {}, made("th", { scope: "col" }, "topic"),
    ...heads.map((name) => made("th", { scope: "col", class: "number" }, name)));
  const table = made("table", {}, made("caption", {}, "Where it stands, most of its uses first"),
    made("thead", {}, head), made("tbody", {}, ...rows));
  const rest = 1 - places.reduce((sum, { uses }) => sum + uses, 0);
  const other = rest > 0.005 ? `, and ${(100 * rest).toFixed(0)}% of its uses are in other topics` : "";
  const said = made("p", {}, made("strong", {}, data.words[i]), ` is ${percent(usual)} of all topics together${other}.`);
  return [said, made("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Where it stands" }, table)];
}

function lookUp(text) {
  const wanted = text.trim().toLowerCase();
  for (const topic of all(".map .found")) topic.classList.remove("found");
  if (!wanted) return found.replaceChildren();
  const exact = index.get(text.trim()) ?? index.get(wanted);
  const starts = [], holds = [];
  for (let i = 0; i < folded.length && starts.length < MOST; i++) {
    if (i === exact) continue;
    if (folded[i].startsWith(wanted)) starts.push(i);
    else if (holds.length < MOST && folded[i].includes(wanted)) holds.push(i);
  }
  const near = [...starts, ...holds].slice(0, MOST);
  const shown = exact === undefined ? [made("p", {}, made("strong", {}, text.trim()), " is not a word of this model.")] : told(exact);
  if (near.length) {
    const list = near.map((i) => {
      const button = made("button", { type: "button" }, data.words[i]);
      button.addEventListener("click", () => {
        field.value = data.words[i];
        lookUp(data.words[i]);
        field.focus();
      });
      return made("li", {}, button);
    });
    shown.push(made("p", { class: "soft" }, "Words that hold these letters:"), made("ul", { class: "matches" }, ...list));
  }
  if (exact !== undefined) {
    for (const { topic } of placesOf(exact)) one(`.map [data-topic="${topic}"]`)?.classList.add("found");
  }
  found.replaceChildren(...shown);
}

field.addEventListener("input", () => lookUp(field.value));

// --- the rest ---------------------------------------------------------------------------------------------------------

one(".map")?.addEventListener("click", (event) => {
  const topic = event.target.closest("[data-topic]");
  if (topic) location.hash = `topic-${topic.dataset.topic}`;
});

let closed = [];
addEventListener("beforeprint", () => {
  closed = all("details:not([open])");
  for (const details of closed) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of closed) details.open = false;
});

for (const control of all(".control")) control.hidden = false;
document.documentElement.classList.add("ready");
