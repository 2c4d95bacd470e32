import { type ReactNode, useMemo, useState } from 'react';
import { Button } from './button.js';
import { CodeBlock, JsonBlock } from './code-block.js';
import { DataTable } from './data-table.js';
import { counted, formatNumber } from './format.js';
import { type JsonTable, tableOf } from './json-table.js';

/** More rows of a table, more members of a value, and longer texts are only in “Show as text”. */
const MAX_ROWS = 200;
const MAX_TEXT = 2_000;
/** Objects and lists with at most so many members are open at the beginning, down to this depth. */
const OPEN_MEMBERS = 30;
const OPEN_DEPTH = 2;

/**
 * A JSON value: a list of objects with plain values as a table, every other object or list as a tree whose branches
 * open and close, and anything else as text. A button shows the text of a table or a tree.
 */
export function JsonView({
  value,
  text,
  label,
}: {
  readonly value: unknown;
  /** The JSON as it was received, which is shown as the text; without it, the value is written as JSON. */
  readonly text?: string;
  readonly label: string;
}) {
  const [isText, setText] = useState(false);
  const table = useMemo(() => tableOf(value), [value]);
  if (typeof value !== 'object' || value === null) return <JsonBlock value={value} label={label} />;
  return (
    <div className="flex min-w-0 flex-col gap-1">
      {isText ? (
        text === undefined ? (
          <JsonBlock value={value} label={label} />
        ) : (
          <CodeBlock text={text} label={label} />
        )
      ) : table ? (
        <Table table={table} label={label} />
      ) : (
        <div
          tabIndex={0}
          role="region"
          aria-label={label}
          className="max-h-96 min-w-0 overflow-auto rounded-md border bg-muted p-3 font-mono text-[0.8125rem]"
        >
          <Members value={value} depth={0} />
        </div>
      )}
      <Button variant="ghost" size="small" className="self-start" onClick={() => setText(!isText)}>
        {isText ? `Show as ${table ? 'a table' : 'a tree'}` : 'Show as text'}
      </Button>
    </div>
  );
}

function Table({ table: { columns, rows }, label }: { readonly table: JsonTable; readonly label: string }) {
  const shown = rows.slice(0, MAX_ROWS).map((row, index) => ({ row, index }));
  return (
    <>
      <div className="max-h-96 min-w-0 overflow-y-auto">
        <DataTable
          label={label}
          rows={shown}
          keyOf={({ index }) => `${index}`}
          columns={columns.map((name) => ({
            header: name,
            cell: ({ row }: (typeof shown)[number]) => <span className="wrap-anywhere">{cellOf(row[name])}</span>,
          }))}
        />
      </div>
      {rows.length > MAX_ROWS && (
        <p className="text-xs text-muted-foreground">
          The first {formatNumber(MAX_ROWS)} of {counted(rows.length, 'row')}; the text has all.
        </p>
      )}
    </>
  );
}

function cellOf(value: unknown): string {
  if (value === undefined) return '';
  return cut(typeof value === 'string' ? value : JSON.stringify(value));
}

function cut(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
}

/** The members of an object, or the elements of a list. */
function Members({ value, depth }: { readonly value: object; readonly depth: number }) {
  const isList = Array.isArray(value);
  const members = Object.entries(value);
  if (members.length === 0) return <span className="text-muted-foreground">{isList ? '[]' : '{}'}</span>;
  return (
    <ul className="flex min-w-0 flex-col gap-0.5">
      {members.slice(0, MAX_ROWS).map(([name, member]) => (
        <li key={name} className="min-w-0">
          <Member name={isList ? <Place index={Number(name)} /> : name} value={member} depth={depth + 1} />
        </li>
      ))}
      {members.length > MAX_ROWS && (
        <li className="text-muted-foreground">{formatNumber(members.length - MAX_ROWS)} more; the text has all</li>
      )}
    </ul>
  );
}

function Place({ index }: { readonly index: number }) {
  return <span className="text-muted-foreground">{formatNumber(index + 1)}</span>;
}

function Member({ name, value, depth }: { readonly name: ReactNode; readonly value: unknown; readonly depth: number }) {
  const count = typeof value === 'object' && value !== null ? Object.keys(value).length : 0;
  // A closed branch is rendered when it is opened: a result can have a hundred thousand values, at any depth.
  const [isOpen, setOpen] = useState(depth < OPEN_DEPTH && count <= OPEN_MEMBERS);
  if (typeof value !== 'object' || value === null || count === 0) {
    return (
      <p className="max-w-none pl-4 wrap-anywhere whitespace-pre-wrap">
        {name}: <Scalar value={value} />
      </p>
    );
  }
  return (
    <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary className="cursor-pointer wrap-anywhere">
        {name}{' '}
        <span className="text-muted-foreground">
          {Array.isArray(value) ? counted(count, 'element') : counted(count, 'member')}
        </span>
      </summary>
      {isOpen && (
        <div className="min-w-0 border-l pl-3">
          <Members value={value} depth={depth} />
        </div>
      )}
    </details>
  );
}

function Scalar({ value }: { readonly value: unknown }) {
  const colour = typeof value === 'string' ? 'text-code-string' : 'text-code-constant';
  return <span className={colour}>{cut(JSON.stringify(value) ?? 'null')}</span>;
}
