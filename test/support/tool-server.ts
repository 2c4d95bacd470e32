import { legacyServer, type ScriptedServer, sendResult, startScripted } from './scripted-upstream.js';

export interface ToolServer extends ScriptedServer {
  /** The tools that it lists from now on; each answers its own name and the text that it was sent. */
  tools: string[];
  /** Calls are answered when it resolves. */
  answersAfter: Promise<void>;
}

/** An MCP server whose tools can be changed while it runs. */
export async function startToolServer(...tools: string[]): Promise<ToolServer> {
  const listing = { tools, answersAfter: Promise.resolve() };
  const { script } = legacyServer(async (request, response) => {
    const { message } = request;
    if (message.method === 'tools/call') {
      await listing.answersAfter;
      const { name, arguments: args } = message.params as { name: string; arguments: { text?: string } };
      return sendResult(response, message, { content: [{ type: 'text', text: `${name} says ${args.text}` }] });
    }
    const list = listing.tools.map((name) => ({
      name,
      description: `The tool ${name}`,
      inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
      annotations: { readOnlyHint: true },
    }));
    return sendResult(response, message, { tools: list });
  });
  return Object.assign(listing, await startScripted(script));
}
