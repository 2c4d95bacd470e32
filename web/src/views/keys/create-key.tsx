import { type FormEvent, useState } from 'react';
import { useChange } from '../../api/queries.js';
import { toInput } from '../../permissions/permission-map.js';
import { PermissionPicker } from '../../permissions/permission-picker.js';
import { PRESETS } from '../../permissions/presets.js';
import { RunAccessNote, useRunAccess } from '../../permissions/run-access-note.js';
import { PickerField } from '../../pick/picker-field.js';
import type { PermissionMap } from '../../session/session.js';
import { spendDraftOf, SpendFields, spendOf } from '../../spending/spend-fields.js';
import { Button } from '../../ui/button.js';
import { TextField } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { ErrorMessage } from '../../ui/states.js';
import { DEFAULT_EXPIRY, ExpiryField, expiresInOf } from './expiry-field.js';
import { KeyValue } from './key-value.js';

/** Creates a key: purpose, permissions, lifetime. Afterwards it shows the value, once. */
export function CreateKey({ onDone }: { readonly onDone: () => void }) {
  const [name, setName] = useState('');
  const [presetId, setPresetId] = useState('chatbot');
  const [agentId, setAgentId] = useState('');
  const [permissions, setPermissions] = useState<PermissionMap>(() => permissionsOf('chatbot', ''));
  const [expiry, setExpiry] = useState(DEFAULT_EXPIRY);
  const [limit, setLimit] = useState('');
  const [spend, setSpend] = useState(() => spendDraftOf(null));
  const isRunGranted = useRunAccess() === 'granted';
  const create = useChange('API_KEY_CREATE', ['API_KEY_LIST']);
  const preset = PRESETS.find(({ id }) => id === presetId);
  const needsAgent = preset?.needsAgent === 'always' || (preset?.needsAgent === 'if runs are granted' && isRunGranted);

  if (create.data) return <KeyValue created={create.data} onDone={onDone} />;

  const choosePreset = (id: string, agent: string): void => {
    setPresetId(id);
    setAgentId(agent);
    setPermissions(permissionsOf(id, agent));
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    create.mutate({
      name: name.trim(),
      permissions: toInput(permissions),
      ...expiresInOf(expiry),
      ...(limit === '' ? {} : { rate_limit: { per_minute: Number(limit) } }),
      spend: spendOf(spend),
    });
  };
  return (
    <Form error={create.error} isBusy={create.isPending} onSubmit={submit} className="flex min-w-0 flex-col gap-4">
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-3">
        <TextField
          label="Name"
          path="name"
          required
          maxLength={64}
          placeholder="shop-chatbot"
          hint="Name it after the program that uses it."
          value={name}
          onChange={setName}
          autoFocus
        />
        <ExpiryField value={expiry} onChange={setExpiry} />
        <TextField
          label="Requests per minute"
          path="rate_limit"
          type="number"
          min={1}
          placeholder="No limit"
          hint="More are refused until the minute is over."
          value={limit}
          onChange={setLimit}
        />
      </div>
      <SpendFields draft={spend} onChange={setSpend} />
      <Presets selected={presetId} onSelect={(id) => choosePreset(id, agentId)} />
      {needsAgent && (
        <PickerField
          label="Agent"
          kind="agent"
          value={agentId}
          emptyLabel="Choose an agent"
          onChange={(id) => choosePreset(presetId, id)}
        />
      )}
      <PermissionPicker permissions={permissions} onChange={setPermissions} subject="This key" />
      <RunAccessNote />
      <ErrorMessage error={create.error} />
      <div className="flex justify-end gap-2">
        <Button variant="secondary" disabled={create.isPending} onClick={onDone}>
          Cancel
        </Button>
        <Button type="submit" isBusy={create.isPending}>
          Create key
        </Button>
      </div>
    </Form>
  );
}

function permissionsOf(presetId: string, agentId: string): PermissionMap {
  return PRESETS.find(({ id }) => id === presetId)?.permissions(agentId === '' ? undefined : agentId) ?? {};
}

function Presets({ selected, onSelect }: { readonly selected: string; readonly onSelect: (id: string) => void }) {
  return (
    <fieldset>
      <legend className="pb-1 text-sm font-medium">What is it for?</legend>
      <div className="grid grid-cols-1 gap-2 sm:grid-cols-2">
        {PRESETS.map(({ id, title, purpose }) => (
          <label
            key={id}
            className="flex cursor-pointer items-start gap-2 rounded-md border p-3 has-checked:border-primary has-checked:bg-accent/50"
          >
            <input
              type="radio"
              name="preset"
              className="mt-1 accent-primary"
              checked={selected === id}
              onChange={() => onSelect(id)}
              aria-describedby={`preset-${id}`}
              aria-label={title}
            />
            <span className="min-w-0">
              <span className="font-medium">{title}</span>
              <span id={`preset-${id}`} className="block text-[0.8125rem] text-muted-foreground">
                {purpose}
              </span>
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
