// A proxy before a real server that breaks connections as a test tells it.
import { once } from "node:events";
import { connect, createServer } from "node:net";

/**
 * Starts a proxy on a free port. `budget` says for each connection, counted from 0, how many
 * bytes of the server's answers come through before it is cut.
 */
export async function proxy(t, target, budget = () => Infinity) {
  const { hostname, port } = new URL(target);
  const state = { connections: 0, cuts: 0, open: new Set() };
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    let left = budget(state.connections++);
    state.open.add(client);
    const end = () => {
      state.open.delete(client);
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) socket.on("error", end).on("close", end);
    client.on("data", (data) => upstream.write(data));
    upstream.on("data", (received) => {
      const data = hurried(received);
      if (data.length <= left) {
        left -= data.length;
        client.write(data);
        return;
      }
      state.cuts++;
      if (left <= 0) client.resetAndDestroy();
      else client.end(data.subarray(0, left));
      end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    for (const client of state.open) client.destroy();
    server.close();
  });
  return Object.assign(state, { url: `http://127.0.0.1:${server.address().port}` });
}

/** The server asks for a second before a stream is connected anew, which is too long a hundred times. */
function hurried(data) {
  return Buffer.from(data.toString("latin1").replace("retry: 1000", "retry: 0001"), "latin1");
}
