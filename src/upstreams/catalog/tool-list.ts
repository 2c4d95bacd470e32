import { hash } from 'node:crypto';
import { isAppOnly } from '../contract/app-tool.js';
import type { UpstreamTool } from '../contract/upstream.js';

/** The properties of a tool that decide on a call. */
export interface KnownTool {
  readonly name: string;
  /**
   * As the upstream sent it. The object stays the same as long as the list is cached, because compiled validators are
   * cached by it.
   */
  readonly inputSchema: object;
  /** True if the upstream marks it as callable by everyone (`_meta`, interface "Tool metadata"). */
  readonly isPublic: boolean;
  /** The tool as the upstream listed it. */
  readonly definition: UpstreamTool;
}

/** The tools of a connection, as listed at one time. */
export interface ToolList {
  readonly tools: ReadonlyMap<string, KnownTool>;
  readonly hasPublic: boolean;
  /** True if a tool is not for models (`isAppOnly`). */
  readonly hasAppOnly: boolean;
  /** When it was listed, in milliseconds since the epoch. */
  readonly at: number;
  /** The length of the list as JSON text, as a measure of its memory. */
  readonly size: number;
  /** SHA-256 of the JSON text, equal for equal lists. */
  readonly digest: string;
}

/** The key of a tool's metadata. */
export const METADATA_KEY = 'mcp.service';
const METADATA_KEYS = [METADATA_KEY, 'mcp.legacy'];

export function toToolList(tools: readonly UpstreamTool[], at: number): ToolList {
  const known = new Map<string, KnownTool>();
  let hasPublic = false;
  for (const definition of tools) {
    const { name, inputSchema, _meta } = definition;
    if (known.has(name)) continue;
    const isPublic = isMarkedPublic(_meta);
    hasPublic ||= isPublic;
    known.set(name, { name, inputSchema, isPublic, definition });
  }
  const text = JSON.stringify(tools);
  const hasAppOnly = tools.some(isAppOnly);
  return { tools: known, hasPublic, hasAppOnly, at, size: text.length, digest: hash('sha256', text) };
}

/** Cached as long as the upstream's list. */
const definitionSizes = new WeakMap<UpstreamTool, number>();

/** The length of one definition as JSON text. */
export function definitionSize(definition: UpstreamTool): number {
  let size = definitionSizes.get(definition);
  if (size === undefined) {
    size = JSON.stringify(definition).length;
    definitionSizes.set(definition, size);
  }
  return size;
}

/** True if the upstream marks the tool as callable by everyone. @param meta the `_meta` of the tool */
export function isMarkedPublic(meta: Record<string, unknown> | undefined): boolean {
  return METADATA_KEYS.some((key) => {
    const value = meta?.[key];
    return typeof value === 'object' && value !== null && 'public_tool' in value && value.public_tool === true;
  });
}
