/**
 * `npm run start:dev`: compiles the sources into `.watch` at every change, and restarts the service with them. The
 * service stops in order before the next one starts, and before this process ends.
 */
import { spawn } from 'node:child_process';
import { existsSync, watch } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const OUTPUT = join(ROOT, '.watch');
const MAIN = join(OUTPUT, 'main.js');
const NEST = createRequire(import.meta.url).resolve('@nestjs/cli/bin/nest.js');
/** The compiler writes the files of one change within this time. */
const SETTLED_MS = 300;

let service;
/** Since the start of the service. */
let hasChanged = false;
let isEnding = false;
let timer;
let changes;

await rm(OUTPUT, { recursive: true, force: true });
// Leads its own group, to which its type checker belongs. On a terminal it would show a spinner, which reads Ctrl-C as
// a key.
const compiler = run([NEST, 'build', '--watch', '--watchAssets', '--path', 'tsconfig.watch.json'], {
  detached: true,
  stdio: ['ignore', 'inherit', 'inherit'],
});
compiler.once('exit', (code) => {
  if (isEnding) return;
  process.exitCode = code ?? 1;
  end('SIGTERM');
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, end);
// A terminal that was closed must not prevent the orderly stop.
for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined);

// The compiler replaces the folder before it writes the first file.
const appearance = setInterval(() => {
  if (!existsSync(MAIN)) return;
  clearInterval(appearance);
  changes = watch(OUTPUT, { recursive: true }, restartSoon);
  restartSoon();
}, 100);

function restartSoon() {
  clearTimeout(timer);
  timer = setTimeout(() => existsSync(MAIN) && restart(), SETTLED_MS);
}

/** The end of the present service starts the next one. */
function restart() {
  if (isEnding || hasChanged) return;
  hasChanged = true;
  if (service === undefined) start();
  else service.kill('SIGTERM');
}

function start() {
  hasChanged = false;
  service = run(['--enable-source-maps', MAIN]);
  service.once('exit', (code) => {
    service = undefined;
    if (isEnding) process.exitCode ??= code ?? 1;
    else if (hasChanged) start();
  });
}

/** This process ends with its children. Every signal reaches the service, which knows which of them belong together. */
function end(signal) {
  if (!isEnding) endCompiler();
  isEnding = true;
  clearInterval(appearance);
  changes?.close();
  clearTimeout(timer);
  service?.kill(signal);
}

/** Its type checker obeys other signals only between two checks. */
function endCompiler() {
  try {
    process.kill(-compiler.pid, 'SIGKILL');
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

function run(args, options) {
  return spawn(process.execPath, args, { cwd: ROOT, stdio: 'inherit', ...options });
}
