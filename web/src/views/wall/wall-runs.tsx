import { Link } from '@tanstack/react-router';
import type { ToolOutput } from '../../../../packages/client/src/api.js';
import { useOrganization } from '../../session/organization.js';
import { formatNumber } from '../../ui/format.js';

const SHOWN = 5;

/** Why runs failed, the most frequent reason first. */
export function WallRuns({ failures }: { readonly failures: ToolOutput<'RUN_STATS'>['failures'] }) {
  const { slug } = useOrganization();
  if (failures.length === 0) return null;
  return (
    <section aria-label="Failed runs by error" className="min-w-0">
      <h2 className="text-lg font-semibold lg:text-2xl min-[2000px]:text-4xl">Failed runs by error</h2>
      <ul className="flex flex-col gap-2 pt-2 text-lg lg:text-2xl min-[2000px]:gap-4 min-[2000px]:text-4xl">
        {failures.slice(0, SHOWN).map(({ code, runs }) => (
          <li key={code} className="flex min-w-0 justify-between gap-4">
            <Link
              to="/$org/runs"
              params={{ org: slug }}
              search={{ status: 'failed', code } as never}
              className="min-w-0 wrap-anywhere underline"
            >
              {code}
            </Link>
            <span className="tabular-nums">{formatNumber(runs)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
