import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Link,
  Navigate,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import { readSearch, writeSearch } from './api/address.js';
import { watchedFetch } from './session/reachability.js';
import type { ComponentType } from 'react';
import { useSession } from './session/session-context.js';
import { Shell } from './shell/shell.js';
import { Page } from './ui/page.js';
import { EmptyState, ErrorState, Loading } from './ui/states.js';

const root = createRootRoute({ component: Outlet });

const start = createRoute({ getParentRoute: () => root, path: '/', component: Start });

/** Everything else belongs to an organization. */
const organization = createRoute({ getParentRoute: () => root, path: '/$org', component: Shell });

const organizationStart = createRoute({
  getParentRoute: () => organization,
  path: '/',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/$org/overview', params: { org: params.org } });
  },
});

/** Within the frame of the views, so that there is a way on. */
const elsewhere = createRoute({ getParentRoute: () => organization, path: '/$', component: NotFound });

/** A search parameter of an address, if it is a text. */
type Search = Readonly<Record<string, string | undefined>>;
const textsOf = (search: Record<string, unknown>): Search =>
  Object.fromEntries(
    Object.entries(search).flatMap(([name, value]) =>
      typeof value === 'string' || typeof value === 'number' ? [[name, String(value)]] : [],
    ),
  );

const RETRY_MS = 2_000;

/**
 * Waits for a part of the console while the service is away. With the service there, the part is one of an earlier
 * version: the router reloads the page then.
 */
function whenReachable<Module>(load: () => Promise<Module>): () => Promise<Module> {
  return async () => {
    for (;;) {
      try {
        return await load();
      } catch (error) {
        const response = await watchedFetch('/health/live').catch(() => undefined);
        if (response?.ok) throw error;
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  };
}

/** The filters of a view are in its address, so that each state of it is a link. */
function view<Path extends string, Name extends string>(
  path: Path,
  load: () => Promise<Readonly<Record<Name, ComponentType>>>,
  name: Name,
) {
  const component = lazyRouteComponent(whenReachable(load), name);
  return createRoute({ getParentRoute: () => organization, path, component, validateSearch: textsOf });
}

const views = [
  view('/overview', () => import('./views/overview/overview-view.js'), 'OverviewView'),
  view('/playground', () => import('./views/playground/playground-view.js'), 'PlaygroundView'),
  view('/playground/$threadId', () => import('./views/playground/playground-view.js'), 'PlaygroundView'),
  view('/wall', () => import('./views/wall/wall-view.js'), 'WallView'),
  view('/threads', () => import('./views/threads/threads-view.js'), 'ThreadsView'),
  view('/threads/$threadId', () => import('./views/threads/thread-view.js'), 'ThreadView'),
  view('/runs', () => import('./views/runs/runs-view.js'), 'RunsView'),
  view('/runs/compare', () => import('./views/runs/compare-view.js'), 'CompareView'),
  view('/runs/$runId', () => import('./views/runs/run-view.js'), 'RunView'),
  view('/connections', () => import('./views/connections/connections-view.js'), 'ConnectionsView'),
  view('/connections/$connectionId', () => import('./views/connections/connection-view.js'), 'ConnectionView'),
  view('/agents', () => import('./views/agents/agents-view.js'), 'AgentsView'),
  view('/agents/$agentId', () => import('./views/agents/agent-view.js'), 'AgentView'),
  view('/keys', () => import('./views/keys/keys-view.js'), 'KeysView'),
  view('/access', () => import('./views/access/access-view.js'), 'AccessView'),
  view('/monitoring', () => import('./views/monitoring/monitoring-view.js'), 'MonitoringView'),
  view('/settings', () => import('./views/settings/settings-view.js'), 'SettingsView'),
  view('/settings/$section', () => import('./views/settings/settings-view.js'), 'SettingsView'),
];

export const router = createRouter({
  routeTree: root.addChildren([start, organization.addChildren([organizationStart, ...views, elsewhere])]),
  basepath: '/console',
  parseSearch: readSearch,
  stringifySearch: writeSearch,
  defaultPreload: 'intent',
  defaultPendingComponent: Loading,
  defaultErrorComponent: ({ error, reset }) => <ErrorState error={error as Error} onRetry={reset} />,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}

/** Opens the organization that the caller has; of several, the first. */
function Start() {
  const [first] = useSession().session.organizations;
  if (first !== undefined) return <Navigate to="/$org/overview" params={{ org: first.slug }} replace />;
  return (
    <main className="mx-auto max-w-lg p-6">
      <EmptyState title="You are not a member of any organization." />
    </main>
  );
}

function NotFound() {
  const { organizations } = useSession().session;
  return (
    <Page title="Not found">
      <EmptyState title="There is nothing at this address.">
        {organizations.map(({ slug, name }) => (
          <Link key={slug} to="/$org/overview" params={{ org: slug }} className="text-primary underline">
            Overview of {name}
          </Link>
        ))}
      </EmptyState>
    </Page>
  );
}
