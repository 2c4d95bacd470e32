import { useOrganization } from '../../session/organization.js';
import { CopyButton } from '../../ui/copy-button.js';
import { EmptyState } from '../../ui/states.js';

/** What people usually want to do, and the permissions that it takes. */
const WISHES = [
  {
    wish: 'Talk to agents',
    permissions: [
      'COLLECTION_VIRTUAL_MCP_LIST',
      'COLLECTION_THREADS_CREATE',
      'COLLECTION_THREADS_GET',
      'COLLECTION_THREADS_LIST',
      'COLLECTION_THREAD_MESSAGES_LIST',
    ],
  },
  { wish: 'Approve tool calls of agents', permissions: ['RUN_APPROVE', 'RUN_LIST', 'RUN_GET'] },
  {
    wish: 'See what runs and what fails',
    permissions: ['RUN_LIST', 'RUN_GET', 'RUN_STATS', 'MONITORING_STATS', 'COLLECTION_CONNECTIONS_LIST'],
  },
];

/** Tells a member whose role shows nothing what to ask an owner or admin for. */
export function WhatToAskFor() {
  const { name, role } = useOrganization();
  const subject = role === null ? 'Your key' : `Your role “${role}”`;
  return (
    <EmptyState title={`${subject} shows nothing here yet.`}>
      <p className="max-w-prose text-sm text-muted-foreground">
        Ask an owner or admin of {name} for what you need. They can give you another role (Settings, Members), or give
        the permissions to every member (Settings, Organization).
      </p>
      <ul className="flex w-full max-w-prose flex-col gap-3 text-left text-sm">
        {WISHES.map(({ wish, permissions }) => (
          <li key={wish} className="flex flex-wrap items-start justify-between gap-2">
            <div className="min-w-0 flex-1">
              <p className="font-medium">{wish}</p>
              <p className="wrap-anywhere text-muted-foreground">{permissions.join(', ')}</p>
            </div>
            <CopyButton
              label="Copy request"
              text={
                `In Signalbox, organization ${name}: please give me the permissions ${permissions.join(', ')} ` +
                `(${wish.toLowerCase()}).`
              }
              size="small"
              variant="secondary"
            />
          </li>
        ))}
      </ul>
    </EmptyState>
  );
}
