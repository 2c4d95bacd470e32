import { ExternalLink } from 'lucide-react';
import { useState } from 'react';
import { useOrganization } from '../../../session/organization.js';
import { Badge } from '../../../ui/badge.js';
import { Button } from '../../../ui/button.js';
import { TextField } from '../../../ui/field.js';
import { CATALOG, type CatalogServer, isProgram } from './catalog.js';

const KINDS = { none: 'open', token: 'access token', oauth: 'sign-in' } as const;

/** Well-known servers. One click fills the form that creates a connection. */
export function ServerCatalog({ onChoose }: { readonly onChoose: (server: CatalogServer) => void }) {
  const { may } = useOrganization();
  const [text, setText] = useState('');
  const mayStart = may('CONNECTION_STDIO');
  const found = CATALOG.filter((server) => matches(server, text));
  return (
    <div className="flex min-w-0 flex-col gap-3">
      <TextField
        label="Find a server"
        isLabelHidden
        placeholder="Find a server"
        autoComplete="off"
        value={text}
        onChange={setText}
      />
      <ul aria-label="Well-known servers" className="flex min-w-0 flex-col rounded-lg border">
        {found.map((server) => (
          <li key={server.id} className="flex min-w-0 flex-wrap items-center gap-3 border-b px-3 py-2 last:border-0">
            <div className="min-w-48 flex-1 text-sm">
              <p className="flex flex-wrap items-center gap-2 font-medium">
                {server.name} <Badge>{isProgram(server) ? 'program' : KINDS[server.auth]}</Badge>
              </p>
              <p className="break-words text-muted-foreground">{server.does}</p>
            </div>
            {isProgram(server) && !mayStart ? (
              <p className="max-w-48 text-[0.8125rem] text-muted-foreground">
                Starting programs needs the permission CONNECTION_STDIO, which you do not have.
              </p>
            ) : (
              <Button
                size="small"
                variant="secondary"
                aria-label={`Fill the form for ${server.name}`}
                onClick={() => onChoose(server)}
              >
                Fill the form
              </Button>
            )}
          </li>
        ))}
      </ul>
      {found.length === 0 && (
        <p className="text-sm text-muted-foreground">
          No server of the catalog matches. Every MCP server can be connected by its address or command.
        </p>
      )}
    </div>
  );
}

/** What a server of the catalog needs, over the form that it has filled. */
export function ServerNote({ server }: { readonly server: CatalogServer | undefined }) {
  if (server === undefined) return null;
  return (
    <div className="flex flex-col gap-1 rounded-md border border-dashed p-3 text-sm">
      <p>
        <span className="font-medium">{server.name} needs:</span> {server.needs}
      </p>
      {isProgram(server) &&
        server.env?.map(({ name, about }) => (
          <p key={name} className="break-words">
            <code>{name}</code> {about}
          </p>
        ))}
      <a
        href={server.documentation}
        target="_blank"
        rel="noopener noreferrer"
        className="inline-flex items-center gap-1 self-start text-primary underline"
      >
        Documentation of {server.name} <ExternalLink aria-hidden className="size-3.5" />
      </a>
    </div>
  );
}

function matches({ name, does }: CatalogServer, text: string): boolean {
  const wanted = text.trim().toLowerCase();
  return [name, does].some((each) => each.toLowerCase().includes(wanted));
}
