import { Injectable } from '@nestjs/common';
import { ToolsService } from '../../api/tools/tools.service.js';
import { ConnectionService } from '../../connections/connection.service.js';
import { type HeldAnswer, endIfCallerLeft } from '../../core/answers/answer-budget.js';
import type { Principal } from '../../core/principal.js';
import { TimeSlices } from '../../core/time-slices.js';
import { holdsAnyOf } from '../agent-server/offering/agent-permissions.js';
import { AccessCallers, opensEndpoint } from './access-callers.js';
import type { AccessOfCaller, AccessOfCallerInput } from './access.dto.js';
import { type Offer, ToolOffers } from './tool-offers.js';

/** Connections and agents of one page: the tools of each are read. */
const MAX_TARGETS = 100;
const BY_TITLE = [{ field: ['title'], direction: 'asc' as const }];

/** What a key or a person can do. */
@Injectable()
export class AccessOfCallers {
  constructor(
    private readonly callers: AccessCallers,
    private readonly connections: ConnectionService,
    private readonly offers: ToolOffers,
    private readonly management: ToolsService,
  ) {}

  /** @throws DomainError `invalid_request`, `not_found`, `request_abandoned` */
  async accessOf(input: AccessOfCallerInput, asker: Principal, answer: HeldAnswer): Promise<AccessOfCaller> {
    const { principal, ...caller } = await this.callers.require(input, asker, answer);
    const { api_key_id: _key, user_id: _user, ...list } = input;
    const limit = Math.min(list.limit ?? MAX_TARGETS, MAX_TARGETS);
    const page = await this.connections.list({ ...list, limit, orderBy: list.orderBy ?? BY_TITLE }, asker, answer);
    const { totalCount, hasMore, nextCursor } = page;
    const items: AccessOfCaller['items'] = [];
    const ids = principal === undefined ? [] : page.items.map(({ id }) => id);
    for await (const offer of this.offers.offersOf(asker.organization.id, ids)) {
      endIfCallerLeft(answer);
      const reached = principal && (await reachedBy(principal, offer, answer));
      if (reached !== undefined) items.push(reached);
    }
    return {
      caller: { ...caller, active: principal !== undefined },
      management_tools: principal === undefined ? [] : this.management.listFor(principal).map(({ name }) => name),
      items,
      totalCount,
      hasMore,
      nextCursor,
    };
  }
}

/** Undefined if the caller reaches nothing of it. */
async function reachedBy(
  principal: Principal,
  offer: Offer,
  answer: HeldAnswer,
): Promise<AccessOfCaller['items'][number] | undefined> {
  const { target, tools } = offer;
  const isAgent = target.type === 'VIRTUAL';
  const run = isAgent ? offer.canRun(principal) : null;
  const slices = new TimeSlices(target.organizationId);
  let callable = 0;
  let approvals = 0;
  for (const tool of tools ?? []) {
    if (tool.permits(principal)) callable++;
    if (tool.needsApproval) approvals++;
    if (!slices.isOver) continue;
    await slices.next();
    endIfCallerLeft(answer);
  }
  const isGranted = opensEndpoint(principal, target) && holdsAnyOf({ principal }, [target.id]);
  if (callable === 0 && run !== true && !isGranted) return undefined;
  return {
    id: target.id,
    title: target.title,
    connection_type: target.type,
    status: target.status,
    tools: tools?.length ?? null,
    callable,
    run,
    approvals: isAgent ? approvals : null,
  };
}
