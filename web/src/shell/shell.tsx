import { Link, Outlet, useMatch, useNavigate, useParams, useRouterState } from '@tanstack/react-router';
import { Menu as MenuIcon, Search } from 'lucide-react';
import { Suspense, useCallback, useEffect, useRef, useState } from 'react';
import { useLiveChanges } from '../api/live.js';
import { useServiceAway } from '../session/reachability.js';
import { useSession } from '../session/session-context.js';
import { OrganizationProvider } from '../session/organization.js';
import { Button } from '../ui/button.js';
import { cn } from '../ui/class-names.js';
import { useKeptFocus } from '../ui/kept-focus.js';
import { Menu } from '../ui/menu.js';
import { EmptyState, Loading } from '../ui/states.js';
import { CommandPalette } from './command-palette.js';
import { VIEWS } from './navigation.js';
import mark from '../../../src/platform/pages/face/mark.svg';
import { ShortcutSheet } from './shortcut-sheet.js';
import { useShortcutKeys, useShortcuts } from './shortcuts.js';
import { THEMES, useTheme } from './theme.js';

/** What all views of an organization share. */
export function Shell() {
  const { session } = useSession();
  const { org } = useParams({ from: '/$org' });
  const isWall = useMatch({ from: '/$org/wall', shouldThrow: false }) !== undefined;
  const membership = session.organizations.find(({ slug }) => slug === org);
  if (membership === undefined) {
    return (
      <main className="mx-auto max-w-lg p-6">
        <EmptyState title={`You are not a member of the organization “${org}”.`}>
          {session.organizations.map(({ slug, name }) => (
            <Link key={slug} to="/$org/overview" params={{ org: slug }} className="text-primary underline">
              Open {name}
            </Link>
          ))}
        </EmptyState>
      </main>
    );
  }
  return (
    <OrganizationProvider membership={membership}>
      <LiveChanges />
      {isWall ? <Outlet /> : <Frame />}
    </OrganizationProvider>
  );
}

/** The frame of the views: navigation, organization, account, command palette. A screen on the wall has none. */
function Frame() {
  const [isNavigationOpen, setIsNavigationOpen] = useState(false);
  // What the palette begins with; undefined while it is closed.
  const [paletteText, setPaletteText] = useState<string>();
  const [isSheetOpen, setIsSheetOpen] = useState(false);
  const openSheet = useCallback(() => setIsSheetOpen(true), []);
  const shortcuts = useShortcuts({ palette: setPaletteText, sheet: openSheet });
  useShortcutKeys(shortcuts);
  useKeptFocus();
  const main = useRef<HTMLElement>(null);
  const path = useRouterState({ select: (state) => state.location.pathname });
  useEffect(() => setIsNavigationOpen(false), [path]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey)) return;
      event.preventDefault();
      setPaletteText((text) => (text === undefined ? '' : undefined));
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);

  return (
    <>
      <a
        href="#main"
        className="sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-50 focus:bg-card focus:p-2"
      >
        Skip to the content
      </a>
      <div className="flex min-h-dvh">
        <aside
          className={cn(
            'fixed inset-y-0 left-0 z-30 w-56 shrink-0 flex-col gap-4 overflow-y-auto border-r bg-card p-3 ' +
              'md:sticky md:top-0 md:flex md:h-dvh',
            isNavigationOpen ? 'flex shadow-lg' : 'hidden',
          )}
        >
          <p className="flex items-center gap-2 px-2 pt-1 font-bold tracking-tight">
            <img src={mark} alt="" className="size-6" />
            Signalbox
          </p>
          <OrganizationSwitch />
          <Navigation />
        </aside>
        {isNavigationOpen && (
          <div
            aria-hidden
            className="fixed inset-0 z-20 bg-black/40 md:hidden"
            onClick={() => setIsNavigationOpen(false)}
          />
        )}
        <div className="flex min-w-0 flex-1 flex-col">
          <header className="sticky top-0 z-10 flex items-center gap-2 border-b bg-card/95 px-3 py-2">
            <Button
              variant="ghost"
              size="icon"
              className="md:hidden"
              aria-label="Open navigation"
              aria-expanded={isNavigationOpen}
              onClick={() => setIsNavigationOpen(!isNavigationOpen)}
            >
              <MenuIcon aria-hidden className="size-5" />
            </Button>
            <Button
              variant="secondary"
              size="small"
              onClick={() => setPaletteText('')}
              className="text-muted-foreground"
            >
              <Search aria-hidden className="size-3.5" />
              Go to…
              <kbd className="hidden rounded border px-1 text-xs sm:inline">Ctrl K</kbd>
            </Button>
            <div className="flex-1" />
            <ThemeMenu />
            <AccountMenu onShortcuts={openSheet} />
          </header>
          <ServiceAway />
          <main
            id="main"
            ref={main}
            tabIndex={-1}
            className="mx-auto w-full max-w-[110rem] flex-1 p-4 outline-none md:p-6"
          >
            <Suspense fallback={<Loading />}>
              <Outlet />
            </Suspense>
          </main>
        </div>
      </div>
      <CommandPalette text={paletteText} onClose={() => setPaletteText(undefined)} onSheet={openSheet} />
      <ShortcutSheet shortcuts={shortcuts} isOpen={isSheetOpen} onClose={() => setIsSheetOpen(false)} />
    </>
  );
}

/** Says that the service does not answer, while the views keep what they have read. */
function ServiceAway() {
  return (
    <div role="status">
      {useServiceAway() && (
        <p className="max-w-none border-b border-warning/50 bg-warning/12 px-4 py-2 text-sm md:px-6">
          The service cannot be reached. What you see may be out of date. The console tries again.
        </p>
      )}
    </div>
  );
}

function LiveChanges() {
  useLiveChanges();
  return null;
}

function Navigation() {
  const { org } = useParams({ from: '/$org' });
  return (
    <nav aria-label="Views">
      <ul className="flex flex-col gap-0.5">
        {VIEWS.map(({ path, title, icon: Icon }) => (
          <li key={path}>
            <Link
              to={`/$org/${path}`}
              params={{ org }}
              className="flex items-center gap-2.5 rounded-md px-2 py-1.5 text-sm pointer-coarse:py-3 hover:bg-muted"
              activeProps={{ className: 'bg-accent text-accent-foreground font-medium' }}
            >
              <Icon aria-hidden className="size-4" />
              {title}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function OrganizationSwitch() {
  const { session } = useSession();
  const { org } = useParams({ from: '/$org' });
  const navigate = useNavigate();
  const current = session.organizations.find(({ slug }) => slug === org);
  if (session.organizations.length < 2) return <p className="px-2 text-sm text-muted-foreground">{current?.name}</p>;
  return (
    <select
      aria-label="Organization"
      className="w-full rounded-md border border-input bg-card px-2 py-1.5 text-sm"
      value={org}
      onChange={(event) => void navigate({ to: '/$org/overview', params: { org: event.target.value } })}
    >
      {session.organizations.map(({ slug, name }) => (
        <option key={slug} value={slug}>
          {name}
        </option>
      ))}
    </select>
  );
}

function ThemeMenu() {
  const [theme, setTheme] = useTheme();
  const label = THEMES.find((each) => each.theme === theme)?.label ?? '';
  return (
    <Menu
      trigger={
        <Button variant="ghost" size="small" aria-label={`Theme: ${label}`}>
          Theme
        </Button>
      }
      items={THEMES.map((each) => ({ label: each.label, onSelect: () => setTheme(each.theme) }))}
    />
  );
}

function AccountMenu({ onShortcuts }: { readonly onShortcuts: () => void }) {
  const { session, credential, signOut } = useSession();
  const name = session.user?.name ?? 'API key';
  return (
    <Menu
      trigger={
        <Button variant="ghost" size="small">
          <span className="max-w-32 truncate">{name}</span>
        </Button>
      }
      items={[
        ...(credential.kind === 'browser'
          ? [{ label: 'Change password', onSelect: () => location.assign('/password') }]
          : []),
        { label: 'Keyboard shortcuts', onSelect: onShortcuts },
        { label: 'API reference', onSelect: () => window.open('/docs', '_blank', 'noopener') },
        { label: credential.kind === 'browser' ? 'Sign out' : 'Forget the key', onSelect: () => void signOut() },
      ]}
    />
  );
}
