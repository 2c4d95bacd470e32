import { hash } from 'node:crypto';
import type { Connection } from '../connections/connection.js';
import type { UpstreamTool } from '../upstreams/contract/upstream.js';

/** What a call of a tool reaches: an approval is for this, and for the call's arguments. */
export interface ToolTarget {
  readonly connectionId: string;
  readonly upstreamName: string;
  /** SHA-256 of the connection's id and address, and of the upstream's name of the tool. */
  readonly place: string;
  /** SHA-256 of what the upstream says of the tool; null while it cannot be listed. */
  readonly definition: string | null;
}

/** The target of calls of a tool. @param definition undefined while the tool cannot be listed */
export function targetOf(
  connection: Connection,
  upstreamName: string,
  definition: UpstreamTool | undefined,
): ToolTarget {
  return {
    connectionId: connection.id,
    upstreamName,
    place: placeOf(connection, upstreamName),
    definition: definition === undefined ? null : digestOf(whatItSays(definition)),
  };
}

/** The `place` of a target. */
export function placeOf({ id, url, stdio }: Connection, upstreamName: string): string {
  const address = [url, stdio?.command ?? null, stdio?.args ?? null, stdio?.cwd ?? null];
  return digestOf([id, address, upstreamName]);
}

/** `_meta` and icons can differ between two lists of one tool. */
function whatItSays({ title, description, inputSchema, outputSchema, annotations }: UpstreamTool): unknown {
  return [title ?? null, description ?? null, inputSchema, outputSchema ?? null, annotations ?? null];
}

/** Of the JSON text, with the keys of objects in order. */
function digestOf(value: unknown): string {
  return hash('sha256', JSON.stringify(value, inOrder), 'hex');
}

function inOrder(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
