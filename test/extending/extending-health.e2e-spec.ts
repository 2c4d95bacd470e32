import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Module } from '@nestjs/common';
import supertest from 'supertest';
import { HealthCheck } from '../../src/core/health-check.js';
import { startTestApp, type TestApp } from '../support/app.js';

/** The server that the extension depends on. */
const ledger = { ping: async (): Promise<void> => undefined };

@Injectable()
class LedgerProbe {
  @HealthCheck('ledger', { timeoutMs: 500 })
  async check(): Promise<void> {
    await ledger.ping();
  }
}

@Module({ providers: [LedgerProbe] })
class LedgerModule {}

const lines: string[] = [];
let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({
    modules: [LedgerModule],
    env: { LOG_LEVEL: 'info' },
    onLogLine: (line) => lines.push(line),
  });
});
afterAll(() => app?.close());

/** Waits until a result that was found before is no longer believed. */
async function ready(): Promise<supertest.Response> {
  await sleep(600);
  return supertest(app.url).get('/health/ready');
}

const linesOf = (message: string): string[] =>
  lines.filter((line) => line.includes(message) && line.includes('ledger'));

describe('a health check of an extension', () => {
  it('is part of readiness', async () => {
    const answer = await ready();
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ status: 'ok', checks: { audit: 'ok', database: 'ok', ledger: 'ok', queue: 'ok' } });
  });

  it.each([
    ['rejects', () => Promise.reject(new Error('ledger:7000 does not answer'))],
    ['hangs', () => new Promise<void>(() => undefined)],
  ])('is named when it %s, and the reason is only logged', async (_how, ping) => {
    lines.length = 0;
    ledger.ping = ping;
    try {
      const answer = await ready();
      expect(answer.status).toBe(503);
      expect(answer.headers['retry-after']).toBe('1');
      expect(answer.body).toEqual({
        status: 'unavailable',
        checks: { audit: 'ok', database: 'ok', ledger: 'unavailable', queue: 'ok' },
      });
      await ready();
      expect(linesOf('A health check fails')).toHaveLength(1);
      expect(linesOf('A health check fails')[0]).toMatch(/does not answer|took longer than 500 ms/);
    } finally {
      ledger.ping = async () => undefined;
    }
    expect((await ready()).status).toBe(200);
    expect(linesOf('A health check passes again')).toHaveLength(1);
  });

  it('leaves liveness alone', async () => {
    ledger.ping = () => Promise.reject(new Error('away'));
    const answer = await supertest(app.url).get('/health/live');
    expect(answer.body).toEqual({ status: 'ok' });
  });
});
