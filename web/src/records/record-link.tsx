import { Link } from '@tanstack/react-router';
import { useOrganization } from '../session/organization.js';

/** A link to an agent or a connection. */
export function RecordLink({
  kind,
  id,
  title,
}: {
  readonly kind: 'agent' | 'connection';
  readonly id: string;
  readonly title: string;
}) {
  const { slug: org } = useOrganization();
  const className = 'font-medium wrap-anywhere text-primary hover:underline';
  return kind === 'agent' ? (
    <Link to="/$org/agents/$agentId" params={{ org, agentId: id }} className={className}>
      {title}
    </Link>
  ) : (
    <Link to="/$org/connections/$connectionId" params={{ org, connectionId: id }} className={className}>
      {title}
    </Link>
  );
}
