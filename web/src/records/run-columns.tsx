import { Link } from '@tanstack/react-router';
import type { ListItem, ToolOutput } from '../../../packages/client/src/api.js';
import { StatusBadge } from '../ui/badge.js';
import type { Column } from '../ui/data-table.js';
import { Time } from '../ui/time.js';
import { usedColumns } from './used-columns.js';

export type Run = ListItem<'RUN_LIST'>;
/** A run with its model calls. */
export type RunDetails = ToolOutput<'RUN_GET'>['item'];

/** True if the run is not over. */
export function isOpen({ status }: { readonly status: string }): boolean {
  return status === 'queued' || status === 'running' || status === 'waiting';
}

/** Who asked for the run, in words. */
export function callerOf({ user_email: user, key_name: key, schedule_id: schedule }: Run): string {
  const caller = user ?? (key === null ? 'unknown' : `key ${key}`);
  return schedule === null ? caller : `schedule of ${caller}`;
}

/** The columns of a list of runs. */
export function runColumns({
  org,
  titleOf,
  onCode,
  onTool,
}: {
  readonly org: string;
  /** The title of an agent; undefined leaves the column out. */
  readonly titleOf?: (id: string) => string;
  /** Called with the code of an error that was chosen. */
  readonly onCode?: (code: string) => void;
  /** Called with the name of a tool that was chosen. */
  readonly onTool?: (tool: string) => void;
}): readonly Column<Run>[] {
  return [
    {
      header: 'Run',
      cell: (run) => (
        <>
          <Link
            to="/$org/runs/$runId"
            params={{ org, runId: run.id }}
            className="font-medium whitespace-nowrap text-primary hover:underline"
          >
            <Time value={run.created_at} />
          </Link>
          {run.question && (
            <span className="line-clamp-2 max-w-96 min-w-32 wrap-anywhere" title={run.question}>
              {run.question}
            </span>
          )}
        </>
      ),
    },
    { header: 'Status', cell: (run) => <StatusBadge status={run.status} /> },
    ...(titleOf === undefined
      ? []
      : [
          {
            header: 'Agent',
            isBelow: true,
            cell: (run: Run) => (
              <>
                <span className="line-clamp-2 min-w-28 wrap-anywhere" title={titleOf(run.agent_id)}>
                  {titleOf(run.agent_id)}
                </span>
                {run.model && <span className="block text-xs wrap-anywhere text-muted-foreground">{run.model}</span>}
              </>
            ),
          },
        ]),
    {
      header: 'Error',
      isSecondary: true,
      cell: ({ error }) =>
        error && (
          <>
            {onCode ? (
              <button
                type="button"
                className="block text-left font-mono text-[0.8125rem] text-primary hover:underline"
                aria-label={`Only runs with ${error.code}`}
                onClick={() => onCode(error.code)}
              >
                {error.code}
              </button>
            ) : (
              <code className="block text-[0.8125rem]">{error.code}</code>
            )}
            <span className="line-clamp-2 max-w-96 break-words" title={error.message}>
              {error.message}
            </span>
          </>
        ),
    },
    ...usedColumns<Run>((run) => ({ ...run, tokens: run.usage?.totalTokens ?? null }), onTool),
    {
      header: 'By',
      isSecondary: true,
      cell: (run) => <span className="break-words">{callerOf(run)}</span>,
    },
  ];
}
