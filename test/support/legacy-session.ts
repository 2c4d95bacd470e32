import {
  callProxy,
  errorIn,
  eventsOf,
  openProxy,
  type ProxyAnswer,
  rpc,
  rpcOf,
  TAKES_JSON,
  TAKES_STREAMS,
  toolCall,
} from './proxy-calls.js';
import { Subscription } from './subscription.js';
import type { Tenant } from './tenant.js';

export const INITIALIZE = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'raw', version: '1' },
};
const open: Subscription[] = [];

/** Closes the streams of all sessions. */
export function closeStreams(): void {
  for (const stream of open.splice(0)) stream.close();
}

/** What a client up to 2025-11-25 is told of a resource that has changed. */
export const updated = (uri: string): object => ({
  jsonrpc: '2.0',
  method: 'notifications/resources/updated',
  params: { uri },
});

/** The log message of a test server. */
export const logged = (level: string, data = `log of ${level}`): object => ({
  jsonrpc: '2.0',
  method: 'notifications/message',
  params: { level, data },
});

/** The notifications in an answer, which can be JSON. */
export const logsIn = (answer: ProxyAnswer): unknown[] => eventsOf(answer).filter((message) => 'method' in message);

/** A client up to 2025-11-25 in a session. */
export class LegacySession {
  private constructor(
    private readonly app: Tenant,
    private readonly path: string,
    private readonly key: string,
    private readonly id: string,
    readonly capabilities: unknown,
  ) {}

  static async open(
    app: Tenant,
    path: string,
    { key = app.apiKey, capabilities = {} }: { key?: string; capabilities?: object } = {},
  ): Promise<LegacySession> {
    const answer = await callProxy(app, path, { key, body: rpc('initialize', { ...INITIALIZE, capabilities }) });
    const id = String(answer.headers['mcp-session-id']);
    return new LegacySession(app, path, key, id, rpcOf(answer).result?.['capabilities']);
  }

  send(body: unknown, accept: object = TAKES_STREAMS): Promise<ProxyAnswer> {
    return callProxy(this.app, this.path, { key: this.key, headers: { 'mcp-session-id': this.id, ...accept }, body });
  }

  call(name: string, args: object = {}): Promise<ProxyAnswer> {
    return this.send(toolCall(name, args));
  }

  /** The code of the error; undefined if there is none. */
  async change(method: string, params: object): Promise<string | undefined> {
    return errorIn(await this.send(rpc(method, params), TAKES_JSON))?.data.code;
  }

  subscribe(uri: string): Promise<string | undefined> {
    return this.change('resources/subscribe', { uri });
  }

  async listen(): Promise<Subscription> {
    const headers = { 'mcp-session-id': this.id, ...TAKES_STREAMS };
    const stream = new Subscription(await openProxy(this.app, this.path, { method: 'GET', key: this.key, headers }));
    open.push(stream);
    return stream;
  }

  end(): Promise<ProxyAnswer> {
    return callProxy(this.app, this.path, { method: 'DELETE', key: this.key, headers: { 'mcp-session-id': this.id } });
  }
}
