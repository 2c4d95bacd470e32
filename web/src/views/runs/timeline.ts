import type { ListItem } from '../../../../packages/client/src/api.js';
import type { Run } from '../../records/run-columns.js';
import type { MessagePart } from '../../transcript/message.js';

/** A stretch of time in a run. Times are in milliseconds since 1970. */
export interface Span {
  readonly id: string;
  readonly kind: 'queue' | 'model' | 'tool' | 'approval';
  readonly label: string;
  readonly start: number;
  readonly end: number;
  /** It has not ended yet; `end` is now. */
  readonly isOpen: boolean;
  /** What came of a tool call. */
  readonly outcome?: 'success' | 'error' | 'denied';
  readonly note?: string;
}

export type CallRecord = Pick<
  ListItem<'MONITORING_LOGS_LIST'>,
  'id' | 'at' | 'tool_name' | 'status' | 'error_code' | 'duration_ms' | 'connection_title'
>;

/** An answer to the question whether a call may be made. */
export interface ApprovalAnswer {
  readonly approvalId: string;
  readonly at: string;
  readonly by: string | null;
}

interface TimelineInput {
  readonly run: Run;
  readonly calls: readonly CallRecord[];
  readonly parts: readonly MessagePart[];
  readonly answers: readonly ApprovalAnswer[];
  readonly now: number;
}

/** Shorter gaps between calls of one step are not the model. */
const MIN_MODEL_MS = 1;

/**
 * What a run did when, in order: waiting for a worker, tool calls from the record of calls, waiting for approvals, and the model in
 * between, since the service keeps no times of model calls.
 */
export function timelineOf({ run, calls, parts, answers, now }: TimelineInput): Span[] {
  const created = Date.parse(run.created_at);
  const started = run.started_at === null ? undefined : Date.parse(run.started_at);
  const finished = run.finished_at === null ? undefined : Date.parse(run.finished_at);
  const end = finished ?? Math.max(now, created);
  const queue: Span = {
    id: 'queue',
    kind: 'queue',
    label: 'Waiting for a worker',
    start: created,
    end: started ?? end,
    isOpen: started === undefined && finished === undefined,
  };
  if (started === undefined) return [queue];
  const busy = [...calls.map(callSpan), ...approvalSpans({ run, parts, answers, calls, end })]
    .filter((span) => span.start <= end)
    .sort((a, b) => a.start - b.start);
  const models = gapsBetween(busy, started, end, finished === undefined && run.status === 'running');
  return [queue, ...[...busy, ...models].sort((a, b) => a.start - b.start)];
}

function callSpan(call: CallRecord): Span {
  const start = Date.parse(call.at);
  const note = [call.connection_title, call.error_code].filter(Boolean).join(' · ');
  return {
    id: call.id,
    kind: 'tool',
    label: call.tool_name,
    start,
    end: start + call.duration_ms,
    isOpen: false,
    outcome: call.status,
    ...(note && { note }),
  };
}

function approvalSpans({
  run,
  parts,
  answers,
  calls,
  end,
}: Pick<TimelineInput, 'run' | 'parts' | 'answers' | 'calls'> & { readonly end: number }): Span[] {
  const pending = new Set(run.pending_approvals.map(({ id }) => id));
  return parts.flatMap((part): Span[] => {
    if (part.type !== 'dynamic-tool' || part.approval === undefined) return [];
    const { id, approved, reason } = part.approval;
    const start = timeOfUuid(id);
    if (start === undefined) return [];
    const answer = answers.find(({ approvalId }) => approvalId === id);
    const isOpen = pending.has(id);
    // Without a record of the answer (a time-out, no permission to read it), the run went on with its next call or its end.
    const next = calls.map(({ at }) => Date.parse(at)).find((at) => at >= start);
    const until = answer !== undefined ? Date.parse(answer.at) : isOpen ? end : (next ?? end);
    const note = [approved === undefined ? undefined : approved ? 'approved' : 'denied', answer?.by, reason];
    return [
      {
        id,
        kind: 'approval',
        label: `Approval of ${part.toolName}`,
        start,
        end: Math.max(start, until),
        isOpen,
        note: note.filter(Boolean).join(' · '),
      },
    ];
  });
}

/** The stretches in which nothing else happened: the model worked. */
function gapsBetween(busy: readonly Span[], start: number, end: number, isRunning: boolean): Span[] {
  const gaps: Span[] = [];
  let position = start;
  const add = (until: number, isOpen: boolean): void => {
    if (until - position < MIN_MODEL_MS && gaps.length > 0) return;
    const label = `Model, call ${gaps.length + 1}`;
    gaps.push({ id: `model-${gaps.length}`, kind: 'model', label, start: position, end: until, isOpen });
  };
  for (const span of busy) {
    if (span.start > position) add(span.start, false);
    position = Math.max(position, span.end);
  }
  if (position < end) add(end, isRunning);
  return gaps;
}

/** When a UUID of version 7 was made (RFC 9562 §5.7); undefined for other versions. */
function timeOfUuid(id: string): number | undefined {
  return id[14] === '7' ? Number.parseInt(id.replace('-', '').slice(0, 12), 16) : undefined;
}
