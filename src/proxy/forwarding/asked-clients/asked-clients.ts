import { Injectable } from '@nestjs/common';
import { takesStream } from '../../protocol/inbound-message.js';
import { canAsk } from '../../protocol/json-rpc-error.js';
import type { McpRequestContext } from '../upstream-router.js';
import { type MessageSender, type Sent, uniqueId, UpstreamSender } from '../upstream-sender.js';
import { AskedClient } from './asked-client.js';
import { OpenRequests } from './open-requests.js';

/**
 * Sends callers' messages upstream. An upstream can ask the client of a session up to 2025-11-25 that declares to
 * answer. In the modern era, results that ask for input become requests to the client, and its answers are brought to
 * the upstream by repeating the call. In the legacy era, a program sends requests of its own during the call, in a
 * session that declares what the client does.
 */
@Injectable()
export class AskedClients implements MessageSender {
  constructor(
    private readonly upstream: UpstreamSender,
    private readonly requests: OpenRequests,
  ) {}

  sendMessage(context: McpRequestContext, headers: Readonly<Record<string, string>>): Promise<Sent> {
    const { route, message, caller, request, deadline } = context;
    const session = route.kind === 'pooled' ? route.session : undefined;
    const capabilities = session?.answers;
    // A call that the service makes as a task would be kept for as long as the client can be asked.
    const isAskable = message.kind === 'request' && canAsk(message.method) && !caller.callsAsTask;
    if (session === undefined || capabilities === undefined || !isAskable) {
      return this.upstream.sendMessage(context, headers);
    }
    const sentId = uniqueId();
    const client = new AskedClient({
      sentId,
      capabilities,
      acceptsStream: takesStream(request.headers),
      deadline,
      size: message.body.length,
      openRequest: (size) => this.requests.openRequest(session, caller, size),
    });
    deadline.onStop(() => client.end());
    const isDeclared = route.kind === 'pooled' && route.owner?.capabilities !== undefined;
    const asking = { ...context, sentId, answeringClient: client, ...(isDeclared && { receiver: client }) };
    return client.begin(this.upstream.sendMessage(asking, headers));
  }
}
