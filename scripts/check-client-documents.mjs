/**
 * `npm run check:client-documents`: looks for the addresses of the client documents that ship with the service in the
 * latest releases of those clients that are on npm. It downloads some hundred megabytes, so no other check runs it. The
 * contents of a document are compared by hand where its publisher shows it, and
 * `src/identity/oauth/known-client-documents.ts` has the date.
 */
import { execFile } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createGunzip } from 'node:zlib';
import { KNOWN_CLIENT_DOCUMENTS } from '../dist/identity/oauth/known-client-documents.js';

/**
 * The packages of the programs that send the addresses; a package for each platform holds the program. The other
 * clients are not on npm, send theirs from a server, or have not yet released it.
 */
const PACKAGES = {
  'https://claude.ai/oauth/claude-code-client-metadata': '@anthropic-ai/claude-code',
  'https://chatgpt.com/oauth/codex/client.json': '@openai/codex',
};
const PLATFORM = 'linux-x64';

const run = promisify(execFile);
const folder = await mkdtemp(join(tmpdir(), 'signalbox-client-documents-'));
try {
  for (const address of KNOWN_CLIENT_DOCUMENTS.keys()) {
    const name = PACKAGES[address];
    if (name === undefined) {
      console.log(`by hand  ${address}`);
      continue;
    }
    const { id, file } = await download(`${name}-${PLATFORM}`, name);
    const isFound = await contains(file, address);
    console.log(`${isFound ? 'found  ' : 'MISSING'}  ${address} (${id})`);
    if (!isFound) process.exitCode = 1;
  }
} finally {
  await rm(folder, { recursive: true });
}

async function download(program, name) {
  const { stdout: versions } = await run('npm', ['view', '--json', name, 'optionalDependencies']);
  const wanted = `${program}@${JSON.parse(versions)[program]}`;
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder, wanted]);
  const [{ id, filename }] = Object.values(JSON.parse(stdout));
  return { id, file: join(folder, filename) };
}

/** True if the text is in a file of the archive. */
async function contains(file, text) {
  let end = Buffer.alloc(0);
  for await (const piece of createReadStream(file).pipe(createGunzip())) {
    const bytes = Buffer.concat([end, piece]);
    if (bytes.includes(text)) return true;
    end = bytes.subarray(-text.length);
  }
  return false;
}
