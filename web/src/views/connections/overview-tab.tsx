import { Link } from '@tanstack/react-router';
import { Button } from '../../ui/button.js';
import { CodeBlock } from '../../ui/code-block.js';
import { Facts, Section } from '../../ui/page.js';
import { formatDuration } from '../../ui/format.js';
import { Time } from '../../ui/time.js';
import { useOrganization } from '../../session/organization.js';
import { ConnectionStatus } from './connection-status.js';
import { ConnectionTest } from './connection-test.js';
import { Target } from './connections-view.js';
import type { Connection } from './form/connection-draft.js';
import { UpstreamAccount, usesOauth } from './upstream-account.js';

/** The state of a connection, its test, its account at the upstream, and its address for MCP clients. */
export function OverviewTab({ connection }: { readonly connection: Connection }) {
  const { url, slug } = useOrganization();
  return (
    <div className="grid grid-cols-1 min-w-0 items-start gap-4 xl:grid-cols-2">
      <Section
        title="State"
        actions={
          <Button asChild variant="secondary" size="small">
            <Link from="/$org/connections/$connectionId" to="." search={{ tab: 'tools' }}>
              Browse tools
            </Link>
          </Button>
        }
      >
        <Facts
          items={[
            ['Status', <Status key="status" connection={connection} />],
            ['Server', <Target key="server" connection={connection} />],
            [
              'Type',
              connection.connection_type === 'STDIO' ? 'Program on the server (STDIO)' : connection.connection_type,
            ],
            connection.auth !== null && ['Authentication', authInWords(connection.auth)],
            connection.connection_headers !== null && [
              'Headers',
              Object.keys(connection.connection_headers.headers).join(', '),
            ],
            ['Time limit', `${formatDuration(connection.timeout)} for one call`],
            ['Rate limit', limitsInWords(connection.rate_limit)],
            connection.shared_state && ['Session', 'Shared by all callers'],
            connection.pin !== 'off' && ['Tools that change', connection.pin === 'block' ? 'Withheld' : 'Marked'],
            ['Tools listed', <Time key="listed" value={connection.tools_refreshed_at} />],
            ['Created', <Time key="created" value={connection.created_at} />],
            connection.import_name !== null && ['Imported as', connection.import_name],
          ]}
        />
      </Section>
      <ConnectionTest id={connection.id} what="connection" />
      {usesOauth(connection.auth) && <UpstreamAccount connection={connection} auth={connection.auth} />}
      <Section title="Address for MCP clients">
        <p className="text-sm text-muted-foreground">
          Clients reach this one server here, with their own permissions and without its credentials. An agent offers
          several servers at one address.
        </p>
        <CodeBlock label="Address for MCP clients" text={`${url}/api/${slug}/mcp/${connection.id}`} />
      </Section>
    </div>
  );
}

function Status({ connection }: { readonly connection: Connection }) {
  const { status, status_reason: reason } = connection;
  return (
    <span className="flex flex-col items-start gap-1">
      <ConnectionStatus connection={connection} />
      {reason && <span className="break-words">{reason}</span>}
      {status === 'inactive' && (
        <span className="text-muted-foreground">Switched off in the settings; calls are refused.</span>
      )}
    </span>
  );
}

function authInWords({ type, account }: NonNullable<Connection['auth']>): string {
  if (type === 'none') return 'none';
  if (type === 'token') return 'access token, stored';
  return account === 'member' ? 'sign-in, with each person’s own account' : 'sign-in, one account for everybody';
}

function limitsInWords(limit: Connection['rate_limit']): string {
  const { per_minute: all, per_caller_per_minute: each } = limit ?? {};
  const words = [all && `${all} calls a minute`, each && `${each} a minute for each caller`].filter(Boolean);
  return words.length === 0 ? 'none' : words.join(', ');
}
