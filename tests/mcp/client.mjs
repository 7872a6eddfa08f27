// Speaks with `oomdoctor mcp` through the official client, and prints what it answered as JSON.
// Usage: node client.mjs NODE_MODULES PROGRAM FOLDER
import { pathToFileURL } from "node:url";
import path from "node:path";

const [modules, program, folder] = process.argv.slice(2);
const part = (name) => import(pathToFileURL(path.join(modules, "@modelcontextprotocol/sdk/dist/esm", name)).href);
const { Client } = await part("client/index.js");
const { StdioClientTransport } = await part("client/stdio.js");

const transport = new StdioClientTransport({ command: program, args: ["mcp"], cwd: folder });
const client = new Client({ name: "test", version: "1" });
await client.connect(transport);
const answers = {
  server: client.getServerVersion(),
  capabilities: client.getServerCapabilities(),
  instructions: client.getInstructions(),
  ping: await client.ping(),
  tools: (await client.listTools()).tools,
  analyze: await client.callTool({ name: "analyze", arguments: { paths: ["leak.log"] } }),
  compare: await client.callTool({ name: "compare", arguments: { good: "before.log", bad: "after.log" } }),
  estimate: await client.callTool({ name: "estimate", arguments: { params: 7e9, batch: 1, seq: 4096 } }),
  explain: await client.callTool({ name: "explain", arguments: { id: "leak", paths: ["leak.log"] } }),
  list: await client.callTool({ name: "list", arguments: { kind: "causes" } }),
  snapshot: await client.callTool({ name: "snapshot", arguments: { paths: ["leak.pickle"] } }),
  survey: await client.callTool({ name: "survey", arguments: { paths: ["leak.log"] } }),
  outside: await client.callTool({ name: "analyze", arguments: { paths: ["/etc/passwd"] } }),
  resources: (await client.listResources()).resources,
  templates: (await client.listResourceTemplates()).resourceTemplates,
  leak: await client.readResource({ uri: "oomdoctor://cause/leak" }),
  unknown: await client.callTool({ name: "no such tool", arguments: {} }).catch((error) => error.code),
};
// A client gives up a call, and the server is there for the next one.
const gone = new AbortController();
const slow = client.callTool({ name: "survey", arguments: { paths: ["."] } }, undefined, { signal: gone.signal });
gone.abort();
answers.given_up = await slow.then(() => false, () => true);
answers.afterwards = await client.callTool({ name: "list", arguments: { kind: "causes" } });
await client.close();
console.log(JSON.stringify(answers));
