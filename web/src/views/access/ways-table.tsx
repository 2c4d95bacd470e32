import { useState } from 'react';
import { Button } from '../../ui/button.js';
import { DataTable } from '../../ui/data-table.js';
import { EmptyState } from '../../ui/states.js';
import { formatNumber } from '../../ui/format.js';
import type { Way } from './access-map.js';
import { AccessLink } from './node-link.js';
import { verbInWords } from './picture.js';

const SHOWN_AT_ONCE = 50;

/** The lines of the picture, and those that it has no room for, as a table. */
export function WaysTable({ ways, empty }: { readonly ways: readonly Way[]; readonly empty: string }) {
  const [limit, setLimit] = useState(SHOWN_AT_ONCE);
  if (ways.length === 0) return <EmptyState title={empty} />;
  return (
    <>
      <DataTable
        label="Ways"
        rows={ways.slice(0, limit)}
        keyOf={({ from, to }) => `${from.ref} ${to.ref}`}
        columns={[
          { header: 'Who', cell: ({ from }) => <NodeName node={from} /> },
          { header: 'How', isBelow: true, cell: (way) => <span className="block min-w-24">{verbInWords(way)}</span> },
          { header: 'What', cell: ({ to }) => <NodeName node={to} /> },
          { header: 'Calls', align: 'right', cell: ({ traffic }) => formatNumber(traffic.calls) },
          { header: 'Errors', align: 'right', isSecondary: true, cell: ({ traffic }) => formatNumber(traffic.errors) },
          { header: 'Denied', align: 'right', isSecondary: true, cell: ({ traffic }) => formatNumber(traffic.denied) },
          { header: 'Approvals', align: 'right', isSecondary: true, cell: approvals },
        ]}
      />
      {ways.length > limit && (
        <Button variant="secondary" size="small" className="self-start" onClick={() => setLimit(limit + SHOWN_AT_ONCE)}>
          Show more of {formatNumber(ways.length)}
        </Button>
      )}
    </>
  );
}

/** A name has room for a few words in a line. */
function NodeName({ node: { ref, title } }: { readonly node: Way['from'] }) {
  return (
    <span className="block min-w-24">
      <AccessLink search={{ node: ref }}>{title}</AccessLink>
    </span>
  );
}

function approvals({ traffic: { asked, given } }: Way): string {
  return asked === 0 ? '0' : `${formatNumber(given)} of ${formatNumber(asked)} given`;
}
