/** How often and after which pauses a page is asked for its data. */
const LOOKS = 600;
const LOOK_MS = 50;

const search = (text) => async (page) => page.getByRole('searchbox').first().fill(text);
const more = (page) => page.getByRole('button', { name: 'Show more' }).click();
const select = (label, value) => (page) => page.getByLabel(label, { exact: true }).selectOption(value);

/**
 * The views of the console. `path` is the address behind the organization; `isList`: the view is a list with rows;
 * `ofLongRun`: the view shows the long run, which the empty organization does not have, and `path` is of its id;
 * `acts`: what people do there next, each with the tool that answers.
 */
export const VIEWS = [
  {
    name: 'Overview',
    path: 'overview',
    acts: [{ name: 'last 30 days', tool: 'RUN_STATS', act: select('Period', '30d') }],
  },
  { name: 'Playground', path: 'playground' },
  {
    name: 'Threads',
    path: 'threads',
    isList: true,
    acts: [
      { name: 'next page', tool: 'COLLECTION_THREADS_LIST', act: more },
      { name: 'search', tool: 'COLLECTION_THREADS_LIST', act: search('invoice') },
      { name: 'search, one found', tool: 'COLLECTION_THREADS_LIST', act: search('Ticket 4711 about') },
      { name: 'failed', tool: 'COLLECTION_THREADS_LIST', act: select('Status', 'failed') },
    ],
  },
  {
    name: 'Runs',
    path: 'runs',
    isList: true,
    acts: [
      { name: 'next page', tool: 'RUN_LIST', act: more },
      { name: 'failed', tool: 'RUN_LIST', act: select('Status', 'failed') },
    ],
  },
  { name: 'Run of 2,000 calls', path: (id) => `runs/${id}`, ofLongRun: true },
  {
    name: 'Connections',
    path: 'connections',
    isList: true,
    acts: [
      { name: 'next page', tool: 'COLLECTION_CONNECTIONS_LIST', act: more },
      { name: 'search', tool: 'COLLECTION_CONNECTIONS_LIST', act: search('team 7') },
    ],
  },
  {
    name: 'Agents',
    path: 'agents',
    isList: true,
    acts: [{ name: 'search', tool: 'COLLECTION_VIRTUAL_MCP_LIST', act: search('Agent 4') }],
  },
  {
    name: 'Keys',
    path: 'keys',
    isList: true,
    acts: [{ name: 'next page', tool: 'API_KEY_LIST', act: more }],
  },
  {
    name: 'Monitoring',
    path: 'monitoring',
    isList: true,
    acts: [
      { name: 'next page', tool: 'MONITORING_LOGS_LIST', act: more },
      { name: 'search', tool: 'MONITORING_LOGS_LIST', act: search('tool-7') },
      { name: 'errors', tool: 'MONITORING_LOGS_LIST', act: select('Outcome', 'error') },
    ],
  },
  {
    name: 'Monitoring: statistics',
    path: 'monitoring?tab=statistics',
    acts: [{ name: 'last 30 days', tool: 'MONITORING_STATS', act: select('Period', '30d') }],
  },
  { name: 'Monitoring: events', path: 'monitoring?tab=events', isList: true },
  { name: 'Access: graph', path: 'access' },
  { name: 'Settings', path: 'settings' },
];

/** Notes when the view has shown its data, in milliseconds after the start of the navigation. Runs in the page. */
function noteContent() {
  const look = () => {
    const main = document.querySelector('main');
    const isLoading =
      document.querySelector('main h1') === null ||
      main.querySelector('[role=status][aria-label^=Loading]') !== null ||
      main.textContent.includes('Loading…');
    if (isLoading) requestAnimationFrame(look);
    else globalThis.contentAt = performance.now();
  };
  look();
}

/** Signs in, and returns the state of the browser for `openView`. */
export async function signIn(browser, url, { email, password }) {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${url}/console`);
  await page.getByLabel('E-mail address').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  const state = await context.storageState();
  await context.close();
  return state;
}

/**
 * Opens a view in a browser that has nothing but the session, and waits until it shows its data.
 * @param {{ service: { url: string }, session: object, longRun?: string }} installation
 */
export async function openView(browser, { service: { url }, session: storageState, longRun }, { path, ofLongRun }) {
  const context = await browser.newContext({ storageState, viewport: { width: 1280, height: 800 } });
  await context.addInitScript(noteContent);
  const page = await context.newPage();
  const calls = [];
  page.on('requestfinished', (request) => {
    const tool = /\/tools\/(\w+)/.exec(request.url())?.[1];
    if (tool !== undefined) calls.push({ tool, ms: request.timing().responseEnd });
  });
  await page.goto(`${url}/console/default/${ofLongRun ? path(longRun) : path}`);
  const contentMs = await contentTime(page);
  return { context, page, calls, contentMs };
}

async function contentTime(page) {
  for (let look = 0; look < LOOKS; look++) {
    // Through the debugger, which the policy of the page does not concern.
    const time = await page.evaluate('globalThis.contentAt');
    if (time !== undefined) return time;
    await page.waitForTimeout(LOOK_MS);
  }
  throw new Error(`${page.url()} shows no data.`);
}

/** Does something in an open view. Returns the milliseconds that the answer took. */
export async function actIn(page, { tool, act }) {
  const answer = page.waitForResponse((response) => response.url().endsWith(`/tools/${tool}`));
  await act(page);
  const response = await answer;
  if (!response.ok()) throw new Error(`${tool} answered ${response.status()}: ${await response.text()}`);
  await response.finished();
  return response.request().timing().responseEnd;
}
