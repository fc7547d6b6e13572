// The search of a page that was opened from the disk, where browsers start no worker: its script runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inner = frame.contentWindow;
      inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inner.document.createElement("script");
      script.src = url;
      this.started = new Promise((resolve) => script.addEventListener("load", resolve));
      this.inner = inner;
      inner.document.body.append(script);
    }

    postMessage(data) {
      this.started.then(() => this.inner.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
}
