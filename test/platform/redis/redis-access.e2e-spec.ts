import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createAgent, ThreadClient } from '../../support/agent-runs.js';
import { startTestApp, type TestApp } from '../../support/app.js';
import { RedisProcess } from '../../support/redis-process.js';
import { redisServerCommand } from '../../support/redis-server.js';

const command = redisServerCommand() ?? '';
const ifRedis = command === '' ? describe.skip : describe;
const START_MS = 120_000;
const PASSWORD = 'p@ss:w/rd%';

/** The rules of the user as the documentation shows them. */
function documentedRules(): string {
  const page = readFileSync(new URL('../../../docs/operations/redis.md', import.meta.url), 'utf8');
  const [, rules] = /^ACL SETUSER signalbox on >\S+ (.*)$/m.exec(page) ?? [];
  if (rules === undefined) throw new Error('docs/operations/redis.md has no ACL SETUSER line.');
  return rules;
}

ifRedis('Redis with TLS, client certificates and an ACL user', () => {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-redis-tls-'));
  const file = (name: string): string => join(folder, name);
  let redis: RedisProcess;
  let env: Record<string, string>;

  beforeAll(async () => {
    const openssl = (...args: string[]): void => void execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
    for (const name of ['ca', 'other-ca']) {
      openssl('req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', `/CN=${name}`, '-keyout', `${name}.key`, '-out', `${name}.pem`); // prettier-ignore
    }
    for (const name of ['server', 'client']) {
      openssl('req', '-newkey', 'rsa:2048', '-nodes', '-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', `${name}.key`, '-out', `${name}.csr`); // prettier-ignore
      openssl('x509', '-req', '-in', `${name}.csr`, '-CA', 'ca.pem', '-CAkey', 'ca.key', '-days', '2', '-copy_extensions', 'copy', '-out', `${name}.pem`); // prettier-ignore
    }
    const [ca, cert, key] = ['ca.pem', 'client.pem', 'client.key'].map((name) => readFileSync(file(name), 'utf8'));
    const files = ['--tls-ca-cert-file', file('ca.pem'), '--tls-cert-file', file('server.pem')];
    redis = await RedisProcess.start(command, [...files, '--tls-key-file', file('server.key')], {
      client: { tls: { ca, cert, key } },
    });
    await redis.ask((admin) => admin.call('ACL', 'SETUSER', 'signalbox', 'on', `>${PASSWORD}`, ...documentedRules().split(' '))); // prettier-ignore
    env = {
      REDIS_URL: `rediss://signalbox:${encodeURIComponent(PASSWORD)}@127.0.0.1:${redis.port}`,
      REDIS_CA_FILE: file('ca.pem'),
      REDIS_CERT_FILE: file('client.pem'),
      REDIS_KEY_FILE: file('client.key'),
    };
  }, START_MS);

  afterAll(async () => {
    await redis?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it(
    'executes, streams and cancels runs with the documented permissions',
    async () => {
      const app = await startTestApp({ env });
      try {
        const thread = await ThreadClient.create(app, await createAgent(app));
        const { taskId, ...stream } = await thread.ask('Hello');
        await thread.expectWhole(taskId, stream);
        const waiting = await thread.postMessage('/wait 60000');
        await thread.waitFor(waiting, 'running');
        await thread.cancel(waiting).expect(202);
        await thread.waitFor(waiting, 'cancelled');
        expect((await fetch(`${app.url}/health/ready`)).status).toBe(200);
      } finally {
        await app.close();
      }
      // Redis records each command that the user may not run.
      expect(await redis.ask((admin) => admin.call('ACL', 'LOG'))).toEqual([]);
    },
    START_MS,
  );

  it.each([
    ['a server whose certificate another authority signed', () => ({ REDIS_CA_FILE: file('other-ca.pem') })],
    ['a wrong password', () => ({ REDIS_URL: `rediss://signalbox:wrong@127.0.0.1:${redis.port}` })],
  ])(
    'is not ready with %s, and no log line contains the password',
    async (_, change) => {
      const lines: string[] = [];
      const app: TestApp = await startTestApp({
        env: { ...env, ...change(), LOG_LEVEL: 'info' },
        onLogLine: (line) => lines.push(line),
      });
      try {
        const answer = await fetch(`${app.url}/health/ready`);
        expect({ status: answer.status, body: await answer.json() }).toMatchObject({
          status: 503,
          body: { checks: { redis: 'unavailable', database: 'ok' } },
        });
      } finally {
        await app.close();
      }
      expect(lines.length).toBeGreaterThan(0);
      const log = lines.join('\n');
      for (const secret of [PASSWORD, encodeURIComponent(PASSWORD), 'signalbox:wrong'])
        expect(log).not.toContain(secret);
    },
    START_MS,
  );
});
