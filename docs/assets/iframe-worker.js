"use strict";
// Browsers start no workers for pages that are opened from a folder. There, the worker of the search runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.srcdoc = "<!doctype html><title>search</title>";
      this.frame.addEventListener("load", () => this.load(String(url)), { once: true });
      document.body.append(this.frame);
    }

    load(url) {
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      const script = inside.document.createElement("script");
      script.src = url;
      script.addEventListener("load", () => {
        this.ready = true;
        for (const data of this.waiting.splice(0)) this.postMessage(data);
      });
      inside.document.head.append(script);
    }

    postMessage(data) {
      if (!this.ready) this.waiting.push(data);
      else this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
