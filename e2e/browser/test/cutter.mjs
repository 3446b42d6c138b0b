// A wire between browser and server that can be cut and mended.
import net from "node:net";

/** Forwards connections to url. cut() ends all and refuses new ones; fail() answers 503, as a proxy does; mend() heals. */
export async function startWire(url) {
  const { hostname, port } = new URL(url);
  const open = new Set();
  let state = "whole";
  const server = net.createServer((near) => {
    open.add(near);
    near.on("close", () => open.delete(near));
    near.on("error", () => near.destroy());
    if (state === "cut") return near.destroy();
    if (state === "failing") {
      near.once("data", () => near.end("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"));
      return;
    }
    const far = net.connect(Number(port), hostname);
    far.on("error", () => near.destroy());
    far.on("close", () => near.destroy());
    near.on("close", () => far.destroy());
    near.pipe(far).pipe(near);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const drop = (next) => {
    state = next;
    for (const socket of open) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    cut: () => drop("cut"),
    fail: () => drop("failing"),
    mend: () => (state = "whole"),
    close: () => {
      drop("cut");
      return new Promise((done) => server.close(done));
    },
  };
}
