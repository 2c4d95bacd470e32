import { Injectable } from '@nestjs/common';
import { InMemoryServerEventBus } from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { messageEvent } from '../../../upstreams/messages/sse-parts.js';
import { listChangedMethod } from '../../../upstreams/contract/list-change.js';
import { untilClosed } from '../../../http/once-closed.js';
import { ReplyWriter } from '../../forwarding/reply-writer.js';
import { HostedMcp } from '../../protocol/hosted-mcp.js';
import type { ProxyCaller } from '../../protocol/proxy-caller.js';
import { keepAlive } from '../../forwarding/relay/keep-alive.js';
import { type AgentServerContext, AgentMcpServer } from './agent-mcp-server.js';
import { ListChanges } from './list-changes.js';

/** What an agent sends unasked: that its tools, prompts or resources have changed. */
@Injectable()
export class AgentNotificationStream {
  constructor(
    private readonly changes: ListChanges,
    private readonly servers: AgentMcpServer,
    private readonly writer: ReplyWriter,
  ) {}

  /** For a session of the legacy era (GET of the MCP transport). */
  listen(request: FastifyRequest, reply: FastifyReply, caller: ProxyCaller): void {
    const body = keepAlive(this.events(caller, untilClosed(reply)), 0);
    this.writer.write(request, reply, { status: 200, contentType: 'text/event-stream', body }, {});
  }

  /**
   * For the modern era (`subscriptions/listen`). Each subscription has a server of its own, so that it hears of its own agent
   * only, and takes nothing away from other callers.
   * @param message the parsed body
   */
  async subscribe(
    request: FastifyRequest,
    reply: FastifyReply,
    message: unknown,
    context: AgentServerContext,
  ): Promise<void> {
    const bus = new InMemoryServerEventBus();
    const hosted = new HostedMcp<AgentServerContext>((asked) => this.servers.for(asked), bus);
    const closed = untilClosed(reply);
    if (closed.aborted) return;
    closed.addEventListener('abort', () => void hosted.close(), { once: true });
    this.writer.watchCredential(request, reply);
    void this.publish(context.caller, bus, closed);
    await hosted.answer(request, reply, message, context);
  }

  private async publish(caller: ProxyCaller, bus: InMemoryServerEventBus, closed: AbortSignal): Promise<void> {
    for await (const kind of this.changes.of(caller, closed)) bus.publish({ kind: `${kind}_list_changed` });
  }

  /** What a session hears of the agent itself. */
  async *events(caller: ProxyCaller, closed: AbortSignal): AsyncGenerator<Buffer> {
    for await (const kind of this.changes.of(caller, closed)) {
      yield messageEvent(JSON.stringify({ jsonrpc: '2.0', method: listChangedMethod(kind) }));
    }
  }
}
