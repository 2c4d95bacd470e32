import type { IncomingHttpHeaders } from 'node:http';
import { faultAt } from '../../core/domain-error.js';
import { elementsOf, preferredEventStream } from '../streaming/event-stream-range.js';

/** How a run request is answered: at once, when the run is over or a time has passed, or with the stream of the run. */
type AnswerForm =
  | { readonly type: 'accepted' }
  | { readonly type: 'result'; readonly waitSeconds: number }
  | { readonly type: 'stream'; readonly aiVersion: number | undefined };

/** The longest time that a request waits for a run. */
export const MAX_WAIT_S = 60;

const WAIT = /^wait\s*=\s*(?:"(\d+)"|(\d+))$/i;

/**
 * Reads the form from `Accept` and `Prefer`. A stream has to be asked for by its media type, and to be preferred to
 * JSON; it wins over `Prefer`. A longer wait than `MAX_WAIT_S` becomes that one.
 * @throws DomainError `invalid_request` for a malformed `wait` or `ai`; unknown preferences are ignored (RFC 7240 §2)
 */
export function answerFormOf({ accept, prefer }: IncomingHttpHeaders): AnswerForm {
  const waitSeconds = waitOf(typeof prefer === 'string' ? prefer : undefined);
  const stream = preferredEventStream(accept);
  if (stream !== undefined) return { type: 'stream', ...stream };
  return waitSeconds === undefined ? { type: 'accepted' } : { type: 'result', waitSeconds };
}

/** Only the first `wait` counts (RFC 7240 §2); a preference can have parameters, which none of `wait` are known. */
function waitOf(prefer: string | undefined): number | undefined {
  const preferences = elementsOf(prefer).map((item) => item.split(';', 1)[0]?.trim() ?? '');
  const preference = preferences.find((item) => /^wait\s*(?:=|$)/i.test(item));
  if (preference === undefined) return undefined;
  const [, quoted, plain] = WAIT.exec(preference) ?? [];
  const seconds = Number(quoted ?? plain);
  if (seconds >= 1) return Math.min(seconds, MAX_WAIT_S);
  throw faultAt('Prefer', 'wait', `wait must be a whole number of seconds from 1 to ${MAX_WAIT_S}.`);
}
