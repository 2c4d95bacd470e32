import { createServer } from 'node:http';

/**
 * Serves a peer's runs over HTTP, with no authentication: `POST /<run>` starts a run and answers with its stream,
 * `GET /<run>` follows the stream of a run after `Last-Event-ID`, and `GET /<run>/answers` lists its stored answers.
 * @param {{ start(run: string, question: string, reader: object): Promise<void>,
 *   follow?(run: string, after: number, reader: object): Promise<void>, answers(run: string): Promise<string[]>,
 *   handlers?: Record<string, (request: Request) => Promise<Response>> }} peer with its own routes in `handlers`
 *   A `reader` has `accept()`, which answers that the run has begun, `word(index, text)`, `words(texts)`, which also
 *   ends the stream, `end()`, and `lose()` for a run of which there is no more.
 */
export function servePeer({ start, follow: followStored, answers, handlers = {} }) {
  /** Without stored streams, there is nothing but the end of an answer that is complete. */
  const endIfStored = async (run, _after, reader) => {
    if ((await answers(run)).length > 0) reader.end();
    else reader.lose();
  };
  const follow = followStored ?? endIfStored;
  const server = createServer(async (request, response) => {
    try {
      const [, run, part] = request.url.split('/');
      const handler = handlers[request.url];
      if (handler !== undefined) await handle(handler, request, response);
      else if (part === 'answers') {
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(await answers(run)));
      } else if (request.method === 'GET') {
        await follow(run, Number(request.headers['last-event-id'] ?? -1), readerOf(response));
      } else {
        const { question } = JSON.parse((await request.toArray()).join(''));
        await start(run, question, readerOf(response));
      }
    } catch (error) {
      console.error(error);
      response.destroy();
    }
  });
  server.listen(Number(process.env.PORT), '127.0.0.1', () => console.log('peer listens'));
  process.once('SIGTERM', () => process.exit(0));
}

/** Answers with what a handler of the Fetch API returns. */
async function handle(handler, request, response) {
  const { url, method, headers } = request;
  const body = Buffer.concat(await request.toArray());
  const answer = await handler(new Request(`http://127.0.0.1${url}`, { method, headers, body }));
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  response.end(Buffer.from(await answer.arrayBuffer()));
}

function readerOf(response) {
  response.setHeader('content-type', 'text/event-stream');
  const word = (index, delta) =>
    response.write(`id: ${index}\ndata: ${JSON.stringify({ type: 'text-delta', delta })}\n\n`);
  const end = () => response.end('data: [DONE]\n\n');
  return {
    accept: () => response.flushHeaders(),
    word,
    async words(texts) {
      let index = 0;
      for await (const text of texts) word(index++, text);
      end();
    },
    end,
    lose: () => response.end(),
  };
}
