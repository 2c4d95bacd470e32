import { Dialog } from '../ui/dialog.js';
import { CheckboxField } from '../ui/field.js';
import { type Shortcut, useShortcutSwitch } from './shortcuts.js';

const GROUPS = ['Do', 'Go to'] as const;

/** All shortcuts, and the switch that turns those off that are single characters (WCAG 2.2 §2.1.4). */
export function ShortcutSheet({
  shortcuts,
  isOpen,
  onClose,
}: {
  readonly shortcuts: readonly Shortcut[];
  readonly isOpen: boolean;
  readonly onClose: () => void;
}) {
  const [isOn, setIsOn] = useShortcutSwitch();
  return (
    <Dialog title="Keyboard shortcuts" isOpen={isOpen} onClose={onClose}>
      <div className="grid grid-cols-1 gap-x-8 gap-y-4 sm:grid-cols-2">
        {GROUPS.map((group) => (
          <section key={group} aria-label={group}>
            <h3 className="pb-1 text-sm font-medium text-muted-foreground">{group}</h3>
            <dl className={isOn ? '' : 'text-muted-foreground'}>
              {shortcuts
                .filter((shortcut) => shortcut.group === group)
                .map(({ keys, words }) => (
                  <Row key={keys.join()} keys={keys} words={words} />
                ))}
            </dl>
          </section>
        ))}
      </div>
      <section aria-label="Always">
        <h3 className="pb-1 text-sm font-medium text-muted-foreground">Always</h3>
        <dl className="grid grid-cols-1 gap-x-8 sm:grid-cols-2">
          <Row keys={['Ctrl', 'K']} words="Go to, create, find, switch" />
          <Row keys={['Esc']} words="Close what lies over the view" />
        </dl>
      </section>
      <CheckboxField
        label="Shortcuts of single characters"
        hint="Remembered in this browser. This sheet is always in the menu of your account."
        checked={isOn}
        onChange={setIsOn}
      />
    </Dialog>
  );
}

function Row({ keys, words }: { readonly keys: readonly string[]; readonly words: string }) {
  return (
    <div className="flex items-center justify-between gap-3 py-1 text-sm">
      <dt>{words}</dt>
      <dd className="flex shrink-0 gap-1">
        {keys.map((key, index) => (
          <kbd key={`${index} ${key}`} className="min-w-6 rounded border bg-muted px-1.5 text-center text-[0.8125rem]">
            {key}
          </kbd>
        ))}
      </dd>
    </div>
  );
}
