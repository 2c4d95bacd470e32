import { randomUUID } from 'node:crypto';
import { Server as LegacyServer } from '@modelcontextprotocol/sdk/server/index.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
  SubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { createMcpHandler, Server as ModernServer } from '@modelcontextprotocol/server';
import { answer, bodyOf } from './changing-server.js';
import { type ScriptedServer, startScripted } from './scripted-upstream.js';

/** The address of the page of every such server. It is not among the resources that they list. */
export const PAGE = 'ui://app/page.html';
/** What every such server lists. */
export const README = 'docs://readme';
export const TEMPLATE = 'files:///{path}';
/** What a client with the extension MCP Apps declares. */
export const APPS = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } } };

/** A server with a page (MCP Apps), made with the SDK of its era. */
export interface AppServer extends ScriptedServer {
  /** Tells the clients that have a session that a resource has changed. */
  announceUpdate(uri: string): Promise<void>;
}

interface Content {
  /** The text of the page. */
  readonly page: string;
  /** Begins every other text of the server. */
  readonly name: string;
  /** What it lists in addition to the resource that every such server has. */
  readonly resources?: readonly string[];
  /** What its tools name as their page; by default its page. */
  readonly named?: string;
  /** Only clients that answer sampling requests get the tools with a page, and the page. Of the legacy era alone. */
  readonly needsSampling?: boolean;
}

const INFO = { name: 'apps', version: '1' };
const CAPABILITIES = { tools: {}, resources: {}, completions: {} };

export function startAppServer(era: 'legacy' | 'modern', content: Content): Promise<AppServer> {
  return era === 'legacy' ? startLegacy(content) : startModern(content);
}

async function startLegacy(content: Content): Promise<AppServer> {
  const sessions = new Map<string, { transport: WebStandardStreamableHTTPServerTransport; server: LegacyServer }>();
  const open = async (): Promise<WebStandardStreamableHTTPServerTransport> => {
    const server = new LegacyServer(INFO, {
      capabilities: { ...CAPABILITIES, resources: { subscribe: true } },
    });
    const hasPage = (): boolean =>
      content.needsSampling !== true || server.getClientCapabilities()?.sampling !== undefined;
    server.setRequestHandler(ListToolsRequestSchema, () => listTools(content, hasPage()));
    server.setRequestHandler(CallToolRequestSchema, async ({ params }, { sendNotification }) => {
      const updated = params.arguments?.['updated'];
      if (typeof updated === 'string') {
        await sendNotification({ method: 'notifications/resources/updated', params: { uri: updated } });
      }
      return call(content, params);
    });
    server.setRequestHandler(ListResourcesRequestSchema, () => listResources(content));
    server.setRequestHandler(ListResourceTemplatesRequestSchema, listTemplates);
    server.setRequestHandler(ReadResourceRequestSchema, ({ params }) => {
      if (params.uri === PAGE && !hasPage()) throw new Error('There is no page.');
      return read(content, params);
    });
    server.setRequestHandler(CompleteRequestSchema, ({ params }) => complete(content, params.ref));
    server.setRequestHandler(SubscribeRequestSchema, () => ({}));
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, { transport, server }),
    });
    await server.connect(transport);
    return transport;
  };
  const scripted = await startScripted(async (seen, response) => {
    const known = sessions.get(String(seen.headers['mcp-session-id']))?.transport;
    const transport = known ?? (await open());
    return answer(seen, response, (request) => transport.handleRequest(request, { parsedBody: bodyOf(seen) }));
  });
  const announceUpdate = async (uri: string): Promise<void> => {
    for (const { server } of sessions.values()) await server.sendResourceUpdated({ uri });
  };
  return { ...scripted, announceUpdate };
}

async function startModern(content: Content): Promise<AppServer> {
  const handler = createMcpHandler(
    () => {
      const server = new ModernServer(INFO, { capabilities: CAPABILITIES });
      server.setRequestHandler('tools/list', () => listTools(content));
      server.setRequestHandler('tools/call', ({ params }) => call(content, params));
      server.setRequestHandler('resources/list', () => listResources(content));
      server.setRequestHandler('resources/templates/list', listTemplates);
      server.setRequestHandler('resources/read', ({ params }) => read(content, params));
      server.setRequestHandler('completion/complete', ({ params }) => complete(content, params.ref));
      return server;
    },
    { legacy: 'reject' },
  );
  const scripted = await startScripted((seen, response) =>
    answer(seen, response, (request) => handler.fetch(request, { parsedBody: bodyOf(seen) })),
  );
  return { ...scripted, announceUpdate: () => Promise.reject(new Error('There are no sessions.')) };
}

function listTools({ named = PAGE }: Content, hasPage = true) {
  const inputSchema = { type: 'object' as const };
  const shown = { ui: { resourceUri: named }, 'ui/resourceUri': named };
  const plain = { name: 'plain', description: 'Tells the weather', inputSchema };
  if (!hasPage) return { tools: [plain] };
  return {
    tools: [
      { name: 'show', description: 'Shows the weather', inputSchema, _meta: { ...shown, other: 1 } },
      {
        name: 'refresh',
        description: 'Refreshes the weather',
        inputSchema,
        _meta: { ui: { resourceUri: named, visibility: ['app'] } },
      },
      plain,
    ],
  };
}

function call({ name }: Content, params: { name: string }) {
  return { content: [{ type: 'text' as const, text: `${name} ${params.name}` }] };
}

function listResources({ resources = [] }: Content) {
  return { resources: [README, ...resources].map((uri) => ({ uri, name: uri })) };
}

function listTemplates() {
  return { resourceTemplates: [{ uriTemplate: TEMPLATE, name: 'files' }] };
}

function read({ name, page }: Content, { uri }: { uri: string }) {
  if (uri !== PAGE) return { contents: [{ uri, text: `${name} ${uri}` }] };
  const mimeType = 'text/html;profile=mcp-app';
  return { contents: [{ uri, mimeType, text: page, _meta: { ui: { csp: { connectDomains: [] } } } }] };
}

function complete({ name }: Content, ref: object) {
  return { completion: { values: [`${name} ${JSON.stringify(ref)}`] } };
}
