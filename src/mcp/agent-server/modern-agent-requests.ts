import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AgentComposition } from '../../agents/composition/agent-composition.js';
import type { Source } from '../../agents/composition/composition.js';
import type { AuditDoor } from '../../audit/audit-record.js';
import { DomainError } from '../../common/domain-error.js';
import { deadlineOfReply } from '../forwarding/reply-deadline.js';
import type { InboundRequest } from '../protocol/inbound-message.js';
import { ProxyCaller } from '../protocol/proxy-caller.js';
import { requireEnvelope } from '../translation/modern-envelope.js';
import { ModernRequestTranslator } from '../translation/modern-request-translator.js';
import { type AgentCall, AgentToolRouter } from './offering/agent-tool-router.js';
import { AgentPromptsAndResources } from './offering/agent-prompts-and-resources.js';
import { namedHeaders } from './named-headers.js';
import { renameTool } from './offering/rename-tool.js';

/** A request of the modern era to an agent, and where it leads. */
interface Led {
  readonly caller: ProxyCaller;
  readonly message: InboundRequest;
}

/**
 * What clients of the modern era (MCP 2026-07-28) ask of one connection of an agent. It goes there as it came, under the
 * upstream's own name, so that an upstream can answer that it needs further input.
 */
@Injectable()
export class ModernAgentRequests {
  constructor(
    private readonly tools: AgentToolRouter,
    private readonly offers: AgentPromptsAndResources,
    private readonly compositions: AgentComposition,
    private readonly modern: ModernRequestTranslator,
  ) {}

  /** @throws DomainError */
  async callTool(request: FastifyRequest, reply: FastifyReply, door: AuditDoor, asked: AgentCall): Promise<void> {
    // The upstream looks at it too, but only after the arguments were checked here.
    if (asked.message.kind === 'request') requireEnvelope(request.headers, asked.message);
    await this.pass(request, reply, door, await this.tools.find(request, door, asked));
  }

  /** Passes a request for a prompt or a resource on; false if it does not lead to one connection. @throws DomainError */
  async ask(request: FastifyRequest, reply: FastifyReply, door: AuditDoor, asked: AgentCall): Promise<boolean> {
    const { caller, message } = asked;
    if (message.kind !== 'request' || caller.connection.status === 'inactive') return false;
    const led = await this.lead(caller, message);
    if (led === undefined) return false;
    await this.pass(request, reply, door, led);
    return true;
  }

  private async pass(
    request: FastifyRequest,
    reply: FastifyReply,
    door: AuditDoor,
    { caller, message }: Led,
  ): Promise<void> {
    const scope = deadlineOfReply(reply, caller.connection.timeoutMs);
    const name = message.params[message.method === 'resources/read' ? 'uri' : 'name'];
    const route = { kind: 'stateless', headers: namedHeaders(request.headers, String(name)) } as const;
    await this.modern.answer(request, reply, door, { caller, message, scope, route });
  }

  private async lead(caller: ProxyCaller, message: InboundRequest): Promise<Led | undefined> {
    const { name, uri } = message.params;
    try {
      if (message.method === 'prompts/get' && typeof name === 'string') {
        const [source, upstreamName] = await this.offers.findPrompt(caller, await this.sourcesOf(caller), name);
        return { caller: callerOf(source, caller), message: renameTool(message, upstreamName) };
      }
      if (message.method !== 'resources/read' || typeof uri !== 'string') return undefined;
      const [source, ...others] = await this.offers.findResource(caller, await this.sourcesOf(caller), uri);
      if (source === undefined || others.length > 0) return undefined;
      return { caller: callerOf(source, caller), message };
    } catch (error) {
      // What there is not is told as everything else that the agent answers by itself.
      if (error instanceof DomainError && error.code === 'not_found') return undefined;
      throw error;
    }
  }

  private async sourcesOf({ connection }: ProxyCaller): Promise<readonly Source[]> {
    return (await this.compositions.namesOf(connection)).sources;
  }
}

function callerOf({ connection }: Source, { principal, requestId }: ProxyCaller): ProxyCaller {
  return new ProxyCaller(principal, connection, requestId);
}
