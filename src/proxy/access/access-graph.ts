import { Injectable } from '@nestjs/common';
import { AgentsService } from '../../agents/records/agents.service.js';
import type { CallPath } from '../../audit/calls/audit-stats.repository.js';
import { MonitoringService } from '../../audit/calls/monitoring.service.js';
import { ConnectionDirectory } from '../../connections/connection-directory.js';
import { HELD_PER_JSON_BYTE, type HeldAnswer, endIfCallerLeft } from '../../core/answers/answer-budget.js';
import { databaseDate } from '../../core/database-time.js';
import { readTimeRange } from '../../core/paging/time-range.js';
import type { Principal } from '../../core/principal.js';
import { TimeSlices } from '../../core/time-slices.js';
import type { ApprovalPath } from '../../runtime/runs/run-stats.repository.js';
import { RunStatsService } from '../../runtime/runs/run-stats.service.js';
import { holdsAnyOf } from '../agent-server/offering/agent-permissions.js';
import { AccessCallers, canRun, opensEndpoint } from './access-callers.js';
import type { AccessGraph, AccessGraphInput } from './access.dto.js';

const DAY_MS = 86_400_000;
const MAX_PATHS = 2_000;
/** JSON text of a connection, of an agent's use of one, of a caller, and of an id that callers reach. */
const NODE_BYTES = 400;
const USE_BYTES = 160;
const CALLER_BYTES = 300;
const ID_BYTES = 39;

type Node = AccessGraph['nodes'][number];
type Reach = AccessGraph['reaches'][number];

const NOTHING: Reach = { calls: { all: false, ids: [] }, runs: { all: false, ids: [] } };

/** Callers, agents and connections of an organization: who reaches what, and what went there. */
@Injectable()
export class AccessGraphs {
  constructor(
    private readonly callers: AccessCallers,
    private readonly directory: ConnectionDirectory,
    private readonly agents: AgentsService,
    private readonly calls: MonitoringService,
    private readonly runs: RunStatsService,
  ) {}

  /** @throws DomainError `invalid_request`, `request_abandoned`, and as `LongReads.read` */
  async read(input: AccessGraphInput, asker: Principal, answer: HeldAnswer): Promise<AccessGraph> {
    const range = readTimeRange(input, databaseDate(), DAY_MS);
    const organizationId = asker.organization.id;
    const [outlines, members] = await Promise.all([
      this.directory.findOutlines(organizationId),
      this.agents.findMemberOutlines(organizationId),
    ]);
    answer.reserve((outlines.length * NODE_BYTES + members.length * USE_BYTES) * HELD_PER_JSON_BYTE);
    const { callers, truncated } = await this.callers.all(asker, answer);
    answer.reserve(callers.length * CALLER_BYTES * HELD_PER_JSON_BYTE);
    const paths = await this.calls.countPaths(asker, range, MAX_PATHS + 1, answer);
    const approvals = await this.runs.countApprovals(asker, range, MAX_PATHS + 1, answer);
    const nodes = outlines.map(({ id, title, type, status, toolCount }) => ({
      id,
      title,
      connection_type: type,
      status,
      tools: toolCount,
    }));
    const uses = members.map(({ agentId, connectionId, toolCount, approval }) => ({
      agent_id: agentId,
      connection_id: connectionId,
      tools: toolCount,
      approval,
    }));
    const { reaches, indexes } = await reachesOf(
      callers.map(({ principal }) => principal),
      nodes,
      grantorsOf(uses),
      new TimeSlices(organizationId),
      answer,
    );
    return {
      from: range.from.toISOString(),
      to: range.to.toISOString(),
      callers: callers.map(({ principal, ...caller }, index) => ({
        ...caller,
        active: principal !== undefined,
        reach: indexes[index] ?? 0,
      })),
      reaches,
      nodes,
      uses,
      traffic: trafficOf(paths.slice(0, MAX_PATHS), approvals.slice(0, MAX_PATHS)),
      truncated: truncated || paths.length > MAX_PATHS || approvals.length > MAX_PATHS,
    };
  }
}

/** The ids of everything inside an agent, on which a grant opens something at the agent's endpoint. */
function grantorsOf(uses: AccessGraph['uses']): (agentId: string) => readonly string[] {
  const members = Map.groupBy(uses, ({ agent_id: agentId }) => agentId);
  return (agentId) => {
    const found = new Set([agentId]);
    for (const id of found) for (const { connection_id: member } of members.get(id) ?? []) found.add(member);
    return [...found];
  };
}

interface Target {
  readonly id: string;
  readonly isAgent: boolean;
  readonly grantors: readonly string[];
}

/**
 * What the credentials reach, once for all with the same rights, and the index of each one's. The first is that of
 * callers without a valid credential: nothing.
 */
async function reachesOf(
  principals: readonly (Principal | undefined)[],
  nodes: readonly Node[],
  grantorsOf: (agentId: string) => readonly string[],
  slices: TimeSlices,
  answer: HeldAnswer,
): Promise<{ reaches: Reach[]; indexes: number[] }> {
  const targets: Target[] = [];
  for (const { id, connection_type: type } of nodes) {
    const isAgent = type === 'VIRTUAL';
    targets.push({ id, isAgent, grantors: isAgent ? grantorsOf(id) : [id] });
    if (slices.isOver) await endSlice(slices, answer);
  }
  const reaches: Reach[] = [NOTHING];
  const known = new Map<string, number>();
  const indexes: number[] = [];
  for (const principal of principals) {
    if (slices.isOver) await endSlice(slices, answer);
    if (principal === undefined) {
      indexes.push(0);
      continue;
    }
    const key = rightsOf(principal);
    let index = known.get(key);
    if (index === undefined) {
      index = reaches.push(await reachOf(principal, targets, slices, answer)) - 1;
      known.set(key, index);
    }
    indexes.push(index);
  }
  return { reaches, indexes };
}

/** Equal for credentials that reach the same. */
function rightsOf({ permissionsDigest, runAccess, resource, scopes }: Principal): string {
  return JSON.stringify([permissionsDigest, runAccess, resource, scopes]);
}

async function reachOf(
  principal: Principal,
  targets: readonly Target[],
  slices: TimeSlices,
  answer: HeldAnswer,
): Promise<Reach> {
  const calls: string[] = [];
  const runs: string[] = [];
  let agents = 0;
  for (const { id, isAgent, grantors } of targets) {
    if (isAgent) agents++;
    if (opensEndpoint(principal, { id }) && holdsAnyOf({ principal }, grantors)) calls.push(id);
    if (isAgent && canRun(principal, id)) runs.push(id);
    if (slices.isOver) await endSlice(slices, answer);
  }
  const reach: Reach = { calls: idsAmong(calls, targets.length), runs: idsAmong(runs, agents) };
  answer.reserve((reach.calls.ids.length + reach.runs.ids.length) * ID_BYTES * HELD_PER_JSON_BYTE);
  return reach;
}

async function endSlice(slices: TimeSlices, answer: HeldAnswer): Promise<void> {
  await slices.next();
  endIfCallerLeft(answer);
}

function idsAmong(ids: string[], count: number) {
  return ids.length === count && count > 0 ? { all: true, ids: [] } : { all: false, ids };
}

type Path = Pick<CallPath, 'apiKeyId' | 'userId' | 'agentId' | 'connectionId'>;

const keyOf = ({ apiKeyId, userId, agentId, connectionId }: Path): string =>
  JSON.stringify([apiKeyId, userId, agentId, connectionId]);

/** Calls and approvals of the same way in one row. */
function trafficOf(paths: readonly CallPath[], approvals: readonly ApprovalPath[]): AccessGraph['traffic'] {
  const asked = new Map(approvals.map((path) => [keyOf(path), path]));
  const called = new Set(paths.map(keyOf));
  const uncalled = approvals
    .filter((path) => !called.has(keyOf(path)))
    .map((path) => ({ ...path, calls: 0, errors: 0, denied: 0 }));
  return [...paths, ...uncalled].map((path) => {
    const { requested = 0, approved = 0, denied = 0 } = asked.get(keyOf(path)) ?? {};
    return {
      api_key_id: path.apiKeyId,
      user_id: path.userId,
      agent_id: path.agentId,
      connection_id: path.connectionId,
      calls: path.calls,
      errors: path.errors,
      denied: path.denied,
      approvals_requested: requested,
      approvals_given: approved,
      approvals_denied: denied,
    };
  });
}
