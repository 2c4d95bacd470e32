import { Link } from '@tanstack/react-router';
import type { ListItem } from '../../../../packages/client/src/api.js';
import { useFilters } from '../../api/filters.js';
import { contains, useChange, useList } from '../../api/queries.js';
import { useChoicesById } from '../../pick/choices.js';
import { FilterSearch } from '../../records/filter-fields.js';
import { useOrganization } from '../../session/organization.js';
import { StatusBadge } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import type { Column } from '../../ui/data-table.js';
import { ConfirmButton } from '../../ui/dialog.js';
import { CheckboxField } from '../../ui/field.js';
import { ListView } from '../../ui/list-view.js';
import { Section } from '../../ui/page.js';
import { EmptyState, ErrorMessage } from '../../ui/states.js';
import { Time } from '../../ui/time.js';
import { useToast } from '../../ui/toast.js';
import { cronInWords } from './cron-words.js';
import { ScheduleDialog } from './schedule-dialog.js';
import { useEdited } from './use-edited.js';

type Schedule = ListItem<'SCHEDULE_LIST'>;

/** Messages that agents get at set times. */
export function SchedulesSection() {
  const { may } = useOrganization();
  const [{ title = '' }] = useFilters();
  const list = useList('SCHEDULE_LIST', {
    where: contains(title, 'title'),
  });
  const [edited, setEdited] = useEdited(list.rows, ({ id }) => id);
  const agents = useChoicesById(
    'agent',
    list.rows.map((schedule) => schedule.virtual_mcp_id),
  );
  const createButton = may('SCHEDULE_CREATE') && <Button onClick={() => setEdited('new')}>Create schedule</Button>;
  const columns: readonly Column<Schedule>[] = [
    {
      header: 'Schedule',
      cell: (schedule) => (
        <div className="flex min-w-36 flex-col">
          <span className="font-medium break-words">{schedule.title}</span>
          <span className="text-[0.8125rem] text-muted-foreground">
            {agents.get(schedule.virtual_mcp_id)?.label ?? 'an agent'}
          </span>
        </div>
      ),
    },
    {
      header: 'When',
      isSecondary: true,
      cell: ({ cron, timezone }) => (
        <div className="flex flex-col">
          <span>{cronInWords(cron) ?? cron}</span>
          <span className="text-[0.8125rem] text-muted-foreground">
            <code>{cron}</code> {timezone}
          </span>
        </div>
      ),
    },
    {
      header: 'Next',
      cell: ({ next_run_at: at, enabled, disabled_reason: reason }) =>
        enabled ? (
          <Time value={at} />
        ) : (
          <span className={reason ? 'text-destructive' : 'text-muted-foreground'}>{reason ?? 'disabled'}</span>
        ),
    },
    { header: 'Last run', cell: (schedule) => <LastRun schedule={schedule} /> },
    { header: 'Actions', isBelow: true, cell: (schedule) => <Actions schedule={schedule} onEdit={setEdited} /> },
  ];
  return (
    <Section title="Schedules" actions={list.rows.length > 0 && createButton}>
      <p className="text-sm text-muted-foreground">
        A schedule sends a message to an agent again and again, for its creator: a report each morning, a check each
        hour.
      </p>
      {(list.rows.length > 0 || title !== '') && <FilterSearch name="title" label="Search by title" />}
      <ListView
        label="Schedules"
        list={list}
        columns={columns}
        keyOf={({ id }) => id}
        empty={
          <EmptyState title={title === '' ? 'There are no schedules yet.' : 'No schedule matches.'}>
            {title === '' && createButton}
          </EmptyState>
        }
      />
      {edited !== undefined && may(edited === 'new' ? 'SCHEDULE_CREATE' : 'SCHEDULE_UPDATE') && (
        <ScheduleDialog schedule={edited === 'new' ? undefined : edited} onClose={() => setEdited(undefined)} />
      )}
    </Section>
  );
}

function LastRun({ schedule }: { readonly schedule: Schedule }) {
  const { slug } = useOrganization();
  const { last_run: run, last_run_at: at, last_skipped_at: skippedAt, last_skip_reason: reason } = schedule;
  return (
    <div className="flex flex-col items-start gap-1">
      {run === null ? (
        <Time value={at} />
      ) : (
        <Link
          to="/$org/runs/$runId"
          params={{ org: slug, runId: run.id }}
          className="flex flex-wrap items-center gap-2 text-primary hover:underline"
        >
          <StatusBadge status={run.status} /> <Time value={at} ifNull="by hand" />
        </Link>
      )}
      {skippedAt !== null && (
        <span className="text-[0.8125rem] text-muted-foreground">
          skipped <Time value={skippedAt} />: {reason}
        </span>
      )}
    </div>
  );
}

function Actions({ schedule, onEdit }: { readonly schedule: Schedule; readonly onEdit: (schedule: Schedule) => void }) {
  const { may } = useOrganization();
  const { id, title, enabled } = schedule;
  const say = useToast();
  const update = useChange('SCHEDULE_UPDATE', ['SCHEDULE_LIST']);
  const run = useChange('SCHEDULE_RUN', ['SCHEDULE_LIST', 'RUN_LIST', 'COLLECTION_THREADS_LIST'], () =>
    say(`“${title}” runs now.`),
  );
  const remove = useChange('SCHEDULE_DELETE', ['SCHEDULE_LIST']);
  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        {may('SCHEDULE_UPDATE') && (
          <CheckboxField
            label={
              <>
                Enabled <span className="sr-only">{title}</span>
              </>
            }
            checked={enabled}
            disabled={update.isPending}
            onChange={(checked) => update.mutate({ id, data: { enabled: checked } })}
          />
        )}
        {may('SCHEDULE_RUN') && (
          <Button
            variant="secondary"
            size="small"
            isBusy={run.isPending}
            aria-label={`Run now: ${title}`}
            onClick={() => run.mutate({ id })}
          >
            Run now
          </Button>
        )}
        {may('SCHEDULE_UPDATE') && (
          <Button variant="secondary" size="small" aria-label={`Edit ${title}`} onClick={() => onEdit(schedule)}>
            Edit
          </Button>
        )}
        {may('SCHEDULE_DELETE') && (
          <ConfirmButton
            label="Delete schedule"
            size="small"
            title={`Delete the schedule “${title}”?`}
            onConfirm={() => remove.mutateAsync({ id })}
          >
            <p>It sends no more messages. Its threads and runs stay.</p>
          </ConfirmButton>
        )}
      </div>
      <ErrorMessage error={update.error ?? run.error} />
    </div>
  );
}
