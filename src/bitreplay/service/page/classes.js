// What is known: a card for every class, with the patterns that are kept of it.
import * as api from "./api.js";
import { bytes, percent, plural } from "./words.js";

const element = (id) => document.getElementById(id);
const drawn = new Map(); // strip -> what is drawn on it
const last = new Map(); // label -> what was kept when it was last asked for, to be shown until the answer comes

export function show(state, actions, fresh = null) {
  drawn.clear();
  for (const label of last.keys()) if (!state.classes.some((one) => one.label === label)) last.delete(label);
  element("file").textContent = `${state.model.file} · ${state.classes.length ? `${plural(state.classes.length, "class", "classes")}, ${bytes(state.model.memory_bytes)}` : "empty"}`;
  const undo = element("undo");
  undo.disabled = !state.model.undo;
  undo.title = state.model.undo ? `Undo ${state.model.undo}` : "Nothing to undo";
  element("no-classes").hidden = state.classes.length > 0;
  for (const name of ["model", "device"]) element(`download-${name}`).disabled = !state.classes.length;
  element("known").replaceChildren(...state.classes.map((one) => new Option(one.label, one.label)));
  element("score").textContent = score(state.classes);
  element("cards").replaceChildren(...state.classes.map((one) => card(one, actions, one.label === fresh)));
}

function score(classes) {
  const right = classes.reduce((sum, one) => sum + one.held_back.recognised, 0);
  const all = classes.reduce((sum, one) => sum + one.held_back.of, 0);
  if (!all || classes.length < 2) return "";
  return `${percent(right / all)} of ${plural(all, "test picture")} recognised`;
}

function card(one, actions, fresh) {
  const item = document.createElement("li");
  item.className = fresh ? "card fresh" : "card";
  const title = document.createElement("h3");
  title.textContent = one.label;
  const facts = document.createElement("p");
  facts.className = "hint";
  const tested = one.held_back.of ? ` · ${one.held_back.recognised} of ${one.held_back.of} tests right` : "";
  facts.textContent = `from ${plural(one.samples, "picture")} · ${bytes(one.bytes)}${tested}`;
  const strip = document.createElement("div");
  strip.className = "strip";
  strip.setAttribute("role", "img");
  strip.setAttribute("aria-label", `What is kept of ${one.label}: ${plural(one.prototypes, "pattern")} of bits, no photograph`);
  const foot = document.createElement("div");
  foot.className = "foot";
  foot.append(
    button("More pictures", `More pictures of ${one.label}`, () => actions.more(one.label)),
    button("Forget", `Forget ${one.label}`, () => actions.forget(one.label), "forget"),
  );
  item.append(title, facts, strip, foot);
  if (last.has(one.label)) draw(strip, last.get(one.label));
  api.kept(one.label).then((kept) => { last.set(one.label, kept); draw(strip, kept); }, () => {});
  return item;
}

function button(words, spoken, action, kind = "more") {
  const made = document.createElement("button");
  made.type = "button";
  made.className = `quiet ${kind}`;
  made.textContent = words;
  made.setAttribute("aria-label", spoken);
  made.addEventListener("click", action);
  return made;
}

function draw(strip, kept) {
  drawn.set(strip, kept);
  const columns = Math.max(1, Math.round(Math.sqrt(kept.width * 1.25)));
  const rows = Math.ceil(kept.width / columns);
  const [low, high] = ["--bit-low", "--bit-high"].map(colour);
  strip.replaceChildren(...kept.prototypes.map((prototype) => {
    const canvas = document.createElement("canvas");
    canvas.width = columns;
    canvas.height = rows;
    const context = canvas.getContext("2d");
    const image = context.createImageData(columns, rows);
    const shades = atob(prototype.shades);
    for (let place = 0; place < shades.length; place++) {
      const share = shades.charCodeAt(place) / 255;
      for (let part = 0; part < 3; part++) image.data[4 * place + part] = low[part] + share * (high[part] - low[part]);
      image.data[4 * place + 3] = 255;
    }
    context.putImageData(image, 0, 0);
    canvas.title = `A pattern that ${percent(prototype.weight)} of the pictures follow`;
    return canvas;
  }));
}

function colour(name) {
  const hex = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const [strip, kept] of drawn) draw(strip, kept);
});
