// Points the official TypeScript SDK at an MCP endpoint: it lists the tools and calls one.
//
//   npm install @modelcontextprotocol/client@2.4.0
//   node list-and-call.mjs http://127.0.0.1:8080/containers/a1/mcp
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const url = process.argv[2];

const client = new Client({ name: "agent", version: "1" }, { versionNegotiation: { mode: "auto" } });
const transport = new StreamableHTTPClientTransport(new URL(url));
await client.connect(transport);

const { tools } = await client.listTools();
for (const tool of tools) console.log(tool.name);
const result = await client.callTool({ name: "echo", arguments: { message: "hello" } });
console.log(result.content[0].text);

await transport.terminateSession(); // does nothing where there is none
await client.close();
