import { useMemo } from 'react';
import { useList, useTool } from '../api/queries.js';
import type { RunDetails } from '../records/run-columns.js';
import { useOrganization } from '../session/organization.js';
import type { MessagePart } from '../transcript/message.js';
import { useModelNames } from './model-names.js';
import type { Span } from './span.js';
import { timelineOf } from './timeline.js';
import { originsOf, type ToolOrigins } from './tool-origins.js';
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
  const origins = useOrigins(run, parts);
  const spans = useMemo(() => {
    const answers = (answered?.pages ?? [])
      .flatMap(({ items }) => items)
      .flatMap(({ at, actor, target }) =>
        target?.id ? [{ approvalId: target.id, at, by: actor.user_email ?? actor.key_name }] : [],
      );
    return timelineOf({ run, modelOf, calls, parts, origins, answers, now: Date.now() });
  }, [run, modelOf, calls, parts, origins, answered]);
  return { spans, isKnown: isComplete, isReading, missing };
}

/** Of the tools of the run's agent, if it has called any. */
function useOrigins({ agent_id: id }: RunDetails, parts: readonly MessagePart[]): ToolOrigins {
  const { may } = useOrganization();
  const hasCalls = parts.some(({ type }) => type === 'dynamic-tool');
  const isEnabled = hasCalls && may('COLLECTION_VIRTUAL_MCP_GET');
  const { data } = useTool('COLLECTION_VIRTUAL_MCP_GET', { id }, { isEnabled });
  return useMemo(() => originsOf(data?.item.id === id ? data : undefined), [data, id]);
}
