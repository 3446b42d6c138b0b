// Starts a run, shows what its agent writes, and ends with 1 unless it succeeded.
// Usage: node examples/follow.mjs PROMPT
import { Lineshaft } from "lineshaft";

const client = new Lineshaft();
const { run_id } = await client.runs.create({ prompt: process.argv[2] ?? "```sh\ndate\n```" });

for await (const event of client.runs.stream(run_id)) {
  switch (event.type) {
    case "output":
    case "message":
      console.log(event.data.text);
      break;
    case "state":
      console.log(`-- ${event.data.to}`);
      break;
    default: // a newer server may have further types
  }
}

const { state } = await client.runs.get(run_id);
process.exitCode = state === "SUCCEEDED" ? 0 : 1;
