// What is shown to the model: the camera, or a picture from a file.
const SIDE = 256; // of a camera frame: no less than what encoders look at
const SMALL = 250_000; // bytes: files up to this size are sent as they are, larger ones are made smaller first
const SHORT_SIDE = 512;

const element = (id) => document.getElementById(id);
const video = element("video");
const picture = element("picture");

let stream = null;
let facing = "environment";
let shown = null; // the picture of a file, as it is sent
let source = "camera";

export const isCamera = () => source === "camera";
export const hasCamera = () => Boolean(stream);

export function use(which) {
  source = which;
  for (const name of ["camera", "files"]) element(`use-${name}`).setAttribute("aria-pressed", String(name === which));
  arrange();
}

function arrange() {
  const camera = source === "camera";
  video.hidden = !(camera && stream);
  element("camera-off").hidden = !(camera && !stream);
  picture.hidden = camera || !shown;
  element("no-files").hidden = camera || Boolean(shown);
  element("stop-camera").hidden = !(camera && stream);
  element("more-files").hidden = camera || !shown;
  element("other-camera").hidden = true;
  if (camera && stream) offerOtherCamera();
}

async function offerOtherCamera() {
  const devices = await navigator.mediaDevices.enumerateDevices();
  element("other-camera").hidden = source !== "camera" || devices.filter((device) => device.kind === "videoinput").length < 2;
}

// ---------------------------------------------------------------- camera

export async function startCamera() {
  if (!navigator.mediaDevices?.getUserMedia) {
    throw new Error("Browsers allow a camera only on the computer that runs the program, or over https. Files work everywhere.");
  }
  stopCamera();
  try {
    stream = await navigator.mediaDevices.getUserMedia({ audio: false, video: { facingMode: facing, width: { ideal: 640 }, height: { ideal: 480 } } });
  } catch (error) {
    const reasons = {
      NotAllowedError: "The browser was not allowed to use the camera. Allow it in the address bar, or use files.",
      NotFoundError: "There is no camera here. Files work just as well.",
      NotReadableError: "The camera is used by another program. Close that one, or use files.",
    };
    throw new Error(reasons[error.name] ?? "The camera could not be started. Files work just as well.");
  }
  const track = stream.getVideoTracks()[0];
  track.addEventListener("ended", stopCamera);
  video.classList.toggle("mirrored", track.getSettings().facingMode === "user");
  video.srcObject = stream;
  await video.play();
  arrange();
}

export function stopCamera() {
  for (const track of stream?.getTracks() ?? []) track.stop();
  stream = null;
  video.srcObject = null;
  arrange();
}

export async function otherCamera() {
  facing = facing === "environment" ? "user" : "environment";
  await startCamera();
}

export async function isAllowed() {
  try {
    return (await navigator.permissions.query({ name: "camera" })).state === "granted";
  } catch {
    return false;
  }
}

// ---------------------------------------------------------------- files

export async function showFile(file) {
  const bitmap = await createImageBitmap(file); // honours the way the camera was held
  drawSquare(picture, bitmap, bitmap.width, bitmap.height, 512);
  picture.setAttribute("aria-label", `The picture ${file.name}`);
  shown = { name: file.name, blob: file.size > SMALL ? await smaller(bitmap) : file, view: copyOf(picture) };
  bitmap.close();
  arrange();
  return shown;
}

export function clearFile() {
  shown = null;
  arrange();
}

function smaller(bitmap) {
  const scale = Math.min(1, SHORT_SIDE / Math.min(bitmap.width, bitmap.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  canvas.getContext("2d").drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return blobOf(canvas);
}

// ---------------------------------------------------------------- frames

export async function frame() {
  if (source === "files") return shown;
  if (!stream || video.readyState < 2) return null;
  const canvas = document.createElement("canvas");
  drawSquare(canvas, video, video.videoWidth, video.videoHeight, SIDE);
  return { name: "camera.jpg", blob: await blobOf(canvas), view: canvas };
}

function drawSquare(canvas, from, width, height, side) {
  const least = Math.min(width, height);
  canvas.width = canvas.height = side;
  canvas.getContext("2d").drawImage(from, (width - least) / 2, (height - least) / 2, least, least, 0, 0, side, side);
}

function copyOf(canvas) {
  const copy = document.createElement("canvas");
  drawSquare(copy, canvas, canvas.width, canvas.height, 88);
  return copy;
}

const blobOf = (canvas) => new Promise((resolve) => canvas.toBlob(resolve, "image/jpeg", 0.92));
