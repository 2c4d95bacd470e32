import { parentPort } from 'node:worker_threads';
import type { CheckAnswer, CheckRequest, Ready } from './check-thread.js';
import type { Validate } from './schema-validator.js';

// The body of a check thread: compiles untrusted schemas, and checks arguments against them. Node runs this file
// directly: from `dist`, or, under Jest, from `src` with its types stripped. `src` has no `.js` files, so the modules
// that are shared with the main thread are imported with the extension of this file.
const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js';
const load = (name: string): Promise<unknown> => import(new URL(`./${name}${extension}`, import.meta.url).href);
const { compileSchema } = (await load('schema-validator')) as typeof import('./schema-validator.js');
const { relaxDefaulted } = (await load('defaulted-properties')) as typeof import('./defaulted-properties.js');

const ENDLESS = 'it refers to itself without end, or the value is nested too deeply for it';

const known = new Map<number, Validate>();

function answer({ key, schema, isExact, forget, args }: CheckRequest): CheckAnswer {
  for (const forgotten of forget) known.delete(forgotten);
  let validate = known.get(key);
  if (validate === undefined) {
    try {
      if (schema === undefined) throw new Error('the thread does not have it');
      const parsed: unknown = JSON.parse(schema);
      if (isExact !== true) relaxDefaulted(parsed);
      validate = compileSchema(parsed);
    } catch (error) {
      return {
        kind: 'invalid',
        reason: error instanceof Error ? error.message.slice(0, 1_000) : 'it does not compile',
      };
    }
    known.set(key, validate);
  }
  try {
    return { kind: 'checked', faults: validate(JSON.parse(args)) };
  } catch (error) {
    // A check throws when the stack is exhausted, or when Ajv generated incorrect code.
    const isStackSpent = error instanceof RangeError;
    return { kind: 'failed', reason: isStackSpent ? ENDLESS : 'it cannot be applied to this value' };
  }
}

// Compile the meta-schemas before the first request, whose time is limited.
compileSchema({});
compileSchema({ $schema: 'http://json-schema.org/draft-07/schema#' });

parentPort?.on('message', (request: CheckRequest) => parentPort?.postMessage(answer(request)));
parentPort?.postMessage('ready' satisfies Ready);
