import diff from 'microdiff';
import { isRecord } from '../../core/is-record.js';
import type { UpstreamTool } from '../contract/upstream.js';
import type { DefinitionChange } from './tool-changes.dto.js';

const OPERATIONS = { CREATE: 'add', REMOVE: 'remove', CHANGE: 'replace' } as const;

/** What differs between an approved definition and a listed one. */
export function changesBetween(approved: UpstreamTool, listed: UpstreamTool): DefinitionChange[] {
  return diff(bare(approved), bare(listed), { cyclesFix: false }).map((found): DefinitionChange => {
    const change = { op: OPERATIONS[found.type], path: pointerTo(found.path) };
    if (found.type === 'CREATE') return { ...change, after: found.value as unknown };
    if (found.type === 'REMOVE') return { ...change, before: found.oldValue as unknown };
    return { ...change, before: found.oldValue as unknown, after: found.value as unknown };
  });
}

/** Without prototypes, which the library would take for members such as `constructor`. */
function bare(tool: UpstreamTool): object {
  return JSON.parse(JSON.stringify(tool), (_key, value: unknown) =>
    isRecord(value) ? Object.assign(Object.create(null) as object, value) : value,
  ) as object;
}

/** As a JSON Pointer (RFC 6901). */
function pointerTo(path: readonly (string | number)[]): string {
  return path.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
