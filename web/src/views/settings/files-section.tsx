import { useChange, useList } from '../../api/queries.js';
import type { StoredFile } from '../../api/upload-file.js';
import { useOrganization } from '../../session/organization.js';
import { Badge } from '../../ui/badge.js';
import type { Column } from '../../ui/data-table.js';
import { ConfirmButton } from '../../ui/dialog.js';
import { ListView } from '../../ui/list-view.js';
import { Section } from '../../ui/page.js';
import { EmptyState } from '../../ui/states.js';
import { formatBytes } from '../../ui/format.js';
import { Time } from '../../ui/time.js';
import { useToast } from '../../ui/toast.js';

const NO_NAME = 'without a name';

/** The files of messages and of results of tools. */
export function FilesSection() {
  const list = useList('FILE_LIST');
  const columns: readonly Column<StoredFile>[] = [
    { header: 'Name', cell: ({ filename }) => <span className="font-medium break-all">{filename ?? NO_NAME}</span> },
    {
      header: 'Type',
      isSecondary: true,
      cell: ({ media_type: type }) => <code className="text-xs break-all">{type}</code>,
    },
    { header: 'Size', align: 'right', cell: ({ size }) => formatBytes(size) },
    { header: 'Created', isSecondary: true, cell: ({ created_at: at }) => <Time value={at} /> },
    {
      header: 'Actions',
      isBelow: true,
      cell: (file) => (file.deleted ? <Badge>deleted</Badge> : <DeleteButton file={file} />),
    },
  ];
  return (
    <Section title="Files">
      <p className="text-sm text-muted-foreground">
        What was uploaded, and what tools and models have made. A file is deleted with the last message that names it,
        or after a day if no message does.
      </p>
      <ListView
        label="Files"
        list={list}
        columns={columns}
        keyOf={({ id }) => id}
        empty={<EmptyState title="There are no files." />}
      />
    </Section>
  );
}

function DeleteButton({ file: { id, filename } }: { readonly file: StoredFile }) {
  const { may } = useOrganization();
  const remove = useChange('FILE_DELETE', ['FILE_LIST', 'FILE_GET']);
  const say = useToast();
  if (!may('FILE_DELETE')) return null;
  return (
    <ConfirmButton
      label="Delete file"
      size="small"
      title={`Delete the file “${filename ?? NO_NAME}”?`}
      onConfirm={async () => {
        await remove.mutateAsync({ id });
        say('The file was deleted.');
      }}
    >
      <p>Nobody will be able to read it. Messages that name it stay; models get a note in its place.</p>
    </ConfirmButton>
  );
}
