import { useEffect, useSyncExternalStore } from 'react';

export type Theme = 'system' | 'light' | 'dark';

export const THEMES: readonly { readonly theme: Theme; readonly label: string }[] = [
  { theme: 'system', label: 'Theme of the system' },
  { theme: 'light', label: 'Light theme' },
  { theme: 'dark', label: 'Dark theme' },
];

const STORED_AS = 'signalbox-theme';
const systemIsDark = matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set<() => void>();
/** The theme of a view that has one of its own. */
let ofView: 'light' | 'dark' | undefined;

/** The chosen theme, kept by the browser, and a function that chooses another. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  return [useSyncExternalStore(subscribe, readTheme), setTheme];
}

/** Shows a view in a theme of its own for as long as it is there. */
export function useThemeOfView(theme: 'light' | 'dark'): void {
  useEffect(() => {
    ofView = theme;
    applyTheme();
    return () => {
      ofView = undefined;
      applyTheme();
    };
  }, [theme]);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function setTheme(theme: Theme): void {
  localStorage.setItem(STORED_AS, theme);
  applyTheme();
  for (const listener of listeners) listener();
}

/** Sets the theme before anything is drawn, and follows the system. */
export function startTheme(): void {
  applyTheme();
  systemIsDark.addEventListener('change', applyTheme);
}

function applyTheme(): void {
  const theme = ofView ?? readTheme();
  const isDark = theme === 'dark' || (theme === 'system' && systemIsDark.matches);
  document.documentElement.dataset['theme'] = isDark ? 'dark' : 'light';
}

function readTheme(): Theme {
  const stored = localStorage.getItem(STORED_AS);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}
