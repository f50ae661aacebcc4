// The checks that the command line of MCP Inspector can make. Each of its commands is a connection of its own: it connects,
// makes one request and prints the result. Each check is a line of NDJSON, behind one that says which client it is.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import manifest from "./package.json" with { type: "json" };

const wholeRun = 60_000;
const oneCommand = 15_000;
const command = fileURLToPath(new URL("node_modules/.bin/mcp-inspector", import.meta.url));

const { values: given } = parseArgs({ options: { url: { type: "string" }, mode: { type: "string", default: "legacy" } } });
if (!given.url || !["legacy", "auto"].includes(given.mode)) {
  console.error("usage: run --url URL --mode legacy|auto");
  process.exit(2);
}
const ended = AbortSignal.timeout(wholeRun);

// The Inspector keeps files in the home directory: one that only this run has.
const home = mkdtempSync(join(tmpdir(), "inspector-"));
process.on("exit", () => rmSync(home, { recursive: true, force: true }));

async function inspect(method, ...args) {
  const all = ["--cli", given.url, "--transport", "http", "--protocol-era", given.mode, "--format", "json", "--method", method, ...args];
  const options = { env: { ...process.env, HOME: home }, timeout: oneCommand, signal: ended, maxBuffer: 16 << 20 };
  try {
    const { stdout } = await promisify(execFile)(command, all, options);
    return JSON.parse(stdout).result;
  } catch (error) {
    if (ended.aborted) throw new Error(`all checks together were not done within ${wholeRun / 1000} s`);
    throw new Error(error.stderr?.trim() || (error.killed ? `not done within ${oneCommand / 1000} s` : error.message));
  }
}

async function call(name, args) {
  const { content } = await inspect("tools/call", "--tool-name", name, "--tool-args-json", JSON.stringify(args));
  return content[0].text;
}

function assert(condition, detail) {
  if (!condition) throw new Error(detail);
}

let revision = "";

const checks = {
  async connect() {
    revision = (await inspect("initialize")).protocolVersion;
  },
  // It walks the pages by itself, and prints what they have together.
  async "list-pages"() {
    const names = (await inspect("tools/list")).tools.map((tool) => tool.name);
    const uris = (await inspect("resources/list")).resources.map((resource) => resource.uri);
    assert(names.length >= 31 && names.includes("echo"), `tools/list has ${names.length} tools, not 31 or more with echo`);
    assert(new Set(names).size === names.length, "tools/list lists a tool twice");
    assert(new Set(uris).size === 25 && uris.length === 25, `resources/list has ${uris.length} resources, not 25`);
    return `${names.length} tools, ${uris.length} resources`;
  },
  async call() {
    const said = 'plain, "quoted", \\, é, 漢, 😀, \u2028 and\nanother line';
    const heard = await call("echo", { text: said });
    assert(heard === said, `echo changed ${JSON.stringify(said)} to ${JSON.stringify(heard)}`);
  },
  progress: "the command line prints a call's result only",
  cancel: "the command line cannot cancel a call",
  async read() {
    const uri = "text://7";
    const { contents } = await inspect("resources/read", "--uri", uri);
    assert(contents.length === 1 && contents[0].uri === uri && contents[0].text === `the text of ${uri}`,
      `resources/read gave ${JSON.stringify(contents)}`);
  },
  "list-changed": "the command line ends with its one request",
  ping: "the command line has no ping",
  async "big-result"() {
    const bytes = 3_000_000;
    const { length } = await call("big", { bytes });
    assert(length === bytes, `${length} bytes came, not ${bytes}`);
  },
  disconnect: "the command line does not say how it leaves",
};

const say = (line) => process.stdout.write(JSON.stringify(line) + "\n");

async function check(name, work) {
  try {
    const detail = await work();
    return detail ? { check: name, ok: true, detail } : { check: name, ok: true };
  } catch (error) {
    return { check: name, ok: false, detail: error.message };
  }
}

let good = true;
for (const [name, work] of Object.entries(checks)) {
  const line = typeof work === "string" ? { check: name, absent: work } : await check(name, work);
  if (name === "connect") {
    say({ client: "inspector", version: manifest.dependencies["@modelcontextprotocol/inspector"], mode: given.mode, revision });
  }
  good = good && line.ok !== false;
  say(line);
}
process.exitCode = good ? 0 : 1;
