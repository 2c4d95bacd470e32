import { useState } from 'react';
import type { ListItem } from '../../../../packages/client/src/api.js';
import { useFilters } from '../../api/filters.js';
import { useChange, useList } from '../../api/queries.js';
import { EVENT_WORDS } from '../../records/delivery-columns.js';
import { useOrganization } from '../../session/organization.js';
import { StateBadge } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import type { Column } from '../../ui/data-table.js';
import { ConfirmButton } from '../../ui/dialog.js';
import { ListView } from '../../ui/list-view.js';
import { Section } from '../../ui/page.js';
import { EmptyState, ErrorMessage } from '../../ui/states.js';
import { formatDuration } from '../../ui/format.js';
import { useToast } from '../../ui/toast.js';
import { OneTimeValue } from './one-time-value.js';
import { useEdited } from './use-edited.js';
import { WebhookDeliveries } from './webhook-deliveries.js';
import { WebhookDialog } from './webhook-dialog.js';

type Webhook = ListItem<'WEBHOOK_LIST'>;

/** Addresses that are told when runs end or ask for an approval, and what was delivered to them. */
export function WebhooksSection() {
  const { may } = useOrganization();
  const list = useList('WEBHOOK_LIST');
  const [edited, setEdited] = useEdited(list.rows, ({ id }) => id);
  const [secret, setSecret] = useState<string>();
  const createButton = may('WEBHOOK_CREATE') && <Button onClick={() => setEdited('new')}>Create webhook</Button>;
  const columns: readonly Column<Webhook>[] = [
    {
      header: 'Address',
      cell: ({ url, agent_ids: agents }) => (
        <div className="flex min-w-40 flex-col">
          <span className="font-medium break-all">{url}</span>
          <span className="text-[0.8125rem] text-muted-foreground">
            {agents === null ? 'all agents' : `${agents.length} ${agents.length === 1 ? 'agent' : 'agents'}`}
          </span>
        </div>
      ),
    },
    {
      header: 'Told when',
      isSecondary: true,
      cell: ({ events }) => events.map((event) => EVENT_WORDS[event]).join(', '),
    },
    {
      header: 'State',
      cell: ({ enabled, disabled_reason: reason }) => (
        <div className="flex flex-col items-start gap-1">
          <StateBadge state={enabled ? 'ready' : 'off'}>{enabled ? 'enabled' : 'disabled'}</StateBadge>
          {reason && <span className="text-[0.8125rem] text-destructive">{reason}</span>}
        </div>
      ),
    },
    {
      header: 'Actions',
      isBelow: true,
      cell: (webhook) => <Actions webhook={webhook} onEdit={setEdited} onSecret={setSecret} />,
    },
  ];
  return (
    <>
      <Section title="Webhooks" actions={list.rows.length > 0 && createButton}>
        <p className="text-sm text-muted-foreground">
          The service posts a signed message (Standard Webhooks) to your address when a run ends or waits for an
          approval. It tries again for a day if nobody answers.
        </p>
        <ListView
          label="Webhooks"
          list={list}
          columns={columns}
          keyOf={({ id }) => id}
          empty={<EmptyState title="There are no webhooks yet.">{createButton}</EmptyState>}
        />
      </Section>
      {may('WEBHOOK_DELIVERIES_LIST') && list.rows.length > 0 && <WebhookDeliveries webhooks={list.rows} />}
      {edited !== undefined && may(edited === 'new' ? 'WEBHOOK_CREATE' : 'WEBHOOK_UPDATE') && (
        <WebhookDialog
          webhook={edited === 'new' ? undefined : edited}
          onClose={() => setEdited(undefined)}
          onSecret={setSecret}
        />
      )}
      <OneTimeValue title="Secret of the webhook" label="Secret" value={secret} onClose={() => setSecret(undefined)}>
        Your receiver checks the signatures with this secret. Copy it now: it is not shown again.
      </OneTimeValue>
    </>
  );
}

function Actions({
  webhook,
  onEdit,
  onSecret,
}: {
  readonly webhook: Webhook;
  readonly onEdit: (webhook: Webhook) => void;
  readonly onSecret: (secret: string) => void;
}) {
  const { may } = useOrganization();
  const [, filter] = useFilters();
  const test = useChange('WEBHOOK_TEST', []);
  const rotate = useChange('WEBHOOK_ROTATE', ['WEBHOOK_LIST']);
  const remove = useChange('WEBHOOK_DELETE', ['WEBHOOK_LIST', 'WEBHOOK_DELIVERIES_LIST']);
  const say = useToast();
  const { id, url } = webhook;
  const small = { variant: 'secondary', size: 'small' } as const;
  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap gap-2">
        {may('WEBHOOK_TEST') && (
          <Button {...small} isBusy={test.isPending} aria-label={`Test ${url}`} onClick={() => test.mutate({ id })}>
            Test
          </Button>
        )}
        {may('WEBHOOK_DELIVERIES_LIST') && (
          <Button {...small} aria-label={`Deliveries to ${url}`} onClick={() => filter({ webhook: id })}>
            Deliveries
          </Button>
        )}
        {may('WEBHOOK_UPDATE') && (
          <Button {...small} aria-label={`Edit ${url}`} onClick={() => onEdit(webhook)}>
            Edit
          </Button>
        )}
        {may('WEBHOOK_ROTATE') && (
          <ConfirmButton
            label="New secret"
            size="small"
            title="Replace the secret?"
            onConfirm={async () => onSecret((await rotate.mutateAsync({ id })).secret)}
          >
            <p>For 24 hours, messages carry the signatures of the old and the new secret.</p>
          </ConfirmButton>
        )}
        {may('WEBHOOK_DELETE') && (
          <ConfirmButton
            label="Delete webhook"
            size="small"
            title="Delete the webhook?"
            onConfirm={async () => {
              await remove.mutateAsync({ id });
              say('The webhook was deleted.');
            }}
          >
            <p>{url} gets no more messages, and the record of its deliveries is deleted.</p>
          </ConfirmButton>
        )}
      </div>
      <div role="status" className="text-[0.8125rem] empty:hidden">
        {test.data &&
          (test.data.ok ? (
            <span className="text-success">
              It answered {test.data.status} after {formatDuration(test.data.latency_ms)}.
            </span>
          ) : (
            <span className="text-destructive">
              The test failed: {test.data.error ?? `it answered ${test.data.status}`}
            </span>
          ))}
      </div>
      <ErrorMessage error={test.error} />
    </div>
  );
}
