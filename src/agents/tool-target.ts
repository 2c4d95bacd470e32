import { hash } from 'node:crypto';
import type { Connection } from '../connections/connection.js';
import { canonicalText } from '../core/json/canonical-text.js';
import type { UpstreamTool } from '../upstreams/contract/upstream.js';
import type { ToolDressing } from './dressing/tool-dressing.js';

/** What a call of a tool reaches: an approval is for this, and for the call's arguments. */
export interface ToolTarget {
  readonly connectionId: string;
  readonly upstreamName: string;
  /** SHA-256 of the connection's id and address, the upstream's name of the tool, and the arguments that agents fix. */
  readonly place: string;
  /** SHA-256 of what the upstream says of the tool; null while it cannot be listed. */
  readonly definition: string | null;
}

/** A tool of a connection, with the arguments that agents on the way to it fix. */
interface TargetTool {
  readonly upstreamName: string;
  readonly dressing?: Pick<ToolDressing, 'fixed'> | undefined;
}

/**
 * The target of calls of a tool.
 * @param definition as the upstream lists it; undefined while the tool cannot be listed
 */
export function targetOf(connection: Connection, tool: TargetTool, definition: UpstreamTool | undefined): ToolTarget {
  return {
    connectionId: connection.id,
    upstreamName: tool.upstreamName,
    place: placeOf(connection, tool),
    definition: definition === undefined ? null : digestOf(whatItSays(definition)),
  };
}

/** The `place` of a target. */
export function placeOf({ id, url, stdio }: Connection, { upstreamName, dressing }: TargetTool): string {
  const address = [url, stdio?.command ?? null, stdio?.args ?? null, stdio?.cwd ?? null];
  const fixed = dressing?.fixed ?? [];
  return digestOf([id, address, upstreamName, ...(fixed.length === 0 ? [] : [fixed])]);
}

/** `_meta` and icons can differ between two lists of one tool. */
function whatItSays({ title, description, inputSchema, outputSchema, annotations }: UpstreamTool): unknown {
  return [title ?? null, description ?? null, inputSchema, outputSchema ?? null, annotations ?? null];
}

function digestOf(value: unknown): string {
  return hash('sha256', canonicalText(value), 'hex');
}
