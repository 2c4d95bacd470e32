import { Link } from '@tanstack/react-router';
import { useNameOf } from '../../pick/choices.js';
import { callerOf, type Run } from '../../records/run-columns.js';
import { useOrganization } from '../../session/organization.js';
import { StatusBadge } from '../../ui/badge.js';
import { CopyButton } from '../../ui/copy-button.js';
import { Facts } from '../../ui/page.js';
import { formatCost, formatDuration, formatNumber } from '../../ui/format.js';
import { Time } from '../../ui/time.js';

/** What is known of a run. */
export function RunFacts({ run, agentTitle }: { readonly run: Run; readonly agentTitle: string }) {
  const { slug: org } = useOrganization();
  const { usage, schedule_id: schedule, duration_ms: duration } = run;
  const thread = useNameOf('thread', run.thread_id);
  const scheduleTitle = useNameOf('schedule', schedule);
  const metadata = Object.entries(run.metadata);
  const link = 'text-primary underline';
  return (
    <Facts
      items={[
        ['Status', <StatusBadge key="status" status={run.status} />],
        [
          'Agent',
          <Link key="agent" to="/$org/agents/$agentId" params={{ org, agentId: run.agent_id }} className={link}>
            {agentTitle}
          </Link>,
        ],
        [
          'Thread',
          <Link key="thread" to="/$org/threads/$threadId" params={{ org, threadId: run.thread_id }} className={link}>
            {thread}
          </Link>,
        ],
        ['Asked by', callerOf(run)],
        schedule !== null && [
          'Schedule',
          <Link key="schedule" to="/$org/runs" params={{ org }} search={{ schedule }} className={link}>
            All runs of {scheduleTitle}
          </Link>,
        ],
        ['Model', run.model ?? 'not called yet'],
        ['Tier', run.tier],
        run.temperature !== null && ['Temperature', run.temperature],
        usage !== null && [
          'Tokens',
          `${formatNumber(usage.totalTokens)} (${formatNumber(usage.inputTokens)} in, ` +
            `${formatNumber(usage.outputTokens)} out)`,
        ],
        costOf(run),
        ['Steps', formatNumber(run.steps)],
        ['Attempts', attemptsOf(run)],
        run.finish_reason !== null && ['Finish reason', run.finish_reason],
        ['Posted', <Time key="posted" value={run.created_at} />],
        ['Started', <Time key="started" value={run.started_at} ifNull="not yet" />],
        ['Finished', <Time key="finished" value={run.finished_at} ifNull="not yet" />],
        duration !== null && ['Duration', formatDuration(duration)],
        ['Request', <Id key="request" id={run.request_id} />],
        run.trace_id !== null && ['Trace', <Trace key="trace" id={run.trace_id} url={run.trace_url} />],
        ['Run', <Id key="run" id={run.id} />],
        metadata.length > 0 && ['Metadata', metadata.map(([key, value]) => `${key}: ${value}`).join(', ')],
      ]}
    />
  );
}

/** A later attempt takes over from a worker that was lost, and after each approval. */
function attemptsOf({ attempt }: Run): string {
  if (attempt === 0) return 'none yet';
  return attempt === 1 ? '1' : `${attempt} (a worker goes on after an approval or the loss of another worker)`;
}

/** A run that used no tokens yet has no cost, whatever the price. */
function costOf({ cost_usd: cost, usage }: Run): [string, string] | false {
  if (cost !== null) return ['Cost', formatCost(cost)];
  return usage !== null && usage.totalTokens > 0 && ['Cost', 'no price set'];
}

function Trace({ id, url }: { readonly id: string; readonly url: string | null }) {
  if (url === null) return <Id id={id} />;
  return (
    <a href={url} target="_blank" rel="noreferrer" className="text-[0.8125rem] break-all text-primary underline">
      {id}
    </a>
  );
}

function Id({ id }: { readonly id: string }) {
  return (
    <span className="flex flex-wrap items-center gap-2">
      <code className="text-[0.8125rem] break-all">{id}</code>
      <span className="-ml-2.5">
        <CopyButton text={id} label="Copy ID" size="small" variant="ghost" />
      </span>
    </span>
  );
}
