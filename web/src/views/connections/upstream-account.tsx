import { useQueryClient } from '@tanstack/react-query';
import { mcpKey } from '../../api/mcp.js';
import { useChange, useTool } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import { ConfirmButton } from '../../ui/dialog.js';
import { Section } from '../../ui/page.js';
import { ErrorMessage } from '../../ui/states.js';
import { useToast } from '../../ui/toast.js';
import type { Connection } from './form/connection-draft.js';
import { SignInLink } from './mcp-error-state.js';

type Auth = NonNullable<Connection['auth']>;

const ACCOUNT_TEXTS = {
  member: 'Each person signs in with an own account, and calls the tools with it.',
  connection: 'Everybody who can call this connection uses the account of the person who signs in here.',
} as const;

/** True if calls of the connection need an account at the upstream. */
export function usesOauth(auth: Auth | null): auth is Auth {
  return auth?.type === 'oauth' || auth?.type === 'enterprise';
}

/** Signing in and out of an upstream that demands OAuth. */
export function UpstreamAccount({ connection, auth }: { readonly connection: Connection; readonly auth: Auth }) {
  const { may, slug } = useOrganization();
  const queries = useQueryClient();
  const showToast = useToast();
  const mayAuthorize = may('CONNECTION_AUTHORIZE');
  const page = useTool('CONNECTION_AUTHORIZE', { id: connection.id }, { isEnabled: mayAuthorize });
  const forget = useChange('CONNECTION_DEAUTHORIZE', ['COLLECTION_CONNECTIONS_GET', 'COLLECTION_CONNECTIONS_LIST']);
  const isOwn = auth.account === 'member';
  const signOut = async (): Promise<void> => {
    await forget.mutateAsync({ id: connection.id });
    await queries.invalidateQueries({ queryKey: mcpKey(slug, connection.id) });
    showToast('The account was forgotten.');
  };
  return (
    <Section title="Account at the upstream">
      <p className="text-sm">
        {auth.type === 'enterprise'
          ? 'Each person calls the tools as oneself, after signing in to this console with the identity provider.'
          : ACCOUNT_TEXTS[auth.account]}
      </p>
      {connection.status_reason && <p className="text-sm break-words">{connection.status_reason}</p>}
      <ErrorMessage error={page.error} />
      {!mayAuthorize && (
        <p className="text-sm text-muted-foreground">
          Signing in needs the permission CONNECTION_AUTHORIZE, which your role or key does not include.
        </p>
      )}
      <div className="flex flex-wrap gap-2">
        {page.data && <SignInLink url={page.data.authorization_url} />}
        {may('CONNECTION_DEAUTHORIZE') && (
          <ConfirmButton label="Sign out of the upstream" title="Forget the account?" onConfirm={signOut}>
            {isOwn ? 'Your calls' : 'All calls'} to “{connection.title}” fail until somebody signs in again. The tokens
            are revoked at the upstream.
          </ConfirmButton>
        )}
      </div>
      <p className="text-sm text-muted-foreground">
        The page opens in a new tab and leads to the upstream. Come back here afterwards, and test the connection.
      </p>
    </Section>
  );
}
