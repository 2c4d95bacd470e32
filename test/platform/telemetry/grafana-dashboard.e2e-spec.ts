import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import supertest from 'supertest';
import { connect, createAgent, ThreadClient } from '../../support/agent-runs.js';
import { startTestApp, type TestApp } from '../../support/app.js';
import { type Sample, scrape } from '../../support/prometheus.js';
import { startToolServer, type ToolServer } from '../../support/tool-server.js';

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

/** Labels that Prometheus adds or that every histogram has. */
const LABELS_OF_PROMETHEUS = new Set(['job', 'instance', 'le']);

let app: TestApp;
let tools: ToolServer;
let dashboard: Dashboard;
let exported: Map<string, Sample[]>;

beforeAll(async () => {
  dashboard = JSON.parse(await readFile(new URL('../../../deploy/grafana/signalbox.json', import.meta.url), 'utf8'));
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

/** The names in an expression that are not functions, labels or keywords. */
function metricsIn(expression: string): string[] {
  const bare = expression
    .replaceAll(/\{[^}]*\}|\[[^\]]*\]/g, ' ')
    .replaceAll(/\b(?:by|without|on|ignoring)\s*\([^)]*\)/g, ' ');
  return [...bare.matchAll(/\b[a-z_:][\w:]*\b(?!\s*\()/gi)]
    .map(([name]) => name)
    .filter((name) => !['sum', 'max', 'min', 'avg', 'count'].includes(name));
}

/** The labels by which an expression selects or groups. */
function labelsIn(expression: string): string[] {
  const selected = [...expression.matchAll(/([a-z_]\w*)\s*(?:=~|!~|!=|=)\s*"/gi)].map(([, label = '']) => label);
  const grouped = [...expression.matchAll(/\bby\s*\(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(','));
  return [...selected, ...grouped].map((label) => label.trim()).filter((label) => !LABELS_OF_PROMETHEUS.has(label));
}

/** Prometheus stores a histogram as several metrics. */
function family(name: string): string {
  return name.replace(/_(?:bucket|sum|count)$/, '');
}

describe('the Grafana dashboard', () => {
  it('queries only metrics that the service exports', () => {
    const missing = expressions().filter((expr) => {
      const names = metricsIn(expr);
      return names.length === 0 || names.some((name) => !exported.has(name));
    });
    expect(expressions().length).toBeGreaterThan(20);
    expect(missing).toEqual([]);
  });

  it('queries only labels that these metrics have', () => {
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

  it('covers the metrics that docs/operations/telemetry.md describes', async () => {
    const described = await readFile(new URL('../../../docs/operations/telemetry.md', import.meta.url), 'utf8');
    const families = [...exported.keys()].map((name) => (described.includes(`\`${name}\``) ? name : family(name)));
    expect(families.filter((name) => !described.includes(`\`${name}\``))).toEqual(['target_info']);
  });

  it('fails this check with an unknown metric', () => {
    expect(metricsIn('histogram_quantile(0.5, sum by (le) (rate(no_such_bucket{a="b"}[5m]))) / max(other)')).toEqual([
      'no_such_bucket',
      'other',
    ]);
  });

  it('has panels with unique titles and ids', () => {
    const ids = dashboard.panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(dashboard.panels.filter(({ title }) => title === '')).toEqual([]);
  });
});
