// The service, as functions. Everything goes to where the page came from.
const KEY = "bitreplay-token";

function token() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    sessionStorage.setItem(KEY, given);
    history.replaceState(null, "", location.pathname); // not to be read over a shoulder, or bookmarked
  }
  return sessionStorage.getItem(KEY);
}

const secret = token();

export class Refused extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

export class Gone extends Error {}

async function ask(path, options = {}) {
  const headers = secret ? { Authorization: `Bearer ${secret}` } : {};
  let answer;
  try {
    answer = await fetch(path, { ...options, headers, credentials: "omit", cache: "no-store" });
  } catch {
    throw new Gone("the program does not answer");
  }
  if (answer.ok) return answer;
  const problem = await answer.json().catch(() => ({}));
  throw new Refused(answer.status, problem.detail || problem.title || `the program answered ${answer.status}`);
}

function form(words, pictures = []) {
  const content = new FormData();
  for (const [name, word] of Object.entries(words)) content.append(name, word);
  for (const picture of pictures) content.append("image", picture.blob, picture.name);
  return { method: "POST", body: content };
}

export const classes = async () => (await ask("/v1/classes")).json();
export const kept = async (label) => (await ask(`/v1/kept?${new URLSearchParams({ label })}`)).json();
export const predict = async (picture) => (await ask("/v1/predict", form({}, [picture]))).json();
export const learn = async (label, pictures) => (await ask("/v1/learn", form({ label, hold_back: "true" }, pictures))).json();
export const forget = async (label) => (await ask("/v1/forget", form({ label }))).json();
export const undo = async () => (await ask("/v1/undo", { method: "POST" })).json();

export async function download(path, name) {
  const content = await (await ask(path)).blob();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  return content.size;
}
