import { useMemo } from 'react';
import type { ToolOutput } from '../../../../../packages/client/src/api.js';
import { cn } from '../../../ui/class-names.js';
import { type DiffLine, lineDiff } from './line-diff.js';
import { wordOf } from './property-words.js';

export type Content = ToolOutput<'AGENT_VERSION_GET'>['item']['content'];

const LOOKS = {
  same: 'text-muted-foreground',
  removed: 'bg-destructive/10',
  added: 'bg-success/10',
} as const;
const SIGNS = { same: ' ', removed: '−', added: '+' } as const;
const WORDS = { same: '', removed: 'removed: ', added: 'added: ' } as const;
/** So many lines around a change are shown. */
const CONTEXT = 3;

/** Where two versions of an agent differ, property by property, line by line. */
export function ContentDifferences({
  before,
  after,
  titles,
}: {
  readonly before: Content;
  readonly after: Content;
  /** Of connections, by id. */
  readonly titles: ReadonlyMap<string, string>;
}) {
  const names = (Object.keys(after) as (keyof Content)[]).filter(
    (name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  );
  if (names.length === 0) return <p className="text-sm text-muted-foreground">There is no difference.</p>;
  return (
    <div className="flex min-w-0 flex-col gap-3">
      {names.map((name) => (
        <Difference
          key={name}
          label={wordOf(name)}
          before={textOf(before[name], titles)}
          after={textOf(after[name], titles)}
        />
      ))}
    </div>
  );
}

function Difference({
  label,
  before,
  after,
}: {
  readonly label: string;
  readonly before: string;
  readonly after: string;
}) {
  const lines = useMemo(() => withContext(lineDiff(before, after)), [before, after]);
  return (
    <section aria-label={`Differences of ${label}`} className="min-w-0">
      <h3 className="pb-1 text-sm font-medium">{label}</h3>
      <ol
        className="max-h-96 overflow-auto rounded-md border bg-card py-1 font-mono text-[0.8125rem]"
        tabIndex={0}
        aria-label={`Lines of ${label}`}
      >
        {lines.map((line, index) =>
          line === undefined ? (
            <li key={index} className="px-2 text-muted-foreground">
              ⋯
            </li>
          ) : (
            <li key={index} className={cn('flex gap-2 px-2 whitespace-pre-wrap wrap-anywhere', LOOKS[line.kind])}>
              <span aria-hidden>{SIGNS[line.kind]}</span>
              <span>
                <span className="sr-only">{WORDS[line.kind]}</span>
                {line.text}
              </span>
            </li>
          ),
        )}
      </ol>
    </section>
  );
}

/** The changed lines with those around them; undefined where lines are left out. */
function withContext(lines: readonly DiffLine[]): readonly (DiffLine | undefined)[] {
  const isShown = lines.map(() => false);
  for (const [index, { kind }] of lines.entries()) {
    if (kind === 'same') continue;
    isShown.fill(true, Math.max(0, index - CONTEXT), index + CONTEXT + 1);
  }
  return lines.flatMap((line, index) => {
    if (isShown[index]) return [line];
    return index === 0 || isShown[index - 1] ? [undefined] : [];
  });
}

/** A property as text, in which the ids of connections follow their titles: several can have the same. */
function textOf(value: unknown, titles: ReadonlyMap<string, string>): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return value;
  const name = (key: string, member: unknown): unknown => {
    const title = key === 'connection_id' && typeof member === 'string' ? titles.get(member) : undefined;
    return title === undefined ? member : `${title} (${String(member)})`;
  };
  return JSON.stringify(value, name, 2);
}
