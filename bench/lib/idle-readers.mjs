/**
 * Opens idle streams from a separate process and keeps them open until the process is stopped. The first argument is
 * the path of a JSON file with `{ headers, streams: [url…] }`. Prints `open` when all streams are open.
 */
import { readFile } from 'node:fs/promises';
import { EventReader } from './http-client.mjs';

const AT_ONCE = 50;

const { headers, streams } = JSON.parse(await readFile(process.argv[2], 'utf8'));
for (let i = 0; i < streams.length; i += AT_ONCE) {
  await Promise.all(streams.slice(i, i + AT_ONCE).map((url) => EventReader.open(url, headers)));
}
console.log('open');
