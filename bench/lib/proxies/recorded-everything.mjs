/**
 * Runs `server-everything`, and appends the protocol revision that each `initialize` asks it for to a file, a line
 * each: `node recorded-everything.mjs <file> stdio|streamableHttp`. The server speaks every revision that it is asked
 * for. Over STDIO only the first message is looked at, over HTTP each request until SIGUSR2: timed calls pass nothing
 * of it.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { appendFileSync } from 'node:fs';

const EVERYTHING = new URL(
  '../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js',
  import.meta.url,
);
const REQUESTS = 'http.server.request.start';
const [file] = process.argv.splice(2, 1);

/** Looks at the data of a stream as its reader takes it. */
function look(stream, onData) {
  const { emit } = stream;
  stream.emit = function emitLookedAt(event, ...values) {
    if (event === 'data') onData(String(values[0]), () => delete stream.emit);
    return emit.call(this, event, ...values);
  };
}

function record(text) {
  if (!/"method":\s*"initialize"/.test(text)) return;
  const [, revision] = /"protocolVersion":\s*"([^"]+)"/.exec(text) ?? [];
  if (revision !== undefined) appendFileSync(file, `${revision}\n`);
}

if (process.argv[2] === 'stdio') {
  look(process.stdin, (text, leave) => {
    record(text);
    leave();
  });
} else {
  const onRequest = ({ request }) => look(request, record);
  subscribe(REQUESTS, onRequest);
  process.once('SIGUSR2', () => unsubscribe(REQUESTS, onRequest));
}
await import(EVERYTHING.href);
