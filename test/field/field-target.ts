import { randomUUID } from 'node:crypto';
import { type EverythingServer, startEverything } from '../support/everything-server.js';
import { type EraServer, startEraServer } from '../support/era-server.js';
import { agentOf, gatewayPath } from '../support/gateway-agents.js';
import { pathOf } from '../support/proxy-calls.js';
import { connectTo, keyWith } from '../support/proxy-connections.js';
import { newTenant, type Tenant } from '../support/tenant.js';
import { type RecordedMessage, type RecordingRelay, startRecordingRelay } from './recording-relay.js';

/** What stands behind a connection. */
export type Upstream = 'old' | 'new';

/** An endpoint of the service, and what a client has to find there. */
export interface FieldTarget {
  title: string;
  /** The column of the table. */
  door: 'connection' | 'agent' | 'self';
  /** The name of a tool here, and at its upstream. */
  tool: string;
  /** A tool that the key may not call. */
  withheld: string;
  /** Where the call has to arrive; absent where the service answers it. */
  upstream?: Upstream;
  prompt?: { name: string; args: Record<string, string>; text: string };
  resource?: { uri: string; text: string };
}

/** What a client is told of a target. */
export interface FieldTask extends FieldTarget {
  url: string;
  key: string;
  args: Record<string, string>;
  /** A text of the tool's result. */
  answer: string;
}

const OLD = {
  upstream: 'old',
  withheld: 'get-sum',
  prompt: { name: 'args-prompt', args: { city: 'Bern' }, text: "What's weather in Bern?" },
  resource: { uri: 'demo://resource/static/document/architecture.md', text: 'Everything Server' },
} as const;
const NEW = {
  upstream: 'new',
  withheld: 'progress',
  prompt: { name: 'greet', args: { whom: 'Ada' }, text: 'Hello Ada' },
  resource: { uri: 'era://one', text: 'The content' },
} as const;

export const TARGETS: readonly FieldTarget[] = [
  { title: 'a connection to an old server', door: 'connection', tool: 'echo', ...OLD },
  { title: 'a connection to a new server', door: 'connection', tool: 'echo', ...NEW },
  { title: 'an agent, a tool of an old server', door: 'agent', tool: 'old_echo', ...OLD },
  { title: 'an agent, a tool of a new server', door: 'agent', tool: 'new_echo', ...NEW },
  { title: 'self', door: 'self', tool: 'COLLECTION_CONNECTIONS_GET', withheld: 'API_KEY_CREATE' },
];

/**
 * The service with a connection to `server-everything`, one to a server of 2026-07-28 only, and an agent over both.
 * Relays tell what its clients sent to it, and what it sent to the servers, which demand a credential.
 */
export class FieldService {
  readonly credential = `upstream-${randomUUID()}`;
  #tenant: Tenant;
  #everything: EverythingServer;
  #modern: EraServer;
  #clients: RecordingRelay;
  #upstreams: Record<Upstream, RecordingRelay>;
  #connections: Record<Upstream, string>;
  #paths: Record<string, string>;
  #key: string;

  async start(): Promise<void> {
    this.#everything = await startEverything();
    this.#modern = await startEraServer();
    this.#tenant = await newTenant();
    this.#clients = await startRecordingRelay(this.#tenant.url);
    const bearer = `Bearer ${this.credential}`;
    this.#upstreams = {
      old: await startRecordingRelay(new URL(this.#everything.url).origin, bearer),
      new: await startRecordingRelay(this.#modern.origin, bearer),
    };
    this.#connections = { old: await this.#connect('old'), new: await this.#connect('new') };
    const members = Object.entries(this.#connections).map(([prefix, connection_id]) => ({ connection_id, prefix }));
    const agent = gatewayPath(this.#tenant, await agentOf(this.#tenant, members));
    this.#paths = { agent, self: `/api/${this.#tenant.org}/mcp/self` };
    const granted = ['echo', 'prompts', 'resources'];
    this.#key = await keyWith(this.#tenant, {
      self: ['COLLECTION_CONNECTIONS_GET'],
      [this.#connections.old]: granted,
      [this.#connections.new]: granted,
    });
  }

  /** Forgets what was sent before, and makes a task that no other client has. */
  taskAt(target: FieldTarget): FieldTask {
    this.#clients.clear();
    for (const upstream of Object.values(this.#upstreams)) upstream.clear();
    const { upstream = 'old', door } = target;
    const path = door === 'connection' ? pathOf(this.#tenant, this.#connections[upstream]) : this.#paths[door];
    const common = { ...target, url: `${this.#clients.origin}${path}`, key: this.#key };
    if (door === 'self') return { ...common, args: { id: this.#connections.old }, answer: titleOf('old') };
    const message = `said-${randomUUID()}`;
    const answer = upstream === 'old' ? `Echo: ${message}` : `echo: ${JSON.stringify({ message })}`;
    return { ...common, args: { message }, answer };
  }

  /** The protocol versions of the client's tool calls. A client that leaves out the header has named it before. */
  revisionsOfCalls(): string[] {
    const sent = (method: string): RecordedMessage[] =>
      this.#clients.messages.filter(({ message }) => message.method === method);
    const asked = sent('initialize')[0]?.message.params?.['protocolVersion'];
    return sent('tools/call').map(({ headers }) => String(headers['mcp-protocol-version'] ?? asked));
  }

  /** The tool calls that have arrived at the server. */
  callsAt(upstream: Upstream): RecordedMessage[] {
    return this.#upstreams[upstream].messages.filter(({ message }) => message.method === 'tools/call');
  }

  async close(): Promise<void> {
    await this.#clients?.close();
    await this.#tenant?.close();
    for (const relay of Object.values(this.#upstreams ?? {})) await relay.close();
    await this.#modern?.close();
    await this.#everything?.close();
  }

  #connect(upstream: Upstream): Promise<string> {
    const title = titleOf(upstream);
    const url = `${this.#upstreams[upstream].origin}/mcp`;
    return connectTo(this.#tenant, url, { title, connection_token: this.credential });
  }
}

const titleOf = (upstream: Upstream): string => `The ${upstream} server of the field`;
