import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { changesOf } from '../../api/changes-of.js';
import { useFilters } from '../../api/filters.js';
import { useChange, useList } from '../../api/queries.js';
import { toInput, withChanges } from '../../permissions/permission-map.js';
import { PermissionPicker } from '../../permissions/permission-picker.js';
import { PermissionWords } from '../../permissions/permission-words.js';
import { RunAccessNote } from '../../permissions/run-access-note.js';
import { useOrganization } from '../../session/organization.js';
import { spendDraftOf, SpendFields, spendInWords, spendOf } from '../../spending/spend-fields.js';
import { Button } from '../../ui/button.js';
import { ConfirmButton } from '../../ui/dialog.js';
import { CheckboxField, TextField } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { Facts } from '../../ui/page.js';
import { ErrorMessage } from '../../ui/states.js';
import { Time } from '../../ui/time.js';
import { useToast } from '../../ui/toast.js';
import type { Key } from './key.js';
import { RotateKey } from './rotate-key.js';

/** What the address (`?mode=`) says is done with the key; looking at it has no name there. */
type Mode = 'edit' | 'rotate' | undefined;

/** One key: what it can do, and what can be done with it. */
export function KeyDetail({ stored, onDone }: { readonly stored: Key; readonly onDone: () => void }) {
  const { may } = useOrganization();
  const [{ mode }, filter] = useFilters();
  const setMode = (next: Mode): void => filter({ mode: next });
  if (mode === 'edit' && may('API_KEY_UPDATE')) return <EditKey stored={stored} onDone={() => setMode(undefined)} />;
  if (mode === 'rotate' && may('API_KEY_CREATE'))
    return <RotateKey stored={stored} onCancel={() => setMode(undefined)} onDone={onDone} />;
  return <Look stored={stored} onMode={setMode} onDone={onDone} />;
}

function Look({
  stored,
  onMode,
  onDone,
}: {
  readonly stored: Key;
  readonly onMode: (mode: Mode) => void;
  readonly onDone: () => void;
}) {
  const { may, slug } = useOrganization();
  const remove = useChange('API_KEY_DELETE', ['API_KEY_LIST']);
  const say = useToast();
  const { totalCount: children = 0 } = useList('API_KEY_LIST', {
    where: { field: ['maker_key_id'], operator: 'eq', value: stored.id },
    limit: 1,
  });
  const [keepsChildren, setKeepsChildren] = useState(false);
  const limit = stored.rate_limit?.per_minute;
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <Facts
        items={[
          ['Name', stored.name],
          ['Begins with', <code key="prefix">{stored.prefix}…</code>],
          ['Last use', <Time key="use" value={stored.last_used_at} />],
          ['Expires', <Time key="expiry" value={stored.expires_at} />],
          ['Requests', limit === undefined ? 'not limited' : `at most ${limit} a minute`],
          ['Spending', spendInWords(stored.spend)],
          ['Created', <Time key="created" value={stored.created_at} />],
          stored.maker_key !== null && ['Made with the key', stored.maker_key.name],
          may('ACCESS_OF_CALLER') && [
            'Access',
            <Link
              key="access"
              to="/$org/access"
              params={{ org: slug }}
              search={{ node: `key:${stored.id}` } as never}
              className="text-primary underline"
            >
              What can this key do?
            </Link>,
          ],
          may('MONITORING_LOGS_LIST') && [
            'Calls',
            <Link
              key="calls"
              to="/$org/monitoring"
              params={{ org: slug }}
              search={{ key: stored.id } as never}
              className="text-primary underline"
            >
              Tool calls of this key
            </Link>,
          ],
        ]}
      />
      <PermissionWords permissions={stored.permissions} subject="This key" />
      <RunAccessNote />
      <div className="flex flex-wrap justify-end gap-2">
        {may('API_KEY_UPDATE') && (
          <Button variant="secondary" onClick={() => onMode('edit')}>
            Edit key
          </Button>
        )}
        {may('API_KEY_CREATE') && (
          <Button variant="secondary" onClick={() => onMode('rotate')}>
            Rotate key
          </Button>
        )}
        {may('API_KEY_DELETE') && (
          <ConfirmButton
            label="Delete key"
            title={`Delete the key “${stored.name}”?`}
            onConfirm={async () => {
              await remove.mutateAsync({ id: stored.id, children: keepsChildren ? 'keep' : 'delete' });
              say(`The key “${stored.name}” was deleted.`);
              onDone();
            }}
          >
            <p>
              Programs that use it are refused at once, open streams and running agents of it end. This cannot be
              undone.
            </p>
            {children > 0 && (
              <CheckboxField
                label={`Keep the ${children === 1 ? 'key' : `${children} keys`} made with it`}
                hint="Otherwise they are deleted too, with the keys that these have made."
                checked={keepsChildren}
                onChange={setKeepsChildren}
              />
            )}
          </ConfirmButton>
        )}
      </div>
    </div>
  );
}

function EditKey({ stored, onDone }: { readonly stored: Key; readonly onDone: () => void }) {
  const [name, setName] = useState(stored.name);
  const [permissions, setPermissions] = useState<Readonly<Record<string, readonly string[]>>>(stored.permissions);
  const [limit, setLimit] = useState(String(stored.rate_limit?.per_minute ?? ''));
  const [spend, setSpend] = useState(() => spendDraftOf(stored.spend));
  const { client } = useOrganization();
  const say = useToast();
  const update = useChange('API_KEY_UPDATE', ['API_KEY_LIST'], () =>
    say('The key was changed. Programs that use it notice within a second.'),
  );
  const data = {
    name: name.trim(),
    permissions: toInput(permissions),
    rate_limit: limit === '' ? null : { per_minute: Number(limit) },
    spend: spendOf(spend),
  };
  const [start] = useState(data);
  const save = useMutation({
    mutationFn: async () => {
      const changes = changesOf(data, start);
      if (changes.permissions !== undefined) {
        const where = { field: ['id'], operator: 'eq' as const, value: stored.id };
        const { items } = await client.tool('API_KEY_LIST', { where });
        const since = items[0]?.permissions ?? start.permissions;
        changes.permissions = toInput(withChanges(since, start.permissions, permissions));
      }
      await update.mutateAsync({ id: stored.id, ...changes });
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    save.mutate(undefined, { onSuccess: onDone });
  };
  return (
    <Form error={save.error} isBusy={save.isPending} onSubmit={submit} className="flex min-w-0 flex-col gap-4">
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
        <TextField label="Name" path="name" required maxLength={64} value={name} onChange={setName} autoFocus />
        <TextField
          label="Requests per minute"
          path="rate_limit"
          type="number"
          min={1}
          placeholder="No limit"
          value={limit}
          onChange={setLimit}
        />
      </div>
      <SpendFields draft={spend} onChange={setSpend} />
      <PermissionPicker permissions={permissions} onChange={setPermissions} subject="This key" />
      <ErrorMessage error={save.error} />
      <div className="flex justify-end gap-2">
        <Button variant="secondary" disabled={save.isPending} onClick={onDone}>
          Cancel
        </Button>
        <Button type="submit" isBusy={save.isPending}>
          Save key
        </Button>
      </div>
    </Form>
  );
}
