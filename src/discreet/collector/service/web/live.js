// The live page: asks for the topics every few seconds.
const $ = (id) => document.getElementById(id);
const name = decodeURIComponent(location.pathname.split("/")[2]);
const number = (value) => value.toLocaleString("en");
// A printed epsilon is a promise: rounded up, never down.
const up = (value, digits) => (Math.ceil(value * 10 ** digits) / 10 ** digits).toFixed(digits);
const SVG = "http://www.w3.org/2000/svg";

function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function topic(k, { share, words }) {
  const card = element("div", undefined, "topic");
  const title = `Topic ${k}`; // as in the topics and the models: numbers start at 0
  card.append(element("h3", share === null ? title : `${title} · ${(100 * share).toFixed(0)}% of the words`));
  const list = element("ol");
  const most = words[0].probability;
  for (const { word, probability } of words) {
    const item = element("li");
    const bar = document.createElementNS(SVG, "svg");
    bar.setAttribute("aria-hidden", "true");
    const rect = document.createElementNS(SVG, "rect");
    rect.setAttribute("width", `${(100 * probability) / most}%`);
    rect.setAttribute("height", "100%");
    bar.append(rect);
    item.append(bar, element("span", word), element("span", `${(100 * probability).toFixed(1)}%`, "share"));
    list.append(item);
  }
  card.append(list);
  return card;
}

function figures(rows) {
  $("numbers").replaceChildren(...rows.map(([about, value, promise]) => {
    const box = element("div", undefined, promise ? "promise" : "");
    box.append(element("dt", about), element("dd", value));
    return box;
  }));
}

async function refresh() {
  const answer = await fetch(`/campaigns/${encodeURIComponent(name)}/topics`, { cache: "no-store" });
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error.reason);
  const { noise, reports } = found;
  figures([
    ["ε for a whole report", up(noise.epsilon_report, 1), true],
    ["ε for one word of it", up(noise.epsilon_word, 2), true],
    ["reports received", number(reports.received)],
    ["reports in the topics", number(reports.trained)],
    ["windows trained", number(found.window)],
    ["probability of a flip", noise.flip_probability.toPrecision(3)],
    ["false bits in a report", number(Math.round(noise.false_bits_per_report))],
    ["± in a word's count per window", number(Math.round(noise.standard_error_of_a_word_count))],
  ]);
  $("title").textContent = `Topics of “${name}”`;
  document.title = `Topics of ${name}`;
  $("statement").replaceChildren(...found.statement.map((text) => element("li", text)));
  $("remark").hidden = !found.remark;
  $("remark").textContent = `The operator says: ${found.remark}`;
  $("try").href = `/campaigns/${encodeURIComponent(name)}/try`;
  if (found.topics.length) {
    $("topics").replaceChildren(...found.topics.map((one, k) => topic(k, one)));
    $("guarantee").textContent = `Guarantee of these topics: ${found.guarantee}`;
  } else {
    $("topics").replaceChildren(element("p", "No window has been trained yet. Topics appear here when enough reports have arrived.", "soft"));
  }
  $("said").textContent = found.ended ? "This campaign has ended and takes no more reports." : "";
  $("said").className = "said";
}

async function forever() {
  try {
    await refresh();
  } catch (error) {
    $("said").textContent = `Not up to date: ${error.message}`;
    $("said").className = "said bad";
  }
  document.documentElement.dataset.ready = "yes";
  setTimeout(forever, 5000);
}
forever();
