// Using up what the machine has. Each ends with an error, or within its bounds.
import fs from "node:fs";

const MB = 1 << 20;
const fill = (path, megabytes) => {
  const chunk = new Uint8Array(MB).fill(1);
  const file = Deno.openSync(path, { create: true, append: true });
  let written = 0;
  try {
    while (written < megabytes) {
      file.writeSync(chunk);
      written += 1;
    }
  } catch {
    return written;
  }
  return written;
};

export default {
  spin: () => {
    for (;;);
  },
  spinInMicrotasks: () => {
    const again = () => Promise.resolve().then(again);
    return again();
  },
  spinInTimers: () => new Promise(() => setInterval(() => {}, 0)),
  neverAnswer: () => new Promise(() => {}),
  backtrack: () => /^(a+)+$/.test(`${"a".repeat(40)}!`),
  fillHeap: () => {
    const kept = [];
    for (;;) kept.push({ text: `${Math.random()}`.repeat(100) });
  },
  fillBuffers: () => {
    const kept = [];
    for (;;) kept.push(new Uint8Array(32 * MB).fill(1));
  },
  fillWasmMemory: () => {
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 65_536 });
    for (;;) {
      memory.grow(512);
      new Uint8Array(memory.buffer).fill(1);
    }
  },
  fillSharedBuffers: () => {
    const kept = [];
    for (;;) kept.push(new Uint8Array(new SharedArrayBuffer(32 * MB)).fill(1));
  },
  fillSharedWasmMemory: () => {
    const kept = [];
    for (;;) {
      const memory = new WebAssembly.Memory({ initial: 512, maximum: 512, shared: true });
      kept.push(new Uint8Array(memory.buffer).fill(1));
    }
  },
  fillString: () => {
    let text = "x".repeat(MB);
    const kept = [];
    for (;;) kept.push((text += Math.random()));
  },
  fillTemporaryFolder: () => {
    let total = 0;
    for (let number = 0; number < 20; number++) total += fill(`/tmp/fill-${number}`, 16);
    return total > 64 ? `${total} MB` : null;
  },
  fillOneFile: () => {
    const written = fill("/tmp/one", 60);
    return written > 33 ? `${written} MB` : null;
  },
  makeFilesWithoutEnd: () => {
    for (let number = 0; ; number++) fs.writeFileSync(`/tmp/file-${number}`, "");
  },
  makeFoldersWithoutEnd: () => {
    let path = "/tmp";
    for (;;) fs.mkdirSync((path += "/d"));
  },
  openWithoutEnd: () => {
    const kept = [];
    try {
      for (;;) kept.push(Deno.openSync("/dev/null"));
    } catch {
      return kept.length > 256 ? `${kept.length} files` : null;
    }
  },
  startThreadsWithoutEnd: () => {
    const kept = [];
    const code = "setInterval(() => {}, 1000)";
    for (let number = 0; number < 200; number++) {
      kept.push(new Worker(`data:application/javascript,${code}`, { type: "module" }));
    }
    return new Promise((resolve) => setTimeout(() => resolve(null), 500));
  },
  answerTooMuch: () => "x".repeat(2 * MB),
  answerFarTooMuch: () => "x".repeat(20 * MB),
  answerTooDeep: () => {
    let deep = 1;
    for (let level = 0; level < 500; level++) deep = [deep];
    return deep;
  },
  logWithoutEnd: () => {
    for (;;) console.log("x".repeat(1_000));
  },
  writeErrorsWithoutEnd: () => {
    for (;;) Deno.stderr.writeSync(new Uint8Array(MB).fill(120));
  },
  endAtOnce: () => Deno.exit(0),
  abort: () => process.abort(),
  killItself: () => Deno.kill(Deno.pid, "SIGKILL"),
};
