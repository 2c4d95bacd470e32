import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useOrganization } from '../../session/organization.js';

/** A link to another state of the view, which keeps the period and nothing else. Back leads to the one before. */
export function AccessLink({
  search,
  className = 'font-medium wrap-anywhere text-primary hover:underline',
  children,
}: {
  readonly search: Readonly<Record<string, string>>;
  readonly className?: string;
  readonly children: ReactNode;
}) {
  const { slug } = useOrganization();
  return (
    <Link
      to="/$org/access"
      params={{ org: slug }}
      search={(({ period }: Record<string, string | undefined>) => ({ ...(period && { period }), ...search })) as never}
      resetScroll={false}
      className={className}
    >
      {children}
    </Link>
  );
}
