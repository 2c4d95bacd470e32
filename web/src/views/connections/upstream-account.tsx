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

/** Signing in and out of an upstream that demands OAuth. */
export function UpstreamAccount({
  connection,
  auth,
}: {
  readonly connection: Connection;
  readonly auth: NonNullable<Connection['auth']>;
}) {
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
        {isOwn
          ? 'Each person signs in with an own account, and calls the tools with it.'
          : 'Everybody who can call this connection uses the account of the person who signs in here.'}
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
