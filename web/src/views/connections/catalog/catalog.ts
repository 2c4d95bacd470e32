import catalog from './servers.json';

interface ServerFacts {
  readonly id: string;
  readonly name: string;
  readonly does: string;
  /** What somebody needs before the server answers. */
  readonly needs: string;
  readonly documentation: string;
}

interface HttpServer extends ServerFacts {
  readonly url: string;
  readonly auth: 'none' | 'token' | 'oauth';
}

interface ProgramServer extends ServerFacts {
  readonly command: string;
  readonly args: readonly string[];
  /** Variables that somebody has to fill in. */
  readonly env?: readonly { readonly name: string; readonly about: string }[];
}

/** A well-known MCP server. `servers.schema.json` describes the file. */
export type CatalogServer = HttpServer | ProgramServer;

export const CATALOG = catalog.servers as readonly CatalogServer[];

/** True if the server is a program that this service starts. */
export function isProgram(server: CatalogServer): server is ProgramServer {
  return 'command' in server;
}

export function serverWithId(id: string): CatalogServer | undefined {
  return CATALOG.find((server) => server.id === id);
}
