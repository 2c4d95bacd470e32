import { useEffect, useMemo, useRef } from 'react';
import { useExactTimes } from '../ui/exact-times.js';
import { StoredSwitch, useSwitch } from '../ui/stored-switch.js';
import { type Keys, KeySequence } from './key-sequence.js';
import { VIEWS } from './navigation.js';
import { useGo } from './use-go.js';

export interface Shortcut {
  readonly keys: Keys;
  readonly words: string;
  readonly group: 'Do' | 'Go to';
  readonly run: () => void;
}

const SHORTCUTS_ON = new StoredSwitch('signalbox-shortcuts', true);

/** Whether single letters are shortcuts. Who speaks to the computer, or presses keys by accident, switches them off. */
export function useShortcutSwitch(): ReturnType<typeof useSwitch> {
  return useSwitch(SHORTCUTS_ON);
}

/** All shortcuts without Ctrl or ⌘: the sheet lists them, and `useShortcutKeys` binds them. */
export function useShortcuts(opens: { readonly palette: (text: string) => void; readonly sheet: () => void }) {
  const go = useGo();
  const [isExact, setIsExact] = useExactTimes();
  const { palette, sheet } = opens;
  return useMemo(
    (): readonly Shortcut[] => [
      { keys: ['/'], words: 'Search in the view, or everywhere', group: 'Do', run: () => focusSearch() || palette('') },
      { keys: ['c'], words: 'Create …', group: 'Do', run: () => palette('Create ') },
      {
        keys: ['t'],
        words: isExact ? 'Times as “3 minutes ago”' : 'Times exactly',
        group: 'Do',
        run: () => setIsExact(!isExact),
      },
      { keys: ['?'], words: 'These shortcuts', group: 'Do', run: sheet },
      ...VIEWS.map(({ key, title, path }): Shortcut => ({
        keys: ['g', key],
        words: title,
        group: 'Go to',
        run: () => go({ path }),
      })),
    ],
    [palette, sheet, go, isExact, setIsExact],
  );
}

/** Runs the shortcuts whose keys are pressed, as long as nobody writes and nothing lies over the view. */
export function useShortcutKeys(shortcuts: readonly Shortcut[]): void {
  const [isOn] = useShortcutSwitch();
  const sequence = useRef(new KeySequence());
  useEffect(() => {
    if (!isOn) return undefined;
    const onKey = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.repeat || event.isComposing) return;
      if (event.ctrlKey || event.metaKey || event.altKey || isTaken(event.target)) return;
      const shortcut = sequence.current.press(event.key, event.timeStamp, shortcuts);
      if (shortcut === undefined) return;
      event.preventDefault();
      shortcut.run();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [shortcuts, isOn]);
}

const WRITES = 'input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable=true]';
const OVER = '[role=dialog], [role=alertdialog], [role=menu], [role=listbox]';

/** Whether the key is meant for a field, or for what lies over the view. */
function isTaken(target: EventTarget | null): boolean {
  const isWritten = target instanceof Element && target.closest(WRITES) !== null;
  return isWritten || [...document.querySelectorAll(OVER)].some((over) => over.checkVisibility());
}

/** Puts the focus into the first search box of the view. */
function focusSearch(): boolean {
  const boxes = document.querySelectorAll<HTMLInputElement>('main input[type=search]');
  const box = [...boxes].find((each) => each.checkVisibility());
  box?.focus();
  box?.select();
  return box !== undefined;
}
