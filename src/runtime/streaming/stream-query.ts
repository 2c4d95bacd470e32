import { suggestionFor } from '../../core/closest-name.js';
import { DomainError } from '../../core/domain-error.js';
import { isUuid } from '../../core/ids.js';
import { eventStreamRange } from './event-stream-range.js';
import type { FrameForm } from './frame-form.js';
import { frameId, NOTHING_READ, parsePosition, type ReaderPosition } from './run-frames.js';

/** Where a stream begins, and whether it continues with later runs. */
export interface StreamQuery {
  /** The run to stream; undefined means the current or the next one. */
  taskId: string | undefined;
  /** The reader's position in that run. */
  after: ReaderPosition;
  /** Keep the stream open across runs. */
  follow: boolean;
  /** Respond with 204 instead of waiting when no run is queued or running. */
  idle204: boolean;
  /** The version of `ai` that the caller states. */
  aiVersion: number | undefined;
  /** How the reader gets the frames of a run; by default as chunks of `ai`. */
  newForm?: ((runId: string) => FrameForm) | undefined;
}

const PARAMETERS = ['taskId', 'follow', 'idle'] as const;

/** The raw query parameters of the stream endpoint; a repeated parameter is an array. */
export type RawStreamQuery = Readonly<Partial<Record<(typeof PARAMETERS)[number], unknown>>>;

/** @throws DomainError `invalid_stream_position` or `invalid_request` */
export function parseStreamQuery(query: RawStreamQuery, lastEventId: string | undefined, accept?: string): StreamQuery {
  const { taskId, follow, idle, ...others } = query;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw unknownParameter(unknown);
  if (taskId !== undefined && !(typeof taskId === 'string' && isUuid(taskId))) throw malformedPosition('taskId');
  if (follow !== undefined && follow !== 'true' && follow !== 'false') throw badFlag('follow', 'true or false');
  if (idle !== undefined && idle !== '204') throw badFlag('idle', '204');
  const position = lastEventId === undefined || lastEventId === '' ? undefined : parseFrameId(lastEventId);
  if (position !== undefined && taskId !== undefined && position.taskId !== taskId.toLowerCase()) {
    throw malformedPosition('Last-Event-ID');
  }
  return {
    taskId: position?.taskId ?? taskId?.toLowerCase(),
    after: position?.after ?? NOTHING_READ,
    follow: follow === 'true',
    idle204: idle === '204',
    aiVersion: eventStreamRange(accept)?.aiVersion,
  };
}

function parseFrameId(text: string): { taskId: string; after: ReaderPosition } {
  const [taskId = '', position = ''] = text.split(':', 2);
  const after = parsePosition(position);
  if (!isUuid(taskId) || after === undefined || frameId(taskId, after) !== text)
    throw malformedPosition('Last-Event-ID');
  return { taskId: taskId.toLowerCase(), after };
}

/** The error for a position that no frame of a stream has. */
function malformedPosition(path: 'taskId' | 'Last-Event-ID'): DomainError {
  const message = `${path} must be ${path === 'taskId' ? 'the taskId of a run' : 'the id of a frame of this stream'}.`;
  return new DomainError('invalid_stream_position', message, [{ path, code: 'invalid_stream_position', message }]);
}

function unknownParameter(path: string): DomainError {
  const message = `The stream has no parameter ${JSON.stringify(path)}.${suggestionFor(path, PARAMETERS)}`;
  return new DomainError('invalid_request', message, [{ path, code: 'unknown_property', message }]);
}

function badFlag(path: string, values: string): DomainError {
  const message = `${path} must be ${values}.`;
  return new DomainError('invalid_request', message, [{ path, code: 'is_in', message }]);
}
