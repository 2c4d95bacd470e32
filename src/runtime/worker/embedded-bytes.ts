import type { CallToolResult } from '@modelcontextprotocol/client';
import { isRecord } from '../../core/is-record.js';

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Bytes in a result of a tool, and what is said of them: neither upstreams nor stored results are validated. */
interface EmbeddedBytes {
  readonly base64: string;
  readonly mimeType: unknown;
  /** The address of an embedded resource. */
  readonly uri: unknown;
}

/** The bytes that a block has itself, or as an embedded resource; undefined if it has none that are valid base64. */
export function embeddedBytes(block: CallToolResult['content'][number]): EmbeddedBytes | undefined {
  const isResource = block.type === 'resource';
  const holder: unknown = isResource ? block.resource : block;
  if (!isRecord(holder)) return undefined;
  const base64 = holder[isResource ? 'blob' : 'data'];
  if (typeof base64 !== 'string' || !BASE64.test(base64)) return undefined;
  return { base64, mimeType: holder['mimeType'], uri: holder['uri'] };
}
