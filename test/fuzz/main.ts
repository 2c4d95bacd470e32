/**
 * `npm run fuzz`: sends random sequences of requests to the built service and holds each answer against rules. They are
 * made of the service's own OpenAPI document; the servers behind it are real ones.
 *
 * --requests <n>     how many, about (20,000)
 * --seed <n>         what they are made of (1); the same seed makes the same sequences
 * --at-once <n>      sequences under way at once (24)
 * --only <n>         only the sequence of this number, shrunk when it fails
 * --keep-going       count faults instead of ending at the first ten
 */
import { parseArgs } from 'node:util';
import * as fc from 'fast-check';
import { startEnvironment, type Environment } from './environment.js';
import { Sender } from './sender.js';
import { Fault, SequenceRunner } from './sequence-runner.js';
import { sequences, type Sequence } from './sequences.js';
import { Tally } from './tally.js';

/** Sequences that are made in one go; a number beyond it begins the next seed. */
const BATCH = 20;
const MOST_FAULTS = 10;
const SHRINK_MS = 60_000;
const SHRUNK_FAULTS = 3;
const RUNS_END_MS = 90_000;

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '20000' },
    seed: { type: 'string', default: '1' },
    'at-once': { type: 'string', default: '24' },
    only: { type: 'string' },
    'keep-going': { type: 'boolean', default: false },
  },
});
const seed = Number(values.seed);
const requests = Number(values.requests);
const atOnce = Number(values['at-once']);

const environment = await startEnvironment();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void environment.close());
try {
  process.exitCode = (await fuzz(environment)) ? 0 : 1;
} finally {
  await environment.close();
}

/** @returns whether every rule was kept */
async function fuzz(environment: Environment): Promise<boolean> {
  const tally = new Tally();
  const sender = new Sender(environment.url, atOnce * 6);
  const runner = new SequenceRunner(sender, environment.fixtures, tally);
  const arbitrary = sequences(environment.document);
  const faults = new Map<string, { number: number; fault: unknown; count: number }>();
  const begun = performance.now();
  console.log(`Seed ${seed}, ${values.only === undefined ? `${requests} requests` : `sequence ${values.only}`}`);

  let next = values.only === undefined ? 0 : Number(values.only);
  let made: Sequence[] = [];
  const take = (): { number: number; sequence: Sequence } => {
    const number = next++;
    if (number % BATCH === 0 || made.length === 0)
      made = fc.sample(arbitrary, { seed: seedOf(number), numRuns: BATCH }) as Sequence[];
    return { number, sequence: made[number % BATCH] ?? [] };
  };
  const isOver = (): boolean =>
    environment.hasEnded() ||
    (values.only === undefined ? tally.requests >= requests : next > Number(values.only)) ||
    (faults.size >= MOST_FAULTS && !values['keep-going']);
  const worker = async (): Promise<void> => {
    while (!isOver()) {
      const { number, sequence } = take();
      await runner.run(sequence).catch((fault: unknown) => {
        const kind = kindOf(fault);
        const known = faults.get(kind);
        faults.set(kind, { number, fault, ...known, count: (known?.count ?? 0) + 1 });
      });
    }
  };
  const progress = setInterval(() => console.log(`${tally.requests} requests, ${faults.size} kinds of faults`), 30_000);
  await Promise.all(Array.from({ length: atOnce }, worker));
  clearInterval(progress);
  const seconds = (performance.now() - begun) / 1000;

  for (const { number, fault, count } of [...faults.values()].slice(0, SHRUNK_FAULTS * 4)) {
    console.log(
      `\n${count} × fault in sequence ${number} (npm run fuzz -- --seed ${seed} --only ${number}): ${described(fault)}`,
    );
  }
  for (const { number } of [...faults.values()].slice(0, environment.hasEnded() ? 0 : SHRUNK_FAULTS))
    await shrink(number);

  async function shrink(number: number): Promise<void> {
    const property = fc.asyncProperty(arbitrary, async (sequence) => runner.run(sequence));
    const parameters = {
      seed: seedOf(number),
      path: String(number % BATCH),
      numRuns: 1,
      interruptAfterTimeLimit: SHRINK_MS,
    };
    const { counterexample, errorInstance } = await fc.check(property, parameters);
    if (counterexample === null)
      return console.log(`\nSequence ${number} does not fail alone: what else went on at the time is part of it.`);
    console.log(
      `\nSequence ${number}, shrunk:\n${JSON.stringify(counterexample[0], null, 1)}\n${described(errorInstance)}`,
    );
  }

  const lasting = await lastingFaults(environment);
  for (const fault of lasting) console.log(`\nAt the end: ${fault}`);
  await sender.close();
  console.log(`\n${tally.table()}\n\n${tally.codes()}\n\nThe slowest:\n${tally.slowest()}`);
  console.log(
    `\n${tally.requests} requests in ${seconds.toFixed(1)} s (${Math.round(tally.requests / seconds)} per second), longest ${Math.round(tally.longestMs)} ms, seed ${seed}`,
  );
  const failed = [...faults.values()].reduce((sum, { count }) => sum + count, lasting.length);
  console.log(failed === 0 ? 'Every rule was kept.' : `${failed} faults of ${faults.size + lasting.length} kinds.`);
  return failed === 0;
}

function seedOf(number: number): number {
  return (Math.imul(seed, 0x9e3779b1) + Math.floor(number / BATCH)) | 0;
}

function kindOf(fault: unknown): string {
  return fault instanceof Fault
    ? `${fault.rule} ${fault.rule.includes(' key') ? '' : fault.step.label}`
    : String(fault);
}

function described(fault: unknown): string {
  if (!(fault instanceof Fault)) return String((fault as Error)?.stack ?? fault);
  const { rule, step, sent, answer } = fault;
  return `${rule}\n${step.method} ${sent.path}\n${JSON.stringify(sent.headers)}\n${sent.body?.slice(0, 2_000) ?? ''}\n→ ${answer}`;
}

/** Whether the service is as well as at the beginning: it lives, is ready, calls a tool and finishes runs. */
async function lastingFaults(environment: Environment): Promise<string[]> {
  const faults = [...environment.logFaults()];
  if (environment.hasEnded()) return [...faults, `The process ended: ${environment.logTail()}`];
  const { fixtures, url, tool } = environment;
  const headers = { authorization: `Bearer ${fixtures.keys['all']}`, 'content-type': 'application/json' };
  const ask = async (path: string, body?: object): Promise<string> => {
    const response = await fetch(`${url}${path}`, {
      headers,
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (response.status >= 400) faults.push(`${path} answered ${response.status}: ${text}`);
    return text;
  };
  try {
    await ask('/health/ready');
    const params = { name: 'echo', arguments: { message: 'all is well' } };
    for (const id of fixtures.connections.slice(0, 5)) {
      const answer = await ask(`/api/default/mcp/${id}`, { jsonrpc: '2.0', id: 1, method: 'tools/call', params });
      if (!answer.includes('all is well')) faults.push(`A call is answered ${answer}`);
    }
    const { item } = await tool('COLLECTION_THREADS_CREATE', {
      data: { title: 'Last', virtual_mcp_id: fixtures.agents[0] },
    });
    const path = `/api/default/agent-runtime/threads/${(item as { id: string }).id}`;
    const messages = [{ role: 'user', parts: [{ type: 'text', text: 'all is well' }] }];
    const { taskId } = JSON.parse(await ask(`${path}/messages`, { messages, agent: { id: fixtures.agents[0] } })) as {
      taskId: string;
    };
    const stream = await ask(`${path}/stream?taskId=${taskId}`);
    if (!stream.includes('"type":"finish"')) faults.push(`A run is answered ${stream}`);
    faults.push(...(await unfinishedRuns(tool)));
  } catch (error) {
    faults.push(`What is ordinary fails: ${String((error as Error).stack)} ${environment.logTail()}`);
  }
  return faults;
}

/** Runs that have no end within the time that a run of the fuzzer can take. */
async function unfinishedRuns(tool: Environment['tool']): Promise<string[]> {
  const where = { field: ['status'], operator: 'in', value: ['queued', 'running'] };
  const deadline = Date.now() + RUNS_END_MS;
  for (;;) {
    const { totalCount, items } = await tool('RUN_LIST', { where, limit: 3 });
    if (totalCount === 0) return [];
    if (Date.now() > deadline) return [`${String(totalCount)} runs have no end: ${JSON.stringify(items)}`];
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}
