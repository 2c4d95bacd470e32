import { useEffect, useState } from 'react';

export type Theme = 'system' | 'light' | 'dark';

const STORED_AS = 'signalbox-theme';
const systemIsDark = matchMedia('(prefers-color-scheme: dark)');

/** The chosen theme, kept by the browser, and a function that chooses another. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(readTheme);
  useEffect(() => {
    const apply = (): void => applyTheme(theme);
    apply();
    localStorage.setItem(STORED_AS, theme);
    systemIsDark.addEventListener('change', apply);
    return () => systemIsDark.removeEventListener('change', apply);
  }, [theme]);
  return [theme, setTheme];
}

/** Sets the theme before anything is drawn. */
export function applyStoredTheme(): void {
  applyTheme(readTheme());
}

function applyTheme(theme: Theme): void {
  const isDark = theme === 'dark' || (theme === 'system' && systemIsDark.matches);
  document.documentElement.dataset['theme'] = isDark ? 'dark' : 'light';
}

function readTheme(): Theme {
  const stored = localStorage.getItem(STORED_AS);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}
