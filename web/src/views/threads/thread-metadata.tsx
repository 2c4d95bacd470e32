import { useState } from 'react';
import type { ListItem } from '../../../../packages/client/src/api.js';
import { useChange } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import { Button } from '../../ui/button.js';
import { TextField } from '../../ui/field.js';
import { FormDialog } from '../../ui/form-dialog.js';
import { Facts, Section } from '../../ui/page.js';

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
      {isOpen && <MetadataDialog thread={thread} onClose={() => setIsOpen(false)} />}
    </Section>
  );
}

function MetadataDialog({ thread, onClose }: { readonly thread: Thread; readonly onClose: () => void }) {
  const { client } = useOrganization();
  const [start] = useState(thread.metadata);
  const [pairs, setPairs] = useState<readonly Pair[]>(() => [...Object.entries(start), ['', '']]);
  const update = useChange('COLLECTION_THREADS_UPDATE', ['COLLECTION_THREADS_GET', 'COLLECTION_THREADS_LIST']);
  const set = (index: number, pair: Pair): void => setPairs(pairs.with(index, pair));
  const submit = async (): Promise<void> => {
    const entered = Object.fromEntries(
      pairs.filter(([key]) => key.trim() !== '').map(([key, value]) => [key.trim(), value]),
    );
    const { item } = await client.tool('COLLECTION_THREADS_GET', { id: thread.id });
    const isRemoved = (key: string): boolean => Object.hasOwn(start, key) && !Object.hasOwn(entered, key);
    const kept = Object.entries(item.metadata).filter(([key]) => !isRemoved(key));
    const changed = Object.entries(entered).filter(([key, value]) => start[key] !== value);
    const metadata = Object.fromEntries([...kept, ...changed]);
    await update.mutateAsync({ id: thread.id, data: { metadata } });
  };
  return (
    <FormDialog
      title="Edit metadata"
      description={`At most ${MAX_PAIRS} pairs. Runs keep the metadata that the thread had when they were posted.`}
      submitLabel="Save metadata"
      onClose={onClose}
      onSubmit={submit}
    >
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
      <Button
        variant="secondary"
        className="self-start"
        disabled={pairs.length >= MAX_PAIRS}
        onClick={() => setPairs([...pairs, ['', '']])}
      >
        Add pair
      </Button>
    </FormDialog>
  );
}
