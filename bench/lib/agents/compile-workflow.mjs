import { execFile } from 'node:child_process';
import { copyFile, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const CLIENT = fileURLToPath(new URL('model-client.mjs', import.meta.url));
/** A workflow of one step, which writes the words of the model's answer to the stream of the run. */
const SOURCE = `
import { getWritable } from 'workflow';
import { wordsOf } from './model-client.mjs';

export async function answer(question) {
  'use workflow';
  return ask(question);
}

async function ask(question) {
  'use step';
  const writer = getWritable().getWriter();
  const words = [];
  for await (const word of wordsOf(question)) {
    await writer.write(word);
    words.push(word);
  }
  await writer.close();
  return words.join('');
}
`;

/**
 * Compiles the workflow, and prepares its database. The compiler names steps by the package that they are in, so it
 * runs in a folder that is not below a `node_modules`.
 * @param {string} installed the folder with the packages
 * @param {string} folder gets the compiled workflow
 */
export async function compileWorkflow(installed, folder, databaseUrl) {
  const workflows = join(folder, 'workflows');
  await mkdir(workflows, { recursive: true });
  await writeFile(join(folder, 'package.json'), '{ "name": "bench", "private": true }');
  await writeFile(join(workflows, 'answer.mjs'), SOURCE);
  await copyFile(CLIENT, join(workflows, 'model-client.mjs'));
  await symlink(join(installed, 'node_modules'), join(folder, 'node_modules'));
  const run = (script, args, env) =>
    promisify(execFile)(process.execPath, [join(installed, 'node_modules', script), ...args], {
      cwd: folder,
      env: { ...process.env, ...env },
    });
  await run('workflow/bin/run.js', ['build', '--target', 'standalone']);
  await run('@workflow/world-postgres/bin/setup.js', [], { WORKFLOW_POSTGRES_URL: databaseUrl });
}
