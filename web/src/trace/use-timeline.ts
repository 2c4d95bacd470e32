import { useMemo } from 'react';
import { useList } from '../api/queries.js';
import type { RunDetails } from '../records/run-columns.js';
import { useOrganization } from '../session/organization.js';
import type { MessagePart } from '../transcript/message.js';
import { useModelNames } from './model-names.js';
import { type Span, timelineOf } from './timeline.js';
import { useRunCalls } from './use-run-calls.js';

interface Timeline {
  readonly spans: readonly Span[];
  /** Whether all tool calls of the run are among the spans. */
  readonly isKnown: boolean;
  /** Whether they are being read. */
  readonly isReading: boolean;
  /** Why they are not; undefined also while they are read. */
  readonly missing: string | undefined;
}

/** What a run did when, from the records that the caller may read. */
export function useTimeline(run: RunDetails, parts: readonly MessagePart[]): Timeline {
  const { may } = useOrganization();
  const { calls, isComplete, isReading, missing } = useRunCalls(run);
  const approvals = useMemo(
    () => parts.flatMap((part) => (part.type === 'dynamic-tool' && part.approval ? [part.approval.id] : [])),
    [parts],
  );
  const events = useList(
    'AUDIT_EVENTS_LIST',
    {
      where: {
        operator: 'and',
        conditions: [
          { field: ['event'], operator: 'eq', value: 'approval.answered' },
          { field: ['target_id'], operator: 'in', value: approvals },
        ],
      },
    },
    { isEnabled: approvals.length > 0 && may('AUDIT_EVENTS_LIST') },
  );
  const answered = events.query.data;
  const modelOf = useModelNames(run.model_calls);
  const spans = useMemo(() => {
    const answers = (answered?.pages ?? [])
      .flatMap(({ items }) => items)
      .flatMap(({ at, actor, target }) =>
        target?.id ? [{ approvalId: target.id, at, by: actor.user_email ?? actor.key_name }] : [],
      );
    return timelineOf({ run, modelOf, calls, parts, answers, now: Date.now() });
  }, [run, modelOf, calls, parts, answered]);
  return { spans, isKnown: isComplete, isReading, missing };
}
