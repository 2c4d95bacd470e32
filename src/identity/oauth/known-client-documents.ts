/** A client id metadata document, as its publisher showed it. */
interface KnownClientDocument {
  readonly client_id: string;
  readonly client_name: string;
  readonly redirect_uris: readonly string[];
  readonly [property: string]: unknown;
}

const NATIVE = {
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
} as const;

/**
 * The documents of widely used MCP clients, for services that cannot fetch them. A document that can be fetched counts
 * instead. What only decorates (logos) is left out. Each was compared with public records on 2026-11-24; the date is
 * that of the newest record of the whole document. `npm run check:client-documents` looks for the addresses in the
 * clients' latest releases.
 */
const DOCUMENTS: readonly KnownClientDocument[] = [
  // 2026-09-08. Also github.com/anthropics/claude-code/issues/42301 and /64705 (redirects), /44388 (address).
  {
    ...NATIVE,
    client_id: 'https://claude.ai/oauth/claude-code-client-metadata',
    client_name: 'Claude Code',
    client_uri: 'https://claude.ai',
    redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
  },
  // 2026-08-14. Claude on the web, on the desktop and on phones; also github.com/anthropics/claude-ai-mcp/issues/518
  // (address).
  {
    ...NATIVE,
    client_id: 'https://claude.ai/oauth/mcp-oauth-client-metadata',
    client_name: 'Claude',
    client_uri: 'https://claude.ai',
    redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
  },
  // 2026-09-16. For servers that send `iss`, as this one does; also github.com/anomalyco/opencode/pull/47737 (address).
  {
    ...NATIVE,
    client_id: 'https://chatgpt.com/oauth/codex/client.json',
    client_name: 'Codex',
    client_uri: 'https://chatgpt.com/codex',
    application_type: 'native',
    redirect_uris: ['http://127.0.0.1/callback', 'http://localhost/callback'],
  },
  // 2026-09-08. For servers that send `iss`, as this one does. Of its two methods, this server supports `none`.
  {
    ...NATIVE,
    client_id: 'https://chatgpt.com/oauth/client.json',
    client_name: 'ChatGPT',
    client_uri: 'https://chatgpt.com/',
    redirect_uris: ['https://chatgpt.com/connector_platform_oauth_redirect'],
  },
  // 2026-09-08. Also github.com/microsoft/vscode/issues/298300 (address) and /282472 (redirects).
  {
    ...NATIVE,
    client_id: 'https://vscode.dev/oauth/client-metadata.json',
    client_name: 'Visual Studio Code',
    client_uri: 'https://vscode.dev/product',
    application_type: 'native',
    redirect_uris: ['http://127.0.0.1:33418/', 'https://vscode.dev/redirect'],
  },
  // 2026-09-07, github.com/anomalyco/opencode/pull/47737 (the whole document, by its publisher).
  {
    ...NATIVE,
    client_id: 'https://opencode.ai/oauth/opencode/client.json',
    client_name: 'opencode',
    client_uri: 'https://opencode.ai',
    application_type: 'native',
    redirect_uris: ['http://127.0.0.1/callback', 'http://localhost/callback'],
  },
];

/** By address. */
export const KNOWN_CLIENT_DOCUMENTS: ReadonlyMap<string, KnownClientDocument> = new Map(
  DOCUMENTS.map((document) => [document.client_id, document]),
);
