import { Injectable } from '@nestjs/common';
import { AgentsService } from '../../agents/records/agents.service.js';
import { ConnectionDirectory } from '../../connections/connection-directory.js';
import { HELD_PER_JSON_BYTE, type HeldAnswer, endIfCallerLeft } from '../../core/answers/answer-budget.js';
import { DomainError, faultAt } from '../../core/domain-error.js';
import type { Principal } from '../../core/principal.js';
import { TimeSlices } from '../../core/time-slices.js';
import { type AccessCaller, AccessCallers } from './access-callers.js';
import {
  type AccessTools,
  type AccessToolsInput,
  type AccessToTool,
  type AccessToToolInput,
  DEFAULT_PAGE,
} from './access.dto.js';
import { type Offer, type OfferedTool, ToolOffers } from './tool-offers.js';

/** Agents that an answer covers: each is composed. */
const MAX_AGENTS = 100;

/** Connections that a search for tools covers: each has its list read. */
const MAX_SEARCHED = 20;
const MIN_SEARCH_LENGTH = 2;

/** An agent that has the tool in question. Its offer is not kept: it has all tools of the agent. */
interface Way {
  readonly target: Offer['target'];
  readonly canRun: Offer['canRun'];
  readonly tool: OfferedTool;
}

/** Which tools a connection or agent has, and who can call one of them. */
@Injectable()
export class AccessToTools {
  constructor(
    private readonly callers: AccessCallers,
    private readonly offers: ToolOffers,
    private readonly agents: AgentsService,
    private readonly directory: ConnectionDirectory,
  ) {}

  /**
   * @throws DomainError `invalid_request`, `not_found`, `answer_memory_exhausted`, `request_abandoned`, and as
   *   `LongReads.read`
   */
  async list(input: AccessToolsInput, asker: Principal, answer: HeldAnswer): Promise<AccessTools> {
    const { connection_id: id, search = '', limit = DEFAULT_PAGE, offset = 0 } = input;
    const organizationId = asker.organization.id;
    const caller = await this.callers.find(input, asker, answer);
    const offers =
      id === undefined
        ? this.search(organizationId, search, answer)
        : [await this.offers.requireOffer(organizationId, id)];
    const wanted = search.toLowerCase();
    const items: AccessTools['items'] = [];
    let totalCount = 0;
    for await (const { target, tools = [] } of offers) {
      endIfCallerLeft(answer);
      for (const tool of tools) {
        if (!tool.name.toLowerCase().includes(wanted)) continue;
        if (totalCount >= offset && items.length < limit) items.push(itemOf(tool, target, caller));
        totalCount++;
      }
    }
    return { items, totalCount, hasMore: offset + limit < totalCount };
  }

  /** The offers of the connections that have a tool with this text in its name. No earlier one has to be kept. */
  private async *search(organizationId: string, text: string, answer: HeldAnswer): AsyncGenerator<Offer> {
    if (text.length < MIN_SEARCH_LENGTH) {
      throw faultAt('search', 'min_length', 'Name a connection, or search for at least two characters.');
    }
    const lists = await this.directory.findWithTool(organizationId, text, MAX_SEARCHED, answer.callerLeft);
    // They are read one after another.
    answer.reserve(Math.max(0, ...lists.map(({ size }) => size)) * HELD_PER_JSON_BYTE);
    const ids = lists.map((list) => list.id);
    yield* this.offers.offersOf(organizationId, ids);
  }

  /** @throws DomainError `not_found`, `request_abandoned` */
  async accessTo(input: AccessToToolInput, asker: Principal, answer: HeldAnswer): Promise<AccessToTool> {
    const organizationId = asker.organization.id;
    const asked = toolOf(await this.offers.requireOffer(organizationId, input.connection_id), input.tool_name);
    const { connection, upstreamName } = asked;
    // The connection's own tool, also if the question names it as an agent does.
    const own = (await this.offers.requireOffer(organizationId, connection.id)).tools?.find(
      ({ name }) => name === upstreamName,
    );
    const ids = await this.agents.findContaining(organizationId, connection.id, MAX_AGENTS + 1);
    const ways: Way[] = [];
    for await (const offer of this.offers.offersOf(organizationId, ids.slice(0, MAX_AGENTS))) {
      endIfCallerLeft(answer);
      const { target, canRun, tools = [] } = offer;
      for (const tool of tools) {
        if (tool.connection.id === connection.id && tool.upstreamName === upstreamName) {
          ways.push({ target, canRun, tool });
        }
      }
    }
    const { callers, truncated } = await this.callers.all(asker, answer);
    const items = await callersOf(own, ways, callers, { slices: new TimeSlices(organizationId), answer });
    const { limit = DEFAULT_PAGE, offset = 0 } = input;
    return {
      connection_id: connection.id,
      connection_title: connection.title,
      tool_name: upstreamName,
      public: own?.isPublic === true,
      agents: ways.map(({ target, tool }) => ({
        id: target.id,
        title: target.title,
        status: target.status,
        tool_name: tool.name,
        approval: tool.needsApproval,
        public: tool.isPublic,
      })),
      items: items.slice(offset, offset + limit),
      totalCount: items.length,
      hasMore: offset + limit < items.length,
      truncated: truncated || ids.length > MAX_AGENTS,
    };
  }
}

function itemOf(
  tool: OfferedTool,
  target: Offer['target'],
  caller: AccessCaller | undefined,
): AccessTools['items'][number] {
  const { name, connection, upstreamName, needsApproval, isPublic } = tool;
  return {
    name,
    connection_id: connection.id,
    connection_title: connection.title,
    upstream_name: upstreamName,
    approval: target.type === 'VIRTUAL' ? needsApproval : null,
    public: isPublic,
    callable: caller === undefined ? null : caller.principal !== undefined && tool.permits(caller.principal),
  };
}

function toolOf({ tools = [] }: Offer, toolName: string): OfferedTool {
  const tool = tools.find(({ name }) => name === toolName);
  if (tool !== undefined) return tool;
  throw new DomainError('not_found', 'The connection or agent has no tool with this name, as last known.');
}

/** The callers with at least one way to the tool. */
async function callersOf(
  own: OfferedTool | undefined,
  ways: readonly Way[],
  callers: readonly AccessCaller[],
  { slices, answer }: { readonly slices: TimeSlices; readonly answer: HeldAnswer },
) {
  const items: AccessToTool['items'] = [];
  for (const { principal, ...caller } of callers) {
    if (slices.isOver) await slices.next();
    endIfCallerLeft(answer);
    if (principal === undefined) continue;
    const direct = own?.permits(principal) === true;
    const idsOf = (chosen: readonly Way[]): string[] => [...new Set(chosen.map(({ target }) => target.id))];
    const agents = idsOf(ways.filter(({ tool }) => tool.permits(principal)));
    const runs = idsOf(ways.filter(({ canRun }) => canRun(principal)));
    if (direct || agents.length > 0 || runs.length > 0) items.push({ ...caller, direct, agents, runs });
  }
  return items;
}
