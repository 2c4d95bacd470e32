import { type FormEvent, useState } from 'react';
import { useChange } from '../../../api/queries.js';
import { useOrganization } from '../../../session/organization.js';
import { Button } from '../../../ui/button.js';
import { Dialog } from '../../../ui/dialog.js';
import { TextField } from '../../../ui/field.js';
import { ErrorMessage, NoPermission } from '../../../ui/states.js';
import { Tabs } from '../../../ui/tabs.js';
import { httpDataOf, httpDraftOf, programDataOf, programDraftOf } from './connection-draft.js';
import { HttpFields } from './http-fields.js';
import { ImportServers } from './import-servers.js';
import { ProgramFields } from './program-fields.js';

interface CreateProps {
  /** Gets the id of the new connection. */
  readonly onCreated: (id: string) => void;
}

/** The ways to create connections. The address keeps which one is open. */
export function CreateConnectionDialog({
  way,
  onWay,
  onClose,
  onCreated,
}: CreateProps & {
  /** `http`, `program` or `import`; empty while the dialog is closed. */
  readonly way: string;
  readonly onWay: (way: string) => void;
  readonly onClose: () => void;
}) {
  return (
    <Dialog
      title="Create connection"
      description="A connection is an MCP server whose tools your agents and MCP clients can use."
      isOpen={way !== ''}
      onClose={onClose}
    >
      <Tabs
        label="Kind of connection"
        selected={['program', 'import'].includes(way) ? way : 'http'}
        onSelect={onWay}
        tabs={[
          { id: 'http', label: 'HTTP', content: () => <CreateHttp onCreated={onCreated} /> },
          { id: 'program', label: 'Program', content: () => <CreateProgram onCreated={onCreated} /> },
          { id: 'import', label: 'Import', content: () => <ImportServers onDone={onClose} /> },
        ]}
      />
    </Dialog>
  );
}

function CreateHttp({ onCreated }: CreateProps) {
  const [title, setTitle] = useState('');
  const [draft, setDraft] = useState(() => httpDraftOf());
  const create = useCreate(onCreated);
  return (
    <CreateForm
      {...{ title, setTitle, create }}
      onSubmit={() => create.mutate({ data: { connection_type: 'HTTP', title: title.trim(), ...httpDataOf(draft) } })}
    >
      <HttpFields draft={draft} onChange={setDraft} />
    </CreateForm>
  );
}

function CreateProgram({ onCreated }: CreateProps) {
  const { may } = useOrganization();
  const [title, setTitle] = useState('');
  const [draft, setDraft] = useState(() => programDraftOf());
  const create = useCreate(onCreated);
  if (!may('CONNECTION_STDIO')) {
    return (
      <NoPermission detail="A program is code that runs on the server. Creating one needs the permission CONNECTION_STDIO, which your role or key does not include." />
    );
  }
  return (
    <CreateForm
      {...{ title, setTitle, create }}
      onSubmit={() =>
        create.mutate({ data: { connection_type: 'STDIO', title: title.trim(), ...programDataOf(draft) } })
      }
    >
      <ProgramFields draft={draft} onChange={setDraft} />
    </CreateForm>
  );
}

/** Tests a new connection, so that its status says whether it works. */
function useCreate(onCreated: (id: string) => void) {
  const { may } = useOrganization();
  const test = useChange('CONNECTION_TEST', ['COLLECTION_CONNECTIONS_GET', 'COLLECTION_CONNECTIONS_LIST']);
  const create = useChange('COLLECTION_CONNECTIONS_CREATE', ['COLLECTION_CONNECTIONS_LIST']);
  return {
    ...create,
    mutate: (input: Parameters<typeof create.mutate>[0]) =>
      create.mutate(input, {
        onSuccess: ({ item }) => {
          if (may('CONNECTION_TEST')) test.mutate({ id: item.id });
          onCreated(item.id);
        },
      }),
  };
}

function CreateForm({
  title,
  setTitle,
  create,
  onSubmit,
  children,
}: {
  readonly title: string;
  readonly setTitle: (title: string) => void;
  readonly create: { readonly error: Error | null; readonly isPending: boolean };
  readonly onSubmit: () => void;
  readonly children: React.ReactNode;
}) {
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onSubmit();
  };
  return (
    <form onSubmit={submit} className="flex min-w-0 flex-col gap-4">
      <TextField
        label="Title"
        required
        autoComplete="off"
        placeholder="GitHub"
        hint="Agents prefix a tool’s name with it where two tools have the same name."
        value={title}
        onChange={setTitle}
      />
      {children}
      <ErrorMessage error={create.error} />
      <div className="flex justify-end">
        <Button type="submit" isBusy={create.isPending}>
          Create connection
        </Button>
      </div>
    </form>
  );
}
