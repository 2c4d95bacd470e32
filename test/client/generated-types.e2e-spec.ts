import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runProgram } from '../support/program.js';

const pathOf = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

let folder: string;

beforeAll(async () => {
  // Below the repository, so that the compiler is found.
  folder = await mkdtemp(pathOf('node_modules/.generated-types-'));
  // The client's test compares them with the document.
  await copyFile(pathOf('packages/client/src/openapi.ts'), join(folder, 'api.ts'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const node = (...args: string[]) => runProgram(process.execPath, args, { cwd: folder });

/** What somebody writes with the types of the generator: it compiles only if they say enough, and not too little. */
const CALLER = `
import type { components, operations, paths } from './api.js';

type Input<Name extends keyof operations> = operations[Name] extends { requestBody: { content: { 'application/json': infer Body } } } ? Body : never;

export const thread: Input<'COLLECTION_THREADS_CREATE'> = { data: { title: 'T', virtual_mcp_id: 'x', metadata: { a: 'b' } } };
export const run: Input<'postMessage'> = { messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }], agent: { id: 'x' } };
// @ts-expect-error a role that run requests do not have
export const wrong: Input<'postMessage'> = { messages: [{ role: 'tool', parts: [] }], agent: { id: 'x' } };
// @ts-expect-error the name is missing
export const nameless: Input<'API_KEY_CREATE'> = { permissions: { self: ['RUN_GET'] } };

export function read(chunk: components['schemas']['UiMessageChunk']): string {
  return chunk.type === 'text-delta' ? chunk.delta : chunk.type === 'error' ? chunk.errorText : '';
}
export function taskOf(answer: paths['/api/{org}/agent-runtime/threads/{threadId}/messages']['post']['responses'][202]['content']['application/json']): string {
  return answer.taskId;
}
export function explain(result: components['schemas']['RunResult'], problem: components['schemas']['Problem']): string {
  const error: { code: string; message: string } | null = result.error;
  return error === null ? problem.code.toUpperCase() : error.message;
}
`;

describe('the types that openapi-typescript makes of the reference', () => {
  it('compile, and are of use to a caller', async () => {
    await writeFile(join(folder, 'caller.ts'), CALLER);
    const options = { module: 'nodenext', target: 'es2022', strict: true, noEmit: true, types: [] };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files: ['caller.ts'] }));
    expect(await node(pathOf('node_modules/typescript/bin/tsc'), '-p', folder)).toEqual({ end: 0, output: '' });
  });

  it('are part of the package, which builds without dependencies', async () => {
    const build = ['-p', pathOf('packages/client'), '--outDir', join(folder, 'dist')];
    expect(await node(pathOf('node_modules/typescript/bin/tsc'), ...build)).toEqual({ end: 0, output: '' });
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    const script = "import('./dist/index.js').then((client) => console.log(Object.keys(client).sort().join(' ')))";
    const { output } = await node('-e', script);
    expect(output.trim()).toBe('Signalbox SignalboxError filePart');
    const manifest = JSON.parse(await readFile(pathOf('packages/client/package.json'), 'utf8')) as object;
    expect(manifest).not.toHaveProperty('dependencies');
  });
});
