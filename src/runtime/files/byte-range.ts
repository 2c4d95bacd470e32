import { DomainError } from '../../core/domain-error.js';
import type { ByteRange } from './file-store.js';

const ONE_RANGE = /^bytes=(?:(\d{1,15})-(\d{0,15})|-(\d{1,15}))$/;

/**
 * The part of a file that a `Range` header asks for (RFC 9110, section 14.2); undefined for all of it. Anything but one
 * range of bytes is ignored, as the RFC allows.
 * @throws DomainError `range_not_satisfiable`
 */
export function requestedRange(header: string | undefined, size: number): ByteRange | undefined {
  const [match, first, last, suffix] = ONE_RANGE.exec(header ?? '') ?? [];
  if (match === undefined) return undefined;
  const start = suffix === undefined ? Number(first) : Math.max(0, size - Number(suffix));
  const end = suffix !== undefined || last === '' ? size : Math.min(size, Number(last) + 1);
  if (suffix === undefined && last !== '' && Number(last) < Number(first)) return undefined;
  if (start < end) return { start, end };
  throw new DomainError('range_not_satisfiable', `The file has ${size} bytes.`, [], {
    headers: { 'content-range': `bytes */${size}` },
  });
}
