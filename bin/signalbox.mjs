#!/usr/bin/env node
/**
 * `npx signalbox`. The published package has its build in `lib`; a checkout has its sources, and makes a current build
 * first.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = new URL('../', import.meta.url);
const isCheckout = existsSync(new URL('scripts/build.mjs', ROOT));

if (Number(process.versions.node.split('.')[0]) < 24) {
  process.stderr.write(`Signalbox needs Node.js 24 or later; this is ${process.version}.\n`);
  process.exit(1);
}
if (isCheckout) {
  const build = spawnSync(process.execPath, [fileURLToPath(new URL('scripts/build.mjs', ROOT))], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (build.status !== 0) process.exit(build.status ?? 1);
}
await import(new URL(isCheckout ? 'dist/packages/cli/src/main.js' : 'lib/packages/cli/src/main.js', ROOT).href);
