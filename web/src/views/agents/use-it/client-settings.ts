/** How a client shows who calls: a person signs in in the browser, or the client sends an API key. */
export type CredentialKind = 'sign-in' | 'key';

/** What a person enters in one client, ready to copy. */
export interface ClientSetting {
  readonly client: string;
  /** Where it goes. */
  readonly where: string;
  readonly text: string;
  /** What else to know. */
  readonly note?: string;
}

/** What the settings are made for. */
export interface Target {
  /** The MCP address of the agent. */
  readonly address: string;
  /** The agent's name in the client: letters, digits and hyphens. */
  readonly name: string;
}

const KEY = 'SIGNALBOX_API_KEY';
const NEEDS_PUBLIC_ADDRESS =
  'The client runs in the cloud, so the address must be reachable from the internet (BASE_URL with https).';

/** The settings of each client that can use this kind of credential. */
export function settingsFor(kind: CredentialKind, target: Target): readonly ClientSetting[] {
  return kind === 'sign-in' ? withSignIn(target) : withKey(target);
}

/** A name for the agent in the configuration of clients. */
export function nameInClients(title: string): string {
  const name = title
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
  return name === '' ? 'agent' : name;
}

function withSignIn({ address, name }: Target): readonly ClientSetting[] {
  return [
    {
      client: 'VS Code',
      where: '.vscode/mcp.json',
      text: json({ servers: { [name]: { type: 'http', url: address } } }),
    },
    {
      client: 'Claude Code',
      where: 'Terminal, then /mcp → Authenticate',
      text: `claude mcp add --transport http ${name} ${address}`,
    },
    {
      client: 'Claude Desktop',
      where: 'claude_desktop_config.json (Settings → Developer → Edit Config)',
      text: json({ mcpServers: { [name]: { command: 'npx', args: ['-y', 'mcp-remote', address] } } }),
    },
    {
      client: 'Claude on the web',
      where: 'Settings → Connectors → Add custom connector',
      text: address,
      note: NEEDS_PUBLIC_ADDRESS,
    },
    { client: 'Cursor', where: '.cursor/mcp.json', text: json({ mcpServers: { [name]: { url: address } } }) },
    {
      client: 'ChatGPT',
      where: 'Settings → Connectors → Create, authentication OAuth',
      text: address,
      note: NEEDS_PUBLIC_ADDRESS,
    },
    {
      client: 'mcp-remote',
      where: 'Any client that only runs programs',
      text: `npx -y mcp-remote ${address}`,
    },
  ];
}

function withKey({ address, name }: Target): readonly ClientSetting[] {
  const key = { type: 'promptString', id: 'signalbox-key', description: 'Signalbox API key', password: true };
  return [
    {
      client: 'VS Code',
      where: '.vscode/mcp.json',
      text: json({
        inputs: [key],
        servers: {
          [name]: { type: 'http', url: address, headers: { Authorization: 'Bearer ${input:signalbox-key}' } },
        },
      }),
      note: 'VS Code asks for the key once and keeps it.',
    },
    {
      client: 'Claude Code',
      where: 'Terminal',
      text: `claude mcp add --transport http ${name} ${address} --header "Authorization: Bearer $${KEY}"`,
    },
    {
      client: 'Claude Desktop',
      where: 'claude_desktop_config.json (Settings → Developer → Edit Config)',
      text: json({
        mcpServers: {
          [name]: {
            command: 'npx',
            args: ['-y', 'mcp-remote', address, '--header', `Authorization:\${AUTHORIZATION}`],
            env: { AUTHORIZATION: `Bearer <${KEY}>` },
          },
        },
      }),
      note: `Replace <${KEY}> by the key.`,
    },
    {
      client: 'Cursor',
      where: '.cursor/mcp.json',
      text: json({
        mcpServers: { [name]: { url: address, headers: { Authorization: `Bearer \${env:${KEY}}` } } },
      }),
    },
    {
      client: 'mcp-remote',
      where: 'Any client that only runs programs',
      text: `npx -y mcp-remote ${address} --header "Authorization: Bearer $${KEY}"`,
    },
    { client: 'curl', where: 'Terminal: lists the tools', text: curl(address) },
  ];
}

function curl(address: string): string {
  return [
    `curl ${address}`,
    `-H "Authorization: Bearer $${KEY}"`,
    `-H "Content-Type: application/json"`,
    `-d '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'`,
  ].join(' \\\n  ');
}

function json(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
