import { Client as ModernClient, StreamableHTTPClientTransport as ModernHttp } from '@modelcontextprotocol/client';
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';

/** Where a server is: an MCP endpoint, with the caller's key if it needs one, or a program to be started. */
export type Endpoint = { url: string; apiKey?: string } | { command: string; args: string[] };

export interface CallOptions {
  onprogress?: (progress: { progress: number; total?: number; message?: string }) => void;
  signal?: AbortSignal;
}

/** What the clients of the field have in common. The results are as the client hands them out. */
export interface FieldClient {
  /** The methods and parameters of the notifications that came without being asked for, in order. */
  readonly notified: { method: string; params: unknown }[];
  /** The parameters of what the server asked: sampling and elicitation, in order. */
  readonly asked: unknown[];
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(name: string, args?: Record<string, unknown>, options?: CallOptions): Promise<object>;
  listResources(): Promise<{ resources: { uri: string }[] }>;
  listResourceTemplates(): Promise<object>;
  readResource(uri: string): Promise<{ contents: { uri: string; blob?: string }[] }>;
  subscribeResource(uri: string): Promise<object>;
  listPrompts(): Promise<object>;
  getPrompt(name: string, args?: Record<string, string>): Promise<object>;
  complete(prompt: string, argument: string, value: string): Promise<object>;
  setLoggingLevel(level: 'debug' | 'error'): Promise<object>;
  ping(): Promise<object>;
  /** The id of the session, where there is one. */
  sessionId(): string | undefined;
  /** Sends the DELETE of the transport. */
  terminateSession(): Promise<void>;
  close(): Promise<void>;
}

const INFO = { name: 'field-client', version: '1.0.0' };
const CAPABILITIES = { sampling: {}, elicitation: {}, roots: { listChanged: true } };
const SAMPLED = {
  role: 'assistant' as const,
  model: 'test-model',
  content: { type: 'text' as const, text: 'The answer of the model' },
};
const ELICITED = { action: 'accept' as const, content: { name: 'Ada', integer: 7 } };
const ROOTS = { roots: [{ uri: 'file:///tmp/field-client', name: 'field' }] };

const headersOf = (apiKey: string | undefined) => ({
  requestInit: { headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` } },
});

/** `@modelcontextprotocol/sdk` 1.32, connected: what most clients of the field run. */
export async function openLegacyClient(endpoint: Endpoint): Promise<FieldClient> {
  const client = new LegacyClient(INFO, { capabilities: CAPABILITIES });
  const notified: FieldClient['notified'] = [];
  const asked: unknown[] = [];
  client.fallbackNotificationHandler = async ({ method, params }) => void notified.push({ method, params });
  client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => {
    asked.push(params);
    return SAMPLED;
  });
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    asked.push(params);
    return ELICITED;
  });
  client.setRequestHandler(ListRootsRequestSchema, () => ROOTS);
  const http = 'url' in endpoint ? new LegacyHttp(new URL(endpoint.url), headersOf(endpoint.apiKey)) : undefined;
  await client.connect(http ?? new LegacyStdio({ ...(endpoint as { command: string }), stderr: 'ignore' }));
  return {
    ...shared(client),
    notified,
    asked,
    callTool: (name, args, options) => client.callTool({ name, arguments: args }, undefined, options),
    sessionId: () => http?.sessionId,
    terminateSession: async () => http?.terminateSession(),
  };
}

/**
 * `@modelcontextprotocol/client` 2.4, connected.
 * @param era `legacy` keeps the client's default; `auto` asks the server first whether it speaks the modern era
 */
export async function openModernClient(endpoint: Endpoint, era: 'legacy' | 'auto' = 'legacy'): Promise<FieldClient> {
  const client = new ModernClient(INFO, { capabilities: CAPABILITIES, versionNegotiation: { mode: era } });
  const notified: FieldClient['notified'] = [];
  const asked: unknown[] = [];
  client.fallbackNotificationHandler = async ({ method, params }) => void notified.push({ method, params });
  client.setRequestHandler('sampling/createMessage', ({ params }) => {
    asked.push(params);
    return SAMPLED;
  });
  client.setRequestHandler('elicitation/create', ({ params }) => {
    asked.push(params);
    return ELICITED;
  });
  client.setRequestHandler('roots/list', () => ROOTS);
  const http = 'url' in endpoint ? new ModernHttp(new URL(endpoint.url), headersOf(endpoint.apiKey)) : undefined;
  await client.connect(http ?? new ModernStdio({ ...(endpoint as { command: string }), stderr: 'ignore' }));
  return {
    ...shared(client),
    notified,
    asked,
    callTool: (name, args, options) => client.callTool({ name, arguments: args }, options),
    sessionId: () => http?.sessionId,
    terminateSession: async () => http?.terminateSession(),
  };
}

type Own = 'notified' | 'asked' | 'callTool' | 'sessionId' | 'terminateSession';

/** What both clients name alike. */
function shared(client: LegacyClient | ModernClient): Omit<FieldClient, Own> {
  return {
    listTools: () => client.listTools(),
    listResources: () => client.listResources(),
    listResourceTemplates: () => client.listResourceTemplates(),
    readResource: (uri) => client.readResource({ uri }),
    subscribeResource: (uri) => client.subscribeResource({ uri }),
    listPrompts: () => client.listPrompts(),
    getPrompt: (name, args) => client.getPrompt({ name, arguments: args }),
    complete: (name, argument, value) =>
      client.complete({ ref: { type: 'ref/prompt', name }, argument: { name: argument, value } }),
    setLoggingLevel: (level) => client.setLoggingLevel(level),
    ping: () => client.ping(),
    close: () => client.close(),
  };
}
