import { useMemo } from 'react';
import { useList, useTool } from '../api/queries.js';
import type { RunDetails } from '../records/run-columns.js';
import { useOrganization } from '../session/organization.js';
import type { MessagePart } from '../transcript/message.js';
import { useModelNames } from './model-names.js';
import { timelineOf } from './timeline.js';
import type { CallRecord, Span } from './span.js';
import { agentOf, isOutOfReach, originsOf, type ToolOrigins } from './tool-origins.js';
import { useRunCalls } from './use-run-calls.js';

const UNKNOWN_TOOLS = 'The tools of the agent could not be read, so calls may lack their parts of the answer.';

interface Timeline {
  readonly spans: readonly Span[];
  /** Whether all tool calls of the run are among the spans. */
  readonly isKnown: boolean;
  /** Whether they are being read. */
  readonly isReading: boolean;
  /** Why they are not, or can have the wrong names; undefined also while they are read. */
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
  const { origins, isError } = useOrigins(calls);
  const spans = useMemo(() => {
    const answers = (answered?.pages ?? [])
      .flatMap(({ items }) => items)
      .flatMap(({ at, actor, target }) =>
        target?.id ? [{ approvalId: target.id, at, by: actor.user_email ?? actor.key_name }] : [],
      );
    return timelineOf({ run, modelOf, calls, parts, origins, answers, now: Date.now() });
  }, [run, modelOf, calls, parts, origins, answered]);
  return { spans, isKnown: isComplete, isReading, missing: missing ?? (isError ? UNKNOWN_TOOLS : undefined) };
}

/** Of the tools of the agent that made the calls. */
function useOrigins(calls: readonly CallRecord[]): { readonly origins: ToolOrigins; readonly isError: boolean } {
  const { may } = useOrganization();
  const id = agentOf(calls);
  const isEnabled = id !== undefined && may('COLLECTION_VIRTUAL_MCP_GET');
  const { data, error } = useTool('COLLECTION_VIRTUAL_MCP_GET', { id: id ?? '' }, { isEnabled });
  const origins = useMemo(() => originsOf(data?.item.id === id ? data : undefined), [data, id]);
  return { origins, isError: error !== null && !isOutOfReach(error) };
}
