import { type FormEvent, useState } from 'react';
import type { ListItem } from '../../../../packages/client/src/api.js';
import { useChange } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import { Button } from '../../ui/button.js';
import { Dialog } from '../../ui/dialog.js';
import { TextField } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { Facts, Section } from '../../ui/page.js';
import { ErrorMessage } from '../../ui/states.js';

type Thread = ListItem<'COLLECTION_THREADS_LIST'>;
type Pair = readonly [key: string, value: string];

const MAX_PAIRS = 16;

/** The key-value pairs of a thread, and a dialog that changes them. */
export function MetadataSection({ thread }: { readonly thread: Thread }) {
  const { may } = useOrganization();
  const [isOpen, setIsOpen] = useState(false);
  const pairs = Object.entries(thread.metadata);
  return (
    <Section
      title="Metadata"
      actions={
        may('COLLECTION_THREADS_UPDATE') && (
          <Button size="small" variant="secondary" aria-haspopup="dialog" onClick={() => setIsOpen(true)}>
            Edit metadata
          </Button>
        )
      }
    >
      {pairs.length === 0 ? (
        <p className="text-sm text-muted-foreground">
          None. Programs use metadata to find threads again, such as by a customer’s number.
        </p>
      ) : (
        <Facts items={pairs} />
      )}
      <Dialog
        title="Edit metadata"
        description={`At most ${MAX_PAIRS} pairs. Runs keep the metadata that the thread had when they were posted.`}
        isOpen={isOpen}
        onClose={() => setIsOpen(false)}
      >
        <MetadataForm thread={thread} onDone={() => setIsOpen(false)} />
      </Dialog>
    </Section>
  );
}

function MetadataForm({ thread, onDone }: { readonly thread: Thread; readonly onDone: () => void }) {
  const [pairs, setPairs] = useState<readonly Pair[]>(() => [...Object.entries(thread.metadata), ['', '']]);
  const update = useChange('COLLECTION_THREADS_UPDATE', ['COLLECTION_THREADS_GET', 'COLLECTION_THREADS_LIST']);
  const set = (index: number, pair: Pair): void => setPairs(pairs.with(index, pair));
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const metadata = Object.fromEntries(
      pairs.filter(([key]) => key.trim() !== '').map(([key, value]) => [key.trim(), value]),
    );
    update.mutate({ id: thread.id, data: { metadata } }, { onSuccess: onDone });
  };
  return (
    <Form error={update.error} isBusy={update.isPending} onSubmit={submit} className="flex flex-col gap-3">
      {pairs.map(([key, value], index) => (
        // Pairs have no identity but their place.
        <div key={index} role="group" aria-label={`Pair ${index + 1}`} className="flex flex-wrap items-end gap-2">
          <TextField
            label="Key"
            value={key}
            maxLength={64}
            pattern="[A-Za-z0-9_.\-]+"
            title="Letters, digits, _ . and -"
            className="min-w-32 flex-1"
            onChange={(changed) => set(index, [changed, value])}
          />
          <TextField
            label="Value"
            value={value}
            maxLength={512}
            className="min-w-32 flex-2"
            onChange={(changed) => set(index, [key, changed])}
          />
          <Button
            variant="ghost"
            aria-label={`Remove pair ${index + 1}`}
            onClick={() => setPairs(pairs.toSpliced(index, 1))}
          >
            Remove
          </Button>
        </div>
      ))}
      <ErrorMessage error={update.error} />
      <div className="flex justify-between gap-2">
        <Button variant="secondary" disabled={pairs.length >= MAX_PAIRS} onClick={() => setPairs([...pairs, ['', '']])}>
          Add pair
        </Button>
        <Button type="submit" isBusy={update.isPending}>
          Save metadata
        </Button>
      </div>
    </Form>
  );
}
