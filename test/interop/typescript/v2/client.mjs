// A client of @modelcontextprotocol/client: with mode legacy it begins a session, with mode auto it probes for the stateless
// revision first.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { run } from "../checks.mjs";
import manifest from "./package.json" with { type: "json" };

async function connect(url, mode) {
  const transport = new StreamableHTTPClientTransport(new URL(url));
  const client = new Client({ name: "gateway-interop", version: "1" }, { versionNegotiation: { mode } });
  const errors = [];
  client.onerror = (error) => errors.push(error.message);
  await client.connect(transport);
  const modern = client.getProtocolEra() === "modern";
  return {
    revision: client.getNegotiatedProtocolVersion(),
    errors,
    absent: modern ? { ping: "2026-07-28 has no ping" } : {},
    // listTools walks all pages by itself.
    page: (method, cursor) => client.request({ method, params: { cursor } }),
    call: (name, args, options) => client.callTool({ name, arguments: args }, options),
    read: (uri) => client.readResource({ uri }),
    async hearToolsChanged(heard) {
      client.setNotificationHandler("notifications/tools/list_changed", heard);
      if (!modern) return async () => client.removeNotificationHandler("notifications/tools/list_changed");
      const subscription = await client.listen({ toolsListChanged: true });
      if (!subscription.honoredFilter.toolsListChanged) throw new Error("the server did not honour toolsListChanged");
      return () => subscription.close();
    },
    ping: () => client.ping(),
    async close() {
      const session = transport.sessionId;
      if (session !== undefined) await transport.terminateSession();
      await client.close();
      return session;
    },
  };
}

await run(manifest.dependencies["@modelcontextprotocol/client"], ["legacy", "auto"], connect);
