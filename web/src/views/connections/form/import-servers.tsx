import { type FormEvent, useState } from 'react';
import type { ToolOutput } from '../../../../../packages/client/src/api.js';
import { useChange } from '../../../api/queries.js';
import { useOrganization } from '../../../session/organization.js';
import { Badge, type Tone } from '../../../ui/badge.js';
import { Button } from '../../../ui/button.js';
import { DataTable } from '../../../ui/data-table.js';
import { TextAreaField } from '../../../ui/field.js';
import { ErrorMessage, NoPermission } from '../../../ui/states.js';
import { useToast } from '../../../ui/toast.js';

type Imported = ToolOutput<'CONNECTION_IMPORT'>['items'][number];

const EXAMPLE = `{
  "mcpServers": {
    "memory": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"] },
    "docs": { "url": "https://mcp.example.com/mcp", "headers": { "Authorization": "Bearer …" } }
  }
}`;

const ACTIONS: Readonly<
  Record<Imported['action'], { readonly tone: Tone; readonly preview: string; readonly done: string }>
> = {
  create: { tone: 'success', preview: 'will be created', done: 'created' },
  update: { tone: 'info', preview: 'will be updated', done: 'updated' },
  unchanged: { tone: 'neutral', preview: 'stays as it is', done: 'unchanged' },
  refused: { tone: 'danger', preview: 'refused', done: 'refused' },
};

/** Creates connections from the configuration of an MCP client: paste, see what would happen, import. */
export function ImportServers({ onDone }: { readonly onDone: () => void }) {
  const { may } = useOrganization();
  const showToast = useToast();
  const [text, setText] = useState('');
  const [fault, setFault] = useState<string>();
  const preview = useChange('CONNECTION_IMPORT', []);
  const run = useChange('CONNECTION_IMPORT', ['COLLECTION_CONNECTIONS_LIST', 'COLLECTION_CONNECTIONS_GET']);
  if (!may('CONNECTION_IMPORT') && !(may('COLLECTION_CONNECTIONS_CREATE') && may('COLLECTION_CONNECTIONS_UPDATE'))) {
    return <NoPermission detail="Importing needs the permissions to create and to update connections." />;
  }
  const planned = preview.data?.items;
  const changes = planned?.filter(({ action }) => action === 'create' || action === 'update').length ?? 0;

  const withServers = (then: (mcpServers: Record<string, unknown>) => void): void => {
    const read = readServers(text);
    setFault(read.fault);
    if (read.servers !== undefined) then(read.servers);
  };
  const check = (event: FormEvent): void => {
    event.preventDefault();
    run.reset();
    withServers((mcpServers) => preview.mutate({ mcpServers, dry_run: true }));
  };
  const importNow = (): void =>
    withServers((mcpServers) => run.mutate({ mcpServers }, { onSuccess: ({ items }) => showToast(summaryOf(items)) }));
  const edit = (value: string): void => {
    setText(value);
    setFault(undefined);
    preview.reset();
    run.reset();
  };

  return (
    <form onSubmit={check} className="flex min-w-0 flex-col gap-4">
      <TextAreaField
        label="Configuration"
        hint="The mcpServers block of Claude, Cursor, VS Code or another MCP client. Nothing is started by the import."
        isCode
        rows={9}
        placeholder={EXAMPLE}
        error={fault}
        value={text}
        onChange={edit}
      />
      <div aria-live="polite" className="flex min-w-0 flex-col gap-3">
        <ErrorMessage error={preview.error ?? run.error} />
        {planned !== undefined && <Entries items={run.data?.items ?? planned} isDone={run.data !== undefined} />}
      </div>
      <div className="flex flex-wrap justify-end gap-2">
        {run.data === undefined ? (
          <>
            <Button type="submit" variant={planned === undefined ? 'primary' : 'secondary'} isBusy={preview.isPending}>
              Preview import
            </Button>
            {planned !== undefined && (
              <Button isBusy={run.isPending} disabled={changes === 0} onClick={importNow}>
                Import {changes} {changes === 1 ? 'connection' : 'connections'}
              </Button>
            )}
          </>
        ) : (
          <Button onClick={onDone}>Done</Button>
        )}
      </div>
    </form>
  );
}

function Entries({ items, isDone }: { readonly items: readonly Imported[]; readonly isDone: boolean }) {
  return (
    <DataTable
      label={isDone ? 'What was imported' : 'What the import would do'}
      rows={items}
      keyOf={({ name }) => name}
      columns={[
        {
          header: 'Name',
          cell: ({ name }) => <span className="inline-block min-w-24 font-medium break-words">{name}</span>,
        },
        {
          header: isDone ? 'Result' : 'Plan',
          cell: ({ action, reason }) => (
            <div className="flex flex-col items-start gap-1">
              <Badge tone={ACTIONS[action].tone}>{isDone ? ACTIONS[action].done : ACTIONS[action].preview}</Badge>
              {reason && <span className="break-words">{reason}</span>}
            </div>
          ),
        },
      ]}
    />
  );
}

/** The servers in a pasted text: a file with `mcpServers` (or `servers`, as VS Code calls them), or the block alone. */
function readServers(text: string): { servers?: Record<string, unknown>; fault?: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { fault: `This is not JSON: ${(error as Error).message}` };
  }
  if (!isRecord(value)) return { fault: 'Paste a JSON object.' };
  const servers = value['mcpServers'] ?? value['servers'] ?? value;
  if (!isRecord(servers)) return { fault: 'mcpServers must be an object: names with their servers.' };
  return Object.keys(servers).length === 0 ? { fault: 'There is no server in it.' } : { servers };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function summaryOf(items: readonly Imported[]): string {
  const count = (wanted: Imported['action']): number => items.filter(({ action }) => action === wanted).length;
  return (
    `Import: ${count('create')} created, ${count('update')} updated, ${count('unchanged')} unchanged, ` +
    `${count('refused')} refused.`
  );
}
