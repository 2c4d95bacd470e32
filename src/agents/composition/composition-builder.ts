import { Injectable } from '@nestjs/common';
import type { Connection } from '../../connections/connection.js';
import { ConnectionDirectory } from '../../connections/connection-directory.service.js';
import type { AgentConnection, RunnableAgent } from '../agent.js';
import { AgentsService } from '../agents.service.js';
import { composeToolNames, prefixFromTitle } from '../tool-naming.js';
import { type Composition, OFFER_KINDS, type Source, type ToolPlace, type UnavailableMember } from './composition.js';
import type { MemberList } from './member-lists.js';

/** Agents inside agents inside …; a cycle, which saving refuses, ends here too. */
const MAX_DEPTH = 8;
const MAX_AGENTS = 200;
const MAX_TOOLS = 10_000;

/** Where a composition gets the tools of a connection from. */
export type ListOf = (connection: Connection) => Promise<MemberList>;

/** An agent: a connection of type VIRTUAL. */
export interface AgentToCompose {
  readonly id: string;
  readonly organizationId: string;
  /** The agent itself, if it is being read already, since just now: then it is not read a second time. */
  readonly reading?: Promise<RunnableAgent | undefined>;
}

interface Scope {
  readonly organizationId: string;
  readonly listOf: ListOf;
  /** The agent that is composed, and those that it is inside of. */
  readonly path: readonly string[];
  /** How many agents may still be looked into. */
  readonly budget: { agents: number };
}

/** A connection of the agent, with what it brings along. */
interface Member {
  readonly selection: AgentConnection;
  readonly connection: Connection;
  readonly prefix: string;
  /** Under the names that the member itself has for them. */
  readonly places: readonly ToolPlace[];
  readonly sources: readonly Source[];
  readonly unavailable: readonly UnavailableMember[];
  readonly memberIds: readonly string[];
}

type Brought = Pick<Member, 'places' | 'sources' | 'unavailable' | 'memberIds'>;

/**
 * Composes agents out of their connections, and agents inside them. Names are decided over the last known tools of all
 * connections, so that an upstream that goes down or comes back renames nothing.
 */
@Injectable()
export class CompositionBuilder {
  constructor(
    private readonly agents: AgentsService,
    private readonly directory: ConnectionDirectory,
  ) {}

  /** An agent that has just been deleted is empty. */
  build({ id, organizationId, reading }: AgentToCompose, listOf: ListOf): Promise<Composition> {
    return this.compose(id, { organizationId, listOf, path: [id], budget: { agents: MAX_AGENTS } }, reading);
  }

  private async compose(
    agentId: string,
    scope: Scope,
    reading = this.agents.findForRun(scope.organizationId, agentId),
  ): Promise<Composition> {
    const agent = await reading;
    const members = withinLimit(await this.membersOf(agent?.connections ?? [], scope));
    const names = composeToolNames(
      members.map(({ connection, prefix, places }) => ({
        connectionId: connection.id,
        prefix,
        tools: places.map(({ name }) => name),
      })),
    );
    const placed = members.flatMap(({ connection, places }) =>
      places
        .map((place) => placedIn(agentId, place, names.get(connection.id)?.get(place.name) ?? place.name))
        .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    );
    return {
      places: new Map(placed.map((place) => [place.name, place])),
      sources: eachOnce(
        members.flatMap((member) => sourcesOf(member, agentId)),
        ({ connection }) => connection.id,
      ),
      unavailable: eachOnce(
        members.flatMap(({ unavailable }) => unavailable),
        ({ connectionId }) => connectionId,
      ),
      memberIds: new Set([agentId, ...members.flatMap(({ memberIds }) => memberIds)]),
    };
  }

  private async membersOf(selections: readonly AgentConnection[], scope: Scope): Promise<Member[]> {
    if (selections.length === 0) return [];
    const ids = selections.map(({ connectionId }) => connectionId);
    const found = await this.directory.findAll(scope.organizationId, ids);
    const [agents, connections] = [found.filter(isAgent), found.filter((connection) => !isAgent(connection))];
    const brought = new Map(
      (
        await Promise.all([
          this.bringAll(connections, selections, scope),
          Promise.all(agents.map(async (agent) => [agent, await this.bringAgent(agent, scope)] as const)),
        ])
      )
        .flat()
        .map(([connection, what]) => [connection.id, { connection, ...what }]),
    );
    return selections.flatMap((selection) => {
      const member = brought.get(selection.connectionId);
      // Deleted since the agent was read.
      if (member === undefined) return [];
      const prefix = selection.prefix ?? prefixFromTitle(member.connection.title);
      return [
        { ...member, selection, prefix, places: member.places.filter(({ name }) => isSelected(selection, name)) },
      ];
    });
  }

  /** A choice among tools that were never listed is believed. */
  private async bringAll(
    connections: readonly Connection[],
    selections: readonly AgentConnection[],
    { listOf }: Scope,
  ): Promise<(readonly [Connection, Brought])[]> {
    const lists = await Promise.all(connections.map(listOf));
    const silent = connections.filter((_connection, index) => lists[index]?.list === undefined);
    const lastKnown =
      silent.length === 0 ? undefined : await this.directory.lastKnownToolNames(silent.map(({ id }) => id));
    const selected = new Map(selections.map(({ connectionId, selectedTools }) => [connectionId, selectedTools]));
    return connections.map((connection, index) => {
      const { id } = connection;
      return [connection, bring(connection, lists[index], lastKnown?.get(id) ?? selected.get(id) ?? [])] as const;
    });
  }

  private async bringAgent(agent: Connection, { path, ...scope }: Scope): Promise<Brought> {
    scope.budget.agents--;
    if (path.includes(agent.id) || path.length >= MAX_DEPTH || scope.budget.agents < 0) {
      const fault = unavailableFor(agent, 'There are too many agents inside each other.');
      return { places: [], sources: [], unavailable: [fault], memberIds: [agent.id] };
    }
    const inner = await this.compose(agent.id, { ...scope, path: [...path, agent.id] });
    const memberIds = [...inner.memberIds];
    const mayBePublic = agent.publicTools === 'honor';
    const places = [...inner.places.values()].map((place) => ({
      ...place,
      isPublic: mayBePublic && place.isPublic,
    }));
    // One in the status `error` lacks some of its connections, and reports those.
    if (agent.status !== 'inactive') {
      return { places, sources: inner.sources, unavailable: inner.unavailable, memberIds };
    }
    const fault = unavailableFor(agent, 'The agent is inactive.');
    const silent = places.map((place) => ({ ...place, tool: undefined, fault, isInactive: true, isPublic: false }));
    return { places: silent, sources: [], unavailable: [fault], memberIds };
  }
}

/** @param lastKnown the names of its tools when it cannot be listed */
function bring(connection: Connection, listed: MemberList | undefined, lastKnown: readonly string[]): Brought {
  const list = listed?.list;
  const names = list === undefined ? lastKnown : [...list.tools.keys()];
  const mayBePublic = connection.publicTools === 'honor';
  const isInactive = connection.status === 'inactive';
  const fault = listed?.fault === undefined ? undefined : unavailableFor(connection, listed.fault);
  const places = names.map((name): ToolPlace => {
    const tool = list?.tools.get(name);
    const grants = [{ resource: connection.id, tool: name }];
    const isPublic = mayBePublic && tool?.isPublic === true;
    return { name, connection, upstreamName: name, grants, tool, fault, isInactive, isPublic };
  });
  const source = { connection, prefix: '', kinds: new Set(OFFER_KINDS), grantors: [connection.id] };
  const unavailable = fault === undefined ? [] : [fault];
  return { places, sources: [source], unavailable, memberIds: [connection.id] };
}

function isAgent({ type }: Connection): boolean {
  return type === 'VIRTUAL';
}

function placedIn(agentId: string, place: ToolPlace, name: string): ToolPlace {
  return { ...place, name, grants: [...place.grants, { resource: agentId, tool: name }] };
}

function sourcesOf({ selection, prefix, sources, connection }: Member, agentId: string): Source[] {
  if (connection.status === 'inactive') return [];
  return sources.map((source) => ({
    ...source,
    prefix,
    kinds: new Set([...source.kinds].filter((kind) => isSelected(selection, kind))),
    grantors: [...source.grantors, agentId],
  }));
}

/** What an agent holds twice by way of agents inside it counts as it comes first. */
function eachOnce<T>(all: readonly T[], idOf: (one: T) => string): T[] {
  const byId = new Map<string, T>();
  for (const one of all) if (!byId.has(idOf(one))) byId.set(idOf(one), one);
  return [...byId.values()];
}

function withinLimit(members: readonly Member[]): Member[] {
  let count = 0;
  return members.map((member) => {
    if (count + member.places.length > MAX_TOOLS) {
      const fault = unavailableFor(member.connection, `The agent would have more than ${MAX_TOOLS} tools with it.`);
      return { ...member, places: [], unavailable: [...member.unavailable, fault] };
    }
    count += member.places.length;
    return member;
  });
}

function isSelected({ selectedTools }: AgentConnection, toolName: string): boolean {
  return selectedTools === null || selectedTools.includes(toolName);
}

function unavailableFor({ id, title }: Connection, reason: string): UnavailableMember {
  return { connectionId: id, title, reason };
}
