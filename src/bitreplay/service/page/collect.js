// Collecting: while the button is held by finger, mouse or key, a frame is taken ten times a second.
import * as stage from "./stage.js";
import * as tray from "./tray.js";

const PAUSE = 100; // milliseconds between two frames
const HANDS_FREE = 3000;

const element = (id) => document.getElementById(id);
const hold = element("hold");
let holding = false;

async function collect() {
  if (holding || hold.disabled) return;
  holding = true;
  hold.classList.add("down");
  element("frame").classList.add("taking");
  hold.firstElementChild.textContent = "Collecting …";
  do {
    const began = performance.now();
    const frame = await stage.frame();
    if (!frame || tray.isFull()) break;
    tray.add(frame);
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, PAUSE - (performance.now() - began))));
  } while (holding);
  release();
}

function release() {
  holding = false;
  hold.classList.remove("down");
  element("frame").classList.remove("taking");
  hold.firstElementChild.textContent = "Hold to collect pictures";
}

const isKey = (event) => event.code === "Space" || event.code === "Enter" || event.code === "NumpadEnter";

export function begin() {
  hold.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    hold.setPointerCapture(event.pointerId);
    collect();
  });
  for (const end of ["pointerup", "pointercancel", "lostpointercapture", "blur"]) hold.addEventListener(end, release);
  hold.addEventListener("keydown", (event) => {
    if (!isKey(event)) return;
    event.preventDefault();
    if (!event.repeat) collect();
  });
  hold.addEventListener("keyup", (event) => isKey(event) && release());
  hold.addEventListener("contextmenu", (event) => event.preventDefault());
  hold.addEventListener("click", (event) => {
    if (event.detail === 0 && !holding) forAWhile(); // a screen reader presses, and cannot hold
  });
  element("three-seconds").addEventListener("click", forAWhile);
}

function forAWhile() {
  setTimeout(release, HANDS_FREE);
  collect();
}
