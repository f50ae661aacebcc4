// The checks that a client of the TypeScript SDK makes, whichever of its two generations connected. Each is a line of
// NDJSON on standard output, behind one that says which client it is.
import { parseArgs } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";

const wholeRun = 60_000;
const oneCheck = 15_000;
const soon = 10_000; // how long something may take to come through

function assert(condition, detail) {
  if (!condition) throw new Error(detail);
}

const text = (result) => result.content[0].text;

async function* pages(client, method) {
  let cursor;
  do {
    const page = await client.page(method, cursor);
    yield page;
    cursor = page.nextCursor;
  } while (cursor !== undefined);
}

async function listPages(client) {
  const counts = [];
  for (const [method, member, key] of [["tools/list", "tools", "name"], ["resources/list", "resources", "uri"]]) {
    const seen = new Set();
    let number = 0;
    let items = 0;
    for await (const page of pages(client, method)) {
      assert(page[member].length <= 10, `a page of ${method} has ${page[member].length} items, not 10 or fewer`);
      for (const item of page[member]) seen.add(item[key]);
      items += page[member].length;
      number++;
    }
    assert(number >= 3, `${method} has ${number} pages, not 3 or more`);
    assert(seen.size === items, `${method} lists ${items - seen.size} twice`);
    assert(member !== "tools" || (items >= 31 && seen.has("echo")), `tools/list has ${items} tools, not 31 or more with echo`);
    assert(member !== "resources" || items === 25, `resources/list has ${items} resources, not 25`);
    counts.push(`${items} ${member} on ${number} pages`);
  }
  return counts.join(", ");
}

async function call(client) {
  const said = 'plain, "quoted", \\, é, 漢, 😀, \u2028, \u0000 and\nanother line';
  const heard = text(await client.call("echo", { text: said }));
  assert(heard === said, `echo changed ${JSON.stringify(said)} to ${JSON.stringify(heard)}`);
}

// Two calls at once, each with a number of steps of its own, so that a step that went astray shows.
async function progress(client) {
  const make = async (steps) => {
    const heard = [];
    await client.call("progress", { steps }, { onprogress: (p) => heard.push(`${p.progress}/${p.total}`) });
    const expected = Array.from({ length: steps }, (_, i) => `${i + 1}/${steps}`);
    assert(heard.join() === expected.join(), `of ${steps} steps it heard: ${heard.join(" ") || "none"}`);
  };
  await Promise.all([make(5), make(7)]);
  // What comes when its call is over, or belongs to none, the SDK reports as an error.
  await client.call("echo", { text: "" });
  const astray = client.errors.find((message) => message.includes("progress"));
  assert(!astray, astray);
}

async function cancel(client) {
  const cancelled = async () => Number(text(await client.call("cancelled")));
  const before = await cancelled();
  const controller = new AbortController();
  const slow = client.call("slow", {}, { signal: controller.signal }).then(
    () => "answered",
    () => "rejected",
  );
  // The slow call shows nothing of having begun; calls that were made after it have come back when it surely has.
  for (let i = 0; i < 5; i++) await cancelled();
  controller.abort("no longer wanted");
  assert((await slow) === "rejected", "the cancelled call was answered");
  let now;
  for (const until = Date.now() + soon; Date.now() < until; await sleep(50)) {
    now = await cancelled();
    if (now > before) break;
  }
  assert(now === before + 1, `the server counts ${now - before} cancelled calls, not 1`);
}

async function read(client) {
  const uri = "text://7";
  const { contents } = await client.read(uri);
  assert(contents.length === 1 && contents[0].uri === uri && contents[0].text === `the text of ${uri}`,
    `resources/read gave ${JSON.stringify(contents)}`);
}

// What is said while nobody listens is not said again: so the list grows until it is heard.
async function listChanged(client) {
  let heard;
  const changed = new Promise((resolve) => (heard = resolve));
  const stop = await client.hearToolsChanged(() => heard(true));
  let outcome = false;
  for (const until = Date.now() + soon; !outcome && Date.now() < until; ) {
    await client.call("grow");
    outcome = await Promise.race([changed, sleep(1000, false)]);
  }
  await stop();
  assert(outcome, `no notifications/tools/list_changed within ${soon / 1000} s`);
}

async function ping(client) {
  await client.ping();
}

async function bigResult(client) {
  const bytes = 3_000_000;
  const { length } = text(await client.call("big", { bytes }));
  assert(length === bytes, `${length} bytes came, not ${bytes}`);
}

// disconnect ends what there is to end. A session that was deleted is unknown to the server from then on.
async function disconnect(client, url) {
  const session = await client.close();
  if (session === undefined) return;
  const { status } = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream", "Mcp-Session-Id": session },
    body: '{"jsonrpc":"2.0","id":"after","method":"ping"}',
  });
  assert(status === 404, `a request of the deleted session has status ${status}, not 404`);
}

const checks = {
  "list-pages": listPages,
  call,
  progress,
  cancel,
  read,
  "list-changed": listChanged,
  ping,
  "big-result": bigResult,
  disconnect,
};

const say = (line) => process.stdout.write(JSON.stringify(line) + "\n");

async function within(ms, work) {
  const late = Symbol("late");
  const outcome = await Promise.race([work, sleep(ms, late, { ref: false })]);
  assert(outcome !== late, `not done within ${ms / 1000} s`);
  return outcome;
}

// check runs one check and says how it went.
async function check(name, work) {
  try {
    const detail = await within(oneCheck, work());
    say(typeof detail === "string" ? { check: name, ok: true, detail } : { check: name, ok: true });
    return true;
  } catch (error) {
    say({ check: name, ok: false, detail: String(error?.message ?? error) });
    return false;
  }
}

// run makes all checks with what connect(url, mode) gives, and ends the process: with status 0 when all are good.
export async function run(version, modes, connect) {
  const { values } = parseArgs({ options: { url: { type: "string" }, mode: { type: "string", default: modes[0] } } });
  if (!values.url || !modes.includes(values.mode)) {
    console.error(`usage: run --url URL --mode ${modes.join("|")}`);
    process.exit(2);
  }
  setTimeout(() => {
    console.error(`not done within ${wholeRun / 1000} s`);
    process.exit(1);
  }, wholeRun).unref();

  let client;
  let failure;
  try {
    client = await within(oneCheck, connect(values.url, values.mode));
  } catch (error) {
    failure = String(error?.message ?? error);
  }
  say({ client: "typescript-sdk", version, mode: values.mode, revision: client?.revision ?? "" });
  let good = await check("connect", async () => assert(client, failure));
  for (const [name, work] of Object.entries(checks)) {
    const reason = client?.absent[name];
    if (reason) say({ check: name, absent: reason });
    else good = (await check(name, async () => {
      assert(client, "there is no connection");
      return work(client, values.url);
    })) && good;
  }
  process.exit(good ? 0 : 1);
}
