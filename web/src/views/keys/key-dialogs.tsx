import { useEffect, useState } from 'react';
import { useFilters } from '../../api/filters.js';
import { useList } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import { Dialog } from '../../ui/dialog.js';
import { EmptyState, ErrorState, Loading } from '../../ui/states.js';
import { CreateKey } from './create-key.js';
import { KeyDetail } from './key-detail.js';
import type { Key } from './key.js';

const WIDE = 'w-[min(64rem,94vw)]';

/** The dialog that the address names: `?create=1`, or `?key=<id>` for one key, with `&mode=edit` or `&mode=rotate`. */
export function KeyDialogs() {
  const [{ create, key }, filter] = useFilters();
  const { may } = useOrganization();
  const close = (): void => filter({ create: undefined, key: undefined, mode: undefined });
  return (
    <>
      <Dialog
        title="Create key"
        description="Give it what its program needs and no more. You see the value once, after creating."
        isOpen={create !== undefined && may('API_KEY_CREATE')}
        onClose={close}
        className={WIDE}
      >
        <CreateKey onDone={close} />
      </Dialog>
      <Dialog title="Key" isOpen={key !== undefined} onClose={close} className={WIDE}>
        {key !== undefined && <StoredKey key={key} id={key} onDone={close} />}
      </Dialog>
    </>
  );
}

function StoredKey({ id, onDone }: { readonly id: string; readonly onDone: () => void }) {
  const { query, rows } = useList('API_KEY_LIST', { where: { field: ['id'], operator: 'eq', value: id }, limit: 1 });
  const [row] = rows;
  // A rotation deletes the old key while its dialog shows the value of the new one, which is not shown again.
  const [lastRow, setLastRow] = useState<Key>();
  useEffect(() => {
    if (row !== undefined) setLastRow(row);
  }, [row]);
  const key = row ?? lastRow;
  if (query.isError && key === undefined)
    return <ErrorState error={query.error} onRetry={() => void query.refetch()} />;
  if (query.isPending || query.isPlaceholderData) return <Loading />;
  if (key === undefined) return <EmptyState title="There is no key with this id. It may have been deleted." />;
  return <KeyDetail key={key.id} stored={key} onDone={onDone} />;
}
