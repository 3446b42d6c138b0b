// Receives callbacks on a port and prints what they tell.
// Usage: CALLBACK_SECRET=whsec_… node examples/receiver.mjs [PORT]
import { createServer } from "node:http";
import { CallbackError, verifyCallback } from "lineshaft/callbacks";

const seen = new Set();

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  try {
    const event = await verifyCallback(process.env.CALLBACK_SECRET ?? "", request.headers, Buffer.concat(chunks));
    const id = request.headers["webhook-id"];
    if (!seen.has(id)) tell(event); // the same may come again
    seen.add(id);
    response.writeHead(204).end();
  } catch (error) {
    if (!(error instanceof CallbackError)) console.error(error);
    response.writeHead(error instanceof CallbackError ? 401 : 500).end();
  }
});

function tell({ type, data }) {
  if (type === "run.state_changed") console.log(type, data.run_id, data.state);
  else console.log(type); // such as notification.test, which is about no run
}

server.listen(Number(process.argv[2] ?? 0), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
