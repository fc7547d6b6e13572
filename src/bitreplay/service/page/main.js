// The page: parts are put together, and what people do is turned into questions to the service.
import * as api from "./api.js";
import * as classes from "./classes.js";
import * as collect from "./collect.js";
import * as live from "./live.js";
import * as stage from "./stage.js";
import * as tray from "./tray.js";
import { bytes, milliseconds, plural } from "./words.js";

const element = (id) => document.getElementById(id);
const name = element("name");
let busy = false;
let toastTimer = 0;

// ---------------------------------------------------------------- what is known

function show(state, fresh = null) {
  classes.show(state, { more, forget }, fresh);
  live.setClasses(state.classes);
}

async function refresh() {
  try {
    show(await api.classes());
    element("banner").hidden = true;
  } catch (error) {
    banner(error.status === 401 ? "This page needs its token: open the address that the program printed." : error.message);
  }
}

function banner(words) {
  element("banner").textContent = words;
  element("banner").hidden = false;
}

function toast(words, canUndo) {
  element("toast-words").textContent = words;
  element("toast-undo").hidden = !canUndo;
  element("toast").hidden = false;
  element("spoken").textContent = words;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { element("toast").hidden = true; }, 8000);
}

function result(words, bad = false) {
  element("result").textContent = words;
  element("result").classList.toggle("bad", bad);
  element("result").hidden = false;
  element("spoken").textContent = words;
}

// ---------------------------------------------------------------- what people do

function ready() {
  const canCollect = stage.isCamera() && stage.hasCamera() && !busy;
  element("collecting").hidden = !stage.isCamera();
  element("hold").disabled = element("three-seconds").disabled = !canCollect;
  const count = tray.all().length;
  const called = name.value.trim();
  element("learn").disabled = busy || !count || !called;
  element("learn").textContent = busy ? "Learning …" : count && called ? `Learn “${called}” from ${plural(count, "picture")}` : "Learn";
}

async function learn(event) {
  event.preventDefault();
  const called = name.value.trim();
  if (busy || !called || !tray.all().length) return;
  busy = true;
  ready();
  try {
    const lesson = await api.learn(called, tray.all());
    const { encoding, learning } = lesson.milliseconds;
    const cost = lesson.bytes > 0 ? `It takes ${bytes(lesson.bytes)}.` : "It takes no more room than before.";
    const test = lesson.held_back ? `, ${lesson.held_back} more only test it` : "";
    result(
      `Learned “${called}” from ${plural(lesson.learned, "picture")} in ${milliseconds(learning)}, after ${milliseconds(encoding)} ` +
      `of looking at them${test}. ${cost} The pictures are gone.`,
    );
    tray.clear();
    name.value = "";
    show(lesson, called);
  } catch (error) {
    result(`Not learned: ${error.message}.`, true);
  } finally {
    busy = false;
    ready();
  }
}

async function change(action) {
  try {
    const state = await action();
    show(state);
    return state;
  } catch (error) {
    toast(`That did not work: ${error.message}.`, false);
    return null;
  }
}

async function forget(label) {
  const state = await change(() => api.forget(label));
  if (!state) return;
  toast(`Forgot “${label}”: ${bytes(state.bytes_freed)} are free again.`, true);
  element("knows-title").focus();
}

async function undo() {
  const state = await change(api.undo);
  if (state) toast(`Undone: ${state.undone.replaceAll("'", "")}.`, false);
}

function more(label) {
  name.value = label;
  ready();
  element("teach").scrollIntoView({ block: "nearest" });
  (stage.isCamera() && stage.hasCamera() ? element("hold") : name).focus();
}

async function addFiles(files) {
  const unread = [];
  for (const file of files) {
    try {
      tray.add(await stage.showFile(file));
    } catch {
      unread.push(file.name);
    }
  }
  if (unread.length) toast(`Not a picture that this browser can read: ${unread.slice(0, 3).join(", ")}${unread.length > 3 ? " …" : ""}`, false);
  ready();
}

async function startCamera(start) {
  try {
    await start();
  } catch (error) {
    element("camera-words").textContent = error.message;
    element("spoken").textContent = error.message;
  }
  ready();
}

function use(which) {
  stage.use(which);
  ready();
}

// ---------------------------------------------------------------- connections

element("form").addEventListener("submit", learn);
name.addEventListener("input", ready);
document.addEventListener("tray", () => {
  if (tray.all().length) element("result").hidden = true; // it spoke of the last class
  ready();
});
element("discard").addEventListener("click", () => { tray.clear(); stage.clearFile(); });
element("undo").addEventListener("click", undo);
element("toast-undo").addEventListener("click", undo);
element("use-camera").addEventListener("click", () => use("camera"));
element("use-files").addEventListener("click", () => use("files"));
element("start-camera").addEventListener("click", () => startCamera(stage.startCamera));
element("other-camera").addEventListener("click", () => startCamera(stage.otherCamera));
element("stop-camera").addEventListener("click", () => { stage.stopCamera(); ready(); });
for (const id of ["choose-files", "more-files"]) element(id).addEventListener("click", () => element("files").click());
element("files").addEventListener("change", async (event) => { await addFiles([...event.target.files]); event.target.value = ""; });

const frame = element("frame");
for (const kind of ["dragenter", "dragover"]) {
  document.addEventListener(kind, (event) => { event.preventDefault(); frame.classList.add("over"); });
}
document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) frame.classList.remove("over"); });
document.addEventListener("drop", (event) => {
  event.preventDefault();
  frame.classList.remove("over");
  if (event.dataTransfer.files.length) {
    use("files");
    addFiles([...event.dataTransfer.files]);
  }
});

for (const [id, path, file] of [["download-model", "/v1/model", "model.bitreplay"], ["download-device", "/v1/device.zip", "device.zip"]]) {
  element(id).addEventListener("click", async () => {
    try {
      toast(`${file}: ${bytes(await api.download(path, file))}`, false);
    } catch (error) {
      toast(`No download: ${error.message}.`, false);
    }
  });
}

if (!["localhost", "127.0.0.1", "[::1]"].includes(location.hostname)) {
  element("privacy").textContent = `Pictures go to the program on ${location.hostname}, are turned into answers, and are gone. No other computer is asked.`;
  element("camera-words").textContent = `Pictures from the camera go to the program on ${location.hostname}, and nowhere else.`;
}

collect.begin();
use("camera");
await refresh();
live.run(
  () => banner("The program has stopped. Start it again in the terminal: this page goes on by itself."),
  refresh,
);
if (await stage.isAllowed()) startCamera(stage.startCamera);
