// The WebSocket: one picture is on its way at a time, the latest request wins, lost ones come again.

const BASE = "lindero-play-base";

export function readFrame(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const arrays = {};
  let start = 4 + length;
  for (const { name, shape } of header.arrays) {
    const count = shape.reduce((a, b) => a * b, 1);
    arrays[name] = { shape, data: new Float32Array(buffer, start, count) };
    start += 4 * count;
  }
  return { ...header, arrays };
}

export class Connection {
  // `handlers`: welcome, frame, state, problem.
  constructor(handlers) {
    this.handlers = handlers;
    this.sequence = 0;
    this.outstanding = null; // the picture on its way: {sequence, panels still missing}
    this.wanted = null; // makes the picture that is to be sent next
    this.socket = null;
    this.delay = 250;
    // A page that was opened later has the newer token: this one goes on with it.
    localStorage.setItem(BASE, location.pathname);
    addEventListener("storage", (event) => {
      if (event.key === BASE && !this.isOpen) this.open();
    });
    this.open();
  }

  get isOpen() { return this.socket?.readyState === WebSocket.OPEN; }

  open() {
    clearTimeout(this.timer);
    if (this.socket) {
      this.socket.onclose = null;
      this.socket.close();
    }
    const base = localStorage.getItem(BASE) || location.pathname;
    const paths = this.tries % 2 ? location.pathname : base;
    this.tries = (this.tries ?? 0) + 1;
    const socket = new WebSocket(`ws://${location.host}${paths}socket`);
    socket.binaryType = "arraybuffer";
    socket.onmessage = (event) => this.receive(event.data);
    socket.onclose = () => {
      this.outstanding = null;
      this.handlers.state(false);
      this.timer = setTimeout(() => this.open(), this.delay);
      this.delay = Math.min(this.delay * 1.6, 3000);
    };
    this.socket = socket;
  }

  receive(data) {
    if (typeof data === "string") {
      const message = JSON.parse(data);
      if (message.kind === "welcome") {
        this.delay = 250;
        this.tries = 0;
        this.outstanding = null;
        this.handlers.state(true);
        this.handlers.welcome(message);
        this.pump();
      } else {
        this.outstanding = null;
        this.handlers.problem(message);
        this.pump();
      }
      return;
    }
    const frame = readFrame(data);
    const waiting = this.outstanding;
    if (waiting && frame.sequence === waiting.sequence && !(frame.fine && frame.kind === "picture")) {
      waiting.missing.delete(frame.panel);
      if (!waiting.missing.size) this.outstanding = null;
    }
    this.handlers.frame(frame);
    this.pump();
  }

  // `make` is called when the request can go: it has the latest state then.
  request(make) {
    this.wanted = make;
    this.pump();
  }

  pump() {
    if (!this.wanted || this.outstanding || !this.isOpen) return;
    const message = this.wanted();
    this.wanted = null;
    const sequence = this.send(message);
    this.outstanding = { sequence, missing: new Set(message.machines.map((_, k) => k)) };
    document.body.dataset.asked = sequence;
  }

  send(message) {
    const sequence = ++this.sequence;
    if (this.isOpen) this.socket.send(JSON.stringify({ ...message, sequence }));
    return sequence;
  }
}
