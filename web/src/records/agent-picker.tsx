import { Link } from '@tanstack/react-router';
import { Command } from 'cmdk';
import { Bot, ChevronsUpDown } from 'lucide-react';
import { useState } from 'react';
import { useList } from '../api/queries.js';
import { useOrganization } from '../session/organization.js';
import { Button } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { ErrorState } from '../ui/states.js';
import { useAgentTitles } from './agent-titles.js';

const FOUND = 20;

/** Chooses an agent by a part of its title. */
export function AgentPicker({
  value,
  onChange,
  label = 'Agent',
  anyLabel,
}: {
  /** The id of the chosen agent; empty for none. */
  readonly value: string;
  readonly onChange: (id: string) => void;
  readonly label?: string;
  /** Offers to choose none under this name. */
  readonly anyLabel?: string;
}) {
  const [isOpen, setIsOpen] = useState(false);
  const titleOf = useAgentTitles(value === '' ? [] : [value]);
  const shown = value === '' ? (anyLabel ?? 'Choose an agent') : titleOf(value);
  const choose = (id: string): void => {
    setIsOpen(false);
    onChange(id);
  };
  return (
    <>
      <Button
        variant="secondary"
        aria-label={`${label}: ${shown}`}
        aria-haspopup="dialog"
        onClick={() => setIsOpen(true)}
      >
        <Bot aria-hidden className="size-4 text-muted-foreground" />
        <span className="max-w-56 truncate">{shown}</span>
        <ChevronsUpDown aria-hidden className="size-3.5 text-muted-foreground" />
      </Button>
      <Dialog title="Choose an agent" isOpen={isOpen} onClose={() => setIsOpen(false)}>
        <AgentSearch onChoose={choose} {...(anyLabel !== undefined && { anyLabel })} />
      </Dialog>
    </>
  );
}

function AgentSearch({ onChoose, anyLabel }: { readonly onChoose: (id: string) => void; readonly anyLabel?: string }) {
  const { slug } = useOrganization();
  const [text, setText] = useState('');
  const { query, rows } = useList('COLLECTION_VIRTUAL_MCP_LIST', {
    limit: FOUND,
    where: text.trim() === '' ? undefined : { field: ['title'], operator: 'contains', value: text.trim() },
    orderBy: [{ field: ['title'], direction: 'asc' }],
  });
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />;
  return (
    <Command label="Agents" shouldFilter={false}>
      <Command.Input
        value={text}
        onValueChange={setText}
        placeholder="A part of the title"
        className="mb-2 w-full rounded-md border border-input bg-card px-3 py-2 placeholder:text-muted-foreground"
      />
      <Command.List className="max-h-80 overflow-y-auto">
        {!query.isPending && (
          <Command.Empty className="flex flex-col items-start gap-2 p-3 text-sm">
            {text.trim() === '' ? 'There are no agents yet.' : 'No agent matches.'}
            <Link to="/$org/agents" params={{ org: slug }} className="text-primary underline">
              Open Agents
            </Link>
          </Command.Empty>
        )}
        {anyLabel !== undefined && text === '' && (
          <AgentItem id="any" title={anyLabel} description={null} onSelect={() => onChoose('')} />
        )}
        {rows.map(({ id, title, description }) => (
          <AgentItem key={id} id={id} title={title} description={description} onSelect={() => onChoose(id)} />
        ))}
      </Command.List>
    </Command>
  );
}

function AgentItem({
  id,
  title,
  description,
  onSelect,
}: {
  readonly id: string;
  readonly title: string;
  readonly description: string | null;
  readonly onSelect: () => void;
}) {
  return (
    <Command.Item
      value={id}
      onSelect={onSelect}
      className="cursor-pointer rounded px-3 py-2 text-sm data-[selected=true]:bg-accent data-[selected=true]:text-accent-foreground"
    >
      <span className="font-medium">{title}</span>
      {description && <span className="line-clamp-1 text-[0.8125rem]">{description}</span>}
    </Command.Item>
  );
}
