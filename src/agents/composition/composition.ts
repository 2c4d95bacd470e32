import type { Connection } from '../../connections/connection.js';
import type { ToolMode, DressedTool } from '../records/agent.js';
import type { KnownTool } from '../../upstreams/catalog/tool-list.js';
import { type ToolDressing, argumentsOf } from '../dressing/tool-dressing.js';
import { isAppOnly } from '../../upstreams/contract/app-tool.js';
import type { Dressed } from '../dressing/tool-dresser.js';

/** A permission map entry that allows calling a tool: its resource and its name there. */
interface Grant {
  readonly resource: string;
  readonly tool: string;
}

/** A tool's entry in an agent, whether or not its upstream is reachable. */
export interface ToolPlace {
  /** The composed name: unique in the agent, `[A-Za-z0-9_-]`, at most 64 characters. */
  readonly name: string;
  /** The connection that provides the tool; never an agent. */
  readonly connection: Connection;
  readonly upstreamName: string;
  /** The upstream's addresses of the tool's page (MCP Apps), as last known. */
  readonly pages: readonly string[];
  /** One of them suffices: for the agent, for an agent inside it, or for the connection. */
  readonly grants: readonly Grant[];
  /** As the upstream listed it, or as agents dress it; undefined while it is unavailable. */
  readonly tool: KnownTool | undefined;
  /** Set if an agent on the way to the tool dresses it. */
  readonly dressing?: ToolDressing;
  /** The connection that is unavailable; set exactly while `tool` is undefined. */
  readonly fault: UnavailableMember | undefined;
  /** The connection, or a nested agent that contributes the tool, is switched off: calls are refused. */
  readonly isInactive: boolean;
  /**
   * By the rule of at least one agent on the way to the tool, a run makes a call only after somebody has approved it.
   */
  readonly needsApproval: boolean;
  /** The connection and the nested agents allow calls without a credential. */
  readonly isPublic: boolean;
}

/** A tool that can be listed. */
export type ListedPlace = ToolPlace & { readonly tool: KnownTool };

/** What an agent can use of a connection in addition to tools. */
export const OFFER_KINDS = ['prompts', 'resources'] as const;
export type OfferKind = (typeof OFFER_KINDS)[number];

/** A connection as a source of prompts and resources. */
export interface Source {
  readonly connection: Connection;
  /** Prefixes a prompt's name where the name alone would be ambiguous. */
  readonly prefix: string;
  /** What the agent can use: everything if it has all tools, otherwise what the selection names with these words. */
  readonly kinds: ReadonlySet<OfferKind>;
  /** The permission map resources that can grant it: the agent, agents inside it, the connection. */
  readonly grantors: readonly string[];
}

/** A connection whose tools are unavailable, and why, in a sentence. */
export interface UnavailableMember {
  readonly connectionId: string;
  readonly title: string;
  readonly reason: string;
  /** Where a person has to sign in at the upstream first, if that is why. */
  readonly signInPage?: string;
}

/** A connection whose tools are unavailable until a person has signed in at its upstream. */
type WaitingMember = UnavailableMember & { readonly signInPage: string };

export function isWaiting(member: UnavailableMember): member is WaitingMember {
  return member.signInPage !== undefined;
}

/** The tool that runs an agent. */
export interface AskOffer {
  readonly name: string;
  /** Of the agent. */
  readonly description: string | null;
  /** The JSON Schema of the agent's answers as text; null if they are free. */
  readonly outputSchema: string | null;
  /** How long a call waits for the answer, in seconds. */
  readonly timeoutS: number;
}

/** The content of an agent at one time. */
export interface Composition {
  /** By composed name, in the order of the agent's connections and by name within each. */
  readonly places: ReadonlyMap<string, ToolPlace>;
  /** Whether its tools are offered at once or have to be searched for. */
  readonly toolMode: ToolMode;
  /** The tool that runs the agent itself; absent if it has none. Other agents that contain it do not get it. */
  readonly ask?: AskOffer | undefined;
  /** The names of tools that need no search. */
  readonly pinnedTools: readonly string[];
  /** True if there is a listable tool whose members allow calls without a credential. */
  readonly hasPublic: boolean;
  /** Each connection once, in the agent's order. */
  readonly sources: readonly Source[];
  readonly unavailable: readonly UnavailableMember[];
  /** The ids of the connections whose tools name a page (MCP Apps), by the upstreams' own address of it. */
  readonly pages: ReadonlyMap<string, ReadonlySet<string>>;
  /** The ids of all connections and agents in it: a change of one may change the composition. */
  readonly memberIds: ReadonlySet<string>;
  /** The same ids, by the digests in addresses of resources. */
  readonly membersByDigest: ReadonlyMap<string, string>;
}

/**
 * The tool's connection as it applies here: inactive also if a nested agent that contributes the tool is inactive.
 * @param connection as it is now
 */
export function connectionOf({ isInactive }: ToolPlace, connection: Connection): Connection {
  return isInactive ? { ...connection, status: 'inactive' } : connection;
}

/** The tools that can currently be listed. */
export function listedPlaces({ places }: Composition): ListedPlace[] {
  return [...places.values()].filter(isListed);
}

export function isListed(place: ToolPlace): place is ListedPlace {
  return place.tool !== undefined;
}

/** The tools of an agent that models get. */
export function placesForModels({ places }: Composition): ToolPlace[] {
  return [...places.values()].filter(isForModels);
}

/** False for a tool that only apps of its server call. */
export function isForModels({ tool }: ToolPlace): boolean {
  return tool === undefined || !isAppOnly(tool.definition);
}

/**
 * The place of a tool as an agent dresses it. What nested agents fix stays: their covered arguments are not among those
 * that the tool has. A dressing that does not fit makes the tool unavailable.
 * @param dressed the place's tool with the dressing
 */
export function dressedPlace(place: ToolPlace, selected: DressedTool, dressed: Dressed): ToolPlace {
  const own = argumentsOf(selected);
  const { dressing: inner, tool, connection } = place;
  const misfit = inner?.misfit ?? dressed.misfit;
  const dressing: ToolDressing = {
    // The last one put in counts.
    fixed: [...own.fixed, ...(inner?.fixed ?? [])],
    covered: [...own.covered, ...(inner?.covered ?? [])],
    upstreamDefinition: inner?.upstreamDefinition ?? tool?.definition,
    ...(misfit !== undefined && { misfit }),
  };
  const { id: connectionId, title } = connection;
  const fault = dressed.misfit === undefined ? place.fault : { connectionId, title, reason: dressed.misfit };
  return { ...place, name: selected.name ?? place.name, tool: dressed.tool, fault, dressing };
}
