// Holds the client to the behaviour that all clients share. It needs LINESHAFT_SCRIPT_URL,
// the address that `go run ./tests/clients/script` prints.
import assert from "node:assert/strict";
import test from "node:test";
import { behave, scenarios } from "./behaviour.mjs";

const script = process.env.LINESHAFT_SCRIPT_URL;
const skip = script ? false : "LINESHAFT_SCRIPT_URL is not set; tests/clients/run sets it";

test("I3 every client behaves alike", { skip, concurrency: 16 }, async (t) => {
  const names = await scenarios(script);
  assert.ok(names.length > 100);
  await Promise.all(names.map((name) => t.test(name, async () => assert.equal(await behave(script, name), ""))));
});
