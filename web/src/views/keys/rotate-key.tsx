import { type FormEvent, useState } from 'react';
import { useChange } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import { Button } from '../../ui/button.js';
import { SelectField } from '../../ui/field.js';
import { ErrorMessage } from '../../ui/states.js';
import { DEFAULT_EXPIRY, ExpiryField, expiresInOf } from './expiry-field.js';
import { KeyValue } from './key-value.js';
import type { Key } from './key.js';

const OLD_KEY = [
  { value: 'keep', label: 'Keep it until I delete it by hand' },
  { value: 'delete', label: 'Delete it at once' },
] as const;

/** Replaces a key by a new one with the same permissions. */
export function RotateKey({
  stored,
  onCancel,
  onDone,
}: {
  readonly stored: Key;
  readonly onCancel: () => void;
  readonly onDone: () => void;
}) {
  const { may } = useOrganization();
  const [expiry, setExpiry] = useState(stored.expires_at === null ? 'never' : DEFAULT_EXPIRY);
  const [oldKey, setOldKey] = useState<'keep' | 'delete'>('keep');
  const create = useChange('API_KEY_CREATE', ['API_KEY_LIST']);
  const remove = useChange('API_KEY_DELETE', ['API_KEY_LIST']);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const { name, permissions, rate_limit } = stored;
    await create.mutateAsync({
      name,
      permissions,
      ...expiresInOf(expiry),
      ...(rate_limit && { rate_limit }),
    });
    if (oldKey === 'delete') await remove.mutateAsync({ id: stored.id });
  };
  if (create.data) {
    return (
      <>
        <p className="text-sm" role="status">
          {remove.isSuccess
            ? 'The old key was deleted.'
            : `The old key (${stored.prefix}…) still works. Delete it when no program uses it any more: “Last use” says when.`}
        </p>
        <ErrorMessage error={remove.error} />
        <KeyValue created={create.data} onDone={onDone} />
      </>
    );
  }
  return (
    <form onSubmit={(event) => void submit(event).catch(() => undefined)} className="flex min-w-0 flex-col gap-4">
      <p className="text-sm">
        This makes a new key with the name, permissions and limit of “{stored.name}”. Put its value into your program,
        then delete the old key.
      </p>
      <div className="grid gap-4 sm:grid-cols-2">
        <ExpiryField value={expiry} onChange={setExpiry} />
        {may('API_KEY_DELETE') && (
          <SelectField label="The old key" value={oldKey} options={OLD_KEY} onChange={setOldKey} />
        )}
      </div>
      <ErrorMessage error={create.error} />
      <div className="flex justify-end gap-2">
        <Button variant="secondary" onClick={onCancel}>
          Cancel
        </Button>
        <Button type="submit" isBusy={create.isPending || remove.isPending}>
          Create new key
        </Button>
      </div>
    </form>
  );
}
