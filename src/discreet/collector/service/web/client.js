// The browser's side of a campaign: text becomes words, words become bits, bits are flipped here, and only that is sent.
// No dependencies. Randomness comes from WebCrypto. The server is not trusted: epsilon is computed here from the
// threshold, the words must have the hash that reports carry, and a campaign that changed is refused.

const NONCE_BYTES = 16;
const TWO32 = 4294967296;

// Python's \w is a letter, a digit or an underscore of any alphabet; \b in a browser knows ASCII only.
const PATTERNS = {
  english: /(?<![\p{L}\p{N}_])[a-z]{3,}(?![\p{L}\p{N}_])/gu,
  letters: /(?<![\p{L}\p{N}_])[\p{L}\p{Nl}\p{No}]{3,}(?![\p{L}\p{N}_])/gu,
};

export function wordsOf(text, kind) {
  return text.toLowerCase().match(PATTERNS[kind]) ?? [];
}

export function base64(bytes) {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

export function fromBase64(text) {
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}

async function sha256(text) {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// 32 random bits at a time; getRandomValues gives at most 65,536 bytes per call.
export function* randomNumbers() {
  const block = new Uint32Array(4096);
  for (;;) {
    crypto.getRandomValues(block);
    yield* block;
  }
}

// A whole number below n, each with the same probability: draws from the incomplete last round are thrown away.
function below(n, random) {
  const limit = TWO32 - (TWO32 % n);
  for (;;) {
    const drawn = random.next().value;
    if (drawn < limit) return drawn % n;
  }
}

// At most `most` of the columns, chosen with this device's own coins (null: all of them).
export function capped(columns, most, random = randomNumbers()) {
  if (most === null || columns.length <= most) return [...columns];
  const left = [...columns];
  for (let i = 0; i < most; i++) {
    const j = i + below(left.length - i, random);
    [left[i], left[j]] = [left[j], left[i]];
  }
  return left.slice(0, most).sort((a, b) => a - b);
}

// One bit per word, the least significant first; each is flipped when 32 random bits are below the threshold.
export function randomised(columns, nWords, threshold, random = randomNumbers()) {
  const bits = new Uint8Array(Math.ceil(nWords / 8));
  for (const w of columns) bits[w >> 3] |= 1 << (w & 7);
  for (let w = 0; w < nWords; w++) {
    if (random.next().value < threshold) bits[w >> 3] ^= 1 << (w & 7);
  }
  return bits;
}

export function bitOf(bits, w) {
  return (bits[w >> 3] >> (w & 7)) & 1;
}

export function epsilonsOf(campaign) {
  const bit = Math.log((TWO32 - campaign.threshold) / campaign.threshold);
  const nWords = campaign.vocabulary.length;
  const changed = campaign.max_words === null ? nWords : Math.min(nWords, 2 * campaign.max_words);
  return { bit, report: changed * bit, client: campaign.reports_per_client * changed * bit };
}

async function checked(campaign, name, maxEpsilon) {
  const whole = (value, low, high) => Number.isInteger(value) && value >= low && value <= high;
  const words = campaign.vocabulary;
  if (
    campaign.name !== name || !whole(campaign.threshold, 1, 2 ** 31 - 1) || !(campaign.words in PATTERNS) ||
    !Array.isArray(words) || words.length < 1 || !words.every((word) => typeof word === "string") ||
    new Set(words).size !== words.length || !whole(campaign.reports_per_client, 1, 1e6) ||
    !(campaign.max_words === null || whole(campaign.max_words, 1, 2 ** 31))
  ) throw new Error("The server's campaign is not valid. Nothing was sent.");
  const hash = await sha256(words.map((word) => `${word}\n`).join(""));
  if (hash !== campaign.vocabulary_hash) throw new Error("The server's words are not what their hash says. Nothing was sent.");
  if (maxEpsilon !== undefined && !(epsilonsOf(campaign).report <= maxEpsilon)) {
    throw new Error(`A report to this campaign has epsilon ${epsilonsOf(campaign).report.toFixed(2)}, more than you allow.`);
  }
  return hash;
}

// What the digest of a campaign covers, spelled as Python spells it: sorted names, no blanks.
function digestOf(campaign, hash) {
  const { name, threshold, max_words, words, reports_per_client } = campaign;
  return sha256(JSON.stringify({ max_words, name, reports_per_client, threshold, vocabulary: hash, words }));
}

export class Client {
  // `storage` remembers answers: window.localStorage, or anything with getItem, setItem, length and key.
  static async open({ server = "", name, token, storage = localStorage, maxEpsilon }) {
    const place = `${server}/campaigns/${encodeURIComponent(name)}`;
    const answer = await fetch(place, { credentials: "omit", cache: "no-store" });
    if (!answer.ok) throw new Error(`There is no such campaign (${answer.status}).`);
    const campaign = await answer.json();
    const hash = await checked(campaign, name, maxEpsilon);
    const client = new Client();
    const prefix = `discreet:${place}:`;
    Object.assign(client, { place, campaign, hash, token, storage, prefix });
    client.columns = new Map(campaign.vocabulary.map((word, i) => [word, i]));
    const pinned = storage.getItem(`${prefix}campaign`);
    const digest = await digestOf(campaign, hash);
    if (pinned === null) storage.setItem(`${prefix}campaign`, digest);
    else if (pinned !== digest) {
      throw new Error("This campaign has changed since this device first saw it. Nothing was sent.");
    }
    return client;
  }

  // The numbers of the vocabulary's words in the text, each once, in rising order.
  columnsOf(text) {
    const found = new Set(wordsOf(text, this.campaign.words).map((word) => this.columns.get(word)));
    found.delete(undefined);
    return [...found].sort((a, b) => a - b);
  }

  nAnswers() {
    let n = 0;
    for (let i = 0; i < this.storage.length; i++) n += this.storage.key(i).startsWith(`${this.prefix}answer:`);
    return n;
  }

  // The answer of this device about these words: drawn once, remembered before it is sent, the same ever after.
  async answerTo(text) {
    const columns = this.columnsOf(text);
    const key = `${this.prefix}answer:${await sha256(columns.join(","))}`;
    const known = this.storage.getItem(key);
    if (known !== null) {
      const { nonce, bits } = JSON.parse(known);
      return { columns, nonce: fromBase64(nonce), bits: fromBase64(bits), repeated: true };
    }
    const { max_words, threshold, vocabulary, reports_per_client } = this.campaign;
    if (this.nAnswers() >= reports_per_client) {
      throw new Error(`This device may report ${reports_per_client} different texts, and has. Nothing was sent.`);
    }
    const random = randomNumbers();
    const bits = randomised(capped(columns, max_words, random), vocabulary.length, threshold, random);
    const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
    this.storage.setItem(key, JSON.stringify({ nonce: base64(nonce), bits: base64(bits) }));
    return { columns, nonce, bits, repeated: false };
  }

  // All that leaves the device.
  bodyOf({ nonce, bits }) {
    return { vocabulary: this.hash, nonce: base64(nonce), bits: base64(bits) };
  }

  async send(answer) {
    const sent = await fetch(`${this.place}/reports`, {
      method: "POST",
      credentials: "omit",
      referrerPolicy: "no-referrer",
      headers: { "content-type": "application/json", authorization: `Bearer ${this.token}` },
      body: JSON.stringify(this.bodyOf(answer)),
    });
    const said = await sent.json().catch(() => ({}));
    if (!sent.ok) throw new Error(`The collector refused (${sent.status}): ${said.error?.reason ?? "no reason given"}.`);
    return said;
  }

  async report(text) {
    const answer = await this.answerTo(text);
    await this.send(answer);
    return answer;
  }
}
