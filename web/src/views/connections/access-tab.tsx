import { Link, useParams } from '@tanstack/react-router';
import type { ListItem } from '../../../../packages/client/src/api.js';
import { useList, useTool } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import type { PermissionMap } from '../../session/session.js';
import { NextPageButton } from '../../ui/next-page.js';
import { Section } from '../../ui/page.js';
import { ErrorState, Loading, NoPermission } from '../../ui/states.js';
import { formatNumber } from '../../ui/format.js';
import { Time } from '../../ui/time.js';

/**
 * Who can call what of a connection or an agent, in words: by role, by membership, by key.
 * @param isPublic true if tools that the upstream marks as public are open to callers without a credential
 */
export function AccessTab({ id, isPublic }: { readonly id: string; readonly isPublic?: boolean }) {
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <RoleAccess id={id} />
      <KeyAccess id={id} />
      {isPublic !== undefined && (
        <Section title="Without a credential">
          <p className="text-sm">
            {isPublic
              ? 'Tools that the server marks as public can be called by everyone who can reach this service. ' +
                'Settings can switch that off.'
              : 'Nobody: the marks of public tools are ignored here.'}
          </p>
        </Section>
      )}
    </div>
  );
}

function RoleAccess({ id }: { readonly id: string }) {
  const { org } = useParams({ from: '/$org' });
  const { may } = useOrganization();
  const isAllowed = may('ROLE_LIST');
  const roles = useTool('ROLE_LIST', {}, { isEnabled: isAllowed });
  const organization = useTool('ORGANIZATION_GET', {}, { isEnabled: may('ORGANIZATION_GET') });
  return (
    <Section
      title="People"
      actions={
        <Link
          to="/$org/settings/$section"
          params={{ org, section: 'roles' }}
          className="text-sm text-primary hover:underline"
        >
          Roles
        </Link>
      }
    >
      {!isAllowed && <NoPermission detail="Your role or key cannot list roles." />}
      {roles.isError && <ErrorState error={roles.error} onRetry={() => void roles.refetch()} />}
      {isAllowed && roles.isPending && <Loading label="Loading the roles" />}
      <ul className="flex flex-col gap-1.5 text-sm">
        {organization.data && (
          <li>
            <strong className="font-medium">Every member</strong>{' '}
            {inWords(organization.data.item.member_permissions, id)}
          </li>
        )}
        {roles.data?.items.map(({ name, permissions }) => (
          <li key={name} className="break-words">
            Role <strong className="font-medium">{name}</strong> {inWords(permissions, id)}
          </li>
        ))}
      </ul>
    </Section>
  );
}

type Key = ListItem<'API_KEY_LIST'>;

function KeyAccess({ id }: { readonly id: string }) {
  const { org } = useParams({ from: '/$org' });
  const isAllowed = useOrganization().may('API_KEY_LIST');
  const { query, rows, totalCount = 0 } = useList('API_KEY_LIST', { limit: 200 }, { isEnabled: isAllowed });
  const granting = rows.filter(({ permissions }) => grantedTools(permissions, id).length > 0);
  return (
    <Section
      title="API keys"
      actions={
        <Link to="/$org/keys" params={{ org }} className="text-sm text-primary hover:underline">
          Keys
        </Link>
      }
    >
      {!isAllowed && <NoPermission detail="Your role or key cannot list API keys." />}
      {query.isError && <ErrorState error={query.error} onRetry={() => void query.refetch()} />}
      {isAllowed && query.isPending && <Loading label="Loading the keys" />}
      {query.isSuccess && (
        <>
          <ul className="flex flex-col gap-1.5 text-sm">
            {granting.map((key) => (
              <KeyLine key={key.id} apiKey={key} id={id} />
            ))}
          </ul>
          <p className="text-sm text-muted-foreground" aria-live="polite">
            {granting.length === 0 ? 'No key grants anything here. ' : ''}
            Looked through {formatNumber(rows.length)} of {formatNumber(totalCount)} keys. A key of a person never
            reaches further than that person.
          </p>
        </>
      )}
      <NextPageButton query={query}>Look through more keys</NextPageButton>
    </Section>
  );
}

function KeyLine({
  apiKey: { name, prefix, permissions, last_used_at: lastUse },
  id,
}: {
  readonly apiKey: Key;
  readonly id: string;
}) {
  return (
    <li className="break-words">
      <strong className="font-medium">{name}</strong> <code className="font-mono text-[0.8125rem]">{prefix}…</code>{' '}
      {inWords(permissions, id)}{' '}
      <span className="text-muted-foreground">
        Last use: <Time value={lastUse} />
      </span>
    </li>
  );
}

/** The names that a map grants on a resource, also through `*`. */
function grantedTools(permissions: PermissionMap, id: string): readonly string[] {
  return [...new Set([...(permissions[id] ?? []), ...(permissions['*'] ?? [])])];
}

const SHOWN = 12;

function inWords(permissions: PermissionMap, id: string): string {
  const tools = grantedTools(permissions, id);
  if (tools.length === 0) return 'can call nothing here.';
  if (tools.includes('*')) return 'can call every tool, and read resources and prompts.';
  const names = tools.slice(0, SHOWN).join(', ');
  const more = tools.length > SHOWN ? ` and ${tools.length - SHOWN} more` : '';
  return `can call ${names}${more}.`;
}
