import { useOrganization } from '../session/organization.js';
import { useExactTimes } from '../ui/exact-times.js';
import { CREATE, SETTINGS, VIEWS } from './navigation.js';
import { THEMES, useTheme } from './theme.js';
import { useGo } from './use-go.js';

/** What the palette can do without asking the service. */
export interface PaletteAction {
  readonly group: 'Views' | 'Create' | 'Settings' | 'Switch';
  readonly title: string;
  readonly run: () => void;
}

/** All that the caller may do, of which the palette shows what has the words that were typed. */
export function usePaletteActions(onSheet: () => void): readonly PaletteAction[] {
  const { may } = useOrganization();
  const go = useGo();
  const [, setTheme] = useTheme();
  const [isExact, setIsExact] = useExactTimes();
  return [
    ...VIEWS.map(({ title, path }) => ({ group: 'Views' as const, title, run: () => go({ path }) })),
    ...CREATE.filter(({ needs }) => may(needs)).map((place) => ({
      group: 'Create' as const,
      title: place.title,
      run: () => go(place),
    })),
    ...SETTINGS.filter(({ needs }) => needs.some(may)).map(({ id, title }) => ({
      group: 'Settings' as const,
      title: `Settings: ${title}`,
      run: () => go({ path: `settings/${id}` }),
    })),
    ...THEMES.map(({ theme, label }) => ({ group: 'Switch' as const, title: label, run: () => setTheme(theme) })),
    {
      group: 'Switch',
      title: isExact ? 'Show times as “3 minutes ago”' : 'Show times exactly',
      run: () => setIsExact(!isExact),
    },
    { group: 'Switch', title: 'Keyboard shortcuts', run: onSheet },
  ];
}

/** Whether the title has each of the words. */
export function hasWords(title: string, text: string): boolean {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return words.every((word) => title.toLowerCase().includes(word));
}
