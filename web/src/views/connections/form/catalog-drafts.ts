import { type CatalogServer, isProgram } from '../catalog/catalog.js';
import { type HttpDraft, httpDraftOf, type ProgramDraft, programDraftOf } from './connection-draft.js';

/** What the form begins with. */
export function httpDraftFor(server: CatalogServer | undefined): HttpDraft {
  const empty = httpDraftOf();
  return server === undefined || isProgram(server) ? empty : { ...empty, url: server.url, auth: server.auth };
}

/** What the form begins with: the variables without their values. */
export function programDraftFor(server: CatalogServer | undefined): ProgramDraft {
  const empty = programDraftOf();
  if (server === undefined || !isProgram(server)) return empty;
  const env = (server.env ?? []).map(({ name }) => ({ name, value: '' }));
  return { ...empty, command: server.command, args: server.args.join('\n'), env };
}
