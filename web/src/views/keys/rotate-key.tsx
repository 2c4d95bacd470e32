import { type FormEvent, useState } from 'react';
import { useChange } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import { Button } from '../../ui/button.js';
import { type Option, SelectField } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { ErrorMessage } from '../../ui/states.js';
import { Time } from '../../ui/time.js';
import { DEFAULT_EXPIRY, ExpiryField, expiresInOf } from './expiry-field.js';
import { KeyValue } from './key-value.js';
import type { Key } from './key.js';

const HOUR_S = 3_600;

const KEEP = { value: 'keep', label: 'Keep it until I delete it by hand' };
const DELETE = { value: 'delete', label: 'Delete it at once' };
/** How long the old key still works, in seconds. */
const LAST_TIMES: readonly Option[] = [
  { value: String(HOUR_S), label: 'It expires in an hour' },
  { value: String(24 * HOUR_S), label: 'It expires in a day' },
  { value: String(7 * 24 * HOUR_S), label: 'It expires in 7 days' },
];

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
  const [oldKey, setOldKey] = useState(KEEP.value);
  const create = useChange('API_KEY_CREATE', ['API_KEY_LIST']);
  const remove = useChange('API_KEY_DELETE', ['API_KEY_LIST']);
  const limit = useChange('API_KEY_UPDATE', ['API_KEY_LIST']);
  const lastTimes = LAST_TIMES.filter(({ value }) => isEarlier(Number(value), stored.expires_at));
  const options = [KEEP, ...(may('API_KEY_UPDATE') ? lastTimes : []), ...(may('API_KEY_DELETE') ? [DELETE] : [])];
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const { name, permissions, rate_limit, spend } = stored;
    await create.mutateAsync({
      name,
      permissions,
      ...expiresInOf(expiry),
      ...(rate_limit && { rate_limit }),
      ...(spend && { spend }),
    });
    if (oldKey === DELETE.value) await remove.mutateAsync({ id: stored.id, children: 'keep' });
    else if (oldKey !== KEEP.value) await limit.mutateAsync({ id: stored.id, expiresIn: Number(oldKey) });
  };
  if (create.data) {
    return (
      <>
        <p className="text-sm" role="status">
          {remove.isSuccess ? (
            'The old key was deleted.'
          ) : (
            <Remaining stored={stored} until={limit.data?.item.expires_at} />
          )}
        </p>
        <ErrorMessage error={remove.error ?? limit.error} />
        <KeyValue created={create.data} onDone={onDone} />
      </>
    );
  }
  return (
    <Form
      error={create.error}
      isBusy={create.isPending}
      onSubmit={(event) => void submit(event).catch(() => undefined)}
      className="flex min-w-0 flex-col gap-4"
    >
      <p className="text-sm">
        This makes a new key with the name, permissions and limits of “{stored.name}”. Put its value into your program,
        then delete the old key.
      </p>
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
        <ExpiryField value={expiry} onChange={setExpiry} />
        {options.length > 1 && (
          <SelectField label="The old key" value={oldKey} options={options} onChange={setOldKey} />
        )}
      </div>
      <ErrorMessage error={create.error} />
      <div className="flex justify-end gap-2">
        <Button variant="secondary" disabled={create.isPending} onClick={onCancel}>
          Cancel
        </Button>
        <Button type="submit" isBusy={create.isPending || remove.isPending || limit.isPending}>
          Create new key
        </Button>
      </div>
    </Form>
  );
}

/** Whether a key that ends in so many seconds ends earlier than it does now. */
function isEarlier(seconds: number, expiresAt: string | null): boolean {
  return expiresAt === null || Date.now() + seconds * 1000 < Date.parse(expiresAt);
}

/** @param props.until when the old key expires, if that was set now */
function Remaining({ stored, until }: { readonly stored: Key; readonly until: string | null | undefined }) {
  if (until) {
    return (
      <>
        The old key ({stored.prefix}…) expires <Time value={until} />.
      </>
    );
  }
  return `The old key (${stored.prefix}…) still works. Delete it when no program uses it any more: “Last use” says when.`;
}
