import { dataOf } from '../../../upstreams/messages/sse-parts.js';
import { concernedTask, filterTaskList } from '../tasks/task-messages.js';
import { StreamingReplacement } from './replace-id.js';
import { filterToolList, type CallerFilter } from './tool-list-filter.js';

/** The members of a JSON-RPC message. */
const ENVELOPE: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params', 'result', 'error']);
/** Ends of lines to some readers of event streams, who would find an event of its own behind one; in JSON only strings hold them. */
const LINE_ENDS = ['\u0085', '\u2028', '\u2029'];
const ANY_LINE_END = new RegExp(`[${LINE_ENDS.join('')}]`, 'g');
/** The field of an event that decides how a client reads it, as far as its value is harmless. */
const FIELDS = [
  ['event', /^[\w./-]{1,64}$/],
  ['id', /^[\x20-\x7e]{1,2048}$/],
  ['retry', /^\d{1,9}$/],
] as const;

/**
 * The message as JSON text, made of what was read of it: parsers differ in which of two equal keys counts, some take keys of
 * any case, and a caller who may not see everything must not find in the bytes what was not judged here. Undefined for what is
 * about a task of another caller.
 * @param message is changed
 */
export function messageAnew(message: Record<string, unknown>, filter: CallerFilter): string | undefined {
  const task = concernedTask(message);
  if (task !== undefined && !filter.ownsTask(task)) return undefined;
  reduce(message, filter);
  return JSON.stringify(message);
}

/**
 * The same for the answer to a request.
 * @param message holds a result or an error; its result may be changed
 * @param id of the request, JSON text: written as the caller wrote it
 */
export function answerAnew(message: Record<string, unknown>, id: string, filter: CallerFilter): string {
  const { jsonrpc: _jsonrpc, id: _id, method: _method, ...answer } = message;
  reduce(answer, filter);
  return `{"jsonrpc":"2.0","id":${id},${JSON.stringify(answer).slice(1)}`;
}

/** An event with this data and what was read of its other fields; undefined if nothing is left of it. */
export function eventAnew(event: Buffer, data = dataOf(event)): Buffer | undefined {
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

/** What does the same as `eventAnew` for data that passes in pieces, each of which goes through all of them. */
export function lineEndReplacements(): StreamingReplacement[] {
  return LINE_ENDS.map((end) => new StreamingReplacement(Buffer.from(end), Buffer.from(escaped(end))));
}

/** JSON without ends of lines: between values they are white space, in strings they are escaped. */
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
    // A message is either a request or an answer.
    const isOfOther = isResponse ? key === 'params' : key === 'result' || key === 'error';
    if (isVariant || isOfOther) delete message[key];
  }
  if (!isResponse) return;
  filterToolList(message, filter);
  filterTaskList(message['result'], filter.ownsTask);
}
