import { EventReader, postJson } from './http-client.mjs';
import { layOut, number, quantile, ratio } from './report.mjs';

const ROUNDS = 4;
const LATENCY_RUNS = 40;
const CALLERS = 16;
const THROUGHPUT_MS = 2000;

/**
 * The ways to get an answer: a post and an open stream (two requests), a post that waits for the result, and a post
 * that is answered with the stream. Each posts one message on a thread and resolves when the answer is complete.
 */
const FORMS = {
  'two requests': {
    needsReader: true,
    ask: ({ headers, body }, { thread, reader }) =>
      Promise.all([postJson(thread.messages, headers, body), readToEnd(reader)]),
  },
  'Prefer: wait': {
    ask: async ({ headers, body }, { thread }) => {
      const { status } = await postJson(thread.messages, { ...headers, prefer: 'wait=60' }, body);
      if (status !== 'completed') throw new Error(`A run is ${status}.`);
    },
  },
  'stream from the POST': {
    ask: async ({ headers, body }, { thread }) => readToEnd(await EventReader.open(thread.messages, headers, body)),
  },
};

/**
 * Measures the forms, which alternate round by round.
 * @returns for each form, milliseconds to the whole answer, and runs per second
 */
export async function compareForms(target) {
  const figures = Object.fromEntries(Object.keys(FORMS).map((name) => [name, { answer: [], runsPerSecond: [] }]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, form] of Object.entries(FORMS)) {
      figures[name].answer.push(...(await answersOf(target, form)));
      figures[name].runsPerSecond.push(await throughputOf(target, form));
    }
  }
  return figures;
}

/** Formats them, with the ratio to two requests. */
export function formsTable(backend, figures) {
  const base = figures['two requests'];
  const row = (title, figure) => [
    title,
    ...Object.values(figures).flatMap((each) => {
      const value = quantile(each[figure], 0.5);
      return [number(value), ratio(value, quantile(base[figure], 0.5))];
    }),
  ];
  return layOut([
    [backend, ...Object.keys(figures).flatMap((name) => [name, ':'])],
    row('whole answer p50, ms', 'answer'),
    row('runs per second', 'runsPerSecond'),
  ]);
}

async function answersOf(target, form) {
  const answers = [];
  for (let i = 0; i < LATENCY_RUNS; i++) {
    const place = await openPlace(target, form);
    const start = performance.now();
    await form.ask(target, place);
    answers.push(performance.now() - start);
    place.reader?.close();
  }
  return answers;
}

async function throughputOf(target, form) {
  const places = await Promise.all(Array.from({ length: CALLERS }, () => openPlace(target, form)));
  let runs = 0;
  const start = performance.now();
  await Promise.all(
    places.map(async (place) => {
      for (; performance.now() - start < THROUGHPUT_MS; runs++) await form.ask(target, place);
    }),
  );
  const seconds = (performance.now() - start) / 1000;
  for (const { reader } of places) reader?.close();
  return runs / seconds;
}

/** A new thread, and its open stream for the form that needs it. */
async function openPlace(target, { needsReader = false }) {
  const thread = await target.newThread();
  return { thread, reader: needsReader ? await EventReader.open(thread.stream, target.headers) : undefined };
}

async function readToEnd(reader) {
  for (;;) if ((await reader.next()).data === '[DONE]') return;
}
