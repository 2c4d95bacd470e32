import { timeOfUuid } from '../api/uuid.js';
import type { RunDetails } from '../records/run-columns.js';
import type { MessagePart, ToolPart } from '../transcript/message.js';
import { formatCost, formatNumber } from '../ui/format.js';
import { callSpans } from './call-spans.js';
import type { ApprovalAnswer, CallRecord, ModelCall, Span } from './span.js';
import type { ToolOrigins } from './tool-origins.js';

interface TimelineInput {
  readonly run: RunDetails;
  /** Names the model of a call; null if it is not known. */
  readonly modelOf: (call: ModelCall) => string | null;
  readonly calls: readonly CallRecord[];
  readonly parts: readonly MessagePart[];
  /** Of the agent's tools. */
  readonly origins: ToolOrigins;
  readonly answers: readonly ApprovalAnswer[];
  readonly now: number;
}

/** Between shorter gaps, nothing happened: two calls of one step. */
const MIN_GAP_MS = 1;

const WAITS = { kind: 'queue', label: 'Waiting for a worker' } as const;

/**
 * What a run did when, in order: waiting for a worker, model calls as the run recorded them, tool calls from the record
 * of calls, and waiting for approvals. In runs of versions that recorded no model calls, the model worked while nothing
 * else happened.
 */
export function timelineOf({ run, modelOf, calls, parts, origins, answers, now }: TimelineInput): Span[] {
  const created = Date.parse(run.created_at);
  const started = run.started_at === null ? undefined : Date.parse(run.started_at);
  const finished = run.finished_at === null ? undefined : Date.parse(run.finished_at);
  const end = finished ?? Math.max(now, created);
  const queue: Span = {
    id: 'queue',
    ...WAITS,
    start: created,
    end: started ?? end,
    isOpen: started === undefined && finished === undefined,
  };
  if (started === undefined) return [queue];
  const busy = [
    ...run.model_calls.map((call, index, all) => modelSpan(call, index, all[index + 1], modelOf)),
    ...callSpans(calls, parts, origins),
    ...approvalSpans({ run, parts, answers, calls, end }),
  ]
    // The clocks of processes and of the browser differ a little, and nothing of a run begins after its end.
    .map((span) => ({ ...span, start: Math.min(span.start, end), end: Math.min(span.end, end) }))
    .sort(byTime);
  const gaps = gapsBetween(busy, started, end, {
    isRunning: finished === undefined && run.status === 'running',
    recorded: run.model_calls.length,
    running: parts.filter((part) => part.type === 'dynamic-tool').find(isBeingMade),
  });
  return [queue, ...[...busy, ...gaps].sort(byTime)];
}

function byTime(a: Span, b: Span): number {
  return a.start - b.start || a.end - b.end;
}

function modelSpan(
  call: ModelCall,
  index: number,
  next: ModelCall | undefined,
  modelOf: TimelineInput['modelOf'],
): Span {
  const {
    step,
    attempt,
    retries,
    input_tokens: input,
    output_tokens: output,
    cost_usd: cost,
    error_code: error,
  } = call;
  const start = Date.parse(call.started_at);
  // A worker calls the model of a step again within the same call; another call of the step is of a fallback.
  const wentOn = error !== null && next !== undefined && next.step === step && next.attempt === attempt;
  const note = [
    error,
    retries > 0 && `called ${retries + 1} times`,
    input !== null && output !== null && `${formatNumber(input)} tokens in, ${formatNumber(output)} out`,
    cost !== null && formatCost(cost),
    attempt > 1 && `attempt ${attempt}`,
  ]
    .filter(Boolean)
    .join(' · ');
  return {
    id: `model-${index}`,
    kind: 'model',
    label: modelLabel(index + 1),
    start,
    end: start + call.duration_ms,
    isOpen: false,
    outcome: error === null ? 'success' : 'error',
    attempt,
    model: modelOf(call),
    callNumber: index + 1,
    modelCall: call,
    ...(wentOn && { fallback: modelOf(next) }),
    ...(note && { note }),
  };
}

function modelLabel(number: number): string {
  return `Model, call ${number}`;
}

function approvalSpans({
  run,
  parts,
  answers,
  calls,
  end,
}: Pick<TimelineInput, 'run' | 'parts' | 'answers' | 'calls'> & { readonly end: number }): Span[] {
  const pending = new Set(run.pending_approvals.map(({ id }) => id));
  const callTimes = calls.map(({ at }) => Date.parse(at));
  return parts.flatMap((part): Span[] => {
    if (part.type !== 'dynamic-tool' || part.approval === undefined) return [];
    const { id, approved, reason } = part.approval;
    const start = timeOfUuid(id);
    if (start === undefined) return [];
    const answer = answers.find(({ approvalId }) => approvalId === id);
    const isOpen = pending.has(id);
    // Without a record of the answer (a time-out, no permission to read it), the run went on with its next call or its
    // end.
    const next = callTimes.find((at) => at >= start);
    const until = answer !== undefined ? Date.parse(answer.at) : isOpen ? end : (next ?? end);
    const note = [answer?.by, reason].filter(Boolean).join(' · ');
    return [
      {
        id,
        kind: 'approval',
        label: `Approval of ${part.toolName}`,
        start,
        end: Math.max(start, until),
        isOpen,
        part,
        ...(answer && { answer }),
        ...(approved !== undefined && { outcome: approved ? ('success' as const) : ('denied' as const) }),
        ...(note && { note }),
      },
    ];
  });
}

/**
 * The stretches in which nothing else happened, as far as it is known why. Right before an approved call, and before
 * the first model call of a later attempt, the run waited for a worker. Otherwise the model worked, if it is a run
 * without recorded calls, or if it is the call that has not ended yet.
 */
function gapsBetween(
  busy: readonly Span[],
  start: number,
  end: number,
  {
    isRunning,
    recorded,
    running,
  }: { readonly isRunning: boolean; readonly recorded: number; readonly running: ToolPart | undefined },
): Span[] {
  const gaps: Span[] = [];
  let models = recorded;
  let position = start;
  let attempt = 1;
  let before: Span | undefined;
  const add = (until: number, next: Span | undefined): void => {
    const isOpen = next === undefined && isRunning;
    const isApproved = before?.kind === 'approval' && before.outcome === 'success' && next?.kind === 'tool';
    const waits = isApproved || (next?.attempt ?? attempt) > attempt;
    if (!waits && recorded > 0 && !isOpen) return;
    const call = isOpen && !waits ? running : undefined;
    if (!waits && call === undefined) models += 1;
    const model = { kind: 'model', label: modelLabel(models) } as const;
    const work = call === undefined ? model : ({ kind: 'tool', label: call.toolName, part: call } as const);
    const what = waits ? WAITS : work;
    gaps.push({ id: `gap-${gaps.length}`, ...what, start: position, end: until, isOpen });
  };
  for (const span of busy) {
    if (span.start - position >= MIN_GAP_MS || (before === undefined && span.start > position)) add(span.start, span);
    if (span.end >= position) before = span;
    attempt = span.attempt ?? attempt;
    position = Math.max(position, span.end);
  }
  if (position < end) add(end, undefined);
  return gaps;
}

/** A call that is being made: it has no record yet. */
function isBeingMade({ state, approval }: ToolPart): boolean {
  return state === 'input-available' || (state === 'approval-responded' && approval?.approved === true);
}
