import { useEffect, useMemo } from 'react';
import { useList } from '../../api/queries.js';
import type { RunDetails } from '../../records/run-columns.js';
import { useOrganization } from '../../session/organization.js';
import type { MessagePart } from '../../transcript/message.js';
import { useModelNames } from './model-names.js';
import { type Span, timelineOf } from './timeline.js';

const MAX_CALLS = 200;
const NOT_PERMITTED = 'Your role or key does not include MONITORING_LOGS_LIST, so tool calls are not shown one by one.';

interface Timeline {
  readonly spans: readonly Span[];
  /** Whether all tool calls of the run are among the spans. */
  readonly isKnown: boolean;
  /** Why they are not; undefined also while they are read. */
  readonly missing: string | undefined;
}

/** What a run did when, from the records that the caller may read. */
export function useTimeline(run: RunDetails, parts: readonly MessagePart[]): Timeline {
  const { may } = useOrganization();
  const mayReadCalls = may('MONITORING_LOGS_LIST');
  const calls = useList(
    'MONITORING_LOGS_LIST',
    {
      where: { field: ['run_id'], operator: 'eq', value: run.id },
      orderBy: [{ field: ['at'], direction: 'asc' }],
      limit: MAX_CALLS,
    },
    { isEnabled: mayReadCalls },
  );
  const { data, isPlaceholderData, hasNextPage, refetch } = calls.query;
  useEffect(() => {
    if (mayReadCalls) void refetch();
  }, [run, mayReadCalls, refetch]);
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
  const answers = events.rows.flatMap(({ at, actor, target }) =>
    target?.id ? [{ approvalId: target.id, at, by: actor.user_email ?? actor.key_name }] : [],
  );
  const modelOf = useModelNames(run.model_calls);
  const spans = timelineOf({ run, modelOf, calls: calls.rows, parts, answers, now: Date.now() });
  return {
    spans,
    isKnown: mayReadCalls && data !== undefined && !isPlaceholderData && !hasNextPage,
    missing: missingCalls(mayReadCalls, hasNextPage),
  };
}

function missingCalls(mayRead: boolean, hasMore: boolean): string | undefined {
  if (!mayRead) return NOT_PERMITTED;
  return hasMore ? `Only the first ${MAX_CALLS} calls are shown.` : undefined;
}
