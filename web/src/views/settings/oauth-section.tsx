import { useState } from 'react';
import type { ToolOutput } from '../../../../packages/client/src/api.js';
import { useFilters } from '../../api/filters.js';
import { useChange, useTool } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import { Button } from '../../ui/button.js';
import { type Column, DataTable } from '../../ui/data-table.js';
import { ConfirmButton } from '../../ui/dialog.js';
import { TextAreaField, TextField } from '../../ui/field.js';
import { FormDialog } from '../../ui/form-dialog.js';
import { Section } from '../../ui/page.js';
import { EmptyState, ErrorState, Loading } from '../../ui/states.js';
import { Time } from '../../ui/time.js';
import { OneTimeValue } from './one-time-value.js';

type Grant = ToolOutput<'OAUTH_GRANT_LIST'>['items'][number];
type Client = ToolOutput<'OAUTH_CLIENT_LIST'>['items'][number];

/** Programs that people have signed in to, and clients that were set up by hand. */
export function OauthSection() {
  const { may } = useOrganization();
  return (
    <>
      {may('OAUTH_GRANT_LIST') && <Grants />}
      {may('OAUTH_CLIENT_LIST') && <Clients />}
    </>
  );
}

function Grants() {
  const { may } = useOrganization();
  const { data, error, refetch } = useTool('OAUTH_GRANT_LIST', {});
  const revoke = useChange('OAUTH_GRANT_REVOKE', ['OAUTH_GRANT_LIST']);
  const columns: readonly Column<Grant>[] = [
    { header: 'Program', cell: (grant) => <span className="font-medium break-words">{grant.client_name}</span> },
    { header: 'Person', cell: (grant) => <span className="break-all">{grant.user_email}</span> },
    {
      header: 'Opens',
      isSecondary: true,
      cell: (grant) => <code className="text-xs break-all">{grant.resource}</code>,
    },
    { header: 'Last use', cell: (grant) => <Time value={grant.last_used_at} /> },
    { header: 'Signed in', isSecondary: true, cell: (grant) => <Time value={grant.created_at} /> },
    {
      header: 'Actions',
      isBelow: true,
      cell: (grant) =>
        may('OAUTH_GRANT_REVOKE') && (
          <ConfirmButton
            label="End sign-in"
            size="small"
            title={`End the sign-in of ${grant.client_name}?`}
            onConfirm={() => revoke.mutateAsync({ id: grant.id })}
          >
            <p>
              Its tokens, the keys made with them and open streams end within a second. The person can sign in again.
            </p>
          </ConfirmButton>
        ),
    },
  ];
  return (
    <Section title="Signed-in programs">
      <p className="text-sm text-muted-foreground">
        Programs such as VS Code or Claude that a person has let in with OAuth. They can do what that person can do at
        the address they were let in to.
      </p>
      {error && !data && <ErrorState error={error} onRetry={() => void refetch()} />}
      {!error && !data && <Loading />}
      {data &&
        (data.items.length === 0 ? (
          <EmptyState title="No program is signed in." />
        ) : (
          <DataTable label="Signed-in programs" columns={columns} rows={data.items} keyOf={({ id }) => id} />
        ))}
    </Section>
  );
}

function Clients() {
  const { may } = useOrganization();
  const { data, error, refetch } = useTool('OAUTH_CLIENT_LIST', {});
  const [{ edit }, filter] = useFilters();
  const [clientId, setClientId] = useState<string>();
  const remove = useChange('OAUTH_CLIENT_DELETE', ['OAUTH_CLIENT_LIST', 'OAUTH_GRANT_LIST']);
  const createButton = may('OAUTH_CLIENT_CREATE') && (
    <Button onClick={() => filter({ edit: 'new' })}>Create OAuth client</Button>
  );
  const columns: readonly Column<Client>[] = [
    { header: 'Name', cell: ({ name }) => <span className="font-medium break-words">{name}</span> },
    { header: 'Client id', cell: ({ client_id: id }) => <code className="text-xs break-all">{id}</code> },
    {
      header: 'Redirects to',
      isSecondary: true,
      cell: ({ redirect_uris: uris }) => (
        <span className="break-all">{uris.length > 0 ? uris.join(', ') : 'Nowhere: a program without a browser'}</span>
      ),
    },
    { header: 'Created', isSecondary: true, cell: ({ created_at: at }) => <Time value={at} /> },
    {
      header: 'Actions',
      isBelow: true,
      cell: (client) =>
        may('OAUTH_CLIENT_DELETE') && (
          <ConfirmButton
            label="Delete OAuth client"
            size="small"
            title={`Delete the OAuth client “${client.name}”?`}
            onConfirm={() => remove.mutateAsync({ id: client.id })}
          >
            <p>
              {client.api_key_id === null
                ? 'Everybody who signed in with it is signed out.'
                : 'The program stops at once. The API key with which it acts is deleted too.'}
            </p>
          </ConfirmButton>
        ),
    },
  ];
  return (
    <Section title="OAuth clients" actions={data && data.items.length > 0 && createButton}>
      <p className="text-sm text-muted-foreground">
        Most MCP clients register themselves. Set one up here only if it asks you for a client id.
      </p>
      {error && !data && <ErrorState error={error} onRetry={() => void refetch()} />}
      {!error && !data && <Loading />}
      {data &&
        (data.items.length === 0 ? (
          <EmptyState title="No client was set up by hand.">{createButton}</EmptyState>
        ) : (
          <DataTable label="OAuth clients" columns={columns} rows={data.items} keyOf={({ id }) => id} />
        ))}
      {edit === 'new' && may('OAUTH_CLIENT_CREATE') && (
        <ClientDialog onClose={() => filter({ edit: undefined })} onCreated={setClientId} />
      )}
      <OneTimeValue title="OAuth client" label="Client id" value={clientId} onClose={() => setClientId(undefined)}>
        Enter this client id in the program. It is no secret, and stays in the list.
      </OneTimeValue>
    </Section>
  );
}

function ClientDialog({
  onClose,
  onCreated,
}: {
  readonly onClose: () => void;
  readonly onCreated: (clientId: string) => void;
}) {
  const [name, setName] = useState('');
  const [redirects, setRedirects] = useState('');
  const create = useChange('OAUTH_CLIENT_CREATE', ['OAUTH_CLIENT_LIST']);
  return (
    <FormDialog
      title="Create OAuth client"
      submitLabel="Create OAuth client"
      onClose={onClose}
      onSubmit={async () => {
        const uris = redirects.split(/\s+/).filter((uri) => uri !== '');
        onCreated((await create.mutateAsync({ name: name.trim(), redirect_uris: uris })).item.client_id);
      }}
    >
      <TextField label="Name" path="name" required maxLength={128} value={name} onChange={setName} autoFocus />
      <TextAreaField
        label="Redirect addresses"
        path="redirect_uris"
        required
        isCode
        rows={3}
        hint="One per line, as the program names them."
        value={redirects}
        onChange={setRedirects}
      />
    </FormDialog>
  );
}
