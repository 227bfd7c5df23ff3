// Reaching anything outside. The witness listens; it must hear nothing.
import dgram from "node:dgram";
import dns from "node:dns/promises";
import http from "node:http";
import net from "node:net";

const connected = (options) =>
  new Promise((resolve, reject) => {
    const socket = net.connect(options, () => resolve("connected"));
    socket.on("error", reject);
  });
const soon = (promise) =>
  Promise.race([promise, new Promise((resolve) => setTimeout(() => resolve(null), 500))]);

export default {
  fetchHost: async ({ port }) => (await fetch(`http://127.0.0.1:${port}/`)).status,
  fetchHostByName: async ({ port }) => (await fetch(`http://localhost:${port}/`)).status,
  fetchHostByNumber: async ({ port }) => (await fetch(`http://2130706433:${port}/`)).status,
  fetchHostByIPv6: async ({ port }) => (await fetch(`http://[::1]:${port}/`)).status,
  fetchMappedAddress: async ({ port }) =>
    (await fetch(`http://[::ffff:127.0.0.1]:${port}/`)).status,
  fetchMetadata: async () => (await fetch("http://169.254.169.254/latest/meta-data/")).status,
  fetchMetadataName: async () => (await fetch("http://metadata.google.internal/")).status,
  requestLikeNode: ({ port }) =>
    new Promise((resolve, reject) => {
      http.get({ host: "127.0.0.1", port }, () => resolve("answered")).on("error", reject);
    }),
  connectTcp: async ({ port }) => (await Deno.connect({ hostname: "127.0.0.1", port })) && "tcp",
  connectTcpLikeNode: ({ port }) => connected({ host: "127.0.0.1", port }),
  connectTls: async ({ port }) =>
    (await Deno.connectTls({ hostname: "127.0.0.1", port })) && "tls",
  connectAnyAddress: async ({ port }) =>
    (await Deno.connect({ hostname: "0.0.0.0", port })) && "tcp",
  connectWebSocket: ({ port }) =>
    soon(
      new Promise((resolve, reject) => {
        const socket = new WebSocket(`ws://127.0.0.1:${port}/`);
        socket.onopen = () => resolve("open");
        socket.onerror = (event) => reject(new Error(event.message));
      }),
    ),
  listenToEvents: ({ port }) =>
    soon(
      new Promise((resolve, reject) => {
        const source = new EventSource(`http://127.0.0.1:${port}/`);
        source.onopen = () => resolve("open");
        source.onerror = () => reject(new Error("closed"));
      }),
    ),
  sendDatagram: ({ udp }) =>
    new Promise((resolve, reject) => {
      const socket = dgram.createSocket("udp4");
      socket.on("error", reject);
      socket.send("x", udp, "127.0.0.1", (error) => (error ? reject(error) : resolve("sent")));
    }),
  sendDatagramLikeDeno: ({ udp }) => {
    const socket = Deno.listenDatagram({ port: 0, transport: "udp", hostname: "0.0.0.0" });
    return socket.send(new Uint8Array(1), { transport: "udp", hostname: "127.0.0.1", port: udp });
  },
  resolveName: async () => (await Deno.resolveDns("example.com", "A")).join(),
  resolveNameLikeNode: async () => (await dns.lookup("example.com")).address,
  resolveAtOwnServer: async ({ udp }) =>
    (
      await Deno.resolveDns("secret.example.com", "TXT", {
        nameServer: { ipAddr: "127.0.0.1", port: udp },
      })
    ).join(),
  connectUnixSocket: async ({ unix }) =>
    (await Deno.connect({ transport: "unix", path: unix })) && "unix",
  connectUnixSocketLikeNode: ({ unix }) => connected({ path: unix }),
  connectAbstractSocket: async ({ abstract }) =>
    (await Deno.connect({ transport: "unix", path: `\0${abstract}` })) && "abstract",
  connectAbstractSocketLikeNode: ({ abstract }) => connected({ path: `\0${abstract}` }),
  connectService: async ({ socket }) =>
    (await Deno.connect({ transport: "unix", path: socket })) && "service",
  connectVirtualMachine: async () =>
    (await Deno.connect({ transport: "vsock", cid: 2, port: 1024 })) && "vsock",
  listenToAll: () => Deno.listen({ hostname: "0.0.0.0", port: 18_080 }) && "listening",
  listenLikeNode: () =>
    new Promise((resolve, reject) => {
      net.createServer().on("error", reject).listen(18_081, () => resolve("listening"));
    }),
  askForNetwork: async () =>
    (await Deno.permissions.request({ name: "net" })).state === "granted" ? "granted" : null,
  importFromHost: ({ port }) => import(`http://127.0.0.1:${port}/evil.mjs`),
  importFromAfar: () => import("https://example.com/evil.mjs"),
  importFromRegistry: () => import("npm:left-pad@1.3.0"),
  importFromOtherRegistry: () => import("jsr:@std/assert"),
  workerFromHost: ({ port }) =>
    soon(
      new Promise((resolve, reject) => {
        const worker = new Worker(`http://127.0.0.1:${port}/evil.mjs`, { type: "module" });
        worker.onmessage = () => resolve("ran");
        worker.onerror = (event) => {
          event.preventDefault();
          reject(new Error(event.message));
        };
      }),
    ),
};
