import type { CallerFilter } from '../../protocol/proxy-caller.js';
import { dataOf } from '../../../upstreams/messages/sse-parts.js';
import { concernedTask, filterTaskList } from '../tasks/task-messages.js';
import { StreamingReplacement } from './answered-id.js';
import { isRecord } from '../../../core/is-record.js';
import { isTool, type UpstreamTool } from '../../../upstreams/contract/upstream.js';

/** The members of a JSON-RPC message. */
const ENVELOPE: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params', 'result', 'error']);
/**
 * Some readers of event streams treat these as line ends and would see another event after one. In JSON they occur only
 * in strings.
 */
const LINE_ENDS = ['\u0085', '\u2028', '\u2029'];
const ANY_LINE_END = new RegExp(`[${LINE_ENDS.join('')}]`, 'g');
/** The fields of an event that are kept, and the values that are harmless in them. */
const FIELDS = [
  ['event', /^[\w./-]{1,64}$/],
  ['id', /^[\x20-\x7e]{1,2048}$/],
  ['retry', /^\d{1,9}$/],
] as const;

/**
 * Serializes the parsed message, for a caller without full access. The original bytes could contain something that was
 * not filtered: parsers differ in which of two equal keys counts, and some match keys case-insensitively. Undefined for
 * a message about another caller's task.
 * @param message is modified
 */
export function reserializeMessage(message: Record<string, unknown>, filter: CallerFilter): string | undefined {
  const task = concernedTask(message);
  if (task !== undefined && !filter.ownsTask(task)) return undefined;
  reduce(message, filter);
  return JSON.stringify(message);
}

/**
 * Does the same for the answer to a request.
 * @param message with a result, which may be modified, or an error
 * @param id of the request as the caller wrote it, JSON text
 */
export function reserializeAnswer(message: Record<string, unknown>, id: string, filter: CallerFilter): string {
  const { jsonrpc: _jsonrpc, id: _id, method: _method, ...answer } = message;
  reduce(answer, filter);
  return `{"jsonrpc":"2.0","id":${id},${JSON.stringify(answer).slice(1)}`;
}

/** Serializes an event with this data and its other fields; undefined if it has neither. */
export function reserializeEvent(event: Buffer, data = dataOf(event)): Buffer | undefined {
  const head = eventHead(event);
  if (data === undefined) return head === '' ? undefined : Buffer.from(`${head}\n`);
  return Buffer.from(`${head}data: ${onOneLine(data)}\n\n`);
}

/** The fields of an event before its data. */
export function eventHead(event: Buffer): string {
  const values = new Map<string, string>();
  for (const line of event.toString('utf8').split(/\r\n|\n|\r/)) {
    const [, name = '', value = ''] = /^(event|id|retry): ?(.*)$/s.exec(line) ?? [];
    // The last one counts.
    if (name !== '') values.set(name, value);
  }
  return FIELDS.flatMap(([name, harmless]) => {
    const value = values.get(name);
    return value !== undefined && harmless.test(value) ? [`${name}: ${value}\n`] : [];
  }).join('');
}

/** Do for data in pieces what `reserializeEvent` does for a whole event. Each piece passes through all of them. */
export function lineEndReplacements(): StreamingReplacement[] {
  return LINE_ENDS.map((end) => new StreamingReplacement(Buffer.from(end), Buffer.from(escaped(end))));
}

/** Removes line ends from JSON: between values they become white space, in strings they are escaped. */
function onOneLine(json: string): string {
  return json.replaceAll(/[\r\n]+/g, ' ').replaceAll(ANY_LINE_END, escaped);
}

function escaped(sign: string): string {
  return `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function reduce(message: Record<string, unknown>, filter: CallerFilter): void {
  const isResponse = !Object.hasOwn(message, 'method');
  for (const key of Object.keys(message)) {
    const isVariant = !ENVELOPE.has(key) && ENVELOPE.has(key.toUpperCase().toLowerCase());
    // A message is either a request or an answer, so it cannot have members of both.
    const isOfOther = isResponse ? key === 'params' : key === 'result' || key === 'error';
    if (isVariant || isOfOther) delete message[key];
  }
  if (!isResponse) return;
  filterToolList(message, filter);
  filterTaskList(message['result'], filter.ownsTask);
}

const TOOLS = 'tools';

/**
 * Removes the tools that the connection does not offer or the caller is not permitted to call, if the message is an
 * answer to `tools/list`. A list that was filtered for one caller must not be cached for others, whatever `cacheScope`
 * the upstream declares (MCP 2026-07-28).
 * @param message is modified
 */
function filterToolList({ result }: Record<string, unknown>, filter: CallerFilter): void {
  if (!isRecord(result)) return;
  for (const key of Object.keys(result)) {
    // Some parsers match keys case-insensitively.
    if (key !== TOOLS && key.toUpperCase().toLowerCase() === TOOLS) delete result[key];
  }
  if (!Object.hasOwn(result, TOOLS)) return;
  const tools = Array.isArray(result[TOOLS]) ? readTools(result[TOOLS], result, filter) : [];
  const offered = filter.offer?.(tools) ?? tools;
  result[TOOLS] = offered.filter((tool) => filter.shows(tool));
  if (result['cacheScope'] !== undefined) result['cacheScope'] = 'private';
}

/**
 * True if the filter takes nothing from the message, so that it passes as it was sent. Only for a caller who is
 * permitted to see everything.
 */
export function passesWhole({ result }: Readonly<Record<string, unknown>>, filter: CallerFilter): boolean {
  if (filter.holdsAll !== true) return false;
  if (!isRecord(result) || !Array.isArray(result[TOOLS])) return true;
  const listed: readonly unknown[] = result[TOOLS];
  if (!listed.every((tool) => !isRecord(tool) || filter.shows(tool as UpstreamTool))) return false;
  readTools(listed, result, filter);
  return true;
}

/** The tools of a list that can be called; reports a list that is complete on this page. */
function readTools(
  listed: readonly unknown[],
  { nextCursor }: Readonly<Record<string, unknown>>,
  { onComplete }: CallerFilter,
): UpstreamTool[] {
  // A tool without a schema cannot be called, so it is not listed, and the catalog does not store such a list.
  const tools = listed.filter(isTool);
  if (nextCursor === undefined && tools.length === listed.length) onComplete?.(tools);
  return tools;
}
