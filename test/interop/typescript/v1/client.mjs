// A client of @modelcontextprotocol/sdk, which speaks the revisions with sessions.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  ListResourcesResultSchema,
  ListToolsResultSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { run } from "../checks.mjs";
import manifest from "./package.json" with { type: "json" };

const listed = { "tools/list": ListToolsResultSchema, "resources/list": ListResourcesResultSchema };

async function connect(url) {
  const transport = new StreamableHTTPClientTransport(new URL(url));
  const client = new Client({ name: "gateway-interop", version: "1" });
  const errors = [];
  client.onerror = (error) => errors.push(error.message);
  await client.connect(transport);
  return {
    revision: transport.protocolVersion,
    errors,
    absent: {},
    page: (method, cursor) => client.request({ method, params: { cursor } }, listed[method]),
    call: (name, args, options) => client.callTool({ name, arguments: args }, undefined, options),
    read: (uri) => client.readResource({ uri }),
    async hearToolsChanged(heard) {
      client.setNotificationHandler(ToolListChangedNotificationSchema, heard);
      return async () => client.removeNotificationHandler("notifications/tools/list_changed");
    },
    ping: () => client.ping(),
    async close() {
      const session = transport.sessionId;
      await transport.terminateSession();
      await client.close();
      return session;
    },
  };
}

await run(manifest.dependencies["@modelcontextprotocol/sdk"], ["legacy"], connect);
