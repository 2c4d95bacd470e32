/**
 * `npm run client:types`: writes `packages/client/src/openapi.ts`, the types of the OpenAPI document of the present build. With a
 * URL, uses the service there, and with `--check` compares instead: the exit code is 1 if the file is out of date.
 */
import { readFile, writeFile } from 'node:fs/promises';
import openapiTS, { astToString, COMMENT_HEADER } from 'openapi-typescript';
import { makeDataFolder, startSignalbox } from '../examples/support/processes.mjs';

const FILE = new URL('../packages/client/src/openapi.ts', import.meta.url);
const TIMEOUT_MS = 60_000;

const [url] = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const types = url === undefined ? await typesOfBuild() : await typesOf(url);
if (!process.argv.includes('--check')) await writeFile(FILE, types);
else if ((await readFile(FILE, 'utf8')) !== types) {
  process.stderr.write('packages/client/src/openapi.ts is out of date. Run npm run client:types.\n');
  process.exitCode = 1;
}

async function typesOfBuild() {
  await using cleanup = new AsyncDisposableStack();
  const dataFolder = await makeDataFolder(cleanup);
  const service = await startSignalbox(dataFolder, cleanup, AbortSignal.timeout(TIMEOUT_MS));
  return await typesOf(service.url);
}

async function typesOf(service) {
  const response = await fetch(`${service}/openapi.json`);
  return COMMENT_HEADER + astToString(await openapiTS(await response.json(), { emptyObjectsUnknown: true }));
}
