import { Command } from 'cmdk';
import { useState } from 'react';
import { Dialog } from '../ui/dialog.js';
import { usePaused } from '../ui/use-paused.js';
import { hasWords, usePaletteActions } from './palette-actions.js';
import { usePaletteFound } from './palette-found.js';
import { useGo } from './use-go.js';

const ITEM =
  'flex cursor-pointer items-baseline justify-between gap-3 rounded px-3 py-2 text-sm text-foreground ' +
  'data-[selected=true]:bg-accent data-[selected=true]:text-accent-foreground';
const GROUP = 'text-[0.8125rem] text-muted-foreground';
/** What is shown before something is typed. */
const FIRST: readonly string[] = ['Views', 'Create'];

/**
 * Goes to a view or to anything by its name or id, creates, switches, finds tools and runs agents. Ctrl K or ⌘ K opens
 * it.
 */
export function CommandPalette({
  text,
  onClose,
  onSheet,
}: {
  /** What it begins with; undefined if it is closed. */
  readonly text: string | undefined;
  readonly onClose: () => void;
  readonly onSheet: () => void;
}) {
  return (
    <Dialog title="Go to or do" isOpen={text !== undefined} onClose={onClose} className="top-24 translate-y-0">
      <Palette initialText={text ?? ''} onClose={onClose} onSheet={onSheet} />
    </Dialog>
  );
}

function Palette({
  initialText,
  onClose,
  onSheet,
}: {
  readonly initialText: string;
  readonly onClose: () => void;
  readonly onSheet: () => void;
}) {
  const [text, setText] = useState(initialText);
  const paused = usePaused(text);
  const go = useGo();
  const actions = usePaletteActions(onSheet).filter(({ title, group }) =>
    text.trim() === '' ? FIRST.includes(group) : hasWords(title, text),
  );
  // What a shortcut has written, such as “Create”, is no name to search for.
  const { groups, isSearching } = usePaletteFound(paused === initialText ? '' : paused);
  const isWaiting = isSearching || paused !== text;
  const count = groups.reduce((sum, { places }) => sum + places.length, actions.length);
  const choose = (run: () => void) => (): void => {
    onClose();
    run();
  };
  return (
    <Command label="Go to or do" shouldFilter={false}>
      <Command.Input
        autoFocus
        value={text}
        onValueChange={setText}
        placeholder="A name, an ID, a tool, or what to do"
        className="mb-2 w-full rounded-md border border-input bg-card px-3 py-2 placeholder:text-muted-foreground"
      />
      <Command.List label="Found" className="max-h-[min(24rem,60dvh)] overflow-y-auto">
        {[...new Set(actions.map(({ group }) => group))].map((group) => (
          <Command.Group key={group} heading={group} className={GROUP}>
            {actions
              .filter((action) => action.group === group)
              .map(({ title, run }) => (
                <Command.Item key={title} value={title} onSelect={choose(run)} className={ITEM}>
                  {title}
                </Command.Item>
              ))}
          </Command.Group>
        ))}
        {groups.map(({ heading, places }) => (
          <Command.Group key={heading} heading={heading} className={GROUP}>
            {places.map(({ id, title, note, ...place }) => (
              <Command.Item key={id} value={id} onSelect={choose(() => go(place))} className={ITEM}>
                <span className="min-w-0 break-words">{title}</span>
                {note && <span className="max-w-[40%] shrink-0 truncate text-[0.8125rem]">{note}</span>}
              </Command.Item>
            ))}
          </Command.Group>
        ))}
      </Command.List>
      <p role="status" className="px-3 pt-2 text-sm text-muted-foreground">
        {isWaiting ? 'Searching…' : count === 0 ? 'Nothing found.' : `${count} found`}
      </p>
    </Command>
  );
}
