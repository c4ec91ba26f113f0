"use strict";
// Text of runs only ever becomes text nodes; nothing is parsed as HTML.
const ROW_HEIGHT = 38;
const MOST_HEIGHT = 620;
const OVERSCAN = 12;
const MOST_PRINTED = 500;
const SHOWN_LINES = 14;
const NOT_SHOWN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;

const byId = (id) => document.getElementById(id);
const data = byId("index") ? JSON.parse(byId("index").textContent) : null;

function element(name, options = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(options)) {
    if (key === "class") made.className = value;
    else if (key === "on") for (const [type, act] of Object.entries(value)) made.addEventListener(type, act);
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat(2).filter((each) => each !== null && each !== ""));
  return made;
}

// Characters that nobody sees, or that turn the direction of others, are spelled out.
function visible(text) {
  const parts = [];
  let from = 0;
  for (const found of text.matchAll(NOT_SHOWN)) {
    if (found.index > from) parts.push(text.slice(from, found.index));
    const code = found[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    parts.push(element("span", { class: "hidden" }, `[U+${code}]`));
    from = found.index + 1;
  }
  if (from < text.length) parts.push(text.slice(from));
  return parts;
}

const isolated = (text, options = {}) => element("bdi", options, visible(text));
// A name may break behind its signs rather than inside a word.
const broken = (name) => element("bdi", {}, name.split(/(?<=[+/:,-])/).flatMap((each) => [...visible(each), element("wbr")]));
const words = (name) => name.replaceAll("_", " ");
const count = (number) => number.toLocaleString("en-US");
const seconds = (value) => `${value >= 1 ? value.toFixed(1) : value.toFixed(3)} s`;

// --- what is only needed when a question is opened ---------------------------------------------

const chunks = [...document.querySelectorAll("script.chunk")];
const unpacked = new Map();

function chunk(number) {
  if (!unpacked.has(number)) {
    const bytes = Uint8Array.from(atob(chunks[number].textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    unpacked.set(number, new Response(stream).json());
    if (unpacked.size > 12) unpacked.delete(unpacked.keys().next().value);
  }
  return unpacked.get(number);
}

async function item(number) {
  let low = 0;
  let high = data.starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (data.starts[middle] <= number) low = middle;
    else high = middle - 1;
  }
  return (await chunk(low))[number - data.starts[low]];
}

// --- the list ----------------------------------------------------------------------------------

const lines = (data ? data.questions : []).map(([id, text, shape, recalls, place], at) => ({
  at, id, text, shape, recalls, place, searched: `${id}\n${text}`.toLowerCase(),
}));
const known = new Map(lines.map((line) => [line.id, line]));
const pulls = data ? data.rows.flatMap((row, at) => (row.kind === "push" ? [] : [at])) : [];
const pushes = data ? data.rows.flatMap((row, at) => (row.kind === "push" ? [at] : [])) : [];
const state = { text: "", shape: "", row: "0", outcome: "", agree: "", sort: "", q: "" };
const DEFAULTS = { ...state };
let shown = lines;
let active = 0;
let opener = null;

const OUTCOMES = {
  hit: (recall) => recall !== null && recall >= 1,
  part: (recall) => recall !== null && recall > 0 && recall < 1,
  miss: (recall) => recall === 0,
  failed: (recall) => recall === null,
};
const finds = (line, rows) => rows.some((at) => line.recalls[at] > 0);
const AGREEMENTS = {
  differ: (line) => line.recalls.some((each) => (each ?? 0) !== (line.recalls[0] ?? 0)),
  none: (line) => !line.recalls.some((each) => each > 0),
  pull: (line) => finds(line, pulls) && !finds(line, pushes),
  push: (line) => finds(line, pushes) && !finds(line, pulls),
};

function filtered() {
  const wanted = state.text.toLowerCase().split(/\s+/).filter(Boolean);
  const shape = state.shape === "" ? null : data.shapes.indexOf(state.shape);
  const row = Number(state.row);
  const outcome = OUTCOMES[state.outcome];
  const agree = AGREEMENTS[state.agree];
  const found = lines.filter((line) =>
    (shape === null || line.shape === shape)
    && (!outcome || outcome(line.recalls[row]))
    && (!agree || agree(line))
    && wanted.every((each) => line.searched.includes(each)));
  return sorted(found);
}

function sorted(found) {
  if (!state.sort) return found;
  const down = state.sort.startsWith("-") ? -1 : 1;
  const key = state.sort.replace("-", "");
  const value = {
    id: (line) => line.id, question: (line) => line.text, shape: (line) => line.shape,
  }[key] ?? ((line) => line.recalls[Number(key)] ?? -1);
  const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b);
  return [...found].sort((a, b) => down * compare(value(a), value(b)) || a.at - b.at);
}

const scroller = byId("list");
const body = scroller?.querySelector("tbody");
const form = byId("filters");

function marked(recall) {
  if (recall === null) return ["bad", "✕", "failed"];
  if (recall >= 1) return ["all", "●", "all gold found"];
  return recall > 0 ? ["part", "◐", `${recall.toFixed(3)} of the gold found`] : ["no", "○", "no gold found"];
}

function tableRow(line, at) {
  const open = element("button", {
    type: "button", tabindex: at === active ? "0" : "-1", "data-at": at,
  }, isolated(line.text));
  return element("tr", { "aria-rowindex": at + 2, on: { click: () => openQuestion(line.id) } },
    element("th", { scope: "row", class: "id" }, isolated(line.id)),
    element("td", { class: "shape" }, line.shape < 0 ? "" : isolated(words(data.shapes[line.shape]))),
    element("td", { class: "question", title: line.text.replace(NOT_SHOWN, "\ufffd") }, open),
    line.recalls.map((recall) => {
      const [kind, sign, meaning] = marked(recall);
      return element("td", { class: `m ${kind}` },
        element("span", { role: "img", "aria-label": meaning, title: meaning }, sign));
    }));
}

function space(height) {
  const row = element("tr", { class: "space", "aria-hidden": "true" }, element("td", { colspan: 3 + data.rows.length }));
  row.firstChild.style.height = `${height}px`;
  return row;
}

function draw({ all = false, keepsFocus = true } = {}) {
  const first = all ? 0 : Math.max(0, Math.floor(scroller.scrollTop / ROW_HEIGHT) - OVERSCAN);
  const room = Math.ceil(Math.min(innerHeight, MOST_HEIGHT) / ROW_HEIGHT) + 2 * OVERSCAN;
  const last = Math.min(shown.length, all ? MOST_PRINTED : first + room);
  const focused = keepsFocus && body.contains(document.activeElement) ? document.activeElement.dataset.at : null;
  const rows = shown.slice(first, last).map((line, at) => tableRow(line, first + at));
  if (first) rows.unshift(space(first * ROW_HEIGHT));
  if (!all && last < shown.length) rows.push(space((shown.length - last) * ROW_HEIGHT));
  body.replaceChildren(...rows);
  if (focused !== null) body.querySelector(`[data-at="${focused}"]`)?.focus({ preventScroll: true });
}

function show() {
  shown = filtered();
  active = 0;
  scroller.scrollTop = 0;
  scroller.querySelector("table").setAttribute("aria-rowcount", shown.length + 1);
  for (const head of scroller.querySelectorAll("thead th")) {
    const isSorted = state.sort.replace("-", "") === head.dataset.key && state.sort !== "";
    if (isSorted) head.setAttribute("aria-sort", state.sort.startsWith("-") ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  }
  const all = count(lines.length);
  byId("count").textContent = shown.length === lines.length ? `${all} question${lines.length === 1 ? "" : "s"}` : `${count(shown.length)} of ${all} questions`;
  draw();
}

function sortBy(key) {
  const first = /^\d+$/.test(key) ? `-${key}` : key;
  const second = first === key ? `-${key}` : key;
  state.sort = { [first]: second, [second]: "" }[state.sort] ?? first;
  show();
  remember();
}

function headers() {
  const head = (key, label, kind) => element("th", { scope: "col", class: kind, "data-key": key },
    element("button", { type: "button", on: { click: () => sortBy(key) } }, label));
  scroller.querySelector("thead tr").replaceChildren(
    head("id", "id", "id"), head("shape", "shape", "shape"), head("question", "question", "question"),
    ...data.rows.map((row, at) => head(String(at), broken(row.name), "m")));
}

// Wide enough for the question, and for every row; on a small screen the list scrolls sideways.
function widen() {
  scroller.querySelector("table").style.width = `max(100%, ${460 + 80 * data.rows.length}px)`;
}

function options() {
  form.shape.append(...data.shapes.map((each) => element("option", { value: each }, words(each).replace(NOT_SHOWN, "\ufffd"))));
  form.row.append(...data.rows.map((row, at) => element("option", { value: at }, row.name.replace(NOT_SHOWN, "\ufffd"))));
}

function move(event) {
  const page = Math.floor(scroller.clientHeight / ROW_HEIGHT) - 1;
  const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -shown.length, End: shown.length };
  const step = steps[event.key];
  if (step === undefined || !shown.length || event.target.closest("thead")) return;
  event.preventDefault();
  const isFirst = event.target === scroller && Math.abs(step) === 1;
  active = Math.min(shown.length - 1, Math.max(0, active + (isFirst ? 0 : step)));
  reveal();
}

// Scrolls to the active line and gives it the focus.
function reveal() {
  const top = active * ROW_HEIGHT;
  const room = scroller.clientHeight - scroller.querySelector("thead").offsetHeight;
  if (top < scroller.scrollTop) scroller.scrollTop = top;
  else if (top + ROW_HEIGHT > scroller.scrollTop + room) scroller.scrollTop = top + ROW_HEIGHT - room;
  draw({ keepsFocus: false });
  body.querySelector(`[data-at="${active}"]`)?.focus({ preventScroll: true });
}

// --- the address keeps what is shown -----------------------------------------------------------

function remember() {
  const kept = new URLSearchParams();
  for (const [key, value] of Object.entries(state)) if (value !== DEFAULTS[key]) kept.set(key, value);
  const hash = kept.toString();
  history.replaceState(null, "", hash ? `#${hash}` : location.href.split("#")[0]);
}

function recall() {
  const hash = location.hash.slice(1);
  if (!hash.includes("=")) return;
  const kept = new URLSearchParams(hash);
  for (const key of Object.keys(state)) state[key] = kept.get(key) ?? DEFAULTS[key];
  if (!data.rows[Number(state.row)]) state.row = DEFAULTS.row;
  for (const name of ["text", "shape", "row", "outcome", "agree"]) {
    form[name].value = state[name];
    if (form[name].value !== state[name]) state[name] = form[name].value = DEFAULTS[name];
  }
  show();
  if (state.q && known.has(state.q)) openQuestion(state.q);
  else if (byId("question").open) byId("question").close();
}

// --- one question ------------------------------------------------------------------------------

const dialog = byId("question");
let sections = null;
let opening = 0;

async function openQuestion(id) {
  const line = known.get(id);
  if (!line) return;
  const mine = ++opening;
  if (!dialog.open) {
    opener = document.activeElement;
    dialog.showModal();
  }
  state.q = id;
  remember();
  placeOf(line);
  const [record, known_sections] = await Promise.all([item(line.place), sections ?? item(data.sections)]);
  sections = known_sections;
  if (mine !== opening) return;
  const detail = byId("detail");
  detail.replaceChildren(...question(line, record));
  dialog.scrollTop = 0;
  detail.focus({ preventScroll: true });
}

function placeOf(line) {
  const at = shown.indexOf(line);
  byId("place").textContent = at < 0 ? "not in the list as it is filtered" : `${count(at + 1)} of ${count(shown.length)}`;
  byId("earlier").disabled = at <= 0;
  byId("later").disabled = at < 0 || at + 1 >= shown.length;
  if (at >= 0) active = at;
}

function step(by) {
  const next = shown[shown.indexOf(known.get(state.q)) + by];
  if (next) openQuestion(next.id);
}

function sectionName(id) {
  if (!Object.hasOwn(sections, id)) return isolated(id);
  return element("button", { type: "button", class: "cite", on: { click: () => openSection(id) } }, isolated(id));
}

async function openSection(id) {
  byId("section-title").replaceChildren(isolated(id));
  byId("section-text").replaceChildren(...visible(await item(sections[id])));
  byId("section").showModal();
}

function question(line, record) {
  const gold = new Set([...record.gold, ...record.copies]);
  const parts = [
    element("h2", { id: "question-title" }, visible(line.text)),
    element("p", { class: "meta" }, isolated(line.id), line.shape < 0 ? [] : [" · ", isolated(words(data.shapes[line.shape]))], record.source ? [" · ", isolated(record.source)] : []),
    element("h3", { class: "minor" }, "Gold sections"),
    element("ul", { class: "ids" }, record.gold.map((id) => element("li", {}, element("span", { class: "gold" }, sectionName(id)))),
      record.copies.map((id) => element("li", {}, element("span", { class: "gold" }, sectionName(id)), element("span", { class: "why" }, " a word-for-word copy")))),
  ];
  if (record.answer) parts.push(element("h3", { class: "minor" }, "Reference answer"), element("p", { class: "answer" }, visible(record.answer)));
  parts.push(element("h3", {}, "What each row returned"), returned(record.results, gold));
  if (record.before) parts.push(element("h3", {}, "The same in the run before"), returned(record.before, gold));
  for (const attempt of record.attempts) parts.push(...attemptParts(attempt, record.attempts.length, gold));
  return parts;
}

function returned(results, gold) {
  return element("div", { class: "returned" }, results.map((result) => element("div", {},
    element("h4", {}, isolated(result.row)),
    result.error ? element("p", { class: "error" }, visible(result.error))
      : element("p", { class: "range" }, Object.entries(result.scores).map(([name, value]) => `${name} ${value.toFixed(3)}`).join(" · ")),
    result.ranking.length
      ? element("ol", { class: "ids" }, result.ranking.map((id) => element("li", {}, gold.has(id)
        ? [element("span", { class: "gold" }, sectionName(id)), element("span", { class: "why" }, " gold")] : sectionName(id))))
      : element("p", { class: "range" }, "nothing"),
    result.answer ? element("p", { class: "answer" }, cited(result.answer, result.ranking)) : "")));
}

function attemptParts(attempt, all, gold) {
  const name = attempt.repeat ? `${attempt.agent}, asked again (${attempt.repeat + 1})` : attempt.agent;
  const title = element("h3", {}, "What ", isolated(name), " did");
  const made = attempt.made;
  if (!made) return [title, element("p", {}, "It was not asked.")];
  const [sent, cached, written] = made.tokens;
  return [
    title,
    element("p", { class: "range" }, isolated(words(made.outcome)), ` · ${made.turns.length} turn${made.turns.length === 1 ? "" : "s"} · ${count(sent)} tokens sent (${count(cached)} from a cache), ${count(written)} written · ${seconds(made.seconds)}${made.waited >= 0.05 ? ` and ${seconds(made.waited)} of waiting` : ""}`),
    ...made.turns.map((turn, at) => turnPart(turn, at)),
    ...made.errors.map((each) => element("p", { class: "error" }, visible(each))),
    made.answer ? element("h4", {}, "Answer") : "",
    made.answer ? element("p", { class: "answer" }, cited(made.answer, [...made.cited, ...gold])) : "",
    ...attempt.verdicts.map(([judge, measure, score, reason]) => element("p", { class: "range" }, `${measure} ${score === null ? "undefined" : score.toFixed(2)}, says `, isolated(judge), reason ? [": ", isolated(reason)] : "")),
  ].filter((each) => each !== "");
}

function turnPart(turn, at) {
  const [sent, cached, written] = turn.tokens;
  return element("div", { class: "turn" },
    element("h4", {}, `Turn ${at + 1}`, element("span", { class: "count" }, ` ${count(sent)} sent${cached ? ` (${count(cached)} cached)` : ""}, ${count(written)} written · ${seconds(turn.seconds)}`, turn.stop ? [" · ", isolated(turn.stop)] : [])),
    turn.text ? element("p", { class: turn.text.startsWith("{") ? "said data" : "said", tabindex: "0" }, visible(turn.text)) : "",
    turn.calls.map(callPart));
}

function callPart(call) {
  const box = element("div", { class: call.failed ? "call failed" : "call" },
    element("code", {}, isolated(`${call.name}(${call.arguments})`)),
    element("span", { class: "range" }, ` ${call.failed ? "failed · " : ""}${call.read ? `read ${call.read} section${call.read === 1 ? "" : "s"} · ` : ""}${seconds(call.seconds)}`));
  if (call.result === null) {
    box.append(element("p", { class: "range" }, data.hasText ? "an empty result" : "the result is not in this published copy"));
    return box;
  }
  const place = element("pre", { tabindex: "0" }, "…");
  box.append(place);
  item(call.result).then((text) => fill(place, text));
  return box;
}

function fill(place, text) {
  const all = text.split("\n");
  if (all.length <= SHOWN_LINES + 2) {
    place.replaceChildren(...visible(text));
    return;
  }
  const more = element("button", { type: "button" }, `Show ${all.length - SHOWN_LINES} more lines`);
  more.addEventListener("click", () => { place.replaceChildren(...visible(text)); more.remove(); place.focus(); });
  place.replaceChildren(...visible(all.slice(0, SHOWN_LINES).join("\n")));
  place.after(more);
}

// An id stands whole: what goes on behind it, or before it, makes another one.
function cited(text, ids) {
  const spans = [];
  for (const id of new Set(ids.filter((each) => Object.hasOwn(sections, each)))) {
    for (let at = text.indexOf(id); at >= 0; at = text.indexOf(id, at + 1)) {
      const around = [text.slice(at - 1, at), text.slice(at + id.length, at + id.length + 1)];
      if (!/[\p{L}\p{N}_/.-]/u.test(around[0]) && !/[\p{L}\p{N}_~-]/u.test(around[1])) spans.push([at, id]);
    }
  }
  spans.sort((a, b) => a[0] - b[0] || b[1].length - a[1].length);
  const parts = [];
  let from = 0;
  for (const [at, id] of spans) {
    if (at < from) continue;
    parts.push(...visible(text.slice(from, at)), sectionName(id));
    from = at + id.length;
  }
  return [...parts, ...visible(text.slice(from))];
}

// --- to begin ----------------------------------------------------------------------------------

function start() {
  options();
  headers();
  widen();
  form.hidden = scroller.hidden = byId("key").hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    for (const name of ["text", "shape", "row", "outcome", "agree"]) state[name] = form[name].value;
    show();
    remember();
  });
  form.addEventListener("reset", () => setTimeout(() => {
    Object.assign(state, DEFAULTS);
    show();
    remember();
  }));
  let waiting = false;
  scroller.addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  });
  scroller.addEventListener("keydown", move);
  body.addEventListener("focusin", (event) => { if (event.target.dataset.at) active = Number(event.target.dataset.at); });
  byId("earlier").addEventListener("click", () => step(-1));
  byId("later").addEventListener("click", () => step(1));
  dialog.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by && !event.target.closest("pre, .said")) step(by);
  });
  dialog.addEventListener("close", () => {
    const at = shown.indexOf(known.get(state.q));
    state.q = "";
    opening += 1;
    remember();
    if (opener?.isConnected && !scroller.contains(opener)) return; // the browser has gone back to it
    if (at >= 0) active = at;
    reveal();
  });
  addEventListener("hashchange", recall);
  addEventListener("beforeprint", () => draw({ all: true }));
  addEventListener("afterprint", () => draw());
  show();
  recall();
}

if (data) start();
