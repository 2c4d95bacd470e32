import { isObject } from '../../core/is-record.js';
import { canonicalText } from '../../core/json/canonical-text.js';
import { pointerTo } from '../../core/json/json-pointer.js';
import type { UpstreamTool } from '../contract/upstream.js';
import type { DefinitionChange } from './tool-changes.dto.js';

const MAX_CHANGES = 200;
const MAX_DEPTH = 32;
const MAX_PATH_BYTES = 1024;

/**
 * What differs between an approved definition and a listed one. What takes more than 200 changes, or lies deeper than 32
 * levels or under a path of more than 1 KiB, is one change of the value around it: the changes are then never much
 * larger than the two definitions.
 */
export function changesBetween(approved: UpstreamTool, listed: UpstreamTool): DefinitionChange[] {
  return changesAt('', approved, listed, 0);
}

/** @param before undefined if there is no such member, as is `after` */
function changesAt(path: string, before: unknown, after: unknown, depth: number): DefinitionChange[] {
  if (after === undefined) return before === undefined ? [] : [{ op: 'remove', path, before }];
  if (before === undefined) return [{ op: 'add', path, after }];
  const replacement: DefinitionChange = { op: 'replace', path, before, after };
  if (!isObject(before) || !isObject(after) || Array.isArray(before) !== Array.isArray(after))
    return before === after ? [] : [replacement];
  if (depth < MAX_DEPTH) return changesOfMembers(path, before, after, depth) ?? [replacement];
  return canonicalText(before) === canonicalText(after) ? [] : [replacement];
}

/** @returns undefined if they are too many, or the path of one is too long */
function changesOfMembers(
  path: string,
  before: Record<string, unknown>,
  after: Record<string, unknown>,
  depth: number,
): DefinitionChange[] | undefined {
  const changes: DefinitionChange[] = [];
  /** One for each member. */
  const summary: DefinitionChange[] = [];
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const inner = `${path}${pointerTo([key])}`;
    const [left, right] = [ownMember(before, key), ownMember(after, key)];
    const isTooLong = Buffer.byteLength(inner) > MAX_PATH_BYTES;
    const found = changesAt(inner, left, right, isTooLong ? MAX_DEPTH : depth + 1);
    const [first] = found;
    if (first === undefined) continue;
    if (isTooLong || summary.length === MAX_CHANGES) return undefined;
    summary.push(found.length === 1 ? first : { op: 'replace', path: inner, before: left, after: right });
    changes.push(...found);
  }
  return changes.length > MAX_CHANGES ? summary : changes;
}

function ownMember(value: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}
