import { type FormEvent, type ReactNode, useState } from 'react';
import { useChange } from '../../../api/queries.js';
import { useOrganization } from '../../../session/organization.js';
import { Button } from '../../../ui/button.js';
import { Dialog } from '../../../ui/dialog.js';
import { TextField } from '../../../ui/field.js';
import { Form } from '../../../ui/form.js';
import { ErrorMessage, NoPermission } from '../../../ui/states.js';
import { Tabs } from '../../../ui/tabs.js';
import { type CatalogServer, isProgram, serverWithId } from '../catalog/catalog.js';
import { ServerCatalog, ServerNote } from '../catalog/server-catalog.js';
import { httpDraftFor, programDraftFor } from './catalog-drafts.js';
import { ConnectedServer } from './connected-server.js';
import { httpDataOf, programDataOf } from './connection-draft.js';
import { HttpFields } from './http-fields.js';
import { ImportServers } from './import-servers.js';
import { ProgramFields } from './program-fields.js';

/** What the dialog shows. The address keeps it. */
interface CreateState {
  /** `http`, `program`, `catalog` or `import`; empty while the dialog is closed. */
  readonly create: string;
  /** The server of the catalog that fills the form; empty without one. */
  readonly server: string;
  /** The connection that was created: its test is shown. Empty before. */
  readonly created: string;
}

const CLOSED: CreateState = { create: '', server: '', created: '' };

/** The ways to create connections. What was created is tested in the same place. */
export function CreateConnectionDialog({
  state: { create: way, server, created },
  onChange,
}: {
  readonly state: CreateState;
  readonly onChange: (change: Partial<CreateState>) => void;
}) {
  const known = serverWithId(server);
  const onClose = (): void => onChange(CLOSED);
  const onCreated = (id: string): void => onChange({ created: id });
  const choose = (chosen: CatalogServer): void =>
    onChange({ create: isProgram(chosen) ? 'program' : 'http', server: chosen.id });
  return (
    <Dialog
      title="Create connection"
      description="A connection is an MCP server whose tools your agents and MCP clients can use."
      isOpen={way !== ''}
      onClose={onClose}
      className="w-[min(46rem,94vw)]"
    >
      {created === '' ? (
        <Tabs
          label="Kind of connection"
          selected={['program', 'catalog', 'import'].includes(way) ? way : 'http'}
          onSelect={(id) => onChange({ create: id })}
          tabs={[
            { id: 'http', label: 'HTTP', content: () => <CreateHttp key={server} {...{ server: known, onCreated }} /> },
            {
              id: 'program',
              label: 'Program',
              content: () => <CreateProgram key={server} {...{ server: known, onCreated }} />,
            },
            { id: 'catalog', label: 'Catalog', content: () => <ServerCatalog onChoose={choose} /> },
            { id: 'import', label: 'Import', content: () => <ImportServers onDone={onClose} /> },
          ]}
        />
      ) : (
        <ConnectedServer key={created} id={created} />
      )}
    </Dialog>
  );
}

interface CreateProps {
  /** Of the catalog, if one was chosen. */
  readonly server: CatalogServer | undefined;
  /** Gets the id of the new connection. */
  readonly onCreated: (id: string) => void;
}

function CreateHttp({ server, onCreated }: CreateProps) {
  const filling = server === undefined || isProgram(server) ? undefined : server;
  const [title, setTitle] = useState(filling?.name ?? '');
  const [draft, setDraft] = useState(() => httpDraftFor(filling));
  const create = useCreate(onCreated);
  return (
    <CreateForm
      {...{ title, setTitle, create }}
      note={<ServerNote server={filling} />}
      onSubmit={() => create.mutate({ data: { connection_type: 'HTTP', title: title.trim(), ...httpDataOf(draft) } })}
    >
      <HttpFields draft={draft} onChange={setDraft} />
    </CreateForm>
  );
}

function CreateProgram({ server, onCreated }: CreateProps) {
  const { may } = useOrganization();
  const filling = server !== undefined && isProgram(server) ? server : undefined;
  const [title, setTitle] = useState(filling?.name ?? '');
  const [draft, setDraft] = useState(() => programDraftFor(filling));
  const create = useCreate(onCreated);
  if (!may('CONNECTION_STDIO')) {
    return (
      <NoPermission detail="A program is code that runs on the server. Creating one needs the permission CONNECTION_STDIO, which your role or key does not include." />
    );
  }
  return (
    <CreateForm
      {...{ title, setTitle, create }}
      note={<ServerNote server={filling} />}
      onSubmit={() =>
        create.mutate({ data: { connection_type: 'STDIO', title: title.trim(), ...programDataOf(draft) } })
      }
    >
      <ProgramFields draft={draft} onChange={setDraft} />
    </CreateForm>
  );
}

function useCreate(onCreated: (id: string) => void) {
  const create = useChange('COLLECTION_CONNECTIONS_CREATE', ['COLLECTION_CONNECTIONS_LIST']);
  return {
    ...create,
    mutate: (input: Parameters<typeof create.mutate>[0]) =>
      create.mutate(input, { onSuccess: ({ item }) => onCreated(item.id) }),
  };
}

function CreateForm({
  title,
  setTitle,
  create,
  note,
  onSubmit,
  children,
}: {
  readonly title: string;
  readonly setTitle: (title: string) => void;
  readonly create: { readonly error: Error | null; readonly isPending: boolean };
  readonly note: ReactNode;
  readonly onSubmit: () => void;
  readonly children: ReactNode;
}) {
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onSubmit();
  };
  return (
    <Form error={create.error} isBusy={create.isPending} onSubmit={submit} className="flex min-w-0 flex-col gap-4">
      {note}
      <TextField
        label="Title"
        path="title"
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
    </Form>
  );
}
