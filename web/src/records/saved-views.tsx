import { Bookmark, X } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import type { Filters } from '../api/filters.js';
import { useOrganization } from '../session/organization.js';
import { Button } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { TextField } from '../ui/field.js';

interface SavedView {
  readonly name: string;
  readonly filters: Readonly<Record<string, string>>;
}

const MAX_VIEWS = 20;

/** Filters of a list under a name. The browser keeps them: they are for the person who sits before it. */
export function SavedViews({
  list,
  filters,
  onFilter,
}: {
  /** Such as `runs`. */
  readonly list: string;
  readonly filters: Filters;
  readonly onFilter: (change: Filters) => void;
}) {
  const { slug } = useOrganization();
  const storedAs = `signalbox-views:${slug}:${list}`;
  const [views, setViews] = useState(() => readViews(storedAs));
  const [name, setName] = useState<string>();
  const store = (changed: readonly SavedView[]): void => {
    localStorage.setItem(storedAs, JSON.stringify(changed));
    setViews(changed);
  };
  const current = present(filters);
  const save = (event: FormEvent): void => {
    event.preventDefault();
    const called = name?.trim() ?? '';
    if (called === '') return;
    store([...views.filter((view) => view.name !== called), { name: called, filters: current }]);
    setName(undefined);
  };
  const open = (view: SavedView): void => onFilter({ ...emptied(filters), ...view.filters });
  const canSave = Object.keys(current).length > 0 && views.length < MAX_VIEWS;
  if (views.length === 0 && !canSave) return null;
  return (
    <div role="group" aria-label="Saved views" className="flex flex-wrap items-center gap-2">
      {views.map((view) => (
        <span key={view.name} className="inline-flex items-center rounded-md border border-input bg-card">
          <Button variant="ghost" size="small" aria-pressed={isSame(view.filters, current)} onClick={() => open(view)}>
            {view.name}
          </Button>
          <button
            type="button"
            aria-label={`Delete the view ${view.name}`}
            className="flex size-6 pointer-coarse:size-11 items-center justify-center rounded hover:bg-muted"
            onClick={() => store(views.filter((other) => other !== view))}
          >
            <X aria-hidden className="size-3.5" />
          </button>
        </span>
      ))}
      {canSave && (
        <Button variant="ghost" size="small" onClick={() => setName('')}>
          <Bookmark aria-hidden className="size-3.5" />
          Save view
        </Button>
      )}
      <Dialog
        title="Save view"
        description="The filters and the order under a name, for you in this browser. To share a view, send its address."
        isOpen={name !== undefined}
        onClose={() => setName(undefined)}
      >
        <form onSubmit={save} className="flex flex-col gap-4">
          <TextField label="Name" value={name ?? ''} onChange={setName} maxLength={40} autoFocus />
          <Button type="submit" className="self-end" disabled={!name?.trim()}>
            Save view
          </Button>
        </form>
      </Dialog>
    </div>
  );
}

function present(filters: Filters): Record<string, string> {
  return Object.fromEntries(Object.entries(filters).flatMap(([name, value]) => (value ? [[name, value]] : [])));
}

function emptied(filters: Filters): Filters {
  return Object.fromEntries(Object.keys(filters).map((name) => [name, undefined]));
}

function isSame(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}

/** What the browser keeps, without what is none of ours. */
function readViews(storedAs: string): readonly SavedView[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(storedAs) ?? '[]');
    return Array.isArray(stored) ? stored.filter(isView).slice(0, MAX_VIEWS) : [];
  } catch {
    return [];
  }
}

function isView(value: unknown): value is SavedView {
  if (typeof value !== 'object' || value === null || !('name' in value) || !('filters' in value)) return false;
  const { name, filters } = value;
  return (
    typeof name === 'string' &&
    typeof filters === 'object' &&
    filters !== null &&
    Object.values(filters).every((text) => typeof text === 'string')
  );
}
