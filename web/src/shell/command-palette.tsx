import { useNavigate, useParams } from '@tanstack/react-router';
import { Command } from 'cmdk';
import { useState } from 'react';
import { useList } from '../api/queries.js';
import { useOrganization } from '../session/organization.js';
import { Dialog } from '../ui/dialog.js';
import { VIEWS } from './navigation.js';

const FOUND = 8;
const ITEM =
  'cursor-pointer rounded px-3 py-2 text-sm text-foreground data-[selected=true]:bg-accent ' +
  'data-[selected=true]:text-accent-foreground';
const GROUP = 'text-[0.8125rem] text-muted-foreground';

/** Goes to a view, a connection, an agent or a thread by typing a part of its name. Ctrl K or ⌘ K opens it. */
export function CommandPalette({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  return (
    <Dialog title="Go to" isOpen={isOpen} onClose={onClose} className="top-24 translate-y-0">
      <Palette onClose={onClose} />
    </Dialog>
  );
}

function Palette({ onClose }: { readonly onClose: () => void }) {
  const { org } = useParams({ from: '/$org' });
  const { may } = useOrganization();
  const navigate = useNavigate();
  const [text, setText] = useState('');
  const search = { where: { field: ['title'], operator: 'contains' as const, value: text }, limit: FOUND };
  const isSearching = text.trim().length > 1;
  const connections = useList('COLLECTION_CONNECTIONS_LIST', search, {
    isEnabled: isSearching && may('COLLECTION_CONNECTIONS_LIST'),
  });
  const threads = useList('COLLECTION_THREADS_LIST', search, {
    isEnabled: isSearching && may('COLLECTION_THREADS_LIST'),
  });
  const go = (path: string): void => {
    onClose();
    void navigate({ to: `/${org}/${path}` });
  };
  return (
    <Command label="Go to" shouldFilter={false}>
      <Command.Input
        autoFocus
        value={text}
        onValueChange={setText}
        placeholder="A view, a connection, an agent, a thread…"
        className="mb-2 w-full rounded-md border border-input bg-card px-3 py-2 placeholder:text-muted-foreground"
      />
      <Command.List className="max-h-80 overflow-y-auto">
        <Command.Empty className="p-3 text-sm text-muted-foreground">Nothing found.</Command.Empty>
        <Command.Group heading="Views" className={GROUP}>
          {VIEWS.filter(({ title }) => title.toLowerCase().includes(text.toLowerCase())).map(({ path, title }) => (
            <Command.Item key={path} value={path} onSelect={() => go(path)} className={ITEM}>
              {title}
            </Command.Item>
          ))}
        </Command.Group>
        {isSearching && connections.rows.length > 0 && (
          <Command.Group heading="Connections and agents" className={GROUP}>
            {connections.rows.map(({ id, title, connection_type: type }) => (
              <Command.Item
                key={id}
                value={id}
                onSelect={() => go(`${type === 'VIRTUAL' ? 'agents' : 'connections'}/${id}`)}
                className={ITEM}
              >
                {title}
              </Command.Item>
            ))}
          </Command.Group>
        )}
        {isSearching && threads.rows.length > 0 && (
          <Command.Group heading="Threads" className={GROUP}>
            {threads.rows.map(({ id, title }) => (
              <Command.Item
                key={id}
                value={id}
                onSelect={() => go(`threads/${encodeURIComponent(id)}`)}
                className={ITEM}
              >
                {title}
              </Command.Item>
            ))}
          </Command.Group>
        )}
      </Command.List>
    </Command>
  );
}
