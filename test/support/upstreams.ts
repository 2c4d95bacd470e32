import type { Tenant } from './tenant.js';
import { connectTo } from './proxy-connections.js';
import { type Script, type ScriptedServer, startScripted } from './scripted-upstream.js';
import { type TcpProxy, startTcpProxy } from './tcp-proxy.js';
import { startToolServer, type ToolServer } from './tool-server.js';

/** Port 9 (discard) answers nowhere on a test machine. */
export const DEAD_URL = 'http://127.0.0.1:9/mcp';

/** The upstreams of a test, ended together. */
export class Upstreams {
  private readonly started: { close(): Promise<void> }[] = [];

  /** A server with these tools. */
  async serve(...tools: string[]): Promise<ToolServer> {
    return this.kept(await startToolServer(...tools));
  }

  /** A server whose tool `hold` answers once it is released. */
  async holding(): Promise<{ url: string; calls(): number; release(): void }> {
    const gate = Promise.withResolvers<void>();
    const server = await this.serve('hold');
    server.answersAfter = gate.promise;
    return { url: server.url, calls: () => server.calls('tools/call').length, release: () => gate.resolve() };
  }

  async scripted(script: Script): Promise<ScriptedServer> {
    return this.kept(await startScripted(script));
  }

  /** A connection with these tools; returns its id. */
  async connection(app: Tenant, title: string, ...tools: string[]): Promise<string> {
    return connectTo(app, (await this.serve(...tools)).url, { title });
  }

  /** A connection whose upstream can go away and come back. */
  async fragile(app: Tenant, title: string, ...tools: string[]): Promise<{ id: string; upstream: TcpProxy }> {
    const server = await this.serve(...tools);
    const upstream = this.kept(await startTcpProxy(server.url));
    return { id: await connectTo(app, `http://127.0.0.1:${upstream.port}/mcp`, { title }), upstream };
  }

  async close(): Promise<void> {
    await Promise.all(this.started.splice(0).map((server) => server.close()));
  }

  private kept<T extends { close(): Promise<void> }>(server: T): T {
    this.started.push(server);
    return server;
  }
}
