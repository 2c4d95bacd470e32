import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '../../core/domain-error.js';
import { isRecord } from '../../core/is-record.js';
import { AgentOwnTools } from '../agent-server/agent-own-tools.js';
import { AgentToolRouter } from '../agent-server/offering/agent-tool-router.js';
import { pooledRoute, startRequest } from '../forwarding/upstream-router.js';
import { RequestForwarder } from '../forwarding/request-forwarder.js';
import { type InboundRequest, readMessage } from '../protocol/inbound-message.js';
import { CallerResolver } from './caller-resolver.js';

/** Handles a tool call whose body is only the arguments, and streams the answer as the upstream sends it. */
@Injectable()
export class ToolCallHandler {
  constructor(
    private readonly callers: CallerResolver,
    private readonly requests: RequestForwarder,
    private readonly agentTools: AgentToolRouter,
    private readonly ownTools: AgentOwnTools,
  ) {}

  /** @throws DomainError */
  async handleToolCall(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { toolName = '' } = request.params as { toolName?: string };
    const caller = await this.callers.resolveCaller(request);
    const message = requestFor(toolName, request);
    const route = pooledRoute(caller, message);
    const context = startRequest({ request, reply, entryPoint: 'call_tool', caller, message, route });
    const isAgent = caller.connection.type === 'VIRTUAL';
    if (isAgent && (await this.ownTools.answerCall(context))) return;
    const routed = isAgent ? await this.agentTools.route(context) : context;
    await this.requests.forwardRequest(routed, { acceptsStream: !isAgent });
  }
}

function requestFor(toolName: string, request: FastifyRequest): InboundRequest {
  const message = readMessage(envelope(toolName, request));
  if (message.kind !== 'request') throw new Error('An envelope with an id must be a request.');
  return message;
}

/** The JSON-RPC request with these arguments; an empty body means no arguments. */
function envelope(toolName: string, { body, id }: FastifyRequest): Buffer {
  const args = Buffer.isBuffer(body) && body.length > 0 ? body : Buffer.from('{}');
  // Parsed alone, so that the body cannot close the envelope and add members to it.
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
  if (!isRecord(value)) {
    throw new DomainError('invalid_arguments', 'The body must be a JSON object: the arguments of the tool.');
  }
}
