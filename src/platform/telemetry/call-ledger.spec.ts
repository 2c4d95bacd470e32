import { describe, expect, it } from '@jest/globals';
import { CallLedger, MAX_SERIES } from './proxy-metrics.js';

const CONNECTION = 'c1';

function fill(ledger: CallLedger): void {
  for (let tool = 0; tool < MAX_SERIES; tool++) ledger.seriesOf(CONNECTION, 'tools/call', `tool-${tool}`, false);
}

describe('CallLedger', () => {
  it('returns the same series for the same labels, and separate ones for each endpoint, tool and connection', () => {
    const ledger = new CallLedger();
    const series = ledger.seriesOf(CONNECTION, 'tools/call', 'echo', false);
    const others = [
      ledger.seriesOf(CONNECTION, 'tools/call', 'echo', true),
      ledger.seriesOf(CONNECTION, 'tools/call', 'add', false),
      ledger.seriesOf('c2', 'tools/call', 'echo', false),
      ledger.seriesOf(CONNECTION, 'tools/list', '', false),
    ];

    expect(ledger.seriesOf(CONNECTION, 'tools/call', 'echo', false)).toBe(series);
    expect(new Set([series, ...others]).size).toBe(5);
    expect(ledger.series).toHaveLength(5);
  });

  it('separates a tool from a method with the same name', () => {
    const ledger = new CallLedger();
    const tool = ledger.seriesOf(CONNECTION, 'tools/call', 'tools/list', false);
    const method = ledger.seriesOf(CONNECTION, 'tools/list', '', false);

    expect(tool.labels).toMatchObject({ tool: 'tools/list', method: 'tools/call' });
    expect(method.labels).toMatchObject({ tool: undefined, method: 'tools/list' });
  });

  it.each(['rubbish', '__proto__', 'constructor', ''])('counts the unknown method %j as _OTHER', (method) => {
    const ledger = new CallLedger();

    expect(ledger.seriesOf(CONNECTION, method, '', false).labels.method).toBe('_OTHER');
    expect(ledger.seriesOf(CONNECTION, `${method}2`, '', false)).toBe(ledger.series[0]);
  });

  it('counts new tools as `other` when it is full, and keeps existing series', () => {
    const ledger = new CallLedger();
    fill(ledger);
    const late = ledger.seriesOf(CONNECTION, 'tools/call', 'late', false);

    expect(late.labels).toMatchObject({ connectionId: CONNECTION, tool: 'other' });
    expect(ledger.seriesOf(CONNECTION, 'tools/call', 'later', false)).toBe(late);
    expect(ledger.seriesOf(CONNECTION, 'tools/call', 'tool-7', false).labels.tool).toBe('tool-7');
  });

  it('stays bounded for any connections, tools and methods', () => {
    const ledger = new CallLedger();
    fill(ledger);
    for (let index = 0; index < 3 * MAX_SERIES; index++) {
      ledger.seriesOf(`connection-${index}`, 'tools/call', `tool-${index}`, index % 2 === 0);
      ledger.seriesOf(`connection-${index}`, `method-${index}`, '', false);
    }
    const late = ledger.series.slice(MAX_SERIES).map(({ labels }) => labels);

    expect(late).toEqual([
      { connectionId: 'other', tool: 'other', method: 'tools/call', streamable: true },
      { connectionId: 'other', tool: undefined, method: '_OTHER', streamable: false },
      { connectionId: 'other', tool: 'other', method: 'tools/call', streamable: false },
    ]);
  });

  it('truncates a name that is too long for a label', () => {
    const ledger = new CallLedger();
    const long = 'x'.repeat(10_000);

    expect(ledger.seriesOf(CONNECTION, 'tools/call', long, false).labels.tool).toHaveLength(128);
    expect(ledger.seriesOf(CONNECTION, 'tools/call', `${long}y`, false)).toBe(ledger.series[0]);
  });

  it('stays bounded for invented error types', () => {
    const series = new CallLedger().seriesOf(CONNECTION, 'tools/call', 'echo', false);
    for (let index = 0; index < 1000; index++) series.recordError(1, `error_${index}`);
    series.recordError(1, 'not a word\n');

    expect(series.failed.size).toBe(101);
    expect(series.failed.get('_OTHER')?.count).toBe(901);
  });
});
