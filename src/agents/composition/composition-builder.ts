import { Injectable } from '@nestjs/common';
import { TimeSlices } from '../../core/time-slices.js';
import type { Connection } from '../../connections/connection.js';
import { askName, composeToolNamesInSlices, prefixFromTitle, SEARCH_TOOL_NAMES } from './tool-naming.js';
import type { LastKnownTool } from '../../connections/last-known-tool.js';
import { definitionSize, type KnownTool } from '../../upstreams/catalog/tool-list.js';
import { pagesOf } from '../../upstreams/contract/app-tool.js';
import { ToolDresser } from '../dressing/tool-dresser.js';
import {
  type AgentConnection,
  type ApprovalRule,
  DEFAULT_TOOL_MODE,
  type RunnableAgent,
  toolOf,
} from '../records/agent.js';
import { type AgentParts, MAX_DEPTH, MAX_SIZE, TOO_LARGE } from './agent-parts.js';
import {
  type AskOffer,
  type Composition,
  OFFER_KINDS,
  type Source,
  type ToolPlace,
  type UnavailableMember,
  dressedPlace,
} from './composition.js';
import type { MemberList } from './member-lists.js';
import { type Composed, withAddresses } from './resource-addresses.js';

/** The tools of one agent. */
const MAX_TOOLS = 10_000;
const TOO_MANY = `With it, the agent would have more than ${MAX_TOOLS} tools.`;
/** The tools of an agent and of all agents inside it; a tool counts once per name. */
const MAX_PLACES = 50_000;
/** A composition in progress. */
interface Work {
  readonly parts: AgentParts;
  readonly slices: TimeSlices;
  /** Agents already composed, as members of other agents. */
  readonly done: Map<string, Brought>;
  placesLeft: number;
  /** For the definitions of dressed tools, which are copies, in characters. */
  dressingLeft: number;
}

/** A connection of the agent and the tools it contributes. */
interface Member {
  readonly selection: AgentConnection;
  readonly connection: Connection;
  readonly prefix: string;
  /** Under the member's own names. */
  readonly places: readonly ToolPlace[];
  readonly sources: readonly Source[];
  readonly unavailable: readonly UnavailableMember[];
  readonly memberIds: readonly string[];
}

type Brought = Pick<Member, 'places' | 'sources' | 'unavailable' | 'memberIds'>;

/**
 * Composes agents from their connections and nested agents. Names are assigned over the last known tools of all
 * connections, so that an upstream that goes down or comes back renames no tool. Composing yields to other requests
 * regularly.
 */
@Injectable()
export class CompositionBuilder {
  constructor(private readonly dresser: ToolDresser) {}

  /** An agent that was just deleted is empty. */
  async build(parts: AgentParts): Promise<Composition> {
    const left = { placesLeft: MAX_PLACES, dressingLeft: MAX_SIZE };
    const work = { parts, slices: new TimeSlices(parts.organizationId), done: new Map<string, Brought>(), ...left };
    return withAddresses(await this.compose(parts.id, [parts.id], work), work.slices);
  }

  private async compose(agentId: string, path: readonly string[], work: Work): Promise<Composed> {
    const { slices } = work;
    const members: Member[] = [];
    let [count, size] = [0, 0];
    const agent = work.parts.agents.get(agentId);
    const toolMode = agent?.toolMode ?? DEFAULT_TOOL_MODE;
    for (const selection of agent?.connections ?? []) {
      const member = await this.memberOf(selection, path, work);
      // Deleted since the agent was read.
      if (member === undefined) continue;
      const added = await sizeOf(member.places, slices);
      if (count + member.places.length > MAX_TOOLS) members.push(withoutTools(member, TOO_MANY));
      else if (size + added > MAX_SIZE) members.push(withoutTools(member, TOO_LARGE));
      else {
        members.push(member);
        count += member.places.length;
        size += added;
      }
    }
    work.placesLeft -= count;
    const names = await composeToolNamesInSlices(
      members.map(({ connection, selection, prefix, places }) => ({
        connectionId: connection.id,
        prefix,
        tools: places.map(({ name }) => name),
        chosen: chosenNames(selection),
      })),
      slices,
      toolMode === 'all' ? [] : SEARCH_TOOL_NAMES,
    );
    const composed = new Map<string, ToolPlace>();
    for (const { connection, places } of members) {
      const ofMember = names.get(connection.id);
      const placed: ToolPlace[] = [];
      for (const place of places) {
        placed.push(placedIn(agentId, place, ofMember?.get(place.name) ?? place.name));
        if (slices.isOver) await slices.next();
      }
      placed.sort((a, b) => (a.name < b.name ? -1 : 1));
      for (const place of placed) composed.set(place.name, place);
    }
    return {
      places: composed,
      toolMode,
      ask: agent && askOf(agent, composed),
      pinnedTools: agent?.pinnedTools ?? [],
      hasPublic: [...composed.values()].some(({ isPublic, tool }) => isPublic && tool !== undefined),
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

  private async memberOf(selection: AgentConnection, path: readonly string[], work: Work): Promise<Member | undefined> {
    const { parts, slices } = work;
    const connection = parts.connections.get(selection.connectionId);
    if (connection === undefined) return undefined;
    const brought = isAgent(connection)
      ? await this.bringAgent(connection, path, work)
      : // A choice among tools that were never listed is believed.
        bring(
          connection,
          parts.lists.get(connection.id),
          parts.lastKnown.get(connection.id) ?? [...(selectedNames(selection) ?? [])].map(neverListed),
        );
    if (slices.isOver) await slices.next();
    const prefix = selection.prefix ?? prefixFromTitle(connection.title);
    const selected = selectedNames(selection);
    const chosen = selected === undefined ? brought.places : brought.places.filter(({ name }) => selected.has(name));
    const places = withApproval(chosen, selection.approval);
    const member = { ...brought, connection, selection, prefix, places };
    return isDressing(selection) ? this.dress(member, work) : member;
  }

  /** The member's tools as the agent dresses them; one tool can be dressed several times, under different names. */
  private async dress(member: Member, work: Work): Promise<Member> {
    const byName = new Map(member.places.map((place) => [place.name, place]));
    const places: ToolPlace[] = [];
    const misfits: UnavailableMember[] = [];
    let left = work.dressingLeft;
    for (const selected of member.selection.selectedTools ?? []) {
      const place = byName.get(toolOf(selected));
      if (place === undefined) continue;
      if (typeof selected === 'string') {
        places.push(place);
        continue;
      }
      const result = await this.dresser.dressTool(place, selected, place.connection);
      const dressed = dressedPlace(place, selected, result);
      places.push(dressed);
      if (dressed.tool !== undefined) left -= definitionSize(dressed.tool.definition);
      if (left < 0) return withoutTools(member, TOO_LARGE);
      if (result.misfit !== undefined && dressed.fault !== undefined) misfits.push(dressed.fault);
      if (work.slices.isOver) await work.slices.next();
    }
    work.dressingLeft = left;
    // A rule can name a tool as the agent does.
    const marked = withApproval(places, member.selection.approval);
    return { ...member, places: marked, unavailable: [...member.unavailable, ...misfits] };
  }

  private async bringAgent(agent: Connection, path: readonly string[], work: Work): Promise<Brought> {
    const known = work.done.get(agent.id);
    if (known !== undefined) return known;
    if (path.includes(agent.id) || path.length >= MAX_DEPTH || !work.parts.agents.has(agent.id)) {
      return withFault(agent, 'Agents are nested too deeply.');
    }
    if (work.placesLeft <= 0) {
      return withFault(agent, `With it, the nested agents would have more than ${MAX_PLACES} tools.`);
    }
    const inner = await this.compose(agent.id, [...path, agent.id], work);
    const brought = broughtBy(agent, inner);
    work.done.set(agent.id, brought);
    return brought;
  }
}

/** What an inner agent has marked stays marked: the stricter rule counts. */
function withApproval(places: readonly ToolPlace[], rule: ApprovalRule): readonly ToolPlace[] {
  if (rule === 'none') return places;
  const names = typeof rule === 'string' ? undefined : new Set(rule);
  const asks = ({ name, upstreamName, tool }: ToolPlace): boolean => {
    // The name that an inner agent gives a tool can change with the tools of its other connections.
    if (names !== undefined) return names.has(name) || names.has(upstreamName);
    return rule === 'all' || mayDestroy(tool);
  };
  return places.map((place) => (place.needsApproval || !asks(place) ? place : { ...place, needsApproval: true }));
}

/** By the upstream's own claim; what it does not say, or cannot say at the moment, counts as destructive. */
function mayDestroy(tool: KnownTool | undefined): boolean {
  const annotations = tool?.definition.annotations;
  return annotations?.readOnlyHint !== true && annotations?.destructiveHint !== false;
}

/** The tools that an agent contributes to another one. */
function broughtBy(agent: Connection, inner: Composed): Brought {
  const memberIds = [...inner.memberIds];
  const mayBePublic = agent.publicTools === 'honor';
  const places = [...inner.places.values()].map((place) =>
    mayBePublic || !place.isPublic ? place : { ...place, isPublic: false },
  );
  // An agent in the status `error` lacks some of its connections and reports them.
  if (agent.status !== 'inactive') {
    return { places, sources: inner.sources, unavailable: inner.unavailable, memberIds };
  }
  const fault = unavailableFor(agent, 'The agent is inactive.');
  const silent = places.map((place) => ({ ...place, tool: undefined, fault, isInactive: true, isPublic: false }));
  return { places: silent, sources: [], unavailable: [fault], memberIds };
}

/** The length of the definitions of these tools as JSON text, in characters. */
async function sizeOf(places: readonly ToolPlace[], slices: TimeSlices): Promise<number> {
  let size = 0;
  for (const { tool } of places) {
    if (tool !== undefined) size += definitionSize(tool.definition);
    if (slices.isOver) await slices.next();
  }
  return size;
}

function withFault(agent: Connection, reason: string): Brought {
  return { places: [], sources: [], unavailable: [unavailableFor(agent, reason)], memberIds: [agent.id] };
}

function withoutTools(member: Member, reason: string): Member {
  const fault = unavailableFor(member.connection, reason);
  return { ...member, places: [], unavailable: [...member.unavailable, fault] };
}

/** @param lastKnown its tools when it cannot be listed */
function bring(connection: Connection, listed: MemberList | undefined, lastKnown: readonly LastKnownTool[]): Brought {
  const list = listed?.list;
  const known = list === undefined ? lastKnown : [...list.tools.values()].map(asLastKnown);
  const mayBePublic = connection.publicTools === 'honor';
  const isInactive = connection.status === 'inactive';
  const fault = listed?.fault === undefined ? undefined : unavailableFor(connection, listed.fault, listed.signInPage);
  const places = known.map(({ name, pages }): ToolPlace => {
    const tool = list?.tools.get(name);
    const own = { name, upstreamName: name, pages, grants: [{ resource: connection.id, tool: name }] };
    const isPublic = mayBePublic && tool?.isPublic === true;
    return { ...own, connection, tool, fault, isInactive, needsApproval: false, isPublic };
  });
  const source = { connection, prefix: '', kinds: new Set(OFFER_KINDS), grantors: [connection.id] };
  const unavailable = fault === undefined ? [] : [fault];
  return { places, sources: [source], unavailable, memberIds: [connection.id] };
}

function neverListed(name: string): LastKnownTool {
  return { name, pages: [] };
}

function asLastKnown({ name, definition }: KnownTool): LastKnownTool {
  return { name, pages: pagesOf(definition) };
}

function askOf(agent: RunnableAgent, tools: ReadonlyMap<string, unknown>): AskOffer | undefined {
  if (!agent.exposeRun) return undefined;
  const { description, outputSchema, askTimeoutS: timeoutS } = agent;
  return { name: askName(tools), description, outputSchema, timeoutS };
}

/** The member's own names of the selected tools; undefined if all are selected. */
function selectedNames({ selectedTools }: AgentConnection): ReadonlySet<string> | undefined {
  return selectedTools === null ? undefined : new Set(selectedTools.map(toolOf));
}

function isDressing({ selectedTools }: AgentConnection): boolean {
  return selectedTools?.some((selected) => typeof selected !== 'string') === true;
}

/** The names that the agent itself gives to tools. */
function chosenNames({ selectedTools }: AgentConnection): ReadonlySet<string> {
  const names = selectedTools?.map((selected) => (typeof selected === 'string' ? undefined : selected.name));
  return new Set(names?.filter((name) => name !== undefined));
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

/** A tool that nested agents contribute twice keeps its first place. */
function eachOnce<T>(all: readonly T[], idOf: (one: T) => string): T[] {
  const byId = new Map<string, T>();
  for (const one of all) if (!byId.has(idOf(one))) byId.set(idOf(one), one);
  return [...byId.values()];
}

function isSelected({ selectedTools }: AgentConnection, toolName: string): boolean {
  return selectedTools === null || selectedTools.includes(toolName);
}

function unavailableFor({ id, title }: Connection, reason: string, signInPage?: string): UnavailableMember {
  return { connectionId: id, title, reason, ...(signInPage !== undefined && { signInPage }) };
}
