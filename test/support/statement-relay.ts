import { startTcpProxy, through } from './tcp-proxy.js';

/** A relay in front of PostgreSQL that records every statement which it lets through. */
export interface StatementRelay {
  /** The URL of the database through the relay. */
  url: string;
  /** The texts of the statements so far, one for each execution, in the order of their arrival. */
  statements: readonly string[];
  close(): Promise<void>;
}

/** Starts a relay in front of the database of this URL. Clients must connect without TLS. */
export async function startStatementRelay(url: string): Promise<StatementRelay> {
  const statements: string[] = [];
  const record = (text: string): void => void statements.push(text);
  const proxy = await startTcpProxy(url, (client) => client.on('data', recorder(record)));
  return { url: through(proxy, url), statements, close: proxy.close };
}

/**
 * Reads what a client sends on one connection (https://www.postgresql.org/docs/current/protocol-message-formats.html):
 * a startup message without a type, then messages of a type in one byte, a length that includes itself in four, and the
 * content.
 */
function recorder(onStatement: (text: string) => void): (bytes: Buffer) => void {
  const prepared = new Map<string, string>();
  let rest = Buffer.alloc(0);
  let typeBytes = 0;
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    while (rest.length >= typeBytes + 4) {
      const end = typeBytes + rest.readUInt32BE(typeBytes);
      if (rest.length < end) return;
      const [first = '', second = ''] = rest.toString('utf8', typeBytes + 4, end).split('\0', 2);
      switch (typeBytes === 0 ? undefined : rest.toString('latin1', 0, 1)) {
        case 'Q':
          onStatement(first);
          break;
        case 'P':
          prepared.set(first, second);
          break;
        // Binds the parameters of a portal, its first name, to a statement; each is executed once.
        case 'B':
          onStatement(prepared.get(second) ?? second);
          break;
      }
      rest = rest.subarray(end);
      typeBytes = 1;
    }
  };
}
