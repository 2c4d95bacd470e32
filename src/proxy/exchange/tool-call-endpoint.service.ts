import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '../../common/domain-error.js';
import { CallScope } from '../../upstreams/call-scope.js';
import { outcomeOf } from '../../upstreams/invocation.js';
import { CallerResolver } from '../caller-resolver.service.js';
import { AgentToolRouter } from '../gateway/agent-tool-router.service.js';
import { readMessage } from '../jsonrpc/inbound-message.js';
import { OriginPolicy } from '../origin-policy.js';
import { relayAnswer } from '../relay/relay-answer.js';
import { toProxyError } from '../upstream-refusal.js';
import { ReplyWriter } from './reply-writer.service.js';
import { abandoned } from './request-exchange.service.js';
import { type Dispatch, Sender } from './sender.service.js';
import { ToolCalls } from './tool-calls.service.js';

/** A tool call whose body is the arguments alone, and whose answer streams through as the upstream sends it. */
@Injectable()
export class ToolCallEndpoint {
  constructor(
    private readonly origins: OriginPolicy,
    private readonly callers: CallerResolver,
    private readonly toolCalls: ToolCalls,
    private readonly sender: Sender,
    private readonly writer: ReplyWriter,
    private readonly agentTools: AgentToolRouter,
  ) {}

  /** @throws DomainError */
  async call(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    this.origins.check(request.headers);
    const { toolName = '' } = request.params as { toolName?: string };
    const resolved = await this.callers.resolve(request);
    const asked = { message: readMessage(envelope(toolName, request)), caller: resolved };
    const isAgent = asked.caller.connection.type === 'VIRTUAL';
    const { message, caller } = isAgent ? await this.agentTools.find(request, 'call_tool', asked) : asked;
    const scope = new CallScope(undefined, caller.connection.timeoutMs);
    reply.raw.once('close', () => (reply.raw.writableFinished ? scope.end() : scope.cancel()));
    const unsent = { caller, route: { kind: 'shared' }, message, scope } as const satisfies Omit<Dispatch, 'headers'>;
    const invocation = await this.toolCalls.admit(request, 'call_tool', unsent);
    try {
      const headers = { 'x-request-id': request.id, ...invocation.traceHeaders };
      const { answer, sentId } = await this.sender.send({ ...unsent, headers });
      const relayed = await relayAnswer(answer, {
        callerId: JSON.stringify(request.id),
        sentId,
        acceptsStream: !isAgent,
        requestId: request.id,
        onListChanged: () => this.toolCalls.listChanged(unsent),
        explain: (error) => scope.explain(error),
        settle: (outcome) => invocation.settle(outcome),
      });
      if (reply.raw.destroyed) throw abandoned(answer);
      this.writer.write(request, reply, relayed, answer.headers);
    } catch (error) {
      const cause = scope.explain(error);
      await invocation.settle(outcomeOf(cause));
      throw toProxyError(cause);
    }
  }
}

/** The arguments in the JSON-RPC request that they belong to; no body means none. */
function envelope(toolName: string, { body, id }: FastifyRequest): Buffer {
  const args = Buffer.isBuffer(body) && body.length > 0 ? body : Buffer.from('{}');
  // By itself, so that it cannot end the envelope and begin something else.
  requireObject(args);
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"tools/call","params":{"name":${JSON.stringify(toolName)},"arguments":`;
  return Buffer.concat([Buffer.from(head), args, Buffer.from('}}')]);
}

function requireObject(json: Buffer): void {
  let value: unknown;
  try {
    value = JSON.parse(json.toString('utf8'));
  } catch {
    throw new DomainError('malformed_json', 'The body is not valid JSON.');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new DomainError('invalid_arguments', 'The body must be a JSON object: the arguments of the tool.');
  }
}
