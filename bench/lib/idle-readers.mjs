/**
 * Opens idle streams from a process of its own and keeps them until it is ended.
 * Gets `{ headers, streams: [url…] }` as JSON in the file that the first argument names. Prints `open` when all are open.
 */
import { readFile } from 'node:fs/promises';
import { EventReader } from './http-client.mjs';

const AT_ONCE = 50;

const { headers, streams } = JSON.parse(await readFile(process.argv[2], 'utf8'));
for (let i = 0; i < streams.length; i += AT_ONCE) {
  await Promise.all(streams.slice(i, i + AT_ONCE).map((url) => EventReader.open(url, headers)));
}
console.log('open');
