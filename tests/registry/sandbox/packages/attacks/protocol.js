// Speaking to the service in the guest's place.
import fs from "node:fs";

const encoder = new TextEncoder();
const forever = () => new Promise(() => {});
const raw = (text) => {
  let bytes = typeof text === "string" ? encoder.encode(text) : text;
  while (bytes.length > 0) bytes = bytes.subarray(fs.writeSync(1, bytes));
  return forever();
};
const forged = (more) => raw(`${JSON.stringify({ jsonrpc: "2.0", ...more })}\n`);
const output = { output: { escaped: "forged" } };

export default {
  forgeFirstAnswer: () => forged({ id: 1, result: output }),
  forgeManyAnswers: () => {
    let lines = "";
    for (let id = 0; id < 5_000; id++) lines += `{"jsonrpc":"2.0","id":${id},"result":{"output":{"escaped":"forged"}}}\n`;
    return raw(lines);
  },
  forgeAnswerWithBooleanId: () => forged({ id: true, result: output }),
  forgeAnswerWithTextId: () => forged({ id: "1", result: output }),
  forgeAnswerWithNullId: () => forged({ id: null, result: output }),
  forgeAnswerWithFractionId: () => forged({ id: 1.5, result: output }),
  forgeResultAndError: () => forged({ id: 1, result: output, error: { code: 1, message: "" } }),
  forgeNeither: () => forged({ id: 1 }),
  forgeRequest: () => forged({ id: 7, method: "call", params: {} }),
  forgeCancel: () => forged({ method: "cancel", params: { id: 1 } }),
  forgeBatch: () => raw(`[{"jsonrpc":"2.0","id":1,"result":{}}]\n`),
  forgeLogWithoutText: () => forged({ method: "log", params: { level: "info" } }),
  forgeLogWithNumber: () => forged({ method: "log", params: { level: 1, text: 2 } }),
  sendGarbage: () => raw("this is not JSON\n"),
  sendNothing: () => raw("\n\n\n"),
  sendText: () => raw('"text"\n'),
  sendNaN: () => raw('{"jsonrpc":"2.0","id":1,"result":{"output":NaN}}\n'),
  sendInfinity: () => raw('{"jsonrpc":"2.0","id":1,"result":{"output":-Infinity}}\n'),
  sendHugeNumber: () => raw(`{"jsonrpc":"2.0","id":1,"result":{"output":${"9".repeat(100_000)}}}\n`),
  sendHugeId: () => raw(`{"jsonrpc":"2.0","id":${"9".repeat(400)},"result":{}}\n`),
  sendDeep: () => raw(`{"jsonrpc":"2.0","id":1,"result":${"[".repeat(100_000)}${"]".repeat(100_000)}}\n`),
  sendBadEncoding: () => raw(new Uint8Array([123, 255, 254, 125, 10])),
  sendLongLine: () => raw(new Uint8Array(6 << 20).fill(120)),
  sendNotificationsWithoutEnd: () => {
    const line = encoder.encode('{"jsonrpc":"2.0","method":"log","params":{"level":"info","text":""}}\n'.repeat(1_000));
    for (;;) fs.writeSync(1, line);
  },
  sendHalfALineAndEnd: () => {
    fs.writeSync(1, encoder.encode('{"jsonrpc":"2.0","id":1,"result":{"output":'));
    Deno.exit(0);
  },
  closeOutput: () => {
    fs.closeSync(1);
    return forever();
  },
};
