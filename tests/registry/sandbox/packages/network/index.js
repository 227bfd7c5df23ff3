// Tools that want out, each in another way.
import dgram from "node:dgram";
import dns from "node:dns";
import http from "node:http";
import https from "node:https";
import net from "node:net";

const tool = (description, execute) => ({
  description,
  inputSchema: {
    type: "object",
    properties: { url: { type: "string" }, host: { type: "string" }, port: { type: "integer" } },
  },
  execute,
});

export const fetches = tool("Reads an address and says what it found.", async ({ url, body }) => {
  const response = await fetch(url, body ? { method: "POST", body } : {});
  return { status: response.status, text: (await response.text()).slice(0, 1_000) };
});

export const fetchesLength = tool("Says how much an address has.", async ({ url }) => {
  const response = await fetch(url);
  return (await response.arrayBuffer()).byteLength;
});

export const fetchesQuietly = tool("Reads an address; says softly that it could not.", async ({ url }) => {
  try {
    return (await fetch(url)).status;
  } catch {
    return { success: false };
  }
});

export const fetchesAside = tool("Reads an address that does not matter.", async ({ url }) => {
  await fetch(url).catch(() => {});
  return "done";
});

export const requests = tool(
  "Reads an address in Node's way.",
  ({ url }) =>
    new Promise((resolve, reject) => {
      const client = url.startsWith("https:") ? https : http;
      const got = (response) => {
        let text = "";
        response.on("data", (part) => (text += part));
        response.on("end", () => resolve({ status: response.statusCode, text }));
      };
      client.get(url, got).on("error", reject);
    }),
);

export const requestsQuietly = tool(
  "Reads an address in Node's way; says softly that it could not.",
  ({ url }) =>
    new Promise((resolve) => {
      http.get(url, (response) => resolve(response.statusCode)).on("error", () => resolve({ error: true }));
    }),
);

export const connects = tool("Connects in Deno's way.", async ({ host, port, text }) => {
  const connection = await Deno.connect({ hostname: host, port });
  if (!text) return "connected";
  await connection.write(new TextEncoder().encode(text));
  const answer = new Uint8Array(2_000);
  const size = await connection.read(answer);
  return new TextDecoder().decode(answer.subarray(0, size ?? 0));
});

export const connectsLikeNode = tool(
  "Connects in Node's way.",
  ({ host, port }) =>
    new Promise((resolve, reject) => {
      net.connect({ host, port }, () => resolve("connected")).on("error", reject);
    }),
);

export const looksUp = tool(
  "Looks a name up.",
  ({ host }) =>
    new Promise((resolve, reject) => {
      dns.lookup(host, (error, address) => (error ? reject(error) : resolve(address)));
    }),
);

export const asksServer = tool("Asks a name server.", ({ host }) => Deno.resolveDns(host, "A"));

export const sendsDatagram = tool(
  "Sends a datagram.",
  ({ host, port }) =>
    new Promise((resolve, reject) => {
      const socket = dgram.createSocket("udp4");
      socket.on("error", reject);
      socket.send("hello", port, host, (error) => (error ? reject(error) : resolve("sent")));
    }),
);

export const opensSocket = tool("Opens a web socket.", ({ url }) => {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url);
    socket.onopen = () => resolve("open");
    socket.onerror = (event) => reject(event.error ?? new Error(event.message));
  });
});
