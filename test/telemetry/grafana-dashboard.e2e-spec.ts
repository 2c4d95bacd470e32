import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import supertest from 'supertest';
import { connect, createAgent, ThreadClient } from '../support/agent-runs.js';
import { startTestApp, type TestApp } from '../support/app.js';
import { type Sample, scrape } from '../support/prometheus.js';
import { startToolServer, type ToolServer } from '../support/tool-server.js';

interface Panel {
  id: number;
  type: string;
  title: string;
  targets?: { expr: string }[];
}

interface Dashboard {
  title: string;
  panels: Panel[];
}

/** Labels that Prometheus adds, or that belong to a histogram's form. */
const LABELS_OF_PROMETHEUS = new Set(['job', 'instance', 'le']);

let app: TestApp;
let tools: ToolServer;
let dashboard: Dashboard;
let exported: Map<string, Sample[]>;

beforeAll(async () => {
  dashboard = JSON.parse(await readFile(new URL('../../deploy/grafana/signalbox.json', import.meta.url), 'utf8'));
  [app, tools] = await Promise.all([startTestApp(), startToolServer('echo')]);
  const dead = await connect(app, 'http://127.0.0.1:9/mcp', 'Dead');
  const live = await connect(app, tools.url);
  const thread = await ThreadClient.create(app, await createAgent(app, [live, dead]));
  await thread.ask('/call echo {"text":"hello"}');
  await thread.ask('/fail words');
  await supertest(app.url)
    .post(`/api/default/mcp/${live}/call-tool/echo`)
    .set('authorization', `Bearer ${app.apiKey}`)
    .send({ text: 'hello' })
    .expect(200);
  exported = Map.groupBy(await scrape(app), ({ name }) => name);
});
afterAll(async () => {
  await app?.close();
  await tools?.close();
});

function expressions(): string[] {
  return dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
}

/** The names in an expression that are neither functions, nor labels, nor words of the language. */
function metricsIn(expression: string): string[] {
  const bare = expression
    .replaceAll(/\{[^}]*\}|\[[^\]]*\]/g, ' ')
    .replaceAll(/\b(?:by|without|on|ignoring)\s*\([^)]*\)/g, ' ');
  return [...bare.matchAll(/\b[a-z_:][\w:]*\b(?!\s*\()/gi)]
    .map(([name]) => name)
    .filter((name) => !['sum', 'max', 'min', 'avg', 'count'].includes(name));
}

/** The labels that it selects or groups by. */
function labelsIn(expression: string): string[] {
  const selected = [...expression.matchAll(/([a-z_]\w*)\s*(?:=~|!~|!=|=)\s*"/gi)].map(([, label = '']) => label);
  const grouped = [...expression.matchAll(/\bby\s*\(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(','));
  return [...selected, ...grouped].map((label) => label.trim()).filter((label) => !LABELS_OF_PROMETHEUS.has(label));
}

/** A histogram is several metrics for Prometheus. */
function family(name: string): string {
  return name.replace(/_(?:bucket|sum|count)$/, '');
}

describe('the Grafana dashboard', () => {
  it('asks for nothing but metrics that the service exports', () => {
    const missing = expressions().filter((expr) => {
      const names = metricsIn(expr);
      return names.length === 0 || names.some((name) => !exported.has(name));
    });
    expect(expressions().length).toBeGreaterThan(20);
    expect(missing).toEqual([]);
  });

  it('asks for nothing but labels that these metrics have', () => {
    const missing = expressions().flatMap((expr) => {
      const known = new Set(
        metricsIn(expr).flatMap((name) => (exported.get(name) ?? []).flatMap(({ labels }) => Object.keys(labels))),
      );
      return labelsIn(expr)
        .filter((label) => !known.has(label))
        .map((label) => ({ expr, label }));
    });
    expect(missing).toEqual([]);
  });

  it('shows every metric of the service', () => {
    const shown = new Set(expressions().flatMap(metricsIn).map(family));
    expect([...exported.keys()].filter((name) => !shown.has(family(name)))).toEqual(['target_info']);
  });

  it('is of the metrics that docs/operations.md describes', async () => {
    const described = await readFile(new URL('../../docs/operations.md', import.meta.url), 'utf8');
    const families = [...exported.keys()].map((name) => (described.includes(`\`${name}\``) ? name : family(name)));
    expect(families.filter((name) => !described.includes(`\`${name}\``))).toEqual(['target_info']);
  });

  it('would not pass with a metric that does not exist', () => {
    expect(metricsIn('histogram_quantile(0.5, sum by (le) (rate(no_such_bucket{a="b"}[5m]))) / max(other)')).toEqual([
      'no_such_bucket',
      'other',
    ]);
  });

  it('has panels with titles and ids of their own', () => {
    const ids = dashboard.panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(dashboard.panels.filter(({ title }) => title === '')).toEqual([]);
  });
});
