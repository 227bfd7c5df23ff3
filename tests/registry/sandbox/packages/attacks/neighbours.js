// The neighbour: another call that runs at the same time, with a secret of its own.
import fs from "node:fs";
import net from "node:net";

const PORT = 18_099;
const FOLDERS = ["/tmp", "/pkg", "/rt", "/etc", "/dev", "/cache"];
const SECRET = /neighbour-[0-9a-f]{16}/;

// Ask a socket for the neighbour's secret.
const ask = (where) =>
  new Promise((resolve, reject) => {
    const client = net.connect(where, () => {});
    client.on("data", (data) => resolve(String(data)));
    client.on("error", reject);
    setTimeout(() => reject(new Error("silence")), 300);
  });

const attempt = (action) => {
  try {
    return action();
  } catch {
    return null;
  }
};

function* filesBelow(folder) {
  for (const entry of attempt(() => fs.readdirSync(folder, { withFileTypes: true })) ?? []) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) yield* filesBelow(path);
    else if (entry.isFile()) yield path;
  }
}

export const hold = async ({ secret }) => {
  Deno.env.set("KEPT", secret);
  attempt(() => fs.writeFileSync("/tmp/neighbour.txt", secret));
  attempt(() => localStorage.setItem("neighbour", secret));
  attempt(() => fs.writeFileSync("/cache/neighbour", secret));
  for (const where of ["\0neighbour", "/tmp/neighbour", { port: PORT }]) {
    attempt(() => net.createServer((client) => client.end(secret)).on("error", () => {}).listen(where));
  }
  const channel = new BroadcastChannel("neighbour");
  channel.onmessage = () => channel.postMessage(secret);
  for (;;) {
    attempt(() => channel.postMessage(secret));
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
};

export default {
  askNeighbourByAbstractSocket: () => ask("\0neighbour"),
  askNeighbourBySocketFile: () => ask("/tmp/neighbour"),
  askNeighbourByLoopback: () => ask({ port: PORT, host: "127.0.0.1" }),
  listenInItsPlace: () =>
    new Promise((resolve, reject) => {
      const server = net.createServer(() => resolve("somebody came"));
      server.on("error", reject);
      server.listen(PORT, "127.0.0.1");
      setTimeout(() => resolve(null), 100);
    }),
  hearNeighbour: () =>
    new Promise((resolve) => {
      const channel = new BroadcastChannel("neighbour");
      channel.onmessage = ({ data }) => resolve(data);
      channel.postMessage("tell");
      setTimeout(() => resolve(null), 150);
    }),
  readNeighbourFile: () => fs.readFileSync("/tmp/neighbour.txt", "utf8"),
  readNeighbourStorage: () => localStorage.getItem("neighbour"),
  readNeighbourDatabase: async () => {
    const database = await Deno.openKv();
    return (await database.get(["neighbour"])).value;
  },
  readNeighbourWebCache: async () => {
    const cache = await caches.open("neighbour");
    return (await cache.match("http://neighbour.example/"))?.text();
  },
  searchFilesForNeighbour: () => {
    for (const folder of FOLDERS) {
      for (const path of filesBelow(folder)) {
        const found = SECRET.exec(attempt(() => fs.readFileSync(path, "latin1")) ?? "");
        if (found) return found[0];
      }
    }
    return null;
  },
  searchFreshMemory: () => {
    for (const bytes of [1 << 10, 1 << 16, 1 << 22]) {
      for (let n = 0; n < 8; n++) {
        const found = SECRET.exec(Buffer.allocUnsafe(bytes).toString("latin1"));
        if (found) return found[0];
      }
    }
    return null;
  },
  seeNeighbour: () => {
    for (let pid = 3; pid < 5000; pid++) {
      if (attempt(() => process.kill(pid, 0))) return `process ${pid}`;
    }
    return null;
  },
  killEverybody: () => {
    process.kill(-1, "SIGKILL");
    return "killed";
  },
  readUsageOfNeighbour: () => {
    for (const place of ["/sys/fs/cgroup/cpu.stat", "/proc/stat", "/proc/loadavg"]) {
      const found = attempt(() => fs.readFileSync(place, "utf8"));
      if (found) return found;
    }
    return null;
  },
  askForLoad: () => Deno.loadavg().join(" "),
  askForMemory: () => JSON.stringify(Deno.systemMemoryInfo()),
  watchSharedFiles: async () => {
    const watcher = Deno.watchFs("/pkg");
    setTimeout(() => watcher.close(), 300);
    for await (const { paths } of watcher) return paths[0];
    return "watched";
  },
  watchSharedFilesLikeNode: () =>
    new Promise((resolve, reject) => {
      fs.watch("/pkg", (_, name) => resolve(name)).on("error", reject);
      setTimeout(() => resolve("watched"), 100);
    }),
  changeTimesOfSharedFiles: () => {
    Deno.utimeSync("/pkg/entry.mjs", 0, 0);
    return "changed";
  },
};
