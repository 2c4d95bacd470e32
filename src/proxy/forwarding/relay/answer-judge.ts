import { isRecord } from '../../../core/is-record.js';
import { type InvocationOutcome, SUCCESS, TOOL_FAILED } from '../../../upstreams/invocation.js';

const ERROR_MARK = Buffer.from('"error"');
const IS_ERROR_MARK = Buffer.from('"isError"');
const ERROR_MEMBER =
  /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?(?:"id"\s*:\s*(?:"[^"\\]*"|[\d.eE+-]+|null)\s*,\s*)?"error"\s*:/;
const IS_ERROR_MEMBER = /"isError"\s*:\s*true/;

/**
 * True if the tool succeeded. Searches the JSON text of a complete answer, and parses it only if it might report an
 * error.
 */
export function judgeAnswer(bytes: Buffer): InvocationOutcome {
  if (!bytes.includes(ERROR_MARK) && !bytes.includes(IS_ERROR_MARK)) return SUCCESS;
  return judgeMessage(parse(bytes.toString('utf8')));
}

/** The same for a parsed message. */
export function judgeMessage(message: unknown): InvocationOutcome {
  if (!isRecord(message) || 'error' in message) return TOOL_FAILED;
  const { result } = message;
  return isRecord(result) && result['isError'] === true ? TOOL_FAILED : SUCCESS;
}

/**
 * Judges an answer that is too large to buffer by the places where `error` and `isError` occur in practice: its first
 * bytes, and the last ones after the content.
 */
export function judgeEnds(first: Buffer, last: Buffer): InvocationOutcome {
  const isFailed = ERROR_MEMBER.test(first.toString('utf8')) || IS_ERROR_MEMBER.test(tailOf(last));
  return isFailed || IS_ERROR_MEMBER.test(headOf(first)) ? TOOL_FAILED : SUCCESS;
}

/** Everything before the content, which can contain any text. */
function headOf(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  const content = text.indexOf('"content"');
  return content === -1 ? '' : text.slice(0, content);
}

/** Everything after the content. */
function tailOf(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  return text.slice(text.lastIndexOf(']') + 1);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
