import { isRecord } from '../../common/is-record.js';

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;

/** What the routing of a message from a program depends on. */
export interface ChildMessage {
  readonly kind: 'response' | 'request' | 'notification';
  /** As JSON text; undefined for notifications. */
  readonly id?: string;
  /** Undefined for responses. */
  readonly method?: string;
  /** Of `notifications/progress`, as JSON text. */
  readonly progressToken?: string;
}

/** What a program printed, or undefined when it is no JSON-RPC 2.0 message. */
export function readMessage(line: Buffer): ChildMessage | undefined {
  const value = parseRecord(line);
  if (value?.['jsonrpc'] !== '2.0') return undefined;
  const { method } = value;
  const id = textOf(value['id']);
  if (typeof method === 'string') {
    if (id !== undefined) return { kind: 'request', id, method };
    const token = method === 'notifications/progress' ? recordOf(value['params'])?.['progressToken'] : undefined;
    return { kind: 'notification', method, progressToken: textOf(token) };
  }
  return id !== undefined && ('result' in value || 'error' in value) ? { kind: 'response', id } : undefined;
}

/** The token under which a request asks for progress, as JSON text. */
export function progressTokenOf(body: Buffer): string | undefined {
  const meta = recordOf(recordOf(parseRecord(body)?.['params'])?.['_meta']);
  return textOf(meta?.['progressToken']);
}

/** The same id whatever way it is written: `"a"` may come as `"\u0061"`, `1` as `1.0`. */
export function canonicalId(id: string): string {
  return JSON.stringify(JSON.parse(id));
}

/**
 * JSON text in one line: raw line breaks, which stand between its tokens only (RFC 8259 §7 wants them escaped in strings),
 * become blanks. The bytes themselves if there are none.
 */
export function oneLine(json: Buffer): Buffer {
  if (!json.includes(LF) && !json.includes(CR)) return json;
  return json.map((byte) => (byte === LF || byte === CR ? SPACE : byte)) as Buffer;
}

function parseRecord(json: Buffer): Record<string, unknown> | undefined {
  try {
    return recordOf(JSON.parse(json.toString('utf8')));
  } catch {
    return undefined;
  }
}

function recordOf(value: unknown): Record<string, unknown> | undefined {
  return isRecord(value) ? value : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? JSON.stringify(value) : undefined;
}
