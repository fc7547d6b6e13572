// Pictures that were collected and are not learned yet. They are only here, in the page.
import { plural } from "./words.js";

export const MOST = 200;
const SHOWN = 12;
const SIDE = 88;

const element = (id) => document.getElementById(id);
let pictures = [];

export const all = () => pictures;
export const isFull = () => pictures.length >= MOST;

export function add(picture) {
  if (isFull()) return;
  pictures.push({ name: picture.name, blob: picture.blob });
  const item = document.createElement("li");
  const small = document.createElement("canvas");
  small.width = small.height = SIDE;
  small.getContext("2d").drawImage(picture.view, 0, 0, SIDE, SIDE);
  item.append(small);
  const list = element("thumbs");
  list.prepend(item);
  while (list.children.length > SHOWN) list.lastElementChild.remove();
  show();
}

export function clear() {
  pictures = [];
  element("thumbs").replaceChildren();
  show();
}

function show() {
  element("tray").hidden = !pictures.length;
  element("count").textContent = plural(pictures.length, "picture") + (isFull() ? ", which is plenty" : "");
  document.dispatchEvent(new Event("tray"));
}
