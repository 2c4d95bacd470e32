import { Link } from '@tanstack/react-router';
import { useTool } from '../api/queries.js';
import { useOrganization } from '../session/organization.js';

/** Whether running agents has to be granted; undefined if the caller cannot see the setting. */
export function useRunAccess(): 'members' | 'granted' | undefined {
  const { may } = useOrganization();
  const { data } = useTool('ORGANIZATION_GET', {}, { isEnabled: may('ORGANIZATION_GET') });
  return data?.item.run_access;
}

/** What the organization's setting `run_access` means for whoever holds the permissions. */
export function RunAccessNote() {
  const { slug } = useOrganization();
  const runAccess = useRunAccess();
  if (runAccess === 'granted') {
    return (
      <p className="text-sm text-muted-foreground">
        Running an agent must be granted in this organization: only holders of at least one tool of an agent can send it
        messages.
      </p>
    );
  }
  return (
    <p className="rounded-md border border-warning/50 bg-warning/8 p-3 text-sm">
      {runAccess === 'members'
        ? 'Every valid credential of this organization can run every agent, and an agent calls its tools itself. ' +
          'So even a key without any permission can have an agent call tools. '
        : 'If the organization lets all members run agents (the default), even a key without any permission can ' +
          'have an agent call tools. '}
      <Link to="/$org/settings/$section" params={{ org: slug, section: 'organization' }} className="underline">
        Change who can run agents
      </Link>
    </p>
  );
}
