import { constants } from 'node:fs';
import { access, mkdir, statfs } from 'node:fs/promises';
import { connect } from 'node:net';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { Signalbox } from '../../client/src/signalbox.js';
import { SignalboxError } from '../../client/src/signalbox-error.js';
import { addressOf, keyFromEnvironment, serviceCommand } from './service.js';
import { printable, say } from './terminal.js';

type Finding = readonly ['ok' | 'note' | 'fault', string];

const DIAL_MS = 3_000;
const LEAST_FREE_BYTES = 1024 ** 3;

export function doctorCommand(): Command {
  return serviceCommand('doctor')
    .description('say what is missing here: machine, stores, service, key, model, connections')
    .action(async (_options, command: Command) => {
      let faults = 0;
      for await (const [kind, sentence] of examine(addressOf(command))) {
        if (kind === 'fault') faults++;
        say(`${{ ok: '  ok  ', note: 'note  ', fault: 'FAULT ' }[kind]}  ${printable(sentence)}`);
      }
      say();
      say(
        faults === 0 ? 'Nothing is in the way.' : `${faults} ${faults === 1 ? 'thing is' : 'things are'} in the way.`,
      );
      if (faults > 0) process.exitCode = 1;
    });
}

async function* examine(address: { url: string; org: string }): AsyncGenerator<Finding> {
  yield ['ok', `Node.js ${process.versions.node}`];
  yield await dataFolder();
  for (const name of ['DATABASE_URL', 'REDIS_URL']) {
    const url = process.env[name];
    if (url !== undefined) yield await reachable(name, url);
  }
  const readiness = await service(address.url);
  yield readiness;
  if (readiness[0] !== 'ok') return;
  const apiKey = keyFromEnvironment();
  if (apiKey === undefined) {
    yield ['fault', 'No API key is in the environment. Set API_KEY to the key that the first start printed.'];
    return;
  }
  yield* organization(new Signalbox({ ...address, apiKey }));
}

async function dataFolder(): Promise<Finding> {
  if (process.env['DATABASE_URL'] !== undefined) return ['ok', 'The data is in the PostgreSQL of DATABASE_URL.'];
  const folder = resolve(process.env['DATA_DIR'] ?? '.data');
  try {
    await mkdir(folder, { recursive: true });
    await access(folder, constants.W_OK);
    const { bavail, bsize } = await statfs(folder);
    const free = bavail * bsize;
    const gigabytes = (free / 1024 ** 3).toFixed(1);
    if (free < LEAST_FREE_BYTES) return ['fault', `Only ${gigabytes} GiB are free for the data in ${folder}.`];
    return ['ok', `The data is in ${folder}, where ${gigabytes} GiB are free.`];
  } catch (error) {
    return ['fault', `The folder of the data, ${folder}, cannot be written: ${messageOf(error)}`];
  }
}

/** Only dials: the service itself says in a sentence what is wrong with a user, a password or a certificate. */
async function reachable(name: string, text: string): Promise<Finding> {
  if (!URL.canParse(text)) return ['fault', `${name} is not a URL.`];
  const { hostname, port, protocol } = new URL(text);
  const to = { host: hostname, port: Number(port || (protocol.startsWith('redis') ? 6379 : 5432)) };
  const fault = await new Promise<string | undefined>((done) => {
    const socket = connect({ ...to, timeout: DIAL_MS });
    const end = (reason?: string): void => {
      socket.destroy();
      done(reason);
    };
    socket.on('connect', () => end());
    socket.on('timeout', () => end(`nothing answers within ${DIAL_MS / 1000} seconds`));
    socket.on('error', (error) => end(messageOf(error)));
  });
  const where = `${name} (${to.host}:${to.port})`;
  return fault === undefined ? ['ok', `${where} accepts connections.`] : ['fault', `${where}: ${fault}`];
}

async function service(url: string): Promise<Finding> {
  try {
    const response = await fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(DIAL_MS) });
    const { checks = {} } = (await response.json()) as { checks?: Record<string, string> };
    const failing = Object.entries(checks).flatMap(([name, result]) => (result === 'ok' ? [] : [name]));
    if (response.ok) return ['ok', `The service at ${url} is ready.`];
    return ['fault', `The service at ${url} is not ready: ${failing.join(', ') || response.status}.`];
  } catch (error) {
    return ['fault', `No service answers at ${url} (${messageOf(error)}). Start one: npx signalbox start`];
  }
}

async function* organization(signalbox: Signalbox): AsyncGenerator<Finding> {
  try {
    const { items, totalCount } = await signalbox.tool('COLLECTION_CONNECTIONS_LIST', { limit: 100 });
    yield ['ok', `The API key is valid. There are ${totalCount} connections.`];
    for (const { title, status, status_reason: reason } of items) {
      if (status === 'error')
        yield ['fault', `The connection ${title} does not work: ${reason ?? 'no reason is known'}`];
    }
    const { items: providers } = await signalbox.tool('AI_PROVIDER_LIST', {});
    if (providers.length > 0) yield ['ok', `${providers.length} AI providers are configured.`];
    else
      yield ['note', 'No AI provider is configured: the built-in model answers, which only repeats what it is told.'];
  } catch (error) {
    if (!(error instanceof SignalboxError)) throw error;
    if (error.status === 403) yield ['note', `The key may not look further: ${error.message}`];
    else yield ['fault', `The API key is refused: ${error.message}`];
  }
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return cause instanceof Error && cause.message !== '' ? cause.message : error.message;
}
