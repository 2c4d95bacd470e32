import { SelectField, TextAreaField, TextField } from '../../../ui/field.js';
import type { HttpDraft } from './connection-draft.js';
import { PairFields } from './pair-fields.js';

const AUTH = [
  { value: 'none', label: 'None, or with headers' },
  { value: 'token', label: 'Access token' },
  { value: 'oauth', label: 'Sign-in (OAuth)' },
  { value: 'enterprise', label: 'Identity provider' },
  { value: 'client_credentials', label: 'Client credentials (OAuth)' },
] as const;

const AUTH_HINTS = {
  none: 'The server is open, or the headers below carry the credential.',
  token: 'Sent as “Authorization: Bearer …”. It is stored encrypted and never shown again.',
  oauth: 'Somebody signs in at the server once; the service keeps the access current.',
  enterprise:
    'The server trusts the identity provider with which people sign in to this console. Each acts as oneself.',
  client_credentials:
    'The server gives a client of its own an account. Everybody who can call this connection uses it.',
} as const;

const ACCOUNTS = [
  { value: 'connection', label: 'One account for everybody' },
  { value: 'member', label: 'Each person signs in with an own account' },
] as const;

const CREDENTIALS = [
  { value: 'client_secret', label: 'Client secret' },
  { value: 'private_key', label: 'Private key (private_key_jwt)' },
] as const;

/** The fields of an MCP server that is reached over HTTP. */
export function HttpFields({
  draft,
  onChange,
}: {
  readonly draft: HttpDraft;
  readonly onChange: (draft: HttpDraft) => void;
}) {
  const set = (change: Partial<HttpDraft>): void => onChange({ ...draft, ...change });
  return (
    <>
      <TextField
        label="Address"
        path="connection_url"
        type="url"
        required
        placeholder="https://mcp.example.com/mcp"
        hint="The MCP endpoint of the server (streamable HTTP)."
        value={draft.url}
        onChange={(url) => set({ url })}
      />
      <SelectField
        label="Authentication"
        hint={AUTH_HINTS[draft.auth]}
        value={draft.auth}
        options={AUTH}
        onChange={(auth) => set({ auth })}
      />
      {draft.auth === 'token' && (
        <TextField
          label="Token"
          path="connection_token"
          type="password"
          autoComplete="off"
          required={!draft.hasToken}
          hint={draft.hasToken ? 'A token is stored. Leave this empty to keep it.' : undefined}
          value={draft.token}
          onChange={(token) => set({ token })}
        />
      )}
      {draft.auth === 'oauth' && <OauthFields draft={draft} set={set} />}
      {draft.auth === 'enterprise' && <EnterpriseFields draft={draft} set={set} />}
      {draft.auth === 'client_credentials' && <MachineFields draft={draft} set={set} />}
      <PairFields
        label="Headers"
        noun="header"
        hint="Sent with every request to the server. The values are stored encrypted and shown as ***."
        pairs={draft.headers}
        onChange={(headers) => set({ headers })}
      />
    </>
  );
}

interface PartProps {
  readonly draft: HttpDraft;
  readonly set: (change: Partial<HttpDraft>) => void;
}

function EnterpriseFields({ draft, set }: PartProps) {
  return (
    <>
      <ClientIdField draft={draft} set={set} />
      <ClientSecretField draft={draft} set={set} />
      <ScopesField draft={draft} set={set} />
    </>
  );
}

function MachineFields({ draft, set }: PartProps) {
  return (
    <>
      <ClientIdField draft={draft} set={set} />
      <SelectField
        label="The client authenticates with"
        value={draft.credential}
        options={CREDENTIALS}
        onChange={(credential) => set({ credential })}
      />
      {draft.credential === 'client_secret' ? (
        <ClientSecretField draft={draft} set={set} />
      ) : (
        <TextAreaField
          isCode
          label="Private key"
          rows={6}
          required={!draft.hasPrivateKey}
          autoComplete="off"
          hint={
            draft.hasPrivateKey
              ? 'A key is stored. Leave this empty to keep it.'
              : 'In PEM, or as a JWK. It is stored encrypted and never shown again.'
          }
          value={draft.privateKey}
          onChange={(privateKey) => set({ privateKey })}
        />
      )}
      <ScopesField draft={draft} set={set} />
    </>
  );
}

function ClientIdField({ draft, set }: PartProps) {
  return (
    <TextField
      label="Client id"
      required
      hint="Of the client that was set up at the authorization server of the MCP server."
      autoComplete="off"
      value={draft.clientId}
      onChange={(clientId) => set({ clientId })}
    />
  );
}

function ClientSecretField({ draft, set }: PartProps) {
  return (
    <TextField
      label="Client secret"
      type="password"
      required={!draft.hasClientSecret}
      autoComplete="off"
      hint={draft.hasClientSecret ? 'A secret is stored. Leave this empty to keep it.' : undefined}
      value={draft.clientSecret}
      onChange={(clientSecret) => set({ clientSecret })}
    />
  );
}

function ScopesField({ draft, set }: PartProps) {
  return (
    <TextField
      label="Scopes (optional)"
      hint="Separated by spaces. By default those that the server asks for."
      value={draft.scope}
      onChange={(scope) => set({ scope })}
    />
  );
}

function OauthFields({ draft, set }: PartProps) {
  return (
    <>
      <SelectField
        label="Whose account is used"
        value={draft.account}
        options={ACCOUNTS}
        onChange={(account) => set({ account })}
      />
      <ScopesField draft={draft} set={set} />
      <details>
        <summary className="cursor-pointer text-sm">Use a client that was set up by hand</summary>
        <div className="flex flex-col gap-3 pt-3">
          <TextField
            label="Client id (optional)"
            hint="By default the service registers itself at the server."
            autoComplete="off"
            value={draft.clientId}
            onChange={(clientId) => set({ clientId })}
          />
          <TextField
            label="Client secret (optional)"
            type="password"
            autoComplete="off"
            hint={draft.hasClientSecret ? 'A secret is stored. Leave this empty to keep it.' : undefined}
            value={draft.clientSecret}
            onChange={(clientSecret) => set({ clientSecret })}
          />
        </div>
      </details>
    </>
  );
}
