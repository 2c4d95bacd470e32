import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '../../common/domain-error.js';
import { CallerResolver } from './caller-resolver.js';
import { AgentToolRouter } from '../agent-server/offering/agent-tool-router.js';
import { type InboundRequest, readMessage } from '../protocol/inbound-message.js';
import { OriginPolicy } from './origin-policy.js';
import { RequestForwarder } from '../forwarding/request-forwarder.js';
import { deadlineOfReply } from '../forwarding/reply-deadline.js';

/** A tool call whose body is the arguments alone, and whose answer streams through as the upstream sends it. */
@Injectable()
export class ToolCallHandler {
  constructor(
    private readonly origins: OriginPolicy,
    private readonly callers: CallerResolver,
    private readonly requests: RequestForwarder,
    private readonly agentTools: AgentToolRouter,
  ) {}

  /** @throws DomainError */
  async call(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    this.origins.check(request.headers);
    const { toolName = '' } = request.params as { toolName?: string };
    const resolved = await this.callers.resolve(request);
    const asked = { message: requestFor(toolName, request), caller: resolved };
    const isAgent = asked.caller.connection.type === 'VIRTUAL';
    const { message, caller } = isAgent ? await this.agentTools.find(request, 'call_tool', asked) : asked;
    const scope = deadlineOfReply(reply, caller.connection.timeoutMs);
    const dispatch = { caller, route: { kind: 'shared' }, message, scope } as const;
    await this.requests.answer(request, reply, 'call_tool', dispatch, !isAgent);
  }
}

function requestFor(toolName: string, request: FastifyRequest): InboundRequest {
  const message = readMessage(envelope(toolName, request));
  if (message.kind !== 'request') throw new Error('An envelope that has an id is a request.');
  return message;
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
