import { useSyncExternalStore } from 'react';

export type Theme = 'system' | 'light' | 'dark';

export const THEMES: readonly { readonly theme: Theme; readonly label: string }[] = [
  { theme: 'system', label: 'Theme of the system' },
  { theme: 'light', label: 'Light theme' },
  { theme: 'dark', label: 'Dark theme' },
];

const STORED_AS = 'signalbox-theme';
const systemIsDark = matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set<() => void>();

/** The chosen theme, kept by the browser, and a function that chooses another. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  return [useSyncExternalStore(subscribe, readTheme), setTheme];
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function setTheme(theme: Theme): void {
  localStorage.setItem(STORED_AS, theme);
  applyStoredTheme();
  for (const listener of listeners) listener();
}

/** Sets the theme before anything is drawn, and follows the system. */
export function startTheme(): void {
  applyStoredTheme();
  systemIsDark.addEventListener('change', applyStoredTheme);
}

function applyStoredTheme(): void {
  const theme = readTheme();
  const isDark = theme === 'dark' || (theme === 'system' && systemIsDark.matches);
  document.documentElement.dataset['theme'] = isDark ? 'dark' : 'light';
}

function readTheme(): Theme {
  const stored = localStorage.getItem(STORED_AS);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}
