import { useState } from 'react';
import type { ListItem, ToolInput } from '../../../../packages/client/src/api.js';
import { changesOf } from '../../api/changes-of.js';
import { useChange } from '../../api/queries.js';
import { PickerField } from '../../pick/picker-field.js';
import { useChoicesById } from '../../pick/choices.js';
import { EVENT_WORDS } from '../../records/delivery-columns.js';
import { Button } from '../../ui/button.js';
import { CheckboxField, TextField } from '../../ui/field.js';
import { FormDialog } from '../../ui/form-dialog.js';

type Webhook = ListItem<'WEBHOOK_LIST'>;
type WebhookEvent = ToolInput<'WEBHOOK_CREATE'>['data']['events'][number];

const EVENTS = Object.keys(EVENT_WORDS) as WebhookEvent[];

/** Creates a webhook, or changes one. A new one has a secret, which goes to `onSecret`. */
export function WebhookDialog({
  webhook,
  onClose,
  onSecret,
}: {
  readonly webhook: Webhook | undefined;
  readonly onClose: () => void;
  readonly onSecret: (secret: string) => void;
}) {
  const [url, setUrl] = useState(webhook?.url ?? '');
  const [events, setEvents] = useState<readonly WebhookEvent[]>(webhook?.events ?? ['run.completed', 'run.failed']);
  const [agentIds, setAgentIds] = useState<readonly string[] | null>(webhook?.agent_ids ?? null);
  const [isEnabled, setIsEnabled] = useState(webhook?.enabled ?? true);
  const create = useChange('WEBHOOK_CREATE', ['WEBHOOK_LIST']);
  const update = useChange('WEBHOOK_UPDATE', ['WEBHOOK_LIST', 'WEBHOOK_DELIVERIES_LIST']);
  const data = {
    url: url.trim(),
    events: [...events],
    agent_ids: agentIds === null ? null : [...agentIds],
    enabled: isEnabled,
  };
  const [start] = useState(data);
  const submit = async (): Promise<void> => {
    if (webhook === undefined) onSecret((await create.mutateAsync({ data })).secret);
    else await update.mutateAsync({ id: webhook.id, data: changesOf(data, start) });
  };
  return (
    <FormDialog
      title={webhook === undefined ? 'Create webhook' : 'Edit webhook'}
      submitLabel={webhook === undefined ? 'Create webhook' : 'Save webhook'}
      onClose={onClose}
      onSubmit={submit}
    >
      <TextField
        label="Address"
        path="url"
        type="url"
        required
        placeholder="https://example.com/hooks/signalbox"
        value={url}
        onChange={setUrl}
        autoFocus
      />
      <fieldset className="flex flex-col gap-1.5">
        <legend className="pb-1 text-sm font-medium">Send a message when</legend>
        {EVENTS.map((event) => (
          <CheckboxField
            key={event}
            label={EVENT_WORDS[event]}
            checked={events.includes(event)}
            onChange={(checked) =>
              setEvents(EVENTS.filter((each) => (each === event ? checked : events.includes(each))))
            }
          />
        ))}
      </fieldset>
      <AgentsField agentIds={agentIds} onChange={setAgentIds} />
      <CheckboxField
        label="Enabled"
        hint="Disabling drops what was not delivered yet."
        checked={isEnabled}
        onChange={setIsEnabled}
      />
    </FormDialog>
  );
}

function AgentsField({
  agentIds,
  onChange,
}: {
  readonly agentIds: readonly string[] | null;
  readonly onChange: (agentIds: readonly string[] | null) => void;
}) {
  const names = useChoicesById('agent', agentIds ?? []);
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="pb-1 text-sm font-medium">Agents</legend>
      <CheckboxField
        label="All agents, also later ones"
        checked={agentIds === null}
        onChange={(checked) => onChange(checked ? null : [])}
      />
      {agentIds !== null && (
        <>
          <ul className="flex flex-col gap-1 text-sm">
            {agentIds.map((id) => (
              <li key={id} className="flex items-center justify-between gap-2">
                <span className="min-w-0 break-words">{names.get(id)?.label ?? id}</span>
                <Button
                  variant="ghost"
                  size="small"
                  aria-label={`Remove ${names.get(id)?.label ?? id}`}
                  onClick={() => onChange(agentIds.filter((each) => each !== id))}
                >
                  Remove
                </Button>
              </li>
            ))}
          </ul>
          <PickerField
            label="Add an agent"
            kind="agent"
            value=""
            emptyLabel="Choose an agent"
            onChange={(id) => id !== '' && onChange([...new Set([...agentIds, id])])}
          />
        </>
      )}
    </fieldset>
  );
}
