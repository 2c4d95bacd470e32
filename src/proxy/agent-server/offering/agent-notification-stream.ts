import { Injectable } from '@nestjs/common';
import { InMemoryServerEventBus } from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { messageEvent } from '../../../upstreams/messages/sse-parts.js';
import { listChangedMethod } from '../../../upstreams/contract/list-change.js';
import { untilClosed } from '../../../platform/http/once-closed.js';
import { ReplyWriter } from '../../forwarding/reply-writer.js';
import { HostedMcp } from '../../protocol/hosted-mcp.js';
import type { ProxyCaller } from '../../protocol/proxy-caller.js';
import { keepAlive } from '../../forwarding/relay/keep-alive.js';
import { type AgentServerContext, AgentMcpServer } from './agent-mcp-server.js';
import { ListChanges } from './list-changes.js';

/** Notifies clients of an agent when its tools, prompts or resources change. */
@Injectable()
export class AgentNotificationStream {
  constructor(
    private readonly changes: ListChanges,
    private readonly servers: AgentMcpServer,
    private readonly writer: ReplyWriter,
  ) {}

  /** For a session of the legacy era (GET of the MCP transport). */
  listen(request: FastifyRequest, reply: FastifyReply, caller: ProxyCaller): void {
    const body = keepAlive(this.events(caller, untilClosed(reply)));
    this.writer.writeReply(request, reply, { status: 200, contentType: 'text/event-stream', body }, {});
  }

  /**
   * For the modern era (`subscriptions/listen`). Each subscription has its own server, so that it receives the
   * notifications of its agent only and does not affect other callers.
   * @param message the parsed body
   */
  async subscribe(
    request: FastifyRequest,
    reply: FastifyReply,
    message: unknown,
    context: AgentServerContext,
  ): Promise<void> {
    const bus = new InMemoryServerEventBus();
    const hosted = new HostedMcp<AgentServerContext>((current) => this.servers.for(current), { bus });
    const closed = untilClosed(reply);
    if (closed.aborted) return;
    closed.addEventListener('abort', () => void hosted.close(), { once: true });
    this.writer.watchPermissions(request, reply);
    void this.publish(context.caller, bus, closed);
    await hosted.answerRequest(request, reply, message, context);
  }

  private async publish(caller: ProxyCaller, bus: InMemoryServerEventBus, closed: AbortSignal): Promise<void> {
    for await (const kind of this.changes.changesFor(caller, closed)) bus.publish({ kind: `${kind}_list_changed` });
  }

  /** The agent's own notifications, as events. */
  async *events(caller: ProxyCaller, closed: AbortSignal): AsyncGenerator<Buffer> {
    for await (const kind of this.changes.changesFor(caller, closed)) {
      yield messageEvent(JSON.stringify({ jsonrpc: '2.0', method: listChangedMethod(kind) }));
    }
  }
}
