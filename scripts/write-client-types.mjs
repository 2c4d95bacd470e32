/**
 * `npm run client:types`: writes `packages/client/src/openapi.ts`, the types of the OpenAPI document of the present
 * sources. It builds the service alone, because the client may not compile with types that are out of date. With a URL,
 * uses the service there, and with `--check` compares instead: the exit code is 1 if the file is out of date.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import openapiTS, { astToString, COMMENT_HEADER } from 'openapi-typescript';
import { makeDataFolder, startSignalbox } from '../examples/support/processes.mjs';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
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
  const main = await buildService(cleanup);
  // The console is built with these types.
  const settings = { CONSOLE: 'off' };
  const service = await startSignalbox(dataFolder, cleanup, AbortSignal.timeout(TIMEOUT_MS), { main, settings });
  return await typesOf(service.url);
}

/** Resolves with the entry of a build of the service that is removed at the end. */
async function buildService(cleanup) {
  const folder = join(ROOT, '.builds', `client-types-${process.pid}`);
  await mkdir(folder, { recursive: true });
  cleanup.defer(() => rm(folder, { recursive: true }));
  await copyFile(join(ROOT, 'package.json'), join(folder, 'package.json'));
  const config = join(folder, 'tsconfig.json');
  await writeFile(
    config,
    JSON.stringify({ extends: '../../tsconfig.build.json', compilerOptions: { outDir: 'dist' } }),
  );
  const nest = createRequire(join(ROOT, 'package.json')).resolve('@nestjs/cli/bin/nest.js');
  const compiler = spawn(process.execPath, [nest, 'build', '--path', relative(ROOT, config)], {
    cwd: ROOT,
    stdio: 'inherit',
  });
  const [code] = await once(compiler, 'exit');
  if (code !== 0) throw new Error('The service does not compile.');
  return join(folder, 'dist/main.js');
}

async function typesOf(service) {
  const response = await fetch(`${service}/openapi.json`);
  return (
    COMMENT_HEADER +
    astToString(await openapiTS(await response.json(), { emptyObjectsUnknown: true, defaultNonNullable: false }))
  );
}
