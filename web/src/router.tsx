import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Navigate,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import { useSession } from './session/session-context.js';
import { Shell } from './shell/shell.js';
import { EmptyState, ErrorState, Loading } from './ui/states.js';

const root = createRootRoute({ component: Outlet, notFoundComponent: NotFound });

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

/** A search parameter of an address, if it is a text. */
type Search = Readonly<Record<string, string | undefined>>;
const textsOf = (search: Record<string, unknown>): Search =>
  Object.fromEntries(
    Object.entries(search).flatMap(([name, value]) =>
      typeof value === 'string' || typeof value === 'number' ? [[name, String(value)]] : [],
    ),
  );

/** The filters of a view are in its address, so that each state of it is a link. */
function view<Path extends string>(path: Path, component: ReturnType<typeof lazyRouteComponent>) {
  return createRoute({ getParentRoute: () => organization, path, component, validateSearch: textsOf });
}

const views = [
  view(
    '/overview',
    lazyRouteComponent(() => import('./views/overview/overview-view.js'), 'OverviewView'),
  ),
  view(
    '/playground',
    lazyRouteComponent(() => import('./views/playground/playground-view.js'), 'PlaygroundView'),
  ),
  view(
    '/playground/$threadId',
    lazyRouteComponent(() => import('./views/playground/playground-view.js'), 'PlaygroundView'),
  ),
  view(
    '/threads',
    lazyRouteComponent(() => import('./views/threads/threads-view.js'), 'ThreadsView'),
  ),
  view(
    '/threads/$threadId',
    lazyRouteComponent(() => import('./views/threads/thread-view.js'), 'ThreadView'),
  ),
  view(
    '/runs',
    lazyRouteComponent(() => import('./views/runs/runs-view.js'), 'RunsView'),
  ),
  view(
    '/runs/$runId',
    lazyRouteComponent(() => import('./views/runs/run-view.js'), 'RunView'),
  ),
  view(
    '/connections',
    lazyRouteComponent(() => import('./views/connections/connections-view.js'), 'ConnectionsView'),
  ),
  view(
    '/connections/$connectionId',
    lazyRouteComponent(() => import('./views/connections/connection-view.js'), 'ConnectionView'),
  ),
  view(
    '/agents',
    lazyRouteComponent(() => import('./views/agents/agents-view.js'), 'AgentsView'),
  ),
  view(
    '/agents/$agentId',
    lazyRouteComponent(() => import('./views/agents/agent-view.js'), 'AgentView'),
  ),
  view(
    '/keys',
    lazyRouteComponent(() => import('./views/keys/keys-view.js'), 'KeysView'),
  ),
  view(
    '/monitoring',
    lazyRouteComponent(() => import('./views/monitoring/monitoring-view.js'), 'MonitoringView'),
  ),
  view(
    '/settings',
    lazyRouteComponent(() => import('./views/settings/settings-view.js'), 'SettingsView'),
  ),
  view(
    '/settings/$section',
    lazyRouteComponent(() => import('./views/settings/settings-view.js'), 'SettingsView'),
  ),
];

export const router = createRouter({
  routeTree: root.addChildren([start, organization.addChildren([organizationStart, ...views])]),
  basepath: '/console',
  defaultPreload: 'intent',
  defaultPendingComponent: Loading,
  defaultErrorComponent: ({ error, reset }) => <ErrorState error={error as Error} onRetry={reset} />,
  defaultNotFoundComponent: NotFound,
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
  return <EmptyState title="There is nothing at this address." />;
}
