// What the model sees at this moment: the next frame is sent when the last one has been answered.
import * as api from "./api.js";
import * as stage from "./stage.js";
import { percent } from "./words.js";

const PAUSE = 120; // milliseconds between two questions: eyes need no more, and the processor is left some rest
const STEADY = 1200; // milliseconds after which an answer is worth being spoken

const element = (id) => document.getElementById(id);
const answer = element("answer");
const hint = element("answer-hint");
const bars = element("bars");

let known = [];
let asked = null; // the picture that was asked about last: a file is not asked about twice
let last = { words: "", since: 0, spoken: "" };

export function setClasses(classes) {
  known = classes.map((one) => one.label);
  asked = null;
  if (!known.length) say("empty", "Nothing yet", "It has to learn something first.");
}

export async function run(onGone, onBack) {
  let gone = false;
  for (;;) {
    const began = performance.now();
    try {
      await once();
      if (gone) onBack();
      gone = false;
    } catch (error) {
      if (error instanceof api.Gone) {
        if (!gone) onGone();
        gone = true;
        asked = null;
      } else if (error.status !== 409 && error.status !== 503) {
        say("empty", "It cannot look", error.message);
      }
    }
    const rest = gone ? 1500 : Math.max(0, PAUSE - (performance.now() - began));
    await new Promise((resolve) => setTimeout(resolve, rest));
    if (gone) await api.classes().then(() => { gone = false; onBack(); }, () => {});
  }
}

async function once() {
  if (!known.length || document.hidden) return;
  const frame = await stage.frame();
  if (!frame) {
    asked = null;
    say("empty", "Nothing to look at", stage.isCamera() ? "Turn the camera on." : "Choose a picture.");
    return;
  }
  if (!stage.isCamera() && frame === asked) return;
  const { predictions: [prediction] } = await api.predict(frame);
  asked = frame;
  show(prediction);
}

function show(prediction) {
  const [best] = prediction.top;
  if (!known.includes(best.label)) return; // forgotten while this was on its way
  if (!prediction.known) {
    say("unknown", "Unknown", `Most like ${best.label}, but not like it enough.`);
  } else if (known.length === 1) {
    say("known", best.label, "It knows nothing else yet, so everything looks like it. Teach a second class.");
  } else {
    say("known", best.label, best.probability > 0.9 ? "Quite sure." : "Fairly sure.");
  }
  bars.hidden = false;
  bars.classList.toggle("doubtful", !prediction.known);
  while (bars.children.length < prediction.top.length) bars.append(row());
  while (bars.children.length > prediction.top.length) bars.lastElementChild.remove();
  prediction.top.forEach((guess, place) => {
    const [name, share, track] = bars.children[place].children;
    name.textContent = guess.label;
    // Shares are of what is known; if it is none of these, they would only mislead.
    share.textContent = prediction.known ? percent(guess.probability) : place ? "" : "closest";
    track.firstElementChild.style.transform = `scaleX(${prediction.known ? guess.probability : 0})`;
  });
}

function row() {
  const item = document.createElement("li");
  for (const kind of ["name", "share", "track"]) {
    const part = document.createElement(kind === "track" ? "div" : "span");
    part.className = kind;
    item.append(part);
  }
  const fill = document.createElement("div");
  fill.className = "fill";
  item.lastElementChild.append(fill);
  return item;
}

function say(state, words, more) {
  answer.dataset.state = state;
  answer.textContent = words;
  element("caption").textContent = words; // over the picture, where a phone has no room beside it
  element("caption").hidden = state === "empty";
  hint.textContent = more;
  if (state === "empty") bars.hidden = true;
  const now = performance.now();
  if (words !== last.words) last = { ...last, words, since: now };
  if (state !== "empty" && now - last.since > (stage.isCamera() ? STEADY : 0) - 1 && last.spoken !== words) {
    last.spoken = words;
    element("spoken").textContent = `It sees: ${words}`;
  }
}
