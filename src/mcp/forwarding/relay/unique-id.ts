import { randomBytes } from 'node:crypto';

const PREFIX = `"sbx-${randomBytes(9).toString('base64url')}-`;
let count = 0;

/**
 * A JSON-RPC id as JSON text that no other request of any process has. Callers who share an upstream session choose equal
 * ids; upstreams tell their answers apart by the id alone. It is unlikely enough to occur in anything else that an answer can be
 * recognized by it without being parsed.
 */
export function uniqueId(): string {
  return `${PREFIX}${(count++).toString(36)}"`;
}
