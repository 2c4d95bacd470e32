/**
 * `npm pack` runs this: fills `lib`, which is what the package ships, with the current build and its type declarations.
 * npm leaves symbolic links such as `dist` out of a package.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, realpath, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const LIB = join(ROOT, 'lib');
const UNFINISHED = join(ROOT, '.builds', `package-${process.pid}`);

await run(join(ROOT, 'scripts/build.mjs'));
try {
  await cp(await realpath(join(ROOT, 'dist')), UNFINISHED, { recursive: true });
  const tsc = createRequire(join(ROOT, 'package.json')).resolve('typescript/bin/tsc');
  await run(tsc, '--project', 'tsconfig.build.json', '--declaration', '--emitDeclarationOnly', '--outDir', UNFINISHED);
  await rm(LIB, { recursive: true, force: true });
  await rename(UNFINISHED, LIB);
} finally {
  await rm(UNFINISHED, { recursive: true, force: true });
}

/** The output goes to standard error: standard output belongs to `npm pack`. */
async function run(script, ...args) {
  const child = spawn(process.execPath, [script, ...args], { cwd: ROOT, stdio: ['ignore', 2, 2] });
  const [code] = await once(child, 'exit');
  if (code !== 0) process.exit(code ?? 1);
}
