import type { Connection } from '../../connections/connection.js';
import type { KnownTool } from '../../upstreams/catalog/tool-list.js';

/** An entry of a permission map that lets its holder call a tool: under which resource, by which name. */
export interface Grant {
  readonly resource: string;
  readonly tool: string;
}

/** A tool's place in an agent, whether its upstream can be reached now or not. */
export interface ToolPlace {
  /** The composed name: unique in the agent, `[A-Za-z0-9_-]`, at most 64 characters. */
  readonly name: string;
  /** The connection that the tool is in the end a tool of; never an agent. */
  readonly connection: Connection;
  readonly upstreamName: string;
  /** Any of them is enough: under the agent, under an agent inside it, or under the connection. */
  readonly grants: readonly Grant[];
  /** As the upstream listed it; undefined while the connection is unavailable. */
  readonly tool: KnownTool | undefined;
  /** What is unavailable, exactly while `tool` is undefined. */
  readonly fault: UnavailableMember | undefined;
  /** The connection, or an agent inside the agent that the tool comes by, is switched off: calls are refused. */
  readonly isInactive: boolean;
  /** May be called without a credential, as far as the connection and the agents inside the agent have a say. */
  readonly isPublic: boolean;
}

/** A tool that is there and can be listed. */
export type ListedPlace = ToolPlace & { readonly tool: KnownTool };

/** What an agent can have of a connection beyond its tools. */
export const OFFER_KINDS = ['prompts', 'resources'] as const;
export type OfferKind = (typeof OFFER_KINDS)[number];

/** A connection as a source of prompts and resources. */
export interface Source {
  readonly connection: Connection;
  /** Stands before a prompt's name where that alone would be ambiguous. */
  readonly prefix: string;
  /** What the agent has of it: everything if it has all tools, else what the selection names by these words. */
  readonly kinds: ReadonlySet<OfferKind>;
  /** The resources of a permission map that can grant it: the agent, agents inside it, the connection. */
  readonly grantors: readonly string[];
}

/** A connection whose tools could not be had, and why, in a sentence. */
export interface UnavailableMember {
  readonly connectionId: string;
  readonly title: string;
  readonly reason: string;
}

/** What an agent consists of, at one time. */
export interface Composition {
  /** By composed name, in the order of the agent's connections and by name within each. */
  readonly places: ReadonlyMap<string, ToolPlace>;
  /** Is there a tool that can be listed and may be called without a credential, as far as its members have a say? */
  readonly hasPublic: boolean;
  /** Each connection once, in the order of the agent's. */
  readonly sources: readonly Source[];
  readonly unavailable: readonly UnavailableMember[];
  /** The ids of all connections and agents in it: when one of them changes, so may the composition. */
  readonly memberIds: ReadonlySet<string>;
}

/** The tool's connection as it counts here: inactive also where an agent is that the tool comes by. @param connection as it is now */
export function connectionOf({ isInactive }: ToolPlace, connection: Connection): Connection {
  return isInactive ? { ...connection, status: 'inactive' } : connection;
}

/** The tools that can be listed now. */
export function listedPlaces({ places }: Composition): ListedPlace[] {
  return [...places.values()].filter(isListed);
}

export function isListed(place: ToolPlace): place is ListedPlace {
  return place.tool !== undefined;
}
