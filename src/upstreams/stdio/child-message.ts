import { SUBSCRIPTION_ID_META_KEY } from '@modelcontextprotocol/client';
import { isRecord, parseRecord } from '../../core/is-record.js';
import { memberRange, withMember } from '../../core/json/json-member.js';

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;

/** The members of a program's message that decide on its routing. */
export interface ChildMessage {
  readonly kind: 'response' | 'request' | 'notification';
  /** As JSON text; undefined for notifications. */
  readonly id?: string;
  /** Undefined for responses. */
  readonly method?: string;
  /** The token of `notifications/progress`, as JSON text. */
  readonly progressToken?: string;
  /** The id of the `subscriptions/listen` that a notification belongs to (MCP 2026-07-28), as JSON text. */
  readonly subscriptionId?: string;
}

/** Reads a line of a program; undefined if it is not a JSON-RPC 2.0 message. */
export function readMessage(line: Buffer): ChildMessage | undefined {
  const value = parseRecord(line.toString('utf8'));
  if (value?.['jsonrpc'] !== '2.0') return undefined;
  const { method } = value;
  const id = textOf(value['id']);
  if (typeof method === 'string') {
    if (id !== undefined) return { kind: 'request', id, method };
    const params = recordOf(value['params']);
    const token = method === 'notifications/progress' ? params?.['progressToken'] : undefined;
    const subscriptionId = recordOf(params?.['_meta'])?.[SUBSCRIPTION_ID_META_KEY];
    return { kind: 'notification', method, progressToken: textOf(token), subscriptionId: textOf(subscriptionId) };
  }
  return id !== undefined && ('result' in value || 'error' in value) ? { kind: 'response', id } : undefined;
}

/** The progress token of a request, as JSON text. */
export function progressTokenOf(body: Buffer): string | undefined {
  return textOf(metaOf(body)['progressToken']);
}

/** The `_meta` of a request; empty if it has none. */
export function metaOf(body: Buffer): Readonly<Record<string, unknown>> {
  return recordOf(recordOf(parseRecord(body.toString('utf8'))?.['params'])?.['_meta']) ?? {};
}

/** The message with this member of an object in it. All other bytes stay the same. @param value JSON text */
export function withMemberAt(json: Buffer, path: readonly string[], name: string, value: string): Buffer {
  const text = json.toString('utf8');
  const start = path.reduce((at, key) => memberRange(text, at, key)?.start ?? text.length, 0);
  return Buffer.from(withMember(text, start, name, value));
}

/** Normalizes the notation of an id: `"a"` can be written as `"\u0061"`, `1` as `1.0`. */
export function canonicalId(id: string): string {
  return JSON.stringify(JSON.parse(id));
}

/** The notification that cancels a request. @param id JSON text */
export function cancellationOf(id: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id}}}`);
}

/**
 * Puts JSON text on one line: line breaks between its tokens become spaces; in strings they are escaped (RFC 8259 §7).
 * Returns the same buffer if there are none.
 */
export function oneLine(json: Buffer): Buffer {
  if (!json.includes(LF) && !json.includes(CR)) return json;
  return json.map((byte) => (byte === LF || byte === CR ? SPACE : byte)) as Buffer;
}

function recordOf(value: unknown): Record<string, unknown> | undefined {
  return isRecord(value) ? value : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? JSON.stringify(value) : undefined;
}
