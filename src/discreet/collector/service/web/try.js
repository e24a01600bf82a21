// The demonstration page: shows what the client does, with the client itself.
import { Client, bitOf, capped, epsilonsOf, randomised } from "/static/client.js";

const $ = (id) => document.getElementById(id);
const name = decodeURIComponent(location.pathname.split("/")[2]);
const tokenInAddress = new URLSearchParams(location.hash.slice(1)).get("token");
// A printed epsilon is a promise: rounded up, never down.
const up = (value, digits) => (Math.ceil(value * 10 ** digits) / 10 ** digits).toFixed(digits);
let client, answer;

function show(list, words, kind) {
  list.replaceChildren(...words.map((word) => {
    const item = document.createElement("li");
    item.textContent = word;
    item.className = kind;
    return item;
  }));
  if (!words.length) {
    const none = document.createElement("li");
    none.textContent = "none";
    none.className = "none";
    list.append(none);
  }
}

function say(text, bad = false) {
  $("said").textContent = text;
  $("said").classList.toggle("bad", bad);
}

function showAnswer() {
  const words = client.campaign.vocabulary;
  const mine = new Set(answer.columns);
  const set = words.map((_, w) => bitOf(answer.bits, w));
  const kept = words.filter((_, w) => set[w] && mine.has(w));
  const hidden = words.filter((_, w) => !set[w] && mine.has(w));
  const wrong = words.filter((_, w) => set[w] && !mine.has(w));
  show($("kept"), kept, "true");
  show($("hidden"), hidden, "hidden-word");
  show($("false"), wrong.slice(0, 60), "false");
  $("n-kept").textContent = `(${kept.length})`;
  $("n-hidden").textContent = `(${hidden.length})`;
  $("n-false").textContent = `(${wrong.length}${wrong.length > 60 ? ", 60 shown" : ""})`;
  const cap = client.campaign.max_words;
  const over = cap !== null && mine.size > cap ? ` Your text has ${mine.size} words of the list; ${cap} of them, chosen at random, were reported and the others count as absent.` : "";
  $("same").textContent = (answer.repeated
    ? "This device has answered about these words before, and repeats that answer."
    : "A new answer, drawn now and kept on this device.") + over;
  $("reader").textContent = `Whoever reads the report sees ${kept.length + wrong.length} words, ${wrong.length} of them set by chance. No single one is proof that you used it.`;
  $("body").textContent = JSON.stringify(client.bodyOf(answer), null, 2);
  $("device").textContent = `${client.nAnswers()} of ${client.campaign.reports_per_client} texts of this device used`;
  $("sent").textContent = "";
  for (const id of ["answer", "leaves", "again"]) $(id).hidden = false;
}

async function draw() {
  try {
    answer = await client.answerTo($("text").value);
    say("");
    showAnswer();
  } catch (error) {
    say(error.message, true);
  }
}

async function send() {
  client.token = tokenInAddress ?? $("token").value.trim();
  $("ask-token").hidden = tokenInAddress !== null;
  if (!client.token) {
    $("ask-token").hidden = false;
    $("token").focus();
    $("sent").textContent = "A write token is needed; the operator of the campaign gives it.";
    return;
  }
  $("send").disabled = true;
  try {
    await client.send(answer);
    $("sent").textContent = "Stored. Sending it again would change nothing: it is stored once.";
  } catch (error) {
    $("sent").textContent = error.message;
  } finally {
    $("send").disabled = false;
  }
}

// The longitudinal experiment: n answers with fresh bits, and what a majority vote makes of them.
function repeat() {
  const { threshold, vocabulary, max_words } = client.campaign;
  const truth = new Set(answer.columns);
  const votes = new Uint32Array(vocabulary.length);
  const same = vocabulary.map((_, w) => w).filter((w) => bitOf(answer.bits, w));
  const remembered = same.filter((w) => truth.has(w)).length;
  const rows = [];
  let n = 0;
  for (const upTo of [1, 3, 10, 30, 100, 300]) {
    for (; n < upTo; n++) {
      const bits = randomised(capped(answer.columns, max_words), vocabulary.length, threshold);
      for (let w = 0; w < vocabulary.length; w++) votes[w] += bitOf(bits, w);
    }
    const believed = [...votes.keys()].filter((w) => 2 * votes[w] > n);
    const found = believed.filter((w) => truth.has(w)).length;
    rows.push([n, `${found} of ${truth.size}`, believed.length - found, `${remembered} of ${truth.size}`, same.length - remembered]);
  }
  $("rows").replaceChildren(...rows.map((cells) => {
    const row = document.createElement("tr");
    row.append(...cells.map((cell) => Object.assign(document.createElement("td"), { textContent: cell })));
    return row;
  }));
  $("table").hidden = false;
}

try {
  client = await Client.open({ name });
  const { campaign } = client;
  const epsilon = epsilonsOf(campaign);
  document.title = `Try a private report: ${name}`;
  $("about").textContent = `Campaign “${name}”: ${campaign.vocabulary.length.toLocaleString("en")} public words, such as ${campaign.vocabulary.slice(0, 4).join(", ")}. Each bit flips with probability ${(campaign.threshold / 2 ** 32).toPrecision(3)} (ε = ${up(epsilon.bit, 2)} per bit, ε = ${up(epsilon.report, 1)} for a whole report).`;
  $("device").textContent = `${client.nAnswers()} of ${campaign.reports_per_client} texts of this device used`;
  $("statement").replaceChildren(...campaign.statement.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
  if (campaign.remark) {
    $("remark").textContent = `The operator says: ${campaign.remark}`;
    $("remark").hidden = false;
  }
  $("live").href = `/campaigns/${encodeURIComponent(name)}/live`;
  $("draw").disabled = false;
  $("draw").addEventListener("click", draw);
  $("send").addEventListener("click", send);
  $("repeat").addEventListener("click", repeat);
} catch (error) {
  say(error.message, true);
}
document.documentElement.dataset.ready = "yes";
